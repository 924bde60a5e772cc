//! The stack: functions call each other as deep as it goes, on any thread, and no deeper.

use std::sync::LazyLock;

use promote::{DType, Executable, RunError, Status, Tensor};
use promote_reference::{Array, Number, Value};

use super::support::{compile, compile_for, function, known, run, session};

/// Calls in a row, and results of each: every result has its place in the caller's frame, which so is larger than what any
/// function may leave unused.
const CALLS: usize = 24;
const RESULTS: usize = 160;

/// Calls itself `n` times. What `body` computes from `%x0` is `%result`, which counts.
fn recursive(name: &str, body: &str) -> String {
    format!(
        "func.func private @{name}(%n: index, %x0: tensor<?xi64>) -> tensor<?xi64> {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %stops = arith.cmpi sle, %n, %zero : index
  cf.cond_br %stops, ^done(%x0 : tensor<?xi64>), ^more
^more:
{body}  %less = arith.subi %n, %one : index
  %rest = func.call @{name}(%less, %x0) : (index, tensor<?xi64>) -> tensor<?xi64>
  %sum = \"promote.add\"(%rest, %result) : (tensor<?xi64>, tensor<?xi64>) -> tensor<?xi64>
  cf.br ^done(%sum : tensor<?xi64>)
^done(%r: tensor<?xi64>):
  return %r : tensor<?xi64>
}}
func.func @call_{name}(%n: index, %x: tensor<?xi64>) -> tensor<?xi64> {{
  %r = func.call @{name}(%n, %x) : (index, tensor<?xi64>) -> tensor<?xi64>
  return %r : tensor<?xi64>
}}
"
    )
}

fn source() -> String {
    let r#type = "tensor<?xi64>";
    let list = |item: &str| vec![item; RESULTS].join(", ");
    let many = format!(
        "func.func private @many(%x: {type}) -> ({}) {{\n  return {} : {}\n}}\n",
        list(r#type),
        list("%x"),
        list(r#type)
    );
    let call = |i: usize| {
        let types = list(r#type);
        format!("  %y{i}:{RESULTS} = func.call @many(%x0) : ({type}) -> ({types})\n")
    };
    let calls: String = (0..CALLS).map(call).collect();
    let result = |of: &str| format!("  %result = \"promote.positive\"({of}) : ({type}) -> {type}\n");
    let flat = format!(
        "func.func @flat(%x0: {type}) -> {type} {{\n{calls}{}  return %result : {type}\n}}\n",
        result("%y0#0")
    );
    let large = recursive("large", &format!("{calls}{}", result("%y0#0")));
    recursive("little", &result("%x0")) + &many + &large + &flat
}

static COMPILED: LazyLock<Executable> =
    LazyLock::new(|| compile(&session("numpy2", false, false), &source()));

/// The same among so many kernels that LLVM compiles them in several units, where there are several processors.
static AMONG_OTHERS: LazyLock<Executable> = LazyLock::new(|| {
    let other = |index: usize| {
        let r#type = format!("tensor<?x{}xf32>", index + 20);
        format!(
            "func.func @other{index}(%x: {type}) -> {type} {{
  %0 = \"promote.sin\"(%x) : ({type}) -> {type}
  %1 = \"promote.tanh\"(%0) : ({type}) -> {type}
  return %1 : {type}
}}
"
        )
    };
    compile(&session("numpy2", false, false), &(source() + &(0..24).map(other).collect::<String>()))
});

/// Calls a function on a thread with so much stack, and returns the only element of its result.
fn on_thread(stack: usize, name: &str, depth: Option<i64>) -> Result<i128, RunError> {
    called(&COMPILED, stack, name, depth)
}

fn called(executable: &Executable, stack: usize, name: &str, depth: Option<i64>) -> Result<i128, RunError> {
    let function = function(executable, name);
    let one = Value::Array(Array::of_ints(DType::I64, &[1], &[1]));
    let arguments = depth.map(Value::Integer).into_iter().chain([one]).collect::<Vec<_>>();
    let work = move || run(&function, &arguments).map(|results| results[0].elements[0].int());
    let thread = std::thread::Builder::new().stack_size(stack).spawn(work).expect("a thread starts");
    thread.join().expect("it does not panic")
}

#[track_caller]
fn refused(outcome: Result<i128, RunError>, place: &str) {
    let RunError { status, message } = outcome.expect_err("the stack does not hold it");
    assert_eq!(status, Status::Check, "{message}");
    assert!(message.contains("bytes of stack") && message.contains(place), "{message}");
}

#[test]
fn functions_call_each_other_as_deep_as_the_stack_goes() {
    assert_eq!(on_thread(8 << 20, "call_little", Some(5000)), Ok(5001));
    assert_eq!(on_thread(256 << 10, "call_little", Some(20)), Ok(21));
    assert_eq!(on_thread(64 << 20, "call_large", Some(20)), Ok(21));
    assert_eq!(on_thread(8 << 20, "call_large", Some(3)), Ok(4));
}

#[test]
fn a_recursion_that_the_stack_does_not_hold_is_refused_with_its_place() {
    // The call is in line 9 of what `recursive` returns.
    for stack in [8 << 20, 1 << 20, 200 << 10] {
        refused(on_thread(stack, "call_little", Some(1_000_000)), ":9:11: func.call @little: ");
    }
    let large = |stack| on_thread(stack, "call_large", Some(100_000));
    refused(large(8 << 20), "func.call @large: ");
    refused(large(1 << 20), "func.call @large: ");
}

/// No call returns, so none has anything to do after another: LLVM would make a loop of them that never ends.
#[test]
fn a_recursion_without_end_is_refused() {
    const TEXT: &str = r#"
func.func private @endless(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @endless(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = "promote.tanh"(%0) : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
func.func @call(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @endless(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"#;
    let executable = compile(&session("jax", false, false), TEXT);
    let x = Value::Array(Array::new(DType::F32, vec![4], (0..4).map(|_| Number::Real(1.0))));
    refused(run(&function(&executable, "call"), &[x]).map(|_| 0), "func.call @endless: ");
}

#[test]
fn functions_of_a_large_module_find_how_much_stack_others_take() {
    let call = |stack, name, depth| called(&AMONG_OTHERS, stack, name, Some(depth));
    assert_eq!(call(8 << 20, "call_little", 5000), Ok(5001));
    assert_eq!(call(8 << 20, "call_large", 3), Ok(4));
    for stack in [8 << 20, 1 << 20, 200 << 10] {
        refused(call(stack, "call_little", 1_000_000), ":9:11: func.call @little: ");
    }
    refused(call(1 << 20, "call_large", 100_000), "func.call @large: ");
    let other = function(&AMONG_OTHERS, "other7");
    let rows = Array::new(DType::F32, vec![2, 27], (0..54).map(|_| Number::Real(1.0)));
    let results = run(&other, &[Value::Array(rows)]).expect("it runs");
    assert_eq!(results[0].elements.len(), 54);
}

#[test]
fn a_call_that_a_small_stack_does_not_hold_is_refused() {
    // Whatever is between too little and enough: an answer or a refusal, and never a signal.
    let outcomes = (1..=64).map(|parts| on_thread(parts << 14, "flat", None)).collect::<Vec<_>>();
    for outcome in &outcomes {
        match outcome {
            Ok(sum) => assert_eq!(*sum, 1),
            Err(_) => refused(outcome.clone(), "promote_flat: the call needs "),
        }
    }
    // A thread may be given the stack of one that ended, of up to four times the size.
    let (least, most) = (&outcomes[1], &outcomes[63]);
    assert!(least.is_err() && most.is_ok(), "{least:?}, {most:?}");
}

#[test]
fn a_stack_is_refused_and_the_next_call_runs() {
    let work = || {
        let function = function(&COMPILED, "call_little");
        let call = |depth: i64| {
            let one = Value::Array(Array::of_ints(DType::I64, &[1], &[1]));
            run(&function, &[Value::Integer(depth), one]).map(|results| results[0].elements[0].int())
        };
        for _ in 0..3 {
            refused(call(1_000_000), "func.call @little: ");
            assert_eq!(call(100), Ok(101));
        }
    };
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(work).expect("a thread starts");
    thread.join().expect("it does not panic");
}

/// What the documentation promises: 128 KiB are enough for a reduction, however wide its columns and however many it has.
#[test]
fn reductions_of_wide_columns_run_on_a_small_stack() {
    const TEXT: &str = r#"
!x = tensor<100x9000xf64>
func.func @sum(%x: !x) -> !u {
  %r = "promote.sum"(%x) {axis = array<i64: 0>} : (!x) -> !u
  return %r : !u
}
func.func @argmax(%x: !x) -> !u {
  %r = "promote.argmax"(%x) {axis = array<i64: 0>} : (!x) -> !u
  return %r : !u
}
func.func @several(%x: !x) -> (!u, !u, !u, !u) {
  %s = "promote.sum"(%x) {axis = array<i64: 0>} : (!x) -> !u
  %m = "promote.max"(%x) {axis = array<i64: 0>} : (!x) -> !u
  %v = "promote.var"(%x) {axis = array<i64: 0>} : (!x) -> !u
  %p = "promote.prod"(%x) {axis = array<i64: 0>} : (!x) -> !u
  return %s, %m, %v, %p : !u, !u, !u, !u
}
"#;
    let executable = compile(&session("jax", true, false), TEXT);
    let calls = move || {
        let x = Array::new(DType::F64, vec![100, 9000], (0..900_000).map(|_| Number::Real(1.0)));
        let x = [Value::Array(x)];
        ["sum", "argmax", "several"].map(|name| run(&function(&executable, name), &x).map(|all| all.len()))
    };
    let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(calls).expect("a thread starts");
    assert_eq!(thread.join().expect("it does not panic"), [Ok(1), Ok(1), Ok(4)]);
}

/// The same of many results in one kernel, each of which has room of its own for a tile of columns.
#[test]
fn many_reductions_of_columns_run_on_a_small_stack() {
    let many = |name: &str, x: &str, dtype: &str, count: usize| {
        let mut body = String::new();
        for index in 0..count {
            let number =
                if dtype.starts_with('c') { format!("({index}.0, 0.0)") } else { format!("{index}.0") };
            body += &format!(
                "  %c{index} = \"promote.constant\"() {{value = dense<{number}> : tensor<{dtype}>}} : () -> tensor<{dtype}>
  %m{index} = \"promote.multiply\"(%x, %c{index}) : ({x}, tensor<{dtype}>) -> {x}
  %r{index} = \"promote.sum\"(%m{index}) {{axis = array<i64: 0>}} : ({x}) -> !u\n"
            );
        }
        let results: Vec<String> = (0..count).map(|index| format!("%r{index}")).collect();
        let types = vec!["!u"; count].join(", ");
        format!(
            "func.func @{name}(%x: {x}) -> ({types}) {{\n{body}  return {} : {types}\n}}\n",
            results.join(", ")
        )
    };
    let text = [
        many("open", "tensor<?x?xcomplex<f64>>", "complex<f64>", 8),
        many("stated", "tensor<70x9000xcomplex<f64>>", "complex<f64>", 8),
        many("reals", "tensor<?x?xf64>", "f64", 40),
    ];
    let executable = compile(&session("jax", true, false), &text.concat());
    let calls = move || {
        [("open", DType::C128, 8), ("stated", DType::C128, 8), ("reals", DType::F64, 40)].map(
            |(name, dtype, count)| {
                let one = || if dtype == DType::F64 { Number::Real(1.0) } else { Number::Complex(1.0, 0.0) };
                let x = Array::new(dtype, vec![70, 9000], (0..630_000).map(|_| one()));
                let results = run(&function(&executable, name), &[Value::Array(x)])
                    .map_err(|error| error.to_string())?;
                let is_right = |(index, sums): (usize, &Array)| {
                    sums.elements.iter().all(|sum| sum.real() == (70 * index) as f64)
                };
                Ok::<bool, String>(results.len() == count && results.iter().enumerate().all(is_right))
            },
        )
    };
    let thread = std::thread::Builder::new().stack_size(128 << 10).spawn(calls).expect("a thread starts");
    assert_eq!(thread.join().expect("it does not panic"), [Ok(true), Ok(true), Ok(true)]);
}

/// And of rows that lie down their columns: few long ones, and many.
#[test]
fn reductions_down_columns_run_on_a_small_stack() {
    let text = |rows: usize, length: usize| {
        format!(
            r#"func.func @of_{rows}(%x: tensor<{rows}x{length}xf32>) -> (!u, !u, !u) {{
  %e = "promote.exp"(%x) : (tensor<{rows}x{length}xf32>) -> !u
  %s = "promote.sum"(%e) {{axis = array<i64: 1>}} : (!u) -> !u
  %m = "promote.max"(%x) {{axis = array<i64: 1>}} : (tensor<{rows}x{length}xf32>) -> !u
  %q = "promote.multiply"(%x, %x) : (tensor<{rows}x{length}xf32>, tensor<{rows}x{length}xf32>) -> !u
  %n = "promote.min"(%q) {{axis = array<i64: 1>}} : (!u) -> !u
  return %s, %m, %n : !u, !u, !u
}}
"#
        )
    };
    let shapes = [(23, 3000), (512, 700), (5000, 300)];
    let text = known(&shapes.map(|(rows, length)| text(rows, length)).concat());
    let session = session("jax", true, false);
    for target in super::ragged_rows::targets() {
        let executable = compile_for(&session, &text, target).expect("it is compiled");
        for (rows, length) in shapes {
            let bytes = vec![0; rows * length * 4];
            let (shape, strides) = ([rows as i64, length as i64], [1, rows as i64]);
            let x = Tensor::strided(DType::F32, &shape, &strides, &bytes, 0).expect("it lies there");
            let results = std::thread::scope(|scope| {
                let small = std::thread::Builder::new().stack_size(128 << 10);
                let call = || {
                    let results = function(&executable, &format!("of_{rows}")).run(&[x]);
                    results.map(|all| all.len()).map_err(|error| error.to_string())
                };
                small.spawn_scoped(scope, call).expect("a thread starts").join().expect("it does not panic")
            });
            assert_eq!(results, Ok(3), "{rows} rows of {length}");
        }
    }
}
