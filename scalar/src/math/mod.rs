//! Elementary functions in instructions.
//!
//! Each takes and returns a register of [`Ty::F32`](crate::Ty::F32) or [`Ty::F64`](crate::Ty::F64). They are free of branches, so
//! as fast on sixteen lanes as on one; only the argument of sin, cos and tan is reduced in a [`repeat`](Emit::repeat) where a
//! lane is huge. They need no library and give the same bits on every target.
//!
//! Results at zeros, infinities and NaN, and where a function is not defined, are those of C, Annex F; a NaN is some NaN. The
//! sign of zero is kept. Nothing overflows or vanishes before the result does; subnormal numbers are numbers.
//!
//! How far results are from the truth is measured: see [`ulp_bound`].
//!
//! How it works: `num` gives instructions the look of arithmetic; the modules are by family. Where an algorithm is the same
//! for both precisions it is written once, over a table of constants.

use std::cell::RefCell;

use promote_lattice::Op;

use crate::emit::{Element, Emit};
use num::Num;

mod error;
mod exponential;
mod inverse;
mod logarithm;
mod num;
mod power;
mod trigonometric;

macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $op:ident $module:ident($($x:ident),+);)*) => {$(
        $(#[$doc])*
        pub fn $name<E: Emit>(e: &mut E, $($x: E::Value),+) -> E::Value {
            if let Some(native) = e.native(Op::$op, &[$(Element::Real($x)),+]) {
                return native.real();
            }
            let machine = RefCell::new(e);
            $module::$name($(Num::new(&machine, $x)),+).value
        }
    )*};
}

functions! {
    /// e to the power of x.
    exp = Exp exponential(x);
    /// 2 to the power of x.
    exp2 = Exp2 exponential(x);
    /// e to the power of x, less 1.
    expm1 = Expm1 exponential(x);
    /// The natural logarithm.
    log = Log logarithm(x);
    /// The logarithm to base 2.
    log2 = Log2 logarithm(x);
    /// The logarithm to base 10.
    log10 = Log10 logarithm(x);
    /// The natural logarithm of 1 + x.
    log1p = Log1p logarithm(x);
    /// Sine of radians.
    sin = Sin trigonometric(x);
    /// Cosine of radians.
    cos = Cos trigonometric(x);
    /// Tangent of radians.
    tan = Tan trigonometric(x);
    /// Hyperbolic sine.
    sinh = Sinh exponential(x);
    /// Hyperbolic cosine.
    cosh = Cosh exponential(x);
    /// Hyperbolic tangent.
    tanh = Tanh exponential(x);
    /// Inverse sine.
    asin = Asin inverse(x);
    /// Inverse cosine.
    acos = Acos inverse(x);
    /// Inverse tangent.
    atan = Atan inverse(x);
    /// Inverse hyperbolic sine.
    asinh = Asinh logarithm(x);
    /// Inverse hyperbolic cosine.
    acosh = Acosh logarithm(x);
    /// Inverse hyperbolic tangent.
    atanh = Atanh logarithm(x);
    /// The error function.
    erf = Erf error(x);
    /// 1 / (1 + e^-x).
    sigmoid = Sigmoid exponential(x);
    /// The cube root.
    cbrt = Cbrt power(x);
    /// 1 over the square root.
    rsqrt = Rsqrt power(x);
    /// x to the power of y.
    pow = Pow power(x, y);
    /// The angle of the point with the ordinate y and the abscissa x.
    atan2 = Atan2 inverse(y, x);
    /// The length of the vector with the coordinates x and y.
    hypot = Hypot power(x, y);
    /// log(e^x + e^y).
    logaddexp = LogAddExp logarithm(x, y);
}

/// For each function how many units in the last place a result is at most from the truth, in single and double precision.
///
/// Beside it the greatest distance measured. Single precision: over all operands where there is a star, all from 2^-14 to 64
/// where there is a plus, else each 16th block of 1024 (of `sin`, `cos` and `tan` above 131072 each 61st operand of those);
/// positive ones alone where a function is odd or even; 60,000 pairs of two operands. Double precision: 12,000 to 20,000
/// operands, drawn where functions are hard, of which the test keeps fewer.
#[rustfmt::skip]
const BOUNDS: &[(Op, u32, u32)] = &[
    (Op::Exp, 1, 1),         // 0.89* 0.83
    (Op::Exp2, 1, 1),        // 0.88* 0.77
    (Op::Expm1, 2, 2),       // 1.44* 1.62
    (Op::Log, 1, 1),         // 0.88* 0.74
    (Op::Log2, 2, 2),        // 1.43* 1.14
    (Op::Log10, 2, 2),       // 1.63  0.78
    (Op::Log1p, 2, 2),       // 1.60  1.26
    (Op::Sin, 1, 1),         // 0.84  0.71
    (Op::Cos, 1, 1),         // 0.84  0.75
    (Op::Tan, 2, 1),         // 1.12  0.97
    (Op::Sinh, 2, 2),        // 1.45* 1.58
    (Op::Cosh, 2, 2),        // 1.83* 1.16
    (Op::Tanh, 2, 2),        // 1.50* 1.23
    (Op::Asin, 2, 2),        // 1.15  1.04
    (Op::Acos, 2, 2),        // 1.12  1.05
    (Op::Atan, 2, 2),        // 1.36  1.35
    (Op::Asinh, 3, 3),       // 2.02+ 1.45
    (Op::Acosh, 3, 3),       // 2.15+ 1.57
    (Op::Atanh, 2, 2),       // 1.98+ 1.56
    (Op::Erf, 2, 1),         // 1.14* 0.99
    (Op::Sigmoid, 2, 2),     // 2.00* 1.93
    (Op::Cbrt, 1, 1),        // 0.73  0.71
    (Op::Rsqrt, 2, 2),       // 1.48  1.38
    (Op::Pow, 1, 1),         // 0.50  0.79
    (Op::Atan2, 2, 2),       // 1.19  1.17
    (Op::Hypot, 1, 1),       // 0.87  0.86
    (Op::LogAddExp, 2, 2),   // 1.47  1.62
];

/// How many units in the last place a result of an elementary function is at most from the truth; none for other ops. A
/// result that rounds correctly is 1/2 off.
///
/// The result of `logaddexp` is the sum of its greater operand and a logarithm, which may cancel: its units are those of the
/// greatest of the three.
pub fn ulp_bound(op: Op, double: bool) -> Option<u32> {
    let (_, single_bound, double_bound) = BOUNDS.iter().find(|row| row.0 == op)?;
    Some(if double { *double_bound } else { *single_bound })
}
