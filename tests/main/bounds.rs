//! How far results may be from the truth: one table, of what the docs state, from which tolerances follow.
//!
//! An error is counted in units of the last place of the result's dtype. `docs/numerics.md` states the bounds of code of ours,
//! which linalg has too: it is made of the same definitions. Those of the others are measured.

use promote::op::Class;
use promote::{DType, Kind, Op};
use promote_reference::Number;
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
    /// NumPy, JAX or PyTorch, whose vectorised functions are up to 5 units off.
    Library,
}

/// What an op may do to a float besides the error that its operands have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// It rounds nothing.
    Exact,
    /// The nearest float to the exact result.
    Nearest,
    /// A function that is approximated.
    Approximated,
    /// The sum or product of terms, which are taken in any order and rounded at each step.
    Accumulated,
}

/// How an op of operands of a dtype rounds. What is of a class is alike, with the exceptions named.
pub const fn rounding(op: Op, operand: DType) -> Rounding {
    let composed =
        if matches!(operand.kind(), Kind::Complex) { Rounding::Approximated } else { Rounding::Nearest };
    match (op.class(), op) {
        (Class::Sign, Op::Abs | Op::Sign) if matches!(operand.kind(), Kind::Complex) => {
            Rounding::Approximated
        }
        (Class::Sign, Op::Square) => composed,
        (Class::Part, Op::Angle) => Rounding::Approximated,
        (Class::Function, Op::Sqrt | Op::Reciprocal) => composed,
        (Class::FloatPair, Op::CopySign | Op::NextAfter) => Rounding::Exact,
        (Class::Arithmetic, Op::FloorDivide | Op::Remainder | Op::Fmod) => Rounding::Exact,
        (Class::Arithmetic, Op::Pow) => Rounding::Approximated,
        (Class::Arithmetic, Op::Multiply | Op::Divide) => composed,
        (Class::Arithmetic | Class::Stated, _) => Rounding::Nearest,
        (Class::Function | Class::SpecialFunction | Class::FloatPair, _) => Rounding::Approximated,
        (Class::Accumulation | Class::Moment | Class::Exponential | Class::Product, _) => {
            Rounding::Accumulated
        }
        (
            Class::Layout
            | Class::Indexing
            | Class::Joining
            | Class::Choice
            | Class::Part
            | Class::Sign
            | Class::Rounding
            | Class::Predicate
            | Class::Logical
            | Class::Bitwise
            | Class::Shift
            | Class::Extremum
            | Class::IntegerPair
            | Class::Comparison
            | Class::Order
            | Class::Truth
            | Class::Index,
            _,
        ) => Rounding::Exact,
    }
}

/// How far functions of XLA's own are found to be off in f32 or f64, where that is more than [`ulp_bound`] says of ours.
const XLA: &[(Op, f64)] = &[(Op::Atanh, 4.0), (Op::Hypot, 2.0), (Op::Tanh, 4.0)];

/// How far functions of complex numbers are found to be off, of which terms cancel beside branch cuts and poles. Others are
/// [`COMPOSED`] of a few functions of real numbers.
const CANCELLING: &[(Op, f64)] = &[
    (Op::Acos, 64.0),
    (Op::Asin, 32.0),
    (Op::Asinh, 64.0),
    (Op::LogAddExp, 16.0),
    (Op::Pow, 64.0),
    (Op::Tan, 64.0),
    (Op::Tanh, 64.0),
];
const COMPOSED: f64 = 4.0;

/// How far a function may be off.
fn approximation(op: Op, dtype: DType, machine: Machine) -> f64 {
    let row = |table: &[(Op, f64)]| table.iter().find(|row| row.0 == op).map(|row| row.1);
    let part = dtype.real_part();
    let stated = if op == Op::Angle { Op::Atan2 } else { op };
    let ours = || ulp_bound(stated, part == DType::F64).map_or(1.0, f64::from);
    match machine {
        // Narrow ones are computed in f32, whose errors are far less than half a unit, and rounded.
        _ if part.bits() < 32 => 1.0,
        _ if dtype.kind() == Kind::Complex => row(CANCELLING).unwrap_or(COMPOSED),
        Machine::Interpreter => 1.0,
        Machine::Ours => ours(),
        Machine::Xla => row(XLA).unwrap_or_else(ours),
        Machine::Library => 5.0,
    }
}

/// How far an op may be off whose operands are exact, in units of the last place of its result's dtype: of the result, but if
/// `terms` are accumulated, of the sum of their sizes.
pub fn units(op: Op, operand: DType, dtype: DType, machine: Machine, terms: usize) -> f64 {
    let part = dtype.real_part();
    let is_in_order = matches!(op, Op::CumulativeSum | Op::CumulativeProd);
    match rounding(op, operand) {
        _ if !dtype.is_inexact() => 0.0,
        Rounding::Exact => 0.0,
        Rounding::Nearest => 0.5,
        // Of the absolute value of a complex number, that number's.
        Rounding::Approximated => {
            approximation(op, if operand.kind() == Kind::Complex { operand } else { dtype }, machine)
        }
        // Narrow floats are accumulated in f32, and rounded in the end.
        Rounding::Accumulated if part.bits() < 32 && !is_in_order => 1.0,
        Rounding::Accumulated => {
            let functions: &[Op] = match op.class() {
                Class::Exponential => &[Op::Exp, Op::Log, Op::Divide],
                Class::Moment => &[Op::Divide, Op::Subtract, Op::Square, Op::Sqrt],
                _ => &[],
            };
            let one = |function: &Op| units(*function, operand, dtype, machine, 0);
            terms.saturating_sub(1) as f64 * 0.5 + functions.iter().map(one).sum::<f64>()
        }
    }
}

/// How far the results of two machines may be apart that apply an op to the same operands. What both round to the nearest is
/// the same.
pub fn apart(op: Op, operand: DType, dtype: DType, machines: [Machine; 2], terms: usize) -> f64 {
    match rounding(op, operand) {
        Rounding::Exact | Rounding::Nearest => 0.0,
        Rounding::Approximated | Rounding::Accumulated => {
            machines.iter().map(|machine| units(op, operand, dtype, *machine, terms)).sum()
        }
    }
}

/// A unit of the last place of 1.
pub fn epsilon(dtype: DType) -> f64 {
    dtype.real_part().props().format.map_or(0.0, |format| 2f64.powi(-(format.mantissa_bits as i32)))
}

/// An op as it stands in a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Applied {
    /// Which one.
    pub op: Op,
    /// The dtype of its first operand.
    pub operand: DType,
    /// The dtype of its result.
    pub dtype: DType,
    /// How many elements its first operand has.
    pub terms: usize,
}

/// How far results of ops may be off, relative to what they are, if the ops are well conditioned: all their errors add up. What
/// both machines round to the nearest is the same, unless something before it is not.
pub fn relative_of(ops: &[Applied], machines: &[Machine]) -> f64 {
    let sum = |takes: fn(Rounding) -> bool| -> f64 {
        let of = |applied: &Applied| {
            let Applied { op, operand, dtype, terms } = *applied;
            let own = machines.iter().map(|machine| units(op, operand, dtype, *machine, terms)).sum::<f64>();
            if takes(rounding(op, operand)) { own * epsilon(dtype) } else { 0.0 }
        };
        ops.iter().map(of).sum()
    };
    let errors = sum(|rounding| matches!(rounding, Rounding::Approximated | Rounding::Accumulated));
    // XLA computes products and sums at once, and divides by constants as it multiplies by their reciprocals.
    let is_exact = errors == 0.0 && !machines.contains(&Machine::Xla);
    if is_exact { 0.0 } else { errors + sum(|rounding| rounding == Rounding::Nearest) }
}

/// The same for the ops of a text that [`Machine::Interpreter`] runs, too: each counts once, so what a loop repeats should be exact.
pub fn relative(strong: &str, machine: Machine) -> f64 {
    let ops: Vec<Applied> = strong.lines().filter_map(applied).collect();
    relative_of(&ops, &[machine, Machine::Interpreter])
}

/// The op of a line.
fn applied(line: &str) -> Option<Applied> {
    let (_, rest) = line.split_once("\"promote.")?;
    let (name, rest) = rest.split_once('"')?;
    let op = Op::by_name_or_alias(name)?;
    let (operands, result) = rest.rsplit_once(" -> ")?;
    let (_, dtype) = tensor(result)?;
    let (_, operands) = operands.rsplit_once(" : (")?;
    let (shape, operand) = tensor(operands).unwrap_or((Vec::new(), dtype));
    // An extent that is not known at compile time is that of a small example.
    let terms = shape.iter().map(|extent| extent.unwrap_or(8)).product();
    Some(Applied { op, operand, dtype, terms })
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
pub fn distance(found: Number, expected: Number) -> f64 {
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
    assert_eq!(of(tanh), 2.0 + 1.0);
    assert_eq!(of(&format!("{add}{tanh}{sum}")), (2.0 + 1.0) + 2.0 * (1.5 + 0.5));
    assert_eq!(of(narrow), 2.0 * 65536.0);
}

#[test]
fn every_function_that_is_approximated_has_a_bound() {
    let is_stated = |op: Op| ulp_bound(op, true).is_some() || op == Op::Angle;
    let is_approximated = |op: Op| rounding(op, DType::F64) == Rounding::Approximated;
    assert_eq!(Op::ALL.iter().find(|op| is_approximated(**op) != is_stated(**op)), None);
}
