//! The same bits with any number of threads, from any thread, and in bounded memory.
//!
//! How many threads there are is one number for the whole process: all that depends on it is one test.

use std::sync::LazyLock;

use promote::{DType, Executable, Function, Kind, Tensor, set_threads};
use promote_reference::{Array, Value};

use super::support::{Random, argument, compile, function, run, session};

/// Enough elements for several threads, and for reductions to be cut.
const ROWS: usize = 613;
const COLUMNS: usize = 701;

const SOURCE: &str = r#"
func.func @f(%x: tensor<613x701xDT>, %y: tensor<?x701xDT>) -> (!u, !u, !u, !u, !u, !u, !u, !u, !u, !u, !u) {
  %all = "promote.sum"(%x) : (tensor<613x701xDT>) -> !u
  %rows = "promote.mean"(%x) {axis = array<i64: 1>, keepdims = true} : (tensor<613x701xDT>) -> !u
  %columns = "promote.var"(%y) {axis = array<i64: 0>} : (tensor<?x701xDT>) -> !u
  %centred = "promote.subtract"(%x, %rows) : (tensor<613x701xDT>, !u) -> !u
  %place = "promote.argmax"(%centred) : (!u) -> !u
  %soft = "promote.softmax"(%centred) {axis = array<i64: -1>} : (!u) -> !u
  %turned = "promote.permute_dims"(%y) {permutation = array<i64: 1, 0>} : (tensor<?x701xDT>) -> !u
  %product = "promote.matmul"(%centred, %turned) : (!u, !u) -> !u
  %across = "promote.permute_dims"(%x) {permutation = array<i64: 1, 0>} : (tensor<613x701xDT>) -> !u
  %some = "promote.slice"(%x) {start = array<i64: 0, 0>, stop = array<i64: 61, 701>, step = array<i64: 1, 1>} : (tensor<613x701xDT>) -> !u
  %few = "promote.slice"(%x) {start = array<i64: 0, 0>, stop = array<i64: 5, 701>, step = array<i64: 1, 1>} : (tensor<613x701xDT>) -> !u
  %some_rows = "promote.matmul"(%some, %across) : (!u, !u) -> !u
  %few_rows = "promote.matmul"(%few, %across) : (!u, !u) -> !u
  %running = "promote.cumulative_sum"(%x) {axis = array<i64: 0>} : (tensor<613x701xDT>) -> !u
  %flat = "promote.cumulative_sum"(%x) : (tensor<613x701xDT>) -> !u
  %sorted = "promote.sort"(%soft) {axis = array<i64: 1>} : (!u) -> !u
  %lse = "promote.logsumexp"(%y) : (tensor<?x701xDT>) -> !u
  return %all, %columns, %place, %soft, %product, %some_rows, %few_rows, %running, %flat, %sorted, %lse
    : !u, !u, !u, !u, !u, !u, !u, !u, !u, !u, !u
}
"#;

/// The floats that the ops of [`SOURCE`] are defined of.
fn dtypes() -> impl Iterator<Item = DType> {
    DType::strong().filter(|dtype| dtype.kind() == Kind::Float)
}

fn compiled(dtype: DType) -> Executable {
    compile(&session("jax", false, false), &SOURCE.replace("DT", dtype.mlir()))
}

fn arguments(function: &Function, dtype: DType) -> [Tensor<'static>; 2] {
    let mut random = Random::new(1);
    [(0, ROWS), (1, 40)].map(|(place, rows)| {
        let numbers: Vec<f64> =
            (0..rows * COLUMNS).map(|_| random.below(4001) as f64 / 500.0 - 4.0).collect();
        let array = Value::Array(Array::of_reals(dtype, &[rows, COLUMNS], &numbers));
        argument(function, place, &array)
    })
}

fn bits(function: &Function, arguments: &[Tensor<'_>; 2]) -> Vec<Vec<u8>> {
    let found = function.run(arguments).expect("it runs");
    found.iter().map(|tensor| tensor.bytes().expect("results are contiguous").to_vec()).collect()
}

#[test]
fn results_do_not_depend_on_threads() {
    for dtype in dtypes() {
        let executable = compiled(dtype);
        let f = function(&executable, "f");
        let given = arguments(&f, dtype);
        let mut seen = Vec::new();
        for threads in [1, 2, 3, 8, 0] {
            set_threads(threads);
            seen.push((threads, bits(&f, &given)));
        }
        let differ = |(threads, found): &(usize, Vec<Vec<u8>>)| {
            let place = found.iter().zip(&seen[0].1).position(|(a, b)| a != b)?;
            Some(format!("result {place} of {dtype} with {threads} threads"))
        };
        assert_eq!(seen.iter().filter_map(differ).collect::<Vec<_>>(), Vec::<String>::new());
        // Another compilation is the same, and so are runs at one time.
        let again = compiled(dtype);
        std::thread::scope(|scope| {
            let runs: Vec<_> = (0..4)
                .map(|index| {
                    let f = function(if index % 2 == 0 { &executable } else { &again }, "f");
                    let (seen, given) = (&seen, &given);
                    scope.spawn(move || assert!(bits(&f, given) == seen[0].1, "run {index} of {dtype}"))
                })
                .collect();
            runs.into_iter().for_each(|run| run.join().expect("all runs give the same bits"));
        });
    }
    bytes_are_multiplied_alike();
}

/// Products of bytes: as many as some threads pack and multiply, and few rows.
fn bytes_are_multiplied_alike() {
    let product = |rows: usize| {
        format!(
            "func.func @rows_{rows}(%x: tensor<{rows}x701xi8>, %y: tensor<701x613xui8>) -> !u {{\n  \
             %a = \"promote.convert\"(%x) : (tensor<{rows}x701xi8>) -> tensor<{rows}x701xi32>\n  \
             %b = \"promote.convert\"(%y) : (tensor<701x613xui8>) -> tensor<701x613xi32>\n  \
             %r = \"promote.matmul\"(%a, %b) : (tensor<{rows}x701xi32>, tensor<701x613xi32>) -> !u\n  \
             return %r : !u\n}}\n"
        )
    };
    let rows = [5, 61, 613];
    let executable = compile(&session("jax", false, false), &rows.map(product).concat());
    let mut random = Random::new(2);
    let mut bytes = |dtype: DType, shape: [usize; 2]| {
        let numbers: Vec<i128> = (0..shape[0] * shape[1]).map(|_| random.below(128) as i128).collect();
        Value::Array(Array::of_ints(dtype, &shape, &numbers))
    };
    let y = bytes(DType::U8, [COLUMNS, ROWS]);
    for rows in rows {
        let (f, x) = (function(&executable, &format!("rows_{rows}")), bytes(DType::I8, [rows, COLUMNS]));
        let seen = [1, 2, 8, 0].map(|threads| {
            set_threads(threads);
            run(&f, &[x.clone(), y.clone()]).expect("it runs")
        });
        assert!(seen.iter().all(|found| *found == seen[0]), "a product of {rows} rows");
    }
}

/// A loop that would take some terabytes, were buffers kept; and one whose body calls a function.
const LOOPS: &str = r#"
!t = tensor<1048576xf32>
func.func private @step(%x: !t, %y: !t) -> (!t, !t) {
  %a = "promote.add"(%x, %y) : (!t, !t) -> !t
  %s = "promote.sort"(%y) : (!t) -> !t
  return %a, %s : !t, !t
}
func.func @carried(%n: index, %x: !t) -> !t {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %c = "promote.constant"() {value = dense<1.0> : tensor<f32>} : () -> tensor<f32>
  %r:3 = scf.for %i = %zero to %n step %one iter_args(%a = %x, %b = %x, %d = %x) -> (!t, !t, !t) {
    %next = "promote.add"(%a, %c) : (!t, tensor<f32>) -> !t
    %unused = "promote.flip"(%b) : (!t) -> !t
    scf.yield %next, %a, %unused : !t, !t, !t
  }
  return %r#0 : !t
}
func.func @called(%n: index, %x: !t) -> !t {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r:2 = scf.for %i = %zero to %n step %one iter_args(%a = %x, %b = %x) -> (!t, !t) {
    %next:2 = func.call @step(%a, %b) : (!t, !t) -> (!t, !t)
    scf.yield %next#0, %next#1 : !t, !t
  }
  return %r#0 : !t
}
func.func @conditional(%n: index, %x: !t) -> !t {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %r:2 = scf.while (%i = %zero, %a = %x) : (index, !t) -> (index, !t) {
    %goes = arith.cmpi slt, %i, %n : index
    %b = "promote.negative"(%a) : (!t) -> !t
    scf.condition(%goes) %i, %b : index, !t
  } do {
  ^bb0(%i: index, %b: !t):
    %rest = arith.remsi %i, %two : index
    %is_odd = arith.cmpi eq, %rest, %one : index
    %c = scf.if %is_odd -> !t {
      %d = "promote.square"(%b) : (!t) -> !t
      scf.yield %d : !t
    } else {
      scf.yield %x : !t
    }
    %next = arith.addi %i, %one : index
    scf.yield %next, %c : index, !t
  }
  return %r#1 : !t
}
"#;

static LOOPING: LazyLock<Executable> = LazyLock::new(|| compile(&session("jax", false, false), LOOPS));

/// Bytes of memory that the process has ever had at once.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("there is a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it has the peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("it is a number") << 10
}

#[test]
#[cfg(target_os = "linux")]
fn loops_run_in_bounded_memory() {
    const COUNT: i64 = 1500;
    let x: Vec<f32> = vec![0.5; 1 << 20];
    for (name, count, expected) in
        [("carried", COUNT, 1500.5), ("called", 40, 20.5), ("conditional", COUNT, -0.25)]
    {
        let before = peak();
        let given = [
            Tensor::scalar(count).expect("there is memory"),
            Tensor::of(&x, &[1 << 20]).expect("the shape fits"),
        ];
        let found = function(&LOOPING, name).run(&given).expect("it runs");
        let found = found[0].elements::<f32>().expect("they are floats");
        assert!(found.iter().all(|number| *number == expected), "@{name}: {}", found[0]);
        // Each iteration writes 4 MB or more; other tests take memory too. What Linux reports is not exact.
        let taken = peak().saturating_sub(before);
        assert!(taken < 2 << 30, "@{name} took {} MB", taken >> 20);
    }
}
