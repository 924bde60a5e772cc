//! Functions compiled into this process: what they take, return and refuse, from one thread and from many.

use promote::{
    CompileError, CompileOptions, DType, Denormals, Executable, Function, OptLevel, Pipeline, Source, Status,
    Target, Tensor, TensorError, TensorMut,
};

use crate::support::session;

const ROWS: &str = r#"!u = tensor<*x!promote.unknown>
func.func @rows(%x: tensor<?x3xf32>, %y: tensor<3xi32>) -> (!u, !u) {
  %0 = "promote.add"(%x, %y) : (tensor<?x3xf32>, tensor<3xi32>) -> !u
  %1 = "promote.sum"(%0) {axis = array<i64: 0>} : (!u) -> !u
  return %0, %1 : !u, !u
}
func.func private @helper(%x: tensor<2xf32>) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
func.func @again(%x: tensor<2xf32>, %k: tensor<!promote.weak_int>) -> !u {
  %0 = func.call @helper(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = "promote.multiply"(%0, %k) : (tensor<2xf32>, tensor<!promote.weak_int>) -> !u
  return %1 : !u
}"#;

fn compiled(source: &str, options: &CompileOptions) -> Result<Executable, CompileError> {
    let session = session("jax", false, false);
    let module = session.parse(Source::Text(source)).expect("the source is valid");
    Executable::compile(&session, module, options)
}

fn function(source: &str, name: &str) -> Function {
    let executable = compiled(source, &CompileOptions::default()).expect("the module compiles");
    executable.function(name).expect("the function is public")
}

const X: [f32; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
const Y: [i32; 3] = [10, 20, 30];
const SUM: [f32; 6] = [11.0, 22.0, 33.0, 14.0, 25.0, 36.0];

fn x() -> Tensor<'static> {
    Tensor::of(&X, &[2, 3]).unwrap()
}

fn y() -> Tensor<'static> {
    Tensor::of(&Y, &[3]).unwrap()
}

#[test]
fn public_functions_are_there_with_their_types() {
    let executable = compiled(ROWS, &CompileOptions::default()).unwrap();
    let names: Vec<String> = executable.functions().map(|function| function.name().to_owned()).collect();
    assert_eq!(names, ["again", "rows"]);
    assert!(executable.function("helper").is_none());
    let rows = executable.function("rows").unwrap();
    let types = |types: &[promote::TensorType]| types.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(types(rows.inputs()), ["float32[?,3]", "int32[3]"]);
    assert_eq!(types(rows.outputs()), ["float32[?,3]", "float32[3]"]);
    assert_eq!(types(executable.function("again").unwrap().inputs()), ["float32[2]", "int32[]"]);
}

#[test]
fn results_have_memory_of_their_own() {
    let function = function(ROWS, "rows");
    let results = function.run(&[x(), y()]).unwrap();
    assert_eq!((results[0].dtype(), results[0].shape()), (DType::F32, &[2, 3][..]));
    assert_eq!(results[0].elements::<f32>(), Some(&SUM[..]));
    assert_eq!(results[1].elements::<f32>(), Some(&[25.0, 47.0, 69.0][..]));
    assert_eq!(results[0].elements::<i32>(), None);
    // A result is an argument like any other.
    let more =
        function.run(&[Tensor::of(results[0].elements::<f32>().unwrap(), &[2, 3]).unwrap(), y()]).unwrap();
    assert_eq!(more[0].elements::<f32>().unwrap()[0], 21.0);
}

#[test]
fn results_can_be_written_to_memory_of_the_caller() {
    let function = function(ROWS, "rows");
    assert_eq!(function.shapes(&[x(), y()]).unwrap(), [vec![2, 3], vec![3]]);
    let (mut sums, mut total) = ([0f32; 6], [0f32; 6]);
    let bytes = total.len() * size_of::<f32>();
    // SAFETY: the bytes are those of the floats.
    let total_bytes = unsafe { std::slice::from_raw_parts_mut(total.as_mut_ptr().cast::<u8>(), bytes) };
    let mut outputs = [
        TensorMut::of(&mut sums, &[2, 3]).unwrap(),
        // Every other float, from the last to the first.
        TensorMut::strided(DType::F32, &[3], &[-2], total_bytes, 16).unwrap(),
    ];
    function.run_into(&[x(), y()], &mut outputs).unwrap();
    assert_eq!((sums, total), (SUM, [69.0, 0.0, 47.0, 0.0, 25.0, 0.0]));
}

#[test]
fn arguments_may_be_strided_and_misaligned() {
    let function = function(ROWS, "rows");
    // Column-major, one byte after the start.
    let columns = [1.0f32, 4.0, 2.0, 5.0, 3.0, 6.0];
    let bytes: Vec<u8> = std::iter::once(0).chain(columns.iter().flat_map(|x| x.to_ne_bytes())).collect();
    let strided = Tensor::strided(DType::F32, &[2, 3], &[1, 2], &bytes, 1).unwrap();
    assert_eq!((strided.bytes(), strided.len()), (None, 6));
    let results = function.run(&[strided, y()]).unwrap();
    assert_eq!(results[0].elements::<f32>(), Some(&SUM[..]));
}

#[test]
fn one_function_runs_in_many_threads() {
    fn shared<T: Send + Sync + 'static>(value: T) -> T {
        value
    }
    // The executable and its session are gone: functions keep their code.
    let function = shared(function(ROWS, "rows"));
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let function = &function;
            scope.spawn(move || {
                for rows in 1..200usize {
                    let data: Vec<f32> = (0..3 * rows).map(|index| (index + thread) as f32).collect();
                    let x = Tensor::of(&data, &[rows as i64, 3]).unwrap();
                    let results = function.run(&[x, y()]).unwrap();
                    let sums = results[0].elements::<f32>().unwrap();
                    assert!(
                        sums.iter().zip(&data).enumerate().all(|(i, (sum, x))| *sum == x + Y[i % 3] as f32)
                    );
                }
            });
        }
    });
}

#[test]
fn what_does_not_fit_is_refused_with_a_reason() {
    let function = function(ROWS, "rows");
    let refused = |inputs: &[Tensor<'_>]| {
        let error = function.run(inputs).expect_err("it does not fit");
        (error.status, error.message)
    };
    let doubles = [0f64; 6];
    for (inputs, status, what) in [
        (vec![x()], Status::Rank, "must have 2 inputs, but has 1"),
        (
            vec![Tensor::of(&doubles, &[2, 3]).unwrap(), y()],
            Status::Dtype,
            "input 0 must be float32[?,3], but is float64[2,3]",
        ),
        (
            vec![Tensor::of(&X, &[6]).unwrap(), y()],
            Status::Rank,
            "input 0 must be float32[?,3], but is float32[6]",
        ),
        (
            vec![Tensor::of(&X, &[3, 2]).unwrap(), y()],
            Status::Shape,
            "input 0 must be float32[?,3], but is float32[3,2]",
        ),
    ] {
        let (found, message) = refused(&inputs);
        assert_eq!(found, status, "{message}");
        assert!(message.contains(what), "{message}");
    }
    let mut small = [0f32; 3];
    let mut other = [0f32; 3];
    let mut outputs = [TensorMut::of(&mut small, &[1, 3]).unwrap(), TensorMut::of(&mut other, &[3]).unwrap()];
    let error = function.run_into(&[x(), y()], &mut outputs).expect_err("a row is missing");
    assert_eq!(error.status, Status::Shape, "{error}");
}

#[test]
fn tensors_are_what_their_shapes_say() {
    assert!(matches!(Tensor::of(&X, &[7]), Err(TensorError::Size { expected: 28, found: 24, .. })));
    assert!(matches!(Tensor::of(&X, &[-1]), Err(TensorError::Shape(_))));
    assert!(matches!(Tensor::zeros(DType::F64, &[i64::MAX, 8]), Err(TensorError::Shape(_))));
    assert!(matches!(Tensor::zeros(DType::F64, &[1 << 50]), Err(TensorError::Memory(_))));
    assert!(matches!(Tensor::zeros(DType::WeakInt, &[]), Err(TensorError::Weak(_))));
    assert!(matches!(Tensor::strided(DType::F32, &[2], &[], &[], 0), Err(TensorError::Strides { .. })));
    assert_eq!(Tensor::zeros(DType::F64, &[i64::MAX, 0]).unwrap().len(), 0);
    assert_eq!(Tensor::scalar(2.5f64).unwrap().elements::<f64>(), Some(&[2.5][..]));
}

#[test]
fn extents_that_do_not_fit_are_found_by_the_run() {
    let source = r#"!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> !u
  return %0 : !u
}"#;
    let function = function(source, "f");
    let of = |count: usize| Tensor::of(&X[..count], &[count as i64]).unwrap();
    assert_eq!(function.run(&[of(3), of(1)]).unwrap()[0].elements::<f32>(), Some(&[2.0, 3.0, 4.0][..]));
    let error = function.run(&[of(3), of(2)]).expect_err("3 and 2 do not broadcast");
    assert_eq!(error.status, Status::Check);
    assert!(error.message.contains("-:3:8: promote.add: dimension 0"), "{error}");
}

#[test]
fn denormals_are_kept_or_flushed() {
    let source = r#"func.func @half(%x: tensor<1xf32>, %k: tensor<1xf32>) -> tensor<1xf32> {
  %0 = "promote.multiply"(%x, %k) : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  return %0 : tensor<1xf32>
}"#;
    let halved = |denormals| {
        let options = CompileOptions { denormals, ..CompileOptions::default() };
        let function = compiled(source, &options).unwrap().function("half").unwrap();
        let inputs = [[f32::MIN_POSITIVE], [0.5]];
        let inputs = [Tensor::of(&inputs[0], &[1]).unwrap(), Tensor::of(&inputs[1], &[1]).unwrap()];
        function.run(&inputs).unwrap()[0].elements::<f32>().unwrap()[0]
    };
    assert_eq!(halved(Denormals::Keep), f32::MIN_POSITIVE / 2.0);
    assert_eq!(halved(Denormals::Flush), 0.0);
    // The thread is as it was.
    assert!(std::hint::black_box(f32::MIN_POSITIVE) / std::hint::black_box(2.0) > 0.0);
}

#[test]
fn every_level_and_processor_computes_the_same() {
    for level in [OptLevel::None, OptLevel::Less, OptLevel::Default, OptLevel::Aggressive] {
        let mut targets = vec![Target::host()];
        if cfg!(target_arch = "x86_64") {
            targets.push(Target::named("x86-64").unwrap());
        }
        for target in targets {
            let options = CompileOptions { level, target, ..CompileOptions::default() };
            let function = compiled(ROWS, &options).unwrap().function("rows").unwrap();
            assert_eq!(function.run(&[x(), y()]).unwrap()[0].elements::<f32>(), Some(&SUM[..]), "{level:?}");
        }
    }
}

#[test]
fn refusals_have_diagnostics() {
    let source = r#"func.func @f(%x: tensor<4xi1>) -> tensor<*x!promote.unknown> {
  %0 = "promote.subtract"(%x, %x) : (tensor<4xi1>, tensor<4xi1>) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}"#;
    let error = compiled(source, &CompileOptions::default()).expect_err("jax has no subtract of bools");
    assert!(error.to_string().starts_with("-:2:8: jax has no subtract of b1"), "{error}");
    assert!(matches!(error, CompileError::Refused(diagnostics) if diagnostics.len() == 1));
    let pipeline = Pipeline::parse("no-such-pass").unwrap();
    let error = compiled(ROWS, &CompileOptions { pipeline, ..CompileOptions::default() });
    assert!(matches!(error, Err(CompileError::Pipeline(_))));
}
