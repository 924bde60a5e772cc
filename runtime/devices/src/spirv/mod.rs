//! What drivers must know of a SPIR-V module before they hand it on: entries, what these take, capabilities.
//!
//! Drivers are allowed to crash on modules that are not valid. This reads the module's layout, so that what is no SPIR-V
//! at all is refused; that the rest is valid, its maker knows (`spirv-val` says).

use crate::DeviceError;
mod layout;

use crate::device::{Description, FloatControls, Limits};

/// How an entry is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Model {
    /// Vulkan compute.
    GlCompute,
    /// OpenCL.
    Kernel,
}

/// An entry point.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) model: Model,
    pub(crate) name: String,
    pub(crate) local_size: Option<[u32; 3]>,
    /// Other execution modes that have one literal: the mode and the literal.
    pub(crate) modes: Vec<(u32, u32)>,
    /// What it takes (OpenCL only).
    pub(crate) parameters: Vec<Parameter>,
    /// How much memory a group shares, without padding.
    pub(crate) shared_bytes: u64,
}

/// What a kernel takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// A pointer to `CrossWorkgroup` memory.
    Memory,
    /// A number of 64 bits.
    Word,
    /// What no launch can give.
    Other,
}

/// A module's layout.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) capabilities: Vec<u32>,
    pub(crate) entries: Vec<Entry>,
}

/// Capabilities that a device may lack: number, name, and whether it has what is needed.
type Need = (u32, &'static str, fn(&Limits) -> bool);

const NEEDS: [Need; 8] = [
    (9, "Float16 (arithmetic on 16-bit floats)", |has| has.has_f16),
    (10, "Float64 (arithmetic on 64-bit floats)", |has| has.has_f64),
    (11, "Int64 (arithmetic on 64-bit integers)", |has| has.has_i64),
    (22, "Int16 (arithmetic on 16-bit integers)", |has| has.has_i16),
    (39, "Int8 (arithmetic on 8-bit integers)", |has| has.has_i8),
    (4433, "StorageBuffer16BitAccess (loads and stores of 16 bits)", |has| has.has_16bit_storage),
    (4448, "StorageBuffer8BitAccess (loads and stores of 8 bits)", |has| has.has_8bit_storage),
    (4449, "UniformAndStorageBuffer8BitAccess", |has| has.has_8bit_storage),
];

/// Execution modes of float controls that a device may lack.
type Mode = (u32, &'static str, fn(&FloatControls) -> bool);

const MODES: [Mode; 3] = [
    (4459, "DenormPreserve", |has| has.denorm_preserve),
    (4461, "SignedZeroInfNanPreserve", |has| has.signed_zero_inf_nan_preserve),
    (4462, "RoundingModeRTE", |has| has.rounding_mode_rte),
];

/// Reads a module for a device, and refuses what the device would not take.
pub(crate) fn check(words: &[u32], model: Model, on: &Description) -> Result<Layout, DeviceError> {
    let refused = |log| DeviceError::Refused { device: on.name.clone(), log };
    let unsupported = |feature| DeviceError::Unsupported { device: on.name.clone(), feature };
    let layout = layout::layout(words).map_err(refused)?;
    if let Some(entry) = layout.entries.iter().find(|entry| entry.model != model) {
        let (name, api) = (&entry.name, on.api);
        return Err(refused(format!(
            "entry `{name}` is of the execution model {:?}, not {api}'s",
            entry.model
        )));
    }
    for (number, name, has) in NEEDS {
        if layout.capabilities.contains(&number) && !has(&on.limits) {
            return Err(unsupported(format!("the SPIR-V capability {name}")));
        }
    }
    for (mode, width) in layout.entries.iter().flat_map(|entry| &entry.modes) {
        let floats = match width {
            16 => &on.limits.floats[0],
            32 => &on.limits.floats[1],
            64 => &on.limits.floats[2],
            _ => continue,
        };
        if let Some((_, name, _)) = MODES.iter().find(|(number, _, has)| number == mode && !has(floats)) {
            return Err(unsupported(format!("the SPIR-V execution mode {name} for {width}-bit floats")));
        }
    }
    let most = u64::from(on.limits.shared_bytes);
    if let Some(entry) = layout.entries.iter().find(|entry| entry.shared_bytes > most) {
        let (name, bytes) = (&entry.name, entry.shared_bytes);
        return Err(unsupported(format!("the {bytes} bytes that work groups of `{name}` share, but {most}")));
    }
    Ok(layout)
}
