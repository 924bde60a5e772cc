//! The text of hot loops: what a loop that reads memory in its order must not have.

use crate::support::{PROMOTE_OPT, Tool};

/// A loop of assembly that has no other in it.
struct Loop<'a>(Vec<&'a str>);

impl Loop<'_> {
    fn count(&self, what: impl Fn(&str) -> bool) -> usize {
        self.0.iter().filter(|line| what(line)).count()
    }

    /// Whether an instruction is on one float alone.
    fn has_scalars(&self) -> bool {
        let is_scalar = |line: &str| {
            let name = line.split_whitespace().next().unwrap_or_default();
            name.starts_with('v')
                && (name.ends_with("ss") || name.ends_with("sd"))
                && !name.contains("broadcast")
        };
        self.count(is_scalar) > 0
    }

    /// Whether a register was saved to the stack, or restored. Accumulators there are reached with an index.
    fn has_spills(&self) -> bool {
        self.count(|line| line.contains("(%rsp)") || line.contains("(%rbp)")) > 0
    }
}

/// The innermost loops of a function, the longest first.
fn loops<'a>(assembly: &'a str, function: &str) -> Vec<Loop<'a>> {
    let start = format!("{function}:");
    let body: Vec<&str> = assembly
        .lines()
        .skip_while(|line| *line != start)
        .take_while(|line| !line.trim_start().starts_with(".cfi_endproc") && !line.starts_with(".Lfunc_end"))
        .map(str::trim)
        .collect();
    assert!(!body.is_empty(), "there is no {function} in\n{assembly}");
    let label = |line: &str| line.split_once(':').map(|(name, _)| name.to_owned());
    let mut found = Vec::new();
    for (end, line) in body.iter().enumerate() {
        let Some((jump, target)) = line.split_once('\t').filter(|(jump, _)| jump.starts_with('j')) else {
            continue;
        };
        let Some(begin) = body[..end].iter().position(|line| label(line).as_deref() == Some(target)) else {
            continue;
        };
        let inside = &body[begin + 1..end];
        // A label inside that something jumps back to, or a jump out of the middle, is a loop of its own or several.
        if jump != "jmp" && !inside.iter().any(|line| line.starts_with(".LBB")) {
            found.push(Loop(inside.to_vec()));
        }
    }
    found.sort_by_key(|found| std::cmp::Reverse(found.0.len()));
    found
}

/// The function of a module whose name begins so.
fn kernel<'a>(assembly: &'a str, prefix: &str) -> &'a str {
    let named = assembly.lines().filter_map(|line| line.strip_suffix(':'));
    named.into_iter().find(|name| name.starts_with(prefix)).expect("the kernel has code of its own")
}

const PROGRAM: &str = r#"
func.func @transposed(%x: tensor<4096x4096xf32>, %y: tensor<4096x4096xf32>) -> tensor<4096x4096xf32> {
  %t = "promote.permute_dims"(%x) {permutation = array<i64: 1, 0>} : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  %r = "promote.add"(%t, %y) : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %r : tensor<4096x4096xf32>
}
func.func @column(%x: tensor<4096x1024xf32>) -> tensor<1024xi32> {
  %r = "promote.argmax"(%x) {axis = array<i64: 0>} : (tensor<4096x1024xf32>) -> tensor<1024xi32>
  return %r : tensor<1024xi32>
}
func.func @permuted(%x: tensor<4096x8192xf32>) -> tensor<4096xf32> {
  %t = "promote.permute_dims"(%x) {permutation = array<i64: 1, 0>} : (tensor<4096x8192xf32>) -> tensor<8192x4096xf32>
  %r = "promote.sum"(%t) {axis = array<i64: 0>} : (tensor<8192x4096xf32>) -> tensor<4096xf32>
  return %r : tensor<4096xf32>
}
func.func @short(%x: tensor<100000x31xf32>) -> tensor<100000xf32> {
  %r = "promote.logsumexp"(%x) {axis = array<i64: 1>} : (tensor<100000x31xf32>) -> tensor<100000xf32>
  return %r : tensor<100000xf32>
}
"#;

/// No gathers, no element by itself in a hot loop, no spills.
#[test]
fn transposed_sums_columns_and_permuted_sums_are_loops_of_whole_vectors() {
    let tool = Tool::new();
    let run = tool.command(PROMOTE_OPT, PROGRAM, ["--emit=asm", "--target-cpu=x86-64-v4"]).succeeded();
    let assembly = run.text();
    assert!(!assembly.contains("gather"), "{assembly}");
    assert!(!assembly.contains("scatter"), "{assembly}");
    let shuffled = |line: &str| line.starts_with("vunpck") || line.starts_with("vshuf");
    let added = |line: &str| line.starts_with("vaddps") && line.contains("%zmm");
    let compared = |line: &str| line.starts_with("vcmp") && line.contains("%zmm");
    for (name, is_hot) in
        [("transposed", &added as &dyn Fn(&str) -> bool), ("column", &compared), ("permuted", &added)]
    {
        let kernel = kernel(assembly, &format!("promote.kernel.{name}."));
        let hot: Vec<Loop<'_>> =
            loops(assembly, kernel).into_iter().filter(|one| one.count(is_hot) > 0).collect();
        assert!(!hot.is_empty(), "{name} has no loop of vectors in\n{assembly}");
        for one in &hot {
            let text = one.0.join("\n");
            assert!(!one.has_scalars(), "{name}: elements by themselves in\n{text}");
            assert!(!one.has_spills(), "{name}: spills in\n{text}");
        }
        if name == "transposed" {
            // A square of 16 by 16 takes 64 shuffles, and 16 sums.
            let square = &hot[0];
            assert_eq!((square.count(shuffled), square.count(added)), (64, 16), "{}", square.0.join("\n"));
        }
    }
    // The rows of a vector at once: all exponentials are of whole vectors.
    let short = kernel(assembly, "promote.kernel.short.");
    let hot = &loops(assembly, short)[0];
    assert!(!hot.has_scalars(), "{}", hot.0.join("\n"));
}

const PRODUCTS: &str = r#"
func.func @product(%x: tensor<512x512xbf16>, %y: tensor<512x512xbf16>) -> tensor<512x512xf32> {
  %a = "promote.convert"(%x) : (tensor<512x512xbf16>) -> tensor<512x512xf32>
  %b = "promote.convert"(%y) : (tensor<512x512xbf16>) -> tensor<512x512xf32>
  %r = "promote.matmul"(%a, %b) : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %r : tensor<512x512xf32>
}
"#;

#[test]
fn products_of_bf16_take_two_terms_an_instruction() {
    let tool = Tool::new();
    let assembly = |cpu: &str| {
        let args = ["--emit=asm", "--target-cpu", cpu];
        tool.command(PROMOTE_OPT, PRODUCTS, args).succeeded().text().to_owned()
    };
    assert!(!assembly("x86-64-v4").contains("vdpbf16ps"), "the instruction is of other processors");
    let assembly = assembly("znver4");
    let kernels = assembly.lines().filter_map(|line| line.strip_suffix(':'));
    let kernels = kernels.filter(|name| name.starts_with("promote.kernel.product."));
    let dots = |one: &Loop<'_>| one.count(|line| line.starts_with("vdpbf16ps"));
    let hot: Vec<Loop<'_>> =
        kernels.flat_map(|kernel| loops(&assembly, kernel)).filter(|one| dots(one) > 0).collect();
    let [hot] = hot.as_slice() else { panic!("{} loops have the instruction in\n{assembly}", hot.len()) };
    // 12 rows of two vectors.
    assert_eq!(dots(hot), 24, "{}", hot.0.join("\n"));
    assert!(!hot.has_spills(), "{}", hot.0.join("\n"));
}

const CLIP: &str = r#"
func.func @clip(%x: tensor<100000xf32>) -> tensor<100000xf32> {
  %a = "promote.constant"() {value = dense<-1.5> : tensor<f32>} : () -> tensor<f32>
  %b = "promote.constant"() {value = dense<2.0> : tensor<f32>} : () -> tensor<f32>
  %r = "promote.clip"(%x, %a, %b) : (tensor<100000xf32>, tensor<f32>, tensor<f32>) -> tensor<100000xf32>
  return %r : tensor<100000xf32>
}
"#;

#[test]
fn bounds_that_are_constants_take_an_instruction_each() {
    let tool = Tool::new();
    let run = tool.command(PROMOTE_OPT, CLIP, ["--emit=asm", "--target-cpu=x86-64-v4"]).succeeded();
    let assembly = run.text();
    let loops = loops(assembly, kernel(assembly, "promote.kernel.clip."));
    let hot = &loops[0];
    let starts = |name: &str| hot.count(|line| line.starts_with(name));
    let vectors = starts("vmaxps");
    assert!(vectors > 0 && starts("vminps") == vectors, "{}", hot.0.join("\n"));
    assert_eq!(starts("vcmp") + starts("vblend"), 0, "{}", hot.0.join("\n"));
}

/// A loop that sets each of many results to what an empty reduction gives is not unrolled.
#[test]
fn results_of_empty_reductions_take_little_code() {
    let tool = Tool::new();
    for op in ["sum", "prod", "mean"] {
        let x = "tensor<66x1000x0xf64>";
        let program = format!(
            "func.func @f(%x: {x}) -> tensor<66x1000xf64> {{
  %r = \"promote.{op}\"(%x) {{axis = array<i64: 2>}} : ({x}) -> tensor<66x1000xf64>
  return %r : tensor<66x1000xf64>
}}
"
        );
        let run = tool.command(PROMOTE_OPT, &*program, ["--emit=llvm-ir", "--x64"]).succeeded();
        let lines = run.text().lines().count();
        assert!(lines < 2000, "{op}: {lines} lines");
    }
}
