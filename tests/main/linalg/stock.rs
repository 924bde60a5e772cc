//! Programs run by stock tools: `mlir-opt-22` takes linalg to LLVM, `mlir-runner-22` runs it.
//!
//! Many functions go into one module with a driver, which calls each on constants and prints the bits of what it returns, so
//! a sweep takes few processes.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use promote::convert::Bits;
use promote::{DType, Kind, Pipeline, PrintOptions, RunOptions, Session, Source, Verdict};

use crate::needed::of_llvm;

/// From linalg on tensors to LLVM, with upstream passes alone. `docs/lowering.md` shows it.
pub const TO_LLVM: &str = "builtin.module(\
    one-shot-bufferize{bufferize-function-boundaries=true function-boundary-type-conversion=identity-layout-map \
    allow-return-allocs-from-loops=true},\
    buffer-deallocation-pipeline,convert-bufferization-to-memref,convert-linalg-to-loops,expand-strided-metadata,\
    lower-affine,convert-scf-to-cf,convert-complex-to-llvm,convert-math-to-llvm,finalize-memref-to-llvm,\
    convert-arith-to-llvm,convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts)";

/// Infers and inserts, but folds nothing, so that what is written is what is run.
pub const TO_LINALG: &str = "promote-infer-types,promote-insert-converts,promote-to-linalg";

/// A constant that a function is called with.
#[derive(Clone, Debug)]
pub struct Argument {
    pub dtype: DType,
    pub shape: Vec<usize>,
    pub bits: Vec<Bits>,
    /// Whether the function does not know its extents, but those of 1.
    pub dynamic: bool,
}

impl Argument {
    pub fn new(dtype: DType, shape: &[usize], bits: Vec<Bits>) -> Self {
        assert_eq!(bits.len(), shape.iter().product::<usize>(), "an element for each place");
        Self { dtype, shape: shape.to_vec(), bits, dynamic: false }
    }

    /// The type of the argument in the dialect.
    pub fn tensor(&self) -> String {
        tensor(self.dtype.mlir(), &self.shape, self.dynamic)
    }

    /// The elements of a constant: all types but truth values are written as bytes.
    fn literal(&self) -> String {
        if self.bits.is_empty() {
            return String::new();
        }
        if self.dtype.bits() == 1 {
            let rows = self.bits.iter().map(|bit| (*bit != 0).to_string()).collect::<Vec<_>>();
            return nested(&rows, &self.shape);
        }
        let part = self.dtype.real_part();
        let (parts, size) = if part == self.dtype { (1, 1) } else { (2, 2) };
        let width = part.bits().div_ceil(8) as usize;
        let mut hex = String::from("\"0x");
        for element in &self.bits {
            for index in 0..parts {
                let bits = element >> (index * part.bits() as usize * (size - 1));
                for byte in bits.to_le_bytes().into_iter().take(width) {
                    let _ = write!(hex, "{byte:02x}");
                }
            }
        }
        hex + "\""
    }
}

fn nested(elements: &[String], shape: &[usize]) -> String {
    match shape {
        [] => elements[0].clone(),
        [_] => format!("[{}]", elements.join(", ")),
        [_, rest @ ..] => {
            let size = rest.iter().product::<usize>();
            let parts: Vec<_> = elements.chunks(size).map(|part| nested(part, rest)).collect();
            format!("[{}]", parts.join(", "))
        }
    }
}

fn tensor(element: &str, shape: &[usize], dynamic: bool) -> String {
    let extent = |extent: &usize| match *extent {
        2.. | 0 if dynamic => "?x".to_owned(),
        extent => format!("{extent}x"),
    };
    let extents: String = shape.iter().map(extent).collect();
    format!("tensor<{extents}{element}>")
}

/// A function to be run: a name for messages, its body in the dialect, which names its arguments `%0`, … and its result `%r`,
/// and what it is called with. `result` is the dtype that is expected.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: String,
    pub body: String,
    pub arguments: Vec<Argument>,
    pub result: DType,
}

impl Case {
    fn source(&self, index: usize) -> String {
        let arguments: Vec<_> =
            self.arguments.iter().enumerate().map(|(i, a)| format!("%{i}: {}", a.tensor())).collect();
        format!(
            "func.func @case_{index}({}) -> !u {{\n{}\n  return %r : !u\n}}\n",
            arguments.join(", "),
            self.body
        )
    }
}

/// The cases as a module of the dialect.
pub fn module(cases: &[Case]) -> String {
    let functions = cases.iter().enumerate().map(|(index, case)| case.source(index));
    std::iter::once("!u = tensor<*x!promote.unknown>\n".to_owned()).chain(functions).collect()
}

/// Where the tools are.
#[derive(Debug)]
pub struct Tools {
    opt: PathBuf,
    runner: PathBuf,
    libraries: PathBuf,
}

/// How the run of a module ended.
#[derive(Debug)]
pub struct Ran {
    pub succeeded: bool,
    pub output: String,
    pub errors: String,
}

impl Tools {
    /// The tools of LLVM's prefix.
    pub fn find() -> Self {
        Self {
            opt: of_llvm("bin/mlir-opt"),
            runner: of_llvm("bin/mlir-runner"),
            libraries: of_llvm("lib/libmlir_c_runner_utils.so"),
        }
    }

    /// What passes of stock MLIR make of a module of the dialect, in generic form; none if they refuse it, or crash.
    pub fn passed(&self, module: &str, passes: &str) -> Option<String> {
        let dialect = concat!("--irdl-file=", env!("CARGO_MANIFEST_DIR"), "/dialect/promote.irdl.mlir");
        let pipeline = format!("--pass-pipeline=builtin.module({passes})");
        let ran = pipe(&self.opt, &[dialect, "--mlir-print-op-generic", &pipeline], module);
        ran.succeeded.then_some(ran.output)
    }

    /// What passes of stock MLIR make of a module without ops of the dialect, as it is written.
    pub fn lowered(&self, module: &str, passes: &str) -> String {
        let pipeline = format!("--pass-pipeline=builtin.module({passes})");
        let ran = pipe(&self.opt, &[&pipeline], module);
        assert!(ran.succeeded, "mlir-opt refuses the module: {}", ran.errors);
        ran.output
    }

    /// The modules of linalg that cannot be taken to LLVM, by their places, and why.
    pub fn refused(&self, modules: &[String]) -> Vec<(usize, String)> {
        let pipeline = format!("--pass-pipeline={TO_LLVM}");
        let arguments = ["--verify-each", "--split-input-file", &pipeline];
        let all = pipe(&self.opt, &arguments, &modules.join("\n// -----\n"));
        if all.succeeded {
            return Vec::new();
        }
        let alone = modules.iter().map(|module| pipe(&self.opt, &arguments, module)).enumerate();
        alone.filter(|(_, ran)| !ran.succeeded).map(|(place, ran)| (place, ran.errors)).collect()
    }

    /// Takes a module of linalg to LLVM and runs its `main`.
    pub fn run(&self, linalg: &str) -> Ran {
        let pipeline = format!("--pass-pipeline={TO_LLVM}");
        let lowered = pipe(&self.opt, &["--verify-each", &pipeline], linalg);
        assert!(lowered.succeeded, "mlir-opt refuses the module: {}", lowered.errors);
        let libraries = format!("--shared-libs={}", self.libraries.display());
        pipe(&self.runner, &["-e", "main", "--entry-point-result=void", &libraries], &lowered.output)
    }
}

/// Runs a tool on a text.
fn pipe(tool: &Path, arguments: &[&str], input: &str) -> Ran {
    let mut command = Command::new(tool);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the tool starts");
    let mut stdin = child.stdin.take().expect("the input is piped");
    let output = std::thread::scope(|scope| {
        // A tool that fails early closes its input.
        scope.spawn(move || drop(stdin.write_all(input.as_bytes())));
        child.wait_with_output().expect("the tool ends")
    });
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ran { succeeded: output.status.success(), output: text(&output.stdout), errors: text(&output.stderr) }
}

/// What the passes make of a text.
pub fn lower(session: &Session, source: &str) -> Result<String, String> {
    let diagnostics = || {
        let diagnostics = session.take_diagnostics();
        diagnostics.iter().map(|d| format!("{:?}: {}\n", d.location, d.message)).collect::<String>()
    };
    let mut module = session.parse(Source::Text(source)).ok_or_else(diagnostics)?;
    let pipeline = Pipeline::parse(TO_LINALG).expect("the pipeline is well formed");
    let options = RunOptions { verify_each: true, ..RunOptions::default() };
    if session.run(&mut module, &pipeline, &options) != Ok(Verdict::Done) {
        return Err(diagnostics());
    }
    session.take_diagnostics();
    let mut out = Vec::new();
    module.print(&mut out, PrintOptions::default()).expect("a vector can be written to");
    Ok(String::from_utf8(out).expect("MLIR prints UTF-8"))
}

/// The element type that a dtype has in linalg.
fn signless(dtype: DType) -> String {
    dtype.mlir().trim_start_matches(['u', 's']).to_owned()
}

/// A function that prints the bits of a row of elements, each part as an i64 on a line.
fn printer(dtype: DType) -> String {
    let element = signless(dtype);
    let part = dtype.real_part();
    let mut lines = String::new();
    let parts: Vec<String> = match part == dtype {
        true => vec!["%e".to_owned()],
        false => {
            let _ = writeln!(lines, "%re = complex.re %e : {element}\n%im = complex.im %e : {element}");
            vec!["%re".to_owned(), "%im".to_owned()]
        }
    };
    for (index, name) in parts.into_iter().enumerate() {
        let (bits, part_type) = (part.bits(), signless(part));
        let mut bits_name = name.clone();
        if part.kind() == Kind::Float {
            let _ = writeln!(lines, "%b{index} = arith.bitcast {name} : {part_type} to i{bits}");
            bits_name = format!("%b{index}");
        }
        if bits < 64 {
            let _ = writeln!(lines, "%w{index} = arith.extui {bits_name} : i{bits} to i64");
            bits_name = format!("%w{index}");
        }
        let _ = writeln!(
            lines,
            "func.call @printI64({bits_name}) : (i64) -> ()\nfunc.call @printNewline() : () -> ()"
        );
    }
    format!(
        "func.func private @show_{}(%t: tensor<?x{element}>) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %t, %c0 : tensor<?x{element}>
  %k = arith.index_cast %n : index to i64
  func.call @printI64(%k) : (i64) -> ()
  func.call @printNewline() : () -> ()
  scf.for %i = %c0 to %n step %c1 {{
    %e = tensor.extract %t[%i] : tensor<?x{element}>
    {lines}
  }}
  return
}}
",
        dtype.name()
    )
}

/// The types of a function's arguments and results, as the module states them.
fn signature<'l>(linalg: &'l str, name: &str) -> (Vec<&'l str>, Vec<&'l str>) {
    let start = linalg.find(&format!("@{name}(")).expect("the function is there");
    let line = linalg[start..].lines().next().expect("it has a line").trim_end_matches(" {");
    let (arguments, results) = line.split_once(") -> ").expect("it has results");
    let (_, arguments) = arguments.split_once('(').expect("it has arguments");
    let arguments = arguments.split(", %").filter_map(|argument| Some(argument.split_once(": ")?.1));
    let results = results.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')).unwrap_or(results);
    (arguments.collect(), results.split(", ").collect())
}

/// What prints a result of a dtype and of the type that its function states.
fn show(result: &str, dtype: DType, name: &str) -> String {
    let element = signless(dtype);
    let inner = result.strip_prefix("tensor<").and_then(|rest| rest.strip_suffix(&format!("{element}>")));
    let inner = inner.unwrap_or_else(|| panic!("the result is {result}, not of {element}"));
    let extents: Vec<&str> = inner.split_terminator('x').collect();
    let is_known = extents.iter().all(|extent| *extent != "?") || extents.contains(&"0");
    let count: usize = extents.iter().filter_map(|extent| extent.parse::<usize>().ok()).product();
    let row = if is_known { format!("tensor<{count}x{element}>") } else { format!("tensor<?x{element}>") };
    let mut lines = match extents.len() {
        // Upstream's passes do not agree on the type of a row of it, if it has extents that are known at run time only, too.
        _ if extents.contains(&"0") => format!("{name}_row = tensor.empty() : {row}\n"),
        0 => format!("{name}_row = tensor.expand_shape {name} [] output_shape [1] : {result} into {row}\n"),
        rank => {
            let axes: Vec<_> = (0..rank).map(|axis| axis.to_string()).collect();
            format!(
                "{name}_row = tensor.collapse_shape {name} [[{}]] : {result} into {row}\n",
                axes.join(", ")
            )
        }
    };
    let _ = writeln!(lines, "{name}_any = tensor.cast {name}_row : {row} to tensor<?x{element}>");
    let _ = writeln!(lines, "func.call @show_{}({name}_any) : (tensor<?x{element}>) -> ()", dtype.name());
    lines
}

/// The call of a function on constants, and the printing of its results.
fn call(name: &str, arguments: &[Given], results: &[DType], linalg: &str) -> String {
    let (stated, types) = signature(linalg, name);
    let mut lines = String::new();
    for (number, (argument, stated)) in arguments.iter().zip(&stated).enumerate() {
        let _ = match argument {
            Given::Integer(value) => writeln!(lines, "%a{number} = arith.constant {value} : {stated}"),
            Given::Tensor(argument) => {
                let known = tensor(&signless(argument.dtype), &argument.shape, false);
                let _ =
                    writeln!(lines, "%k{number} = arith.constant dense<{}> : {known}", argument.literal());
                writeln!(lines, "%a{number} = tensor.cast %k{number} : {known} to {stated}")
            }
        };
    }
    let names: Vec<_> = (0..arguments.len()).map(|number| format!("%a{number}")).collect();
    let returned: Vec<_> = (0..results.len()).map(|number| format!("%r{number}")).collect();
    let (names, returned) = (names.join(", "), returned.join(", "));
    let (stated, all) = (stated.join(", "), types.join(", "));
    let _ = writeln!(lines, "{returned} = func.call @{name}({names}) : ({stated}) -> ({all})");
    for (number, (r#type, dtype)) in types.iter().zip(results).enumerate() {
        lines += &show(r#type, *dtype, &format!("%r{number}"));
    }
    format!("func.func private @run_{name}() {{\n{lines}  return\n}}\n")
}

/// What a function is called with.
#[derive(Clone, Debug)]
pub enum Given {
    Tensor(Argument),
    /// An integer or index that is no tensor.
    Integer(i64),
}

/// A function to be called: its name, its arguments, and the dtypes of its results.
pub struct Call {
    pub name: String,
    pub arguments: Vec<Given>,
    pub results: Vec<DType>,
}

/// The module with a `main` that calls functions of it, in order.
fn with_calls(linalg: &str, calls: &[Call]) -> String {
    let end = linalg.rfind('}').expect("a module ends with a brace");
    let mut text = linalg[..end].to_owned();
    text.push_str("func.func private @printI64(i64)\nfunc.func private @printNewline()\n");
    let dtypes: BTreeSet<DType> = calls.iter().flat_map(|call| call.results.iter().copied()).collect();
    dtypes.into_iter().for_each(|dtype| text.push_str(&printer(dtype)));
    calls.iter().for_each(|one| text.push_str(&call(&one.name, &one.arguments, &one.results, linalg)));
    text.push_str("func.func @main() {\n");
    for call in calls {
        let _ = writeln!(text, "  call @run_{}() : () -> ()", call.name);
    }
    text.push_str("  return\n}\n}\n");
    text
}

/// The module with a `main` that runs all cases.
pub fn with_driver(linalg: &str, cases: &[Case]) -> String {
    let call = |(index, case): (usize, &Case)| Call {
        name: format!("case_{index}"),
        arguments: case.arguments.iter().cloned().map(Given::Tensor).collect(),
        results: vec![case.result],
    };
    with_calls(linalg, &cases.iter().enumerate().map(call).collect::<Vec<_>>())
}

/// Reads what a run has printed: the bits of the elements of a result of each dtype.
fn printed(output: &str, dtypes: &[DType]) -> Vec<Vec<Bits>> {
    let mut numbers =
        output.lines().map(|line| line.parse::<i64>().expect("a line is a number").cast_unsigned());
    let mut next = || Bits::from(numbers.next().expect("every element is printed"));
    let element = |dtype: DType, next: &mut dyn FnMut() -> Bits| {
        let part = dtype.real_part();
        let real = next();
        if part == dtype { real } else { real | next() << part.bits() }
    };
    let mut result = |dtype: &DType| {
        let count = next();
        (0..count).map(|_| element(*dtype, &mut next)).collect()
    };
    dtypes.iter().map(&mut result).collect()
}

/// Runs a function of a module of linalg on arguments: the bits of the elements of each result, or how the run ended.
pub fn run_function(tools: &Tools, linalg: &str, call: Call) -> Result<Vec<Vec<Bits>>, String> {
    let results = call.results.clone();
    let ran = tools.run(&with_calls(linalg, &[call]));
    if ran.succeeded { Ok(printed(&ran.output, &results)) } else { Err(ran.errors) }
}

/// Runs all cases, and returns the bits of the elements of each result.
pub fn run(tools: &Tools, session: &Session, cases: &[Case]) -> Vec<Vec<Bits>> {
    let linalg =
        lower(session, &module(cases)).unwrap_or_else(|diagnostics| panic!("refused: {diagnostics}"));
    run_lowered(tools, &linalg, cases)
}

/// Runs all cases of a module of linalg, and returns the bits of the elements of each result.
pub fn run_lowered(tools: &Tools, linalg: &str, cases: &[Case]) -> Vec<Vec<Bits>> {
    let ran = tools.run(&with_driver(linalg, cases));
    assert!(ran.succeeded, "the run fails: {}", ran.errors);
    printed(&ran.output, &cases.iter().map(|case| case.result).collect::<Vec<_>>())
}

/// Whether bits are of a NaN, in a part.
fn is_nan(bits: Bits, part: DType) -> bool {
    let wide = promote::convert::convert(bits, part, DType::F64, promote::convert::Numerics::NumPy);
    f64::from_bits(wide as u64).is_nan()
}

/// Whether two elements are the same, where any NaN is as good as another.
pub fn same(a: Bits, b: Bits, dtype: DType) -> bool {
    if !dtype.is_inexact() {
        return a == b;
    }
    let part = dtype.real_part();
    let mask = Bits::MAX >> (Bits::BITS - part.bits());
    let parts = if part == dtype { 1 } else { 2 };
    (0..parts).all(|index| {
        let [a, b] = [a, b].map(|bits| bits >> (index * part.bits()) & mask);
        a == b || is_nan(a, part) && is_nan(b, part)
    })
}

/// Compares what was run with what is expected, and reports the first differences.
pub fn compare(cases: &[Case], expected: &[Vec<Bits>], found: &[Vec<Bits>]) {
    let mut report = String::new();
    let mut differ = 0;
    for ((case, expected), found) in cases.iter().zip(expected).zip(found) {
        let alike = |(a, b): (&Bits, &Bits)| same(*a, *b, case.result);
        if expected.len() == found.len() && expected.iter().zip(found).all(alike) {
            continue;
        }
        differ += 1;
        if differ <= 12 {
            let at = expected.iter().zip(found).position(|pair| !alike(pair));
            let inputs: Vec<_> = case
                .arguments
                .iter()
                .map(|a| at.and_then(|at| a.bits.get(at)).map_or(String::new(), |bits| format!("{bits:#x}")))
                .collect();
            let _ = writeln!(
                report,
                "{}: at {at:?} of {}: expected {:#x?}, found {:#x?}, perhaps of {inputs:?}",
                case.name,
                found.len(),
                at.map(|at| expected[at]),
                at.map(|at| found[at])
            );
        }
    }
    assert!(differ == 0, "{differ} of {} cases differ:\n{report}", cases.len());
}
