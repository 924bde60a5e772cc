//! Instructions on bits, and on predicates.

use super::{Row, op};

/// The row of an instruction, by the parts of its name.
pub(super) fn row(name: &[&str]) -> Option<Row> {
    let (last, operation) = name.split_last()?;
    match *last {
        "b16" => bits16(operation),
        "b32" => bits32(operation).or_else(|| words(operation)),
        "b64" => bits64(operation).or_else(|| longs(operation)),
        // They are moved by their bits, whatever these are.
        "u16" | "s16" | "f16" | "bf16" => moved(operation, bits16),
        "u32" | "s32" | "f32" | "f16x2" | "bf16x2" => moved(operation, bits32).or_else(|| fields32(name)),
        "u64" | "s64" | "f64" => moved(operation, bits64).or_else(|| fields64(name)),
        "pred" => predicates(operation),
        _ => None,
    }
}

fn moved(operation: &[&str], bits: fn(&[&str]) -> Option<Row>) -> Option<Row> {
    match operation {
        ["mov" | "selp"] => bits(operation),
        _ => None,
    }
}

macro_rules! bits {
    ($name:ident, $type:ty) => {
        fn $name(operation: &[&str]) -> Option<Row> {
            Some(match operation {
                ["mov"] => op!($type => $type, |a| a),
                ["and"] => op!($type, $type => $type, |a, b| a & b),
                ["or"] => op!($type, $type => $type, |a, b| a | b),
                ["xor"] => op!($type, $type => $type, |a, b| a ^ b),
                ["not"] => op!($type => $type, |a| !a),
                ["cnot"] => op!($type => $type, |a| (a == 0) as $type),
                ["shl"] => op!($type, u32 => $type, |a, b| if b < <$type>::BITS { a << b } else { 0 }),
                ["shr"] => op!($type, u32 => $type, |a, b| if b < <$type>::BITS { a >> b } else { 0 }),
                ["selp"] => op!($type, $type, bool => $type, |a, b, p| if p { a } else { b }),
                ["setp", "eq"] => op!($type, $type => bool, |a, b| a == b),
                ["setp", "ne"] => op!($type, $type => bool, |a, b| a != b),
                _ => return None,
            })
        }
    };
}

bits!(bits16, u16);
bits!(bits32, u32);
bits!(bits64, u64);

fn predicates(operation: &[&str]) -> Option<Row> {
    Some(match operation {
        ["mov"] => op!(bool => bool, |a| a),
        ["and"] => op!(bool, bool => bool, |a, b| a & b),
        ["or"] => op!(bool, bool => bool, |a, b| a | b),
        ["xor"] => op!(bool, bool => bool, |a, b| a ^ b),
        ["not"] => op!(bool => bool, |a| !a),
        _ => return None,
    })
}

/// What there is of 32 bits.
fn words(operation: &[&str]) -> Option<Row> {
    Some(match operation {
        ["popc"] => op!(u32 => u32, |a| a.count_ones()),
        ["clz"] => op!(u32 => u32, |a| a.leading_zeros()),
        ["brev"] => op!(u32 => u32, |a| a.reverse_bits()),
        ["prmt"] => op!(u32, u32, u32 => u32, permuted),
        ["lop3"] => op!(u32, u32, u32, u32 => u32, looked_up),
        ["shf", "l", "wrap"] => op!(u32, u32, u32 => u32, |a, b, c| (pair(a, b) << (c & 31) >> 32) as u32),
        ["shf", "r", "wrap"] => op!(u32, u32, u32 => u32, |a, b, c| (pair(a, b) >> (c & 31)) as u32),
        ["shf", "l", "clamp"] => op!(u32, u32, u32 => u32, |a, b, c| (pair(a, b) << c.min(32) >> 32) as u32),
        ["shf", "r", "clamp"] => op!(u32, u32, u32 => u32, |a, b, c| (pair(a, b) >> c.min(32)) as u32),
        ["bfi"] => op!(u32, u32, u32, u32 => u32, |a, b, start, length| {
            inserted(a.into(), b.into(), start, length, 32) as u32
        }),
        ["bmsk", "clamp"] => op!(u32, u32 => u32, |start, length| {
            if start > 31 { 0 } else { (((1u64 << length.min(32)) - 1) as u32) << start }
        }),
        _ => return None,
    })
}

/// What there is of 64 bits.
fn longs(operation: &[&str]) -> Option<Row> {
    Some(match operation {
        ["popc"] => op!(u64 => u32, |a| a.count_ones()),
        ["clz"] => op!(u64 => u32, |a| a.leading_zeros()),
        ["brev"] => op!(u64 => u64, |a| a.reverse_bits()),
        ["bfi"] => op!(u64, u64, u32, u32 => u64, |a, b, start, length| inserted(a, b, start, length, 64)),
        _ => return None,
    })
}

fn fields32(name: &[&str]) -> Option<Row> {
    Some(match name {
        ["bfe", "u32"] => {
            op!(u32, u32, u32 => u32, |a, start, length| field(a.into(), start, length, 32, false) as u32)
        }
        ["bfe", "s32"] => {
            op!(u32, u32, u32 => u32, |a, start, length| field(a.into(), start, length, 32, true) as u32)
        }
        ["bfind", "u32"] => op!(u32 => u32, |a| a.checked_ilog2().unwrap_or(u32::MAX)),
        ["bfind", "s32"] => op!(i32 => u32, |a| ((a ^ (a >> 31)) as u32).checked_ilog2().unwrap_or(u32::MAX)),
        _ => return None,
    })
}

fn fields64(name: &[&str]) -> Option<Row> {
    Some(match name {
        ["bfe", "u64"] => op!(u64, u32, u32 => u64, |a, start, length| field(a, start, length, 64, false)),
        ["bfe", "s64"] => op!(u64, u32, u32 => u64, |a, start, length| field(a, start, length, 64, true)),
        ["bfind", "u64"] => op!(u64 => u32, |a| a.checked_ilog2().unwrap_or(u32::MAX)),
        ["bfind", "s64"] => op!(i64 => u32, |a| ((a ^ (a >> 63)) as u64).checked_ilog2().unwrap_or(u32::MAX)),
        _ => return None,
    })
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The low bits, as many as there are up to 64.
fn low_bits(count: u32) -> u64 {
    if count >= 64 { u64::MAX } else { (1 << count) - 1 }
}

/// The bits from `start` on, `length` of them; if they are signed, what is above them has the sign of the last one.
fn field(a: u64, start: u32, length: u32, bits: u32, is_signed: bool) -> u64 {
    let (start, length) = (start & 255, length & 255);
    let moved = if start < bits { a >> start } else { 0 };
    let taken = moved & low_bits(length);
    if !is_signed || length == 0 {
        return taken;
    }
    let sign = a >> (start + length - 1).min(bits - 1) & 1;
    // What is above the number is filled, too, if the field reaches beyond it.
    let filled = length.min(bits.saturating_sub(start));
    taken | if sign != 0 { !low_bits(filled) } else { 0 }
}

/// The bits of `b`, in which those of `a` take the place of `length` from `start` on.
fn inserted(a: u64, b: u64, start: u32, length: u32, bits: u32) -> u64 {
    let (start, length) = (start & 255, length & 255);
    if start >= bits {
        return b;
    }
    let mask = low_bits(length) << start;
    b & !mask | a << start & mask
}

/// Picks four of eight bytes; a selector whose high bit is set takes the sign of the byte.
#[inline(always)]
fn permuted(a: u32, b: u32, selector: u32) -> u32 {
    let bytes = pair(a, b);
    let mut result = 0;
    for index in 0..4 {
        let nibble = selector >> (4 * index) & 15;
        let byte = (bytes >> (8 * (nibble & 7))) as u8;
        let byte = if nibble & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte };
        result |= u32::from(byte) << (8 * index);
    }
    result
}

/// Any function of three bits, by its table.
fn looked_up(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let side = |bits: u32, index: u32, bit: u32| if index & bit != 0 { bits } else { !bits };
    let cases = (0..8).filter(|index| table >> index & 1 != 0);
    cases.fold(0, |found, index| found | side(a, index, 4) & side(b, index, 2) & side(c, index, 1))
}
