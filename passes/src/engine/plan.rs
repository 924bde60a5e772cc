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
//! - An insert stands before its first user if that is in the block of the value's definition, else right behind the
//!   definition; so it dominates all its users.

use promote_lattice::op::{Op, ShapeRule};
use promote_lattice::{DType, Semantics};
use rustc_hash::FxHashMap;

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
    /// Right behind the definition of a value, at the start of the block for a block argument.
    Behind(Produced),
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
        graph,
        solution,
        semantics,
        plan: Plan::default(),
        made: FxHashMap::default(),
        shapes: FxHashMap::default(),
        blocks: Vec::new(),
    };
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
    /// The block that each insert stands in.
    blocks: Vec<BlockId>,
}

impl Planner<'_> {
    fn plan_op(&mut self, op: OpId) {
        let node = *self.graph.node(op);
        // The typing is asked for with the dtypes that weak values still have: an f* operand computes with f*.
        let typing = typing(self.graph, self.semantics, op, |value| self.solution.value(value));
        let Ok(Some(typing)) = typing else { return self.plan_convert(op) };
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
        let Type { dtype: Known::DType(dtype), shape } = self.solution.slot(slot) else { return };
        let Feed { value, block, .. } = self.graph.slot(slot).sources[index];
        let dtype = self.semantics.strengthen(dtype);
        self.need(Use::Feed(slot, index), block, value, (dtype, Role::Number), shape);
    }

    /// A convert of a weak literal is one use of it more. Another one that the program already has serves later users,
    /// if it stands in the block of the definition.
    fn plan_convert(&mut self, op: OpId) {
        let node = *self.graph.node(op);
        if let (Op::Convert, [x], Some(dtype)) =
            (node.op, self.graph.operands(op), self.solution.dtype(node.result))
            && is_weak_literal(self.graph, *x)
        {
            let (x, shape) = (*x, self.solution.value(*x).shape);
            let dtype = self.semantics.strengthen(dtype);
            return self.need(Use::Operand(op, 0), node.block, x, (dtype, Role::Number), shape);
        }
        if let (Op::Convert, [x], Some(dtype)) =
            (node.op, self.graph.operands(op), self.solution.dtype(node.result))
            && self.graph.value(*x).block == node.block
        {
            self.made.entry((*x, dtype, Role::Number)).or_insert(Produced::Value(node.result));
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
        let Some(own) = self.solution.dtype(value) else { return };
        let mut produced = Produced::Value(value);
        if is_weak_literal(self.graph, value) {
            let make = Make::Literal(dtype, role);
            produced = self.in_dtype(place, block, value, make, dtype);
        } else if self.semantics.strengthen(own) != dtype {
            produced = self.in_dtype(place, block, value, Make::Convert(dtype), dtype);
        }
        if self.fit(self.solution.value(value).shape, shape) == Fit::Broadcast {
            produced = self.in_shape(place, block, value, produced, dtype, shape);
        }
        if produced != Produced::Value(value) {
            self.plan.edits.push(Edit { place, to: produced });
        }
    }

    fn block_of(&self, produced: Produced) -> BlockId {
        match produced {
            Produced::Value(value) => self.graph.value(value).block,
            Produced::Insert(id) => self.blocks[id.0 as usize],
        }
    }

    /// Where an op that takes `source` stands to dominate the use at `place`, in `block`, and all that follow.
    fn position(&self, source: Produced, place: Use, block: BlockId) -> Position {
        if self.block_of(source) == block { Position::Before(place) } else { Position::Behind(source) }
    }

    fn insert(&mut self, insert: Insert, block: BlockId) -> InsertId {
        self.blocks.push(match insert.position {
            Position::Before(_) => block,
            Position::Behind(source) => self.block_of(source),
        });
        self.plan.inserts.push(insert);
        InsertId(self.plan.inserts.len() as u32 - 1)
    }

    fn in_dtype(
        &mut self,
        serves: Use,
        block: BlockId,
        value: ValueId,
        make: Make,
        dtype: DType,
    ) -> Produced {
        let role = match make {
            Make::Literal(_, role) => role,
            Make::Convert(_) | Make::Broadcast { .. } => Role::Number,
        };
        if let Some(produced) = self.made.get(&(value, dtype, role)) {
            return *produced;
        }
        let source = Produced::Value(value);
        let position = match make {
            Make::Literal(..) => Position::Behind(source),
            Make::Convert(_) | Make::Broadcast { .. } => self.position(source, serves, block),
        };
        let result = Type { dtype: Known::DType(dtype), shape: self.solution.value(value).shape };
        let insert = self.insert(Insert { source, make, position, serves, result }, block);
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
            // A pattern might not dominate what stands right behind the source: such a broadcast stands before its
            // use, and serves others in that block only.
            let (position, key_block) = match like {
                Some(_) => (Position::Before(serves), Some(block)),
                None => (self.position(produced, serves, block), None),
            };
            let make = Make::Broadcast { shape, like };
            let key = (produced, shape, like, key_block);
            produced = Produced::Insert(match self.shapes.get(&key) {
                Some(id) => *id,
                None => {
                    let result = Type { dtype: Known::DType(dtype), shape };
                    let id = self.insert(Insert { source: produced, make, position, serves, result }, block);
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
