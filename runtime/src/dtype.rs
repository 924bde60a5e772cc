//! DLPack's element types: their names and widths.

use std::fmt;

use crate::abi::{DLDataType, TensorType};
use crate::context::extents;

/// DLPack's type codes, and ours for what it has no name for, with the names messages give them. A name whose code is 5 or
/// less is followed by the width.
pub const DTYPE_NAMES: &[(u8, &str)] = &[
    (0, "int"),
    (1, "uint"),
    (2, "float"),
    (4, "bfloat"),
    (5, "complex"),
    (6, "bool"),
    (7, "float8_e3m4"),
    (8, "float8_e4m3"),
    (9, "float8_e4m3b11fnuz"),
    (10, "float8_e4m3fn"),
    (11, "float8_e4m3fnuz"),
    (12, "float8_e5m2"),
    (13, "float8_e5m2fnuz"),
    (14, "float8_e8m0fnu"),
    (15, "float6_e2m3fn"),
    (16, "float6_e3m2fn"),
    (17, "float4_e2m1fn"),
    (COMPLEX_BFLOAT, "bcomplex32"),
];

/// Two bfloat16, a real and an imaginary part: DLPack's complex numbers have parts of IEEE's formats. Its own codes are
/// counted up from 0; ours have the high bit.
const COMPLEX_BFLOAT: u8 = 128 + COMPLEX;

/// Complex numbers whose parts are IEEE's floats.
const COMPLEX: u8 = 5;

/// The codes whose name is followed by the width.
const LAST_WITH_WIDTH: u8 = 5;

impl DLDataType {
    /// Bytes from one element to the next; elements narrower than a byte take one each.
    pub const fn size(self) -> usize {
        (self.bits as usize * self.lanes as usize).div_ceil(8)
    }

    /// What the address of an element is a multiple of: its size, or that of a part of a complex number.
    pub const fn align(self) -> usize {
        let is_complex = matches!(self.code, COMPLEX | COMPLEX_BFLOAT);
        let part = if is_complex { self.size() / 2 } else { self.size() };
        if part.is_power_of_two() { part } else { 1 }
    }
}

impl fmt::Display for DLDataType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &DLDataType { code, bits, lanes } = self;
        match DTYPE_NAMES.iter().find(|&&(named, _)| named == code) {
            Some((code, name)) if *code <= LAST_WITH_WIDTH => write!(formatter, "{name}{bits}")?,
            Some((_, name)) => formatter.write_str(name)?,
            None => write!(formatter, "type code {code} of {bits} bits")?,
        }
        if lanes == 1 { Ok(()) } else { write!(formatter, "x{lanes}") }
    }
}

impl TensorType {
    /// The extents; -1 for one that is known only by running.
    pub fn extents(&self) -> &[i64] {
        // SAFETY: metadata have as many extents as their rank.
        unsafe { extents(self.dims, self.rank) }
    }

    /// The element type.
    pub const fn dtype(&self) -> DLDataType {
        DLDataType { code: self.code, bits: self.bits, lanes: self.lanes }
    }
}

/// A shape in messages, as `[4,3]`, or `[4,?]` where -1 stands for any extent.
#[derive(Clone, Copy)]
pub struct Shape<'a> {
    /// The extents.
    pub extents: &'a [i64],
    /// Whether -1 stands for any extent.
    pub pattern: bool,
}

impl Shape<'_> {
    /// A shape that a tensor has.
    pub const fn of(extents: &[i64]) -> Shape<'_> {
        Shape { extents, pattern: false }
    }

    /// A shape that a tensor must have.
    pub const fn pattern(extents: &[i64]) -> Shape<'_> {
        Shape { extents, pattern: true }
    }
}

impl fmt::Display for Shape<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[")?;
        for (index, &extent) in self.extents.iter().enumerate() {
            if index > 0 {
                formatter.write_str(",")?;
            }
            if self.pattern && extent == -1 {
                formatter.write_str("?")?;
            } else {
                write!(formatter, "{extent}")?;
            }
        }
        formatter.write_str("]")
    }
}
