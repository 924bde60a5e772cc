//! What the work on all units of a program shares.

use mlir_sys::MlirOperation;
use promote_diagnostics::Diagnostic;
use promote_dialect::mlir::Names;
use promote_host::ir::Ir;
use promote_host::units;
use promote_host::verify;
use promote_lattice::Semantics;

use super::ir::Mlir;
use super::raw::Address;

/// What the work on all units of a program shares.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    /// The IR.
    pub ir: &'a Mlir,
    /// Whose rules.
    pub semantics: &'a Semantics,
}

impl<'a> Shared<'a> {
    /// MLIR's names of ops and dtypes.
    pub fn names(&self) -> &'a Names {
        &self.ir.vocabulary.names
    }

    /// Does `work` on every item, and returns what comes of it in the items' order.
    pub fn map<T: Send, R: Send>(self, items: Vec<T>, work: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
        self.ir.clone().map(items, |_, item| work(item))
    }

    /// The units in an op.
    pub fn roots(&self, root: MlirOperation) -> Vec<Address<MlirOperation>> {
        units::roots(self.ir, Address(root))
    }

    /// Visits every op in `root` outside functions nested in it, in program order.
    pub fn walk(&self, root: MlirOperation, visit: &mut impl FnMut(MlirOperation)) {
        units::walk(self.ir, Address(root), &mut |operation: Address<MlirOperation>| visit(operation.0));
    }

    /// Everything in `root` that is not strong, in program order.
    pub fn verify_strong(self, root: MlirOperation) -> Vec<Diagnostic> {
        verify::verify_strong(&mut self.ir.clone(), Address(root), Vec::new(), self.semantics)
    }
}
