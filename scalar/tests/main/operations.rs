//! Element-wise ops, against the reference interpreter.

use std::collections::BTreeSet;

use promote_lattice::convert::{Bits, Numerics};
use promote_lattice::op::ShapeRule;
use promote_lattice::{DType, Kind, Op};
use promote_reference::{Error, Number, element as reference};
use promote_scalar::elementwise;

use crate::support::{NUMERICS, bits, element, machine, random};

/// The dtypes that the interpreter knows.
const DTYPES: [DType; 21] = [
    DType::B1,
    DType::U2,
    DType::U4,
    DType::I1,
    DType::I4,
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
    DType::C32,
    DType::BC32,
    DType::C64,
    DType::C128,
];

/// Real numbers where definitions change, and others.
const REALS: [f64; 48] = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, -1.5, 2.0, -2.0, 2.5, -2.5, 3.0, -3.0, 7.0, -7.0, 0.1, -0.1, 1e-3,
    -1e-3, 1e-8, -1e-8, 0.49999997, 0.9999, 1.0001, 10.0, -10.0, 20.5, -30.25, 88.0, -88.0, 100.0, 300.0,
    -700.0, 1e4, -65504.0, 1e10, -1e20, 3e38, -3e38, 1e-38, 1e-45, 1e300, -1e-310, f64::INFINITY,
    f64::NEG_INFINITY, f64::NAN, 0.7853981633974483,
];

fn mask(width: u32) -> Bits {
    Bits::MAX >> (Bits::BITS - width)
}

/// Elements at the edges of a dtype and some others.
fn edges(dtype: DType, others: usize) -> Vec<Bits> {
    let width = dtype.bits();
    let part = dtype.real_part();
    let mut values: Vec<Bits> = match dtype.kind() {
        Kind::Bool => vec![0, 1],
        Kind::Unsigned | Kind::Signed => {
            let half: Bits = 1 << (width - 1);
            let small = [0, 1, 2, 3, 5, 6, 7, 8, 10, 12, 31, 32, 63, 64, 100, 127];
            let near = [half, half - 1, half + 1, half / 2, mask(width), mask(width) - 1, mask(width) - 6];
            small.into_iter().chain(near).chain(random().take(others).map(Bits::from)).collect()
        }
        Kind::Float => {
            let number = |value: f64| Number::Real(value).fit(dtype).bits(dtype);
            let some = random().map(|x| f64::from_bits((x & !(0x7ff << 52)) | (x % 60 + 993) << 52));
            REALS.into_iter().chain(some.take(others)).map(number).collect()
        }
        Kind::Complex => {
            let parts = edges(part, others);
            let turned: Vec<Bits> = parts.iter().step_by(3).copied().collect();
            let pairs = parts.iter().step_by(2).flat_map(|re| turned.iter().map(move |im| re | im << part.bits()));
            pairs.collect()
        }
    };
    values.iter_mut().for_each(|value| *value &= mask(width));
    let unique: BTreeSet<Bits> = values.into_iter().collect();
    unique.into_iter().collect()
}

/// How far two elements are apart: in units in the last place, of a complex number those of the larger part.
fn distance(x: Bits, y: Bits, dtype: DType) -> f64 {
    if x == y {
        return 0.0;
    }
    let part = dtype.real_part();
    let Some(format) = part.props().format else { return f64::INFINITY };
    let (x, y) = match (Number::from_bits(x, dtype), Number::from_bits(y, dtype)) {
        (Some(x), Some(y)) => (x.parts(), y.parts()),
        _ => return f64::INFINITY,
    };
    let size = y.0.abs().max(y.1.abs());
    let unit = |size: f64| {
        let exponent = if size > 0.0 { size.log2().floor() as i32 } else { i32::MIN / 2 };
        2f64.powi(exponent.max(1 - format.bias) - format.mantissa_bits as i32)
    };
    let apart = |x: f64, y: f64| match () {
        () if x.is_nan() && y.is_nan() => 0.0,
        () if x == y => if x == 0.0 && x.is_sign_negative() != y.is_sign_negative() { 0.25 } else { 0.0 },
        () if x.is_finite() && y.is_finite() => (x - y).abs() / unit(if size.is_finite() { size } else { y.abs() }),
        // One of them may have been rounded to infinity.
        () if x.is_infinite() && y.is_finite() || y.is_infinite() && x.is_finite() => {
            let finite = if x.is_finite() { x } else { y };
            let largest = 2f64.powi(format.bias) * (2.0 - 2f64.powi(-(format.mantissa_bits as i32)));
            if finite.abs() >= largest * (1.0 - 1e-6) && x.signum() == y.signum() { 1.0 } else { f64::INFINITY }
        }
        () => f64::INFINITY,
    };
    apart(x.0, y.0).max(apart(x.1, y.1))
}

/// How many units in the last place the result of an op may be off.
fn tolerance(op: Op, dtype: DType) -> f64 {
    use Op::*;
    let algebraic = matches!(
        op,
        Negative | Positive | Abs | Sign | Square | Floor | Ceil | Round | Trunc | Real | Imag | Conj | Relu
            | BitwiseInvert | Sqrt | Reciprocal | Angle | IsNan | IsInf | IsFinite | SignBit | LogicalNot | Add
            | Subtract | Multiply | Divide | Remainder | Fmod | Maximum | Minimum | CopySign | NextAfter
            | FloorDivide | Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual | LogicalAnd
            | LogicalOr | LogicalXor | BitwiseAnd | BitwiseOr | BitwiseXor | BitwiseLeftShift
            | BitwiseRightShift | Where | Clip | Gcd | Lcm
    );
    match dtype.kind() {
        Kind::Bool | Kind::Unsigned | Kind::Signed => 0.0,
        Kind::Float if algebraic => 0.0,
        Kind::Float => 2.0,
        Kind::Complex => 8.0,
    }
}

struct Report {
    missing: BTreeSet<String>,
    wrong: Vec<String>,
    worst: std::collections::BTreeMap<String, f64>,
}

fn results(op: Op, dtype: DType) -> DType {
    use Op::*;
    match op {
        IsNan | IsInf | IsFinite | SignBit | LogicalNot | Equal | NotEqual | Less | LessEqual | Greater
        | GreaterEqual | LogicalAnd | LogicalOr | LogicalXor => DType::B1,
        Abs | Angle | Real | Imag => dtype.real_part(),
        _ => dtype,
    }
}

fn try_one(report: &mut Report, op: Op, numerics: Numerics, dtypes: &[DType], args: &[Bits], has_f16: bool) {
    let dtype = if op == Op::Where { dtypes[1] } else { dtypes[0] };
    let result = results(op, dtype);
    let numbers: Vec<Number> =
        args.iter().zip(dtypes).filter_map(|(bits, dtype)| Number::from_bits(*bits, *dtype)).collect();
    let expected = reference(op, numerics, dtypes[0], result, &numbers);
    let e = &mut machine(has_f16);
    let elements: Vec<_> = args.iter().zip(dtypes).map(|(bits, dtype)| element(e, *dtype, *bits)).collect();
    let computed = elementwise(e, op, numerics, dtypes, result, &elements);
    let key = format!("{} {dtype}", op.name());
    let described = || format!("{key} {numerics:?} {args:x?} {numbers:?}");
    match (expected, computed) {
        (Err(Error::Trap(_)), Some(_)) if !e.traps.is_empty() => {}
        (Err(Error::Trap(why)), _) => report.wrong.push(format!("{}: no trap {why}", described())),
        (Err(_), _) => {}
        (Ok(_), None) => {
            report.missing.insert(key);
        }
        (Ok(_), Some(_)) if !e.traps.is_empty() => report.wrong.push(format!("{}: trap", described())),
        (Ok(expected), Some(computed)) => {
            let found = bits(e, result, computed);
            let apart = distance(found, expected.bits(result), result);
            let worst = report.worst.entry(key.clone()).or_insert(0.0);
            *worst = worst.max(apart);
            if apart > tolerance(op, dtype) {
                let found = Number::from_bits(found, result);
                report.wrong.push(format!("{}: {found:?}, not {expected:?}: {apart}", described()));
            }
        }
    }
}

#[test]
fn ops_are_what_the_interpreter_computes() {
    let mut report = Report { missing: BTreeSet::new(), wrong: Vec::new(), worst: Default::default() };
    for dtype in DTYPES {
        for op in Op::ALL.iter().copied().filter(|op| op.info().shape == ShapeRule::Broadcast) {
            let arity = op.info().arity.required;
            let others = if arity == 1 { 200 } else { 6 };
            let values = edges(dtype, if dtype.kind() == Kind::Complex { 20 } else { others });
            let few: Vec<Bits> = match dtype.kind() {
                Kind::Complex => values.iter().step_by(11).copied().collect(),
                _ => values.clone(),
            };
            for numerics in NUMERICS {
                match arity {
                    1 => values.iter().for_each(|x| try_one(&mut report, op, numerics, &[dtype], &[*x], true)),
                    2 => few.iter().for_each(|x| {
                        few.iter().for_each(|y| {
                            try_one(&mut report, op, numerics, &[dtype; 2], &[*x, *y], false);
                        });
                    }),
                    _ => few.iter().step_by(2).for_each(|x| {
                        few.iter().step_by(3).for_each(|y| {
                            let first = if op == Op::Where { DType::B1 } else { dtype };
                            let z = if op == Op::Where { x & 1 } else { few[few.len() / 2] };
                            try_one(&mut report, op, numerics, &[first, dtype, dtype], &[z, *x, *y], true);
                        });
                    }),
                }
            }
        }
    }
    println!("missing: {:?}", report.missing);
    let mut by_key: std::collections::BTreeMap<String, Vec<&String>> = Default::default();
    for line in &report.wrong {
        by_key.entry(line.split(' ').take(2).collect::<Vec<_>>().join(" ")).or_default().push(line);
    }
    for (key, lines) in &by_key {
        println!("{key}: {} wrong, worst {}", lines.len(), report.worst.get(key).unwrap_or(&0.0));
        lines.iter().step_by(1 + lines.len() / 3).for_each(|line| println!("     {line}"));
    }
    assert!(report.wrong.is_empty());
}
