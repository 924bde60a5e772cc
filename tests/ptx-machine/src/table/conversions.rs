//! `cvt`. Registers of integers may be wider than the types: the low bits are taken, and results are extended.

use super::{Row, op};
use crate::floats::{BF16, Bf16, DOUBLE, HALF, Half, Rounding, SINGLE};
use crate::parse::Kind;

/// The row of an instruction, by the parts of its name and the widths of its registers.
pub(super) fn row(name: &[&str], registers: (Kind, Kind)) -> Option<Row> {
    match name {
        ["cvt", to, from] => widened(to, from).or_else(|| extended(to, from, registers)),
        ["cvt", "rn", "f16x2", "f32"] => Some(op!(f32, f32 => [Half; 2], |high, low| {
            [low, high].map(|value| Half::of(value.into()))
        })),
        ["cvt", "rn", "bf16x2", "f32"] => Some(op!(f32, f32 => [Bf16; 2], |high, low| {
            [low, high].map(|value| Bf16::of(value.into()))
        })),
        ["cvt", rounding, to, from] => match *rounding {
            "rni" => to_nearest(to, from),
            "rzi" => to_zero(to, from),
            "rmi" => to_lower(to, from),
            "rpi" => to_upper(to, from),
            "rn" => nearest(to, from),
            "rz" => toward_zero(to, from),
            "rm" => down(to, from),
            "rp" => up(to, from),
            _ => None,
        },
        _ => None,
    }
}

/// Conversions that are exact.
fn widened(to: &str, from: &str) -> Option<Row> {
    Some(match (to, from) {
        ("f32", "f16") => op!(Half => f32, |a| a.to_f64() as f32),
        ("f64", "f16") => op!(Half => f64, |a| a.to_f64()),
        ("f32", "bf16") => op!(Bf16 => f32, |a| a.to_f64() as f32),
        ("f64", "f32") => op!(f32 => f64, |a| a.into()),
        _ => return None,
    })
}

/// Between integers: the type that is narrower says which bits are taken, and how they are extended.
fn extended(to: &str, from: &str, registers: (Kind, Kind)) -> Option<Row> {
    let narrow = match (to, registers.0) {
        ("u8" | "s8", _) => to,
        ("u16" | "s16", Kind::B16) | ("u32" | "s32", Kind::B32) | ("u64" | "s64", Kind::B64) => from,
        _ => return None,
    };
    macro_rules! to {
        ($of:ty, $container:ty) => {
            match registers.0 {
                Kind::B16 => op!($container => u16, |a| a as $of as u16),
                Kind::B32 => op!($container => u32, |a| a as $of as u32),
                Kind::B64 => op!($container => u64, |a| a as $of as u64),
                Kind::Predicate => return None,
            }
        };
    }
    macro_rules! of {
        ($of:ty) => {
            match registers.1 {
                Kind::B16 if <$of>::BITS <= 16 => to!($of, u16),
                Kind::B32 if <$of>::BITS <= 32 => to!($of, u32),
                Kind::B64 => to!($of, u64),
                _ => return None,
            }
        };
    }
    // A source that is narrower than its register counts by its own bits.
    let is_known = matches!(from, "u8" | "s8" | "u16" | "s16" | "u32" | "s32" | "u64" | "s64");
    Some(match narrow {
        _ if !is_known => return None,
        "u8" => of!(u8),
        "s8" => of!(i8),
        "u16" => of!(u16),
        "s16" => of!(i16),
        "u32" => of!(u32),
        "s32" => of!(i32),
        "u64" => of!(u64),
        "s64" => of!(i64),
        _ => return None,
    })
}

/// What a NaN becomes as an integer: nothing, or the highest bit if one of the types has 64 bits.
fn converted(value: f64, least: i128, greatest: i128, nan: i128) -> i128 {
    if value.is_nan() { nan } else { (value as i128).clamp(least, greatest) }
}

/// Conversions to integers, which are saturated, and to whole numbers of the same type.
macro_rules! to_integers {
    ($name:ident, $round:ident) => {
        fn $name(to: &str, from: &str) -> Option<Row> {
            /// The least and the greatest number, and what a NaN becomes.
            macro_rules! from {
                ($to:ty, $lane:ty) => {{
                    const LEAST: i128 = <$to>::MIN as i128;
                    const MOST: i128 = <$to>::MAX as i128;
                    const IS_WIDE: bool = <$to>::BITS == 64;
                    const TOP: i128 = if LEAST < 0 { LEAST } else { 1 << (<$to>::BITS - 1) };
                    match from {
                        "f16" => op!(Half => $lane, |a| {
                            converted(a.to_f64().$round(), LEAST, MOST, if IS_WIDE { TOP } else { 0 }) as $lane
                        }),
                        "f32" => op!(f32 => $lane, |a| {
                            converted(f64::from(a).$round(), LEAST, MOST, if IS_WIDE { TOP } else { 0 }) as $lane
                        }),
                        "f64" => op!(f64 => $lane, |a| converted(a.$round(), LEAST, MOST, TOP) as $lane),
                        _ => return None,
                    }
                }};
            }
            Some(match (to, from) {
                ("f16", "f16") => op!(Half => Half, |a| Half::of(a.to_f64().$round())),
                ("bf16", "bf16") => op!(Bf16 => Bf16, |a| Bf16::of(a.to_f64().$round())),
                ("f32", "f32") => op!(f32 => f32, |a| a.$round()),
                ("f64", "f64") => op!(f64 => f64, |a| a.$round()),
                ("u8", _) => from!(u8, u16),
                ("s8", _) => from!(i8, i16),
                ("u16", _) => from!(u16, u16),
                ("s16", _) => from!(i16, i16),
                ("u32", _) => from!(u32, u32),
                ("s32", _) => from!(i32, i32),
                ("u64", _) => from!(u64, u64),
                ("s64", _) => from!(i64, i64),
                _ => return None,
            })
        }
    };
}

to_integers!(to_nearest, round_ties_even);
to_integers!(to_zero, trunc);
to_integers!(to_lower, floor);
to_integers!(to_upper, ceil);

/// Conversions to floats that are rounded.
macro_rules! roundings {
    ($name:ident, $rounding:ident) => {
        fn $name(to: &str, from: &str) -> Option<Row> {
            macro_rules! integer {
                ($of:ty, $lane:ty) => {
                    match to {
                        "f16" => op!($lane => Half, |a| {
                            Half(HALF.of_integer((a as $of).into(), Rounding::$rounding) as u16)
                        }),
                        "f32" => op!($lane => f32, |a| {
                            f32::from_bits(SINGLE.of_integer((a as $of).into(), Rounding::$rounding) as u32)
                        }),
                        "f64" => op!($lane => f64, |a| {
                            f64::from_bits(DOUBLE.of_integer((a as $of).into(), Rounding::$rounding))
                        }),
                        _ => return None,
                    }
                };
            }
            Some(match (to, from) {
                ("f32", "f64") => op!(f64 => f32, |a| {
                    f32::from_bits(SINGLE.of_f64(a, Rounding::$rounding) as u32)
                }),
                ("f16", "f32") => op!(f32 => Half, |a| Half(HALF.of_f64(a.into(), Rounding::$rounding) as u16)),
                ("f16", "f64") => op!(f64 => Half, |a| Half(HALF.of_f64(a, Rounding::$rounding) as u16)),
                ("bf16", "f32") => op!(f32 => Bf16, |a| Bf16(BF16.of_f64(a.into(), Rounding::$rounding) as u16)),
                (_, "u8") => integer!(u8, u16),
                (_, "s8") => integer!(i8, u16),
                (_, "u16") => integer!(u16, u16),
                (_, "s16") => integer!(i16, i16),
                (_, "u32") => integer!(u32, u32),
                (_, "s32") => integer!(i32, i32),
                (_, "u64") => integer!(u64, u64),
                (_, "s64") => integer!(i64, i64),
                _ => return None,
            })
        }
    };
}

roundings!(rounded_to_nearest, Nearest);
roundings!(toward_zero, Zero);
roundings!(down, Down);
roundings!(up, Up);

/// Roundings to the nearest, which processors have for wider types.
fn nearest(to: &str, from: &str) -> Option<Row> {
    Some(match (to, from) {
        ("f32", "f64") => op!(f64 => f32, |a| a as f32),
        ("f32", "u16") => op!(u16 => f32, |a| a.into()),
        ("f32", "s16") => op!(i16 => f32, |a| a.into()),
        ("f32", "u32") => op!(u32 => f32, |a| a as f32),
        ("f32", "s32") => op!(i32 => f32, |a| a as f32),
        ("f32", "u64") => op!(u64 => f32, |a| a as f32),
        ("f32", "s64") => op!(i64 => f32, |a| a as f32),
        ("f64", "u32") => op!(u32 => f64, |a| a.into()),
        ("f64", "s32") => op!(i32 => f64, |a| a.into()),
        ("f64", "u64") => op!(u64 => f64, |a| a as f64),
        ("f64", "s64") => op!(i64 => f64, |a| a as f64),
        _ => return rounded_to_nearest(to, from),
    })
}
