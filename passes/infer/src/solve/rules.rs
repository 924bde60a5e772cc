//! The rules, asked with the types that are known so far: of an op's result, and of what flows to a slot.

use promote_lattice::convert::Numerics;
use promote_lattice::op::{Op, ShapeRule};
use promote_lattice::semantics::{MAX_OPERANDS, Operand, Origin, Rank, Refusal, Typing};
use promote_lattice::{DType, Semantics};

use super::super::graph::{Counts, Feed, Graph, Known, OpId, ShapeId, Slot, SlotId, Type, ValueId};
use super::super::scalars;
use super::super::shape::{self, DYNAMIC, Shape, ShapeError};
use super::{Outcome, ProblemKind, Solver};

/// The most dimensions that the result of an op may have. A loop could double them each iteration.
const MAX_RANK: usize = 1024;

/// The operand as the dtype rules see it.
fn operand(graph: &Graph, value: ValueId, dtype: DType, shape: ShapeId) -> Operand {
    let origin = match graph.value(value).literal {
        None => Origin::Value,
        Some(literal) if dtype.is_weak() => Origin::Literal(literal),
        Some(literal) => Origin::Constant(literal),
    };
    let rank = match graph.shapes.get(shape).dims() {
        None => Rank::Unknown,
        Some([]) => Rank::Zero,
        Some([_]) => Rank::One,
        Some([_, _]) => Rank::Two,
        Some(_) => Rank::More,
    };
    Operand { dtype, rank, origin }
}

/// The operands of an op as the dtype rules see them.
struct Operands {
    /// As many as an op of ours may have.
    few: [Operand; MAX_OPERANDS],
    count: usize,
    /// All, if there are more, as in a list.
    many: Vec<Operand>,
}

impl Operands {
    /// Those of `op`; `None` if one has no dtype.
    fn of(graph: &Graph, op: OpId, type_of: impl Fn(ValueId) -> Type) -> Option<Self> {
        let (values, any) = (graph.operands(op), Operand::value(DType::B1));
        let (count, many) = match values.len() {
            count @ ..=MAX_OPERANDS => (count, Vec::new()),
            count => (0, vec![any; count]),
        };
        let mut operands = Self { few: [any; MAX_OPERANDS], count, many };
        for (slot, value) in operands.list_mut().iter_mut().zip(values) {
            let Type { dtype: Known::DType(dtype), shape } = type_of(*value) else { return None };
            *slot = operand(graph, *value, dtype, shape);
        }
        Some(operands)
    }

    fn list(&self) -> &[Operand] {
        if self.many.is_empty() { &self.few[..self.count] } else { &self.many }
    }

    fn list_mut(&mut self) -> &mut [Operand] {
        if self.many.is_empty() { &mut self.few[..self.count] } else { &mut self.many }
    }
}

/// What the dtype rules say of `op`, its operands having the types that `type_of` gives; `None` for an op that states
/// its dtype, or has an operand without one.
///
/// # Errors
/// The semantics' [`Refusal`].
pub fn typing(
    graph: &Graph,
    semantics: &Semantics,
    op: OpId,
    type_of: impl Fn(ValueId) -> Type,
) -> Result<Option<Typing>, Refusal> {
    let Some(operands) = Operands::of(graph, op, type_of) else { return Ok(None) };
    ask(graph, semantics, op, operands.list())
}

/// What the dtype rules say of `op` on these operands.
fn ask(
    graph: &Graph,
    semantics: &Semantics,
    op: OpId,
    operands: &[Operand],
) -> Result<Option<Typing>, Refusal> {
    let rule = graph.node(op).op;
    let Some(foreign) = graph.foreign(op) else { return semantics.infer(rule, operands) };
    match (foreign.joins, foreign.dtype) {
        (None, None) => semantics.infer(rule, operands),
        (None, Some(dtype)) => semantics.infer_as(rule, operands, dtype),
        // What is joined in one tensor is joined, and nothing else is done to it.
        (Some(_), _) => semantics.infer(Op::Concat, operands),
    }
}

impl Solver<'_> {
    /// The type of an op's result; unknown while an operand's is.
    pub(super) fn infer(&mut self, op: OpId) -> Outcome<Type> {
        let mut unknown = false;
        for (index, value) in self.graph.operands(op).iter().enumerate() {
            match self.values[value.0 as usize].dtype {
                Known::DType(_) => {}
                Known::Unknown => unknown = true,
                Known::Opaque => return Err(ProblemKind::Opaque { operand: self.graph.taken(op, index) }),
                Known::Refused => return Ok(Type::REFUSED),
            }
        }
        if unknown {
            return Ok(Type::UNKNOWN);
        }
        let dtype = self.dtype(op)?;
        let shape = self.shape(op)?;
        let stated = self.graph.value(self.graph.node(op).result).stated;
        let mut inferred = self.confront(stated, dtype, shape)?;
        // A whole type that is stated stays, if shapes are the dialect's business.
        if matches!(stated.dtype, Known::DType(_))
            && stated.shape != ShapeId::UNRANKED
            && self.graph.keeps_shapes(op, |value| self.values[value.0 as usize].shape)
        {
            inferred.shape = stated.shape;
        }
        self.check_stated(op, inferred)?;
        Ok(inferred)
    }

    /// What an op that states its own type must not state.
    fn check_stated(&self, op: OpId, inferred: Type) -> Outcome<()> {
        match (self.graph.node(op).op, inferred.dtype) {
            (Op::Convert, Known::DType(dtype)) if dtype.is_weak() => {
                match self.graph.weak_edges.contains(&op) {
                    true => Ok(()),
                    false => Err(ProblemKind::NothingStated),
                }
            }
            (Op::Convert | Op::Constant, Known::DType(dtype)) => {
                self.semantics.check_stated(dtype).map_err(ProblemKind::Refused)
            }
            (Op::Iota, Known::DType(dtype)) => {
                self.semantics.check_stated(dtype).map_err(ProblemKind::Refused)?;
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
        if let Some(written) = self.graph.written(op) {
            // A weak constant is written as the number that carries it, and stays weak.
            let stated = self.graph.value(self.graph.node(op).result).stated.dtype;
            let known = if stated == Known::Unknown { written.dtype } else { stated };
            return Ok(if let Known::DType(dtype) = known { Some(dtype) } else { None });
        }
        let type_of = |value: ValueId| self.values[value.0 as usize];
        if let (Op::BroadcastTo, [x, ..], true) =
            (self.graph.node(op).op, self.graph.operands(op), self.graph.weak_edges.contains(&op))
            && let Known::DType(dtype) = type_of(*x).dtype
        {
            return Ok(Some(dtype));
        }
        if let Some(outcome) = self.graph.scalars.outcome(op) {
            return outcome.clone().map(|number| Some(number.dtype())).map_err(ProblemKind::Refused);
        }
        let typing = self.typing(op).map_err(ProblemKind::Refused)?;
        Ok(typing.map(|typing| self.accumulated(op, typing.result)))
    }

    /// The dtype of a result: what it is stated to be accumulated in, where the op may do that.
    fn accumulated(&self, op: OpId, result: DType) -> DType {
        match self.graph.value(self.graph.node(op).result).stated.dtype {
            Known::DType(stated)
                if self.graph.foreign(op).is_some_and(|foreign| foreign.accumulates)
                    && !stated.is_weak()
                    && self.semantics.join(result, stated) == Some(stated) =>
            {
                stated
            }
            Known::DType(_) | Known::Unknown | Known::Opaque | Known::Refused => result,
        }
    }

    /// What the dtype rules say of an op.
    fn typing(&self, op: OpId) -> Result<Option<Typing>, Refusal> {
        let type_of = |value: ValueId| self.values[value.0 as usize];
        let Some(mut operands) = Operands::of(&self.graph, op, type_of) else { return Ok(None) };
        let operator = self.graph.node(op).op;
        let ask = |operands: &Operands| ask(&self.graph, self.semantics, op, operands.list());
        let found = ask(&operands).map_err(|refusal| {
            let unknown = || scalars::unknown(&self.graph, op, self.semantics);
            let is_scalar = matches!(refusal, Refusal::Scalar { .. });
            is_scalar.then(unknown).flatten().unwrap_or(refusal)
        })?;
        let narrow = found.as_ref().and_then(|typing| {
            scalars::kept_narrow(&self.graph, op, self.semantics, (operands.list(), typing))
        });
        if let Some(refusal) = narrow {
            return Err(refusal);
        }
        // A bool that Python computes is written as an array, so the op must do the same to both.
        let bools = scalars::bools(&self.graph, op);
        let Some((first, _)) = bools.first() else { return Ok(found) };
        for (index, bool) in &bools {
            operands.list_mut()[*index].origin = Origin::Literal(*bool);
        }
        match ask(&operands)? == found {
            true => Ok(found),
            false => {
                let (semantics, index) = (self.semantics.name().into(), *first);
                Err(Refusal::Scalar { semantics, op: operator, index, dtype: DType::B1 })
            }
        }
    }

    fn shape(&mut self, op: OpId) -> Outcome<Option<ShapeId>> {
        let node = *self.graph.node(op);
        if let Some(written) = self.graph.written(op) {
            return Ok(Some(written.shape));
        }
        self.check_ranks(op).map_err(ProblemKind::Shape)?;
        if self.graph.foreign(op).is_some_and(|foreign| foreign.states_shape) {
            return Ok(None);
        }
        let shape_of = |value: &ValueId| self.values[value.0 as usize].shape;
        match (node.op.info().shape, self.graph.shaping(op)) {
            (ShapeRule::Broadcast | ShapeRule::Same, [x]) => return Ok(Some(shape_of(x))),
            (ShapeRule::Broadcast, [x, y]) => {
                let (x, y) = (shape_of(x), shape_of(y));
                return self.broadcast(x, y).map(Some).map_err(ProblemKind::Shape);
            }
            _ => {}
        }
        let ids: Vec<ShapeId> = self.graph.shaping(op).iter().map(shape_of).collect();
        let shapes: Vec<&Shape> = ids.iter().map(|id| self.graph.shapes.get(*id)).collect();
        let shape = shape::infer(node.op, self.graph.attrs(op), &shapes).map_err(ProblemKind::Shape)?;
        if node.op == Op::Take && self.semantics.numerics() == Numerics::Jax {
            shape::takes_of_something(self.graph.attrs(op), &shapes).map_err(ProblemKind::Shape)?;
        }
        if let Some(rank) =
            shape.as_ref().and_then(|shape| shape.dims()).map(<[i64]>::len).filter(|r| *r > MAX_RANK)
        {
            return Err(ProblemKind::Shape(ShapeError::Rank { rank, most: MAX_RANK }));
        }
        Ok(shape.map(|shape| self.graph.shapes.id(shape)))
    }

    /// An op of another dialect may take operands of certain ranks alone.
    fn check_ranks(&self, op: OpId) -> Result<(), ShapeError> {
        let Some(ranks) = self.graph.foreign(op).and_then(|foreign| foreign.ranks.as_deref()) else {
            return Ok(());
        };
        for (index, (value, rank)) in self.graph.operands(op).iter().zip(ranks).enumerate() {
            let found = self.graph.shapes.get(self.values[value.0 as usize].shape).dims().map(<[i64]>::len);
            if let Some(found) = found.filter(|found| found != rank) {
                let (name, taken) = (self.graph.name(op), self.graph.taken(op, index));
                let message = format!("{taken} of {name} must be of rank {rank}, but is of rank {found}");
                return Err(ShapeError::Other {
                    message,
                    remedy: "reshape it, or use another op".to_owned(),
                });
            }
        }
        Ok(())
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

    /// What the IR states and what the rules return, as one type.
    fn confront(&mut self, stated: Type, dtype: Option<DType>, shape: Option<ShapeId>) -> Outcome<Type> {
        let dtype = match (stated.dtype, dtype) {
            (Known::Opaque, _) => return Err(ProblemKind::StatedOpaque),
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

    pub(super) fn join(&mut self, slot: SlotId) -> Outcome<Type> {
        let Slot { stated, sources, is_fixed, .. } = self.graph.slot(slot);
        let (stated, is_fixed) = (*stated, *is_fixed);
        let type_of = |feed: &Feed| match (self.values[feed.value.0 as usize], feed.counts) {
            (Type { dtype: dtype @ Known::DType(_), .. }, Counts::DType) => {
                Type { dtype, shape: stated.shape }
            }
            (found, Counts::Type | Counts::DType | Counts::Shape) => found,
        };
        let typed = sources.iter().filter(|feed| feed.counts != Counts::Shape);
        let mut known: Vec<Type> = typed.map(type_of).filter(|t| t.dtype != Known::Unknown).collect();
        // What was refused counts as unknown while something else is known: in a loop the op that was refused may be
        // asked again with other dtypes. But the slot does not lose what it had, which may be what was refused.
        let mut had = None;
        if known.iter().any(|t| matches!(t.dtype, Known::DType(_))) {
            let all = known.len();
            known.retain(|t| t.dtype != Known::Refused);
            had = Some(self.slots[slot.0 as usize]).filter(|_| known.len() < all);
            had = had.filter(|had| matches!(had.dtype, Known::DType(_)));
            known.extend(had);
        }
        let Some(first) = known.first().copied() else { return Ok(stated) };
        if known.iter().any(|t| matches!(t.dtype, Known::Opaque | Known::Refused)) {
            return Ok(if known.iter().all(|t| *t == first) { first } else { Type::REFUSED });
        }
        let masks = sources.iter().filter(|feed| feed.counts == Counts::Shape);
        let masks = masks.map(|feed| self.values[feed.value.0 as usize].shape);
        let shapes: Vec<ShapeId> = known[1..].iter().map(|t| t.shape).chain(masks).collect();
        let mut shape = first.shape;
        for next in shapes {
            shape = self.broadcast(shape, next).map_err(ProblemKind::Shape)?;
        }
        let Known::DType(dtype) = first.dtype else { return Ok(first) };
        let alike = known.iter().all(|t| t.dtype == first.dtype);
        let dtype = if alike { dtype } else { self.join_dtypes(slot, had)? };
        let dtype = self.carried(slot, dtype);
        let found = self.confront(stated, Some(dtype), Some(shape))?;
        let is_ranked = stated.shape != ShapeId::UNRANKED;
        Ok(if is_fixed && is_ranked { Type { shape: stated.shape, ..found } } else { found })
    }

    /// The dtype of a slot, which the joined values are promoted to, if a loop carries it.
    fn carried(&self, slot: SlotId, joined: DType) -> DType {
        let Slot { sources, is_carry, .. } = self.graph.slot(slot);
        let init = sources.first().filter(|_| *is_carry).map(|feed| self.values[feed.value.0 as usize].dtype);
        let Some(Known::DType(init)) = init else { return joined };
        self.semantics.join_carry(init, joined)
    }

    /// The join of the dtypes that are known to flow to a slot, and of what it had: of the set, not a fold.
    fn join_dtypes(&self, slot: SlotId, had: Option<Type>) -> Outcome<DType> {
        let sources = &self.graph.slot(slot).sources;
        let sources = sources.iter().filter(|feed| feed.counts != Counts::Shape).filter_map(|feed| {
            let Type { dtype, shape } = self.values[feed.value.0 as usize];
            let Known::DType(dtype) = dtype else { return None };
            Some(operand(&self.graph, feed.value, dtype, shape))
        });
        let mut operands: Vec<Operand> = sources.collect();
        if let Some(Type { dtype: Known::DType(dtype), .. }) = had {
            operands.push(Operand::value(dtype));
        }
        self.semantics.join_slot(&operands).map_err(ProblemKind::Refused)
    }
}
