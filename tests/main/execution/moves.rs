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

#[test]
fn small_blocks_are_permuted_wherever_they_lie() {
    for (dtype, size) in
        [(DType::B1, 1), (DType::I8, 1), (DType::BF16, 2), (DType::F32, 4), (DType::I64, 8), (DType::C64, 8)]
    {
        // Blocks that fill vectors with others, and by themselves; fewer of them than that takes, and one more; tiles of them.
        for shape in
            [vec![65, 3], vec![64, 2, 3], vec![17, 7, 5], vec![3, 4, 4], vec![1, 11, 11], vec![5000, 2, 2]]
        {
            check(dtype, size, &shape, false);
        }
        check(dtype, size, &[19, 4, 2, 4], false);
        check(dtype, size, &[2, 9, 3, 5], false);
    }
}

/// What is computed of permuted blocks, beside tensors in the order of the results and such that have an element for each block, or one
/// for all of a place within them.
#[test]
fn what_is_computed_of_small_blocks_is_that_of_their_elements() {
    let operands = |x: &str, turned: bool| {
        let turn = "  %t = \"promote.permute_dims\"(%x) {permutation = array<i64: 0, 2, 1>} : (X) -> !u\n";
        let (turn, t) = if turned { (turn, ("%t", "!u")) } else { ("", ("%x", "X")) };
        let (name, ty) = t;
        format!(
            "{turn}  %a = \"promote.multiply\"({name}, %y) : ({ty}, Y) -> !u
  %b = \"promote.add\"(%a, %v) : (!u, V) -> !u
  %r = \"promote.subtract\"(%b, %w) : (!u, W) -> !u
"
        )
        .replace('X', x)
    };
    let mut random = Random::new(5);
    for (count, [rows, columns]) in [(70, [2, 3]), (33, [4, 4]), (5, [3, 2]), (2100, [5, 1]), (40, [9, 11])] {
        for ty in ["ui8", "i16", "bf16", "f32", "f64"] {
            let (dtype, size) = match ty {
                "ui8" => (DType::U8, 1),
                "i16" => (DType::I16, 2),
                "bf16" => (DType::BF16, 2),
                "f32" => (DType::F32, 4),
                _ => (DType::F64, 8),
            };
            let bytes = |count: usize, random: &mut Random| -> Vec<u8> {
                (0..count).map(|_| random.below(0x60) as u8).collect()
            };
            let x = bytes(count * rows * columns * size, &mut random);
            let turned: Vec<u8> = x
                .chunks(rows * columns * size)
                .flat_map(|block| {
                    (0..columns).flat_map(move |column| {
                        (0..rows)
                            .flat_map(move |row| block[(row * columns + column) * size..][..size].to_vec())
                    })
                })
                .collect();
            let [y, v, w] = [count * columns * rows, count, rows].map(|count| bytes(count * 4, &mut random));
            let text = |x: &str, is_turned: bool| {
                let types = [
                    ("Y", format!("tensor<{count}x{columns}x{rows}xf32>")),
                    ("V", format!("tensor<{count}x1x1xf32>")),
                    ("W", format!("tensor<{rows}xf32>")),
                ];
                let body =
                    types.iter().fold(operands(x, is_turned), |body, (name, ty)| body.replace(*name, ty));
                let [y, v, w] = &types;
                format!(
                    "func.func @main(%x: {x}, %y: {}, %v: {}, %w: {}) -> !u {{\n{body}  return %r : !u\n}}\n",
                    y.1, v.1, w.1
                )
            };
            let run = |x: &[u8], shape: [usize; 3], is_turned: bool| {
                let [a, b, c] = shape;
                let ty = format!("tensor<{a}x{b}x{c}x{ty}>");
                let executable = compile(&session("jax", true, false), &text(&ty, is_turned));
                let tensor = |dtype: DType, shape: &[usize], bytes| {
                    let shape: Vec<i64> = shape.iter().map(|extent| *extent as i64).collect();
                    Tensor::new(dtype, &shape, bytes).expect("there are as many elements")
                };
                let others = [(vec![count, columns, rows], &y), (vec![count, 1, 1], &v), (vec![rows], &w)];
                let mut arguments = vec![tensor(dtype, &shape, x)];
                arguments.extend(others.iter().map(|(shape, bytes)| tensor(DType::F32, shape, bytes)));
                let results = function(&executable, "main").run(&arguments).expect("it runs");
                results[0].bytes().expect("results are contiguous").to_vec()
            };
            let (found, wanted) =
                (run(&x, [count, rows, columns], true), run(&turned, [count, columns, rows], false));
            assert!(found == wanted, "{count} blocks of {rows} by {columns} {ty}");
        }
    }
}
