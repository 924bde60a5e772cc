//! `promote-to-linalg`: strong ops become `linalg` on tensors, with `arith`, `complex`, `tensor` and `scf` in it.
//!
//! [`lower`] does it for a whole program, op by op. What an op means in primitives says [`promote_lower::ops`], as for every
//! target; each primitive becomes a loop nest here, and upstream passes fuse them. What is computed of an element says
//! `promote-scalar`, so the bits are those of every other target.
//!
//! | primitive | becomes |
//! |---|---|
//! | map, convert, iota | a `linalg.generic` of parallel loops ([`structured`]) |
//! | splat, size | `linalg.fill` |
//! | view | a `linalg.generic` with an affine map, or with `tensor.extract` where the index is dynamic ([`arrange`]) |
//! | reshape, concat | `tensor.collapse_shape` and `tensor.expand_shape`; `tensor.insert_slice` |
//! | reduce, arg, scan, matmul | a `linalg.generic` with a reduction ([`reduce`]) |
//! | sort | `scf` loops that merge runs ([`sort`]) |
//! | take | a `linalg.generic` with `tensor.extract` ([`take`]) |
//!
//! ## Laws
//! - Types have no sign ([`types`]): `ui8` is `i8` all over the program, boundaries and foreign ops included.
//! - Ops of other dialects stay.
//! - What a library refuses while it computes becomes a `cf.assert`.

mod arrange;
mod build;
mod element;
mod emit;
mod extent;
mod reduce;
mod sort;
mod structured;
mod take;
mod types;
mod upstream;

use melior::dialect::DialectHandle;
use mlir_sys::*;
use promote_dialect::mlir::Names;
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};

use self::build::Builder;
use self::structured::{Nest, Part, identity};
use self::types::Signless;
use crate::ir::Mlir;
use crate::places::place_of;
use crate::raw::{self, Address};
use crate::targets::{Emitted, TargetPass};
use crate::units::Shared;
use promote_diagnostics::{Code, Diagnostic};
use promote_host::strong::placement::{Functions, outside_of_functions};
use promote_host::view::{View, view};
use promote_infer::graph::{Known, OpId, ValueId};
use promote_infer::shape::DYNAMIC;
use promote_lower::graph::{Graph, NodeId, Prim};
use promote_lower::ops::{self, Call, Readers};

/// The pass `promote-to-linalg`.
pub static PASS: TargetPass = TargetPass {
    name: "promote-to-linalg",
    description: "lower a strong program to linalg on tensors",
    dialects: || {
        // SAFETY: MLIR's handles are valid for ever.
        let [complex, math] = unsafe {
            [mlirGetDialectHandle__complex__(), mlirGetDialectHandle__math__()]
                .map(|raw| DialectHandle::from_raw(raw))
        };
        vec![complex, DialectHandle::linalg(), math, DialectHandle::scf()]
    },
    run: |root, shared, _| lower(root, shared),
    emitted: Some(Emitted { name: "linalg", summary: "linalg on tensors, as MLIR text", prepared_by: &[] }),
};

/// Lowers all in `root`. A program that is not strong gets the diagnostics of `promote-verify-strong`, and is left as it is.
pub fn lower(root: MlirOperation, shared: Shared<'_>) -> Vec<Diagnostic> {
    let not_strong = shared.verify_strong(root);
    if !not_strong.is_empty() {
        return not_strong;
    }
    let misplaced = outside_of_functions(shared.ir, Address(root), Functions::OfAnyDialect);
    if !misplaced.is_empty() {
        return misplaced;
    }
    let views = shared.map(shared.roots(root), |unit| view(unit, shared.ir));
    types::make_signless(root, shared);
    let diagnostics = shared.map(views, |view| lower_unit(&view, shared));
    diagnostics.into_iter().flatten().collect()
}

fn lower_unit(view: &View<Mlir>, shared: Shared<'_>) -> Vec<Diagnostic> {
    let mut types = Signless::default();
    let lowered = view.graph.ops().map(|op| lower_op(view, op, shared, &mut types));
    let mut diagnostics: Vec<Diagnostic> = lowered.filter_map(Result::err).collect();
    diagnostics.extend(upstream::lower(view.root.0, shared, &mut types));
    diagnostics
}

/// Puts what an op means in its place.
fn lower_op(view: &View<Mlir>, op: OpId, shared: Shared<'_>, types: &mut Signless) -> Result<(), Diagnostic> {
    let operation = view.ops[op.0 as usize].0;
    let old = raw::result(operation);
    let new = match view.graph.node(op).op {
        Op::Constant => constant(operation)?,
        _ => computed(view, op, shared, types)?,
    };
    // Where no order rules, in unreachable blocks and in regions that are graphs, an op may be its own operand; one that
    // changes nothing would be replaced by itself.
    if Address(old) == Address(new) {
        return Err(made_of_itself(operation));
    }
    raw::replace_all_uses(old, new);
    // SAFETY: nothing uses it any more, and each op of the view is lowered once.
    unsafe { raw::erase(operation) };
    Ok(())
}

/// A constant of the dialect as one of arith.
fn constant(operation: MlirOperation) -> Result<MlirValue, Diagnostic> {
    let builder = Builder::before(operation);
    let value = raw::attribute(operation, "value").ok_or_else(|| unsupported(operation))?;
    // SAFETY: the attribute is alive; one without elements has no such type, and is refused before.
    let r#type = unsafe { mlirAttributeGetType(value) };
    let made = builder.add_with("arith.constant", &[], r#type, &[("value", value)]);
    let stated = raw::value_type(raw::result(operation));
    // SAFETY: both types are alive.
    let same = unsafe { mlirTypeEqual(r#type, stated) };
    Ok(if same { made } else { builder.add("tensor.cast", &[made], stated) })
}

fn made_of_itself(operation: MlirOperation) -> Diagnostic {
    let message = format!("the result of {} depends only on itself", raw::name(operation));
    Diagnostic::error(Code::NotLowered, place_of(operation), message)
        .with_remedy("remove it: it cannot be computed")
}

fn unsupported(operation: MlirOperation) -> Diagnostic {
    let types = raw::operands(operation).chain([raw::result(operation)]).map(raw::value_type);
    let types: Vec<_> = types.map(raw::type_text).collect();
    let message = format!("{} of {} has no lowering", raw::name(operation), types.join(", "));
    Diagnostic::error(Code::NotLowered, place_of(operation), message)
        .with_remedy("convert its operands with promote.convert to a dtype that it is defined for")
}

/// What an iteration computes is not defined for the dtypes.
#[derive(Clone, Copy, Debug)]
pub struct Failure;

/// One op of the dialect on its way to linalg.
struct Lowering<'a> {
    builder: Builder,
    names: &'a Names,
    types: &'a mut Signless,
    numerics: Numerics,
    op: Op,
    /// Where the op is written, for messages of a run: `file:line:column: `.
    place: String,
    graph: Graph,
    /// The operands as they are, by node.
    sources: Vec<Option<MlirValue>>,
    /// What has been made, by node.
    values: Vec<Option<MlirValue>>,
    /// What has been computed, by symbol.
    symbols: Vec<Option<extent::Number>>,
    /// The indices that have been computed.
    indices: Vec<MlirValue>,
}

/// The dtype of a value of a strong program, and what its type says of its extents.
fn strong_type(view: &View<Mlir>, value: ValueId) -> Option<(DType, Vec<Option<i64>>)> {
    let stated = view.graph.value(value).stated;
    let Known::DType(dtype) = stated.dtype else { return None };
    let dims = view.graph.shapes.get(stated.shape).dims()?;
    Some((dtype, dims.iter().map(|extent| (*extent != DYNAMIC).then_some(*extent)).collect()))
}

/// Makes what an op computes, before it.
fn computed(
    view: &View<Mlir>,
    op: OpId,
    shared: Shared<'_>,
    types: &mut Signless,
) -> Result<MlirValue, Diagnostic> {
    let operation = view.ops[op.0 as usize].0;
    let failed = || unsupported(operation);
    let node = view.graph.node(op);
    let (mut graph, mut args, mut sources) = (Graph::default(), Vec::new(), Vec::new());
    for (number, operand) in view.graph.operands(op).iter().enumerate() {
        let (dtype, dims) = strong_type(view, *operand).ok_or_else(failed)?;
        args.push(graph.source(number as u32, dtype, &dims));
        sources.push(Some(raw::operand(operation, number)));
    }
    let (dtype, dims) = strong_type(view, node.result).ok_or_else(failed)?;
    let attrs = view.graph.attrs(op);
    let numerics = shared.semantics.numerics();
    // Nothing is cut here, so nothing depends on who else reads.
    let readers = Readers::Several;
    let call = Call { op: node.op, attrs, args: &args, dtype, dims: &dims, numerics, readers };
    let result = ops::add(&mut graph, call);
    let mut lowering = Lowering::new(operation, node.op, (graph, sources), shared, types);
    let made = lowering.render_all(result).map_err(|Failure| failed())?;
    Ok(lowering.cast(made, raw::value_type(raw::result(operation))))
}

impl<'a> Lowering<'a> {
    /// The lowering of an op, which is `op`, to a graph of these sources.
    fn new(
        operation: MlirOperation,
        op: Op,
        (graph, sources): (Graph, Vec<Option<MlirValue>>),
        shared: Shared<'a>,
        types: &'a mut Signless,
    ) -> Self {
        Self {
            builder: Builder::before(operation),
            names: shared.names(),
            types,
            numerics: shared.semantics.numerics(),
            op,
            place: place_of(operation).map_or_else(String::new, |place| format!("{place}: ")),
            values: vec![None; graph.nodes.len()],
            symbols: vec![None; graph.extents.len()],
            indices: Vec::new(),
            graph,
            sources,
        }
    }
}

impl Lowering<'_> {
    /// Makes a node, after all that it needs.
    fn render_all(&mut self, result: NodeId) -> Result<MlirValue, Failure> {
        let mut needed = vec![false; self.graph.nodes.len()];
        needed[result.0 as usize] = true;
        for (index, node) in self.graph.nodes.iter().enumerate().rev() {
            let args = if needed[index] { node.args.as_slice() } else { &[] };
            args.iter().for_each(|arg| needed[arg.0 as usize] = true);
        }
        for index in (0..needed.len()).filter(|index| needed[*index]) {
            let made = self.render(NodeId(index as u32))?;
            self.values[index] = Some(made);
        }
        Ok(self.value(result))
    }

    /// The tensor that a node is. It has been made.
    fn value(&self, node: NodeId) -> MlirValue {
        self.values[node.0 as usize].unwrap_or_else(|| unreachable!("nodes are made in order"))
    }

    fn dtype(&self, node: NodeId) -> DType {
        self.graph.node(node).dtype
    }

    fn render(&mut self, id: NodeId) -> Result<MlirValue, Failure> {
        let node = self.graph.node(id).clone();
        let shape = self.graph.shape(id);
        match node.prim {
            Prim::Source(_) => {
                let source = self.sources[id.0 as usize].unwrap_or_else(|| unreachable!("it is a source"));
                let element = self.element_type(node.dtype);
                Ok(self.cast(source, self.tensor_type(element, &shape)))
            }
            Prim::Dense(_) => unreachable!("constants are no operands of primitives here"),
            Prim::Splat(bits) => {
                let (value, element) = (self.scalar(node.dtype, bits), self.element_type(node.dtype));
                Ok(self.filled(value, element, &shape))
            }
            Prim::Size(product) => {
                let size = self.product(&product);
                let element = self.element_type(DType::I64);
                let size = self.builder.add("arith.index_cast", &[size], element);
                Ok(self.filled(size, element, &shape))
            }
            Prim::Iota(axis) => {
                let (dtype, element) = (node.dtype, self.element_type(node.dtype));
                self.map_of(id, &[], &|machine, _| {
                    let index = machine.loop_index(axis);
                    let index = machine.number_of(index);
                    Some(machine.store(dtype, element, promote_scalar::Element::Real(index)))
                })
            }
            Prim::Map(op) => {
                let dtypes: Vec<DType> = node.args.iter().map(|arg| self.dtype(*arg)).collect();
                let (dtype, element, numerics) = (node.dtype, self.element_type(node.dtype), self.numerics);
                self.map_of(id, &node.args, &|machine, elements| {
                    let loaded = elements.iter().zip(&dtypes);
                    let args: Vec<_> = loaded.map(|(value, dtype)| machine.load(*dtype, *value)).collect();
                    let made = promote_scalar::elementwise(machine, op, numerics, &dtypes, dtype, &args)?;
                    Some(machine.store(dtype, element, made))
                })
            }
            Prim::Convert => {
                let from = self.dtype(node.args[0]);
                let (dtype, element, numerics) = (node.dtype, self.element_type(node.dtype), self.numerics);
                self.map_of(id, &node.args, &|machine, elements| {
                    let loaded = machine.load(from, elements[0]);
                    let made = promote_scalar::convert(machine, from, dtype, numerics, loaded);
                    Some(machine.store(dtype, element, made))
                })
            }
            Prim::View(indices) => self.view(id, node.args[0], &indices),
            Prim::Reshape => Ok(self.reshape(id, node.args[0])),
            Prim::Reduce(op, gone) => self.reduce(id, node.args[0], op, &gone),
            Prim::Split(..) | Prim::Partial(..) | Prim::Scan(_, _, Some(_)) => {
                unreachable!("this lowering cuts no reductions")
            }
            Prim::Arg(op, axis) => self.arg(id, node.args[0], op, axis),
            Prim::Scan(op, axis, None) => self.scan(id, node.args[0], op, axis),
            Prim::Sort(axis) => Ok(self.sort(node.args[0], axis)),
            Prim::Take(axis) => self.take(id, (node.args[0], node.args[1]), axis),
            Prim::Concat(axis) => Ok(self.concat(id, &node.args, axis)),
            Prim::Matmul => self.matmul(id, (node.args[0], node.args[1])),
        }
    }

    /// Parallel loops over the shape of a node, which read its operands at the same place.
    fn map_of(
        &mut self,
        id: NodeId,
        args: &[NodeId],
        element: &dyn Fn(&mut emit::Machine<'_>, &[MlirValue]) -> Option<MlirValue>,
    ) -> Result<MlirValue, Failure> {
        let shape = self.graph.shape(id);
        let to = self.element_type(self.dtype(id));
        let empty = self.empty(to, &shape);
        let part = |tensor| Part { tensor, at: identity(shape.len()) };
        let nest = Nest {
            loops: vec![false; shape.len()],
            ins: args.iter().map(|arg| part(self.value(*arg))).collect(),
            outs: vec![part(empty)],
        };
        let read = args.len();
        let made = self.nest(&nest, &|machine, elements| Some(vec![element(machine, &elements[..read])?]))?;
        Ok(made[0])
    }
}
