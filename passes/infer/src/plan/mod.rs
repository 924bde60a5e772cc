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
//! - A conversion stands at the nearest point that dominates its uses (`place`): not on a path that needs none, but
//!   where several do, before they part. A convert stands outside of the loops that its operand is outside of; a
//!   broadcast, which costs nothing where it is fused, in them.
//! - What a run before has inserted is moved, or merged, rather than repeated.

mod conditions;
mod made;
mod place;
mod shapes;

use indexmap::IndexMap;
use promote_lattice::op::Op;
use promote_lattice::{DType, Semantics};
use rustc_hash::{FxBuildHasher, FxHashMap};

pub use self::conditions::{Check, Condition, Extent};
use self::made::Made;
use self::place::{Places, Point};
use super::extents::Extents;
use super::graph::{BlockId, Counts, Feed, Graph, Known, OpId, ShapeId, SlotId, Source, Type, ValueId};
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
    /// A literal exponent of a base of this dtype, which must not be wrapped: that would change the power.
    Exponent(DType),
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
    /// Broadcast `source` to this shape; dynamic extents are those of `like`.
    Broadcast {
        /// The new shape.
        shape: ShapeId,
        /// Whose extents fill in what `shape` leaves dynamic.
        like: Option<ValueId>,
        /// Whether it needs a check, which is made.
        checked: bool,
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
    /// Before the parent of a region, whose first block this is.
    BeforeParent(BlockId),
    /// Before the op that ends a block.
    AtEnd(BlockId),
    /// Right after the definition of a literal.
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
    /// What must hold when an op is run.
    pub checks: Vec<Check>,
    /// The ops that have those checks, or need none of them any more, because an op before has.
    pub checked: Vec<OpId>,
    /// The ops whose results state extents that are known at run time only, with the shape that is known statically.
    pub refined: Vec<(OpId, ShapeId)>,
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
    let places = Places::new(graph);
    let mut planner = Planner {
        extents: Extents::new(graph, solution, places.dominance()),
        places,
        graph,
        solution,
        semantics,
        plan: Plan::default(),
        made: Made::default(),
        shapes: FxHashMap::default(),
        points: Vec::new(),
        facts: FxHashMap::default(),
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
    let refined: Vec<_> = planner.extents.refined().collect();
    planner.plan.refined = refined.into_iter().map(|(op, shape)| (op, planner.plain(shape))).collect();
    planner.plan
}

struct Planner<'a> {
    graph: &'a mut Graph,
    solution: &'a Solution,
    semantics: &'a Semantics,
    plan: Plan,
    /// What there is already: a value in a dtype.
    made: Made,
    /// What there is already: something in a shape, with the block of its first use.
    shapes: FxHashMap<(Produced, ShapeId), Vec<(InsertId, BlockId)>>,
    extents: Extents,
    /// What was checked, and in which blocks.
    facts: FxHashMap<Condition, Vec<BlockId>>,
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
        self.check(op);
        // The typing is asked for with the dtypes that weak values still have: an f* operand computes with f*.
        let typing = typing(self.graph, self.semantics, op, |value| self.solution.value(value));
        let Ok(Some(typing)) = typing else { return self.plan_stated(op) };
        let shape = self.operand_shape(op);
        for index in 0..self.graph.operands(op).len() {
            let value = self.graph.operands(op)[index];
            let dtype = self.semantics.strengthen(typing.compute(index));
            let target = match shape {
                Some(shape) => self.shape_for_operand(op, shape, value),
                None => self.extents.shape(self.solution, value),
            };
            let role = match self.graph.value(value).literal {
                Some(_) if typing.saturates => Role::Bound,
                Some(_) if node.op == Op::Pow && index == 1 => {
                    Role::Exponent(self.semantics.strengthen(typing.compute(0)))
                }
                _ => Role::Number,
            };
            self.need(Use::Operand(op, index), node.block, value, (dtype, role), target);
        }
    }

    fn plan_feed(&mut self, slot: SlotId, index: usize) {
        let Feed { value, block, counts, .. } = self.graph.slot(slot).sources[index];
        let Type { dtype: Known::DType(dtype), shape } = self.solution.slot(slot) else {
            return self.keep(Use::Feed(slot, index), block, value);
        };
        let dtype = if counts == Counts::Shape { DType::B1 } else { self.semantics.strengthen(dtype) };
        let own = self.solution.value(value).shape;
        let shape = if own == shape || counts == Counts::DType {
            self.extents.shape(self.solution, value)
        } else {
            shape
        };
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
            match self.made.get(x, dtype, Role::Number) {
                None => {
                    self.made.add((x, dtype, Role::Number), Produced::Value(result));
                    self.moved.insert(result, None);
                }
                Some(Produced::Value(first)) => {
                    self.merged.insert(result, first);
                    self.plan.merged.push(op);
                }
                Some(Produced::Insert(_)) => {}
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
                let shape = self.extents.shape(self.solution, x);
                return self.need(Use::Operand(op, 0), node.block, x, (dtype, Role::Number), shape);
            }
            if self.graph.value(x).block == node.block && !self.merged.contains_key(&node.result) {
                self.made.add((x, dtype, Role::Number), Produced::Value(node.result));
            }
        }
        for index in 0..self.graph.operands(op).len() {
            self.keep(Use::Operand(op, index), node.block, self.graph.operands(op)[index]);
        }
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
        if self.graph.kept.contains(&value) {
            return self.keep(place, block, value);
        }
        let Some(own) = self.solution.dtype(value) else { return self.keep(place, block, value) };
        let first = self.first(value);
        let mut produced = Produced::Value(first);
        if is_weak_literal(self.graph, first) {
            produced = self.in_dtype(place, first, Make::Literal(dtype, role), dtype);
        } else if self.semantics.strengthen(own) != dtype {
            produced = self.in_dtype(place, first, Make::Convert(dtype), dtype);
        }
        if self.broadcasts(self.extents.shape(self.solution, first), shape) {
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
        if let Some(produced) = self.made.get(value, dtype, role) {
            return produced;
        }
        let source = Produced::Value(value);
        let result = Type { dtype: Known::DType(dtype), shape: self.solution.value(value).shape };
        let insert = self.insert(Insert { source, make, position: Position::Before(serves), serves, result });
        self.made.add((value, dtype, role), Produced::Insert(insert));
        Produced::Insert(insert)
    }
}
