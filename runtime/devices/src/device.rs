//! The trait that drivers implement, and what it speaks of.

use crate::{Api, DeviceError};

/// What a device is, without opening it.
#[derive(Debug, Clone, PartialEq)]
pub struct Description {
    /// The interface it is driven by.
    pub api: Api,
    /// Its place in [`list`](crate::list()), which `PROMOTE_DEVICE` may name. With CUDA, it is the number that other libraries and
    /// DLPack have for the device, too.
    pub index: usize,
    /// The name that its driver gives it.
    pub name: String,
    /// The driver and its version.
    pub driver: String,
    /// What it can do.
    pub limits: Limits,
}

/// What a device can do. Sizes are in bytes, counts are per dispatch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// CUDA's compute capability: 90 for sm_90. `None` by other interfaces.
    pub architecture: Option<u32>,
    /// Arithmetic on 64-bit floats.
    pub has_f64: bool,
    /// Arithmetic on 16-bit floats.
    pub has_f16: bool,
    /// Arithmetic on 64-bit integers.
    pub has_i64: bool,
    /// Arithmetic on 16-bit integers.
    pub has_i16: bool,
    /// Arithmetic on 8-bit integers.
    pub has_i8: bool,
    /// Loads and stores of 16 bits.
    pub has_16bit_storage: bool,
    /// Loads and stores of 8 bits.
    pub has_8bit_storage: bool,
    /// How the device keeps the bits of floats of 16, 32 and 64 bits, in that order.
    pub floats: [FloatControls; 3],
    /// The number of invocations that run in step (a warp); 1 if unknown.
    pub subgroup_threads: u32,
    /// Invocations of a subgroup can shuffle in kernels.
    pub has_shuffles: bool,
    /// Memory shared by one work group.
    pub shared_bytes: u32,
    /// The largest number of invocations of a work group in x.
    pub group_threads: u32,
    /// The largest number of work groups in x, y and z.
    pub groups: [u32; 3],
    /// The number of work groups that run at once without sharing arithmetic units (multiprocessors, compute units);
    /// 1 if unknown.
    pub multiprocessors: u32,
    /// After how many iterations of all its loops together a driver ends a thread's loops, whatever their conditions; `None` if it
    /// does not.
    pub loop_iterations: Option<u32>,
    /// All of the device's memory.
    pub memory_bytes: u64,
    /// The largest single allocation.
    pub allocation_bytes: u64,
    /// Whether host and device share their memory.
    pub unified_memory: bool,
}

/// What kernels may ask of floats of one width: the execution modes of SPIR-V's float controls, and what the interface
/// promises without being asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FloatControls {
    /// `DenormPreserve` is taken.
    pub denorm_preserve: bool,
    /// `SignedZeroInfNanPreserve` is taken.
    pub signed_zero_inf_nan_preserve: bool,
    /// `RoundingModeRTE` is taken.
    pub rounding_mode_rte: bool,
    /// Division and square roots are promised to be rounded correctly.
    pub rounded_division: bool,
    /// Fused multiply-add is promised to round once.
    pub rounded_fma: bool,
}

/// Code for a device.
#[derive(Debug, Clone, Copy)]
pub enum Code<'a> {
    /// The text of a PTX module, for CUDA.
    Ptx(&'a str),
    /// The words of a SPIR-V module, for Vulkan (capability `Shader`) or OpenCL (capability `Kernel`).
    SpirV(&'a [u32]),
}

/// Code that a device loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ModuleId(pub(crate) Handle);

/// Memory of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Memory(pub(crate) Handle);

/// A slot of one of a device's tables, and which of its occupants is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Handle {
    pub(crate) table: u32,
    pub(crate) slot: u32,
    pub(crate) generation: u64,
}

/// What a kernel is given; how it gets it, [the crate's documentation](crate#arguments) says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Argument {
    /// The address of memory.
    Memory(Memory),
    /// A number; shorter ones are extended by the caller.
    Word(u64),
}

/// One run of a kernel.
#[derive(Debug, Clone, Copy)]
pub struct Launch<'a> {
    /// Where the kernel is.
    pub module: ModuleId,
    /// Its name.
    pub entry: &'a str,
    /// How many work groups there are in x, y and z; with 0 of them, nothing is launched.
    pub groups: [u32; 3],
    /// How many invocations a group has, all in x. Vulkan's modules fix it by `LocalSize`, which must be the same.
    pub threads: u32,
    /// What it is given.
    pub arguments: &'a [Argument],
}

/// An open device. Everything happens in the order of calls, as in one stream.
///
/// Calls check their handles, ranges and sizes before anything is done; after an error other than
/// [`DeviceError::Lost`] the device is as it was before. Dropping a device waits for what it does, and frees everything.
pub trait Device: Send {
    /// What this device is.
    fn description(&self) -> &Description;

    /// Loads a module.
    fn load(&mut self, code: Code<'_>) -> Result<ModuleId, DeviceError>;

    /// Forgets a module. Launches already made may still use it. A stale handle does nothing.
    fn unload(&mut self, module: ModuleId);

    /// Allocates memory of undefined contents, aligned for every dtype and vector (at least 64 bytes). It may have no
    /// bytes at all.
    fn allocate(&mut self, bytes: u64) -> Result<Memory, DeviceError>;

    /// Frees memory. Launches and copies already made may still use it. A stale handle does nothing.
    fn free(&mut self, memory: Memory);

    /// Takes memory of somebody else's at a device pointer (a DLPack tensor), who keeps it alive, and orders what was done
    /// to it before this call. [`free`](Self::free) forgets it.
    ///
    /// # Errors
    /// [`DeviceError::Unsupported`] by interfaces other than CUDA.
    fn import(&mut self, pointer: u64, bytes: u64) -> Result<Memory, DeviceError>;

    /// Where memory is, as DLPack's `data` wants it; `None` where the interface has no such thing, and for stale
    /// handles.
    fn address(&self, memory: Memory) -> Option<u64>;

    /// Writes bytes to memory. They may be used otherwise as soon as this returns.
    fn write(&mut self, to: Memory, offset: u64, bytes: &[u8]) -> Result<(), DeviceError>;

    /// Reads bytes from memory, after everything before.
    fn read(&mut self, from: Memory, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError>;

    /// Copies bytes from memory at an offset to memory at an offset. Both may be the same memory, but the ranges must not
    /// overlap.
    fn copy(&mut self, from: (Memory, u64), to: (Memory, u64), bytes: u64) -> Result<(), DeviceError>;

    /// Runs a kernel some time later, after everything before.
    fn launch(&mut self, launch: &Launch<'_>) -> Result<(), DeviceError>;

    /// Waits for everything before, and says whether it went well.
    fn synchronize(&mut self) -> Result<(), DeviceError>;

    /// The CUDA stream (a `CUstream`) that everything happens in, for those who order work of theirs with it, as
    /// `__dlpack__(stream=…)` does. `None` by other interfaces.
    fn stream(&self) -> Option<u64>;
}
