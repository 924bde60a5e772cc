//! What is known of dynamic extents being equal.
//!
//! [`Extents::new`] names every dynamic dimension of a solved graph: a negative number in place of [`DYNAMIC`] stands for a
//! symbol of the [`extent`](promote_dialect::extent) algebra, in which lowering computes extents too. Equal names are equal
//! extents. The rules of [`shape`] carry names on; what an op computes of extents (broadcasts, slices, sums, quotients) is
//! the symbol of that rule. So `x + y` and then `(x + y) * x` need one check, not two, and `x[1:] + y[1:]` of equal
//! extents none.
//!
//! ## Laws
//! - A name of a slot is that of all that flows there, if what it names is defined wherever the slot is.
//! - What may be computed again in a loop names something else each time: a name never outlives its definition's block.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::dominance::Dominance;
use super::graph::{Counts, Graph, Known, OpId, ShapeId, SlotId, Source, ValueId};
use super::shape::{self, DYNAMIC, Shape, is_dynamic};
use super::solve::Solution;
use promote_dialect::attrs::Attrs;
use promote_dialect::extent::{Extent, Extents as Table, Product, Rule, Symbol};
use promote_lattice::op::{Op, ShapeRule};

/// How many rounds names may take to settle in loops. After that each slot has names of its own.
const MAX_ROUNDS: usize = 16;

/// How many rules a name may need one after the other. A longer chain goes on with a name of its own.
const MAX_DEPTH: u32 = 64;

/// The named shapes of a graph's values.
#[derive(Debug, Default)]
pub struct Extents {
    /// The symbols; axes are those of values.
    table: Table,
    shapes: FxHashMap<ValueId, ShapeId>,
    /// The ops whose results state extents that their operands do not give, with the named shape that these give.
    refined: BTreeMap<OpId, ShapeId>,
}

impl Extents {
    /// Names the dynamic extents of all values.
    pub fn new(graph: &mut Graph, solution: &Solution, dominance: Option<&Dominance>) -> Self {
        let mut extents = Self::default();
        let unranked = |value: ValueId| {
            let found = solution.value(value);
            found.shape == ShapeId::UNRANKED && matches!(found.dtype, Known::DType(_))
        };
        if !graph.shapes.has_dynamic() && !graph.value_ids().any(unranked) {
            return extents;
        }
        let slots: Vec<SlotId> = graph.slot_ids().filter(|slot| graph.slot(*slot).target.is_some()).collect();
        let targets: FxHashMap<ValueId, SlotId> =
            slots.iter().filter_map(|slot| Some((graph.slot(*slot).target?, *slot))).collect();
        for value in graph.value_ids() {
            let elsewhere = graph.value(value).source == Source::Elsewhere;
            if elsewhere && !targets.contains_key(&value) {
                extents.name_axes(graph, solution, value);
            }
        }
        for round in 0.. {
            let settled = round == MAX_ROUNDS;
            let mut changed = false;
            if settled {
                graph.ops().for_each(|op| _ = extents.shapes.remove(&graph.node(op).result));
            }
            for slot in &slots {
                changed |= extents.name_slot(graph, solution, dominance, *slot, settled);
            }
            for op in graph.ops() {
                let result = graph.node(op).result;
                let before = extents.shapes.get(&result).copied();
                extents.name_result(graph, solution, op);
                changed |= extents.shapes.get(&result).copied() != before;
            }
            if !changed || settled {
                break;
            }
        }
        for value in graph.value_ids() {
            if !extents.shapes.contains_key(&value) {
                extents.name_axes(graph, solution, value);
            }
        }
        extents
    }

    /// The ops whose results state extents that their operands do not give, with the shape that these give.
    pub fn refined(&self) -> impl Iterator<Item = (OpId, ShapeId)> {
        self.refined.iter().map(|(op, shape)| (*op, *shape))
    }

    /// The shape that the operands of such an op give.
    pub fn refined_shape(&self, op: OpId) -> Option<ShapeId> {
        self.refined.get(&op).copied()
    }

    /// Whether there is nothing to name.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// The named shape of a value; its own if nothing of it is dynamic.
    pub fn shape(&self, solution: &Solution, value: ValueId) -> ShapeId {
        self.shapes.get(&value).copied().unwrap_or_else(|| solution.value(value).shape)
    }

    /// What two extents broadcast to, if they do; [`DYNAMIC`] if one of them that is dynamic has no name.
    pub fn broadcast(&mut self, a: i64, b: i64) -> i64 {
        match (a, b) {
            (1, other) | (other, 1) => other,
            _ if !is_dynamic(a) || !is_dynamic(b) => a.max(b),
            _ => match (extent(a), extent(b)) {
                (Some(a), Some(b)) => self.name(Rule::Broadcast(vec![a, b])).unwrap_or(DYNAMIC),
                (None, _) | (_, None) => DYNAMIC,
            },
        }
    }

    /// What shapes broadcast to along an axis of a result of `rank` dimensions.
    fn broadcast_along(&mut self, shapes: &[&[i64]], (axis, rank): (usize, usize)) -> i64 {
        shapes.iter().fold(1, |all, dims| {
            let of = (axis + dims.len()).checked_sub(rank).map_or(1, |axis| dims[axis]);
            self.broadcast(all, of)
        })
    }

    /// Whether one of two extents is what the other broadcasts to with something: then both do.
    pub fn fits(&self, a: i64, b: i64) -> bool {
        match (extent(a), extent(b)) {
            (Some(a), Some(b)) => self.table.fits(a, b),
            (None, _) | (_, None) => false,
        }
    }

    /// The name of what a rule gives, unless a chain of rules would become too long.
    fn name(&mut self, rule: Rule) -> Option<i64> {
        match self.table.of(rule) {
            Extent::Fixed(extent) => Some(extent),
            found @ Extent::Of(Symbol(index)) => {
                (self.table.depth(found) <= MAX_DEPTH).then(|| -1 - i64::from(index))
            }
        }
    }

    /// The name of a value's extent along an axis.
    fn axis(&mut self, value: ValueId, axis: usize) -> i64 {
        self.name(Rule::Axis(value.0, axis)).unwrap_or_else(|| unreachable!("an axis needs no other rule"))
    }

    /// Names the dynamic extents of a value after itself.
    fn name_axes(&mut self, graph: &mut Graph, solution: &Solution, value: ValueId) {
        let found = solution.value(value);
        let dims = graph.shapes.get(found.shape).dims().filter(|dims| dims.iter().copied().any(is_dynamic));
        let (Some(dims), Known::DType(_)) = (dims.map(<[i64]>::to_vec), found.dtype) else { return };
        let named = dims.iter().enumerate().map(|(axis, dim)| match is_dynamic(*dim) {
            true => self.axis(value, axis),
            false => *dim,
        });
        let named: Vec<i64> = named.collect();
        self.shapes.insert(value, graph.shapes.id(Shape::ranked(named)));
    }

    /// Names the extents of a slot's target as all that flows there has them, or after itself; whether that is news.
    fn name_slot(
        &mut self,
        graph: &mut Graph,
        solution: &Solution,
        dominance: Option<&Dominance>,
        slot: SlotId,
        settled: bool,
    ) -> bool {
        let Some(target) = graph.slot(slot).target else { return false };
        let Some(own) = graph.shapes.get(solution.value(target).shape).dims().map(<[i64]>::to_vec) else {
            return false;
        };
        if !own.iter().copied().any(is_dynamic) {
            return false;
        }
        let before = self.shapes.get(&target).copied();
        let rank = own.len();
        let sources: Vec<Vec<i64>> = graph
            .slot(slot)
            .sources
            .iter()
            .filter(|feed| feed.value != target && feed.counts != Counts::DType)
            .filter_map(|feed| {
                let plain = graph.shapes.get(solution.value(feed.value).shape).dims()?;
                let known = !plain.iter().copied().any(is_dynamic) || self.shapes.contains_key(&feed.value);
                let dims = graph.shapes.get(self.shape(solution, feed.value)).dims()?;
                let missing = rank.saturating_sub(dims.len());
                known.then(|| [&vec![1; missing], dims].concat())
            })
            .collect();
        if sources.is_empty() && !settled {
            return false;
        }
        let block = graph.value(target).block;
        let named = own.iter().enumerate().map(|(axis, dim)| {
            if !is_dynamic(*dim) {
                return *dim;
            }
            let itself = self.axis(target, axis);
            let already = before.and_then(|shape| graph.shapes.get(shape).dims()).map(|dims| dims[axis]);
            match sources.first().map(|first| first[axis]) {
                _ if settled || already == Some(itself) => itself,
                Some(first)
                    if is_dynamic(first)
                        && sources.iter().all(|dims| dims[axis] == first || dims[axis] == itself)
                        && self.is_defined(graph, dominance, first, block) =>
                {
                    first
                }
                _ => itself,
            }
        });
        let named: Vec<i64> = named.collect();
        let shape = graph.shapes.id(Shape::ranked(named));
        self.shapes.insert(target, shape);
        before != Some(shape)
    }

    /// Whether all that a name is made of is defined wherever `block` is.
    fn is_defined(
        &self,
        graph: &Graph,
        dominance: Option<&Dominance>,
        name: i64,
        block: super::graph::BlockId,
    ) -> bool {
        let Some(tree) = dominance else { return true };
        let axes = extent(name).map(|extent| self.table.axes(extent)).unwrap_or_default();
        axes.into_iter().all(|(value, _)| tree.dominates(graph.value(ValueId(value)).block, block))
    }

    /// Names the extents of an op's result as its rules give them of its operands'.
    fn name_result(&mut self, graph: &mut Graph, solution: &Solution, op: OpId) {
        let node = *graph.node(op);
        let Known::DType(_) = solution.value(node.result).dtype else { return };
        if graph.keeps_shapes(op, |value| solution.value(value).shape) {
            return self.name_axes(graph, solution, node.result);
        }
        let operands: Vec<ValueId> = graph.shaping(op).to_vec();
        let plain = |value: &ValueId| graph.shapes.get(solution.value(*value).shape).dims();
        let dynamic = |value: &ValueId| plain(value).is_some_and(|dims| dims.iter().copied().any(is_dynamic));
        let is_stated = solution.value(node.result).shape != ShapeId::UNRANKED;
        let passes_on = node.op.info().shape == ShapeRule::Same
            || node.op.info().shape == ShapeRule::Broadcast && operands.len() == 1;
        if is_stated && passes_on && operands.first().is_some_and(|x| plain(x).is_none()) {
            self.refined.insert(op, ShapeId::UNRANKED);
        }
        if !operands.iter().any(dynamic) {
            if !self.shapes.contains_key(&node.result) {
                self.name_axes(graph, solution, node.result);
            }
            return;
        }
        if operands.iter().any(|value| dynamic(value) && !self.shapes.contains_key(value)) {
            return;
        }
        let shapes: Vec<Shape> =
            operands.iter().map(|value| graph.shapes.get(self.shape(solution, *value)).clone()).collect();
        let shapes: Vec<&Shape> = shapes.iter().collect();
        let Ok(Some(given)) = shape::infer(node.op, graph.attrs(op), &shapes) else {
            return self.name_axes(graph, solution, node.result);
        };
        let (Some(given), Some(own)) =
            (given.dims(), graph.shapes.get(solution.value(node.result).shape).dims())
        else {
            return self.name_axes(graph, solution, node.result);
        };
        let own = own.to_vec();
        let rank = given.len();
        let attrs = graph.attrs(op);
        let given = given.iter().enumerate().map(|(axis, extent)| match *extent {
            DYNAMIC => self.computed(node.op, attrs, &shapes, (axis, rank)).unwrap_or(DYNAMIC),
            extent => extent,
        });
        let given: Vec<i64> = given.collect();
        let named = own.iter().zip(&given).enumerate().map(|(axis, (own, given))| match *given {
            _ if !is_dynamic(*own) => *own,
            given if is_dynamic(given) && given != DYNAMIC => given,
            _ => self.axis(node.result, axis),
        });
        let named: Vec<i64> = named.collect();
        if own.iter().zip(&given).any(|(own, given)| !is_dynamic(*own) && is_dynamic(*given)) {
            self.refined.insert(op, graph.shapes.id(Shape::ranked(given)));
        }
        self.shapes.insert(node.result, graph.shapes.id(Shape::ranked(named)));
    }

    /// The extent that an op computes along an axis of its result, of `rank` dimensions, as a rule of extents; nothing where
    /// it is of a dynamic one without a name.
    fn computed(
        &mut self,
        op: Op,
        attrs: &Attrs,
        operands: &[&Shape],
        (axis, rank): (usize, usize),
    ) -> Option<i64> {
        let first = operands.first()?.dims()?;
        let one = Product::number(1);
        let rule = match op.info().shape {
            ShapeRule::Broadcast | ShapeRule::BroadcastTo => {
                let dims: Option<Vec<&[i64]>> = operands.iter().map(|shape| shape.dims()).collect();
                return Some(self.broadcast_along(&dims?, (axis, rank)));
            }
            ShapeRule::Matmul => {
                let dims = operands.iter().map(|shape| shape.dims().map(shape::batch_dims));
                let batches: Vec<&[i64]> = dims.collect::<Option<_>>()?;
                let count = batches.iter().map(|dims| dims.len()).max()?;
                return (axis < count).then(|| self.broadcast_along(&batches, (axis, count)));
            }
            ShapeRule::Slice => {
                let [start, stop, step] = ["start", "stop", "step"].map(|name| attrs.list(name)[axis]);
                Rule::SliceCount { extent: extent(first[axis])?, start, stop, step }
            }
            ShapeRule::Concat => {
                let along = |shape: &&Shape| extent(*shape.dims()?.get(axis)?);
                Rule::Total(operands.iter().map(along).collect::<Option<_>>()?)
            }
            ShapeRule::Reshape => {
                let known = attrs.list("shape").iter().filter(|extent| **extent != -1);
                Rule::Quotient(count(first)?, Product::number(known.copied().fold(1, i64::wrapping_mul)))
            }
            ShapeRule::Scan => Rule::Quotient(count(first)?, one),
            ShapeRule::Stated
            | ShapeRule::Same
            | ShapeRule::Reduce
            | ShapeRule::Along
            | ShapeRule::Stack
            | ShapeRule::Permute
            | ShapeRule::ExpandDims
            | ShapeRule::Squeeze
            | ShapeRule::Take => return None,
        };
        self.name(rule)
    }
}

/// The extent that a number of a shape is, unless that is dynamic and has no name.
fn extent(extent: i64) -> Option<Extent> {
    match extent {
        DYNAMIC => None,
        _ if is_dynamic(extent) => Some(Extent::Of(Symbol(u32::try_from(-1 - extent).ok()?))),
        _ => Some(Extent::Fixed(extent)),
    }
}

/// The number of elements of a shape.
fn count(dims: &[i64]) -> Option<Product> {
    dims.iter().try_fold(Product::number(1), |all, dim| Some(&all * &extent(*dim)?.into()))
}
