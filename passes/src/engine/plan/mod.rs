//! Conversions: which values must be converted, folded or broadcast, where, and for whom.
//!
//! [`plan`] turns a [`Solution`] into a [`Plan`]: new ops ([`Insert`]) and operands that must use them ([`Edit`]).
//! Weak values become strong in place: a computed one takes the default dtype of its kind, as JAX carries it, and a
//! literal becomes a constant of each dtype that uses it.
//!
//! ## Laws
//! - One conversion a value and dtype, one broadcast a value, dtype and shape; none where types agree.
//! - Converted first, then broadcast: the smaller array is converted.
//! - An operand is never retyped for its other users: only the edited use changes.
//! - A conversion stands at the nearest point that dominates its uses ([`place`]): not on a path that needs none, but
//!   where several do, before they part. A convert stands outside of the loops that its operand is outside of; a
//!   broadcast, which costs nothing where it is fused, in them.
//! - What a run before has inserted is moved, or merged, rather than repeated.

mod place;

use std::collections::hash_map::Entry;

use indexmap::IndexMap;
use promote_lattice::op::{Op, ShapeRule};
use promote_lattice::{DType, Semantics};
use rustc_hash::{FxBuildHasher, FxHashMap};

use self::place::{Places, Point};
use super::graph::{BlockId, Feed, Graph, Known, OpId, ShapeId, SlotId, Source, Type, ValueId};
use super::shape::{self, DYNAMIC, Shape};
use super::solve::{Solution, typing};

/// The id of an [`Insert`]: its index in [`Plan::inserts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InsertId(pub u32);

/// A value of the program, or one that the plan makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Produced {
    /// A value of the graph.
    Value(ValueId),
    /// The result of an insert before.
    Insert(InsertId),
}

/// What a weak literal is used as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// A number.
    Number,
    /// A literal exponent, which must not be wrapped: that would change the power.
    Exponent,
    /// A bound: one beyond the range bounds nothing, as the end of the range does.
    Bound,
}

/// A new op.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Make {
    /// Convert `source` to this dtype.
    Convert(DType),
    /// A constant of this dtype with the value of the weak literal `source`.
    Literal(DType, Role),
    /// Broadcast `source` to this shape; extents that only a run knows are those of `like`.
    Broadcast {
        /// The new shape.
        shape: ShapeId,
        /// Whose extents fill in what `shape` leaves dynamic.
        like: Option<ValueId>,
    },
}

/// One operand of an op, or one of the values that flow to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// An operand of an op of the dialect.
    Operand(OpId, usize),
    /// The value that flows to a slot as its n-th.
    Feed(SlotId, usize),
}

/// Where a new op stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Before the op that uses it first.
    Before(Use),
    /// Before the op around a region, whose first block this is.
    Around(BlockId),
    /// Before the op that ends a block.
    AtEnd(BlockId),
    /// Right behind the definition of a literal.
    Behind(ValueId),
}

/// A new op and its reason.
#[derive(Clone, Copy, Debug)]
pub struct Insert {
    /// What it takes.
    pub source: Produced,
    /// What it does.
    pub make: Make,
    /// Where it stands.
    pub position: Position,
    /// The use it was first needed for.
    pub serves: Use,
    /// The dtype and shape of its result.
    pub result: Type,
}

/// A use that takes another value than before.
#[derive(Clone, Copy, Debug)]
pub struct Edit {
    /// Which use.
    pub place: Use,
    /// What it takes now.
    pub to: Produced,
}

/// The answer of [`plan`].
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// New ops, each after those it takes.
    pub inserts: Vec<Insert>,
    /// Uses to change.
    pub edits: Vec<Edit>,
    /// Converts that are there and stand better elsewhere.
    pub moves: Vec<(OpId, Position)>,
    /// Converts that repeat one that is there, which then nothing uses.
    pub merged: Vec<OpId>,
    /// Their uses, which take that one's result.
    pub merges: Vec<Edit>,
}

/// Whether `value` is a weak constant, which is not converted but written anew in the dtype that uses it.
pub fn is_weak_literal(graph: &Graph, value: ValueId) -> bool {
    match (graph.value(value).source, graph.value(value).stated.dtype) {
        (Source::Op(op), Known::DType(dtype)) => dtype.is_weak() && graph.node(op).op == Op::Constant,
        _ => false,
    }
}

/// Plans the conversions that `solution` asks for. See the [module](self).
pub fn plan(graph: &mut Graph, solution: &Solution, semantics: &Semantics) -> Plan {
    let mut planner = Planner {
        places: Places::new(graph),
        graph,
        solution,
        semantics,
        plan: Plan::default(),
        made: FxHashMap::default(),
        shapes: FxHashMap::default(),
        points: Vec::new(),
        moved: IndexMap::default(),
        merged: FxHashMap::default(),
    };
    planner.gather();
    // In program order: what is made for a use serves those after it in its block.
    let mut feeds: Vec<(u32, SlotId, usize)> = Vec::new();
    for slot in planner.graph.slot_ids() {
        let operands =
            planner.graph.slot(slot).sources.iter().enumerate().filter(|(_, feed)| feed.is_operand);
        feeds.extend(operands.map(|(index, feed)| (feed.after, slot, index)));
    }
    feeds.sort_by_key(|(after, ..)| *after);
    let mut feeds = feeds.into_iter().peekable();
    for op in planner.graph.ops() {
        while let Some((_, slot, index)) = feeds.next_if(|(after, ..)| *after <= op.0) {
            planner.plan_feed(slot, index);
        }
        planner.plan_op(op);
    }
    feeds.for_each(|(_, slot, index)| planner.plan_feed(slot, index));
    planner.settle();
    planner.plan
}

/// What the shape of an operand lacks: nothing, or a broadcast.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    Fits,
    Broadcast,
}

struct Planner<'a> {
    graph: &'a mut Graph,
    solution: &'a Solution,
    semantics: &'a Semantics,
    plan: Plan,
    /// What there is already: a value in a dtype.
    made: FxHashMap<(ValueId, DType, Role), Produced>,
    /// What there is already: something in a shape.
    shapes: FxHashMap<(Produced, ShapeId, Option<ValueId>, Option<BlockId>), InsertId>,
    places: Places,
    /// For each insert, the nearest point that dominates the uses so far.
    points: Vec<Option<Point>>,
    /// The converts of a run before that may be moved, by their results, with the same.
    moved: IndexMap<ValueId, Option<Point>, FxBuildHasher>,
    /// The converts that repeat one of those, by their results.
    merged: FxHashMap<ValueId, ValueId>,
}

impl Planner<'_> {
    fn plan_op(&mut self, op: OpId) {
        let node = *self.graph.node(op);
        // The typing is asked for with the dtypes that weak values still have: an f* operand computes with f*.
        let typing = typing(self.graph, self.semantics, op, |value| self.solution.value(value));
        let Ok(Some(typing)) = typing else { return self.plan_stated(op) };
        let shape = self.operand_shape(op);
        for index in 0..self.graph.operands(op).len() {
            let value = self.graph.operands(op)[index];
            let dtype = self.semantics.strengthen(typing.compute(index));
            let target = match shape {
                Some(shape) => self.shape_for_operand(op, shape, value),
                None => self.solution.value(value).shape,
            };
            let role = match self.graph.value(value).literal {
                Some(_) if typing.saturates => Role::Bound,
                Some(_) if node.op == Op::Pow && index == 1 => Role::Exponent,
                _ => Role::Number,
            };
            self.need(Use::Operand(op, index), node.block, value, (dtype, role), target);
        }
    }

    fn plan_feed(&mut self, slot: SlotId, index: usize) {
        let Feed { value, block, .. } = self.graph.slot(slot).sources[index];
        let Type { dtype: Known::DType(dtype), shape } = self.solution.slot(slot) else {
            return self.keep(Use::Feed(slot, index), block, value);
        };
        let dtype = self.semantics.strengthen(dtype);
        self.need(Use::Feed(slot, index), block, value, (dtype, Role::Number), shape);
    }

    /// Takes the converts of a run before as what there is of their values in their dtypes, each once: they can be moved
    /// to wherever they are used.
    fn gather(&mut self) {
        let mut movable: Vec<OpId> = self.graph.movable.iter().copied().collect();
        movable.sort_unstable();
        for op in movable {
            let Some((x, dtype)) = self.converted(op) else { continue };
            let source = self.graph.value(x).source;
            if is_weak_literal(self.graph, x)
                || matches!(source, Source::Op(op) if self.graph.movable.contains(&op))
            {
                continue;
            }
            let result = self.graph.node(op).result;
            match self.made.entry((x, dtype, Role::Number)) {
                Entry::Vacant(entry) => {
                    entry.insert(Produced::Value(result));
                    self.moved.insert(result, None);
                }
                Entry::Occupied(entry) => {
                    if let Produced::Value(first) = entry.get() {
                        self.merged.insert(result, *first);
                        self.plan.merged.push(op);
                    }
                }
            }
        }
    }

    /// The operand of a convert, and the dtype it is converted to.
    fn converted(&self, op: OpId) -> Option<(ValueId, DType)> {
        let node = self.graph.node(op);
        match (node.op, self.graph.operands(op), self.solution.dtype(node.result)) {
            (Op::Convert, [x], Some(dtype)) => Some((*x, self.semantics.strengthen(dtype))),
            _ => None,
        }
    }

    /// An op that states its dtype takes its operands as they are. But a convert of a weak literal is one use of it more,
    /// and another one serves later users, if it stands in the block of the definition.
    fn plan_stated(&mut self, op: OpId) {
        let node = *self.graph.node(op);
        if let Some((x, dtype)) = self.converted(op) {
            if is_weak_literal(self.graph, x) {
                let shape = self.solution.value(x).shape;
                return self.need(Use::Operand(op, 0), node.block, x, (dtype, Role::Number), shape);
            }
            if self.graph.value(x).block == node.block && !self.merged.contains_key(&node.result) {
                self.made.entry((x, dtype, Role::Number)).or_insert(Produced::Value(node.result));
            }
        }
        for index in 0..self.graph.operands(op).len() {
            self.keep(Use::Operand(op, index), node.block, self.graph.operands(op)[index]);
        }
    }

    /// The shape that all operands of `op` must have, if the op broadcasts them.
    fn operand_shape(&self, op: OpId) -> Option<ShapeId> {
        let node = self.graph.node(op);
        let several = self.graph.operands(op).len() > 1;
        let broadcasts = matches!(node.op.info().shape, ShapeRule::Broadcast | ShapeRule::Matmul);
        (several && broadcasts).then(|| self.solution.value(node.result).shape)
    }

    /// The shape that `value` must have as an operand of `op`, whose result has shape `result`: the same, except for
    /// matmul, where only batch dimensions that both operands have are broadcast.
    fn shape_for_operand(&mut self, op: OpId, result: ShapeId, value: ValueId) -> ShapeId {
        let own = self.solution.value(value).shape;
        if self.graph.node(op).op != Op::Matmul {
            return result;
        }
        let has_batch = |value: &ValueId| {
            let dims = self.graph.shapes.get(self.solution.value(*value).shape).dims();
            dims.is_some_and(|dims| !shape::batch_dims(dims).is_empty())
        };
        if !self.graph.operands(op).iter().all(has_batch) {
            return own;
        }
        let (Some(dims), Some(result)) =
            (self.graph.shapes.get(own).dims(), self.graph.shapes.get(result).dims())
        else {
            return own;
        };
        let batch = shape::batch_dims(dims);
        if batch.is_empty() {
            return own;
        }
        let matrix = &dims[batch.len()..];
        let target = Shape::ranked([&result[..result.len().saturating_sub(2)], matrix].concat());
        self.graph.shapes.id(target)
    }

    /// Sees to it that the use at `place`, in `block`, gets `value` in `dtype` and `shape`; a literal in its role.
    fn need(
        &mut self,
        place: Use,
        block: BlockId,
        value: ValueId,
        (dtype, role): (DType, Role),
        shape: ShapeId,
    ) {
        let Some(own) = self.solution.dtype(value) else { return self.keep(place, block, value) };
        let first = self.first(value);
        let mut produced = Produced::Value(first);
        if is_weak_literal(self.graph, first) {
            produced = self.in_dtype(place, first, Make::Literal(dtype, role), dtype);
        } else if self.semantics.strengthen(own) != dtype {
            produced = self.in_dtype(place, first, Make::Convert(dtype), dtype);
        }
        if self.fit(self.solution.value(first).shape, shape) == Fit::Broadcast {
            produced = self.in_shape(place, block, first, produced, dtype, shape);
        }
        if produced == Produced::Value(first) {
            return self.keep(place, block, value);
        }
        self.plan.edits.push(Edit { place, to: produced });
        self.serve(produced, place, block);
    }

    /// Lets the use at `place`, in `block`, have `value` as it is; the first of converts that repeat each other.
    fn keep(&mut self, place: Use, block: BlockId, value: ValueId) {
        let first = self.first(value);
        if first != value {
            self.plan.merges.push(Edit { place, to: Produced::Value(first) });
        }
        self.serve(Produced::Value(first), place, block);
    }

    fn first(&self, value: ValueId) -> ValueId {
        self.merged.get(&value).copied().unwrap_or(value)
    }

    /// The block in which the value of the program is defined that something is made of.
    fn definition(&self, produced: Produced) -> BlockId {
        let mut produced = produced;
        loop {
            produced = match produced {
                Produced::Insert(id) => self.plan.inserts[id.0 as usize].source,
                Produced::Value(value) => match self.graph.value(value).source {
                    Source::Op(op) if self.moved.contains_key(&value) => {
                        Produced::Value(self.graph.operands(op)[0])
                    }
                    _ => return self.graph.value(value).block,
                },
            }
        }
    }

    /// Notes that something is used at `place`, in `block`.
    fn serve(&mut self, produced: Produced, place: Use, block: BlockId) {
        let placed = match produced {
            Produced::Insert(_) => true,
            Produced::Value(value) => self.moved.contains_key(&value),
        };
        if placed {
            let point = self.places.before(self.graph, place, block, self.definition(produced));
            self.serve_at(produced, point);
        }
    }

    fn serve_at(&mut self, produced: Produced, point: Point) {
        let served = match produced {
            Produced::Insert(id) => Some(&mut self.points[id.0 as usize]),
            Produced::Value(value) => self.moved.get_mut(&value),
        };
        if let Some(served) = served {
            *served = Some(match *served {
                Some(before) => self.places.common(self.graph, before, point),
                None => point,
            });
        }
    }

    fn insert(&mut self, insert: Insert) -> InsertId {
        self.points.push(None);
        self.plan.inserts.push(insert);
        InsertId(self.plan.inserts.len() as u32 - 1)
    }

    /// Finds where everything stands, from the last uses up.
    fn settle(&mut self) {
        for index in (0..self.plan.inserts.len()).rev() {
            let insert = self.plan.inserts[index];
            let Some(mut point) = self.points[index] else { continue };
            match (insert.make, insert.source) {
                (Make::Literal(..), Produced::Value(literal)) => {
                    self.plan.inserts[index].position = Position::Behind(literal);
                    continue;
                }
                (Make::Convert(_) | Make::Literal(..), source) => {
                    point = self.places.outside_loops(self.graph, point, self.definition(source));
                }
                (Make::Broadcast { .. }, _) => {}
            }
            self.plan.inserts[index].position = point.into();
            self.serve_at(insert.source, point);
        }
        for (value, point) in &self.moved {
            let (Some(point), Source::Op(op)) = (*point, self.graph.value(*value).source) else { continue };
            let definition = self.definition(Produced::Value(*value));
            let point = self.places.outside_loops(self.graph, point, definition);
            if !self.places.is_before(self.graph.node(op).block, op.0, point) {
                self.plan.moves.push((op, point.into()));
            }
        }
    }

    fn in_dtype(&mut self, serves: Use, value: ValueId, make: Make, dtype: DType) -> Produced {
        let role = match make {
            Make::Literal(_, role) => role,
            Make::Convert(_) | Make::Broadcast { .. } => Role::Number,
        };
        if let Some(produced) = self.made.get(&(value, dtype, role)) {
            return *produced;
        }
        let source = Produced::Value(value);
        let result = Type { dtype: Known::DType(dtype), shape: self.solution.value(value).shape };
        let insert = self.insert(Insert { source, make, position: Position::Before(serves), serves, result });
        self.made.insert((value, dtype, role), Produced::Insert(insert));
        Produced::Insert(insert)
    }

    fn fit(&self, own: ShapeId, target: ShapeId) -> Fit {
        let (own, target) = (self.graph.shapes.get(own), self.graph.shapes.get(target));
        match (own.dims(), target.dims()) {
            (Some(own), Some(target)) if own != target => Fit::Broadcast,
            _ => Fit::Fits,
        }
    }

    fn in_shape(
        &mut self,
        serves: Use,
        block: BlockId,
        value: ValueId,
        from: Produced,
        dtype: DType,
        target: ShapeId,
    ) -> Produced {
        let mut current = self.solution.value(value).shape;
        let mut produced = from;
        let patterns = self.patterns(serves, value, target);
        let steps = patterns.len().max(1);
        for step in 0..steps {
            let like = patterns.get(step).copied();
            let shape = match like {
                Some(like) if step + 1 < steps => self.broadcast(current, self.solution.value(like).shape),
                _ => target,
            };
            let make = Make::Broadcast { shape, like };
            let position = Position::Before(serves);
            let key = (produced, shape, like, like.map(|_| block));
            produced = Produced::Insert(match self.shapes.get(&key) {
                Some(id) => *id,
                None => {
                    let result = Type { dtype: Known::DType(dtype), shape };
                    let id = self.insert(Insert { source: produced, make, position, serves, result });
                    self.shapes.insert(key, id);
                    id
                }
            });
            current = shape;
        }
        produced
    }

    fn broadcast(&mut self, a: ShapeId, b: ShapeId) -> ShapeId {
        let shape =
            shape::broadcast(self.graph.shapes.get(a), self.graph.shapes.get(b)).unwrap_or(Shape::UNRANKED);
        self.graph.shapes.id(shape)
    }

    /// The other operands that know the extents at run time which `value` lacks in `target`.
    fn patterns(&self, place: Use, value: ValueId, target: ShapeId) -> Vec<ValueId> {
        let Use::Operand(op, _) = place else { return Vec::new() };
        let dims = |id: ShapeId| self.graph.shapes.get(id).dims().unwrap_or_default();
        let from_end = |dims: &[i64], i: usize| dims.len().checked_sub(i + 1).map(|i| dims[i]);
        let (own, target) = (dims(self.solution.value(value).shape), dims(target));
        let mut patterns = Vec::new();
        for i in (0..target.len()).filter(|i| from_end(target, *i) == Some(DYNAMIC)) {
            if from_end(own, i) == Some(DYNAMIC) {
                continue;
            }
            let knows =
                |other: &&ValueId| from_end(dims(self.solution.value(**other).shape), i) == Some(DYNAMIC);
            if patterns.iter().any(|known| knows(&known)) {
                continue;
            }
            patterns.extend(self.graph.operands(op).iter().find(knows));
        }
        patterns
    }
}
