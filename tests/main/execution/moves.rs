//! Programs that do nothing but move elements: every dtype, from every order in memory.

use std::fmt::Write;

use promote::{DType, Tensor};
use promote_reference::indices;

use super::layouts::{Laid, Spread};
use super::support::{Random, compile, function, orders, session};

/// A permutation of dimensions, of which some are reversed first.
struct Move {
    order: Vec<usize>,
    flipped: Vec<usize>,
}

impl Move {
    /// Each permutation, or each fifth one of four or more dimensions, without and with an axis reversed.
    fn all(rank: usize) -> Vec<Self> {
        let orders = orders(rank).into_iter().step_by(if rank > 3 { 5 } else { 1 });
        let flips = |number: usize| [vec![], vec![number % rank]];
        orders
            .enumerate()
            .flat_map(|(number, order)| flips(number).map(|flipped| Self { order: order.clone(), flipped }))
            .collect()
    }

    fn text(&self, x: &str) -> String {
        let list = |axes: &[usize]| axes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        let (mut text, mut of) = (String::new(), ("%x", x));
        if !self.flipped.is_empty() {
            let axes = list(&self.flipped);
            let _ = writeln!(text, "  %f = \"promote.flip\"(%x) {{axis = array<i64: {axes}>}} : ({x}) -> !u");
            of = ("%f", "!u");
        }
        let _ = writeln!(
            text,
            "  %r = \"promote.permute_dims\"({}) {{permutation = array<i64: {}>}} : ({}) -> !u",
            of.0,
            list(&self.order),
            of.1
        );
        text
    }

    /// The same of a row-major tensor, element by element.
    fn of(&self, shape: &[usize], elements: &[u8]) -> Vec<u8> {
        let size = elements.len() / shape.iter().product::<usize>();
        let moved: Vec<usize> = self.order.iter().map(|axis| shape[*axis]).collect();
        let mut bytes = Vec::with_capacity(elements.len());
        for index in indices(&moved) {
            let mut from = vec![0; shape.len()];
            for (axis, index) in self.order.iter().zip(index) {
                from[*axis] = if self.flipped.contains(axis) { shape[*axis] - 1 - index } else { index };
            }
            let place = from.iter().zip(shape).fold(0, |all, (index, extent)| all * extent + index);
            bytes.extend_from_slice(&elements[place * size..][..size]);
        }
        bytes
    }
}

fn check(dtype: DType, size: usize, shape: &[usize], is_open: bool) {
    let count = shape.iter().product::<usize>() * size;
    let mut random = Random::new(count as u64);
    // Any bytes but those of NaNs, and of bools that are none.
    let most = if dtype == DType::B1 { 2 } else { 0x70 };
    let numbers: Vec<u8> = (0..count).map(|_| random.below(most) as u8).collect();
    let dims: Vec<String> =
        shape.iter().map(|extent| if is_open { "?".to_owned() } else { extent.to_string() }).collect();
    let x = format!("tensor<{}x{}>", dims.join("x"), dtype.mlir());
    let moves = Move::all(shape.len());
    let mut text = String::new();
    for (index, one) in moves.iter().enumerate() {
        let _ = writeln!(text, "func.func @f{index}(%x: {x}) -> !u {{\n{}  return %r : !u\n}}", one.text(&x));
    }
    let executable = compile(&session("jax", true, false), &text);
    let run = |index: usize, tensor: Tensor<'_>| {
        let results = function(&executable, &format!("f{index}")).run(&[tensor]).expect("it runs");
        results[0].bytes().expect("results are contiguous").to_vec()
    };
    let spreads = [Spread { gap: 0, step: 1 }, Spread { gap: 3, step: 1 }, Spread { gap: 1, step: -2 }];
    for (number, order) in orders(shape.len()).into_iter().enumerate() {
        let laid = Laid::new((dtype, &numbers), shape, &order, spreads[number % spreads.len()]);
        for (index, one) in moves.iter().enumerate() {
            let (found, wanted) = (run(index, laid.tensor()), one.of(shape, &numbers));
            assert!(
                found == wanted,
                "{dtype} {shape:?} open: {is_open}, in order {order:?}:{}",
                one.text(&x)
            );
        }
    }
    // The same element again and again along the first dimension.
    let extents: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
    let mut strides = vec![0; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis] = shape[axis + 1..].iter().product::<usize>() as i64;
    }
    let row = &numbers[..count / shape[0]];
    for (index, one) in moves.iter().enumerate() {
        let tensor = Tensor::strided(dtype, &extents, &strides, row, 0).expect("the strides fit");
        assert!(run(index, tensor) == one.of(shape, &row.repeat(shape[0])), "{dtype} {shape:?}: {index}");
    }
}

#[test]
fn elements_of_every_width_are_moved_from_every_order() {
    for (dtype, size) in [
        (DType::B1, 1),
        (DType::I8, 1),
        (DType::F8E4M3FN, 1),
        (DType::BF16, 2),
        (DType::I16, 2),
        (DType::F32, 4),
        (DType::I64, 8),
        (DType::C64, 8),
        (DType::C128, 16),
    ] {
        check(dtype, size, &[37, 70], false);
        check(dtype, size, &[19, 5, 33], false);
        check(dtype, size, &[6, 3, 17, 9], true);
    }
}

#[test]
fn short_and_long_dimensions_are_moved_from_every_order() {
    for (dtype, size) in [(DType::I8, 1), (DType::F16, 2), (DType::F32, 4), (DType::F64, 8)] {
        for shape in [
            vec![2, 1100],
            vec![1100, 3],
            vec![130, 67],
            vec![5, 1, 600],
            vec![64, 3, 65],
            vec![40, 2, 5, 16],
        ] {
            check(dtype, size, &shape, false);
        }
    }
}
