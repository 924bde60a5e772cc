//! The functions of CUDA's driver interface, by the names and types of its header.
//!
//! There is one device, of the compute capability that `PROMOTE_PTX_MACHINE_CAPABILITY` says (`9.0` without it), with as
//! many bytes of memory as `PROMOTE_PTX_MACHINE_BYTES` says (4 GiB without it). Launches are done at once, but fail as those
//! of a device: the context can do nothing any more, which is said when the stream is waited for. What was wrong is printed,
//! too, since the interface has no words for it.
//!
//! With `PROMOTE_PTX_MACHINE_TEXTS`, the texts of all modules are written to that folder.
#![allow(missing_docs, clippy::missing_safety_doc)]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ops::Range;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::launch::MOST_BLOCKS;
use crate::parse::MOST_THREADS;
use crate::settings::Settings;
use crate::{Allocations, Launch, LaunchError, Limits, Module};

mod memory;

pub use memory::*;

type Code = c_uint;
type Handle = *mut c_void;

const SUCCESS: Code = 0;
const INVALID_VALUE: Code = 1;
const OUT_OF_MEMORY: Code = 2;
const INVALID_DEVICE: Code = 101;
const INVALID_PTX: Code = 218;
const NOT_FOUND: Code = 500;
const LAUNCH_FAILED: Code = 719;

const JIT_ERROR_LOG_BUFFER: c_uint = 5;
const JIT_ERROR_LOG_BUFFER_SIZE_BYTES: c_uint = 6;

/// The codes that there are, with their names and what they mean.
const CODES: [(Code, &CStr, &CStr); 7] = [
    (SUCCESS, c"CUDA_SUCCESS", c"no error"),
    (INVALID_VALUE, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
    (OUT_OF_MEMORY, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
    (INVALID_DEVICE, c"CUDA_ERROR_INVALID_DEVICE", c"invalid device ordinal"),
    (INVALID_PTX, c"CUDA_ERROR_INVALID_PTX", c"a PTX JIT compilation failed"),
    (NOT_FOUND, c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
    (LAUNCH_FAILED, c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure"),
];

/// What all calls share.
struct Device {
    memory: Mutex<Allocations>,
    bytes: u64,
    capability: (c_int, c_int),
    /// The allocations that are managed: where each starts and ends. The host cannot access them here.
    managed: Mutex<Vec<Range<u64>>>,
    /// What ended the context, if something did.
    failed: Mutex<bool>,
    /// Memory of the host's, by its address.
    pinned: Mutex<HashMap<usize, Vec<u64>>>,
}

/// A kernel of a module, which lives as long as the module.
struct Function {
    module: Arc<Module>,
    entry: String,
}

/// What `CUmodule` is.
struct Loaded {
    module: Arc<Module>,
    functions: Mutex<Vec<*mut Function>>,
}

fn device() -> &'static Device {
    static DEVICE: OnceLock<Device> = OnceLock::new();
    DEVICE.get_or_init(|| {
        // Initialisation has refused what is wrong.
        let Settings { bytes, capability } = Settings::said().unwrap_or_default();
        Device {
            memory: Mutex::new(Allocations::new(Limits { bytes })),
            bytes,
            capability,
            managed: Mutex::new(Vec::new()),
            failed: Mutex::new(false),
            pinned: Mutex::new(HashMap::new()),
        }
    })
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a call returns that does something, unless the context can do nothing any more.
fn unless_failed(of: impl FnOnce() -> Code) -> Code {
    if *lock(&device().failed) { LAUNCH_FAILED } else { of() }
}

fn success_if(is_done: bool) -> Code {
    if is_done { SUCCESS } else { INVALID_VALUE }
}

/// Writes a result.
///
/// # Safety
/// The place is null, or there is one.
unsafe fn write<T>(place: *mut T, value: T) -> Code {
    if place.is_null() {
        return INVALID_VALUE;
    }
    // SAFETY: the caller's.
    unsafe { place.write(value) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuInit(flags: c_uint) -> Code {
    match Settings::said() {
        Ok(_) => success_if(flags == 0),
        Err(why) => {
            eprintln!("the PTX machine: {why}");
            INVALID_VALUE
        }
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDriverGetVersion(version: *mut c_int) -> Code {
    // SAFETY: the caller's.
    unsafe { write(version, 12090) }
}

fn text_of(
    code: Code,
    of: fn(&(Code, &'static CStr, &'static CStr)) -> &'static CStr,
) -> Option<&'static CStr> {
    CODES.iter().find(|row| row.0 == code).map(of)
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorName(code: Code, text: *mut *const c_char) -> Code {
    match text_of(code, |row| row.1) {
        // SAFETY: the caller's.
        Some(name) => unsafe { write(text, name.as_ptr()) },
        None => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuGetErrorString(code: Code, text: *mut *const c_char) -> Code {
    match text_of(code, |row| row.2) {
        // SAFETY: the caller's.
        Some(meaning) => unsafe { write(text, meaning.as_ptr()) },
        None => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetCount(count: *mut c_int) -> Code {
    // SAFETY: the caller's.
    unsafe { write(count, 1) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGet(device: *mut c_int, ordinal: c_int) -> Code {
    match ordinal {
        // SAFETY: the caller's.
        0 => unsafe { write(device, 0) },
        _ => INVALID_DEVICE,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetName(name: *mut c_char, size: c_int, _device: c_int) -> Code {
    let text = c"PTX machine";
    let length = text.to_bytes_with_nul().len();
    if usize::try_from(size).is_ok_and(|size| size >= length) {
        // SAFETY: the caller has place for as many bytes as is said.
        unsafe { ptr::copy_nonoverlapping(text.as_ptr(), name, length) };
        return SUCCESS;
    }
    INVALID_VALUE
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: c_int) -> Code {
    let total = usize::try_from(device().bytes).expect("addresses have 64 bits");
    // SAFETY: the caller's.
    unsafe { write(bytes, total) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, _device: c_int) -> Code {
    let (major, minor) = device().capability;
    let found = match attribute {
        // Threads of a block, and along its first axes.
        1..=3 => MOST_THREADS as c_int,
        4 => 64,
        5..=7 => MOST_BLOCKS[attribute as usize - 5] as c_int,
        8 => 48 << 10,
        // Threads of a warp.
        10 => 32,
        // Multiprocessors.
        16 => 4,
        // It is not integrated.
        18 => 0,
        75 => major,
        76 => minor,
        // Memory is allocated in the order of streams.
        115 => 1,
        _ => return INVALID_VALUE,
    };
    // SAFETY: the caller's.
    unsafe { write(value, found) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuDevicePrimaryCtxRetain(context: *mut Handle, _device: c_int) -> Code {
    // SAFETY: the caller's.
    unsafe { write(context, ptr::from_ref(device()).cast_mut().cast()) }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRelease_v2(_device: c_int) -> Code {
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPushCurrent_v2(context: Handle) -> Code {
    success_if(!context.is_null())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuCtxPopCurrent_v2(context: *mut Handle) -> Code {
    // SAFETY: the caller's.
    unsafe { write(context, ptr::from_ref(device()).cast_mut().cast()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuStreamCreate(stream: *mut Handle, _flags: c_uint) -> Code {
    // SAFETY: the caller's.
    unless_failed(|| unsafe { write(stream, ptr::from_ref(device()).cast_mut().cast()) })
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamDestroy_v2(_stream: Handle) -> Code {
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamSynchronize(_stream: Handle) -> Code {
    unless_failed(|| SUCCESS)
}

/// Writes an error to the log that a caller gave.
///
/// # Safety
/// There are as many options and values as is said, and the log has place for as many bytes as its option says.
unsafe fn log(error: &str, count: c_uint, options: *const c_uint, values: *const *mut c_void) {
    let count = count as usize;
    if count == 0 {
        return;
    }
    // SAFETY: the caller's.
    let (options, values) =
        unsafe { (std::slice::from_raw_parts(options, count), std::slice::from_raw_parts(values, count)) };
    let value = |wanted| options.iter().position(|option| *option == wanted).map(|index| values[index]);
    let buffer = value(JIT_ERROR_LOG_BUFFER).filter(|buffer| !buffer.is_null());
    let (Some(buffer), Some(size)) = (buffer, value(JIT_ERROR_LOG_BUFFER_SIZE_BYTES)) else { return };
    let length = error.len().min(size.addr().saturating_sub(1));
    // SAFETY: the caller's.
    unsafe {
        ptr::copy_nonoverlapping(error.as_ptr(), buffer.cast(), length);
        buffer.cast::<u8>().add(length).write(0);
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleLoadDataEx(
    module: *mut Handle,
    image: *const c_void,
    count: c_uint,
    options: *mut c_uint,
    values: *mut *mut c_void,
) -> Code {
    // SAFETY: the image is a text, which ends with a zero byte.
    let text = unsafe { CStr::from_ptr(image.cast()) }.to_string_lossy();
    keep(&text);
    unless_failed(|| match Module::new(&text) {
        Ok(loaded) => {
            let loaded = Loaded { module: Arc::new(loaded), functions: Mutex::new(Vec::new()) };
            // SAFETY: the caller's.
            unsafe { write(module, Box::into_raw(Box::new(loaded)).cast()) }
        }
        Err(error) => {
            eprintln!("PTX machine: {error}");
            // SAFETY: the caller's.
            unsafe { log(&error.to_string(), count, options, values) };
            INVALID_PTX
        }
    })
}

/// Writes the text of a module to the folder that the environment says.
fn keep(text: &str) {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let Some(folder) = std::env::var_os("PROMOTE_PTX_MACHINE_TEXTS") else { return };
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let path = std::path::Path::new(&folder).join(format!("{}-{number}.ptx", std::process::id()));
    if let Err(error) = std::fs::write(&path, text) {
        eprintln!("PTX machine: {}: {error}", path.display());
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleUnload(module: Handle) -> Code {
    // SAFETY: it was loaded here, and the caller does not use it any more.
    let loaded = unsafe { Box::from_raw(module.cast::<Loaded>()) };
    for function in lock(&loaded.functions).drain(..) {
        // SAFETY: it was made for this module, of which it is a part.
        drop(unsafe { Box::from_raw(function) });
    }
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuModuleGetFunction(
    function: *mut Handle,
    module: Handle,
    name: *const c_char,
) -> Code {
    // SAFETY: the module was loaded here; the name is a text, which ends with a zero byte.
    let (loaded, name) = unsafe { (&*module.cast::<Loaded>(), CStr::from_ptr(name).to_string_lossy()) };
    if loaded.module.most_threads(&name).is_none() {
        return NOT_FOUND;
    }
    let made = Box::new(Function { module: Arc::clone(&loaded.module), entry: name.into_owned() });
    let made = Box::into_raw(made);
    lock(&loaded.functions).push(made);
    // SAFETY: the caller's.
    unsafe { write(function, made.cast()) }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuFuncGetAttribute(value: *mut c_int, attribute: c_uint, function: Handle) -> Code {
    // SAFETY: the function is of a module that is loaded.
    let function = unsafe { &*function.cast::<Function>() };
    let threads = function.module.most_threads(&function.entry).and_then(|most| c_int::try_from(most).ok());
    match (attribute, threads) {
        // The most threads of a block.
        // SAFETY: the caller's.
        (0, Some(threads)) => unsafe { write(value, threads) },
        _ => INVALID_VALUE,
    }
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn cuLaunchKernel(
    function: Handle,
    blocks_x: c_uint,
    blocks_y: c_uint,
    blocks_z: c_uint,
    threads_x: c_uint,
    threads_y: c_uint,
    threads_z: c_uint,
    shared: c_uint,
    _stream: Handle,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Code {
    // SAFETY: the function is of a module that is loaded.
    let Function { module, entry } = unsafe { &*function.cast::<Function>() };
    if shared != 0 || !extra.is_null() {
        return INVALID_VALUE;
    }
    let mut bytes = Vec::new();
    let sizes = module.parameters(entry).expect("the module has the function");
    for (index, size) in sizes.iter().map(|size| *size as usize).enumerate() {
        bytes.resize(bytes.len().next_multiple_of(size), 0);
        // SAFETY: the caller has a pointer to each parameter.
        let given = unsafe { std::slice::from_raw_parts((*parameters.add(index)).cast::<u8>(), size) };
        bytes.extend_from_slice(given);
    }
    let launch = Launch {
        entry,
        blocks: [blocks_x, blocks_y, blocks_z],
        threads: [threads_x, threads_y, threads_z],
        parameters: &bytes,
    };
    unless_failed(|| match module.launch(&launch, &device().memory) {
        Ok(()) => SUCCESS,
        Err(error @ LaunchError::Refused { .. }) => {
            eprintln!("PTX machine: {error}");
            INVALID_VALUE
        }
        Err(error @ LaunchError::Fault { .. }) => {
            eprintln!("PTX machine: {error}");
            *lock(&device().failed) = true;
            SUCCESS
        }
    })
}
