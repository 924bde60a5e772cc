//! What a Vulkan device is and has.

use ash::vk;

use crate::device::{Description, FloatControls, Limits};
use crate::{Api, DeviceError};

/// A device that was found, not opened.
pub(super) struct Physical {
    pub(super) handle: vk::PhysicalDevice,
    pub(super) description: Description,
    pub(super) features: Features,
    /// Devices of lower numbers come first.
    pub(super) preference: u8,
    version: u32,
}

/// The features that are used where they are there.
#[derive(Clone, Copy, Default)]
pub(super) struct Features {
    core: vk::PhysicalDeviceFeatures,
    storage_16bit: bool,
    vulkan12: vk::PhysicalDeviceVulkan12Features<'static>,
}

impl Physical {
    pub(super) fn new(instance: &ash::Instance, handle: vk::PhysicalDevice) -> Self {
        // SAFETY: `handle` is a device of this living instance, here and below.
        let core = unsafe { instance.get_physical_device_properties(handle) };
        let features = if core.api_version < super::VERSION {
            Features::default()
        } else {
            Features::new(instance, handle)
        };
        let unified =
            matches!(core.device_type, vk::PhysicalDeviceType::CPU | vk::PhysicalDeviceType::INTEGRATED_GPU);
        let mut description = Description {
            api: Api::Vulkan,
            index: 0,
            name: text(core.device_name_as_c_str()),
            driver: format!("{:#x}", core.driver_version),
            limits: Limits { unified_memory: unified, ..features.limits(&core.limits) },
        };
        // SAFETY: as above.
        let memory = unsafe { instance.get_physical_device_memory_properties(handle) };
        description.limits.memory_bytes = memory
            .memory_heaps_as_slice()
            .iter()
            .filter(|heap| heap.flags.contains(vk::MemoryHeapFlags::DEVICE_LOCAL))
            .map(|heap| heap.size)
            .max()
            .unwrap_or(0);
        description.limits.allocation_bytes = description.limits.memory_bytes;
        if core.api_version >= super::VERSION {
            describe(instance, handle, core.api_version, &mut description);
        }
        let preference = match core.device_type {
            vk::PhysicalDeviceType::DISCRETE_GPU => 0,
            vk::PhysicalDeviceType::INTEGRATED_GPU => 1,
            vk::PhysicalDeviceType::VIRTUAL_GPU => 2,
            vk::PhysicalDeviceType::CPU => 4,
            _ => 3,
        };
        Self { handle, description, features, preference, version: core.api_version }
    }

    /// Says what is missing that kernels cannot do without.
    pub(super) fn check(&self) -> Result<(), DeviceError> {
        let features = &self.features;
        let missing = if self.version < super::VERSION {
            "Vulkan 1.2; install a newer driver"
        } else if features.vulkan12.buffer_device_address == vk::FALSE {
            "the Vulkan feature bufferDeviceAddress, by which kernels find their memory"
        } else if features.core.shader_int64 == vk::FALSE {
            "the Vulkan feature shaderInt64, by which kernels compute addresses"
        } else {
            return Ok(());
        };
        Err(DeviceError::Unsupported { device: self.description.name.clone(), feature: missing.to_owned() })
    }
}

impl Features {
    fn new(instance: &ash::Instance, handle: vk::PhysicalDevice) -> Self {
        let mut vulkan11 = vk::PhysicalDeviceVulkan11Features::default();
        let mut vulkan12 = vk::PhysicalDeviceVulkan12Features::default();
        let mut all =
            vk::PhysicalDeviceFeatures2::default().push_next(&mut vulkan11).push_next(&mut vulkan12);
        // SAFETY: a device of this living instance, of Vulkan 1.2 or newer, which knows the structures in the chain.
        unsafe { instance.get_physical_device_features2(handle, &mut all) };
        let there = all.features;
        let core = vk::PhysicalDeviceFeatures {
            shader_int64: there.shader_int64,
            shader_float64: there.shader_float64,
            shader_int16: there.shader_int16,
            ..Default::default()
        };
        let vulkan12 = vk::PhysicalDeviceVulkan12Features {
            buffer_device_address: vulkan12.buffer_device_address,
            shader_int8: vulkan12.shader_int8,
            shader_float16: vulkan12.shader_float16,
            storage_buffer8_bit_access: vulkan12.storage_buffer8_bit_access,
            vulkan_memory_model: vulkan12.vulkan_memory_model,
            vulkan_memory_model_device_scope: vulkan12.vulkan_memory_model_device_scope,
            shader_buffer_int64_atomics: vulkan12.shader_buffer_int64_atomics,
            shader_shared_int64_atomics: vulkan12.shader_shared_int64_atomics,
            shader_subgroup_extended_types: vulkan12.shader_subgroup_extended_types,
            scalar_block_layout: vulkan12.scalar_block_layout,
            ..Default::default()
        };
        Self { core, storage_16bit: vulkan11.storage_buffer16_bit_access == vk::TRUE, vulkan12 }
    }

    /// Creates a device with these features and one queue.
    pub(super) fn create_device(
        &self,
        instance: &ash::Instance,
        handle: vk::PhysicalDevice,
        family: u32,
    ) -> Result<ash::Device, vk::Result> {
        let mut vulkan11 =
            vk::PhysicalDeviceVulkan11Features::default().storage_buffer16_bit_access(self.storage_16bit);
        let mut vulkan12 = self.vulkan12;
        let mut features = vk::PhysicalDeviceFeatures2::default()
            .features(self.core)
            .push_next(&mut vulkan11)
            .push_next(&mut vulkan12);
        let queues =
            [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut features);
        // SAFETY: a device of this living instance, with features and a queue family that it said it has; all of `info`
        // lives until the call returns.
        unsafe { instance.create_device(handle, &info, None) }
    }

    fn limits(&self, core: &vk::PhysicalDeviceLimits) -> Limits {
        let is = |feature: vk::Bool32| feature == vk::TRUE;
        Limits {
            has_f64: is(self.core.shader_float64),
            has_f16: is(self.vulkan12.shader_float16),
            has_i64: is(self.core.shader_int64),
            has_i16: is(self.core.shader_int16),
            has_i8: is(self.vulkan12.shader_int8),
            has_16bit_storage: self.storage_16bit,
            has_8bit_storage: is(self.vulkan12.storage_buffer8_bit_access),
            subgroup_threads: 1,
            multiprocessors: 1,
            loop_iterations: None,
            shared_bytes: core.max_compute_shared_memory_size,
            group_threads: core.max_compute_work_group_size[0].min(core.max_compute_work_group_invocations),
            groups: core.max_compute_work_group_count,
            ..Limits::default()
        }
    }
}

/// What versions since 1.0 added to describe a device.
fn describe(
    instance: &ash::Instance,
    handle: vk::PhysicalDevice,
    version: u32,
    description: &mut Description,
) {
    let mut vulkan11 = vk::PhysicalDeviceVulkan11Properties::default();
    let mut vulkan12 = vk::PhysicalDeviceVulkan12Properties::default();
    let mut vulkan13 = vk::PhysicalDeviceVulkan13Properties::default();
    let mut all = vk::PhysicalDeviceProperties2::default().push_next(&mut vulkan11).push_next(&mut vulkan12);
    if version >= vk::API_VERSION_1_3 {
        all = all.push_next(&mut vulkan13);
    }
    // SAFETY: a device of this living instance, of a version that knows the structures in the chain.
    unsafe { instance.get_physical_device_properties2(handle, &mut all) };
    let limits = &mut description.limits;
    limits.subgroup_threads = vulkan11.subgroup_size.max(1);
    limits.has_shuffles = vulkan11.subgroup_supported_stages.contains(vk::ShaderStageFlags::COMPUTE)
        && vulkan11.subgroup_supported_operations.contains(vk::SubgroupFeatureFlags::SHUFFLE);
    limits.allocation_bytes = limits.allocation_bytes.min(vulkan11.max_memory_allocation_size);
    if vulkan13.max_buffer_size != 0 {
        limits.allocation_bytes = limits.allocation_bytes.min(vulkan13.max_buffer_size);
    }
    limits.floats = float_controls(&vulkan12);
    // Mesa's drivers of software renderers guard against endless loops.
    if vulkan12.driver_id == vk::DriverId::MESA_LLVMPIPE {
        limits.loop_iterations = Some(LLVMPIPE_LOOPS);
    }
    let (name, info) = (text(vulkan12.driver_name_as_c_str()), text(vulkan12.driver_info_as_c_str()));
    if !name.is_empty() {
        description.driver = format!("{name} {info}");
    }
}

/// After so many iterations of all its loops together llvmpipe ends a thread's loops.
const LLVMPIPE_LOOPS: u32 = 65_535;

fn float_controls(vulkan12: &vk::PhysicalDeviceVulkan12Properties<'_>) -> [FloatControls; 3] {
    let controls = |denorm: vk::Bool32, special: vk::Bool32, rte: vk::Bool32| FloatControls {
        denorm_preserve: denorm == vk::TRUE,
        signed_zero_inf_nan_preserve: special == vk::TRUE,
        rounding_mode_rte: rte == vk::TRUE,
        ..FloatControls::default()
    };
    [
        controls(
            vulkan12.shader_denorm_preserve_float16,
            vulkan12.shader_signed_zero_inf_nan_preserve_float16,
            vulkan12.shader_rounding_mode_rte_float16,
        ),
        controls(
            vulkan12.shader_denorm_preserve_float32,
            vulkan12.shader_signed_zero_inf_nan_preserve_float32,
            vulkan12.shader_rounding_mode_rte_float32,
        ),
        controls(
            vulkan12.shader_denorm_preserve_float64,
            vulkan12.shader_signed_zero_inf_nan_preserve_float64,
            vulkan12.shader_rounding_mode_rte_float64,
        ),
    ]
}

fn text(name: Result<&std::ffi::CStr, std::ffi::FromBytesUntilNulError>) -> String {
    name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}
