//! The promote dialect: what a front end writes.
//!
//! [`irdl::text`] is the dialect's definition, made from the op table of `promote-lattice`; [`attrs`] checks what
//! IRDL cannot express; with the feature `mlir`, [`mlir`](crate::mlir) registers the dialect in a context, builds its
//! ops and translates its types.

pub mod attrs;
pub mod irdl;
#[cfg(feature = "mlir")]
pub mod mlir;
