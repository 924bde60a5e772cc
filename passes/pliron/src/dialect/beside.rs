//! The ops of `arith`, `math`, `index`, `tensor` and `ub` on numbers and tensors, made from a table.
//!
//! They are verified for their numbers of operands and results. What types they take, lowering says.

use pliron::op::Op as _;

use super::ByName;

/// What each module of ops imports.
mod uniform {
    pub(super) use pliron::builtin::op_interfaces::{
        AtLeastNOpdsInterface, NOpdsInterface, NRegionsInterface, NResultsInterface, OneResultInterface,
    };
    pub(super) use pliron::context::Context;
    pub(super) use pliron::derive::{op_interface_impl, pliron_op};
    pub(super) use pliron::opts::dce::SideEffects;
}

macro_rules! uniform_op {
    ($title:ident $mlir:literal $name:literal $effects:literal [$($interface:tt)*]) => {
        #[doc = concat!("`", $mlir, "` of MLIR.")]
        #[pliron_op(name = $name, format, interfaces = [NRegionsInterface<0>, $($interface)*], verifier = "succ")]
        pub struct $title;

        #[op_interface_impl]
        impl SideEffects for $title {
            fn has_side_effects(&self, _: &Context) -> bool {
                $effects
            }
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/beside.rs"));
