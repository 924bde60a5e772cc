//! The ops of the dialect, made from its op table.

use pliron::builtin::op_interfaces::{
    AtLeastNOpdsInterface, AtMostNOpdsInterface, NOpdsInterface, NRegionsInterface, OneResultInterface,
};
use pliron::common_traits::Verify;
use pliron::context::{Context, Ptr};
use pliron::derive::{op_interface_impl, pliron_op};
use pliron::op::Op as _;
use pliron::operation::Operation;
use pliron::opts::dce::SideEffects;
use pliron::result::Result;
use pliron::verify_err;
use promote_dialect::attrs;
use promote_lattice::Op;

use super::Concrete;
use crate::attributes::{name, value};

macro_rules! promote_op {
    ($op:ident $title:ident $name:literal $doc:literal [$($interface:tt)*]) => {
        #[doc = concat!("`", $name, "`: ", $doc, ".")]
        #[pliron_op(name = $name, format, interfaces = [OneResultInterface, NRegionsInterface<0>, $($interface)*])]
        pub struct $title;

        impl Verify for $title {
            fn verify(&self, context: &Context) -> Result<()> {
                verify(self.get_operation(), Op::$op, context)
            }
        }

        #[op_interface_impl]
        impl SideEffects for $title {
            fn has_side_effects(&self, _: &Context) -> bool {
                false
            }
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/promote.rs"));

/// What pliron's interfaces do not say: the attributes must be those of the op's row.
fn verify(operation: Ptr<Operation>, op: Op, context: &Context) -> Result<()> {
    let operation = operation.deref(context);
    let named =
        operation.attributes.0.iter().filter_map(|(key, found)| Some((name(key)?, value(context, found))));
    let named: Vec<_> = named.collect();
    match attrs::check(op, named.iter().map(|(name, value)| (name.as_str(), value.clone()))) {
        Ok(_) => Ok(()),
        Err(problems) => {
            let texts: Vec<_> =
                problems.iter().map(|problem| format!("{problem}: {}", problem.remedy())).collect();
            verify_err!(operation.loc(), "{}", texts.join("; "))
        }
    }
}
