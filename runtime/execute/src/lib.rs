//! Executes programs on accelerators.
//!
//! A [program](promote_lower::program) is compiled for a device in two parts: its kernels become code of the device, and the
//! rest, its steps, is executed here. [`Executable::load`] takes both, and [`Executable::call`] runs a function: buffers are
//! memory of the device, numbers are computed here by the definitions that all targets share, and a step that reads a
//! number waits for the device.
//!
//! ## Laws
//! - Results are in memory of the device, as [`Tensor`]s; they may be arguments of other calls on it, and are not copied.
//! - A call that fails, fails with a message, and frees what it has allocated.
//! - Calls from several threads follow one after the other.

mod error;
mod frame;
mod heap;
mod launch;
mod machine;
mod sidecar;
mod tensor;

use std::sync::{Arc, Mutex, PoisonError};

use promote_device::Compiled;
use promote_devices::{Code, Device, DeviceError, Memory, ModuleId};
use promote_lower::program::{ConstantId, EntryKind, Program};
use promote_lower::types::Type;
use rustc_hash::FxHashMap;

pub use error::Error;
pub use sidecar::{Sidecar, SidecarError};
pub use tensor::Tensor;

/// A device that several executables share.
pub type SharedDevice = Arc<Mutex<Box<dyn Device>>>;

/// What a call is given.
#[derive(Clone, Copy, Debug)]
pub enum Argument<'a> {
    /// Elements in memory of this process, row-major, and their extents.
    Host(&'a [u8], &'a [i64]),
    /// A tensor on the device.
    Device(&'a Tensor),
}

impl Argument<'_> {
    /// The extents.
    pub fn dims(&self) -> &[i64] {
        match self {
            Self::Host(_, dims) => dims,
            Self::Device(tensor) => tensor.dims(),
        }
    }
}

/// A program on a device.
pub struct Executable {
    program: Program,
    compiled: Compiled,
    device: SharedDevice,
    /// The module of each entry, by its name.
    modules: FxHashMap<String, ModuleId>,
    functions: FxHashMap<(String, EntryKind), usize>,
    constants: Mutex<FxHashMap<ConstantId, Memory>>,
}

impl Executable {
    /// Loads the code of a program's kernels: some modules, and which of its entries each has.
    ///
    /// # Errors
    /// If the device does not take the code.
    pub fn load(
        device: SharedDevice,
        codes: &[(Vec<String>, Code<'_>)],
        program: Program,
        compiled: Compiled,
    ) -> Result<Self, DeviceError> {
        let functions = program.functions.iter().enumerate();
        let functions =
            functions.map(|(index, function)| ((function.name.clone(), function.entry), index)).collect();
        let constants = Mutex::default();
        let mut loaded =
            Self { program, compiled, device, modules: FxHashMap::default(), functions, constants };
        for (entries, code) in codes {
            let module = lock(&loaded.device).load(*code)?;
            loaded.modules.extend(entries.iter().map(|entry| (entry.clone(), module)));
        }
        Ok(loaded)
    }

    /// The device.
    pub const fn device(&self) -> &SharedDevice {
        &self.device
    }

    /// The types of the arguments of a public function, and of its results.
    pub fn signature(&self, function: &str) -> Option<(&[Type], &[Type])> {
        let index = self.functions.get(&(function.to_owned(), EntryKind::Public))?;
        let function = &self.program.functions[*index];
        Some((&function.inputs, &function.outputs))
    }

    /// Runs a public function. Arguments have been checked: they are of the types that it takes.
    ///
    /// # Errors
    /// If a check fails, an exception is raised, or the device does not do what it is asked to.
    pub fn call(&self, function: &str, arguments: &[Argument<'_>]) -> Result<Vec<Tensor>, Error> {
        machine::run(self, (function, EntryKind::Public), arguments)
    }

    /// The shapes of the results of a public function for such arguments; `None` if only running it tells them.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub fn shapes(&self, function: &str, arguments: &[Argument<'_>]) -> Result<Option<Vec<Vec<i64>>>, Error> {
        if !self.functions.contains_key(&(function.to_owned(), EntryKind::Shapes)) {
            return Ok(None);
        }
        machine::shapes(self, function, arguments).map(Some)
    }

    /// Whether the shapes of a function's results can be told without running it.
    pub fn tells_shapes(&self, function: &str) -> bool {
        self.functions.contains_key(&(function.to_owned(), EntryKind::Shapes))
    }
}

impl Drop for Executable {
    fn drop(&mut self) {
        let mut device = lock(&self.device);
        self.modules.values().for_each(|module| device.unload(*module));
        let constants = self.constants.get_mut().unwrap_or_else(PoisonError::into_inner);
        constants.drain().for_each(|(_, memory)| device.free(memory));
    }
}

/// The device; what panicked with it has left it as its driver does.
fn lock(device: &SharedDevice) -> std::sync::MutexGuard<'_, Box<dyn Device>> {
    device.lock().unwrap_or_else(PoisonError::into_inner)
}
