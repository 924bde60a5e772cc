//! Arithmetic and comparisons of numbers of 32 and 64 bits.
//!
//! Instructions that do not say how they round (`add.f32`), which a driver may contract, and approximations are not here.

use super::{Order, Row, compared, op};

/// The row of an instruction, by the parts of its name.
pub(super) fn row(name: &[&str]) -> Option<Row> {
    let (last, operation) = name.split_last()?;
    match *last {
        "f32" => single(operation),
        "f64" => double(operation),
        _ => None,
    }
}

macro_rules! floats {
    ($name:ident, $type:ty, $bits:ty, $least:ident, $greatest:ident) => {
        fn $name(operation: &[&str]) -> Option<Row> {
            const SIGN: $bits = 1 << (<$bits>::BITS - 1);
            Some(match operation {
                ["add", "rn"] => op!($type, $type => $type, |a, b| a + b),
                ["sub", "rn"] => op!($type, $type => $type, |a, b| a - b),
                ["mul", "rn"] => op!($type, $type => $type, |a, b| a * b),
                ["div", "rn"] => op!($type, $type => $type, |a, b| a / b),
                ["fma", "rn"] => op!($type, $type, $type => $type, |a, b, c| a.mul_add(b, c)),
                ["sqrt", "rn"] => op!($type => $type, |a| a.sqrt()),
                ["rcp", "rn"] => op!($type => $type, |a| 1.0 / a),
                ["neg"] => op!($type => $type, |a| -a),
                ["abs"] => op!($type => $type, |a| a.abs()),
                ["copysign"] => op!($bits, $bits => $bits, |a, b| a & SIGN | b & !SIGN),
                ["min"] => op!($type, $type => $type, $least),
                ["max"] => op!($type, $type => $type, $greatest),
                ["min", "NaN"] => op!($type, $type => $type, |a, b| {
                    if a.is_nan() || b.is_nan() { <$type>::NAN } else { $least(a, b) }
                }),
                ["max", "NaN"] => op!($type, $type => $type, |a, b| {
                    if a.is_nan() || b.is_nan() { <$type>::NAN } else { $greatest(a, b) }
                }),
                ["testp", "finite"] => op!($type => bool, |a| a.is_finite()),
                ["testp", "infinite"] => op!($type => bool, |a| a.is_infinite()),
                ["testp", "number"] => op!($type => bool, |a| !a.is_nan()),
                ["testp", "notanumber"] => op!($type => bool, |a| a.is_nan()),
                ["testp", "normal"] => op!($type => bool, |a| a.is_normal()),
                ["testp", "subnormal"] => op!($type => bool, |a| a.is_subnormal()),
                _ => return compared!(operation, $type),
            })
        }

        /// The smaller number, of which −0 is smaller than +0; a NaN only if both are.
        #[inline(always)]
        pub(super) fn $least(a: $type, b: $type) -> $type {
            if a.is_nan() {
                b
            } else if b.is_nan() {
                a
            } else if a == b {
                if a.is_sign_negative() { a } else { b }
            } else if a < b {
                a
            } else {
                b
            }
        }

        /// The greater number, of which −0 is smaller than +0; a NaN only if both are.
        #[inline(always)]
        pub(super) fn $greatest(a: $type, b: $type) -> $type {
            -$least(-a, -b)
        }
    };
}

floats!(single, f32, u32, least32, greatest32);
floats!(double, f64, u64, least64, greatest64);
