//! Why a call fails.

use promote_devices::DeviceError;
use promote_scalar::Trap;

/// Why a call fails.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The device, or its driver.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A check of the program.
    #[error("{0}")]
    Check(String),
    /// An exception, and the op that raised it.
    #[error("{place}: {}", trap_text(*.trap))]
    Trap {
        /// What was raised.
        trap: Trap,
        /// The op, with its place in the source if that is known.
        place: String,
    },
    /// An extent is negative, or a tensor larger than any memory.
    #[error("a tensor of shape {dims:?} with elements of {size} bytes {why}")]
    Shape {
        /// The extents.
        dims: Vec<i64>,
        /// The bytes of an element.
        size: usize,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The program has no such public function.
    #[error("there is no public function @{0}")]
    NoFunction(String),
}

const fn trap_text(trap: Trap) -> &'static str {
    match trap {
        Trap::DivisionByZero => "integer division by zero",
        Trap::NegativePower => "an integer is raised to a negative power",
        Trap::IndexOutOfRange => "an index is out of range",
    }
}
