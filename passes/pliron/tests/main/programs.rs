//! Programs that tests share.

use pliron::basic_block::BasicBlock;
use pliron::builtin::op_interfaces::SingleBlockRegionInterface;
use pliron::builtin::ops::{FuncOp, ModuleOp};
use pliron::context::{Context, Ptr};
use pliron::ident;
use pliron::location::Location;
use pliron::op::Op as _;
use pliron::operation::Operation;
use pliron::r#type::TypeHandle;
use pliron::value::Value;
use promote_pliron::dialect::{self, Parts, result_of};

/// A module with one function, whose body is written op by op.
pub struct Program {
    pub context: Context,
    pub module: ModuleOp,
    pub function: FuncOp,
    pub block: Ptr<BasicBlock>,
}

impl Program {
    pub fn new(types: impl FnOnce(&Context) -> (Vec<TypeHandle>, Vec<TypeHandle>)) -> Self {
        let mut context = Context::new();
        let (inputs, results) = types(&context);
        let module = ModuleOp::new(&mut context, ident!("program"));
        let (function, block) = dialect::function(&mut context, "main", &inputs, &results, Location::Unknown)
            .expect("the name is an identifier");
        module.append_operation(&mut context, function.get_operation(), 0);
        Self { context, module, function, block }
    }

    pub fn argument(&self, index: usize) -> Value {
        self.block.deref(&self.context).get_argument(index)
    }

    /// Adds an op at the end of the block.
    pub fn put(&mut self, op: Ptr<Operation>) -> Ptr<Operation> {
        op.insert_at_back(self.block, &self.context);
        op
    }

    /// Adds an op of the dialect.
    pub fn promote(&mut self, op: promote_lattice::Op, operands: &[Value], result: TypeHandle) -> Value {
        let made = dialect::op(&mut self.context, op, operands, vec![], result, Location::Unknown);
        self.put(made);
        result_of(&self.context, made)
    }

    /// Adds another op.
    pub fn op(&mut self, name: &str, parts: Parts<'_>) -> Ptr<Operation> {
        let made = dialect::operation(&mut self.context, name, parts, Location::Unknown);
        self.put(made.unwrap_or_else(|| panic!("there is an op called {name}")))
    }

    pub fn verify(&self) {
        if let Err(error) = pliron::operation::verify_operation(self.module.get_operation(), &self.context) {
            panic!("{error}\n{}", promote_pliron::text::print(&self.context, self.module.get_operation()));
        }
    }
}
