//! How far results may be from the truth: one table, of what the docs state, from which every tolerance follows.
//!
//! An error is counted in units of the last place of the result's dtype. `docs/numerics.md` states the bounds of code of ours,
//! which linalg has too: it is made of the same definitions. XLA states none of its own functions.

use promote::{DType, Kind, Op};
use promote_scalar::math::ulp_bound;

/// What computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// The reference interpreter: functions of the C library in double precision.
    Interpreter,
    /// Code of ours.
    Ours,
    /// XLA, of what we lower to StableHLO.
    Xla,
}

/// What an op may do to a float besides the error that its operands have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It rounds nothing.
    Exact,
    /// The nearest float to the exact result.
    Rounded,
    /// A function that is approximated.
    Approximated,
    /// The exact sum or product of terms, which are added up in any order and rounded at each step.
    Accumulated,
}

/// The class of an op of floats.
pub const fn class(op: Op) -> Class {
    use Op::*;
    match op {
        Constant | Iota | Negative | Positive | Abs | Sign | Floor | Ceil | Round | Trunc | Real | Imag
        | Conj | BitwiseInvert | Relu | IsNan | IsInf | IsFinite | SignBit | LogicalNot | FloorDivide
        | Remainder | Fmod | Maximum | Minimum | CopySign | NextAfter | Gcd | Lcm | Equal | NotEqual
        | Less | LessEqual | Greater | GreaterEqual | LogicalAnd | LogicalOr | LogicalXor | BitwiseAnd
        | BitwiseOr | BitwiseXor | BitwiseLeftShift | BitwiseRightShift | Where | Clip | Concat | Stack
        | Max | Min | Any | All | ArgMax | ArgMin | Sort | CountNonzero | Reshape | PermuteDims
        | BroadcastTo | ExpandDims | Squeeze | Flip | Slice | Take | Relax => Class::Exact,
        Square | Sqrt | Reciprocal | Add | Subtract | Multiply | Divide | Convert => Class::Rounded,
        Cbrt | Rsqrt | Exp | Exp2 | Expm1 | Log | Log2 | Log10 | Log1p | Sin | Cos | Tan | Sinh | Cosh
        | Tanh | Asin | Acos | Atan | Asinh | Acosh | Atanh | Erf | Sigmoid | Angle | Pow | Atan2 | Hypot
        | LogAddExp => Class::Approximated,
        Sum | Prod | Mean | Var | Std | CumulativeSum | CumulativeProd | Softmax | LogSumExp | Matmul => {
            Class::Accumulated
        }
    }
}

/// How far a function of floats of a dtype may be off.
fn approximation(op: Op, dtype: DType, machine: Machine) -> f64 {
    let part = dtype.real_part();
    if part.bits() < 32 {
        // Computed in f32, whose errors are far less than half a unit, and rounded.
        return 1.0;
    }
    let is_complex = dtype.kind() == Kind::Complex;
    let of_ours = || {
        f64::from(ulp_bound(if op == Op::Angle { Op::Atan2 } else { op }, part == DType::F64).unwrap_or(1))
    };
    match machine {
        // The C library's functions are one unit off, and complex ones are made of a few of them that may cancel.
        Machine::Interpreter if is_complex => COMPLEX,
        Machine::Interpreter => 1.0,
        Machine::Ours => of_ours(),
        Machine::Xla if is_complex => COMPLEX,
        Machine::Xla => XLA,
    }
}

/// How far a complex function of a library may be off.
const COMPLEX: f64 = 128.0;

/// How far a function of XLA's may be off.
const XLA: f64 = 4.0;

/// How far an op may be off whose operands are exact, in units of the last place of its result's dtype: of the result itself,
/// but of the sum of the sizes of the `terms` that are accumulated.
pub fn units(op: Op, dtype: DType, machine: Machine, terms: usize) -> f64 {
    if !dtype.is_inexact() {
        return 0.0;
    }
    match class(op) {
        Class::Exact => 0.0,
        Class::Rounded => 0.5,
        Class::Approximated => approximation(op, dtype, machine),
        // Narrow floats are accumulated in f32.
        Class::Accumulated
            if dtype.real_part().bits() < 32 && op != Op::CumulativeSum && op != Op::CumulativeProd =>
        {
            1.0
        }
        Class::Accumulated => {
            let functions: &[Op] = match op {
                Op::Softmax => &[Op::Exp, Op::Divide],
                Op::LogSumExp => &[Op::Exp, Op::Log],
                Op::Mean => &[Op::Divide],
                Op::Var | Op::Std => &[Op::Divide, Op::Subtract, Op::Square, Op::Sqrt],
                _ => &[],
            };
            let functions: f64 = functions.iter().map(|function| units(*function, dtype, machine, 0)).sum();
            terms.saturating_sub(1) as f64 * 0.5 + functions
        }
    }
}

/// A unit of the last place of 1.
fn epsilon(dtype: DType) -> f64 {
    dtype.real_part().props().format.map_or(0.0, |format| 2f64.powi(-(format.mantissa_bits as i32)))
}

/// How far the results of a program may be off, relative to what they are, if its ops are well conditioned: the errors of all
/// ops add up. What rounds the exact result rounds the same operands alike, so it adds nothing unless something else is off.
///
/// Ops are those of the text, in generic form or not, each once: what a loop repeats should be exact.
pub fn relative(strong: &str, machine: Machine) -> f64 {
    let ops: Vec<(Op, DType, usize)> = strong.lines().filter_map(applied).collect();
    let sum = |takes: fn(Class) -> bool| -> f64 {
        let of = |(op, dtype, terms): &(Op, DType, usize)| {
            if takes(class(*op)) { units(*op, *dtype, machine, *terms) * epsilon(*dtype) } else { 0.0 }
        };
        ops.iter().map(of).sum()
    };
    let errors = sum(|class| matches!(class, Class::Approximated | Class::Accumulated));
    if errors == 0.0 { 0.0 } else { errors + 2.0 * sum(|class| class == Class::Rounded) }
}

/// The op of a line, the dtype of its result, and how many elements its first operand has.
fn applied(line: &str) -> Option<(Op, DType, usize)> {
    let (_, rest) = line.split_once("\"promote.")?;
    let (name, rest) = rest.split_once('"')?;
    let op = Op::by_name_or_alias(name)?;
    let (operands, result) = rest.rsplit_once(" -> ")?;
    let (_, result) = tensor(result)?;
    let (_, operands) = operands.rsplit_once(" : (")?;
    // An extent that only a run knows is that of a small example.
    let terms =
        tensor(operands).map_or(1, |(shape, _)| shape.iter().map(|extent| extent.unwrap_or(8)).product());
    Some((op, result, terms))
}

/// The extents and the dtype of the tensor type that a text begins with.
pub fn tensor(text: &str) -> Option<(Vec<Option<usize>>, DType)> {
    let (inner, _) = text.strip_prefix("tensor<")?.split_once('>')?;
    let mut parts: Vec<&str> = inner.split('x').collect();
    // A complex number's type ends with a bracket of its own.
    let element = parts.pop()?;
    let element = if element.starts_with("complex<") { format!("{element}>") } else { element.to_owned() };
    // The name of a dtype may have an x in it.
    let is_named = |name: &str| DType::ALL.iter().copied().find(|dtype| dtype.mlir() == name);
    let dtype = is_named(&element)?;
    Some((parts.into_iter().map(|extent| extent.parse().ok()).collect(), dtype))
}

/// How far two numbers are apart, relative to the expected one, of whose parts the larger counts.
pub fn distance(found: promote_reference::Number, expected: promote_reference::Number) -> f64 {
    use promote_reference::Number;
    if let (Number::Int(a), Number::Int(b)) = (found, expected) {
        return if a == b { 0.0 } else { f64::INFINITY };
    }
    let ((a, b), (c, d)) = (found.parts(), expected.parts());
    let size = c.abs().max(d.abs());
    let apart = |x: f64, y: f64| match x == y || x.is_nan() && y.is_nan() {
        true => 0.0,
        false if x.is_finite() && y.is_finite() => (x - y).abs() / size,
        false => f64::INFINITY,
    };
    apart(a, c).max(apart(b, d))
}

#[test]
fn the_tolerance_of_a_program_follows_from_its_ops() {
    let of = |lines: &str| relative(lines, Machine::Ours) / epsilon(DType::F32);
    let add = "%0 = \"promote.add\"(%a, %b) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n";
    let tanh = "%1 = \"promote.tanh\"(%0) : (tensor<4xf32>) -> tensor<4xf32>\n";
    let sum = "%2 = \"promote.sum\"(%1) {axis = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>\n";
    let narrow = "%3 = \"promote.exp\"(%2) : (tensor<bf16>) -> tensor<bf16>\n";
    let whole = "%4 = \"promote.sum\"(%2) : (tensor<9xi32>) -> tensor<i32>\n";
    assert_eq!(of(add), 0.0);
    assert_eq!(of(whole), 0.0);
    assert_eq!(of(tanh), 2.0);
    assert_eq!(of(&format!("{add}{tanh}{sum}")), 2.0 + 1.5 + 1.0);
    assert_eq!(of(narrow), 65536.0);
}

#[test]
fn every_function_that_is_approximated_has_a_bound() {
    let lacks = |op: &&Op| {
        let is_special = matches!(op, Op::Angle);
        (class(**op) == Class::Approximated) != (ulp_bound(**op, true).is_some() || is_special)
    };
    assert_eq!(Op::ALL.iter().find(lacks), None);
}
