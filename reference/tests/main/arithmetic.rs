//! Arithmetic at its edges.

use promote_lattice::DType::{self, *};
use promote_reference::{Array, Error};

use crate::support::{apply, ints, reals};

fn of(name: &str, op: &str, x: Array, y: Array) -> Array {
    apply(name, op, "", &[x, y]).unwrap_or_else(|error| panic!("{op}: {error}"))
}

#[test]
fn integers_wrap() {
    assert_eq!(of("jax", "add", ints(U8, &[255, 7]), ints(U8, &[1, 7])), ints(U8, &[0, 14]));
    assert_eq!(of("jax", "subtract", ints(U8, &[0]), ints(U8, &[1])), ints(U8, &[255]));
    assert_eq!(of("jax", "multiply", ints(I8, &[127, -128]), ints(I8, &[2, -1])), ints(I8, &[-2, -128]));
    let large = i128::from(u64::MAX);
    assert_eq!(of("jax", "multiply", ints(U64, &[large]), ints(U64, &[large])), ints(U64, &[1]));
}

#[test]
fn division_rounds_down_and_the_remainder_has_the_sign_of_the_divisor() {
    let (x, y) = (ints(I32, &[7, -7, 7, -7]), ints(I32, &[2, 2, -2, -2]));
    assert_eq!(of("jax", "floor_divide", x.clone(), y.clone()), ints(I32, &[3, -4, -4, 3]));
    assert_eq!(of("jax", "remainder", x.clone(), y.clone()), ints(I32, &[1, 1, -1, -1]));
    assert_eq!(of("jax", "fmod", x, y), ints(I32, &[1, -1, 1, -1]));
    let (x, y) = (reals(F32, &[7.5, -7.5, 1.0]), reals(F32, &[2.0, 2.0, f64::INFINITY]));
    assert_eq!(of("numpy2", "floor_divide", x.clone(), y.clone()), reals(F32, &[3.0, -4.0, 0.0]));
    assert_eq!(of("numpy2", "remainder", x, y), reals(F32, &[1.5, 0.5, 1.0]));
}

#[test]
fn integers_divided_by_zero_are_what_the_library_makes_of_them() {
    let divide = |name, dtype| apply(name, "floor_divide", "", &[ints(dtype, &[0, 5]), ints(dtype, &[0, 0])]);
    assert_eq!(divide("jax", I32), Ok(ints(I32, &[-1, -2])));
    assert_eq!(divide("jax", U8), Ok(ints(U8, &[255, 255])));
    assert_eq!(divide("numpy2", I32), Ok(ints(I32, &[0, 0])));
    assert!(matches!(divide("torch", I32), Err(Error::Trap(_))));
}

#[test]
fn narrow_floats_are_rounded_once() {
    // 256 + 1 is half way to 258, the next bf16; ties go to even.
    assert_eq!(
        of("jax", "add", reals(BF16, &[256.0, 258.0]), reals(BF16, &[1.0, 1.0])),
        reals(BF16, &[256.0, 260.0])
    );
    assert_eq!(
        of("jax", "multiply", reals(F16, &[60000.0]), reals(F16, &[2.0])),
        reals(F16, &[f64::INFINITY])
    );
    assert_eq!(of("jax", "add", reals(F32, &[16777216.0]), reals(F32, &[1.0])), reals(F32, &[16777216.0]));
}

#[test]
fn maximum_and_minimum_pass_nan_on() {
    let (x, y) = (reals(F32, &[1.0, f64::NAN, 3.0]), reals(F32, &[2.0, 2.0, f64::NAN]));
    assert_eq!(of("jax", "maximum", x.clone(), y.clone()), reals(F32, &[2.0, f64::NAN, f64::NAN]));
    assert_eq!(of("jax", "minimum", x, y), reals(F32, &[1.0, f64::NAN, f64::NAN]));
}

#[test]
fn shifts_by_the_width_or_more() {
    assert_eq!(of("jax", "bitwise_left_shift", ints(U8, &[1, 1]), ints(U8, &[7, 8])), ints(U8, &[128, 0]));
    assert_eq!(of("jax", "bitwise_right_shift", ints(I8, &[-8, -8]), ints(I8, &[1, 9])), ints(I8, &[-4, -1]));
}

#[test]
fn the_next_float_is_one_of_the_dtype() {
    let next = |dtype: DType, x, y| of("jax", "nextafter", reals(dtype, &[x]), reals(dtype, &[y]));
    assert_eq!(next(F32, 1.0, 2.0), reals(F32, &[1.0 + 2f64.powi(-23)]));
    assert_eq!(next(F32, 0.0, -1.0), reals(F32, &[-2f64.powi(-149)]));
    assert_eq!(next(F64, 1.0, 0.0), reals(F64, &[1.0 - 2f64.powi(-53)]));
}

#[test]
fn reductions() {
    let matrix = Array::of_ints(I32, &[2, 3], &[1, 2, 3, 4, 5, 6]);
    let sum =
        |attributes| apply("jax", "sum", attributes, std::slice::from_ref(&matrix)).expect("it has sums");
    assert_eq!(sum("").elements, Array::of_ints(I64, &[], &[21]).elements);
    assert_eq!(sum("axis = array<i64: 0>").elements, ints(I64, &[5, 7, 9]).elements);
    assert_eq!(sum("axis = array<i64: -1>, keepdims = true").shape, [2, 1]);
    let x = reals(F32, &[2.0, f64::NAN, 5.0, f64::NAN]);
    let place = apply("jax", "argmax", "", std::slice::from_ref(&x)).expect("it has a place");
    assert_eq!(place.elements, Array::of_ints(I64, &[], &[1]).elements);
    let x = reals(F64, &[1.0, 2.0, 4.0, 5.0]);
    let var = |attributes| apply("numpy2", "var", attributes, std::slice::from_ref(&x));
    assert_eq!(var(""), Ok(Array::of_reals(F64, &[], &[2.5])));
    assert_eq!(var("correction = 1 : i64"), Ok(Array::of_reals(F64, &[], &[10.0 / 3.0])));
    let x = ints(I8, &[3, -1, 2]);
    let sorted = apply("numpy2", "sort", "", std::slice::from_ref(&x));
    assert_eq!(sorted, Ok(ints(I8, &[-1, 2, 3])));
    assert_eq!(
        apply("numpy2", "cumulative_sum", "", &[x]).map(|sum| sum.elements),
        Ok(ints(I64, &[3, 2, 4]).elements)
    );
}

#[test]
fn products_of_matrices() {
    let x = Array::of_ints(I32, &[2, 3], &[1, 2, 3, 4, 5, 6]);
    let y = Array::of_ints(I32, &[3, 2], &[1, 0, 0, 1, 1, 1]);
    let v = ints(I32, &[1, 1, 1]);
    assert_eq!(of("numpy2", "matmul", x.clone(), y.clone()), Array::of_ints(I32, &[2, 2], &[4, 5, 10, 11]));
    assert_eq!(of("numpy2", "matmul", x.clone(), v.clone()), ints(I32, &[6, 15]));
    assert_eq!(of("numpy2", "matmul", v.clone(), y), ints(I32, &[2, 2]));
    assert_eq!(of("numpy2", "matmul", v.clone(), v), Array::of_ints(I32, &[], &[3]));
    let batch = Array::of_ints(I32, &[2, 1, 3], &[1, 0, 0, 0, 0, 1]);
    let z = Array::of_ints(I32, &[3, 1], &[7, 8, 9]);
    assert_eq!(of("numpy2", "matmul", batch, z), Array::of_ints(I32, &[2, 1, 1], &[7, 9]));
}
