//! `promote-to-linalg`: what it writes, and what its programs compute when stock MLIR tools run them.

mod elementwise;
mod random;
mod snapshots;
pub mod stock;
mod structure;
mod traps;
