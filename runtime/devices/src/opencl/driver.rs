//! The driver: programs, launches, transfers.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::ptr;

use super::bitcode::{self, Failure};
use super::ffi::{self, Handle, OpenCl};
use super::{Found, Input};
use crate::DeviceError;
use crate::checked::{Driver, Value};
use crate::device::{Argument, Code, Description, Launch};
use crate::spirv::{self, Model, Parameter};

/// An open OpenCL device.
pub(super) struct Queue {
    cl: &'static OpenCl,
    device: Handle,
    description: Description,
    input: Input,
    context: Handle,
    queue: Handle,
}

// SAFETY: OpenCL's objects may be used from any thread (its functions but `clSetKernelArg` even from several at once).
unsafe impl Send for Queue {}

/// Memory.
pub(super) struct Buffer(Handle);

// SAFETY: as above.
unsafe impl Send for Buffer {}

/// The kernels of a program, by entry. They keep it alive.
pub(super) struct Module(HashMap<String, Kernel>);

// SAFETY: as above; only the owner of a kernel sets its arguments.
unsafe impl Send for Module {}

struct Kernel {
    raw: Handle,
    parameters: Vec<Parameter>,
    /// How many work items a group may have.
    threads: u64,
}

impl Queue {
    pub(super) fn new(cl: &'static OpenCl, found: Found) -> Result<Self, DeviceError> {
        let Found { handle, description, input } = found;
        if input == Input::Nothing || description.limits.groups == [0; 3] {
            let feature = "SPIR-V kernels with 64-bit addresses; install a newer driver".to_owned();
            return Err(DeviceError::Unsupported { device: description.name, feature });
        }
        let mut code = ffi::SUCCESS;
        // SAFETY: the device is one that the driver has; no properties and no callback are fine.
        let context = unsafe {
            (cl.create_context)(ptr::null(), 1, &raw const handle, None, ptr::null_mut(), &raw mut code)
        };
        check(&description, "clCreateContext", code)?;
        // SAFETY: the context is of that device; 0 means in order.
        let queue = unsafe { (cl.create_command_queue)(context, handle, 0, &raw mut code) };
        if let Err(error) = check(&description, "clCreateCommandQueue", code) {
            // SAFETY: the context was just made.
            unsafe { (cl.release_context)(context) };
            return Err(error);
        }
        Ok(Self { cl, device: handle, description, input, context, queue })
    }

    fn check(&self, call: &'static str, code: ffi::Code) -> Result<(), DeviceError> {
        check(&self.description, call, code)
    }

    /// What a command in the queue, or waiting for it, returned: if it failed, so may have what was before.
    fn ordered(&self, call: &'static str, code: ffi::Code) -> Result<(), DeviceError> {
        match code {
            ffi::SUCCESS => Ok(()),
            ffi::MEM_OBJECT_ALLOCATION_FAILURE | ffi::OUT_OF_HOST_MEMORY => self.check(call, code),
            _ => {
                let why = format!("{call} returned {}", ffi::name(code));
                Err(DeviceError::Lost { device: self.name(), why })
            }
        }
    }

    fn name(&self) -> String {
        self.description.name.clone()
    }

    fn refused(&self, log: String) -> DeviceError {
        DeviceError::Refused { device: self.name(), log }
    }

    /// Makes a program of SPIR-V, not yet built.
    fn program(&self, words: &[u32]) -> Result<Handle, DeviceError> {
        let mut code = ffi::SUCCESS;
        match (&self.input, self.cl.create_program_with_il) {
            (Input::SpirV, Some(create)) => {
                let bytes = size_of_val(words);
                // SAFETY: the words live until the call returns, which copies them.
                let program = unsafe { create(self.context, words.as_ptr().cast(), bytes, &raw mut code) };
                self.accepted("clCreateProgramWithIL", code, program)
            }
            (Input::Bitcode { llvm }, _) => {
                let bitcode = bitcode::convert(words, llvm).map_err(|failure| match failure {
                    Failure::Refused(log) => self.refused(log),
                    Failure::NoConverter(why) => {
                        let feature = format!("SPIR-V itself, and its LLVM bitcode cannot be made: {why}");
                        DeviceError::Unsupported { device: self.name(), feature }
                    }
                })?;
                let (length, bytes) = (bitcode.len(), bitcode.as_ptr());
                let mut status = ffi::SUCCESS;
                // SAFETY: there is one device, one length and one array of that length, which the call copies.
                let program = unsafe {
                    (self.cl.create_program_with_binary)(
                        self.context,
                        1,
                        &raw const self.device,
                        &raw const length,
                        &raw const bytes,
                        &raw mut status,
                        &raw mut code,
                    )
                };
                self.accepted("clCreateProgramWithBinary", code, program)
            }
            (Input::SpirV, None) | (Input::Nothing, _) => {
                unreachable!("such devices are not opened")
            }
        }
    }

    fn accepted(&self, call: &str, code: ffi::Code, program: Handle) -> Result<Handle, DeviceError> {
        match code {
            ffi::SUCCESS => Ok(program),
            _ => Err(self.refused(format!("{call} returned {}", ffi::name(code)))),
        }
    }

    fn build(&self, program: Handle) -> Result<(), DeviceError> {
        // SAFETY: the program and the device are alive; no options and no callback are fine.
        let code = unsafe {
            (self.cl.build_program)(program, 1, &raw const self.device, ptr::null(), None, ptr::null_mut())
        };
        if code == ffi::SUCCESS {
            return Ok(());
        }
        let log = self.build_log(program);
        let name = ffi::name(code);
        Err(self.refused(if log.is_empty() { format!("clBuildProgram returned {name}") } else { log }))
    }

    fn build_log(&self, program: Handle) -> String {
        let (get, what) = (self.cl.get_program_build_info, ffi::PROGRAM_BUILD_LOG);
        let mut size = 0;
        // SAFETY: the program and the device are alive; the driver writes the size, and as many bytes as there is place for.
        unsafe {
            if get(program, self.device, what, 0, ptr::null_mut(), &raw mut size) != ffi::SUCCESS {
                return String::new();
            }
            let mut log = vec![0u8; size];
            if get(program, self.device, what, size, log.as_mut_ptr().cast(), ptr::null_mut()) != ffi::SUCCESS
            {
                return String::new();
            }
            String::from_utf8_lossy(&log).trim_end_matches('\0').trim().to_owned()
        }
    }

    /// Makes the kernels of a built program.
    fn kernels(&self, program: Handle, entries: Vec<spirv::Entry>) -> Result<Module, DeviceError> {
        let mut module = Module(HashMap::new());
        for entry in entries {
            match self.kernel(program, &entry) {
                Ok(kernel) => {
                    module.0.insert(entry.name, kernel);
                }
                Err(error) => {
                    self.release_kernels(module);
                    return Err(error);
                }
            }
        }
        Ok(module)
    }

    fn kernel(&self, program: Handle, entry: &spirv::Entry) -> Result<Kernel, DeviceError> {
        let name = CString::new(entry.name.as_str()).expect("strings of SPIR-V end at their first zero byte");
        let mut code = ffi::SUCCESS;
        // SAFETY: the program is alive and built, the name a string.
        let raw = unsafe { (self.cl.create_kernel)(program, name.as_ptr(), &raw mut code) };
        if code != ffi::SUCCESS {
            let (name, entry) = (ffi::name(code), &entry.name);
            return Err(self.refused(format!("clCreateKernel returned {name} for `{entry}`")));
        }
        let mut threads = 0usize;
        // SAFETY: the kernel and the device are alive; the value has the type that OpenCL says.
        unsafe {
            let to = (&raw mut threads).cast::<c_void>();
            let (what, size) = (ffi::KERNEL_WORK_GROUP_SIZE, size_of::<usize>());
            (self.cl.get_kernel_work_group_info)(raw, self.device, what, size, to, ptr::null_mut());
        }
        Ok(Kernel { raw, parameters: entry.parameters.clone(), threads: threads as u64 })
    }

    fn release_kernels(&self, module: Module) {
        for kernel in module.0.into_values() {
            // SAFETY: the kernel is alive; OpenCL keeps it until launches are done.
            unsafe { (self.cl.release_kernel)(kernel.raw) };
        }
    }

    /// Finds the kernel, and checks what it fixes.
    fn find<'m>(&self, module: &'m Module, launch: &Launch<'_>) -> Result<&'m Kernel, DeviceError> {
        let (device, entry) = (self.name(), launch.entry.to_owned());
        let Some(kernel) = module.0.get(launch.entry) else {
            return Err(DeviceError::NoEntry { device, entry });
        };
        let (taken, given) = (kernel.parameters.len(), launch.arguments.len());
        let why = if taken != given {
            format!("it takes {taken} arguments, not {given}")
        } else if let Some((at, kind)) = mismatch(&kernel.parameters, launch.arguments) {
            format!("its argument {at} is {kind}")
        } else if u64::from(launch.threads) > kernel.threads {
            format!("its work groups have at most {} items, not {}", kernel.threads, launch.threads)
        } else {
            return Ok(kernel);
        };
        Err(DeviceError::Launch { device, entry, why })
    }

    fn set_arguments(
        &self,
        kernel: &Kernel,
        launch: &Launch<'_>,
        arguments: &[Value<'_, Buffer>],
    ) -> Result<(), DeviceError> {
        for (at, argument) in (0..).zip(arguments) {
            let (size, value) = match argument {
                Value::Buffer(buffer) => (size_of::<Handle>(), (&raw const buffer.0).cast::<c_void>()),
                Value::Word(word) => (size_of::<u64>(), ptr::from_ref(word).cast()),
            };
            // SAFETY: the value has that size, and the call copies it; nobody else uses the kernel.
            let code = unsafe { (self.cl.set_kernel_arg)(kernel.raw, at, size, value) };
            if code != ffi::SUCCESS {
                let why = format!("argument {at} is not what the kernel takes ({})", ffi::name(code));
                let entry = launch.entry.to_owned();
                return Err(DeviceError::Launch { device: self.name(), entry, why });
            }
        }
        Ok(())
    }
}

/// An argument that is not what the kernel takes, and what it takes. Drivers crash on a number that should be memory.
fn mismatch(parameters: &[Parameter], arguments: &[Argument]) -> Option<(usize, &'static str)> {
    let mut pairs = parameters.iter().zip(arguments).enumerate();
    let wrong = |(at, pair): (usize, (&Parameter, &Argument))| match pair {
        (Parameter::Memory, Argument::Memory(_)) | (Parameter::Word, Argument::Word(_)) => None,
        (Parameter::Memory, Argument::Word(_)) => Some((at, "memory")),
        (Parameter::Word, Argument::Memory(_)) => Some((at, "a word")),
        (Parameter::Other, _) => Some((at, "neither memory nor a word")),
    };
    pairs.find_map(wrong)
}

/// An offset or size, which fits wherever buffers of 64-bit devices do.
fn size(bytes: u64) -> usize {
    usize::try_from(bytes).expect("ranges are inside of buffers")
}

fn check(description: &Description, call: &'static str, code: ffi::Code) -> Result<(), DeviceError> {
    match code {
        ffi::SUCCESS => Ok(()),
        _ => Err(DeviceError::Driver { device: description.name.clone(), call, code: ffi::name(code) }),
    }
}

impl Driver for Queue {
    type Buffer = Buffer;
    type Module = Module;

    fn description(&self) -> &Description {
        &self.description
    }

    fn load(&mut self, code: Code<'_>) -> Result<Module, DeviceError> {
        let words = match code {
            Code::SpirV(words) => words,
            Code::Ptx(_) => {
                let feature = "PTX by OpenCL; compile for SPIR-V".to_owned();
                return Err(DeviceError::Unsupported { device: self.name(), feature });
            }
        };
        let layout = spirv::check(words, Model::Kernel, &self.description)?;
        let program = self.program(words)?;
        let module = self.build(program).and_then(|()| self.kernels(program, layout.entries));
        // SAFETY: the program is alive; its kernels keep what they need of it.
        unsafe { (self.cl.release_program)(program) };
        module
    }

    fn unload(&mut self, module: Module) {
        self.release_kernels(module);
    }

    fn allocate(&mut self, bytes: u64) -> Result<Buffer, DeviceError> {
        let Ok(size) = usize::try_from(bytes) else {
            return Err(DeviceError::OutOfMemory { device: self.name(), bytes });
        };
        let mut code = ffi::SUCCESS;
        // SAFETY: the context is alive; there are no bytes of the host's.
        let buffer = unsafe {
            let flags = ffi::MEM_READ_WRITE;
            (self.cl.create_buffer)(self.context, flags, size, ptr::null_mut(), &raw mut code)
        };
        match code {
            ffi::MEM_OBJECT_ALLOCATION_FAILURE | ffi::OUT_OF_RESOURCES | ffi::OUT_OF_HOST_MEMORY => {
                Err(DeviceError::OutOfMemory { device: self.name(), bytes })
            }
            _ => self.check("clCreateBuffer", code).map(|()| Buffer(buffer)),
        }
    }

    fn release(&mut self, buffer: Buffer) {
        // SAFETY: the buffer is alive; OpenCL keeps it until commands enqueued are done.
        unsafe { (self.cl.release_mem_object)(buffer.0) };
    }

    fn import(&mut self, _: u64, _: u64) -> Result<Buffer, DeviceError> {
        let feature = "memory of others by OpenCL; copy it".to_owned();
        Err(DeviceError::Unsupported { device: self.name(), feature })
    }

    fn address(&self, buffer: &Buffer) -> Option<u64> {
        // DLPack's `kDLOpenCL` means the `cl_mem`.
        Some(buffer.0 as u64)
    }

    fn write(&mut self, to: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        // SAFETY: the range is inside the buffer; the call is blocking, so the bytes are read until it returns.
        let code = unsafe {
            (self.cl.enqueue_write_buffer)(
                self.queue,
                to.0,
                ffi::TRUE,
                size(offset),
                bytes.len(),
                bytes.as_ptr().cast(),
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        self.ordered("clEnqueueWriteBuffer", code)
    }

    fn read(&mut self, from: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        // SAFETY: the range is inside the buffer; the call is blocking, so the bytes are written until it returns.
        let code = unsafe {
            (self.cl.enqueue_read_buffer)(
                self.queue,
                from.0,
                ffi::TRUE,
                size(offset),
                bytes.len(),
                bytes.as_mut_ptr().cast(),
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        self.ordered("clEnqueueReadBuffer", code)
    }

    fn copy(&mut self, from: (&Buffer, u64), to: (&Buffer, u64), bytes: u64) -> Result<(), DeviceError> {
        // SAFETY: both ranges are inside their buffers, and do not overlap.
        let code = unsafe {
            (self.cl.enqueue_copy_buffer)(
                self.queue,
                from.0.0,
                to.0.0,
                size(from.1),
                size(to.1),
                size(bytes),
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        self.ordered("clEnqueueCopyBuffer", code)
    }

    fn launch(
        &mut self,
        module: &Module,
        launch: &Launch<'_>,
        arguments: &[Value<'_, Buffer>],
    ) -> Result<(), DeviceError> {
        let kernel = self.find(module, launch)?;
        self.set_arguments(kernel, launch, arguments)?;
        let [x, y, z] = launch.groups.map(|groups| groups as usize);
        let threads = launch.threads as usize;
        let (global, local) = ([x * threads, y, z], [threads, 1, 1]);
        // SAFETY: the queue and the kernel are alive, its arguments are set; both sizes have three numbers. What the kernel
        // does with its memory is the caller's.
        let code = unsafe {
            (self.cl.enqueue_nd_range_kernel)(
                self.queue,
                kernel.raw,
                3,
                ptr::null(),
                global.as_ptr(),
                local.as_ptr(),
                0,
                ptr::null(),
                ptr::null_mut(),
            )
        };
        if code != ffi::SUCCESS {
            let (entry, why) = (launch.entry.to_owned(), ffi::name(code));
            return Err(DeviceError::Launch { device: self.name(), entry, why });
        }
        // SAFETY: the queue is alive.
        let code = unsafe { (self.cl.flush)(self.queue) };
        self.ordered("clFlush", code)
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        // SAFETY: the queue is alive.
        let code = unsafe { (self.cl.finish)(self.queue) };
        self.ordered("clFinish", code)
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: both are alive, and not used any more.
        unsafe {
            (self.cl.release_command_queue)(self.queue);
            (self.cl.release_context)(self.context);
        }
    }
}
