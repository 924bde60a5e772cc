//! TVM-FFI's library, as far as the process has loaded it.

use std::ffi::{CStr, c_char, c_int, c_void};

use promote_abi::TvmAny;

use super::tag;
use crate::dlpack::DLManagedTensorVersioned;
use crate::rust::OwnedTensor;

/// Text of a length.
#[repr(C)]
struct Bytes {
    data: *const c_char,
    size: usize,
}

type FromDlpack = unsafe extern "C" fn(*mut DLManagedTensorVersioned, i32, i32, *mut *mut c_void) -> c_int;
type DecRef = unsafe extern "C" fn(*mut c_void) -> c_int;
type GetGlobal = unsafe extern "C" fn(*const Bytes, *mut *mut c_void) -> c_int;
type CallFunction = unsafe extern "C" fn(*mut c_void, *mut TvmAny, i32, *mut TvmAny) -> c_int;
type Raise = unsafe extern "C" fn(*const c_char, *const c_char);

/// The address of a function of the library; null if it is not loaded.
#[cfg(unix)]
fn address(name: &CStr) -> *mut c_void {
    unsafe extern "C" {
        fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    }
    /// Resolve functions when they are called.
    const LAZY: c_int = 1;
    /// Only a library that is loaded is found.
    #[cfg(not(target_os = "macos"))]
    const LOADED: c_int = 4;
    #[cfg(target_os = "macos")]
    const LOADED: c_int = 0x10;
    /// Where all of the process's symbols are.
    #[cfg(not(target_os = "macos"))]
    const EVERYWHERE: *mut c_void = std::ptr::null_mut();
    #[cfg(target_os = "macos")]
    const EVERYWHERE: *mut c_void = -2isize as *mut c_void;
    #[cfg(not(target_os = "macos"))]
    const FILE: &CStr = c"libtvm_ffi.so";
    #[cfg(target_os = "macos")]
    const FILE: &CStr = c"libtvm_ffi.dylib";
    // SAFETY: the texts outlive the calls. A handle is kept: the library stays loaded as long as functions of it may be called.
    unsafe {
        let found = dlsym(EVERYWHERE, name.as_ptr());
        if !found.is_null() {
            return found;
        }
        let library = dlopen(FILE.as_ptr(), LAZY | LOADED);
        if library.is_null() { library } else { dlsym(library, name.as_ptr()) }
    }
}

#[cfg(not(unix))]
fn address(_: &CStr) -> *mut c_void {
    std::ptr::null_mut()
}

/// A function of the library, of a type that the caller knows.
///
/// # Safety
/// `F` is the type of a pointer to the function of that name.
unsafe fn function<F: Copy>(name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let address = address(name);
    // SAFETY: by contract; a pointer to a function is an address.
    (!address.is_null()).then(|| unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) })
}

/// Raises an error in this thread, if the library is loaded.
pub fn raise(kind: &CStr, message: &CStr) {
    // SAFETY: the type is that of the library's interface, which copies the texts.
    unsafe {
        if let Some(raise) = function::<Raise>(c"TVMFFIErrorSetRaisedFromCStr") {
            raise(kind.as_ptr(), message.as_ptr());
        }
    }
}

/// An object of the library's, which this has a share of.
pub struct Object(*mut c_void);

impl Object {
    /// A tensor, which takes over a result.
    pub fn tensor(result: OwnedTensor) -> Option<Self> {
        // SAFETY: the type is that of the library's interface. It takes the tensor over if it succeeds.
        unsafe {
            let make = function::<FromDlpack>(c"TVMFFITensorFromDLPackVersioned")?;
            let managed = result.into_managed().as_ptr();
            let mut object = std::ptr::null_mut();
            if make(managed, 0, 0, &mut object) == 0 && !object.is_null() {
                return Some(Self(object));
            }
            if let Some(free) = (*managed).deleter {
                free(managed);
            }
        }
        None
    }

    /// An array of objects, which has shares of its own, as a result.
    pub fn array(objects: &[Self]) -> Option<TvmAny> {
        let name = c"ffi.Array";
        let name = Bytes { data: name.as_ptr(), size: name.count_bytes() };
        let mut arguments: Vec<TvmAny> = objects.iter().map(|object| object.any(tag::TENSOR)).collect();
        let mut result = TvmAny { type_index: tag::NONE, padding: 0, value: 0 };
        // SAFETY: the types are those of the library's interface, and the objects live until the call is over.
        unsafe {
            let get = function::<GetGlobal>(c"TVMFFIFunctionGetGlobal")?;
            let call = function::<CallFunction>(c"TVMFFIFunctionCall")?;
            let mut make = std::ptr::null_mut();
            if get(&raw const name, &mut make) != 0 || make.is_null() {
                return None;
            }
            let make = Self(make);
            let status = call(make.0, arguments.as_mut_ptr(), arguments.len() as i32, &mut result);
            (status == 0 && result.type_index == tag::ARRAY).then_some(result)
        }
    }

    fn any(&self, type_index: i32) -> TvmAny {
        TvmAny { type_index, padding: 0, value: self.0 as i64 }
    }

    /// The object as a result, with the share.
    pub fn into_any(self, type_index: i32) -> TvmAny {
        let any = self.any(type_index);
        std::mem::forget(self);
        any
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: the type is that of the library's interface, and the share is given back once.
        unsafe {
            if let Some(release) = function::<DecRef>(c"TVMFFIObjectDecRef") {
                release(self.0);
            }
        }
    }
}
