//! Broadcasts: which operands must have another shape, and which others define its dynamic extents.

use promote_lattice::op::{Op, ShapeRule};

use super::super::foreign::{Broadcasts, Foreign};
use super::super::graph::{BlockId, Known, OpId, ShapeId, Type, ValueId};
use super::super::shape::{self, DYNAMIC, Shape, is_dynamic};
use super::{Insert, Make, Planner, Position, Produced, Use};
use promote_lattice::DType;

impl Planner<'_> {
    /// The shape that all operands of `op` must have, if the op broadcasts them.
    pub(super) fn operand_shape(&self, op: OpId) -> Option<ShapeId> {
        let is_itself = |foreign: &Foreign| foreign.states_shape || foreign.broadcasts == Broadcasts::Itself;
        let shape_of = |value| self.solution.value(value).shape;
        if self.graph.foreign(op).is_some_and(is_itself) || self.graph.is_of_one_shape(op, shape_of) {
            return None;
        }
        let node = self.graph.node(op);
        let several = self.graph.operands(op).len() > 1;
        let broadcasts = matches!(node.op.info().shape, ShapeRule::Broadcast | ShapeRule::Matmul);
        let own = || self.extents.shape(self.solution, node.result);
        (several && broadcasts).then(|| self.extents.refined_shape(op).unwrap_or_else(own))
    }

    /// The shape that `value` must have as an operand of `op`, whose result has shape `result`: the same, except for
    /// matmul, where only batch dimensions that both operands have are broadcast, as far as their extents are static.
    pub(super) fn shape_for_operand(&mut self, op: OpId, result: ShapeId, value: ValueId) -> ShapeId {
        let own = self.extents.shape(self.solution, value);
        // A run before saw to it.
        if self.graph.checked.contains(&op) {
            return own;
        }
        if self.graph.foreign(op).is_some_and(|foreign| foreign.broadcasts == Broadcasts::Ranked) {
            return self.in_rank_of(own, result);
        }
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
        let target = shape::batch_dims(result);
        if batch.is_empty() || target.iter().copied().any(is_dynamic) {
            return own;
        }
        let target = Shape::ranked([target, &dims[batch.len()..]].concat());
        self.graph.shapes.id(target)
    }

    /// A shape with leading dimensions of 1, so that it has the rank of another one.
    fn in_rank_of(&mut self, own: ShapeId, other: ShapeId) -> ShapeId {
        let dims = |shape| self.graph.shapes.get(shape).dims();
        let (Some(dims), Some(rank)) = (dims(own), dims(other).map(<[i64]>::len)) else { return own };
        let missing = rank.saturating_sub(dims.len());
        let ranked = Shape::ranked([&vec![1; missing], dims].concat());
        self.graph.shapes.id(ranked)
    }

    /// Whether something of shape `own` must be broadcast to be of shape `target`.
    pub(super) fn broadcasts(&self, own: ShapeId, target: ShapeId) -> bool {
        let dims = |shape| self.graph.shapes.get(shape).dims();
        own != target && dims(own).is_some() && dims(target).is_some()
    }

    pub(super) fn in_shape(
        &mut self,
        serves: Use,
        block: BlockId,
        value: ValueId,
        from: Produced,
        dtype: DType,
        target: ShapeId,
    ) -> Produced {
        let mut current = self.extents.shape(self.solution, value);
        let mut produced = from;
        let mut likes = self.likes(serves, current, target).into_iter().peekable();
        loop {
            let like = likes.next();
            let shape = match like {
                Some(like) if likes.peek().is_some() => self.towards(current, target, Some(like)),
                _ => target,
            };
            let checked = self.is_checked(current, shape);
            let plain = self.plain(shape);
            // Another operand might not dominate what stands before several uses, and what needs a check must not be run
            // where no use is: such a broadcast serves what its first use dominates.
            let stays = checked || like.is_some();
            let make = Make::Broadcast { shape: plain, like, checked: stays };
            let there = self.shapes.get(&(produced, shape)).into_iter().flatten();
            let mut there = there.filter(|(_, at)| !stays || self.places.dominates(*at, block));
            produced = Produced::Insert(match there.next() {
                Some((id, _)) => *id,
                None => {
                    let result = Type { dtype: Known::DType(dtype), shape: plain };
                    let (source, position) = (produced, Position::Before(serves));
                    let id = self.insert(Insert { source, make, position, serves, result });
                    self.shapes.entry((source, shape)).or_default().push((id, block));
                    id
                }
            });
            current = shape;
            if likes.peek().is_none() {
                return produced;
            }
        }
    }

    /// Whether a broadcast from one shape to another may fail at run time.
    fn is_checked(&self, from: ShapeId, to: ShapeId) -> bool {
        let dims = |shape| self.graph.shapes.get(shape).dims().unwrap_or_default();
        let pairs = dims(from).iter().rev().zip(dims(to).iter().rev());
        pairs.into_iter().any(|(from, to)| is_dynamic(*from) && from != to)
    }

    /// A shape without names.
    pub(super) fn plain(&mut self, shape: ShapeId) -> ShapeId {
        let Some(dims) = self.graph.shapes.get(shape).dims() else { return shape };
        let plain = |extent: &i64| if is_dynamic(*extent) { DYNAMIC } else { *extent };
        let plain: Vec<i64> = dims.iter().map(plain).collect();
        self.graph.shapes.id(Shape::ranked(plain))
    }

    /// What a broadcast to `target` makes of `current` where `like`, if anything, knows the extents.
    fn towards(&mut self, current: ShapeId, target: ShapeId, like: Option<ValueId>) -> ShapeId {
        let shape = |shape: ShapeId| self.graph.shapes.get(shape).dims().unwrap_or_default().to_vec();
        let (current, target) = (shape(current), shape(target));
        let like = like.map_or_else(Vec::new, |like| shape(self.extents.shape(self.solution, like)));
        let of = |dims: &[i64], axis: usize| {
            (axis + dims.len()).checked_sub(target.len()).map_or(1, |axis| dims[axis])
        };
        let dims = target.iter().enumerate().map(|(axis, extent)| match is_dynamic(*extent) {
            true => self.extents.broadcast(of(&current, axis), of(&like, axis)),
            false => *extent,
        });
        let dims: Vec<i64> = dims.collect();
        self.graph.shapes.id(Shape::ranked(dims))
    }

    /// The other operands that know the extents at run time which something of shape `own` lacks in `target`.
    fn likes(&mut self, place: Use, own: ShapeId, target: ShapeId) -> Vec<ValueId> {
        let Use::Operand(op, _) = place else { return Vec::new() };
        // Of matmul's, static dimensions alone are broadcast: it broadcasts others itself.
        if self.graph.node(op).op == Op::Matmul {
            return Vec::new();
        }
        let mut current = self.towards(own, target, None);
        let mut likes = Vec::new();
        for index in 0..self.graph.operands(op).len() {
            let other = self.graph.operands(op)[index];
            let next = self.towards(current, target, Some(other));
            // What has no name might grow by every other dynamic extent.
            let other_shape = self.extents.shape(self.solution, other);
            let dims = |shape: ShapeId| self.graph.shapes.get(shape).dims().unwrap_or_default();
            let unnamed = dims(next).contains(&DYNAMIC) && dims(other_shape).iter().copied().any(is_dynamic);
            if next != current || unnamed && other_shape != own {
                likes.push(other);
                current = next;
            }
        }
        likes
    }
}
