//! What MLIR asks of structured ops beyond what flows along their [edges](super::edges): of what types their own operands are,
//! what their regions are given and how they end, and where the ops stand that end them.

use pliron::basic_block::BasicBlock;
use pliron::common_traits::Verify;
use pliron::context::{Context, Ptr};
use pliron::linked_list::ContainsLinkedList;
use pliron::op::Op;
use pliron::operation::Operation;
use pliron::region::Region;
use pliron::result::Result;
use pliron::r#type::{TypeHandle, Typed};
use pliron::value::Value;
use pliron::verify_err;
use rustc_hash::FxHashSet;

use super::{
    ConditionOp, ExecuteRegionOp, ForOp, ForallOp, GenerateOp, GenerateYieldOp, IfOp, InParallelOp,
    IndexSwitchOp, ParallelOp, ReduceOp, ReduceReturnOp, WhileOp, YieldOp,
};
use crate::attributes::{CASES, IntsAttr};
use crate::dialect::requires;
use crate::types::{Element, IndexType, TensorType, is_plain_integer, scalar};

/// The ops that may only end the regions of certain ops.
macro_rules! ends {
    ($($title:ident: $what:literal in $($parent:ident)|+;)+) => {$(
        impl Verify for $title {
            fn verify(&self, context: &Context) -> Result<()> {
                let operation = self.get_operation().deref(context);
                let parent = operation.get_parent_op(context);
                let is_there =
                    |parent| [$(Operation::is_op::<$parent>(parent, context)),+].contains(&true);
                match parent.is_some_and(is_there) {
                    true => Ok(()),
                    false => verify_err!(operation.loc(), $what),
                }
            }
        }
    )+};
}

ends! {
    YieldOp: "scf.yield may only end a region of a structured op with values" in
        IfOp | IndexSwitchOp | ExecuteRegionOp | ForOp | WhileOp;
    InParallelOp: "scf.forall.in_parallel may only end the body of scf.forall" in ForallOp;
    ReduceReturnOp: "scf.reduce.return may only end a region of scf.reduce" in ReduceOp;
    GenerateYieldOp: "tensor.yield may only end the body of tensor.generate" in GenerateOp;
}

impl Verify for ConditionOp {
    fn verify(&self, context: &Context) -> Result<()> {
        let operation = self.get_operation().deref(context);
        let parent = operation.get_parent_op(context);
        if !parent.is_some_and(|parent| Operation::is_op::<WhileOp>(parent, context)) {
            return verify_err!(operation.loc(), "scf.condition may only end the first region of scf.while");
        }
        requires::bit(self.get_operation(), context)
    }
}

impl Verify for IfOp {
    fn verify(&self, context: &Context) -> Result<()> {
        requires::bit(self.get_operation(), context)?;
        let operation = self.get_operation().deref(context);
        for (number, region) in operation.regions().enumerate() {
            // The second may have no block.
            if number == 0 || region.deref(context).get_head().is_some() {
                branch(self.get_operation(), region, context)?;
            }
        }
        Ok(())
    }
}

impl Verify for IndexSwitchOp {
    fn verify(&self, context: &Context) -> Result<()> {
        let operation = self.get_operation().deref(context);
        let cases = operation.attributes.get::<IntsAttr>(&CASES).map_or(&[][..], |cases| &cases.0);
        if cases.len() + 1 != operation.num_regions() {
            return verify_err!(
                operation.loc(),
                "a switch has a region for each of `{CASES}`, after the one for other values"
            );
        }
        let mut known = FxHashSet::default();
        if let Some(again) = cases.iter().find(|case| !known.insert(**case)) {
            return verify_err!(operation.loc(), "a switch has more than one region for {again}");
        }
        if !is_index(operation.get_operand(0).get_type(context), context) {
            return verify_err!(operation.loc(), "scf.index_switch chooses by an index");
        }
        operation.regions().try_for_each(|region| branch(self.get_operation(), region, context))
    }
}

impl Verify for ExecuteRegionOp {
    fn verify(&self, context: &Context) -> Result<()> {
        let operation = self.get_operation().deref(context);
        match operation.get_region(0).deref(context).get_head() {
            Some(first) => given(first, 0, context),
            None => verify_err!(operation.loc(), "scf.execute_region has a block"),
        }
    }
}

impl Verify for ForOp {
    fn verify(&self, context: &Context) -> Result<()> {
        let operation = self.get_operation().deref(context);
        let bounds = [0, 1, 2].map(|bound| operation.get_operand(bound).get_type(context));
        let index = bounds[0];
        let counts = is_index(index, context) || is_plain_integer(context, index);
        if !counts || bounds != [index; 3] {
            return verify_err!(
                operation.loc(),
                "the bounds of scf.for are indices, or integers of one type"
            );
        }
        let body = single(self.get_operation(), operation.get_region(0), context)?;
        let first = body.deref(context).arguments().next();
        if first.map(|first| first.get_type(context)) != Some(index) {
            return verify_err!(
                body.deref(context).loc().clone(),
                "the body of scf.for is given an index of the type of the bounds first"
            );
        }
        ends_with::<YieldOp>(body, "scf.yield", context).map(drop)
    }
}

impl Verify for WhileOp {
    fn verify(&self, context: &Context) -> Result<()> {
        let operation = self.get_operation().deref(context);
        let [before, body] = [0, 1].map(|region| operation.get_region(region));
        let before = single(self.get_operation(), before, context)?;
        ends_with::<ConditionOp>(before, "scf.condition", context)?;
        let body = single(self.get_operation(), body, context)?;
        ends_with::<YieldOp>(body, "scf.yield", context).map(drop)
    }
}

impl Verify for ParallelOp {
    fn verify(&self, context: &Context) -> Result<()> {
        let operation = self.get_operation().deref(context);
        let body = single(self.get_operation(), operation.get_region(0), context)?;
        let dimensions = body.deref(context).get_num_arguments();
        let results = operation.get_num_results();
        if dimensions == 0 || operation.get_num_operands() != 3 * dimensions + results {
            return verify_err!(
                operation.loc(),
                "scf.parallel has three bounds for each dimension, and a value for each result to begin with"
            );
        }
        let bounds = operation.operands().take(3 * dimensions);
        indices(bounds.chain(body.deref(context).arguments()), body, context)?;
        let end = ends_with::<ReduceOp>(body, "scf.reduce", context)?.deref(context);
        let begun = operation.operands().skip(3 * dimensions).map(|value| value.get_type(context));
        let reduced = end.operands().map(|value| value.get_type(context));
        if begun.eq(operation.result_types()) && reduced.eq(operation.result_types()) {
            return Ok(());
        }
        verify_err!(end.loc(), "what scf.parallel begins with and reduces is of the types of its results")
    }
}

impl Verify for ReduceOp {
    fn verify(&self, context: &Context) -> Result<()> {
        let operation = self.get_operation().deref(context);
        let parent = operation.get_parent_op(context);
        if !parent.is_some_and(|parent| Operation::is_op::<ParallelOp>(parent, context)) {
            return verify_err!(operation.loc(), "scf.reduce may only end the body of scf.parallel");
        }
        if operation.num_regions() != operation.get_num_operands() {
            return verify_err!(operation.loc(), "scf.reduce has a region for each operand");
        }
        for (region, operand) in operation.regions().zip(operation.operands()) {
            let of = operand.get_type(context);
            let block = single(self.get_operation(), region, context)?;
            given(block, 2, context)?;
            let end = ends_with::<ReduceReturnOp>(block, "scf.reduce.return", context)?.deref(context);
            let block = block.deref(context);
            if !block.arguments().chain(end.operands()).all(|value| value.get_type(context) == of) {
                return verify_err!(
                    end.loc(),
                    "a region of scf.reduce takes and returns the type of its operand"
                );
            }
        }
        Ok(())
    }
}

impl Verify for ForallOp {
    fn verify(&self, context: &Context) -> Result<()> {
        let operation = self.get_operation().deref(context);
        let body = single(self.get_operation(), operation.get_region(0), context)?;
        let results: Vec<_> = operation.result_types().collect();
        let of = |value: Value| value.get_type(context);
        let last = |values: Vec<Value>| {
            let own = values.len().checked_sub(results.len())?;
            let outputs = values[own..].iter().map(|value| of(*value));
            outputs.eq(results.iter().copied()).then(|| values[..own].to_vec())
        };
        let bounds = last(operation.operands().collect());
        let given = last(body.deref(context).arguments().collect());
        let (Some(bounds), Some(given)) = (bounds, given) else {
            return verify_err!(
                operation.loc(),
                "the last operands of scf.forall, and the last values that its body is given, are of the types of its results"
            );
        };
        indices(bounds.into_iter().chain(given), body, context)?;
        ends_with::<InParallelOp>(body, "scf.forall.in_parallel", context).map(drop)
    }
}

impl Verify for GenerateOp {
    fn verify(&self, context: &Context) -> Result<()> {
        let operation = self.get_operation().deref(context);
        let body = single(self.get_operation(), operation.get_region(0), context)?;
        indices(operation.operands().chain(body.deref(context).arguments()), body, context)?;
        let end = ends_with::<GenerateYieldOp>(body, "tensor.yield", context)?.deref(context);
        let result = operation.get_result(0).get_type(context);
        let result = result.deref(context);
        let Some(tensor) = result.downcast_ref::<TensorType>() else {
            return verify_err!(operation.loc(), "tensor.generate makes a tensor");
        };
        let Some(dims) = tensor.shape().dims() else {
            return verify_err!(operation.loc(), "tensor.generate makes a tensor whose rank is known");
        };
        given(body, dims.len(), context)?;
        let open = dims.iter().filter(|extent| promote_infer::shape::is_dynamic(**extent)).count();
        if open != operation.get_num_operands() {
            return verify_err!(
                operation.loc(),
                "tensor.generate is given each extent that its type leaves open"
            );
        }
        let element = match tensor.element() {
            Element::DType(dtype) => Some(scalar(context, dtype)),
            Element::Other(other) => Some(other),
            Element::Unknown => None,
        };
        if Some(end.get_operand(0).get_type(context)) == element {
            return Ok(());
        }
        verify_err!(end.loc(), "tensor.yield gives an element of the tensor that is made")
    }
}

/// The block of a region that has one.
fn single(operation: Ptr<Operation>, region: Ptr<Region>, context: &Context) -> Result<Ptr<BasicBlock>> {
    let found = region.deref(context);
    match found.get_head().filter(|head| Some(*head) == found.get_tail()) {
        Some(block) => Ok(block),
        None => verify_err!(operation.deref(context).loc(), "the region has one block"),
    }
}

/// Whether a block is given as many values.
fn given(block: Ptr<BasicBlock>, count: usize, context: &Context) -> Result<()> {
    let block = block.deref(context);
    let found = block.get_num_arguments();
    if found == count {
        return Ok(());
    }
    verify_err!(block.loc().clone(), "the region has {found} argument(s), but is given {count}")
}

/// Whether a region is a block that is given nothing and ends with values.
fn branch(operation: Ptr<Operation>, region: Ptr<Region>, context: &Context) -> Result<()> {
    let block = single(operation, region, context)?;
    given(block, 0, context)?;
    ends_with::<YieldOp>(block, "scf.yield", context).map(drop)
}

/// The op that a block ends with, which is of one kind; messages call it `name`.
fn ends_with<T: Op>(block: Ptr<BasicBlock>, name: &str, context: &Context) -> Result<Ptr<Operation>> {
    let block = block.deref(context);
    match block.get_tail() {
        Some(end) if Operation::is_op::<T>(end, context) => Ok(end),
        Some(end) => verify_err!(end.deref(context).loc(), "the region ends with {name}"),
        None => verify_err!(block.loc().clone(), "the region ends with {name}"),
    }
}

/// Whether these are indices.
fn indices(mut values: impl Iterator<Item = Value>, body: Ptr<BasicBlock>, context: &Context) -> Result<()> {
    if values.all(|value| is_index(value.get_type(context), context)) {
        return Ok(());
    }
    verify_err!(
        body.deref(context).loc().clone(),
        "the bounds of dimensions, and positions in them, are indices"
    )
}

fn is_index(of: TypeHandle, context: &Context) -> bool {
    of.deref(context).is::<IndexType>()
}
