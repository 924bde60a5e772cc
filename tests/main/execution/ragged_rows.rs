//! Maps whose rows fill no whole vectors: what is left of a row is computed in a vector that ends where the row does.

use std::fmt::Write;

use promote::{Executable, Session, Target, Tensor, set_threads, threads};

use super::support::{Random, compile_for, function, known, session};

/// Processors whose programs run here: with short and long vectors, with masks and without.
pub fn targets() -> Vec<Target> {
    let others = [("avx2", "x86-64-v3"), ("avx512f", "x86-64-v4")].into_iter();
    let others = others.filter(|(feature, _)| Target::host().has(feature));
    let names = std::iter::once("x86-64").chain(others.map(|(_, name)| name));
    names.map(|name| Target::named(name).expect("LLVM knows it")).collect()
}

/// Functions that add a number for each column, and one for each row, of bytes and of floats, of these extents.
fn text(height: &str, length: &str) -> String {
    let mut text = String::new();
    for dtype in ["i8", "f32", "f64"] {
        let of = |height: &str, length: &str| format!("tensor<{height}x{length}x{dtype}>");
        let (x, across, down) = (of(height, length), of("1", length), of(height, "1"));
        let _ = write!(
            text,
            "func.func @{dtype}(%x: {x}, %a: {across}, %d: {down}) -> !u {{
  %0 = \"promote.add\"(%x, %a) : ({x}, {across}) -> !u
  %1 = \"promote.add\"(%0, %d) : (!u, {down}) -> !u
  return %1 : !u
}}
"
        );
    }
    known(&text)
}

fn compiled(session: &Session, target: &Target, [height, length]: [&str; 2]) -> Executable {
    compile_for(session, &text(height, length), target.clone()).expect("it is compiled")
}

/// Functions of extents that are open.
fn open(session: &Session, target: &Target) -> Executable {
    compiled(session, target, ["?", "?"])
}

/// Functions of extents that are stated, and the open ones.
fn check(session: &Session, target: &Target, open: &Executable, [rows, width]: [usize; 2]) {
    let stated = compiled(session, target, [&rows.to_string(), &width.to_string()]);
    compare([("stated", &stated), ("open", open)], target, [rows, width]);
}

fn compare(executables: [(&str, &Executable); 2], target: &Target, [rows, width]: [usize; 2]) {
    let mut random = Random::new(width as u64);
    let mut bytes = |count: usize| (0..count).map(|_| random.below(256) as i8).collect::<Vec<i8>>();
    let [x, across, down] = [rows * width, width, rows].map(&mut bytes);
    let sum = |index: usize| [x[index], across[index % width], down[index / width]];
    let shapes = [[rows, width], [1, width], [rows, 1]].map(|shape| shape.map(|extent| extent as i64));
    macro_rules! check {
        ($dtype:ident, $add:expr) => {
            let numbers =
                [&x, &across, &down].map(|all| all.iter().map(|byte| $dtype::from(*byte)).collect());
            let numbers: [Vec<$dtype>; 3] = numbers;
            let expected: Vec<$dtype> = (0..rows * width)
                .map(|index| sum(index).map($dtype::from).into_iter().reduce($add).expect("there are three"))
                .collect();
            for (extents, executable) in executables {
                let tensors = [0, 1, 2]
                    .map(|of| Tensor::of(&numbers[of], &shapes[of]).expect("there are as many elements"));
                let name = stringify!($dtype);
                let results = function(executable, name).run(&tensors).expect("it runs");
                let same = results[0].elements::<$dtype>() == Some(expected.as_slice());
                assert!(same, "{extents} {name}, {rows} rows of {width} on {}", target.cpu());
            }
        };
    }
    check!(i8, i8::wrapping_add);
    check!(f32, |x, y| x + y);
    check!(f64, |x, y| x + y);
}

#[test]
fn rows_of_every_length_are_computed_whole() {
    let session = session("jax", true, false);
    for target in targets() {
        let open = open(&session, &target);
        for width in (1..=40).chain([63, 64, 65, 79, 96, 97, 127, 129, 255, 257, 300]) {
            check(&session, &target, &open, [3, width]);
        }
    }
}

/// A tile is 8192 elements: what is left after the last one may be less than a vector that ends there.
#[test]
fn rows_of_several_tiles_are_computed_whole() {
    let session = session("jax", true, false);
    for target in targets() {
        let open = open(&session, &target);
        for rest in [1, 3, 15, 16, 17, 33, 65, 100] {
            check(&session, &target, &open, [2, 8192 + rest]);
        }
    }
}

/// Results of 16 MiB and more are written past the caches: long rows but for their ends, and short ones if they fill whole vectors.
#[test]
fn large_results_in_rows_of_any_length_are_computed_whole() {
    let (session, target, before) = (session("jax", true, false), Target::host(), threads());
    let open = open(&session, &target);
    for [rows, width] in [[17_000, 1031], [200_000, 97], [200_000, 96], [2_100, 8209]] {
        let stated = compiled(&session, &target, [&rows.to_string(), &width.to_string()]);
        for number in [1, 2] {
            set_threads(number);
            compare([("stated", &stated), ("open", &open)], &target, [rows, width]);
        }
    }
    set_threads(before);
}

/// Rows of two results are written past the caches if those of both begin with a line: in two buffers, and in one.
#[test]
fn two_large_results_at_once_are_computed_whole() {
    let session = session("jax", true, false);
    for (rows, width) in [(70_000, 64), (70_000, 96), (45_000, 97)] {
        let (x, a) = (format!("tensor<{rows}x{width}xf32>"), format!("tensor<{width}xf32>"));
        let text = known(&format!(
            "func.func @apart(%x: {x}, %a: {a}) -> (!u, !u) {{
  %0 = \"promote.add\"(%x, %a) : ({x}, {a}) -> !u
  %1 = \"promote.subtract\"(%x, %a) : ({x}, {a}) -> !u
  return %0, %1 : !u, !u
}}
func.func @beside(%x: {x}, %a: {a}) -> !u {{
  %0 = \"promote.add\"(%x, %a) : ({x}, {a}) -> !u
  %1 = \"promote.subtract\"(%x, %a) : ({x}, {a}) -> !u
  %2 = \"promote.concat\"(%0, %1) {{axis = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>}} : (!u, !u) -> !u
  return %2 : !u
}}
"
        ));
        let executable = compile_for(&session, &text, Target::host()).expect("it is compiled");
        let mut random = Random::new(width as u64);
        let mut numbers = |count: usize| (0..count).map(|_| random.below(256) as f32).collect::<Vec<f32>>();
        let [x, a] = [rows * width, width].map(&mut numbers);
        let shapes = [vec![rows as i64, width as i64], vec![width as i64]];
        let arguments = [(&x, &shapes[0]), (&a, &shapes[1])]
            .map(|(all, shape)| Tensor::of(all, shape).expect("there are as many elements"));
        let terms = || x.iter().zip(a.iter().cycle());
        let sums: Vec<f32> = terms().map(|(x, a)| x + a).collect();
        let differences: Vec<f32> = terms().map(|(x, a)| x - a).collect();
        let apart = function(&executable, "apart").run(&arguments).expect("it runs");
        assert!(apart[0].elements::<f32>() == Some(sums.as_slice()), "sums of {rows} x {width}");
        assert!(
            apart[1].elements::<f32>() == Some(differences.as_slice()),
            "differences of {rows} x {width}"
        );
        let pairs = sums.chunks_exact(width).zip(differences.chunks_exact(width));
        let both: Vec<f32> = pairs.flat_map(|(sums, differences)| [sums, differences].concat()).collect();
        let beside = function(&executable, "beside").run(&arguments).expect("it runs");
        assert!(beside[0].elements::<f32>() == Some(both.as_slice()), "both of {rows} x {width}");
    }
}
