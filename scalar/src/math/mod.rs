//! Elementary functions in instructions.
//!
//! Each takes and returns a register of [`Ty::F32`](crate::Ty::F32) or [`Ty::F64`](crate::Ty::F64). They are free of branches, so
//! as fast on sixteen lanes as on one; only where a lane is huge for sin, cos and tan, or negative for lgamma, a
//! [`repeat`](Emit::repeat) takes its time. They need no library and return the same bits on every target.
//!
//! Results at zeros, infinities and NaN, and where a function is not defined, are those of C, Annex F; a NaN is some NaN. The
//! sign of zero is kept. Nothing overflows or vanishes before the result does; subnormal numbers are numbers.
//!
//! How far results are from the truth is measured: see [`ulp_bound`].
//!
//! How it works: `num` gives instructions the look of arithmetic. The modules are families, each with the table of its
//! functions: the op, the function, and its bounds in single and double precision. Where an algorithm is the same
//! for both precisions it is written once, over a table of constants.

use promote_lattice::Op;

use crate::emit::Emit;

mod num;

/// The table of a family: each function, the op that it is of, and how many units in the last place a result is at most from
/// the truth, in single and double precision.
///
/// Beside it the greatest distance measured. Single precision: over all operands where there is a star, all from 2^-14 to 64
/// where there is a plus, else each 16th block of 1024 (of `sin`, `cos` and `tan` above 131072 each 61st operand of those);
/// positive ones alone where a function is odd or even; 60,000 pairs of two operands. Double precision: 12,000 to 20,000
/// operands, drawn where functions are hard, of which the test keeps fewer.
macro_rules! family {
    ($($(#[$doc:meta])* $op:ident $name:ident($($x:ident),+) $single:literal $double:literal;)*) => {
        pub mod functions {
            $(
                $(#[$doc])*
                pub fn $name<E: $crate::emit::Emit>(e: &mut E, $($x: E::Value),+) -> E::Value {
                    let operands = [$($crate::emit::Element::Real($x)),+];
                    if let Some(native) = e.native(promote_lattice::Op::$op, &operands) {
                        return native.real();
                    }
                    let machine = std::cell::RefCell::new(e);
                    super::$name($($crate::math::num::Num::new(&machine, $x)),+).value
                }
            )*
        }

        /// The bounds of each function.
        pub(super) const BOUNDS: &[(promote_lattice::Op, u32, u32)] =
            &[$((promote_lattice::Op::$op, $single, $double)),*];

        /// The function of those operands that an op is, if it is one of the family.
        pub(super) fn of<E: $crate::emit::Emit>(
            e: &mut E,
            op: promote_lattice::Op,
            operands: &[E::Value],
        ) -> Option<E::Value> {
            match (op, operands) {
                $((promote_lattice::Op::$op, [$($x),+]) => Some(functions::$name(e, $(*$x),+)),)*
                _ => None,
            }
        }
    };
}

macro_rules! families {
    ($($module:ident)*) => {
        $(mod $module;)*
        $(pub use $module::functions::*;)*

        const BOUNDS: &[&[(Op, u32, u32)]] = &[$($module::BOUNDS),*];

        /// The elementary function that an op is, of operands in `f32` or `f64`; none if it is no such function.
        pub(crate) fn of<E: Emit>(e: &mut E, op: Op, operands: &[E::Value]) -> Option<E::Value> {
            $(
                if let Some(value) = $module::of(e, op, operands) {
                    return Some(value);
                }
            )*
            None
        }
    };
}

families! { error exponential gamma inverse logarithm power trigonometric }

/// How many units in the last place a result of an elementary function is at most from the truth; none for other ops. A
/// result that rounds correctly is 1/2 off.
///
/// The result of `logaddexp` is the sum of its greater operand and a logarithm, which may cancel: its units are those of the
/// greatest of the three.
pub fn ulp_bound(op: Op, double: bool) -> Option<u32> {
    let (_, single_bound, double_bound) = BOUNDS.iter().copied().flatten().find(|row| row.0 == op)?;
    Some(if double { *double_bound } else { *single_bound })
}
