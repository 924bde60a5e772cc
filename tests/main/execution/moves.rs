//! Programs that do nothing but move elements: every dtype, from every order in memory.

use std::fmt::Write;

use promote::{DType, Tensor, TensorMut};
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

#[test]
fn small_blocks_are_permuted_wherever_they_lie() {
    // Complex numbers are not.
    for (dtype, size) in
        [(DType::B1, 1), (DType::I8, 1), (DType::BF16, 2), (DType::F32, 4), (DType::I64, 8), (DType::C64, 8)]
    {
        // Blocks that fill vectors with others, and by themselves; fewer of them than that takes, and one more; tiles of them.
        for shape in [
            vec![65, 3],
            vec![64, 2, 3],
            vec![17, 7, 5],
            vec![3, 4, 4],
            vec![2, 11, 11],
            vec![5000, 2, 2],
            // A tile has 2730 and 910 of these blocks: one is left, or 3.
            vec![2731, 3],
            vec![913, 3, 3],
        ] {
            check(dtype, size, &shape, false);
        }
        check(dtype, size, &[19, 4, 2, 4], false);
        check(dtype, size, &[2, 9, 3, 5], false);
    }
    // Blocks that fill no vectors, some at once.
    for count in [1, 2, 3, 7, 8] {
        check(DType::I8, 1, &[count, 5, 5], false);
        check(DType::I8, 1, &[count, 3, 7], false);
    }
}

/// How many bytes in front of a result and behind it are looked at.
const BESIDE: usize = 64;

/// Bytes of numbers that are not too large for any dtype.
fn small(dtype: DType, count: usize, random: &mut Random) -> Vec<u8> {
    let size = if dtype == DType::U8 { 1 } else { dtype.bits() as usize / 8 };
    (0..count * size).map(|_| random.below(0x48) as u8).collect()
}

/// What is computed of permuted blocks, beside tensors in the order of the results, such that have an element for each place within a
/// block, and, as the blocks are not permuted then, for each block.
#[test]
fn what_is_computed_of_small_blocks_is_that_of_their_elements() {
    let mut random = Random::new(5);
    for (count, [rows, columns]) in [
        (70, [2, 3]),
        (33, [4, 4]),
        (5, [3, 3]),
        (911, [3, 3]),
        (2100, [17, 1]),
        (40, [9, 11]),
        (1, [5, 2]),
        (0, [2, 2]),
    ] {
        for (from, to) in [
            (DType::U8, DType::F32),
            (DType::F32, DType::BF16),
            (DType::F32, DType::I8),
            (DType::F32, DType::F16),
            (DType::I64, DType::I32),
            (DType::BF16, DType::BF16),
            (DType::F64, DType::F64),
        ] {
            for is_of_blocks in [false, true] {
                let x = small(from, count * rows * columns, &mut random);
                let size = x.len().checked_div(count * rows * columns).unwrap_or(1);
                let moved = Move { order: vec![0, 2, 1], flipped: vec![1] };
                let turned = if count == 0 { Vec::new() } else { moved.of(&[count, rows, columns], &x) };
                assert_eq!(turned.len(), count * rows * columns * size);
                let y = small(from, count * columns * rows, &mut random);
                let [v, w] = [count, rows].map(|count| small(from, count, &mut random));
                let run = |x: &[u8], shape: [usize; 3], is_turned: bool, is_open: bool| {
                    let ty = |shape: &[usize]| {
                        let dims = shape.iter().enumerate().map(|(axis, extent)| match axis {
                            0 if is_open && shape.len() == 3 => "?".to_owned(),
                            _ => extent.to_string(),
                        });
                        format!("tensor<{}x{}>", dims.collect::<Vec<_>>().join("x"), from.mlir())
                    };
                    let shapes = [shape.to_vec(), vec![count, columns, rows], vec![count, 1, 1], vec![rows]];
                    let [tx, ty, tv, tw] = shapes.each_ref().map(|shape| ty(shape));
                    let (turn, name, own) = match is_turned {
                        true => (moved.text(&tx).replace("%r", "%t"), "%t", "!u"),
                        false => (String::new(), "%x", tx.as_str()),
                    };
                    let (other, tother) = if is_of_blocks { ("%v", &tv) } else { ("%y", &ty) };
                    let first = if is_open { "?".to_owned() } else { count.to_string() };
                    let result = format!("tensor<{first}x{columns}x{rows}x{}>", to.mlir());
                    let text = format!(
                        "func.func @main(%x: {tx}, %y: {ty}, %v: {tv}, %w: {tw}) -> {result} {{
{turn}  %a = \"promote.add\"({name}, %y) : ({own}, {ty}) -> !u
  %b = \"promote.add\"(%a, {other}) : (!u, {tother}) -> !u
  %c = \"promote.add\"(%b, %w) : (!u, {tw}) -> !u
  %r = \"promote.convert\"(%c) : (!u) -> {result}
  return %r : {result}
}}
"
                    );
                    let executable = compile(&session("jax", true, false), &text);
                    let bytes = [x, &y, &v, &w];
                    let tensors: Vec<Tensor<'_>> = (shapes.iter().zip(bytes))
                        .map(|(shape, bytes)| {
                            let shape: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
                            Tensor::new(from, &shape, bytes).expect("there are as many elements")
                        })
                        .collect();
                    // Nothing beside the result is written.
                    let all = count * columns * rows * (to.bits() as usize / 8);
                    let mut memory = vec![0x55; all + 2 * BESIDE];
                    let shape = [count, columns, rows].map(|extent| extent as i64);
                    let target = TensorMut::new(to, &shape, &mut memory[BESIDE..][..all]);
                    let target = target.expect("there is as much memory");
                    function(&executable, "main").run_into(&tensors, &mut [target]).expect("it runs");
                    let result = memory[BESIDE..][..all].to_vec();
                    let is_beside = |place: &usize| !(BESIDE..BESIDE + all).contains(place);
                    let is_whole = (0..memory.len()).filter(is_beside).all(|place| memory[place] == 0x55);
                    assert!(is_whole, "{count} blocks of {rows} by {columns}, {from} to {to}: wrote beside");
                    result
                };
                let wanted = run(&turned, [count, columns, rows], false, false);
                for is_open in [false, true] {
                    let found = run(&x, [count, rows, columns], true, is_open);
                    assert!(
                        found == wanted,
                        "{count} blocks of {rows} by {columns}, {from} to {to}, open: {is_open}"
                    );
                }
            }
        }
    }
}
