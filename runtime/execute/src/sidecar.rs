//! What goes with the code of a device: the program that launches it, and how its kernels are launched.
//!
//! A sidecar is JSON. Of it, [`Executable`](crate::Executable) needs the program and the tensor cores alone; the kernels are spelt out
//! for those who launch them by other means, and show whether this version of the compiler launches them so. That code and sidecar were
//! emitted together is for the caller to know: nothing in them tells.

use promote_device::{Compiled, Entry, RUN, Slot, TensorCores};
use promote_lower::program::{ParseError, Problem, Program};
use serde::{Deserialize, Serialize};

/// The version of the format.
const VERSION: u32 = 1;

/// What goes with the code of a device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sidecar {
    /// The version of this format.
    pub version: u32,
    /// What the code is for: `cuda:sm_90`, `vulkan`, `opencl`.
    pub target: String,
    /// What the code uses tensor cores for.
    #[serde(default = "unused", skip_serializing_if = "is_unused")]
    pub tensor_cores: TensorCores,
    /// The kernels of the code, with what is needed to launch them.
    pub kernels: Vec<Kernel>,
    /// The program, as text.
    pub program: String,
}

const fn unused() -> TensorCores {
    TensorCores::Unused
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_unused(cores: &TensorCores) -> bool {
    *cores == TensorCores::Unused
}

/// How a kernel is launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Its name in the code.
    pub name: String,
    /// The threads of a group.
    pub threads: u32,
    /// What the symbols are, if they are not the extents that a launch states, in order: of `s0`, `s1` and so on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub symbols: Vec<String>,
    /// How many units of work a launch has, in the symbols.
    pub units: String,
    /// How many of them a group does at once. Fewer groups do the rest after them.
    pub units_per_group: i64,
    /// What it takes, in order: `b0` is the buffer of the first node, `s0*8` a number of 64 bits, `exceptions` 32 bits where the
    /// least number of an exception is left, and `base` what is added to those numbers.
    pub parameters: Vec<String>,
}

/// Why a sidecar cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SidecarError {
    /// It is no such JSON.
    #[error("it is not a sidecar: {0}")]
    Json(#[from] serde_json::Error),
    /// It has another version.
    #[error("it has version {0}, and this is version {VERSION}; compile the program again")]
    Version(u32),
    /// The program cannot be read.
    #[error("its program cannot be read: {0}")]
    Program(#[from] ParseError),
    /// The program does not keep its laws.
    #[error("its program does not keep its laws: {0}")]
    Laws(Problem),
    /// The kernels are not those that this version makes of the program.
    #[error("its kernels are those of another version of the compiler; compile the program again")]
    Kernels,
}

/// What a pass of a sort takes after the first: it merges runs of so many elements to ones twice as long, from the first buffer to
/// the second.
const OF_MERGES: [&str; 4] = ["elements", "extent", "extents after it", "elements of a run"];

impl Kernel {
    fn all(compiled: &Compiled) -> Vec<Self> {
        let kernels = compiled.kernels.iter().map(|entry| Self::new(entry, &[]));
        let tiles = compiled.products.iter().flat_map(|product| &product.tiles);
        let products = tiles.map(|(tile, entry)| {
            let tiles = format!("tiles of {} by {}, of all batches", tile.rows, tile.columns);
            Self::new(entry, &[&tiles, "rows", "inner", "columns"])
        });
        let of_runs = format!("runs of {RUN} elements, or fewer at the end of a line");
        let sorts = compiled.sorts.iter();
        let sorts = sorts.flat_map(|sort| {
            [
                Self::new(&sort.runs, &[&of_runs, "extent", "extents after it"]),
                Self::new(&sort.merge, &OF_MERGES),
            ]
        });
        kernels.chain(products).chain(sorts).collect()
    }

    fn new(entry: &Entry, symbols: &[&str]) -> Self {
        let parameter = |slot: &Slot| match slot {
            Slot::Exceptions => "exceptions".to_owned(),
            Slot::Base => "base".to_owned(),
            Slot::Buffer(node) => format!("b{}", node.0),
            Slot::Number(sum) => {
                let terms: Vec<String> = sum.0.iter().map(ToString::to_string).collect();
                if terms.is_empty() { "0".to_owned() } else { terms.join(" + ") }
            }
        };
        Self {
            name: entry.name.clone(),
            symbols: symbols.iter().map(|name| (*name).to_owned()).collect(),
            threads: entry.geometry.threads,
            units: entry.geometry.units.to_string(),
            units_per_group: entry.geometry.per_group,
            parameters: entry.slots.iter().map(parameter).collect(),
        }
    }
}

impl Sidecar {
    /// The sidecar of code that was compiled of a program.
    pub fn new(target: &str, program: &Program, compiled: &Compiled) -> Self {
        Self {
            version: VERSION,
            target: target.to_owned(),
            tensor_cores: compiled.cores,
            kernels: Kernel::all(compiled),
            program: program.to_string(),
        }
    }

    /// As JSON, with a line break at its end.
    pub fn to_json(&self) -> String {
        // Strings and numbers always are JSON.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Reads a sidecar.
    ///
    /// # Errors
    /// If it is none, or one of another version.
    pub fn from_json(text: &str) -> Result<Self, SidecarError> {
        /// What all versions have.
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        match serde_json::from_str(text)? {
            Versioned { version: VERSION } => Ok(serde_json::from_str(text)?),
            Versioned { version } => Err(SidecarError::Version(version)),
        }
    }

    /// The program, and how its kernels are launched.
    ///
    /// # Errors
    /// If it is not one, or the kernels are not as this version makes them.
    pub fn program(&self) -> Result<(Program, Compiled), SidecarError> {
        let program = Program::parse(&self.program)?;
        if let Err(mut problems) = program.verify() {
            return Err(SidecarError::Laws(problems.swap_remove(0)));
        }
        let compiled = Compiled::of(&program, self.tensor_cores);
        if Kernel::all(&compiled) == self.kernels {
            Ok((program, compiled))
        } else {
            Err(SidecarError::Kernels)
        }
    }
}
