//! Dtypes, promotion lattices, promotion semantics and op rules.
//!
//! Pure data and pure functions: no IR, no LLVM.

pub mod convert;
pub mod document;
pub mod dtype;
pub mod lattice;
pub mod op;
pub mod policy;
pub mod properties;
pub mod scalar;
pub mod semantics;

pub use dtype::{DType, Kind};
pub use lattice::Lattice;
pub use op::Op;
pub use policy::Policy;
pub use semantics::Semantics;
