//! Arithmetic and comparisons of integers.

use super::{Row, op};
use crate::Fault;
use crate::lanes::{Lane, Mask, Outcome, Registers, lanes_of, map2};

/// The row of an instruction, by the parts of its name.
pub(super) fn row(name: &[&str]) -> Option<Row> {
    let (last, operation) = name.split_last()?;
    match *last {
        "u16" => unsigned16(operation),
        "s16" => signed16(operation),
        "u32" => unsigned32(operation).or_else(|| wide_u32(operation)),
        "s32" => signed32(operation).or_else(|| wide_s32(operation)),
        "u64" => unsigned64(operation),
        "s64" => signed64(operation),
        _ => None,
    }
    .or_else(|| match name {
        ["mul", "wide", "u16"] => Some(op!(u16, u16 => u32, |a, b| u32::from(a) * u32::from(b))),
        ["mul", "wide", "s16"] => Some(op!(i16, i16 => i32, |a, b| i32::from(a) * i32::from(b))),
        ["mad", "wide", "u16"] => {
            Some(op!(u16, u16, u32 => u32, |a, b, c| (u32::from(a) * u32::from(b)).wrapping_add(c)))
        }
        ["mad", "wide", "s16"] => {
            Some(op!(i16, i16, i32 => i32, |a, b, c| (i32::from(a) * i32::from(b)).wrapping_add(c)))
        }
        ["dp4a", first, second] => dot(first, second),
        _ => None,
    })
}

/// The instructions that take operands of one type, which are as many bits wide as their result.
macro_rules! integers {
    ($name:ident, $type:ty, $wide:ty) => {
        fn $name(operation: &[&str]) -> Option<Row> {
            const BITS: u32 = <$type>::BITS;
            Some(match operation {
                ["add"] => op!($type, $type => $type, |a, b| a.wrapping_add(b)),
                ["sub"] => op!($type, $type => $type, |a, b| a.wrapping_sub(b)),
                ["mul", "lo"] => op!($type, $type => $type, |a, b| a.wrapping_mul(b)),
                ["mul", "hi"] => {
                    op!($type, $type => $type, |a, b| ((<$wide>::from(a) * <$wide>::from(b)) >> BITS) as $type)
                }
                ["mad", "lo"] => {
                    op!($type, $type, $type => $type, |a, b, c| a.wrapping_mul(b).wrapping_add(c))
                }
                ["mad", "hi"] => op!($type, $type, $type => $type, |a, b, c| {
                    (((<$wide>::from(a) * <$wide>::from(b)) >> BITS) as $type).wrapping_add(c)
                }),
                ["div"] => Row::new::<$type>(vec![<$type as Lane>::KIND; 2], |r, p, m| {
                    divisors::<$type>(r, p[2], m)?;
                    map2(r, p, m, |a: $type, b: $type| if b == 0 { 0 } else { a.wrapping_div(b) })
                }),
                ["rem"] => Row::new::<$type>(vec![<$type as Lane>::KIND; 2], |r, p, m| {
                    divisors::<$type>(r, p[2], m)?;
                    map2(r, p, m, |a: $type, b: $type| if b == 0 { 0 } else { a.wrapping_rem(b) })
                }),
                ["min"] => op!($type, $type => $type, |a, b| a.min(b)),
                ["max"] => op!($type, $type => $type, |a, b| a.max(b)),
                // A shift by as many bits as there are or more leaves nothing, or the sign.
                ["shr"] => op!($type, u32 => $type, |a, b| match b < BITS {
                    true => a >> b,
                    false => a >> (BITS - 1) >> 1,
                }),
                ["setp", "eq"] => op!($type, $type => bool, |a, b| a == b),
                ["setp", "ne"] => op!($type, $type => bool, |a, b| a != b),
                ["setp", "lt" | "lo"] => op!($type, $type => bool, |a, b| a < b),
                ["setp", "le" | "ls"] => op!($type, $type => bool, |a, b| a <= b),
                ["setp", "gt" | "hi"] => op!($type, $type => bool, |a, b| a > b),
                ["setp", "ge" | "hs"] => op!($type, $type => bool, |a, b| a >= b),
                _ => return None,
            })
        }
    };
}

integers!(unsigned16, u16, u32);
integers!(unsigned32, u32, u64);
integers!(unsigned64, u64, u128);

/// Those of signed integers, of which some are theirs alone.
macro_rules! signed {
    ($name:ident, $shared:ident, $type:ty, $wide:ty) => {
        integers!($shared, $type, $wide);

        fn $name(operation: &[&str]) -> Option<Row> {
            Some(match operation {
                ["abs"] => op!($type => $type, |a| a.wrapping_abs()),
                ["neg"] => op!($type => $type, |a| a.wrapping_neg()),
                // The names of comparisons of unsigned numbers are none here.
                ["setp", "lo" | "ls" | "hi" | "hs"] => return None,
                _ => return $shared(operation),
            })
        }
    };
}

signed!(signed16, shared16, i16, i32);
signed!(signed32, shared32, i32, i64);
signed!(signed64, shared64, i64, i128);

fn wide_u32(operation: &[&str]) -> Option<Row> {
    Some(match operation {
        ["mul", "wide"] => op!(u32, u32 => u64, |a, b| u64::from(a) * u64::from(b)),
        ["mad", "wide"] => {
            op!(u32, u32, u64 => u64, |a, b, c| (u64::from(a) * u64::from(b)).wrapping_add(c))
        }
        _ => return None,
    })
}

fn wide_s32(operation: &[&str]) -> Option<Row> {
    Some(match operation {
        ["mul", "wide"] => op!(i32, i32 => i64, |a, b| i64::from(a) * i64::from(b)),
        ["mad", "wide"] => {
            op!(i32, i32, i64 => i64, |a, b, c| (i64::from(a) * i64::from(b)).wrapping_add(c))
        }
        ["add", "sat"] => op!(i32, i32 => i32, |a, b| a.saturating_add(b)),
        ["sub", "sat"] => op!(i32, i32 => i32, |a, b| a.saturating_sub(b)),
        _ => return None,
    })
}

/// The error of a divisor that is zero: PTX leaves open what comes of that.
fn divisors<T: Lane + Default + PartialEq>(registers: &Registers, index: u32, mask: Mask) -> Outcome {
    let divisors = registers.read::<T>(index, mask)?;
    match lanes_of(mask).find(|lane| divisors[*lane] == T::default()) {
        None => Ok(()),
        Some(lane) => Err(Fault::new(lane as u32, "an integer is divided by zero")),
    }
}

fn dot(first: &str, second: &str) -> Option<Row> {
    const fn part(word: u32, index: u32, is_signed: bool) -> i32 {
        let byte = (word >> (8 * index)) as u8;
        if is_signed { byte as i8 as i32 } else { byte as i32 }
    }
    fn sum(a: u32, b: u32, c: u32, signed: [bool; 2]) -> u32 {
        (0..4).fold(c, |sum, index| {
            sum.wrapping_add(part(a, index, signed[0]).wrapping_mul(part(b, index, signed[1])) as u32)
        })
    }
    Some(match (first, second) {
        ("u32", "u32") => op!(u32, u32, u32 => u32, |a, b, c| sum(a, b, c, [false, false])),
        ("s32", "s32") => op!(u32, u32, u32 => u32, |a, b, c| sum(a, b, c, [true, true])),
        ("s32", "u32") => op!(u32, u32, u32 => u32, |a, b, c| sum(a, b, c, [true, false])),
        ("u32", "s32") => op!(u32, u32, u32 => u32, |a, b, c| sum(a, b, c, [false, true])),
        _ => return None,
    })
}
