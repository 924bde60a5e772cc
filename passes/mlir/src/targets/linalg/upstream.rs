//! Ops on tensors that upstream passes write, and that upstream's bufferization does not take.
//!
//! A choice between two tensors by one truth value stays `arith.select`; one by element becomes a `linalg.generic`. What
//! has no value, `ub.poison`, becomes an empty tensor.

use mlir_sys::*;
use promote_lattice::{DType, Op};

use super::build::{Builder, Make};
use super::extent::EQUAL;
use super::types::Signless;
use super::{Failure, Lowering, unsupported};
use crate::ir::{POISON, SELECT};
use crate::raw;
use crate::units::Shared;
use promote_diagnostics::Diagnostic;
use promote_lower::graph::{Graph, NodeId};
use promote_lower::ops;

/// Puts what it means in the place of each such op in `root`; what is wrong.
pub fn lower(root: MlirOperation, shared: Shared<'_>, types: &mut Signless) -> Vec<Diagnostic> {
    let (mut choices, mut poisons) = (Vec::new(), Vec::new());
    shared.walk(root, &mut |operation| {
        if raw::is_named(operation, SELECT) && raw::is_tensor(raw::value_type(raw::operand(operation, 0))) {
            choices.push(operation);
        } else if raw::is_named(operation, POISON)
            && raw::rank(raw::value_type(raw::result(operation))).is_some()
        {
            poisons.push(operation);
        }
    });
    poisons.into_iter().for_each(make_empty);
    let lowered = choices.into_iter().map(|operation| choose(operation, shared, types));
    lowered.filter_map(Result::err).collect()
}

fn replace(operation: MlirOperation, new: MlirValue) {
    raw::replace_all_uses(raw::result(operation), new);
    // SAFETY: nothing uses it any more, and each op that was found is replaced once.
    unsafe { raw::erase(operation) };
}

/// A dynamic extent is 1, which is compatible with any other.
fn make_empty(operation: MlirOperation) {
    let r#type = raw::value_type(raw::result(operation));
    let mut builder = Builder::before(operation);
    let one = builder.index(1);
    let dynamic = vec![one; raw::extents(r#type).filter(Option::is_none).count()];
    replace(operation, builder.add("tensor.empty", &dynamic, r#type));
}

/// The dtype of a tensor, and its extents.
fn tensor(value: MlirValue, shared: Shared<'_>) -> Option<(DType, Vec<Option<i64>>)> {
    let r#type = raw::value_type(value);
    raw::rank(r#type)?;
    // SAFETY: the type is a tensor's.
    let dtype = shared.names().dtype(unsafe { mlirShapedTypeGetElementType(r#type) })?;
    Some((dtype, raw::extents(r#type).collect()))
}

/// A choice by element. One of elements that the dialect does not have stays.
fn choose(operation: MlirOperation, shared: Shared<'_>, types: &mut Signless) -> Result<(), Diagnostic> {
    let operands: Vec<MlirValue> = raw::operands(operation).collect();
    let known: Option<Vec<_>> = operands.iter().map(|operand| tensor(*operand, shared)).collect();
    let Some(known) = known else { return Ok(()) };
    let mut graph = Graph::default();
    let sources = known.iter().zip(0..).map(|((dtype, dims), number)| graph.source(number, *dtype, dims));
    let nodes: Vec<NodeId> = sources.collect();
    let before: Vec<_> = nodes.iter().map(|node| graph.shape(*node)).collect();
    let result = ops::select(&mut graph, nodes[0], nodes[1], nodes[2]);
    let sources = operands.into_iter().map(Some).collect();
    let mut lowering = Lowering::new(operation, Op::Where, (graph, sources), shared, types);
    for other in &before[1..] {
        for (a, b) in before[0].iter().zip(other).filter(|(a, b)| a != b) {
            let (a, b) = (lowering.own_extent(*a), lowering.own_extent(*b));
            let alike = lowering.compare(EQUAL, a, b);
            let message = format!("{}{SELECT}: the operands have different shapes", lowering.place);
            let message = lowering.builder.string_attribute(&message);
            let make = Make { operands: &[alike], attributes: &[("msg", message)], ..Make::default() };
            lowering.builder.make("cf.assert", &make);
        }
    }
    let made = lowering.render_all(result).map_err(|Failure| unsupported(operation))?;
    let made = lowering.cast(made, raw::value_type(raw::result(operation)));
    replace(operation, made);
    Ok(())
}
