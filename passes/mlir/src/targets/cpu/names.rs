//! What DLPack and the run time call dtypes.
//!
//! Both follow from a dtype's row. Of a float, the tables of [`promote_abi`] have a type code and a kind of sort that are called
//! as the dtype is; one that lacks either does not compile.
//!
//! # Laws
//! - A dtype has at most one name in each, and no two dtypes share one in DLPack: what a tensor says it holds, it holds.

use promote_abi::{SortKind, TypeCode as Code};
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind};

const _: () = {
    let mut index = 0;
    while index < DType::COUNT {
        let dtype = DType::ALL[index];
        assert!(dlpack(dtype).is_some() != dtype.is_weak(), "promote_abi::TypeCode has a row for each float");
        assert!(kind_of_sort(dtype.storage()).is_some(), "promote_abi::SortKind has a row for each dtype");
        index += 1;
    }
};

/// DLPack's code of a dtype's sort of numbers, and the width that it says; none for weak dtypes, which no tensor in memory has.
pub const fn dlpack(dtype: DType) -> Option<(u8, u8)> {
    if dtype.is_weak() {
        return None;
    }
    let code = match dtype.kind() {
        Kind::Bool => return Some((Code::Bool as u8, 8)),
        Kind::Unsigned => Some(Code::UInt),
        Kind::Signed => Some(Code::Int),
        Kind::Float => float_code(dtype),
        Kind::Complex => match float_code(dtype.real_part()) {
            Some(Code::Float) => Some(Code::Complex),
            Some(Code::Bfloat) => Some(Code::Bcomplex),
            _ => None,
        },
    };
    match code {
        Some(code) => Some((code as u8, dtype.bits() as u8)),
        None => None,
    }
}

/// The formats that have widths share a code, and narrower ones have one each.
const fn float_code(dtype: DType) -> Option<Code> {
    match dtype {
        DType::F16 | DType::F32 | DType::F64 => Some(Code::Float),
        DType::BF16 => Some(Code::Bfloat),
        narrow => Code::named(narrow.name()),
    }
}

/// What the run time sorts, in the order that the library has.
pub const fn sort_kind(dtype: DType, numerics: Numerics) -> SortKind {
    let kind = kind_of_sort(dtype.storage()).expect("every dtype that is stored has a kind of sort");
    match (kind, numerics) {
        (SortKind::C64, Numerics::Jax) => SortKind::JaxC64,
        (SortKind::C128, Numerics::Jax) => SortKind::JaxC128,
        (SortKind::C32, Numerics::Jax) => SortKind::JaxC32,
        (SortKind::Bc32, Numerics::Jax) => SortKind::JaxBc32,
        (kind, Numerics::Jax | Numerics::NumPy | Numerics::Torch) => kind,
    }
}

/// In the order that is not JAX's. Integers narrower than a byte are bytes.
const fn kind_of_sort(dtype: DType) -> Option<SortKind> {
    match dtype.kind() {
        Kind::Bool => Some(SortKind::Bool),
        Kind::Unsigned if dtype.bits() <= 8 => Some(SortKind::U8),
        Kind::Signed if dtype.bits() <= 8 => Some(SortKind::I8),
        Kind::Unsigned | Kind::Signed | Kind::Float | Kind::Complex => SortKind::named(dtype.name()),
    }
}
