//! Ops that move elements, and broadcasting.

use promote_lattice::DType::*;
use promote_reference::{Array, Error};

use crate::support::{apply, ints, reals};

fn matrix() -> Array {
    Array::of_ints(I32, &[2, 3], &[0, 1, 2, 3, 4, 5])
}

fn arranged(op: &str, attributes: &str) -> Array {
    apply("numpy2", op, attributes, &[matrix()]).unwrap_or_else(|error| panic!("{op}: {error}"))
}

#[test]
fn shapes_broadcast_from_the_right() {
    let column = Array::of_ints(I32, &[2, 1], &[10, 20]);
    let sum = apply("numpy2", "add", "", &[column, ints(I32, &[1, 2, 3])]);
    assert_eq!(sum, Ok(Array::of_ints(I32, &[2, 3], &[11, 12, 13, 21, 22, 23])));
}

#[test]
fn dimensions_are_moved() {
    let flipped = arranged("permute_dims", "permutation = array<i64: 1, 0>");
    assert_eq!(flipped, Array::of_ints(I32, &[3, 2], &[0, 3, 1, 4, 2, 5]));
    assert_eq!(arranged("flip", "axis = array<i64: 1>").elements, ints(I32, &[2, 1, 0, 5, 4, 3]).elements);
    assert_eq!(arranged("reshape", "shape = array<i64: 3, -1>").shape, [3, 2]);
    assert_eq!(arranged("expand_dims", "axis = array<i64: 0, -1>").shape, [1, 2, 3, 1]);
}

#[test]
fn slices_are_those_of_python() {
    let attributes = "start = array<i64: 0, -1>, stop = array<i64: 2, -100>, step = array<i64: 1, -2>";
    assert_eq!(arranged("slice", attributes), Array::of_ints(I32, &[2, 2], &[2, 0, 5, 3]));
}

#[test]
fn arrays_are_joined() {
    let both = |op, axis| {
        let sizes = "operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>";
        apply(
            "numpy2",
            op,
            &format!("axis = {axis} : i64, {sizes}"),
            &[ints(I8, &[1, 2]), ints(I16, &[3, 4])],
        )
    };
    assert_eq!(both("concat", 0), Ok(ints(I16, &[1, 2, 3, 4])));
    assert_eq!(both("stack", 0), Ok(Array::of_ints(I16, &[2, 2], &[1, 2, 3, 4])));
    assert_eq!(both("stack", -1), Ok(Array::of_ints(I16, &[2, 2], &[1, 3, 2, 4])));
}

#[test]
fn an_index_out_of_range_is_what_the_library_makes_of_it() {
    let take = |name| apply(name, "take", "axis = 0 : i64", &[reals(F32, &[1.0, 2.0]), ints(I32, &[-1, 2])]);
    assert_eq!(take("jax"), Ok(reals(F32, &[2.0, f64::NAN])));
    assert!(matches!(take("numpy2"), Err(Error::Trap(_))));
}

#[test]
fn a_choice_takes_the_dtype_of_both() {
    let condition = ints(B1, &[1, 0]);
    let chosen = apply("jax", "where", "", &[condition, ints(I8, &[1, 2]), reals(BF16, &[0.5, 0.25])]);
    assert_eq!(chosen, Ok(reals(BF16, &[1.0, 0.25])));
}
