//! The functions of OpenCL that are used, by the names and types of its headers (`CL/cl.h`).

use std::ffi::{c_char, c_uchar, c_void};
use std::sync::OnceLock;

use libloading::Library;

use crate::{Api, DeviceError};

/// `cl_int`: 0, or an error.
pub(super) type Code = i32;
pub(super) type Handle = *mut c_void;

const LIBRARY: &str = "libOpenCL.so.1";

pub(super) const SUCCESS: Code = 0;
pub(super) const DEVICE_NOT_FOUND: Code = -1;
pub(super) const MEM_OBJECT_ALLOCATION_FAILURE: Code = -4;
pub(super) const OUT_OF_RESOURCES: Code = -5;
pub(super) const OUT_OF_HOST_MEMORY: Code = -6;
pub(super) const BUILD_PROGRAM_FAILURE: Code = -11;
pub(super) const INVALID_BUFFER_SIZE: Code = -61;
pub(super) const PLATFORM_NOT_FOUND_KHR: Code = -1001;

pub(super) const TRUE: u32 = 1;

pub(super) const DEVICE_TYPE_CPU: u64 = 1 << 1;
pub(super) const DEVICE_TYPE_GPU: u64 = 1 << 2;
pub(super) const DEVICE_TYPE_ALL: u64 = 0xFFFF_FFFF;

pub(super) const DEVICE_TYPE: u32 = 0x1000;
pub(super) const DEVICE_MAX_COMPUTE_UNITS: u32 = 0x1002;
pub(super) const DEVICE_MAX_WORK_GROUP_SIZE: u32 = 0x1004;
pub(super) const DEVICE_MAX_WORK_ITEM_SIZES: u32 = 0x1005;
pub(super) const DEVICE_ADDRESS_BITS: u32 = 0x100D;
pub(super) const DEVICE_MAX_MEM_ALLOC_SIZE: u32 = 0x1010;
pub(super) const DEVICE_SINGLE_FP_CONFIG: u32 = 0x101B;
pub(super) const DEVICE_GLOBAL_MEM_SIZE: u32 = 0x101F;
pub(super) const DEVICE_LOCAL_MEM_SIZE: u32 = 0x1023;
pub(super) const DEVICE_NAME: u32 = 0x102B;
pub(super) const DRIVER_VERSION: u32 = 0x102D;
pub(super) const DEVICE_EXTENSIONS: u32 = 0x1030;
pub(super) const DEVICE_DOUBLE_FP_CONFIG: u32 = 0x1032;
pub(super) const DEVICE_HALF_FP_CONFIG: u32 = 0x1033;
pub(super) const DEVICE_HOST_UNIFIED_MEMORY: u32 = 0x1035;
pub(super) const DEVICE_IL_VERSION: u32 = 0x105B;

pub(super) const PLATFORM_VERSION: u32 = 0x0901;

pub(super) const FP_DENORM: u64 = 1 << 0;
pub(super) const FP_INF_NAN: u64 = 1 << 1;
pub(super) const FP_ROUND_TO_NEAREST: u64 = 1 << 2;
pub(super) const FP_FMA: u64 = 1 << 5;
pub(super) const FP_CORRECTLY_ROUNDED_DIVIDE_SQRT: u64 = 1 << 7;

pub(super) const MEM_READ_WRITE: u64 = 1 << 0;
pub(super) const PROGRAM_BUILD_LOG: u32 = 0x1183;
pub(super) const KERNEL_WORK_GROUP_SIZE: u32 = 0x11B0;

/// `clGet*Info` of one object.
pub(super) type Info = unsafe extern "C" fn(Handle, u32, usize, *mut c_void, *mut usize) -> Code;
/// `clGet*Info` of an object on a device.
pub(super) type DeviceInfo =
    unsafe extern "C" fn(Handle, Handle, u32, usize, *mut c_void, *mut usize) -> Code;
/// `clRelease*`, `clFlush`, `clFinish`.
pub(super) type Unary = unsafe extern "C" fn(Handle) -> Code;
type Notify = Option<unsafe extern "C" fn()>;

/// Declares the table of functions, and loads it: each field has its symbol, of the type after it.
macro_rules! functions {
    ($($field:ident: $symbol:literal, $type:ty;)*) => {
        /// The functions of the library, which is never unloaded.
        pub(super) struct OpenCl {
            $(pub(super) $field: $type,)*
            /// `clCreateProgramWithIL`, of OpenCL 2.1.
            pub(super) create_program_with_il: Option<CreateProgramWithIl>,
        }

        impl OpenCl {
            /// # Safety
            /// The library is an OpenCL loader, and stays loaded.
            unsafe fn new(library: &Library) -> Result<Self, libloading::Error> {
                // SAFETY: the types are those of OpenCL's headers.
                unsafe {
                    Ok(Self {
                        $($field: *library.get::<$type>(concat!($symbol, "\0").as_bytes())?,)*
                        create_program_with_il: library
                            .get::<CreateProgramWithIl>(b"clCreateProgramWithIL\0")
                            .ok()
                            .map(|symbol| *symbol),
                    })
                }
            }
        }
    };
}

/// `clCreateProgramWithIL(context, il, length, errcode_ret)`.
pub(super) type CreateProgramWithIl = unsafe extern "C" fn(Handle, *const c_void, usize, *mut Code) -> Handle;

functions! {
    // (num_entries, platforms, num_platforms)
    get_platform_ids: "clGetPlatformIDs", unsafe extern "C" fn(u32, *mut Handle, *mut u32) -> Code;
    // (platform, param_name, param_value_size, param_value, param_value_size_ret)
    get_platform_info: "clGetPlatformInfo", Info;
    // (platform, device_type, num_entries, devices, num_devices)
    get_device_ids: "clGetDeviceIDs",
        unsafe extern "C" fn(Handle, u64, u32, *mut Handle, *mut u32) -> Code;
    get_device_info: "clGetDeviceInfo", Info;
    // (properties, num_devices, devices, pfn_notify, user_data, errcode_ret)
    create_context: "clCreateContext", unsafe extern "C" fn(
        *const isize, u32, *const Handle, Notify, *mut c_void, *mut Code) -> Handle;
    release_context: "clReleaseContext", Unary;
    // (context, device, properties, errcode_ret)
    create_command_queue: "clCreateCommandQueue",
        unsafe extern "C" fn(Handle, Handle, u64, *mut Code) -> Handle;
    release_command_queue: "clReleaseCommandQueue", Unary;
    // (context, flags, size, host_ptr, errcode_ret)
    create_buffer: "clCreateBuffer",
        unsafe extern "C" fn(Handle, u64, usize, *mut c_void, *mut Code) -> Handle;
    release_mem_object: "clReleaseMemObject", Unary;
    // (context, num_devices, device_list, lengths, binaries, binary_status, errcode_ret)
    create_program_with_binary: "clCreateProgramWithBinary", unsafe extern "C" fn(
        Handle, u32, *const Handle, *const usize, *const *const c_uchar, *mut Code, *mut Code) -> Handle;
    // (program, num_devices, device_list, options, pfn_notify, user_data)
    build_program: "clBuildProgram", unsafe extern "C" fn(
        Handle, u32, *const Handle, *const c_char, Notify, *mut c_void) -> Code;
    // (program, device, param_name, param_value_size, param_value, param_value_size_ret)
    get_program_build_info: "clGetProgramBuildInfo", DeviceInfo;
    release_program: "clReleaseProgram", Unary;
    // (program, kernel_name, errcode_ret)
    create_kernel: "clCreateKernel", unsafe extern "C" fn(Handle, *const c_char, *mut Code) -> Handle;
    // (kernel, device, param_name, param_value_size, param_value, param_value_size_ret)
    get_kernel_work_group_info: "clGetKernelWorkGroupInfo", DeviceInfo;
    // (kernel, arg_index, arg_size, arg_value)
    set_kernel_arg: "clSetKernelArg",
        unsafe extern "C" fn(Handle, u32, usize, *const c_void) -> Code;
    release_kernel: "clReleaseKernel", Unary;
    // (queue, kernel, work_dim, global_work_offset, global_work_size, local_work_size,
    //  num_events_in_wait_list, event_wait_list, event)
    enqueue_nd_range_kernel: "clEnqueueNDRangeKernel", unsafe extern "C" fn(
        Handle, Handle, u32, *const usize, *const usize, *const usize,
        u32, *const Handle, *mut Handle) -> Code;
    // (queue, buffer, blocking_read, offset, size, ptr, num_events_in_wait_list, event_wait_list, event)
    enqueue_read_buffer: "clEnqueueReadBuffer", unsafe extern "C" fn(
        Handle, Handle, u32, usize, usize, *mut c_void, u32, *const Handle, *mut Handle) -> Code;
    // (queue, buffer, blocking_write, offset, size, ptr, num_events_in_wait_list, event_wait_list, event)
    enqueue_write_buffer: "clEnqueueWriteBuffer", unsafe extern "C" fn(
        Handle, Handle, u32, usize, usize, *const c_void, u32, *const Handle, *mut Handle) -> Code;
    // (queue, src_buffer, dst_buffer, src_offset, dst_offset, size,
    //  num_events_in_wait_list, event_wait_list, event)
    enqueue_copy_buffer: "clEnqueueCopyBuffer", unsafe extern "C" fn(
        Handle, Handle, Handle, usize, usize, usize, u32, *const Handle, *mut Handle) -> Code;
    flush: "clFlush", Unary;
    finish: "clFinish", Unary;
}

/// The functions, loaded once.
pub(super) fn load() -> Result<&'static OpenCl, DeviceError> {
    static FUNCTIONS: OnceLock<Result<OpenCl, DeviceError>> = OnceLock::new();
    let load = || {
        // SAFETY: loading the system's OpenCL loader runs its initialisers, which is what it is for; it is never unloaded, and
        // neither are the drivers that it loads.
        let functions =
            unsafe { Library::new(LIBRARY).and_then(|library| OpenCl::new(Box::leak(Box::new(library)))) };
        functions.map_err(|why| DeviceError::NoDriver {
            api: Api::OpenCl,
            library: LIBRARY.to_owned(),
            why: why.to_string(),
        })
    };
    FUNCTIONS.get_or_init(load).as_ref().map_err(Clone::clone)
}

/// What a code means, as OpenCL's headers say.
pub(super) fn name(code: Code) -> String {
    let name = match code {
        DEVICE_NOT_FOUND => "CL_DEVICE_NOT_FOUND",
        -2 => "CL_DEVICE_NOT_AVAILABLE",
        -3 => "CL_COMPILER_NOT_AVAILABLE",
        MEM_OBJECT_ALLOCATION_FAILURE => "CL_MEM_OBJECT_ALLOCATION_FAILURE",
        OUT_OF_RESOURCES => "CL_OUT_OF_RESOURCES",
        OUT_OF_HOST_MEMORY => "CL_OUT_OF_HOST_MEMORY",
        BUILD_PROGRAM_FAILURE => "CL_BUILD_PROGRAM_FAILURE",
        -14 => "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
        -30 => "CL_INVALID_VALUE",
        -36 => "CL_INVALID_COMMAND_QUEUE",
        -38 => "CL_INVALID_MEM_OBJECT",
        -42 => "CL_INVALID_BINARY",
        -44 => "CL_INVALID_PROGRAM",
        -45 => "CL_INVALID_PROGRAM_EXECUTABLE",
        -46 => "CL_INVALID_KERNEL_NAME",
        -49 => "CL_INVALID_ARG_INDEX",
        -50 => "CL_INVALID_ARG_VALUE",
        -51 => "CL_INVALID_ARG_SIZE",
        -52 => "CL_INVALID_KERNEL_ARGS",
        -54 => "CL_INVALID_WORK_GROUP_SIZE",
        -55 => "CL_INVALID_WORK_ITEM_SIZE",
        -59 => "CL_INVALID_OPERATION",
        INVALID_BUFFER_SIZE => "CL_INVALID_BUFFER_SIZE",
        PLATFORM_NOT_FOUND_KHR => "CL_PLATFORM_NOT_FOUND_KHR",
        other => return format!("error {other}"),
    };
    name.to_owned()
}
