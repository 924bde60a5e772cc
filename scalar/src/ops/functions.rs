//! Functions of real numbers that are not algebraic, by op.

use promote_lattice::Op;

use crate::emit::Emit;
use crate::math;

/// The function of a real number in `f32` or `f64` that an op names, if it names one.
pub(super) fn real<E: Emit>(e: &mut E, op: Op, x: E::Value) -> Option<E::Value> {
    Some(match op {
        Op::Cbrt => math::cbrt(e, x),
        Op::Exp => math::exp(e, x),
        Op::Exp2 => math::exp2(e, x),
        Op::Expm1 => math::expm1(e, x),
        Op::Log => math::log(e, x),
        Op::Log2 => math::log2(e, x),
        Op::Log10 => math::log10(e, x),
        Op::Log1p => math::log1p(e, x),
        Op::Sin => math::sin(e, x),
        Op::Cos => math::cos(e, x),
        Op::Tan => math::tan(e, x),
        Op::Sinh => math::sinh(e, x),
        Op::Cosh => math::cosh(e, x),
        Op::Tanh => math::tanh(e, x),
        Op::Asin => math::asin(e, x),
        Op::Acos => math::acos(e, x),
        Op::Atan => math::atan(e, x),
        Op::Asinh => math::asinh(e, x),
        Op::Acosh => math::acosh(e, x),
        Op::Atanh => math::atanh(e, x),
        Op::Rsqrt => math::rsqrt(e, x),
        Op::Sigmoid => math::sigmoid(e, x),
        Op::Erf => math::erf(e, x),
        _ => return None,
    })
}
