//! The functions of CUDA's driver that are used, by the names and types of its header (`cuda.h`).

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::OnceLock;

use libloading::Library;

use crate::{Api, DeviceError};

/// `CUresult`.
pub(super) type Code = c_uint;
/// `CUcontext`, `CUstream`, `CUmodule`, `CUfunction`.
pub(super) type Handle = *mut c_void;
/// `CUdevice`.
pub(super) type Ordinal = c_int;
/// `CUdeviceptr`.
pub(super) type Pointer = u64;

const LIBRARY: &str = "libcuda.so.1";

pub(super) const SUCCESS: Code = 0;
pub(super) const OUT_OF_MEMORY: Code = 2;
const STUB_LIBRARY: Code = 34;
const NO_DEVICE: Code = 100;

pub(super) const ATTRIBUTE_MAX_THREADS_PER_BLOCK: c_uint = 1;
pub(super) const ATTRIBUTE_MAX_BLOCK_DIM_X: c_uint = 2;
pub(super) const ATTRIBUTE_MAX_GRID_DIM_X: c_uint = 5;
pub(super) const ATTRIBUTE_MAX_GRID_DIM_Y: c_uint = 6;
pub(super) const ATTRIBUTE_MAX_GRID_DIM_Z: c_uint = 7;
pub(super) const ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: c_uint = 8;
pub(super) const ATTRIBUTE_WARP_SIZE: c_uint = 10;
pub(super) const ATTRIBUTE_MULTIPROCESSOR_COUNT: c_uint = 16;
pub(super) const ATTRIBUTE_INTEGRATED: c_uint = 18;
pub(super) const ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: c_uint = 75;
pub(super) const ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: c_uint = 76;
pub(super) const ATTRIBUTE_MEMORY_POOLS_SUPPORTED: c_uint = 115;

pub(super) const FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: c_uint = 0;

pub(super) const POINTER_ATTRIBUTE_MEMORY_TYPE: c_uint = 2;
pub(super) const POINTER_ATTRIBUTE_IS_MANAGED: c_uint = 8;
pub(super) const POINTER_ATTRIBUTE_DEVICE_ORDINAL: c_uint = 9;
pub(super) const MEMORYTYPE_DEVICE: c_uint = 2;

pub(super) const JIT_ERROR_LOG_BUFFER: c_uint = 5;
pub(super) const JIT_ERROR_LOG_BUFFER_SIZE_BYTES: c_uint = 6;

/// The stream waits for the default stream, and the other way round.
pub(super) const STREAM_DEFAULT: c_uint = 0;

/// Errors after which a context can do nothing any more.
pub(super) fn is_fatal(code: Code) -> bool {
    // CUDA_ERROR_ECC_UNCORRECTABLE, NVLINK_UNCORRECTABLE, ILLEGAL_ADDRESS, LAUNCH_TIMEOUT, CONTEXT_IS_DESTROYED, ASSERT,
    // HARDWARE_STACK_ERROR, ILLEGAL_INSTRUCTION, MISALIGNED_ADDRESS, INVALID_ADDRESS_SPACE, INVALID_PC, LAUNCH_FAILED,
    // EXTERNAL_DEVICE, UNKNOWN; DEINITIALIZED when the process ends.
    matches!(code, 4 | 214 | 220 | 700 | 702 | 709 | 710 | 714..=719 | 911 | 999)
}

pub(super) type AllocAsync = unsafe extern "C" fn(*mut Pointer, usize, Handle) -> Code;
pub(super) type FreeAsync = unsafe extern "C" fn(Pointer, Handle) -> Code;

/// Declares the table of functions, and loads it: each field has its symbol, of the type after it.
macro_rules! functions {
    ($($field:ident: $symbol:literal, $type:ty;)*) => {
        /// The functions of the library, which is never unloaded.
        pub(super) struct Functions {
            $(pub(super) $field: $type,)*
            /// `cuMemAllocAsync(dptr, bytesize, hStream)` and `cuMemFreeAsync(dptr, hStream)`, of CUDA 11.2.
            pub(super) mem_async: Option<(AllocAsync, FreeAsync)>,
        }

        impl Functions {
            /// # Safety
            /// The library is CUDA's driver, and stays loaded.
            unsafe fn new(library: &Library) -> Result<Self, libloading::Error> {
                // SAFETY: the types are those of CUDA's header.
                unsafe {
                    let alloc = library.get::<AllocAsync>(b"cuMemAllocAsync\0");
                    let free = library.get::<FreeAsync>(b"cuMemFreeAsync\0");
                    Ok(Self {
                        $($field: *library.get::<$type>(concat!($symbol, "\0").as_bytes())?,)*
                        mem_async: alloc.ok().zip(free.ok()).map(|(alloc, free)| (*alloc, *free)),
                    })
                }
            }
        }
    };
}

functions! {
    // (Flags)
    init: "cuInit", unsafe extern "C" fn(c_uint) -> Code;
    // (driverVersion)
    driver_get_version: "cuDriverGetVersion", unsafe extern "C" fn(*mut c_int) -> Code;
    // (error, pStr)
    get_error_name: "cuGetErrorName", unsafe extern "C" fn(Code, *mut *const c_char) -> Code;
    // (error, pStr)
    get_error_string: "cuGetErrorString", unsafe extern "C" fn(Code, *mut *const c_char) -> Code;
    // (count)
    device_get_count: "cuDeviceGetCount", unsafe extern "C" fn(*mut c_int) -> Code;
    // (device, ordinal)
    device_get: "cuDeviceGet", unsafe extern "C" fn(*mut Ordinal, c_int) -> Code;
    // (name, len, dev)
    device_get_name: "cuDeviceGetName", unsafe extern "C" fn(*mut c_char, c_int, Ordinal) -> Code;
    // (bytes, dev)
    device_total_mem: "cuDeviceTotalMem_v2", unsafe extern "C" fn(*mut usize, Ordinal) -> Code;
    // (pi, attrib, dev)
    device_get_attribute: "cuDeviceGetAttribute",
        unsafe extern "C" fn(*mut c_int, c_uint, Ordinal) -> Code;
    // (pctx, dev)
    device_primary_ctx_retain: "cuDevicePrimaryCtxRetain",
        unsafe extern "C" fn(*mut Handle, Ordinal) -> Code;
    // (dev)
    device_primary_ctx_release: "cuDevicePrimaryCtxRelease_v2", unsafe extern "C" fn(Ordinal) -> Code;
    // (ctx)
    ctx_push_current: "cuCtxPushCurrent_v2", unsafe extern "C" fn(Handle) -> Code;
    // (pctx)
    ctx_pop_current: "cuCtxPopCurrent_v2", unsafe extern "C" fn(*mut Handle) -> Code;
    // (phStream, Flags)
    stream_create: "cuStreamCreate", unsafe extern "C" fn(*mut Handle, c_uint) -> Code;
    // (hStream)
    stream_destroy: "cuStreamDestroy_v2", unsafe extern "C" fn(Handle) -> Code;
    // (hStream)
    stream_synchronize: "cuStreamSynchronize", unsafe extern "C" fn(Handle) -> Code;
    // (dptr, bytesize)
    mem_alloc: "cuMemAlloc_v2", unsafe extern "C" fn(*mut Pointer, usize) -> Code;
    // (dptr)
    mem_free: "cuMemFree_v2", unsafe extern "C" fn(Pointer) -> Code;
    // (pp, bytesize)
    mem_alloc_host: "cuMemAllocHost_v2", unsafe extern "C" fn(*mut *mut c_void, usize) -> Code;
    // (p)
    mem_free_host: "cuMemFreeHost", unsafe extern "C" fn(*mut c_void) -> Code;
    // (dstDevice, srcHost, ByteCount, hStream)
    memcpy_htod_async: "cuMemcpyHtoDAsync_v2",
        unsafe extern "C" fn(Pointer, *const c_void, usize, Handle) -> Code;
    // (dstHost, srcDevice, ByteCount, hStream)
    memcpy_dtoh_async: "cuMemcpyDtoHAsync_v2",
        unsafe extern "C" fn(*mut c_void, Pointer, usize, Handle) -> Code;
    // (dstDevice, srcDevice, ByteCount, hStream)
    memcpy_dtod_async: "cuMemcpyDtoDAsync_v2",
        unsafe extern "C" fn(Pointer, Pointer, usize, Handle) -> Code;
    // (data, attribute, ptr)
    pointer_get_attribute: "cuPointerGetAttribute",
        unsafe extern "C" fn(*mut c_void, c_uint, Pointer) -> Code;
    // (module, image, numOptions, options, optionValues)
    module_load_data_ex: "cuModuleLoadDataEx", unsafe extern "C" fn(
        *mut Handle, *const c_void, c_uint, *mut c_uint, *mut *mut c_void) -> Code;
    // (hmod)
    module_unload: "cuModuleUnload", unsafe extern "C" fn(Handle) -> Code;
    // (hfunc, hmod, name)
    module_get_function: "cuModuleGetFunction",
        unsafe extern "C" fn(*mut Handle, Handle, *const c_char) -> Code;
    // (pi, attrib, hfunc)
    func_get_attribute: "cuFuncGetAttribute", unsafe extern "C" fn(*mut c_int, c_uint, Handle) -> Code;
    // (f, gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes, hStream,
    //  kernelParams, extra)
    launch_kernel: "cuLaunchKernel", unsafe extern "C" fn(
        Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle,
        *mut *mut c_void, *mut *mut c_void) -> Code;
}

impl Functions {
    /// What a code means, in the driver's words.
    pub(super) fn name(&self, code: Code) -> String {
        let text = |get: unsafe extern "C" fn(Code, *mut *const c_char) -> Code| {
            let mut text = ptr::null();
            // SAFETY: the driver writes a pointer to a string of its own that is always there, or null.
            unsafe {
                let known = get(code, &raw mut text) == SUCCESS && !text.is_null();
                known.then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
            }
        };
        match (text(self.get_error_name), text(self.get_error_string)) {
            (Some(name), Some(meaning)) => format!("{name} ({meaning})"),
            _ => format!("error {code}"),
        }
    }
}

/// The functions, loaded and initialised once.
pub(super) fn load() -> Result<&'static Functions, DeviceError> {
    static FUNCTIONS: OnceLock<Result<Functions, DeviceError>> = OnceLock::new();
    FUNCTIONS.get_or_init(initialise).as_ref().map_err(Clone::clone)
}

fn initialise() -> Result<Functions, DeviceError> {
    let api = Api::Cuda;
    let no_driver = |why| DeviceError::NoDriver { api, library: LIBRARY.to_owned(), why };
    // SAFETY: loading the driver runs its initialisers, which is what it is for; it is never unloaded.
    let cuda =
        unsafe { Library::new(LIBRARY).and_then(|library| Functions::new(Box::leak(Box::new(library)))) }
            .map_err(|why| no_driver(why.to_string()))?;
    // SAFETY: this may be called at any time; the flags have to be 0.
    match unsafe { (cuda.init)(0) } {
        SUCCESS => Ok(cuda),
        code @ STUB_LIBRARY => Err(no_driver(cuda.name(code))),
        NO_DEVICE => Err(DeviceError::NoDevice { api, why: "the CUDA driver finds none".to_owned() }),
        code => Err(DeviceError::NoDevice { api, why: format!("cuInit returned {}", cuda.name(code)) }),
    }
}
