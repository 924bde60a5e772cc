//! What functions take and return: arguments and results in one place, constants, nothing at all, calls and recursion, shapes
//! that are known at run time only.

use std::sync::LazyLock;

use promote::{DType, Executable, Tensor, TensorMut};
use promote_reference::{Array, Number, Value};

use super::support::{compile, function, run, session};

const SOURCE: &str = r#"
!i = tensor<5xi32>
func.func @argument(%x: !i) -> !i { return %x : !i }
func.func @twice(%x: !i) -> (!i, !i, !i) {
  %r = "promote.add"(%x, %x) : (!i, !i) -> !i
  return %r, %x, %r : !i, !i, !i
}
func.func @swapped(%x: !i, %y: !i) -> (!i, !i) { return %y, %x : !i, !i }
func.func @reshaped(%x: tensor<6xi32>) -> (tensor<2x3xi32>, tensor<6xi32>, tensor<3x2xi32>) {
  %r = "promote.reshape"(%x) {shape = array<i64: 2, 3>} : (tensor<6xi32>) -> tensor<2x3xi32>
  %s = "promote.reshape"(%r) {shape = array<i64: 3, 2>} : (tensor<2x3xi32>) -> tensor<3x2xi32>
  return %r, %x, %s : tensor<2x3xi32>, tensor<6xi32>, tensor<3x2xi32>
}
func.func @constants() -> (!i, !i, tensor<i32>, tensor<2xi1>) {
  %c = "promote.constant"() {value = dense<[1, 2, 3, 4, 5]> : !i} : () -> !i
  %s = "promote.constant"() {value = dense<7> : tensor<i32>} : () -> tensor<i32>
  %b = "promote.constant"() {value = dense<[true, false]> : tensor<2xi1>} : () -> tensor<2xi1>
  return %c, %c, %s, %b : !i, !i, tensor<i32>, tensor<2xi1>
}
func.func @nothing() { return }
func.func @swallow(%x: !i) { return }
func.func @flipped(%x: !i) -> !i {
  %r = "promote.flip"(%x) : (!i) -> !i
  return %r : !i
}
func.func @shifted(%x: tensor<1000xi32>) -> tensor<1000xi32> {
  %f = "promote.flip"(%x) : (tensor<1000xi32>) -> tensor<1000xi32>
  %r = "promote.add"(%f, %x) : (tensor<1000xi32>, tensor<1000xi32>) -> tensor<1000xi32>
  return %r : tensor<1000xi32>
}
func.func @zero_size(%x: tensor<0x3xf32>, %y: tensor<3x0xf32>)
    -> (tensor<0x3xf32>, tensor<3xf32>, tensor<3x3xf32>, tensor<0x0xf32>, tensor<f32>, tensor<3xf32>, tensor<3xi1>, tensor<3x0xf32>) {
  %a = "promote.sin"(%x) : (tensor<0x3xf32>) -> tensor<0x3xf32>
  %b = "promote.sum"(%x) {axis = array<i64: 0>} : (tensor<0x3xf32>) -> tensor<3xf32>
  %c = "promote.matmul"(%y, %x) : (tensor<3x0xf32>, tensor<0x3xf32>) -> tensor<3x3xf32>
  %d = "promote.matmul"(%x, %y) : (tensor<0x3xf32>, tensor<3x0xf32>) -> tensor<0x0xf32>
  %e = "promote.prod"(%x) : (tensor<0x3xf32>) -> tensor<f32>
  %g = "promote.mean"(%y) {axis = array<i64: 1>} : (tensor<3x0xf32>) -> tensor<3xf32>
  %t = "promote.equal"(%y, %y) : (tensor<3x0xf32>, tensor<3x0xf32>) -> tensor<3x0xi1>
  %h = "promote.all"(%t) {axis = array<i64: 1>} : (tensor<3x0xi1>) -> tensor<3xi1>
  %s = "promote.sort"(%y) {axis = array<i64: 1>} : (tensor<3x0xf32>) -> tensor<3x0xf32>
  return %a, %b, %c, %d, %e, %g, %h, %s
    : tensor<0x3xf32>, tensor<3xf32>, tensor<3x3xf32>, tensor<0x0xf32>, tensor<f32>, tensor<3xf32>, tensor<3xi1>, tensor<3x0xf32>
}
func.func @rank_0(%x: tensor<i32>, %y: tensor<i32>) -> (tensor<i32>, tensor<i32>, tensor<1x1xi32>) {
  %a = "promote.multiply"(%x, %y) : (tensor<i32>, tensor<i32>) -> tensor<i32>
  %b = "promote.max"(%a) : (tensor<i32>) -> tensor<i32>
  %c = "promote.reshape"(%b) {shape = array<i64: 1, 1>} : (tensor<i32>) -> tensor<1x1xi32>
  return %a, %b, %c : tensor<i32>, tensor<i32>, tensor<1x1xi32>
}
func.func @factorial(%n: index, %x: tensor<2xi64>) -> tensor<2xi64> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %stops = arith.cmpi sle, %n, %zero : index
  %r = scf.if %stops -> tensor<2xi64> {
    %c = "promote.constant"() {value = dense<1> : tensor<2xi64>} : () -> tensor<2xi64>
    scf.yield %c : tensor<2xi64>
  } else {
    %less = arith.subi %n, %one : index
    %rest = func.call @factorial(%less, %x) : (index, tensor<2xi64>) -> tensor<2xi64>
    %product = "promote.multiply"(%rest, %x) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    scf.yield %product : tensor<2xi64>
  }
  return %r : tensor<2xi64>
}
func.func private @odd(%n: index, %x: !i) -> !i {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %stops = arith.cmpi sle, %n, %zero : index
  cf.cond_br %stops, ^done(%x : !i), ^more
^more:
  %less = arith.subi %n, %one : index
  %r = func.call @even(%less, %x) : (index, !i) -> !i
  %s = "promote.negative"(%r) : (!i) -> !i
  cf.br ^done(%s : !i)
^done(%result: !i):
  return %result : !i
}
func.func @even(%n: index, %x: !i) -> !i {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %stops = arith.cmpi sle, %n, %zero : index
  cf.cond_br %stops, ^done(%x : !i), ^more
^more:
  %less = arith.subi %n, %one : index
  %y = "promote.add"(%x, %x) : (!i, !i) -> !i
  %r = func.call @odd(%less, %y) : (index, !i) -> !i
  cf.br ^done(%r : !i)
^done(%result: !i):
  return %result : !i
}
func.func private @pair(%x: !i, %y: !i) -> (!i, !i, !i) {
  %s = "promote.add"(%x, %y) : (!i, !i) -> !i
  return %s, %x, %s : !i, !i, !i
}
func.func @fibonacci(%n: index, %x: !i) -> (!i, !i) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %start = "promote.subtract"(%x, %x) : (!i, !i) -> !i
  %r:2 = scf.for %i = %zero to %n step %one iter_args(%a = %x, %b = %start) -> (!i, !i) {
    %s:3 = func.call @pair(%a, %b) : (!i, !i) -> (!i, !i, !i)
    scf.yield %s#2, %s#1 : !i, !i
  }
  return %r#0, %r#1 : !i, !i
}
func.func @exchanged(%n: index, %x: !i, %y: !i) -> (!i, !i) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r:2 = scf.for %i = %zero to %n step %one iter_args(%a = %x, %b = %y) -> (!i, !i) {
    scf.yield %b, %a : !i, !i
  }
  return %r#0, %r#1 : !i, !i
}
func.func @open(%x: tensor<?xi32>, %y: tensor<?xi32>) -> (tensor<?xi32>, tensor<?xi32>) {
  %r = "promote.add"(%x, %y) : (tensor<?xi32>, tensor<?xi32>) -> tensor<?xi32>
  %s = "promote.slice"(%r) {start = array<i64: -1>, stop = array<i64: -1000>, step = array<i64: -2>} : (tensor<?xi32>) -> tensor<?xi32>
  return %r, %s : tensor<?xi32>, tensor<?xi32>
}
func.func @asserted(%x: tensor<?xi32>, %ok: i1) -> tensor<?xi32> {
  cf.assert %ok, "the flag is not set"
  return %x : tensor<?xi32>
}
func.func @absurd(%x: tensor<?xi8>) -> tensor<1000000x1000000x1000000xi8> {
  %s = "promote.sum"(%x) : (tensor<?xi8>) -> tensor<*x!promote.unknown>
  %c = "promote.convert"(%s) : (tensor<*x!promote.unknown>) -> tensor<i8>
  %r = "promote.broadcast_to"(%c) {shape = array<i64: 1000000, 1000000, 1000000>} : (tensor<i8>) -> tensor<1000000x1000000x1000000xi8>
  return %r : tensor<1000000x1000000x1000000xi8>
}
func.func @absurd_inside(%x: tensor<?xi8>) -> tensor<i8> {
  %b = "promote.broadcast_to"(%x) {shape = array<i64: 1000000000000000, 3>} : (tensor<?xi8>) -> tensor<1000000000000000x3xi8>
  %s = "promote.sort"(%b) {axis = array<i64: 0>} : (tensor<1000000000000000x3xi8>) -> tensor<1000000000000000x3xi8>
  %m = "promote.max"(%s) : (tensor<1000000000000000x3xi8>) -> tensor<i8>
  return %m : tensor<i8>
}
func.func @turned(%x: tensor<8xi64>) -> (tensor<i64>, tensor<8xi64>) {
  %p = "promote.prod"(%x) : (tensor<8xi64>) -> tensor<i64>
  %s = "promote.cumulative_sum"(%x) {axis = array<i64: 0>} : (tensor<8xi64>) -> tensor<8xi64>
  %f = "promote.flip"(%s) : (tensor<8xi64>) -> tensor<8xi64>
  return %p, %f : tensor<i64>, tensor<8xi64>
}
func.func @colours(%x: tensor<2x1x3xi32>, %y: tensor<70x3xi32>) -> tensor<2x70x3xi32> {
  %r = "promote.add"(%x, %y) : (tensor<2x1x3xi32>, tensor<70x3xi32>) -> tensor<2x70x3xi32>
  return %r : tensor<2x70x3xi32>
}
func.func @scalars(%i: index, %b: i1, %f: f32) -> (index, i1, f32) {
  %one = arith.constant 1 : index
  %j = arith.addi %i, %one : index
  return %j, %b, %f : index, i1, f32
}
"#;

static COMPILED: LazyLock<Executable> = LazyLock::new(|| compile(&session("jax", true, false), SOURCE));

fn ints(numbers: &[i128]) -> Array {
    Array::of_ints(DType::I32, &[numbers.len()], numbers)
}

fn index(number: i64) -> Value {
    Value::Integer(number)
}

fn call(name: &str, arguments: &[Value]) -> Vec<Array> {
    run(&function(&COMPILED, name), arguments).unwrap_or_else(|error| panic!("@{name}: {error}"))
}

fn on_ints(name: &str, arguments: &[&[i128]]) -> Vec<Array> {
    let arguments: Vec<Value> = arguments.iter().map(|numbers| Value::Array(ints(numbers))).collect();
    call(name, &arguments)
}

#[test]
fn arguments_are_results() {
    let (x, y): (&[i128], &[i128]) = (&[1, 2, 3, 4, 5], &[5, 6, 7, 8, 9]);
    assert_eq!(on_ints("argument", &[x]), [ints(x)]);
    assert_eq!(on_ints("twice", &[x]), [ints(&[2, 4, 6, 8, 10]), ints(x), ints(&[2, 4, 6, 8, 10])]);
    assert_eq!(on_ints("swapped", &[x, y]), [ints(y), ints(x)]);
    assert_eq!(on_ints("flipped", &[x]), [ints(&[5, 4, 3, 2, 1])]);
}

#[test]
fn reshaped_arguments_are_results() {
    let of = |shape: &[usize]| Array::of_ints(DType::I32, shape, &[1, 2, 3, 4, 5, 6]);
    assert_eq!(on_ints("reshaped", &[&[1, 2, 3, 4, 5, 6]]), [of(&[2, 3]), of(&[6]), of(&[3, 2])]);
}

#[test]
fn constants_are_results() {
    let expected = [
        ints(&[1, 2, 3, 4, 5]),
        ints(&[1, 2, 3, 4, 5]),
        Array::of_ints(DType::I32, &[], &[7]),
        Array::of_ints(DType::B1, &[2], &[1, 0]),
    ];
    // What a caller does to a result is not seen by the next one.
    let mut first = function(&COMPILED, "constants").run(&[]).expect("it runs");
    first[0].bytes_mut().expect("a result is owned").fill(0);
    assert_eq!(call("constants", &[]), expected);
}

#[test]
fn functions_without_results_or_arguments() {
    assert_eq!(call("nothing", &[]), []);
    assert_eq!(on_ints("swallow", &[&[1, 2, 3, 4, 5]]), []);
}

#[test]
fn nothing_comes_of_no_elements() {
    let of = |shape: &[usize], numbers: &[f64]| Array::of_reals(DType::F32, shape, numbers);
    let arguments = [Value::Array(of(&[0, 3], &[])), Value::Array(of(&[3, 0], &[]))];
    let expected = [
        of(&[0, 3], &[]),
        of(&[3], &[0.0; 3]),
        of(&[3, 3], &[0.0; 9]),
        of(&[0, 0], &[]),
        of(&[], &[1.0]),
        of(&[3], &[f64::NAN; 3]),
        Array::of_ints(DType::B1, &[3], &[1; 3]),
        of(&[3, 0], &[]),
    ];
    let found = call("zero_size", &arguments);
    for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert!(super::support::farthest(found, expected) == 0.0, "result {index}: {found:?}");
    }
}

#[test]
fn tensors_without_dimensions() {
    let scalar = |number| Value::Array(Array::of_ints(DType::I32, &[], &[number]));
    let expected = [[].as_slice(), &[], &[1, 1]].map(|shape| Array::of_ints(DType::I32, shape, &[-42]));
    assert_eq!(call("rank_0", &[scalar(6), scalar(-7)]), expected);
}

#[test]
fn functions_call_themselves_and_each_other() {
    let x = Value::Array(Array::of_ints(DType::I64, &[2], &[2, -3]));
    let expected = Array::of_ints(DType::I64, &[2], &[1 << 10, 59049]);
    assert_eq!(call("factorial", &[index(10), x]), [expected]);
    let x = || Value::Array(ints(&[1, 2, 3, 4, 5]));
    assert_eq!(call("even", &[index(0), x()]), [ints(&[1, 2, 3, 4, 5])]);
    assert_eq!(call("even", &[index(5), x()]), [ints(&[8, 16, 24, 32, 40])]);
}

#[test]
fn loops_call_functions_and_exchange_what_they_carry() {
    let x = || Value::Array(ints(&[1, 2, 3, 4, 5]));
    assert_eq!(
        call("fibonacci", &[index(10), x()]),
        [ints(&[89, 178, 267, 356, 445]), ints(&[55, 110, 165, 220, 275])]
    );
    let y = || Value::Array(ints(&[0, 0, 0, 0, 7]));
    for count in 0..4 {
        let [found, other] = call("exchanged", &[index(count), x(), y()]).try_into().expect("there are two");
        let (first, second) = (ints(&[1, 2, 3, 4, 5]), ints(&[0, 0, 0, 0, 7]));
        assert_eq!((found, other), if count % 2 == 0 { (first, second) } else { (second, first) });
    }
}

#[test]
fn numbers_outside_of_tensors() {
    let scalar = |value: f32| Tensor::scalar(value).expect("there is memory");
    let flag = Tensor::new(DType::B1, &[], &[1]).expect("it is a truth value");
    let found = function(&COMPILED, "scalars").run(&[
        Tensor::scalar(41_i64).expect("there is memory"),
        flag,
        scalar(1.5),
    ]);
    let found = found.expect("it runs");
    assert_eq!(found[0].elements::<i64>(), Some([42].as_slice()));
    assert_eq!(found[1].bytes(), Some([1].as_slice()));
    assert_eq!(found[2].elements::<f32>(), Some([1.5].as_slice()));
}

/// A row of three for each of some images is added to all rows of that image.
#[test]
fn a_short_row_for_each_image() {
    let x = Array::of_ints(DType::I32, &[2, 1, 3], &[1000, 2000, 3000, 4000, 5000, 6000]);
    let y: Vec<i128> = (0..210).collect();
    let y = Array::of_ints(DType::I32, &[70, 3], &y);
    let sum = |place: i128| (place / 210 * 3 + place % 3 + 1) * 1000 + place % 210;
    let expected = Array::of_ints(DType::I32, &[2, 70, 3], &(0..420).map(sum).collect::<Vec<_>>());
    assert_eq!(call("colours", &[Value::Array(x), Value::Array(y)]), [expected]);
}

/// The sums are not read by the loop that writes them.
#[test]
fn running_sums_backwards() {
    let of = |numbers: &[i128]| Array::of_ints(DType::I64, &[numbers.len()], numbers);
    let turned = |numbers: &[i128]| call("turned", &[Value::Array(of(numbers))]);
    // The memory of results is used again: what is in it is not what comes next.
    for _ in 0..3 {
        let [product, sums] = turned(&[1, 2, 3, 4, 5, 6, 7, 8]).try_into().expect("there are two");
        assert_eq!((product.elements, sums), (vec![Number::Int(40320)], of(&[36, 28, 21, 15, 10, 6, 3, 1])));
        assert_eq!(turned(&[0; 8])[1], of(&[0; 8]));
    }
}

#[test]
fn extents_that_a_run_knows() {
    assert_eq!(on_ints("open", &[&[1, 2, 3, 4], &[10]]), [ints(&[11, 12, 13, 14]), ints(&[14, 12])]);
    assert_eq!(on_ints("open", &[&[1], &[10, 20, 30]]), [ints(&[11, 21, 31]), ints(&[31, 11])]);
    assert_eq!(on_ints("open", &[&[], &[10]]), [ints(&[]), ints(&[])]);
    let wrong =
        run(&function(&COMPILED, "open"), &[Value::Array(ints(&[1, 2])), Value::Array(ints(&[1, 2, 3]))]);
    let message = wrong.expect_err("they do not broadcast").to_string();
    assert!(
        message.contains("promote.add") && message.contains("must be equal, or one of them 1"),
        "{message}"
    );
}

#[test]
fn assertions_say_their_message() {
    let asserted = function(&COMPILED, "asserted");
    let message =
        |flag| run(&asserted, &[Value::Array(ints(&[1])), index(flag)]).map_err(|error| error.to_string());
    assert_eq!(message(1), Ok(vec![ints(&[1])]));
    assert!(message(0).expect_err("it fails").contains("the flag is not set"));
}

#[test]
fn sizes_beyond_all_memory_are_refused() {
    for name in ["absurd", "absurd_inside"] {
        let arguments = [Value::Array(Array::of_ints(DType::I8, &[3], &[1, 2, 3]))];
        let message =
            run(&function(&COMPILED, name), &arguments).expect_err("there is no such memory").to_string();
        assert!(message.contains("memory") || message.contains("large"), "@{name}: {message}");
    }
}

#[test]
fn results_may_be_written_over_strided_memory() {
    let numbers: Vec<i32> = (0..1000).collect();
    let mut memory = vec![-1_i32; 3000];
    let shifted = function(&COMPILED, "shifted");
    let x = Tensor::of(&numbers, &[1000]).expect("the shape fits");
    {
        // SAFETY: every pattern of bits is a byte, and the memory is borrowed as long.
        let bytes = unsafe { std::slice::from_raw_parts_mut(memory.as_mut_ptr().cast::<u8>(), 12000) };
        let target =
            TensorMut::strided(DType::I32, &[1000], &[-3], bytes, 2998 * 4).expect("the strides fit");
        shifted.run_into(&[x], &mut [target]).expect("it runs");
    }
    let written = |place: usize| if place % 3 == 1 { 999 } else { -1 };
    assert_eq!(memory, (0..3000).map(written).collect::<Vec<_>>());
}

#[test]
fn arguments_may_be_strided() {
    let numbers: Vec<i32> = (0..3000).collect();
    // SAFETY: every pattern of bits is a byte.
    let bytes = unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast::<u8>(), 12000) };
    let shifted = function(&COMPILED, "shifted");
    for (stride, offset, expected) in [(3, 1, 2999), (-3, 2998, 2999), (0, 7, 14), (2, 0, 1998)] {
        let x = Tensor::strided(DType::I32, &[1000], &[stride], bytes, offset * 4).expect("the strides fit");
        let found = shifted.run(&[x]).expect("it runs");
        assert_eq!(found[0].elements::<i32>(), Some([expected; 1000].as_slice()), "stride {stride}");
    }
}

#[test]
fn shapes_are_returned_for_arguments_larger_than_memory() {
    const EXTENT: i64 = 1 << 50;
    let view = || Tensor::strided(DType::I32, &[EXTENT], &[0], &[0; 4], 0).expect("the strides fit");
    let open = function(&COMPILED, "open");
    assert_eq!(open.shapes(&[view(), view()]), Ok(vec![vec![EXTENT], vec![500]]));
    let refused = open.run(&[view(), view()]).map(drop).map_err(|error| error.status);
    assert_eq!(refused, Err(promote::Status::Memory));
}

#[test]
fn a_rank_of_more_than_60_is_refused() {
    let session = session("jax", false, false);
    let negated = |rank: usize| {
        let r#type = format!("tensor<{}f32>", "?x".repeat(rank));
        let text = format!(
            "func.func @f(%x: {type}) -> {type} {{\n  %0 = \"promote.negative\"(%x) : ({type}) -> {type}\n  \
             return %0 : {type}\n}}"
        );
        super::support::compile_for(&session, &text, promote::Target::host())
    };
    assert!(negated(60).is_ok());
    let Err(refused) = negated(61) else { panic!("it is accepted") };
    assert!(refused.contains("which is not supported"), "{refused}");
}
