//! Element-wise ops, against the reference interpreter.

mod tolerances;

use std::collections::BTreeSet;

use promote_lattice::convert::{Bits, Numerics};
use promote_lattice::op::Class;
use promote_lattice::{DType, Kind, Op};
use promote_reference::{Error, Number, element as reference};
use promote_scalar::{elementwise, is_defined};

pub use tolerances::distance;
use tolerances::{is_moderate, tolerance, turned};

use crate::support::{NUMERICS, bits, element, machine, random};

/// Real numbers where definitions change, and others.
const REALS: [f64; 48] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    -0.5,
    1.5,
    -1.5,
    2.0,
    -2.0,
    2.5,
    -2.5,
    3.0,
    -3.0,
    7.0,
    -7.0,
    0.1,
    -0.1,
    1e-3,
    -1e-3,
    1e-8,
    -1e-8,
    0.49999997,
    0.9999,
    1.0001,
    10.0,
    -10.0,
    20.5,
    -30.25,
    88.0,
    -88.0,
    100.0,
    300.0,
    -700.0,
    1e4,
    -65504.0,
    1e10,
    -1e20,
    3e38,
    -3e38,
    1e-38,
    1e-45,
    1e300,
    -1e-310,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
    std::f64::consts::FRAC_PI_4,
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
            let near = [
                half,
                half - 1,
                half + 1,
                half / 2,
                mask(width),
                mask(width) - 1,
                mask(width).wrapping_sub(6),
            ];
            small.into_iter().chain(near).chain(random().take(others).map(Bits::from)).collect()
        }
        Kind::Float if width <= 8 => (0..1 << width).collect(),
        Kind::Float => {
            let number = |value: f64| Number::Real(value).fit(dtype).bits(dtype);
            let some = random().map(|x| f64::from_bits((x & !(0x7ff << 52)) | (x % 60 + 993) << 52));
            REALS.into_iter().chain(some.take(others)).map(number).collect()
        }
        Kind::Complex => {
            let parts = edges(part, others);
            let turned: Vec<Bits> = parts.iter().step_by(3).copied().collect();
            let pairs =
                parts.iter().step_by(2).flat_map(|re| turned.iter().map(move |im| re | im << part.bits()));
            pairs.collect()
        }
    };
    values.iter_mut().for_each(|value| *value &= mask(width));
    let unique: BTreeSet<Bits> = values.into_iter().collect();
    unique.into_iter().collect()
}

/// What is not as the interpreter computes it.
#[derive(Default)]
struct Report {
    /// What is not defined, as op and dtype.
    missing: BTreeSet<String>,
    /// Results that differ.
    wrong: Vec<String>,
}

/// The dtype of an op's result.
fn results(op: Op, dtype: DType) -> DType {
    match (op.class(), op) {
        (Class::Predicate | Class::Logical | Class::Comparison, _) => DType::B1,
        (Class::Part, Op::Angle | Op::Real | Op::Imag) | (Class::Sign, Op::Abs) => dtype.real_part(),
        _ => dtype,
    }
}

/// Computes one call both ways.
fn try_one(report: &mut Report, op: Op, numerics: Numerics, dtypes: &[DType], args: &[Bits], has_f16: bool) {
    let dtype = if op == Op::Where { dtypes[1] } else { dtypes[0] };
    let result = results(op, dtype);
    let numbers: Vec<Number> =
        args.iter().zip(dtypes).map(|(bits, dtype)| Number::from_bits(*bits, *dtype)).collect();
    if !is_moderate(op, dtype, &numbers) {
        return;
    }
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
            let apart = match op {
                Op::LogAddExp if dtype.kind() == Kind::Complex => {
                    turned(Number::from_bits(found, result), expected, dtype)
                }
                _ => distance(found, expected.bits(result), result),
            };
            if apart > tolerance(op, dtype) {
                let found = Number::from_bits(found, result);
                report.wrong.push(format!("{}: {found:?}, not {expected:?}: {apart}", described()));
            }
        }
    }
}

#[test]
fn ops_are_what_the_interpreter_computes() {
    let mut report = Report::default();
    for dtype in DType::strong() {
        for op in Op::elementwise() {
            let arity = op.info().arity.required;
            let others = if arity == 1 { 200 } else { 6 };
            let values = edges(dtype, if dtype.kind() == Kind::Complex { 20 } else { others });
            let few: Vec<Bits> = match dtype.kind() {
                Kind::Complex => values.iter().step_by(11).copied().collect(),
                // An odd step, so that codes of all exponents and all fractions are among them.
                Kind::Float if dtype.bits() <= 8 => {
                    values.iter().step_by((values.len() / 16) | 1).copied().collect()
                }
                _ => values.clone(),
            };
            for numerics in NUMERICS {
                match arity {
                    1 => {
                        values.iter().for_each(|x| try_one(&mut report, op, numerics, &[dtype], &[*x], true))
                    }
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
    // The interpreter computes more than any library: functions of integers, and cube roots of complex numbers.
    let beyond = |key: &String| {
        let (op, dtype) = key.split_once(' ').unwrap_or_default();
        let dtype: DType = dtype.parse().unwrap_or(DType::F32);
        match op {
            "atan2" | "copysign" | "divide" | "hypot" | "logaddexp" => !dtype.is_inexact(),
            "bitwise_left_shift" | "bitwise_right_shift" => dtype == DType::B1,
            "cbrt" => dtype.kind() == Kind::Complex,
            _ => false,
        }
    };
    let missing: Vec<_> = report.missing.iter().filter(|key| !beyond(key)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    let count = report.wrong.len();
    report.wrong.truncate(40);
    assert!(count == 0, "{count} wrong:\n{}", report.wrong.join("\n"));
}

/// A base and an integer exponent of another dtype.
#[test]
fn powers_take_integer_exponents_of_any_dtype() {
    let mut wrong = Vec::new();
    for (dtype, exponent) in [
        (DType::F32, DType::I32),
        (DType::F32, DType::I8),
        (DType::BF16, DType::I64),
        (DType::F64, DType::U8),
        (DType::F16, DType::U16),
        (DType::I32, DType::I64),
        (DType::U8, DType::I4),
        (DType::I64, DType::U8),
    ] {
        for numerics in NUMERICS {
            for (x, y) in
                edges(dtype, 8).into_iter().flat_map(|x| edges(exponent, 8).into_iter().map(move |y| (x, y)))
            {
                let numbers = [Number::from_bits(x, dtype), Number::from_bits(y, exponent)];
                let expected = reference(Op::Pow, numerics, dtype, dtype, &numbers);
                let e = &mut machine(true);
                let args = [element(e, dtype, x), element(e, exponent, y)];
                let found = elementwise(e, Op::Pow, numerics, &[dtype, exponent], dtype, &args);
                let found = found.map(|found| bits(e, dtype, found)).unwrap();
                let is_right = match expected {
                    Ok(expected) => {
                        e.traps.is_empty()
                            && distance(found, expected.bits(dtype), dtype) <= tolerance(Op::Pow, dtype)
                    }
                    Err(_) => !e.traps.is_empty(),
                };
                if !is_right {
                    wrong.push(format!(
                        "{numerics:?} {numbers:?}: {:?}, not {expected:?}",
                        Number::from_bits(found, dtype)
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

/// Floats whose arithmetic is that of `f32`.
fn narrow_floats() -> impl Iterator<Item = DType> {
    DType::strong().filter(|dtype| dtype.kind() == Kind::Float && dtype.bits() <= 8)
}

/// The result of the op in `f32`, converted.
#[test]
fn narrow_floats_are_computed_in_f32_and_rounded() {
    let mut wrong = Vec::new();
    for dtype in narrow_floats() {
        let codes = || (0..1 << dtype.bits()).step_by(if dtype.bits() == 8 { 5 } else { 1 });
        for op in Op::elementwise() {
            let arity = op.info().arity.required;
            if arity == 3 || op == Op::NextAfter {
                continue;
            }
            for (x, y) in
                codes().flat_map(|x| codes().take(if arity == 1 { 1 } else { 256 }).map(move |y| (x, y)))
            {
                let e = &mut machine(true);
                let args = [element(e, dtype, x), element(e, dtype, y)];
                let args = &args[..arity];
                let result = results(op, dtype);
                let wide_result = if result == dtype { DType::F32 } else { result };
                let dtypes = [dtype; 2];
                let found = elementwise(e, op, Numerics::Jax, &dtypes[..arity], result, args);
                let wide = elementwise(e, op, Numerics::Jax, &[DType::F32; 2][..arity], wide_result, args);
                let (Some(found), Some(wide)) = (found, wide) else {
                    assert_eq!(found, wide, "{op} of {dtype}");
                    continue;
                };
                let wide = bits(e, wide_result, wide);
                let expected = promote_lattice::convert::convert(wide, wide_result, result, Numerics::Jax);
                let found = bits(e, result, found);
                let is_chosen = matches!(op, Op::Maximum | Op::Minimum | Op::Positive | Op::Real | Op::Conj);
                let same =
                    crate::support::same(found, expected, result) || is_chosen && (found == x || found == y);
                if !same {
                    wrong.push(format!("{op} of {dtype} {x:x} {y:x}: {found:x}, not {expected:x}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong[..wrong.len().min(20)].join("\n"));
}

/// The next number up from any but the last is the one that is greater than it and less than all others that are.
#[test]
fn the_next_number_is_next() {
    for dtype in narrow_floats() {
        let number = |code: Bits| {
            let bits = promote_lattice::convert::convert(code, dtype, DType::F64, Numerics::NumPy);
            f64::from_bits(bits as u64)
        };
        let mut numbers: Vec<(f64, Bits)> = (0..1 << dtype.bits()).map(|code| (number(code), code)).collect();
        numbers.retain(|(x, _)| x.is_finite());
        numbers.sort_by(|(x, _), (y, _)| x.total_cmp(y));
        numbers.dedup_by(|(x, _), (y, _)| x == y);
        let e = &mut machine(true);
        let mut step = |from: Bits, to: Bits| {
            let args = [element(e, dtype, from), element(e, dtype, to)];
            let next = elementwise(e, Op::NextAfter, Numerics::NumPy, &[dtype; 2], dtype, &args).unwrap();
            bits(e, dtype, next)
        };
        let (first, last) = (numbers[0].1, numbers[numbers.len() - 1].1);
        for pair in numbers.windows(2) {
            let [(low, low_code), (high, high_code)] = [pair[0], pair[1]];
            assert_eq!(number(step(low_code, last)), high, "{dtype}: from {low} up");
            assert_eq!(number(step(high_code, first)), low, "{dtype}: from {high} down");
        }
    }
}

/// Integers of two dtypes compare, and are clipped, by their numbers.
#[test]
fn integers_of_two_dtypes_compare_by_their_numbers() {
    use Op::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    let integers = || DType::strong().filter(|dtype| dtype.is_integer());
    for (first, second) in integers().flat_map(|first| integers().map(move |second| (first, second))) {
        for (x, y) in
            edges(first, 4).into_iter().flat_map(|x| edges(second, 4).into_iter().map(move |y| (x, y)))
        {
            let numbers = [Number::from_bits(x, first), Number::from_bits(y, second)];
            let e = &mut machine(true);
            let args = [element(e, first, x), element(e, second, y)];
            for op in [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual] {
                let found = elementwise(e, op, Numerics::NumPy, &[first, second], DType::B1, &args);
                let expected =
                    reference(op, Numerics::NumPy, first, DType::B1, &numbers).map(|truth| truth.is_true());
                assert_eq!(found.map(|found| found.real().to_bool()), expected.ok(), "{op} {numbers:?}");
            }
            let [low, high] = [args[1], args[0]];
            let clipped = elementwise(
                e,
                Op::Clip,
                Numerics::NumPy,
                &[first, second, first],
                first,
                &[args[0], low, high],
            );
            let expected =
                reference(Op::Clip, Numerics::NumPy, first, first, &[numbers[0], numbers[1], numbers[0]]);
            let clipped = clipped.map(|clipped| bits(e, first, clipped));
            assert_eq!(clipped, expected.ok().map(|number| number.bits(first)), "clip {numbers:?}");
        }
    }
}

/// Whether an op is defined can be asked of any dtypes, and each op is of some: one that is of none was forgotten.
#[test]
fn each_op_of_elements_is_defined_and_no_other() {
    let dtypes: Vec<DType> = DType::strong().collect();
    for op in Op::ALL.iter().copied() {
        let count = op.info().arity.required.max(1);
        let defined = |numerics: Numerics, result: DType, first: DType, others: DType| {
            let operands: Vec<DType> =
                (0..count).map(|index| if index == 0 { first } else { others }).collect();
            is_defined(op, numerics, &operands, result)
        };
        let mut found = false;
        for (first, others) in
            dtypes.iter().flat_map(|first| dtypes.iter().map(move |other| (*first, *other)))
        {
            for result in [first, others, DType::B1] {
                found |= defined(Numerics::Jax, result, first, others);
                found |= defined(Numerics::NumPy, result, first, others);
            }
        }
        assert_eq!(found, Op::elementwise().any(|known| known == op), "{op}");
    }
}
