//! Units: the functions of a module, each inferred and rewritten on its own, and the rest around them.

use mlir_sys::*;
use promote_dialect::mlir::Names;
use promote_lattice::Semantics;
use rayon::prelude::*;

use super::raw::{self, Address};
use super::view::{FUNCTION, View};
use promote_infer::solve::Solution;

/// Units with their solutions.
pub type Units = Vec<(View, Solution)>;

/// What the work on all units shares.
#[derive(Clone, Copy)]
pub struct Shared<'a> {
    /// MLIR's names of ops and dtypes.
    pub names: &'a Names,
    /// Whose rules.
    pub semantics: &'a Semantics,
    /// Whether units are worked on in parallel. The context must be multi-threaded then: its types and attributes are
    /// made without locks otherwise.
    pub threads: bool,
}

impl Shared<'_> {
    /// Does `work` on every item, and returns what comes of it in the items' order.
    pub fn map<T: Send, R: Send>(&self, items: Vec<T>, work: impl Fn(T) -> R + Sync + Send) -> Vec<R> {
        if self.threads && items.len() > 1 {
            items.into_par_iter().map(work).collect()
        } else {
            items.into_iter().map(work).collect()
        }
    }
}

/// The units in `root`: `root` itself, for all that stands in it outside functions nested in it, and those functions.
pub fn roots(root: MlirOperation) -> Vec<Address<MlirOperation>> {
    let mut roots = vec![Address(root)];
    let mut stack: Vec<MlirBlock> = raw::regions(root).flat_map(raw::blocks).collect();
    stack.reverse();
    while let Some(block) = stack.pop() {
        let at = stack.len();
        for operation in raw::operations(block) {
            // SAFETY: the operation is alive.
            if unsafe { mlirOperationGetNumRegions(operation) } == 0 {
                continue;
            }
            if raw::is_named(operation, FUNCTION) {
                roots.push(Address(operation));
            }
            stack.extend(raw::regions(operation).flat_map(raw::blocks));
        }
        stack[at..].reverse();
    }
    roots
}

/// The inputs of a function type.
pub fn inputs(r#type: MlirType) -> Vec<MlirType> {
    // SAFETY: the type is a function type and the indices are in range.
    unsafe {
        (0..mlirFunctionTypeGetNumInputs(r#type)).map(|i| mlirFunctionTypeGetInput(r#type, i)).collect()
    }
}

/// The results of a function type.
pub fn results(r#type: MlirType) -> Vec<MlirType> {
    // SAFETY: the type is a function type and the indices are in range.
    unsafe {
        (0..mlirFunctionTypeGetNumResults(r#type)).map(|i| mlirFunctionTypeGetResult(r#type, i)).collect()
    }
}

/// Gives `function`, whose type was `old`, other results and, if given, other inputs.
pub fn replace_function_type(
    function: MlirOperation,
    old: MlirType,
    new_inputs: Option<&[MlirType]>,
    new_results: &[MlirType],
) {
    let old_inputs = inputs(old);
    let new_inputs = new_inputs.unwrap_or(&old_inputs);
    // SAFETY: all types are alive.
    unsafe {
        let context = raw::context(function);
        let new = mlirFunctionTypeGet(
            context,
            new_inputs.len() as isize,
            new_inputs.as_ptr(),
            new_results.len() as isize,
            new_results.as_ptr(),
        );
        if !mlirTypeEqual(new, old) {
            raw::set_attribute(function, "function_type", mlirTypeAttrGet(new));
        }
    }
}

/// Visits every op in `root` outside functions nested in it, in program order, with a stack of its own.
pub fn walk(root: MlirOperation, visit: &mut impl FnMut(MlirOperation)) {
    let mut stack: Vec<MlirOperation> = Vec::new();
    let push_contents = |operation, stack: &mut Vec<MlirOperation>| {
        let at = stack.len();
        let blocks = raw::regions(operation).flat_map(raw::blocks);
        stack.extend(blocks.filter_map(|block| raw::operations(block).next()));
        stack[at..].reverse();
    };
    push_contents(root, &mut stack);
    while let Some(operation) = stack.pop() {
        // SAFETY: the operation is alive.
        let (next, regions) =
            unsafe { (mlirOperationGetNextInBlock(operation), mlirOperationGetNumRegions(operation)) };
        if !next.ptr.is_null() {
            stack.push(next);
        }
        visit(operation);
        if regions > 0 && !raw::is_named(operation, FUNCTION) {
            push_contents(operation, &mut stack);
        }
    }
}
