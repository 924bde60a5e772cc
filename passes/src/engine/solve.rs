//! Inference: the dtype and shape of every value, as the least fixpoint of the op rules over the graph.
//!
//! [`solve`] takes a [`Graph`] and a [`Semantics`] and gives a [`Solution`]: a type for every value and slot, and
//! every [`Problem`] found, in program order.
//!
//! ## Algorithm
//! 1. Every value starts as what the IR states, or unknown (the bottom).
//! 2. Ops are visited in program order. An op whose operands are known gets its result from its rules; its result
//!    only ever rises in the lattice.
//! 3. Slots join what flows to them. While a slot changed the type of its target, the ops are visited again: in
//!    straight-line code, once is enough.
//!
//! ## Laws
//! Deterministic; monotone, so it ends on a lattice after at most its height in rounds; the bound
//! [`MAX_ROUNDS`] makes it end on any rules. A refused op is reported once, and nothing that depends on it.

use promote_lattice::DType;
use promote_lattice::Semantics;
use promote_lattice::op::{Op, ShapeRule};
use promote_lattice::semantics::{MAX_OPERANDS, Operand, Origin, Refusal, Typing};
use rustc_hash::FxHashMap;

use super::graph::{Graph, Known, OpId, Scalar, ShapeId, SlotId, Source, Type, ValueId};
use super::shape::{self, DYNAMIC, Shape, ShapeError};

/// More rounds than the height of any lattice of dtypes times that of shapes can ask for.
const MAX_ROUNDS: usize = 256;

/// What is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What it is about.
    pub place: Place,
    /// What is wrong.
    pub kind: ProblemKind,
}

/// What a [`Problem`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// An op of the dialect.
    Op(OpId),
    /// A place that values flow to.
    Slot(SlotId),
    /// A value that no op of the dialect makes.
    Value(ValueId),
}

/// What can be wrong with a program's types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// The semantics refuses the dtypes.
    Refused(Refusal),
    /// The shapes do not fit.
    Shape(ShapeError),
    /// The IR states a dtype that the rules do not give.
    StatedDType {
        /// What is stated.
        stated: DType,
        /// What the rules give.
        inferred: DType,
    },
    /// The IR states a shape that the rules do not give.
    StatedShape {
        /// What is stated.
        stated: Shape,
        /// What the rules give.
        inferred: Shape,
    },
    /// The dtype of a value is never known.
    Unknown,
    /// An operand is no tensor of a promotable dtype.
    Opaque {
        /// Which operand.
        operand: usize,
    },
    /// The op must state a dtype, which is not weak for a convert, and states none.
    NothingStated,
    /// An iota must state all extents of its result.
    IotaShape,
    /// The types had not settled after [`MAX_ROUNDS`] rounds.
    Unsettled,
}

/// The answer of [`solve`].
#[derive(Clone, Debug)]
pub struct Solution {
    values: Vec<Type>,
    slots: Vec<Type>,
    /// What was found wrong, in program order.
    pub problems: Vec<Problem>,
}

impl Solution {
    /// The type of a value.
    pub fn value(&self, value: ValueId) -> Type {
        self.values[value.0 as usize]
    }

    /// The dtype of a value, if it takes part in promotion and was not refused.
    pub fn dtype(&self, value: ValueId) -> Option<DType> {
        match self.value(value).dtype {
            Known::DType(dtype) => Some(dtype),
            Known::Unknown | Known::Opaque | Known::Refused => None,
        }
    }

    /// The type of a slot.
    pub fn slot(&self, slot: SlotId) -> Type {
        self.slots[slot.0 as usize]
    }
}

/// The scalar that a value is a literal of, through `relax`: a weak constant of rank 0.
pub fn literal(graph: &Graph, mut value: ValueId) -> Option<Scalar> {
    loop {
        let Source::Op(op) = graph.value(value).source else { return None };
        match (graph.node(op).op, graph.value(value).stated.dtype) {
            (Op::Constant, Known::DType(dtype)) if dtype.is_weak() => return graph.node(op).scalar,
            (Op::Relax, _) => value = *graph.operands(op).first()?,
            _ => return None,
        }
    }
}

/// The operand as the dtype rules see it.
fn operand(graph: &Graph, value: ValueId, dtype: DType) -> Operand {
    let literal = if dtype.is_weak() { literal(graph, value) } else { None };
    let origin = literal.map_or(Origin::Value, |scalar| Origin::Literal { negative: scalar.negative });
    Operand { dtype, origin }
}

/// What the dtype rules say of `op`, its operands having the dtypes that `dtype_of` gives; `None` for an op that
/// states its dtype, or has an operand without one.
///
/// # Errors
/// The semantics' [`Refusal`].
pub fn typing(
    graph: &Graph,
    semantics: &Semantics,
    op: OpId,
    dtype_of: impl Fn(ValueId) -> Option<DType>,
) -> Result<Option<Typing>, Refusal> {
    let mut operands = [Operand::value(DType::B1); MAX_OPERANDS];
    let values = graph.operands(op);
    for (slot, value) in operands.iter_mut().zip(values) {
        let Some(dtype) = dtype_of(*value) else { return Ok(None) };
        *slot = operand(graph, *value, dtype);
    }
    semantics.infer(graph.node(op).op, &operands[..values.len().min(MAX_OPERANDS)])
}

/// Infers the types of all values of `graph`. See the [module](self).
pub fn solve(graph: &mut Graph, semantics: &Semantics) -> Solution {
    let mut solver = Solver::new(graph, semantics);
    let mut rounds = 0;
    loop {
        solver.problems.clear();
        let ops_changed = solver.visit_ops();
        rounds += 1;
        if !solver.join_slots() && !ops_changed {
            break;
        }
        if rounds == MAX_ROUNDS {
            let slot = solver.graph.slot_ids().next().unwrap_or(SlotId(0));
            solver.problems.push(Problem { place: Place::Slot(slot), kind: ProblemKind::Unsettled });
            break;
        }
    }
    solver.report_unknown();
    Solution { values: solver.values, slots: solver.slots, problems: solver.problems }
}

struct Solver<'a> {
    graph: &'a mut Graph,
    semantics: &'a Semantics,
    values: Vec<Type>,
    slots: Vec<Type>,
    problems: Vec<Problem>,
    /// Broadcasts of two shapes, each computed once.
    broadcasts: FxHashMap<(ShapeId, ShapeId), ShapeId>,
}

type Outcome<T> = Result<T, ProblemKind>;

impl<'a> Solver<'a> {
    fn new(graph: &'a mut Graph, semantics: &'a Semantics) -> Self {
        let values = graph.value_ids().map(|value| graph.value(value).stated).collect();
        let slots = graph.slot_ids().map(|slot| graph.slot(slot).stated).collect();
        Self { graph, semantics, values, slots, problems: Vec::new(), broadcasts: FxHashMap::default() }
    }

    /// Visits every op once; whether another visit may find more, because a result changed after its use was visited.
    fn visit_ops(&mut self) -> bool {
        let mut changed = false;
        for op in self.graph.ops() {
            let result = self.graph.node(op).result;
            let inferred = self.visit(op).unwrap_or_else(|kind| {
                self.problems.push(Problem { place: Place::Op(op), kind });
                Type::REFUSED
            });
            changed |= std::mem::replace(&mut self.values[result.0 as usize], inferred) != inferred;
        }
        changed && self.graph.has_late_definitions
    }

    /// The type of an op's result; unknown while an operand's is.
    fn visit(&mut self, op: OpId) -> Outcome<Type> {
        let mut unknown = false;
        for (index, value) in self.graph.operands(op).iter().enumerate() {
            match self.values[value.0 as usize].dtype {
                Known::DType(_) => {}
                Known::Unknown => unknown = true,
                Known::Opaque => return Err(ProblemKind::Opaque { operand: index }),
                Known::Refused => return Ok(Type::REFUSED),
            }
        }
        if unknown {
            return Ok(Type::UNKNOWN);
        }
        let dtype = self.dtype(op)?;
        let shape = self.shape(op)?;
        let stated = self.graph.value(self.graph.node(op).result).stated;
        let inferred = self.confront(stated, dtype, shape)?;
        self.check_stated(op, inferred)?;
        Ok(inferred)
    }

    /// What an op that states its own type must not state.
    fn check_stated(&self, op: OpId, inferred: Type) -> Outcome<()> {
        match (self.graph.node(op).op, inferred.dtype) {
            (Op::Convert, Known::DType(dtype)) if dtype.is_weak() => Err(ProblemKind::NothingStated),
            (Op::Iota, _) => {
                let shape = self.graph.shapes.get(inferred.shape);
                let dims =
                    shape.dims().filter(|dims| !dims.contains(&DYNAMIC)).ok_or(ProblemKind::IotaShape)?;
                let axis = self.graph.attrs(op).int("axis");
                shape::normalise(axis, dims.len(), shape).map(|_| ()).map_err(ProblemKind::Shape)
            }
            _ => Ok(()),
        }
    }

    fn dtype(&self, op: OpId) -> Outcome<Option<DType>> {
        let dtype_of = |value: ValueId| match self.values[value.0 as usize].dtype {
            Known::DType(dtype) => Some(dtype),
            Known::Unknown | Known::Opaque | Known::Refused => None,
        };
        let typing = typing(self.graph, self.semantics, op, dtype_of).map_err(ProblemKind::Refused)?;
        Ok(typing.map(|typing| typing.result))
    }

    fn shape(&mut self, op: OpId) -> Outcome<Option<ShapeId>> {
        let node = *self.graph.node(op);
        let shape_of = |value: &ValueId| self.values[value.0 as usize].shape;
        match (node.op.info().shape, self.graph.operands(op)) {
            (ShapeRule::Broadcast | ShapeRule::Same, [x]) => return Ok(Some(shape_of(x))),
            (ShapeRule::Broadcast, [x, y]) => {
                let (x, y) = (shape_of(x), shape_of(y));
                return self.broadcast(x, y).map(Some).map_err(ProblemKind::Shape);
            }
            _ => {}
        }
        let ids: Vec<ShapeId> = self.graph.operands(op).iter().map(shape_of).collect();
        let shapes: Vec<&Shape> = ids.iter().map(|id| self.graph.shapes.get(*id)).collect();
        let shape = shape::infer(node.op, self.graph.attrs(op), &shapes).map_err(ProblemKind::Shape)?;
        Ok(shape.map(|shape| self.graph.shapes.id(shape)))
    }

    fn broadcast(&mut self, x: ShapeId, y: ShapeId) -> Result<ShapeId, ShapeError> {
        if x == y {
            return Ok(x);
        }
        if let Some(known) = self.broadcasts.get(&(x, y)) {
            return Ok(*known);
        }
        let shape = shape::broadcast(self.graph.shapes.get(x), self.graph.shapes.get(y))?;
        let id = self.graph.shapes.id(shape);
        self.broadcasts.insert((x, y), id);
        Ok(id)
    }

    /// What the IR states and what the rules give, as one type.
    fn confront(&mut self, stated: Type, dtype: Option<DType>, shape: Option<ShapeId>) -> Outcome<Type> {
        let dtype = match (stated.dtype, dtype) {
            (Known::DType(stated), Some(inferred)) if stated != inferred => {
                return Err(ProblemKind::StatedDType { stated, inferred });
            }
            (Known::DType(dtype), _) | (_, Some(dtype)) => dtype,
            _ => return Err(ProblemKind::NothingStated),
        };
        let shape = match shape {
            Some(shape) if shape == stated.shape || stated.shape == ShapeId::UNRANKED => shape,
            Some(shape) => self.meet(stated.shape, shape)?,
            None => stated.shape,
        };
        Ok(Type { dtype: Known::DType(dtype), shape })
    }

    fn meet(&mut self, stated: ShapeId, inferred: ShapeId) -> Outcome<ShapeId> {
        let (a, b) = (self.graph.shapes.get(stated), self.graph.shapes.get(inferred));
        match a.meet(b) {
            Some(shape) => Ok(self.graph.shapes.id(shape)),
            None => Err(ProblemKind::StatedShape { stated: a.clone(), inferred: b.clone() }),
        }
    }

    /// Joins what flows to each slot; whether the type of a value inside the graph changed by it.
    fn join_slots(&mut self) -> bool {
        let mut changed = false;
        for slot in self.graph.slot_ids() {
            let joined = self.join_slot(slot).unwrap_or_else(|kind| {
                self.problems.push(Problem { place: Place::Slot(slot), kind });
                Type::REFUSED
            });
            self.slots[slot.0 as usize] = joined;
            if let Some(target) = self.graph.slot(slot).target {
                changed |= std::mem::replace(&mut self.values[target.0 as usize], joined) != joined;
            }
        }
        changed
    }

    fn join_slot(&mut self, slot: SlotId) -> Outcome<Type> {
        let stated = self.graph.slot(slot).stated;
        let sources = self.graph.slot(slot).sources.iter().map(|feed| self.values[feed.value.0 as usize]);
        let known: Vec<Type> = sources.filter(|t| t.dtype != Known::Unknown).collect();
        let Some(first) = known.first().copied() else { return Ok(stated) };
        if known.iter().any(|t| matches!(t.dtype, Known::Opaque | Known::Refused)) {
            return Ok(if known.iter().all(|t| *t == first) { first } else { Type::REFUSED });
        }
        let mut joined = first;
        for next in &known[1..] {
            let (Known::DType(a), Known::DType(b)) = (joined.dtype, next.dtype) else { continue };
            let operands = [Operand::value(a), Operand::value(b)];
            let typing =
                self.semantics.infer(Op::Where, &[&[Operand::value(DType::B1)], &operands[..]].concat());
            let typing = typing.map_err(ProblemKind::Refused)?;
            joined.dtype = Known::DType(typing.map_or(a, |typing| typing.result));
            joined.shape = self.broadcast(joined.shape, next.shape).map_err(ProblemKind::Shape)?;
        }
        let Known::DType(dtype) = joined.dtype else { return Ok(joined) };
        self.confront(stated, Some(dtype), Some(joined.shape))
    }

    /// Reports values that stayed unknown, at their root: not what the dialect's ops would have made of them.
    fn report_unknown(&mut self) {
        let root = |value: &ValueId| {
            self.values[value.0 as usize].dtype == Known::Unknown
                && self.graph.value(*value).source == Source::Elsewhere
        };
        let unknown = self.graph.value_ids().filter(root);
        self.problems
            .extend(unknown.map(|value| Problem { place: Place::Value(value), kind: ProblemKind::Unknown }));
    }
}
