//! Arguments that lie in memory in another order: what is read where it is gives the same bits as what is packed.

use std::fmt::Write;

use promote::{DType, Tensor};
use promote_reference::indices;

use super::support::{Random, compile, function, orders, session};

/// An argument in memory.
pub(super) struct Laid {
    bytes: Vec<u8>,
    strides: Vec<i64>,
    /// Where it begins.
    offset: usize,
    shape: Vec<i64>,
    dtype: DType,
}

/// How far the elements of an argument are from each other: its innermost rows are a gap apart, and their elements a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread {
    pub(super) gap: usize,
    pub(super) step: i64,
}

const PACKED: Spread = Spread { gap: 0, step: 1 };
const IN_ROWS: [Spread; 2] = [PACKED, Spread { gap: 3, step: 1 }];
const IN_STEPS: [Spread; 3] =
    [Spread { gap: 0, step: 2 }, Spread { gap: 5, step: 7 }, Spread { gap: 2, step: -3 }];

impl Laid {
    /// An argument whose dimensions lie in an order, from the outermost to the innermost.
    pub(super) fn new(
        (dtype, elements): (DType, &[u8]),
        shape: &[usize],
        order: &[usize],
        spread: Spread,
    ) -> Self {
        let size = elements.len() / shape.iter().product::<usize>();
        let (mut strides, mut next) = (vec![0; shape.len()], spread.step.unsigned_abs() as usize);
        let mut first = 0;
        for (place, axis) in order.iter().rev().enumerate() {
            strides[*axis] = next as i64;
            if place == 0 && spread.step < 0 {
                strides[*axis] = spread.step;
                first = (shape[*axis] - 1) * next;
            }
            next = next * shape[*axis] + if place == 0 { spread.gap } else { 0 };
        }
        // What lies in gaps would be seen in any result.
        let mut bytes = vec![0xff; next * size];
        for (index, element) in indices(shape).zip(elements.chunks_exact(size)) {
            let place: i64 = index.iter().zip(&strides).map(|(index, stride)| *index as i64 * stride).sum();
            bytes[(first as i64 + place) as usize * size..][..size].copy_from_slice(element);
        }
        let shape = shape.iter().map(|extent| *extent as i64).collect();
        Self { bytes, strides, offset: first * size, shape, dtype }
    }

    pub(super) fn tensor(&self) -> Tensor<'_> {
        Tensor::strided(self.dtype, &self.shape, &self.strides, &self.bytes, self.offset)
            .expect("the strides fit")
    }
}

/// The axes that reductions are over: each, each two, and all.
pub(super) fn axes(rank: usize) -> Vec<Vec<usize>> {
    let pairs = (1..rank).flat_map(|last| (0..last).map(move |first| vec![first, last]));
    (0..rank).map(|axis| vec![axis]).chain(pairs).chain([(0..rank).collect()]).collect()
}

/// Which of some functions are tried: of many shapes, each tries a third of them in turn.
#[derive(Clone, Copy)]
pub(super) enum Which {
    All,
    InTurn(usize),
}

impl Which {
    pub(super) const fn has(self, function: usize) -> bool {
        match self {
            Self::All => true,
            Self::InTurn(number) => function % 3 == number % 3,
        }
    }
}

/// Functions `f0`, `f1` and so on of one tensor, or of it and itself in a row, and how many there are.
fn functions(dtype: &str, dims: &[String], which: Which) -> (String, usize) {
    let x = format!("tensor<{}x{dtype}>", dims.join("x"));
    let mut text = String::new();
    let (mut count, mut number) = (0, 0);
    let mut add = |body: &str| {
        number += 1;
        if !which.has(number) {
            return;
        }
        let _ = writeln!(text, "func.func @f{count}(%x: {x}) -> !u {{\n{body}  return %r : !u\n}}");
        count += 1;
    };
    for axes in axes(dims.len()) {
        let list = axes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        for op in ["sum", "max", "prod", "mean"] {
            add(&format!("  %r = \"promote.{op}\"(%x) {{axis = array<i64: {list}>}} : ({x}) -> !u\n"));
        }
        if let [axis] = axes.as_slice() {
            for op in ["argmin", "cumulative_sum", "sort"] {
                add(&format!("  %r = \"promote.{op}\"(%x) {{axis = array<i64: {axis}>}} : ({x}) -> !u\n"));
            }
            // A sum beside which the operand is needed again, and one of squares.
            add(&format!(
                "  %m = \"promote.sum\"(%x) {{axis = array<i64: {axis}>, keepdims = true}} : ({x}) -> !u
  %r = \"promote.subtract\"(%x, %m) : ({x}, !u) -> !u\n"
            ));
            add(&format!(
                "  %s = \"promote.multiply\"(%x, %x) : ({x}, {x}) -> !u
  %r = \"promote.sum\"(%s) {{axis = array<i64: {axis}>}} : (!u) -> !u\n"
            ));
        }
    }
    // A sum of what the program itself permuted.
    if dims.len() > 2 {
        let order = [&[0, 2, 1], [3, 4].get(..dims.len() - 3).unwrap_or(&[])].concat();
        let order = order.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        for axes in ["1, 2", "0, 2", "2"] {
            add(&format!(
                "  %t = \"promote.permute_dims\"(%x) {{permutation = array<i64: {order}>}} : ({x}) -> !u
  %r = \"promote.sum\"(%t) {{axis = array<i64: {axes}>}} : (!u) -> !u\n"
            ));
        }
    }
    // A sum of extremes, which are computed in the order in which the operand lies.
    if dims.len() > 3 {
        let last = dims.len() - 1;
        add(&format!(
            "  %m = \"promote.max\"(%x) {{axis = array<i64: {last}>}} : ({x}) -> !u
  %r = \"promote.sum\"(%m) {{axis = array<i64: 0, 2>}} : (!u) -> !u\n"
        ));
    }
    add(&format!("  %r = \"promote.negative\"(%x) : ({x}) -> !u\n"));
    add(&format!("  %r = \"promote.reshape\"(%x) {{shape = array<i64: -1>}} : ({x}) -> !u\n"));
    add(&format!("  %r = \"promote.positive\"(%x) : ({x}) -> !u\n"));
    let turned = (0..dims.len()).rev().map(|axis| axis.to_string()).collect::<Vec<_>>().join(", ");
    add(&format!(
        "  %t = \"promote.permute_dims\"(%x) {{permutation = array<i64: {turned}>}} : ({x}) -> !u
  %r = \"promote.add\"(%t, %t) : (!u, !u) -> !u\n"
    ));
    (text, count)
}

pub(super) fn elements(dtype: DType, count: usize, random: &mut Random) -> Vec<u8> {
    let mut float = || random.below(1 << 24) as f32 / 8_388_608.0 - 1.0;
    match dtype {
        DType::F32 => (0..count).flat_map(|_| float().to_ne_bytes()).collect(),
        DType::F64 => (0..count).flat_map(|_| f64::from(float()).to_ne_bytes()).collect(),
        DType::BF16 => (0..count).flat_map(|_| ((float().to_bits() >> 16) as u16).to_ne_bytes()).collect(),
        DType::F16 => {
            let of = |bits: usize| (bits as u16 & 0x8fff | 0x3000).to_ne_bytes();
            (0..count).flat_map(|_| of(random.below(1 << 16))).collect()
        }
        DType::I32 => (0..count).flat_map(|_| (random.below(1 << 32) as u32).to_ne_bytes()).collect(),
        DType::I8 => (0..count).map(|_| random.below(256) as u8).collect(),
        DType::B1 => (0..count).map(|_| u8::from(random.below(97) == 0)).collect(),
        other => unreachable!("there are no elements of {other}"),
    }
}

/// Extents as types state them.
pub(super) fn dims(shape: &[usize], is_open: bool) -> Vec<String> {
    shape.iter().map(|extent| if is_open { "?".to_owned() } else { extent.to_string() }).collect()
}

fn check(dtype: DType, shape: &[usize], is_open: bool) {
    check_some(dtype, shape, is_open, Which::All);
}

fn check_some(dtype: DType, shape: &[usize], is_open: bool, which: Which) {
    let numbers = elements(dtype, shape.iter().product(), &mut Random::new(shape.len() as u64));
    let functions = functions(dtype.mlir(), &dims(shape, is_open), which);
    check_functions(&functions, (dtype, &numbers), shape, is_open);
}

/// Asserts that functions give the same bits of the same numbers in every order. The shapes and the bytes that they give.
pub(super) fn check_functions(
    (text, count): &(String, usize),
    (dtype, numbers): (DType, &[u8]),
    shape: &[usize],
    is_open: bool,
) -> Vec<(Vec<i64>, Vec<u8>)> {
    let executable = compile(&session("jax", false, false), text);
    let in_order: Vec<usize> = (0..shape.len()).collect();
    let packed = Laid::new((dtype, numbers), shape, &in_order, PACKED);
    let run = |name: &str, laid: &Laid| {
        let results = function(&executable, name).run(&[laid.tensor()]).expect("it runs");
        (results[0].shape().to_vec(), results[0].bytes().expect("results are contiguous").to_vec())
    };
    let names: Vec<String> = (0..*count).map(|index| format!("f{index}")).collect();
    let expected: Vec<_> = names.iter().map(|name| run(name, &packed)).collect();
    // Of the many orders of five dimensions some.
    for order in orders(shape.len()).into_iter().step_by(if shape.len() > 4 { 13 } else { 1 }) {
        let in_steps = IN_STEPS.iter().filter(|_| order == in_order);
        for spread in IN_ROWS.iter().chain(in_steps) {
            let laid = Laid::new((dtype, numbers), shape, &order, *spread);
            for (name, expected) in names.iter().zip(&expected) {
                let body =
                    text.split("func.func").find(|body| body.contains(&format!("@{name}("))).unwrap_or("");
                let same = run(name, &laid) == *expected;
                assert!(same, "{dtype} {shape:?} open: {is_open}, in order {order:?}, {spread:?}:{body}");
            }
        }
    }
    expected
}

#[test]
fn matrices_in_every_order_give_the_same_bits() {
    // No run is short in the last ones, which are read where they are.
    for shape in [[1, 1], [3, 5], [16, 17], [37, 4133], [128, 128], [131, 4133], [1100, 129]] {
        check(DType::F32, &shape, true);
    }
    check(DType::F32, &[300, 5000], false);
    check(DType::F32, &[5000, 60], false);
    // Short runs are read where they are, too, and so are few of them.
    check(DType::F32, &[16, 5000], false);
    check(DType::F32, &[9, 5003], true);
    check(DType::F32, &[40_000, 3], false);
    check(DType::F32, &[2, 40_001], true);
}

#[test]
fn matrices_of_other_dtypes_give_the_same_bits() {
    for dtype in [DType::F64, DType::BF16, DType::I8] {
        check(dtype, &[170, 167], true);
        check(dtype, &[600, 700], false);
    }
}

#[test]
fn tensors_of_more_dimensions_in_every_order_give_the_same_bits() {
    let shapes: [(&[usize], bool); 10] = [
        (&[130, 12, 13], true),
        (&[11, 140, 13], true),
        (&[12, 11, 135], true),
        (&[640, 3, 40], false),
        (&[130, 30, 20], false),
        // What the stride of a dimension of one index is, means nothing.
        (&[130, 1, 13], true),
        (&[5, 3, 129, 40], true),
        (&[50, 9, 40, 20], false),
        (&[260, 13, 21, 1], false),
        (&[17, 3, 2, 19, 5], true),
    ];
    for (number, (shape, is_open)) in shapes.into_iter().enumerate() {
        check_some(DType::F32, shape, is_open, Which::InTurn(number));
    }
}

#[test]
fn variances_of_parts_give_the_same_bits_in_every_order() {
    for shape in [vec![16_411, 64], vec![1031, 1021], vec![97, 113, 127], vec![1 << 20], vec![7, 131, 37, 31]]
    {
        let x = format!("tensor<{}xf32>", dims(&shape, false).join("x"));
        let mut text = String::new();
        let axes = axes(shape.len());
        for (index, axes) in axes.iter().enumerate() {
            let list = axes.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
            let _ = writeln!(
                text,
                "func.func @f{index}(%x: {x}) -> !u {{
  %r = \"promote.var\"(%x) {{axis = array<i64: {list}>}} : ({x}) -> !u
  return %r : !u
}}"
            );
        }
        let numbers = elements(DType::F32, shape.iter().product(), &mut Random::new(5));
        check_functions(&(text, axes.len()), (DType::F32, &numbers), &shape, false);
    }
}

/// Sums of several arguments, of which dimensions that a run alone knows may be stretched.
#[test]
fn sums_of_two_arguments_in_every_order_give_the_same_bits() {
    let mut random = Random::new(9);
    for ([a, b, c], dims) in
        [([130, 50, 140], "130x?x140"), ([140, 130, 61], "?x?x61"), ([129, 3, 130], "129x3x130")]
    {
        let x = format!("tensor<{dims}xf32>");
        let mut text = String::new();
        for (index, axes) in ["0", "1", "2", "0, 1", "1, 2", "0, 1, 2"].into_iter().enumerate() {
            let _ = writeln!(
                text,
                "func.func @f{index}(%x: {x}, %y: {x}) -> !u {{
  %s = \"promote.add\"(%x, %y) : ({x}, {x}) -> !u
  %r = \"promote.sum\"(%s) {{axis = array<i64: {axes}>}} : (!u) -> !u
  return %r : !u
}}"
            );
        }
        let executable = compile(&session("jax", false, false), &text);
        let shape = [a, b, c];
        let numbers = [(); 2].map(|()| elements(DType::F32, a * b * c, &mut random));
        let laid = |order: &[usize], spread: Spread| {
            numbers.each_ref().map(|numbers| Laid::new((DType::F32, numbers), &shape, order, spread))
        };
        let run = |index: usize, [x, y]: &[Laid; 2]| {
            let results = function(&executable, &format!("f{index}")).run(&[x.tensor(), y.tensor()]);
            results.expect("it runs")[0].bytes().expect("results are contiguous").to_vec()
        };
        let packed = laid(&[0, 1, 2], PACKED);
        for order in orders(3) {
            for spread in IN_ROWS.into_iter().chain(IN_STEPS) {
                let other = laid(&order, spread);
                for index in 0..6 {
                    let same = run(index, &other) == run(index, &packed);
                    assert!(same, "{dims} in order {order:?}, {spread:?}, function {index} of\n{text}");
                }
            }
        }
    }
}

/// One argument in another order, whose program turns it, beside others that are contiguous or not.
#[test]
fn arguments_that_lie_in_other_orders_by_themselves_give_the_same_bits() {
    let turn = |dims: &str, of: &str, axes: &str| {
        let [x, y] = [format!("tensor<{dims}xf32>"), format!("tensor<{of}xf32>")];
        let arguments = [&x, &y];
        let turned =
            format!("\"promote.permute_dims\"(%x) {{permutation = array<i64: {axes}>}} : ({x}) -> !u");
        let mut text = String::new();
        for (index, body) in [
            format!("  %r = \"promote.add\"(%t, %y) : (!u, {y}) -> !u"),
            format!("  %s = \"promote.multiply\"(%y, %t) : ({y}, !u) -> !u\n  %r = \"promote.sum\"(%s) {{axis = array<i64: 0>}} : (!u) -> !u"),
            format!("  %s = \"promote.multiply\"(%y, %t) : ({y}, !u) -> !u\n  %r = \"promote.sum\"(%s) {{axis = array<i64: 1>}} : (!u) -> !u"),
            format!("  %s = \"promote.minimum\"(%t, %y) : (!u, {y}) -> !u\n  %r = \"promote.max\"(%s) : (!u) -> !u"),
        ]
        .iter()
        .enumerate()
        {
            let [x, y] = arguments;
            let _ = writeln!(text, "func.func @f{index}(%x: {x}, %y: {y}) -> !u {{\n  %t = {turned}\n{body}\n  return %r : !u\n}}");
        }
        text
    };
    let mut random = Random::new(31);
    for (text, shape) in [
        (turn("300x401", "401x300", "1, 0"), vec![300, 401]),
        (turn("?x?", "?x?", "1, 0"), vec![1031, 130]),
        (turn("40x64x130", "130x64x40", "2, 1, 0"), vec![40, 64, 130]),
    ] {
        let executable = compile(&session("jax", false, false), &text);
        let reversed: Vec<usize> = shape.iter().rev().copied().collect();
        let count = shape.iter().product();
        let [x, y] = [(); 2].map(|()| elements(DType::F32, count, &mut random));
        let every = |numbers: &[u8], shape: &[usize]| -> Vec<Laid> {
            let spreads = IN_ROWS.into_iter().chain(IN_STEPS);
            let orders = orders(shape.len());
            spreads
                .flat_map(|spread| orders.iter().map(move |order| (order, spread)))
                .map(|(order, spread)| Laid::new((DType::F32, numbers), shape, order, spread))
                .collect()
        };
        let (xs, ys) = (every(&x, &shape), every(&y, &reversed));
        for index in 0..4 {
            let run = |x: &Laid, y: &Laid| {
                let results = function(&executable, &format!("f{index}")).run(&[x.tensor(), y.tensor()]);
                results.expect("it runs")[0].bytes().expect("results are contiguous").to_vec()
            };
            let in_order: Vec<usize> = (0..shape.len()).collect();
            let packed_x = Laid::new((DType::F32, &x), &shape, &in_order, PACKED);
            let packed_y = Laid::new((DType::F32, &y), &reversed, &in_order, PACKED);
            let expected = run(&packed_x, &packed_y);
            for (x, y) in xs.iter().map(|x| (x, &packed_y)).chain(ys.iter().map(|y| (&packed_x, y))) {
                let strides = (&x.strides, &y.strides);
                assert!(run(x, y) == expected, "{shape:?}, strides {strides:?}, function {index} of\n{text}");
            }
        }
    }
}

#[test]
fn empty_tensors_have_no_order() {
    check_empty(&[0, 5]);
    check_empty(&[20, 0]);
}

fn check_empty(shape: &[usize]) {
    let text = "func.func @f(%x: tensor<?x?xf32>) -> !u {
  %r = \"promote.sum\"(%x) {axis = array<i64: 0>} : (tensor<?x?xf32>) -> !u
  return %r : !u
}
";
    let executable = compile(&session("jax", false, false), text);
    let laid = Laid {
        bytes: Vec::new(),
        strides: vec![7, 9],
        offset: 0,
        shape: shape.iter().map(|extent| *extent as i64).collect(),
        dtype: DType::F32,
    };
    let results = function(&executable, "f").run(&[laid.tensor()]).expect("it runs");
    assert_eq!(results[0].elements::<f32>(), Some(vec![0.0; shape[1]].as_slice()));
}
