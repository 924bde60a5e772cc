//! DLPack's element types: their names and widths.

use std::fmt;

use crate::numbers::TypeCode;
use crate::structures::DLDataType;

impl DLDataType {
    /// The sort of number, if it is a known one.
    pub const fn type_code(self) -> Option<TypeCode> {
        TypeCode::from_number(self.code)
    }

    /// Bytes from one element to the next; elements narrower than a byte take one each.
    pub const fn size(self) -> usize {
        (self.bits as usize * self.lanes as usize).div_ceil(8)
    }

    /// What the address of an element is a multiple of: its size, or that of a part of a complex number.
    pub const fn align(self) -> usize {
        let is_complex = matches!(self.type_code(), Some(TypeCode::Complex | TypeCode::Bcomplex));
        let part = if is_complex { self.size() / 2 } else { self.size() };
        if part.is_power_of_two() { part } else { 1 }
    }
}

impl fmt::Display for DLDataType {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &DLDataType { code, bits, lanes } = self;
        match self.type_code() {
            Some(code) if code.has_widths() => write!(formatter, "{}{bits}", code.name())?,
            Some(code) => formatter.write_str(code.name())?,
            None => write!(formatter, "type code {code} of {bits} bits")?,
        }
        if lanes == 1 { Ok(()) } else { write!(formatter, "x{lanes}") }
    }
}

/// The extents that a pointer points to; none if there is no rank.
///
/// # Safety
/// `dims` points to `rank` extents, valid as long as they are used, or `rank` is not positive.
pub unsafe fn extents<'a>(dims: *const i64, rank: i32) -> &'a [i64] {
    match usize::try_from(rank) {
        // SAFETY: by contract.
        Ok(rank) if rank > 0 && !dims.is_null() => unsafe { std::slice::from_raw_parts(dims, rank) },
        _ => &[],
    }
}
