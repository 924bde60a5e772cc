//! Arithmetic and comparisons of f16 and bf16, one by one and in pairs.

use super::floats::{greatest64, least64};
use super::{Order, Row, compared, op};
use crate::floats::{Bf16, Half, add_odd};

/// The row of an instruction, by the parts of its name.
pub(super) fn row(name: &[&str]) -> Option<Row> {
    let (last, operation) = name.split_last()?;
    match *last {
        "f16" => half(operation).or_else(|| mixed_half(operation)),
        "bf16" => bf16(operation).or_else(|| mixed_bf16(operation)),
        "f16x2" => half_pair(operation),
        "bf16x2" => bf16_pair(operation),
        _ => None,
    }
}

macro_rules! narrow {
    ($one:ident, $pair:ident, $mixed:ident, $type:ident) => {
        fn $one(operation: &[&str]) -> Option<Row> {
            Some(match operation {
                ["add", "rn"] => op!($type, $type => $type, |a, b| a.add(b)),
                ["sub", "rn"] => op!($type, $type => $type, |a, b| a.sub(b)),
                ["mul", "rn"] => op!($type, $type => $type, |a, b| a.mul(b)),
                ["fma", "rn"] => op!($type, $type, $type => $type, |a, b, c| a.fma(b, c)),
                ["neg"] => op!($type => $type, |a| $type::of(-a.to_f64())),
                ["abs"] => op!($type => $type, |a| $type::of(a.to_f64().abs())),
                ["min"] => op!($type, $type => $type, |a, b| $type::of(least64(a.to_f64(), b.to_f64()))),
                ["max"] => op!($type, $type => $type, |a, b| $type::of(greatest64(a.to_f64(), b.to_f64()))),
                _ => return compared!(operation, $type),
            })
        }

        fn $pair(operation: &[&str]) -> Option<Row> {
            type Pair = [$type; 2];
            Some(match operation {
                ["add", "rn"] => op!(Pair, Pair => Pair, |a, b| [a[0].add(b[0]), a[1].add(b[1])]),
                ["sub", "rn"] => op!(Pair, Pair => Pair, |a, b| [a[0].sub(b[0]), a[1].sub(b[1])]),
                ["mul", "rn"] => op!(Pair, Pair => Pair, |a, b| [a[0].mul(b[0]), a[1].mul(b[1])]),
                ["fma", "rn"] => {
                    op!(Pair, Pair, Pair => Pair, |a, b, c| [a[0].fma(b[0], c[0]), a[1].fma(b[1], c[1])])
                }
                ["neg"] => op!(Pair => Pair, |a| a.map(|a| $type::of(-a.to_f64()))),
                ["abs"] => op!(Pair => Pair, |a| a.map(|a| $type::of(a.to_f64().abs()))),
                _ => return None,
            })
        }

        /// Sums in 32 bits of which an operand is narrow.
        fn $mixed(operation: &[&str]) -> Option<Row> {
            Some(match operation {
                ["add", "rn", "f32"] => op!($type, f32 => f32, |a, b| a.to_f64() as f32 + b),
                ["sub", "rn", "f32"] => op!($type, f32 => f32, |a, b| a.to_f64() as f32 - b),
                ["fma", "rn", "f32"] => {
                    op!($type, $type, f32 => f32, |a, b, c| (a.to_f64() as f32).mul_add(b.to_f64() as f32, c))
                }
                _ => return None,
            })
        }

        impl $type {
            fn add(self, other: Self) -> Self {
                Self::of(add_odd(self.to_f64(), other.to_f64()))
            }

            fn sub(self, other: Self) -> Self {
                Self::of(add_odd(self.to_f64(), -other.to_f64()))
            }

            fn mul(self, other: Self) -> Self {
                Self::of(self.to_f64() * other.to_f64())
            }

            fn fma(self, factor: Self, summand: Self) -> Self {
                // The product is exact.
                Self::of(add_odd(self.to_f64() * factor.to_f64(), summand.to_f64()))
            }
        }
    };
}

narrow!(half, half_pair, mixed_half, Half);
narrow!(bf16, bf16_pair, mixed_bf16, Bf16);
