//! Ops that reduce, order or arrange elements, in every dtype that the reference interpreter models, against it; narrower
//! ones against the same ops of wider dtypes. Each is run with static extents, and with dynamic ones.

use promote::convert::{Bits, Literal, Numerics, convert, literal};
use promote::{DType, Kind, Semantics};
use promote_reference::{Array, Number, Reader, Value};

use super::stock::{Argument, Case, Tools, compare, module, run};
use crate::support::session;

/// An op of one operand `%0`, after its name.
const OPS: &[&str] = &[
    r#""promote.sum"(%0)"#,
    r#""promote.sum"(%0) {axis = array<i64: 0, -1>}"#,
    r#""promote.prod"(%0) {axis = array<i64: 1>, keepdims = true}"#,
    r#""promote.max"(%0) {axis = array<i64: 1>}"#,
    r#""promote.min"(%0)"#,
    r#""promote.any"(%0) {axis = array<i64: -1>}"#,
    r#""promote.all"(%0) {axis = array<i64: 0>, keepdims = true}"#,
    r#""promote.count_nonzero"(%0) {axis = array<i64: 2>}"#,
    r#""promote.argmax"(%0)"#,
    r#""promote.argmax"(%0) {axis = array<i64: 1>}"#,
    r#""promote.argmin"(%0) {axis = array<i64: -1>, keepdims = true}"#,
    r#""promote.cumulative_sum"(%0)"#,
    r#""promote.cumulative_prod"(%0) {axis = array<i64: 1>}"#,
    r#""promote.sort"(%0) {axis = array<i64: 0>}"#,
    r#""promote.sort"(%0) {axis = array<i64: 1>}"#,
    r#""promote.sort"(%0)"#,
    r#""promote.reshape"(%0) {shape = array<i64: -1, 5>}"#,
    r#""promote.reshape"(%0) {shape = array<i64: -1>}"#,
    r#""promote.permute_dims"(%0) {permutation = array<i64: 2, 0, 1>}"#,
    r#""promote.expand_dims"(%0) {axis = array<i64: 0, -1>}"#,
    r#""promote.flip"(%0) {axis = array<i64: 0, 2>}"#,
    r#""promote.slice"(%0) {start = array<i64: 1, -1, 0>, stop = array<i64: 100, -100, 3>, step = array<i64: 1, -2, 2>}"#,
    r#""promote.slice"(%0) {start = array<i64: 1, 0, 0>, stop = array<i64: 1, 5, 3>, step = array<i64: 1, 1, 1>}"#,
    r#""promote.broadcast_to"(%0) {shape = array<i64: 2, 2, 5, 3>}"#,
];

/// Ops of two operands of one shape.
const PAIRS: &[&str] = &[
    r#""promote.concat"(%0, %1) {axis = 1 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>}"#,
    r#""promote.stack"(%0, %1, %0) {axis = -1 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>}"#,
];

const SHAPE: [usize; 3] = [2, 5, 3];

/// Dtypes of which everything is run; of the others, what moves and orders elements.
pub const MODELLED: &[DType] = &[
    DType::B1,
    DType::U8,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::BF16,
    DType::F16,
    DType::F32,
    DType::F64,
    DType::C64,
    DType::C128,
];

/// Dtypes with which extents are dynamic, too.
const DYNAMIC: &[DType] = &[DType::B1, DType::U8, DType::I32, DType::BF16, DType::F32, DType::C64];

/// Numbers with ties, signs, zeros of both signs and, if `odd`, infinities and NaN.
fn numbers(dtype: DType, count: usize, odd: bool) -> Vec<Bits> {
    let reals = [1.5, -2.0, 0.0, 3.0, -0.0, 1.5, 0.25, -7.0, 2.0, 1.0, -0.5, 6.0, 3.0];
    let specials = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let at = |i: usize| match (odd && i % 7 == 3, dtype.kind()) {
        (true, Kind::Float | Kind::Complex) => specials[i / 7 % 3],
        (true, _) => 100.0 * (i as f64 - 20.0),
        _ => reals[i % reals.len()],
    };
    let real = |i: usize, dtype: DType| {
        let number = if dtype.is_inexact() { Literal::Float(at(i)) } else { Literal::Int(at(i) as i64) };
        literal(number, dtype, Numerics::NumPy).bits
    };
    let part = dtype.real_part();
    let element = |i: usize| match dtype.kind() {
        Kind::Bool => Bits::from(at(i) > 0.0),
        Kind::Complex => real(i, part) | real(i * 5 + 1, part) << part.bits(),
        _ => real(i, part),
    };
    (0..count).map(element).collect()
}

fn argument(dtype: DType, shape: &[usize], odd: bool, dynamic: bool) -> Argument {
    Argument { dynamic, ..Argument::new(dtype, shape, numbers(dtype, shape.iter().product(), odd)) }
}

/// What the interpreter gives. `None` if it refuses the case, or does not model it.
fn expected(reader: &Reader, semantics: &Semantics, case: &Case) -> Option<Array> {
    let array = |argument: &Argument| {
        let element = |bits: &Bits| Number::from_bits(*bits, argument.dtype);
        let elements = argument.bits.iter().map(element).collect();
        Value::Array(Array { dtype: argument.dtype, shape: argument.shape.clone(), elements })
    };
    let arguments: Vec<_> = case.arguments.iter().map(array).collect();
    let program = reader.read(&module(std::slice::from_ref(case))).ok()?;
    match program.run(semantics, "case_0", &arguments).ok()?.results.into_iter().next()? {
        Value::Array(array) => Some(array),
        Value::Integer(_) => None,
    }
}

fn case(op: &str, arguments: Vec<Argument>) -> Case {
    let used = op.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(used, _)| used);
    let types: Vec<_> = used
        .split(", ")
        .map(|name| name.trim_start_matches('%').parse::<usize>().expect("operands are numbered"))
        .map(|index| arguments[index].tensor())
        .collect();
    let dtypes: Vec<_> = arguments.iter().map(|argument| argument.dtype.name()).collect();
    let dynamic = if arguments.iter().any(|argument| argument.dynamic) { ", dynamic" } else { "" };
    Case {
        name: format!("{op} of {}{dynamic}", dtypes.join(", ")),
        body: format!("  %r = {op} : ({}) -> !u", types.join(", ")),
        result: arguments[0].dtype,
        arguments,
    }
}

fn all_cases(dtype: DType) -> Vec<Case> {
    let mut cases = Vec::new();
    for dynamic in [false, true].into_iter().filter(|dynamic| !dynamic || DYNAMIC.contains(&dtype)) {
        for op in OPS {
            // Infinities and NaN where elements are compared or moved; sums of them are NaN.
            let odd = !op.contains("sum") && !op.contains("prod");
            cases.push(case(op, vec![argument(dtype, &SHAPE, odd, dynamic)]));
        }
        for op in PAIRS {
            let arguments =
                vec![argument(dtype, &SHAPE, true, dynamic), argument(dtype, &SHAPE, false, dynamic)];
            cases.push(case(op, arguments));
        }
        let squeezed = argument(dtype, &[1, 5, 1], true, false);
        cases.push(case(r#""promote.squeeze"(%0) {axis = array<i64: 0, 2>}"#, vec![squeezed]));
        for shapes in [[&[2, 3][..], &[3, 4]], [&[3], &[3]], [&[2, 1, 2, 3], &[4, 3, 2]], [&[3], &[2, 3, 2]]]
        {
            // Dynamic batches must be equal.
            let dynamic = dynamic && shapes[0].len() < 4;
            let arguments = shapes.map(|shape| argument(dtype, shape, false, dynamic)).to_vec();
            cases.push(case(r#""promote.matmul"(%0, %1)"#, arguments));
        }
        for (axis, index) in [(1, DType::I32), (0, DType::I64), (-1, DType::U8)] {
            let places = [0i64, 1, -1, 2, 90, -90].map(|place| match index {
                DType::U8 => Bits::from(place.unsigned_abs()),
                _ => place as Bits & (Bits::MAX >> (128 - index.bits())),
            });
            let places = Argument { dynamic, ..Argument::new(index, &[2, 3], places.to_vec()) };
            let op = format!(r#""promote.take"(%0, %1) {{axis = {axis} : i64}}"#);
            cases.push(case(&op, vec![argument(dtype, &SHAPE, true, dynamic), places]));
        }
        for shape in [&[][..], &[0, 3], &[1]] {
            for op in [r#""promote.sum"(%0)"#, r#""promote.reshape"(%0) {shape = array<i64: -1>}"#] {
                cases.push(case(op, vec![argument(dtype, shape, false, dynamic)]));
            }
        }
    }
    let iota = format!("  %i = \"promote.iota\"() {{axis = 1 : i64}} : () -> tensor<3x4x{}>", dtype.mlir());
    let none = argument(dtype, &[1], false, false);
    cases.push(Case {
        body: format!("{iota}\n  %r = \"promote.relax\"(%i) : (tensor<3x4x{}>) -> !u", dtype.mlir()),
        ..case(r#""promote.iota"(%0)"#, vec![none])
    });
    cases
}

#[test]
fn structured_ops_give_what_the_interpreter_gives() {
    let Some(tools) = Tools::find() else { return };
    let semantics = Semantics::by_name("jax", true).expect("the semantics exists");
    let reader = Reader::new().expect("MLIR takes the dialect");
    let mut cases = Vec::new();
    let mut bits = Vec::new();
    for mut case in MODELLED.iter().flat_map(|dtype| all_cases(*dtype)) {
        if let Some(array) = expected(&reader, &semantics, &case) {
            case.result = array.dtype;
            bits.push(array.bits());
            cases.push(case);
        }
    }
    assert!(cases.len() > 700, "{} cases", cases.len());
    run_all(&tools, &cases, &bits);
}

/// Runs cases in two processes.
fn run_all(tools: &Tools, cases: &[Case], bits: &[Vec<Bits>]) {
    let half = cases.len().div_ceil(2);
    std::thread::scope(|scope| {
        for (cases, bits) in cases.chunks(half).zip(bits.chunks(half)) {
            scope.spawn(move || compare(cases, bits, &run(tools, &session("jax", true, false), cases)));
        }
    });
}

/// Ops that choose or move elements, so that a wider dtype gives the same ones.
const CHOOSING: &[&str] = &[
    r#""promote.max"(%0) {axis = array<i64: 1>}"#,
    r#""promote.min"(%0)"#,
    r#""promote.sort"(%0) {axis = array<i64: 0>}"#,
    r#""promote.flip"(%0)"#,
    r#""promote.reshape"(%0) {shape = array<i64: 3, -1>}"#,
];

#[test]
fn narrow_dtypes_are_chosen_and_moved_as_wider_ones_are() {
    let Some(tools) = Tools::find() else { return };
    let semantics = Semantics::by_name("jax", true).expect("the semantics exists");
    let reader = Reader::new().expect("MLIR takes the dialect");
    let narrow = DType::ALL.iter().copied().filter(|dtype| {
        let known = semantics.nodes().iter().any(|node| node.operand.dtype == *dtype);
        known && !dtype.is_weak() && !MODELLED.contains(dtype)
    });
    let (mut cases, mut bits) = (Vec::new(), Vec::new());
    for dtype in narrow {
        let wide = if dtype.kind() == Kind::Float { DType::F32 } else { DType::I32 };
        for op in CHOOSING {
            let own = argument(dtype, &SHAPE, true, false);
            let to_wide = |bits: &Bits| convert(*bits, dtype, wide, Numerics::NumPy);
            let widened =
                Argument { dtype: wide, bits: own.bits.iter().map(to_wide).collect(), ..own.clone() };
            let found = expected(&reader, &semantics, &case(op, vec![widened]));
            let to_narrow = |bits: Bits| convert(bits, wide, dtype, Numerics::NumPy);
            cases.push(case(op, vec![own]));
            bits.push(
                found.expect("the interpreter models these").bits().into_iter().map(to_narrow).collect(),
            );
        }
    }
    assert!(cases.len() >= 50, "{} cases", cases.len());
    run_all(&tools, &cases, &bits);
}
