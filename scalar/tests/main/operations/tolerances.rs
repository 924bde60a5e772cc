//! How far results of ops may be from those of the interpreter.

use promote_lattice::convert::Bits;
use promote_lattice::dtype::Specials;
use promote_lattice::op::Class;
use promote_lattice::{DType, Kind, Op};
use promote_reference::Number;

/// How far two elements are apart: in units in the last place, of a complex number those of the larger part.
pub fn distance(x: Bits, y: Bits, dtype: DType) -> f64 {
    if x == y {
        return 0.0;
    }
    let part = dtype.real_part();
    let Some(format) = part.props().format else { return f64::INFINITY };
    let (x, y) = (Number::from_bits(x, dtype).parts(), Number::from_bits(y, dtype).parts());
    // Where there is no NaN, it is zero, of the other sign than the NaN, which may be any.
    if format.specials == Specials::FiniteOnly && x == y {
        return 0.0;
    }
    let size = y.0.abs().max(y.1.abs());
    let unit = |size: f64| {
        let exponent = if size > 0.0 { size.log2().floor() as i32 } else { i32::MIN / 2 };
        2f64.powi(exponent.max(1 - format.bias)) / 2f64.powi(format.mantissa_bits as i32)
    };
    let apart = |x: f64, y: f64| match () {
        () if x.is_nan() && y.is_nan() => 0.0,
        () if x == y => {
            if x == 0.0 && x.is_sign_negative() != y.is_sign_negative() {
                0.25
            } else {
                0.0
            }
        }
        () if x.is_finite() && y.is_finite() => {
            (x - y).abs() / unit(if size.is_finite() { size } else { y.abs() })
        }
        // One of them may have been rounded to infinity.
        () if x.is_infinite() && y.is_finite() || y.is_infinite() && x.is_finite() => {
            let finite = if x.is_finite() { x } else { y };
            let largest = 2f64.powi(format.bias) * (2.0 - 2f64.powi(-(format.mantissa_bits as i32)));
            if finite.abs() >= largest * (1.0 - 1e-6) && x.signum() == y.signum() {
                1.0
            } else {
                f64::INFINITY
            }
        }
        () => f64::INFINITY,
    };
    apart(x.0, y.0).max(apart(x.1, y.1))
}

/// How far two logarithms are apart, whole turns apart, in units in the last place of 1 and 16 times less: the terms cancel.
pub fn turned(x: Number, y: Number, dtype: DType) -> f64 {
    let ((re, im), (other_re, other_im)) = (x.parts(), y.parts());
    let bits = dtype.real_part().props().format.map_or(0, |format| format.mantissa_bits);
    let apart = (re - other_re).hypot((im.cos() - other_im.cos()).hypot(im.sin() - other_im.sin()));
    let size = re.abs().max(im.abs()).max(other_im.abs()).max(1.0);
    apart / size * 2f64.powi(bits as i32) / 16.0
}

/// How many units in the last place the result of an op may be off.
pub fn tolerance(op: Op, dtype: DType) -> f64 {
    use Op::*;
    let algebraic = match op.class() {
        Class::Sign
        | Class::Part
        | Class::Rounding
        | Class::Predicate
        | Class::Logical
        | Class::Bitwise
        | Class::Shift
        | Class::Extremum
        | Class::IntegerPair
        | Class::Comparison
        | Class::Choice => true,
        Class::Function => matches!(op, Sqrt | Reciprocal),
        Class::Arithmetic => op != Pow,
        Class::FloatPair => matches!(op, CopySign | NextAfter),
        Class::SpecialFunction
        | Class::Stated
        | Class::Layout
        | Class::Indexing
        | Class::Joining
        | Class::Accumulation
        | Class::Moment
        | Class::Order
        | Class::Truth
        | Class::Index
        | Class::Exponential
        | Class::Product => false,
    };
    match dtype.kind() {
        Kind::Bool | Kind::Unsigned | Kind::Signed => 0.0,
        // NumPy's formula in `f32` is not the interpreter's in `f64`, where the quotient has more bits than `f32`.
        Kind::Float if op == Op::FloorDivide && dtype == DType::F32 => 2.0,
        Kind::Float if algebraic => 0.0,
        // The standard library's functions that the interpreter uses are that far off.
        Kind::Float if matches!(op, Acosh | Atanh) => 128.0,
        Kind::Float if op == LogAddExp => 32.0,
        Kind::Float => 3.0,
        // The interpreter computes `f64` by formulas that cancel.
        Kind::Complex if dtype == DType::C128 => 1e6,
        // The angle of a power is a product of numbers of this size.
        Kind::Complex if op == Pow => 128.0,
        Kind::Complex => 8.0,
    }
}

/// Whether the interpreter's formula for a complex number is one to compare with: finite numbers of moderate size.
pub fn is_moderate(op: Op, dtype: DType, numbers: &[Number]) -> bool {
    use Op::*;
    let is_exact = matches!(
        op,
        Negative
            | Positive
            | Conj
            | Real
            | Imag
            | Add
            | Subtract
            | Equal
            | NotEqual
            | Less
            | LessEqual
            | Greater
            | GreaterEqual
            | LogicalAnd
            | LogicalOr
            | LogicalXor
            | LogicalNot
            | IsNan
            | IsInf
            | IsFinite
            | Maximum
            | Minimum
            | Where
            | Clip
    );
    let is_moderate = |x: f64| x.abs() < 12.0 && x.abs() > 1e-2;
    is_exact
        || dtype.kind() != Kind::Complex
        || numbers.iter().all(|number| {
            let (re, im) = number.parts();
            is_moderate(re) && is_moderate(im)
        })
}
