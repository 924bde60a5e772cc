//! The driver: modules, launches, transfers.

use std::collections::HashMap;
use std::ffi::{CString, c_uint, c_void};
use std::ptr;

use super::ffi::{self, AllocAsync, FreeAsync, Functions, Handle, Ordinal, Pointer};
use super::{Found, ptx};
use crate::DeviceError;
use crate::checked::{Driver, Value};
use crate::device::{Code, Description, Launch};

/// How many bytes of pinned memory writes go through; larger ones wait until they are done.
const STAGING: usize = 4 << 20;

/// The alignment of writes in pinned memory.
const ALIGNMENT: usize = 64;

/// How many bytes of the compiler's log are read.
const LOG: usize = 16 << 10;

/// An open CUDA device.
pub(super) struct Cuda {
    cuda: &'static Functions,
    device: Ordinal,
    description: Description,
    context: Handle,
    stream: Handle,
    /// Allocates and frees in the order of the stream, if the device can.
    in_order: Option<(AllocAsync, FreeAsync)>,
    staging: Staging,
}

// SAFETY: contexts, streams and modules may be used from any thread in which the context is current, and each call makes it so.
unsafe impl Send for Cuda {}

/// Pinned memory that bytes of the host's are copied to, so that these can be used otherwise while a transfer is under way.
struct Staging {
    start: *mut c_void,
    /// What transfers that may not be done use.
    used: usize,
}

/// A loaded module and its entries.
pub(super) struct Module {
    raw: Handle,
    functions: HashMap<String, Function>,
}

// SAFETY: as above.
unsafe impl Send for Module {}

struct Function {
    raw: Handle,
    /// How many parameters it has; `None` if one is not of 64 bits.
    parameters: Option<usize>,
    /// How many threads a block may have, as the registers allow.
    threads: u32,
}

/// Makes a context current in this thread while it lives, and then what was current before.
struct Current(&'static Functions);

impl Drop for Current {
    fn drop(&mut self) {
        let mut popped = ptr::null_mut();
        // SAFETY: the context was pushed in this thread, and everything pushed after it was popped.
        unsafe { (self.0.ctx_pop_current)(&raw mut popped) };
    }
}

impl Cuda {
    pub(super) fn new(cuda: &'static Functions, found: Found) -> Result<Self, DeviceError> {
        let Found { handle, description } = found;
        let mut context = ptr::null_mut();
        // SAFETY: the device is one that the driver has.
        let code = unsafe { (cuda.device_primary_ctx_retain)(&raw mut context, handle) };
        if code != ffi::SUCCESS {
            return Err(failure(cuda, &description.name, "cuDevicePrimaryCtxRetain", code));
        }
        let mut pools = 0;
        // SAFETY: as above; a driver that does not know the attribute writes nothing.
        unsafe {
            let what = ffi::ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
            (cuda.device_get_attribute)(&raw mut pools, what, handle);
        }
        let in_order = cuda.mem_async.filter(|_| pools != 0);
        let (stream, start) = (ptr::null_mut(), ptr::null_mut());
        let staging = Staging { start, used: 0 };
        // From here on, dropping it releases what it has.
        let mut this = Self { cuda, device: handle, description, context, stream, in_order, staging };
        let _current = this.enter()?;
        // SAFETY: the context is current; handles are written where they are said to be.
        unsafe {
            let code = (cuda.stream_create)(&raw mut this.stream, ffi::STREAM_DEFAULT);
            this.check("cuStreamCreate", code)?;
            let code = (cuda.mem_alloc_host)(&raw mut this.staging.start, STAGING);
            this.check("cuMemAllocHost", code)?;
        }
        Ok(this)
    }

    fn enter(&self) -> Result<Current, DeviceError> {
        // SAFETY: the context is retained as long as this lives.
        let code = unsafe { (self.cuda.ctx_push_current)(self.context) };
        self.check("cuCtxPushCurrent", code).map(|()| Current(self.cuda))
    }

    fn check(&self, call: &'static str, code: ffi::Code) -> Result<(), DeviceError> {
        match code {
            ffi::SUCCESS => Ok(()),
            _ => Err(failure(self.cuda, &self.description.name, call, code)),
        }
    }

    fn name(&self) -> String {
        self.description.name.clone()
    }

    fn refused(&self, log: String) -> DeviceError {
        DeviceError::Refused { device: self.name(), log }
    }

    /// Waits for the stream. The context is current.
    fn wait(&mut self) -> Result<(), DeviceError> {
        // SAFETY: the stream is alive.
        let code = unsafe { (self.cuda.stream_synchronize)(self.stream) };
        self.check("cuStreamSynchronize", code)?;
        self.staging.used = 0;
        Ok(())
    }

    /// Copies bytes of the host's, which must stay as they are until the stream was waited for.
    fn copy_in(&self, to: Pointer, from: *const c_void, bytes: usize) -> Result<(), DeviceError> {
        // SAFETY: the context is current; the caller checked the range of the target, and the source has as many bytes.
        let code = unsafe { (self.cuda.memcpy_htod_async)(to, from, bytes, self.stream) };
        self.check("cuMemcpyHtoDAsync", code)
    }

    /// Compiles a module. The context is current.
    fn compile(&self, text: &str) -> Result<Handle, DeviceError> {
        let text =
            CString::new(text).map_err(|_| self.refused("the PTX has a zero byte in it".to_owned()))?;
        let mut log = vec![0u8; LOG];
        let mut options = [ffi::JIT_ERROR_LOG_BUFFER, ffi::JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        // A size is passed as if it were a pointer.
        let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(LOG - 1)];
        let mut module = ptr::null_mut();
        // SAFETY: the text ends with a zero byte; there are two options and two values; the log has place for as many bytes as is
        // said, and lives until the call returns.
        let code = unsafe {
            (self.cuda.module_load_data_ex)(
                &raw mut module,
                text.as_ptr().cast(),
                2,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        match code {
            ffi::SUCCESS => Ok(module),
            _ if ffi::is_fatal(code) => self.check("cuModuleLoadDataEx", code).map(|()| module),
            _ => {
                let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
                let log = String::from_utf8_lossy(&log[..end]).trim().to_owned();
                let name = self.cuda.name(code);
                Err(self.refused(if log.is_empty() { name } else { format!("{name}: {log}") }))
            }
        }
    }

    /// Finds an entry of a module. The context is current.
    fn function(&self, module: Handle, entry: &ptx::Entry) -> Result<Function, DeviceError> {
        let name = CString::new(entry.name.as_str()).expect("names have letters, digits, _, $ and %");
        let (mut raw, mut threads) = (ptr::null_mut(), 0);
        // SAFETY: the module is loaded, and its functions live as long; values are written where they are said to be.
        unsafe {
            let code = (self.cuda.module_get_function)(&raw mut raw, module, name.as_ptr());
            self.check("cuModuleGetFunction", code)?;
            let what = ffi::FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK;
            let code = (self.cuda.func_get_attribute)(&raw mut threads, what, raw);
            self.check("cuFuncGetAttribute", code)?;
        }
        let threads = u32::try_from(threads).unwrap_or(0);
        Ok(Function { raw, parameters: entry.parameters, threads })
    }

    /// Finds the function, and checks what it fixes.
    fn find<'m>(&self, module: &'m Module, launch: &Launch<'_>) -> Result<&'m Function, DeviceError> {
        let (device, entry) = (self.name(), launch.entry.to_owned());
        let Some(function) = module.functions.get(launch.entry) else {
            return Err(DeviceError::NoEntry { device, entry });
        };
        let given = launch.arguments.len();
        let why = match function.parameters {
            None => "one of its parameters is not of 64 bits".to_owned(),
            Some(taken) if taken != given => format!("it takes {taken} arguments, not {given}"),
            Some(_) if launch.threads > function.threads => {
                format!("its work groups have at most {} threads, not {}", function.threads, launch.threads)
            }
            Some(_) => return Ok(function),
        };
        Err(DeviceError::Launch { device, entry, why })
    }

    /// An attribute of a pointer; `None` if the driver does not know the pointer. The context is current.
    fn attribute<T: Default>(&self, what: c_uint, pointer: Pointer) -> Option<T> {
        let mut value = T::default();
        // SAFETY: the caller's type is that of the attribute.
        let code = unsafe { (self.cuda.pointer_get_attribute)((&raw mut value).cast(), what, pointer) };
        (code == ffi::SUCCESS).then_some(value)
    }

    /// Why memory of somebody else's cannot be used, if it cannot.
    fn foreign(&self, pointer: Pointer) -> Option<String> {
        let Some(kind) = self.attribute::<c_uint>(ffi::POINTER_ATTRIBUTE_MEMORY_TYPE, pointer) else {
            return Some("CUDA does not know it; copy it to the device first".to_owned());
        };
        let managed = self.attribute::<c_uint>(ffi::POINTER_ATTRIBUTE_IS_MANAGED, pointer);
        let ordinal = self.attribute::<Ordinal>(ffi::POINTER_ATTRIBUTE_DEVICE_ORDINAL, pointer);
        let elsewhere = kind == ffi::MEMORYTYPE_DEVICE
            && managed.unwrap_or(0) == 0
            && ordinal.is_some_and(|ordinal| ordinal != self.device);
        elsewhere.then(|| "it is another device's; copy it to this one first".to_owned())
    }
}

fn failure(cuda: &Functions, device: &str, call: &'static str, code: ffi::Code) -> DeviceError {
    let device = device.to_owned();
    match ffi::is_fatal(code) {
        true => DeviceError::Lost { device, why: cuda.name(code) },
        false => DeviceError::Driver { device, call, code: cuda.name(code) },
    }
}

/// A size, which fits wherever CUDA runs.
fn size(bytes: u64) -> usize {
    usize::try_from(bytes).expect("CUDA's hosts have 64 bits")
}

impl Driver for Cuda {
    type Buffer = Pointer;
    type Module = Module;

    fn description(&self) -> &Description {
        &self.description
    }

    fn load(&mut self, code: Code<'_>) -> Result<Module, DeviceError> {
        let text = match code {
            Code::Ptx(text) => text,
            Code::SpirV(_) => {
                let feature = "SPIR-V by CUDA; compile for PTX".to_owned();
                return Err(DeviceError::Unsupported { device: self.name(), feature });
            }
        };
        let _current = self.enter()?;
        let mut module = Module { raw: self.compile(text)?, functions: HashMap::new() };
        for entry in ptx::entries(text) {
            match self.function(module.raw, &entry) {
                Ok(function) => {
                    module.functions.insert(entry.name, function);
                }
                Err(error) => {
                    // SAFETY: the module was just loaded.
                    unsafe { (self.cuda.module_unload)(module.raw) };
                    return Err(error);
                }
            }
        }
        Ok(module)
    }

    fn unload(&mut self, module: Module) {
        let Ok(_current) = self.enter() else { return };
        // If the device is lost, nothing runs on it.
        self.wait().ok();
        // SAFETY: the module is loaded, and nothing of it runs.
        unsafe { (self.cuda.module_unload)(module.raw) };
    }

    fn allocate(&mut self, bytes: u64) -> Result<Pointer, DeviceError> {
        let _current = self.enter()?;
        let mut pointer = 0;
        // SAFETY: the context is current; the pointer is written where it is said to be.
        let code = unsafe {
            match self.in_order {
                Some((allocate, _)) => allocate(&raw mut pointer, size(bytes), self.stream),
                None => (self.cuda.mem_alloc)(&raw mut pointer, size(bytes)),
            }
        };
        match code {
            ffi::OUT_OF_MEMORY => Err(DeviceError::OutOfMemory { device: self.name(), bytes }),
            _ => self.check("cuMemAlloc", code).map(|()| pointer),
        }
    }

    fn release(&mut self, pointer: Pointer) {
        let Ok(_current) = self.enter() else { return };
        if let Some((_, free)) = self.in_order {
            // SAFETY: the memory was allocated in this stream; it is freed after everything before.
            unsafe { free(pointer, self.stream) };
            return;
        }
        // If the device is lost, nothing uses the memory.
        self.wait().ok();
        // SAFETY: nothing uses the memory any more.
        unsafe { (self.cuda.mem_free)(pointer) };
    }

    fn import(&mut self, pointer: u64, bytes: u64) -> Result<Pointer, DeviceError> {
        let _current = self.enter()?;
        match self.foreign(pointer) {
            Some(why) if bytes != 0 => Err(DeviceError::Foreign { device: self.name(), pointer, why }),
            _ => Ok(pointer),
        }
    }

    fn address(&self, pointer: &Pointer) -> Option<u64> {
        Some(*pointer)
    }

    fn write(&mut self, to: &Pointer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        let _current = self.enter()?;
        let to = to + offset;
        if bytes.len() > STAGING {
            self.copy_in(to, bytes.as_ptr().cast(), bytes.len())?;
            return self.wait();
        }
        if bytes.len() > STAGING - self.staging.used {
            self.wait()?;
        }
        // SAFETY: that many bytes are left after those in use, and no transfer uses them.
        let place = unsafe {
            let place = self.staging.start.cast::<u8>().add(self.staging.used);
            place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            place
        };
        self.staging.used = (self.staging.used + bytes.len()).next_multiple_of(ALIGNMENT).min(STAGING);
        self.copy_in(to, place.cast(), bytes.len())
    }

    fn read(&mut self, from: &Pointer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        let _current = self.enter()?;
        let (to, from) = (bytes.as_mut_ptr().cast(), from + offset);
        // SAFETY: the range is inside the memory; the bytes are there until the stream was waited for.
        let code = unsafe { (self.cuda.memcpy_dtoh_async)(to, from, bytes.len(), self.stream) };
        self.check("cuMemcpyDtoHAsync", code)?;
        self.wait()
    }

    fn copy(&mut self, from: (&Pointer, u64), to: (&Pointer, u64), bytes: u64) -> Result<(), DeviceError> {
        let _current = self.enter()?;
        let (from, to) = (from.0 + from.1, to.0 + to.1);
        // SAFETY: both ranges are inside their memory, and do not overlap.
        let code = unsafe { (self.cuda.memcpy_dtod_async)(to, from, size(bytes), self.stream) };
        self.check("cuMemcpyDtoDAsync", code)
    }

    fn launch(
        &mut self,
        module: &Module,
        launch: &Launch<'_>,
        arguments: &[Value<'_, Pointer>],
    ) -> Result<(), DeviceError> {
        let function = self.find(module, launch)?;
        let mut words: Vec<u64> = arguments
            .iter()
            .map(|argument| match argument {
                Value::Buffer(pointer) => **pointer,
                Value::Word(word) => *word,
            })
            .collect();
        let mut parameters: Vec<*mut c_void> =
            words.iter_mut().map(|word| ptr::from_mut(word).cast()).collect();
        let _current = self.enter()?;
        let [x, y, z] = launch.groups;
        // SAFETY: the function is of a loaded module, and takes as many parameters of 64 bits as there are, which the call copies;
        // counts of groups and threads are within the limits. What the kernel does with its arguments is the caller's.
        let code = unsafe {
            (self.cuda.launch_kernel)(
                function.raw,
                x,
                y,
                z,
                launch.threads,
                1,
                1,
                0,
                self.stream,
                parameters.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        if code == ffi::SUCCESS || ffi::is_fatal(code) {
            return self.check("cuLaunchKernel", code);
        }
        let (entry, why) = (launch.entry.to_owned(), self.cuda.name(code));
        Err(DeviceError::Launch { device: self.name(), entry, why })
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        let _current = self.enter()?;
        self.wait()
    }

    fn stream(&self) -> Option<u64> {
        Some(self.stream as u64)
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if let Ok(_current) = self.enter() {
            // SAFETY: both are alive or null, and not used after this; what the stream still does ends before it is destroyed.
            unsafe {
                if !self.stream.is_null() {
                    self.wait().ok();
                    (self.cuda.stream_destroy)(self.stream);
                }
                if !self.staging.start.is_null() {
                    (self.cuda.mem_free_host)(self.staging.start);
                }
            }
        }
        // SAFETY: the context was retained once.
        unsafe { (self.cuda.device_primary_ctx_release)(self.device) };
    }
}
