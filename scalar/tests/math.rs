//! Elementary functions against the truth: how far results are from it, and what they are where it is special.
//!
//! Single precision is swept against functions of double precision. Double precision meets cases computed with 400 bits
//! (`tools/references.py`).

use promote_lattice::Op;
use promote_scalar::eval::{Eval, Value};
use promote_scalar::fma_in_parts;
use promote_scalar::math::{self, ulp_bound};

unsafe extern "C" {
    safe fn erf(x: f64) -> f64;
    safe fn erfc(x: f64) -> f64;
    safe fn lgamma(x: f64) -> f64;
}

type Unary = (Op, fn(&mut Eval, Value) -> Value, fn(f64) -> f64);
type Binary = (Op, fn(&mut Eval, Value, Value) -> Value, fn(f64, f64) -> f64);

const UNARY: &[Unary] = &[
    (Op::Exp, math::exp, f64::exp),
    (Op::Exp2, math::exp2, f64::exp2),
    (Op::Expm1, math::expm1, f64::exp_m1),
    (Op::Log, math::log, f64::ln),
    (Op::Log2, math::log2, f64::log2),
    (Op::Log10, math::log10, f64::log10),
    (Op::Log1p, math::log1p, f64::ln_1p),
    (Op::Sin, math::sin, f64::sin),
    (Op::Cos, math::cos, f64::cos),
    (Op::Tan, math::tan, f64::tan),
    (Op::Sinc, math::sinc, sinc),
    (Op::Sinh, math::sinh, f64::sinh),
    (Op::Cosh, math::cosh, f64::cosh),
    (Op::Tanh, math::tanh, f64::tanh),
    (Op::Asin, math::asin, f64::asin),
    (Op::Acos, math::acos, f64::acos),
    (Op::Atan, math::atan, f64::atan),
    (Op::Asinh, math::asinh, f64::asinh),
    (Op::Acosh, math::acosh, f64::acosh),
    (Op::Atanh, math::atanh, f64::atanh),
    (Op::Erf, math::erf, |x| erf(x)),
    (Op::Erfc, math::erfc, |x| erfc(x)),
    (Op::Lgamma, math::lgamma, |x| lgamma(x)),
    (Op::Sigmoid, math::sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
    (Op::Cbrt, math::cbrt, f64::cbrt),
    (Op::Rsqrt, math::rsqrt, |x| 1.0 / x.sqrt()),
];

const BINARY: &[Binary] = &[
    (Op::Pow, math::pow, f64::powf),
    (Op::Atan2, math::atan2, f64::atan2),
    (Op::Hypot, math::hypot, f64::hypot),
    (Op::LogAddExp, math::logaddexp, |x, y| {
        if x == y { x + std::f64::consts::LN_2 } else { x.max(y) + (-(x - y).abs()).exp().ln_1p() }
    }),
];

fn sinc(x: f64) -> f64 {
    let (beyond, half_turns) = (x - x.round(), x.round() % 2.0);
    let sine = (beyond * std::f64::consts::PI).sin() * if half_turns == 0.0 { 1.0 } else { -1.0 };
    if x == 0.0 { 1.0 } else { 0.0 + sine / (x * std::f64::consts::PI) }
}

/// A machine that multiplies and adds in one instruction, and one that rounds the product and does not keep sums.
const MACHINES: [Eval; 2] = [
    Eval { traps: Vec::new(), has_f16: false, is_loose: false },
    Eval { traps: Vec::new(), has_f16: false, is_loose: true },
];

fn single(mut machine: Eval, function: fn(&mut Eval, Value) -> Value, x: f32) -> f32 {
    function(&mut machine, Value::f32(x)).to_f32()
}

fn single2(mut machine: Eval, function: fn(&mut Eval, Value, Value) -> Value, x: f32, y: f32) -> f32 {
    function(&mut machine, Value::f32(x), Value::f32(y)).to_f32()
}

/// The distance of neighbours in single precision.
fn unit(x: f64) -> f64 {
    let exponent = (x.abs().to_bits() >> 52) as i32 - 1023;
    2f64.powi(exponent.clamp(-126, 127) - 23)
}

/// How far `y` is from `truth`, in units of the last place of the greater of `truth` and `at_least`; infinite where the class
/// or, unless terms cancel, the sign of zero is another.
fn distance(y: f32, truth: f64, at_least: f64) -> f64 {
    let nearest = truth as f32;
    if y.is_nan() || truth.is_nan() {
        return if y.is_nan() && truth.is_nan() { 0.0 } else { f64::INFINITY };
    }
    let sign_of_zero =
        at_least == 0.0 && y == 0.0 && nearest == 0.0 && y.is_sign_negative() != nearest.is_sign_negative();
    if truth.is_infinite() || sign_of_zero {
        return if y == nearest && !sign_of_zero { 0.0 } else { f64::INFINITY };
    }
    if y == nearest {
        return 0.0;
    }
    // An infinite result counts as the number that would follow the greatest.
    let y = if y.is_infinite() { 2f64.powi(128).copysign(f64::from(y)) } else { f64::from(y) };
    (y - truth).abs() / unit(truth.abs().max(at_least))
}

/// Of the terms whose sum is `result`.
fn greatest_term(term: f64, result: f64) -> f64 {
    term.abs().max((result - term).abs())
}

/// The greatest term of the sum that a result is, where terms cancel; else 0.
fn cancelling(op: Op, operands: &[f64], result: f64) -> f64 {
    match (op, operands) {
        (Op::LogAddExp, [x, y]) => greatest_term(x.max(*y), result),
        _ => 0.0,
    }
}

/// Fails if a case (its distance, operands and result) is worse than the bound; shows the worst.
///
/// Where products are rounded, too, a unit more is allowed.
fn check<const N: usize>(op: Op, machine: &Eval, double: bool, cases: impl Iterator<Item = (f64, [f64; N])>) {
    let bound = ulp_bound(op, double).expect("elementary functions have a bound");
    let bound = bound + u32::from(machine.is_loose);
    let (worst, which) =
        cases.fold((0.0, [0.0; N]), |worst, case| if case.0 > worst.0 { case } else { worst });
    let line =
        format!("{:10} {} {worst:.3} ulp at {which:?}", op.info().name, if double { "f64" } else { "f32" });
    println!("{line}");
    assert!(worst <= f64::from(bound), "{line}, bound {bound}");
}

const EDGES: &[f32] = &[
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.0,
    -2.0,
    3.0,
    -3.0,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
    f32::MAX,
    f32::MIN,
    f32::MIN_POSITIVE,
    1e-45,
    -1e-45,
    1.0000001,
    0.99999994,
    -0.99999994,
    88.72284,
    -103.97,
    1e-20,
    131072.0,
    131073.0,
    2.5,
    -2.5,
    // Where the logarithm of the gamma function is about 0.
    -2.4570248,
    -2.7476826,
    -3.1435807,
    -3.9552944,
    -9.000003,
];

#[test]
fn single_precision_of_one_operand() {
    let each = UNARY.iter().flat_map(|row| MACHINES.map(|machine| (row, machine)));
    for ((op, function, truth), machine) in each {
        let swept = (0..u32::MAX).step_by(400_009).map(f32::from_bits);
        check(
            *op,
            &machine,
            false,
            swept.chain(EDGES.iter().copied()).map(|x| {
                let y = single(machine.clone(), *function, x);
                let (x, truth) = (f64::from(x), truth(f64::from(x)));
                (distance(y, truth, cancelling(*op, &[x], truth)), [x, f64::from(y)])
            }),
        );
    }
}

/// Pairs of numbers: of all sizes, of about the same size, and edges.
fn pairs() -> impl Iterator<Item = (f32, f32)> {
    let bits = |i: u32| i.wrapping_mul(2_654_435_769) ^ (i.wrapping_mul(40_503) >> 7);
    let any = (0..20_000u32).map(move |i| (f32::from_bits(bits(2 * i)), f32::from_bits(bits(2 * i + 1))));
    let near = (0..40_000u32).map(move |i| {
        let part = |i| bits(i) as f32 / u32::MAX as f32;
        ((part(2 * i) - 0.1) * 9.0, (part(2 * i + 1) - 0.5) * 70.0)
    });
    any.chain(near).chain(EDGES.iter().flat_map(|x| EDGES.iter().map(|y| (*x, *y))))
}

#[test]
fn single_precision_of_two_operands() {
    let each = BINARY.iter().flat_map(|row| MACHINES.map(|machine| (row, machine)));
    for ((op, function, truth), machine) in each {
        check(
            *op,
            &machine,
            false,
            pairs().map(|(x, y)| {
                let z = single2(machine.clone(), *function, x, y);
                let (x, y) = (f64::from(x), f64::from(y));
                let truth = truth(x, y);
                (distance(z, truth, cancelling(*op, &[x, y], truth)), [x, y, f64::from(z)])
            }),
        );
    }
}

/// What `tools/references.py` writes: of each function the operands, the result and what it lacks in units of its last place.
struct Cases(std::vec::IntoIter<u8>);

impl Iterator for Cases {
    type Item = (String, Vec<Vec<f64>>);

    fn next(&mut self) -> Option<Self::Item> {
        let length = self.0.next()?;
        let name = self.0.by_ref().take(usize::from(length)).map(char::from).collect();
        let width = usize::from(self.0.next()?) + 2;
        let count = u16::from_le_bytes([self.0.next()?, self.0.next()?]);
        let mut number =
            || f64::from_le_bytes(std::array::from_fn(|_| self.0.next().expect("a case is whole")));
        Some((name, (0..count).map(|_| (0..width).map(|_| number()).collect()).collect()))
    }
}

/// The same for double precision; what `truth` lacks is in units of its last place.
fn double_distance(y: f64, truth: f64, lacks: f64, at_least: f64) -> f64 {
    if y == truth {
        return lacks.abs();
    }
    if !y.is_finite() || !truth.is_finite() {
        return if y.abs().max(truth.abs()) > f64::MAX && y.abs().min(truth.abs()) == f64::MAX {
            1.0
        } else {
            f64::INFINITY
        };
    }
    let exponent = |x: f64| (x.abs().to_bits() >> 52).max(1) as i32;
    let bits = 1075 - exponent(truth);
    // In two steps, as a power of 2 may be out of range.
    let units = (y - truth) * 2f64.powi(bits / 2) * 2f64.powi(bits - bits / 2);
    (units - lacks).abs() * 2f64.powi((exponent(truth) - exponent(at_least)).min(0))
}

#[test]
fn double_precision() {
    let data = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/double.bin"))
        .expect("data stands beside the test");
    let mut count = 0;
    for (name, cases) in Cases(data.into_iter()) {
        let unary = UNARY.iter().find(|row| row.0.info().name == name);
        let binary = BINARY.iter().find(|row| row.0.info().name == name);
        let op = unary.map(|row| row.0).or(binary.map(|row| row.0)).expect("the data is of functions tested");
        let compute = |machine: &Eval| {
            let run = |case: &Vec<f64>| {
                let [operands @ .., truth, lacks] = &case[..] else { unreachable!("cases end so") };
                let mut e = machine.clone();
                let y = match (unary, binary) {
                    (Some(row), _) => row.1(&mut e, Value::f64(operands[0])),
                    (_, Some(row)) => row.1(&mut e, Value::f64(operands[0]), Value::f64(operands[1])),
                    (None, None) => unreachable!("the op was found"),
                };
                let at_least = cancelling(op, operands, *truth);
                (
                    double_distance(y.to_f64(), *truth, *lacks, at_least),
                    [operands[0], operands[operands.len() - 1], y.to_f64()],
                )
            };
            check(op, machine, true, cases.iter().map(run));
        };
        MACHINES.iter().for_each(compute);
        count += 1;
    }
    assert_eq!(count, UNARY.len() + BINARY.len());
}

/// At special operands double precision gives what single precision does; that is held to the truth above.
#[test]
fn special_operands_of_double_precision() {
    const SPECIAL: &[f32] = &[
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.0,
        -2.0,
        3.0,
        -3.0,
        2.5,
        -2.5,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
    ];
    let alike = |name: &str, y: f64, single: f32| {
        let exact = |y: f64| y == 0.0 || y.is_infinite();
        let same = if exact(y) || exact(f64::from(single)) {
            y.to_bits() == f64::from(single).to_bits()
        } else {
            y.is_nan() == single.is_nan()
        };
        // tan π/2 and the like: only what is infinite or 0 must agree.
        assert!(same, "{name}: {y:e} in double precision, {single:e} in single");
    };
    for x in SPECIAL {
        for (op, function, _) in UNARY {
            let y = function(&mut Eval::default(), Value::f64(f64::from(*x))).to_f64();
            alike(&format!("{} {x:e}", op.info().name), y, single(Eval::default(), *function, *x));
        }
        for y in SPECIAL {
            for (op, function, _) in BINARY {
                let z = function(&mut Eval::default(), Value::f64(f64::from(*x)), Value::f64(f64::from(*y)))
                    .to_f64();
                alike(
                    &format!("{} {x:e} {y:e}", op.info().name),
                    z,
                    single2(Eval::default(), *function, *x, *y),
                );
            }
        }
    }
}

#[test]
fn sigmoid_of_large_negative_numbers_is_subnormal() {
    for x in [-745.0, -720.5, -709.0] {
        let y = math::sigmoid(&mut Eval::default(), Value::f64(x)).to_f64();
        assert!((y - x.exp()).abs() <= 5e-324 + y * 1e-15, "{x}: {y:e}");
    }
}

#[test]
fn odd_functions_keep_subnormal_numbers() {
    let kept = [
        math::expm1::<Eval>,
        math::log1p,
        math::sin,
        math::tan,
        math::sinh,
        math::tanh,
        math::asin,
        math::atan,
        math::asinh,
        math::atanh,
    ];
    for bits in [1, 2, 3, 5, 0x1234_5677] {
        for function in kept {
            let x = Value::f64(f64::from_bits(bits));
            assert_eq!(function(&mut Eval::default(), x), x);
            let x = Value::f32(f32::from_bits(bits as u32 & 0x007f_ffff));
            assert_eq!(function(&mut Eval::default(), x), x);
        }
    }
}

#[test]
fn a_product_and_a_sum_in_parts_are_as_rounded_once() {
    let bits = |i: u64| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let part = |i: u64| f64::from_bits(bits(i) >> 2 | 0x3fe0_0000_0000_0000).clamp(-4.0, 4.0);
    for i in 0..50_000 {
        let (x, y) = (part(3 * i), part(3 * i + 1));
        // Something else, what the product rounds to, and that but for a little.
        for z in [part(3 * i + 2), -(x * y), -(x * y) * (1.0 + 2f64.powi(-40))] {
            let exact = x.mul_add(y, z);
            let [a, b, c] = [x, y, z].map(Value::f64);
            let found = fma_in_parts(&mut Eval::default(), a, b, c).to_f64();
            assert!((found - exact).abs() <= exact.abs() * f64::EPSILON, "{x:e} {y:e} {z:e}: {found:e}");
            let [x, y, z] = [x, y, z].map(|part| part as f32);
            let exact = x.mul_add(y, z);
            let [a, b, c] = [x, y, z].map(Value::f32);
            let found = fma_in_parts(&mut Eval::default(), a, b, c).to_f32();
            assert!((found - exact).abs() <= exact.abs() * f32::EPSILON, "{x:e} {y:e} {z:e}: {found:e}");
        }
    }
}
