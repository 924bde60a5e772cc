//! Calls and returns. A function itself is pliron's own `builtin.func`; one without blocks is declared elsewhere.

use std::ops::Range;

use pliron::builtin::attributes::IdentifierAttr;
use pliron::builtin::op_interfaces::{
    CallOpCallable, CallOpInterface, IsTerminatorInterface, NRegionsInterface, NResultsInterface,
    SymbolOpInterface, SymbolUserOpInterface,
};
use pliron::builtin::ops::FuncOp;
use pliron::builtin::type_interfaces::FunctionTypeInterface;
use pliron::builtin::types::FunctionType;
use pliron::common_traits::Verify;
use pliron::context::Context;
use pliron::derive::{op_interface_impl, pliron_op};
use pliron::ident;
use pliron::identifier::Identifier;
use pliron::op::Op;
use pliron::operation::Operation;
use pliron::result::Result;
use pliron::symbol_table::SymbolTableCollection;
use pliron::r#type::{TypeHandle, Typed};
use pliron::verify_err;

use super::requires;
use crate::attributes::CALLEE;
use crate::host::types::text;

/// `func.call` of MLIR: calls the function that `promote_callee` names.
#[pliron_op(name = "promote_func.call", format, interfaces = [NRegionsInterface<0>])]
pub struct CallOp;

impl CallOp {
    /// The function that it names.
    pub fn name(&self, context: &Context) -> Option<Identifier> {
        let operation = self.get_operation().deref(context);
        operation.attributes.get::<IdentifierAttr>(&CALLEE).map(|name| name.as_ref().clone())
    }

    /// The type of a function that takes its operands and returns its results.
    fn signature(&self, context: &Context) -> TypeHandle {
        let operation = self.get_operation().deref(context);
        let taken = requires::types(operation.operands(), context);
        FunctionType::get(context, taken, operation.result_types().collect()).into()
    }
}

impl Verify for CallOp {
    fn verify(&self, context: &Context) -> Result<()> {
        match self.name(context) {
            Some(_) => Ok(()),
            None => {
                verify_err!(self.loc(context), "a call must name a function, in the attribute `{CALLEE}`")
            }
        }
    }
}

#[op_interface_impl]
impl CallOpInterface for CallOp {
    fn callee(&self, context: &Context) -> CallOpCallable {
        // Verification refuses a call without a name.
        CallOpCallable::Direct(self.name(context).unwrap_or(ident!("_")))
    }

    fn arg_range(&self, context: &Context) -> Range<usize> {
        0..self.get_operation().deref(context).get_num_operands()
    }

    /// Operands and results say it; no attribute repeats it.
    fn callee_type(&self, context: &Context) -> TypeHandle {
        self.signature(context)
    }

    /// Operands and results say it.
    fn set_callee_type(&self, _: &mut Context, _: TypeHandle) {}

    fn verify(_: &dyn Op, _: &Context) -> Result<()>
    where
        Self: Sized,
    {
        Ok(())
    }
}

#[op_interface_impl]
impl SymbolUserOpInterface for CallOp {
    fn used_symbols(&self, context: &Context) -> Vec<Identifier> {
        self.name(context).into_iter().collect()
    }

    fn verify_symbol_uses(&self, context: &Context, tables: &mut SymbolTableCollection) -> Result<()> {
        let Some(name) = self.name(context) else { return Ok(()) };
        let found = tables.lookup_symbol_in_nearest_table(context, self.get_operation(), &name);
        let Some(function) =
            found.and_then(|symbol| Operation::get_op::<FuncOp>(symbol.get_operation(), context))
        else {
            return verify_err!(self.loc(context), "no function is called {name}");
        };
        let stated = function.get_attr_builtin_func_type(context).map(|stated| stated.get_type(context));
        if stated == Some(self.signature(context)) {
            return Ok(());
        }
        verify_err!(self.loc(context), "the call is not of the type of the function {name}")
    }
}

/// `func.return` of MLIR: ends a function, of which the operands are the results.
#[pliron_op(
    name = "promote_func.return",
    format,
    interfaces = [IsTerminatorInterface, NResultsInterface<0>, NRegionsInterface<0>]
)]
pub struct ReturnOp;

impl Verify for ReturnOp {
    fn verify(&self, context: &Context) -> Result<()> {
        let operation = self.get_operation().deref(context);
        let parent = operation.get_parent_op(context);
        let Some(function) = parent.and_then(|parent| Operation::get_op::<FuncOp>(parent, context)) else {
            return verify_err!(operation.loc(), "func.return may only end a function");
        };
        let (name, stated) = (function.get_symbol_name(context), function.get_type(context));
        let stated = stated.deref(context);
        let results = stated.downcast_ref::<FunctionType>().map_or_else(Vec::new, FunctionType::res_types);
        let returned = operation.get_num_operands();
        if returned != results.len() {
            return verify_err!(
                operation.loc(),
                "func.return has {returned} operand(s), but the function {name} has {} result(s)",
                results.len()
            );
        }
        let types = requires::types(operation.operands(), context);
        match types.into_iter().zip(results).enumerate().find(|(_, (found, result))| found != result) {
            None => Ok(()),
            Some((number, (found, result))) => verify_err!(
                operation.loc(),
                "the result {number} of the function {name} is {}, and {} is returned",
                text(context, result),
                text(context, found)
            ),
        }
    }
}
