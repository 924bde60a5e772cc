//! Memory, and who used it: accesses that are out of bounds, not aligned, or race with others are faults.

mod global;
mod shared;

pub(crate) use global::Global;
pub use global::{Allocations, Limits};
pub(crate) use shared::{Place, Shared, placed};

/// What accesses are to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    /// `.global`
    Global,
    /// `.global.nc`: memory that nobody writes during the launch.
    ReadOnly,
    /// `.shared`
    Shared,
}

/// The first address of shared memory, so that the number of a byte in an array is none by itself.
pub(crate) const SHARED_START: u64 = 0x1000;
