//! The promote dialect: what a front end writes.
//!
//! [`irdl::text`] is the dialect's definition, made from the op table of `promote-lattice`; [`attrs`] checks what
//! IRDL cannot express, and [`extent`] says how extents are computed that are known at run time only. With the feature
//! `mlir`, the module `mlir` registers the dialect in a context, builds its ops and translates its types.

pub mod attrs;
pub mod extent;
pub mod irdl;
#[cfg(feature = "mlir")]
pub mod mlir;
