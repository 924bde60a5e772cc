//! Dtypes: numbers, names, and what DLPack calls them.

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use promote::DType;
use promote::dlpack::{self, DLDataType};

use crate::argument;
use crate::failure::{Failure, c_text, guarded};

/// The dtype of a number.
pub fn of(number: i32) -> Result<DType, Failure> {
    let dtype = usize::try_from(number).ok().and_then(DType::from_index);
    dtype.ok_or_else(|| Failure::argument(format!("there is no dtype of number {number}")))
}

/// The dtypes of numbers.
///
/// # Safety
/// The pointer is null or points to that many numbers.
pub unsafe fn all(dtypes: *const i32, count: usize) -> Result<Vec<DType>, Failure> {
    // SAFETY: by contract.
    let numbers = unsafe { argument::elements("the array of dtypes", dtypes, count) }?;
    numbers.iter().map(|&number| of(number)).collect()
}

/// The name of a dtype; null if there is no such dtype.
#[unsafe(no_mangle)]
pub extern "C" fn promote_dtype_name(dtype: i32) -> *const c_char {
    static NAMES: OnceLock<Vec<CString>> = OnceLock::new();
    let names = NAMES.get_or_init(|| DType::ALL.iter().map(|dtype| c_text(dtype.name())).collect());
    of(dtype).map_or(std::ptr::null(), |dtype| names[dtype as usize].as_ptr())
}

/// The dtype of a name.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_dtype_by_name(name: *const c_char, dtype: *mut i32) -> i32 {
    guarded(|| {
        // SAFETY: by contract.
        let (result, name) =
            unsafe { (argument::result("dtype", dtype, -1)?, argument::text("the name", name)?) };
        let found = name.parse::<DType>().map_err(|error| Failure::argument(error.to_string()))?;
        *result = found as i32;
        Ok(())
    })
}

/// How DLPack describes a dtype; weak ones are in no tensor.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_dtype_to_dlpack(dtype: i32, described: *mut DLDataType) -> i32 {
    guarded(|| {
        let none = DLDataType { code: 0, bits: 0, lanes: 0 };
        // SAFETY: by contract.
        let result = unsafe { argument::result("described", described, none) }?;
        let dtype = of(dtype)?;
        if dtype.is_weak() {
            return Err(Failure::argument(format!("no tensor in memory has the weak dtype {dtype}")));
        }
        *result = dlpack::of(dtype);
        Ok(())
    })
}

/// The dtype that DLPack describes.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_dtype_from_dlpack(described: DLDataType, dtype: *mut i32) -> i32 {
    guarded(|| {
        // SAFETY: by contract.
        let result = unsafe { argument::result("dtype", dtype, -1) }?;
        let found = dlpack::dtype(described);
        let found = found.ok_or_else(|| Failure::argument(format!("there is no dtype {described}")))?;
        *result = found as i32;
        Ok(())
    })
}
