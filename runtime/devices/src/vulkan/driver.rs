//! The driver: pipelines, launches, transfers.

use std::collections::HashMap;
use std::ffi::CString;

use ash::vk;

use super::batch::{Batches, STAGING};
use super::memory::{Buffer, Use, memory_type};
use super::physical::Physical;
use crate::DeviceError;
use crate::checked::{Driver, Value};
use crate::device::{Code, Description, Launch};
use crate::spirv::{self, Model};

/// The size of a word of an argument block, and of the push constant that is its address.
const WORD: u64 = 8;

/// An open Vulkan device.
pub(super) struct Vulkan {
    description: Description,
    device: ash::Device,
    types: vk::PhysicalDeviceMemoryProperties,
    layout: vk::PipelineLayout,
    batches: Batches,
    /// What buffers are made for.
    purpose: Use,
}

/// The pipelines of a module, by entry.
pub(super) type Module = HashMap<String, Pipeline>;

/// One entry.
pub(super) struct Pipeline {
    raw: vk::Pipeline,
    local_size: [u32; 3],
}

impl Vulkan {
    pub(super) fn new(instance: &ash::Instance, physical: Physical) -> Result<Self, DeviceError> {
        physical.check()?;
        let Physical { handle, description, features, .. } = physical;
        let name = description.name.clone();
        // SAFETY: the device is one of this living instance, here and below.
        let families = unsafe { instance.get_physical_device_queue_family_properties(handle) };
        let family = families
            .iter()
            .position(|family| family.queue_flags.contains(vk::QueueFlags::COMPUTE))
            .and_then(|at| u32::try_from(at).ok())
            .ok_or_else(|| DeviceError::Unsupported {
                device: name.clone(),
                feature: "compute shaders (it has no compute queue)".to_owned(),
            })?;
        let device = features
            .create_device(instance, handle, family)
            .map_err(|code| failure(&name, "vkCreateDevice", code))?;
        // SAFETY: as above.
        let types = unsafe { instance.get_physical_device_memory_properties(handle) };
        let unified =
            description.limits.unified_memory && memory_type(&types, u32::MAX, Use::Unified).is_some();
        let purpose = if unified { Use::Unified } else { Use::Device };
        let made = make_layout(&device).and_then(|layout| match Batches::new(&device, &types, family) {
            Ok(batches) => Ok((layout, batches)),
            Err(code) => {
                // SAFETY: the layout was just made by this device.
                unsafe { device.destroy_pipeline_layout(layout, None) };
                Err(code)
            }
        });
        match made {
            Ok((layout, batches)) => Ok(Self { description, device, types, layout, batches, purpose }),
            Err(code) => {
                // SAFETY: nothing of the device is left.
                unsafe { device.destroy_device(None) };
                Err(failure(&name, "vkCreateCommandPool", code))
            }
        }
    }

    fn name(&self) -> &str {
        &self.description.name
    }

    fn pipeline(&self, shader: vk::ShaderModule, entry: &str) -> Result<vk::Pipeline, DeviceError> {
        let refused = |log: String| DeviceError::Refused { device: self.name().to_owned(), log };
        let name = CString::new(entry).expect("strings of SPIR-V end at their first zero byte");
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(shader)
            .name(&name);
        let info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(self.layout)];
        // SAFETY: all handles are this device's, and the module has that entry.
        let made = unsafe { self.device.create_compute_pipelines(vk::PipelineCache::null(), &info, None) };
        match made {
            Ok(pipelines) => Ok(pipelines[0]),
            Err((_, code @ vk::Result::ERROR_DEVICE_LOST)) => Err(lost(&self.description, code)),
            Err((_, code)) => {
                Err(refused(format!("vkCreateComputePipelines returned {code:?} for `{entry}`")))
            }
        }
    }

    fn pipelines(
        &self,
        shader: vk::ShaderModule,
        entries: Vec<spirv::Entry>,
        module: &mut Module,
    ) -> Result<(), DeviceError> {
        for entry in entries {
            let raw = self.pipeline(shader, &entry.name)?;
            let local_size = entry.local_size.unwrap_or([1; 3]);
            module.insert(entry.name, Pipeline { raw, local_size });
        }
        Ok(())
    }

    fn destroy_pipelines(&self, module: Module) {
        for pipeline in module.into_values() {
            // SAFETY: the pipeline is this device's, and no command that is not done uses it.
            unsafe { self.device.destroy_pipeline(pipeline.raw, None) };
        }
    }

    /// Finds the pipeline, and checks what the module fixes.
    fn find<'m>(&self, module: &'m Module, launch: &Launch<'_>) -> Result<&'m Pipeline, DeviceError> {
        let (device, entry) = (self.name().to_owned(), launch.entry.to_owned());
        let Some(pipeline) = module.get(launch.entry) else {
            return Err(DeviceError::NoEntry { device, entry });
        };
        if pipeline.local_size != [launch.threads, 1, 1] {
            let [x, y, z] = pipeline.local_size;
            let why = format!("its work groups are {x} × {y} × {z}, not {} × 1 × 1", launch.threads);
            return Err(DeviceError::Launch { device, entry, why });
        }
        if launch.arguments.len() as u64 * WORD > STAGING {
            let why = format!("{} arguments are too many", launch.arguments.len());
            return Err(DeviceError::Launch { device, entry, why });
        }
        Ok(pipeline)
    }
}

impl Driver for Vulkan {
    type Buffer = Buffer;
    type Module = Module;

    fn description(&self) -> &Description {
        &self.description
    }

    fn load(&mut self, code: Code<'_>) -> Result<Module, DeviceError> {
        let words = match code {
            Code::SpirV(words) => words,
            Code::Ptx(_) => {
                let feature = "PTX by Vulkan; compile for SPIR-V".to_owned();
                return Err(DeviceError::Unsupported { device: self.name().to_owned(), feature });
            }
        };
        let layout = spirv::check(words, Model::GlCompute, &self.description)?;
        let info = vk::ShaderModuleCreateInfo::default().code(words);
        // SAFETY: the words are laid out as SPIR-V, of capabilities that the device has; that they are valid beyond that is
        // what the interface asks of its caller.
        let shader = unsafe { self.device.create_shader_module(&info, None) }
            .map_err(|code| failure(self.name(), "vkCreateShaderModule", code))?;
        let mut module = Module::new();
        let made = self.pipelines(shader, layout.entries, &mut module);
        // SAFETY: pipelines do not need the shader any more.
        unsafe { self.device.destroy_shader_module(shader, None) };
        match made {
            Ok(()) => Ok(module),
            Err(error) => {
                self.destroy_pipelines(module);
                Err(error)
            }
        }
    }

    fn unload(&mut self, module: Module) {
        // If the device is lost, nothing runs on it.
        self.batches.finish(&self.device).ok();
        self.destroy_pipelines(module);
    }

    fn allocate(&mut self, bytes: u64) -> Result<Buffer, DeviceError> {
        Buffer::new(&self.device, &self.types, bytes, self.purpose).map_err(|code| match code {
            vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
            | vk::Result::ERROR_OUT_OF_HOST_MEMORY
            | vk::Result::ERROR_TOO_MANY_OBJECTS => {
                DeviceError::OutOfMemory { device: self.name().to_owned(), bytes }
            }
            other => failure(self.name(), "vkAllocateMemory", other),
        })
    }

    fn release(&mut self, buffer: Buffer) {
        self.batches.discard(&self.device, buffer);
    }

    fn import(&mut self, _: u64, _: u64) -> Result<Buffer, DeviceError> {
        let feature = "memory of others by Vulkan; copy it".to_owned();
        Err(DeviceError::Unsupported { device: self.name().to_owned(), feature })
    }

    fn address(&self, _: &Buffer) -> Option<u64> {
        // DLPack's `kDLVulkan` has no agreed meaning of its pointer, and a device address is none that others can use.
        None
    }

    fn write(&mut self, to: &Buffer, offset: u64, bytes: &[u8]) -> Result<(), DeviceError> {
        if self.batches.is_idle() && to.write(offset, bytes) {
            return Ok(());
        }
        let mut at = offset;
        for chunk in bytes.chunks(STAGING as usize) {
            let size = chunk.len() as u64;
            let command = self.batches.command(&self.device, size);
            let (commands, staged) = command.map_err(|code| lost(&self.description, code))?;
            staged.buffer.write(staged.offset, chunk);
            let region = [vk::BufferCopy { src_offset: staged.offset, dst_offset: at, size }];
            // SAFETY: the command buffer is being recorded; both ranges are inside their buffers.
            unsafe { self.device.cmd_copy_buffer(commands, staged.buffer.raw, to.raw, &region) };
            at += size;
        }
        Ok(())
    }

    fn read(&mut self, from: &Buffer, offset: u64, bytes: &mut [u8]) -> Result<(), DeviceError> {
        if from.bytes().is_some() {
            self.synchronize()?;
        }
        if let Some(there) = from.bytes() {
            let start = usize::try_from(offset).expect("what is mapped has addresses");
            bytes.copy_from_slice(&there[start..start + bytes.len()]);
            return Ok(());
        }
        let mut at = offset;
        for chunk in bytes.chunks_mut(STAGING as usize) {
            let size = chunk.len() as u64;
            let read = self.batches.read(&self.device, from.raw, at, chunk);
            read.map_err(|code| lost(&self.description, code))?;
            at += size;
        }
        Ok(())
    }

    fn copy(&mut self, from: (&Buffer, u64), to: (&Buffer, u64), bytes: u64) -> Result<(), DeviceError> {
        let command = self.batches.command(&self.device, 0);
        let (commands, _) = command.map_err(|code| lost(&self.description, code))?;
        let region = [vk::BufferCopy { src_offset: from.1, dst_offset: to.1, size: bytes }];
        // SAFETY: the command buffer is being recorded; both ranges are inside their buffers, and do not overlap.
        unsafe { self.device.cmd_copy_buffer(commands, from.0.raw, to.0.raw, &region) };
        Ok(())
    }

    fn launch(
        &mut self,
        module: &Module,
        launch: &Launch<'_>,
        arguments: &[Value<'_, Buffer>],
    ) -> Result<(), DeviceError> {
        let pipeline = self.find(module, launch)?;
        let block: Vec<u8> = arguments
            .iter()
            .flat_map(|argument| match argument {
                Value::Buffer(buffer) => buffer.address.to_le_bytes(),
                Value::Word(word) => word.to_le_bytes(),
            })
            .collect();
        let command = self.batches.command(&self.device, block.len() as u64);
        let (commands, staged) = command.map_err(|code| lost(&self.description, code))?;
        staged.buffer.write(staged.offset, &block);
        let address = (staged.buffer.address + staged.offset).to_le_bytes();
        let [x, y, z] = launch.groups;
        let device = &self.device;
        // SAFETY: the command buffer is being recorded; the pipeline has this layout, whose push constant is 8 bytes; counts of
        // groups are within the limits. What the kernel does with its addresses is the caller's.
        unsafe {
            device.cmd_bind_pipeline(commands, vk::PipelineBindPoint::COMPUTE, pipeline.raw);
            device.cmd_push_constants(commands, self.layout, vk::ShaderStageFlags::COMPUTE, 0, &address);
            device.cmd_dispatch(commands, x, y, z);
        }
        Ok(())
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        self.batches.finish(&self.device).map_err(|code| lost(&self.description, code))
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        // SAFETY: everything below is this device's; it does nothing any more once it is idle (or lost), and the checks
        // above drivers have released all buffers and modules.
        unsafe {
            self.device.device_wait_idle().ok();
            self.batches.destroy(&self.device);
            self.device.destroy_pipeline_layout(self.layout, None);
            self.device.destroy_device(None);
        }
    }
}

/// The layout of all pipelines: one push constant.
fn make_layout(device: &ash::Device) -> Result<vk::PipelineLayout, vk::Result> {
    let ranges = [vk::PushConstantRange::default()
        .stage_flags(vk::ShaderStageFlags::COMPUTE)
        .offset(0)
        .size(WORD as u32)];
    let info = vk::PipelineLayoutCreateInfo::default().push_constant_ranges(&ranges);
    // SAFETY: the device lives, and `info` until the call returns.
    unsafe { device.create_pipeline_layout(&info, None) }
}

fn failure(device: &str, call: &'static str, code: vk::Result) -> DeviceError {
    let (device, name) = (device.to_owned(), format!("{code:?}"));
    match code {
        vk::Result::ERROR_DEVICE_LOST => DeviceError::Lost { device, why: name },
        _ => DeviceError::Driver { device, call, code: name },
    }
}

/// An error of what puts commands on their way: commands recorded before are gone, too.
fn lost(description: &Description, code: vk::Result) -> DeviceError {
    DeviceError::Lost { device: description.name.clone(), why: format!("{code:?}") }
}
