//! Devices driven by Vulkan 1.2 or newer.
//!
//! Kernels read and write by device addresses (`bufferDeviceAddress`), so there are no descriptors: a launch is a push
//! constant, the address of its argument block. Commands are recorded into [batches](batch) with a memory barrier before each, and
//! submitted when somebody waits for them or a batch is full.

mod batch;
mod driver;
mod memory;
mod physical;
#[cfg(test)]
mod tests;

use std::sync::OnceLock;

use ash::vk;

use crate::checked::Checked;
use crate::select::{Wanted, select};
use crate::{Api, Description, Device, DeviceError};
use driver::Vulkan;
use physical::Physical;

/// The loaded library and the one instance of this process, which is never destroyed: drivers do not all survive being
/// unloaded.
struct Instance {
    /// Keeps the library loaded.
    _entry: ash::Entry,
    raw: ash::Instance,
}

/// The oldest version of Vulkan that has all that is used here.
const VERSION: u32 = vk::API_VERSION_1_2;

fn instance() -> Result<&'static ash::Instance, DeviceError> {
    static INSTANCE: OnceLock<Result<Instance, DeviceError>> = OnceLock::new();
    INSTANCE.get_or_init(make_instance).as_ref().map(|instance| &instance.raw).map_err(Clone::clone)
}

fn make_instance() -> Result<Instance, DeviceError> {
    let api = Api::Vulkan;
    // SAFETY: loading the system's Vulkan loader runs its initialisers, which is what it is for.
    let entry = unsafe { ash::Entry::load() }.map_err(|why| DeviceError::NoDriver {
        api,
        library: "libvulkan.so.1".to_owned(),
        why: why.to_string(),
    })?;
    let none = |why: String| DeviceError::NoDevice { api, why };
    // SAFETY: the library is loaded.
    let version = unsafe { entry.try_enumerate_instance_version() }
        .map_err(|code| none(format!("vkEnumerateInstanceVersion returned {code:?}")))?
        .unwrap_or(vk::API_VERSION_1_0);
    if version < VERSION {
        return Err(none("the Vulkan loader is older than version 1.2; install a newer one".to_owned()));
    }
    let application = vk::ApplicationInfo::default()
        .application_name(c"promote")
        .engine_name(c"promote")
        .api_version(version.min(vk::API_VERSION_1_3));
    let info = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: `info` and what it refers to live until the call returns.
    let raw = unsafe { entry.create_instance(&info, None) }.map_err(|code| match code {
        vk::Result::ERROR_INCOMPATIBLE_DRIVER => none(
            "there is a Vulkan loader, but no driver below it; install the driver of your device".to_owned(),
        ),
        other => none(format!("vkCreateInstance returned {other:?}")),
    })?;
    Ok(Instance { _entry: entry, raw })
}

/// Every device, graphics cards before processors.
fn devices() -> Result<Vec<Physical>, DeviceError> {
    let instance = instance()?;
    // SAFETY: the instance is never destroyed.
    let handles = unsafe { instance.enumerate_physical_devices() }.map_err(|code| DeviceError::NoDevice {
        api: Api::Vulkan,
        why: format!("vkEnumeratePhysicalDevices returned {code:?}"),
    })?;
    let mut devices: Vec<_> = handles.into_iter().map(|handle| Physical::new(instance, handle)).collect();
    devices.sort_by_key(|device| device.preference);
    devices.iter_mut().enumerate().for_each(|(index, device)| device.description.index = index);
    Ok(devices)
}

pub(crate) fn list() -> Result<Vec<Description>, DeviceError> {
    Ok(devices()?.into_iter().map(|device| device.description).collect())
}

pub(crate) fn open(wanted: Wanted<'_>) -> Result<Box<dyn Device>, DeviceError> {
    let devices = devices()?;
    let chosen = select(Api::Vulkan, devices.iter().map(|device| device.description.name.as_str()), wanted)?;
    let mut first_error = None;
    for (at, device) in devices.into_iter().enumerate() {
        if chosen.is_some_and(|chosen| chosen != at) {
            continue;
        }
        match Vulkan::new(instance()?, device) {
            Ok(driver) => return Ok(Box::new(Checked::new(driver))),
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    Err(first_error.unwrap_or_else(|| DeviceError::NoDevice {
        api: Api::Vulkan,
        why: "the Vulkan driver finds none".to_owned(),
    }))
}
