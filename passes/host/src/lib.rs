//! What hosts share: the passes of Promote over any IR with ops, regions and blocks.
//!
//! A host implements [`Ir`](ir::Ir) for the IR that its users' programs are in, and has all passes.

pub mod adapt;
pub mod callees;
pub mod checks;
pub mod edges;
pub mod fold;
pub mod infer;
pub mod insert;
pub mod instances;
pub mod ir;
pub mod outline;
pub mod pass;
pub mod rewrites;
pub mod rules;
pub mod source;
pub mod strong;
pub mod types;
pub mod units;
pub mod verify;
pub mod view;
