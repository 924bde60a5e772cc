//! Names for extents that only a run knows: what is known of their being equal.
//!
//! [`Extents::new`] gives every dynamic dimension of a solved graph a name, a negative number in place of
//! [`DYNAMIC`]. Equal names are equal extents. The rules of [`shape`] carry names on, and two names that broadcast have
//! a name for what they broadcast to. So `x + y` and then `(x + y) * x` need one check, not two.
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
use promote_lattice::op::ShapeRule;

/// How many rounds names may take to settle in loops. After that each slot has names of its own.
const MAX_ROUNDS: usize = 16;

/// How many extents a name of what they broadcast to may have.
const MAX_PARTS: usize = 16;

/// What an extent is the name of.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Name {
    /// That of a value along an axis.
    Axis(ValueId, usize),
    /// What these broadcast to: two or more names of the other kind, in order.
    Broadcast(Box<[i64]>),
}

/// The named shapes of a graph's values.
#[derive(Debug, Default)]
pub struct Extents {
    names: Vec<Name>,
    ids: FxHashMap<Name, i64>,
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
        self.names.is_empty()
    }

    /// The named shape of a value; its own if nothing of it is dynamic.
    pub fn shape(&self, solution: &Solution, value: ValueId) -> ShapeId {
        self.shapes.get(&value).copied().unwrap_or_else(|| solution.value(value).shape)
    }

    /// What two extents broadcast to, if they do; [`DYNAMIC`] if that is of too many to have a name.
    pub fn broadcast(&mut self, a: i64, b: i64) -> i64 {
        match (is_dynamic(a), is_dynamic(b)) {
            (true, true) if a != b => {
                let mut parts = [self.parts(a), self.parts(b)].concat();
                parts.sort_unstable();
                parts.dedup();
                if parts.len() == self.parts(a).len() {
                    return a;
                }
                if parts.len() > MAX_PARTS || a == DYNAMIC || b == DYNAMIC {
                    return DYNAMIC;
                }
                self.name(Name::Broadcast(parts.into()))
            }
            (true, false) if b == 1 => a,
            (false, true) if a == 1 => b,
            _ => a.max(b),
        }
    }

    /// Whether one of two extents is what the other broadcasts to with something: then both do.
    pub fn fits(&self, a: i64, b: i64) -> bool {
        let (a, b) = (self.parts(a), self.parts(b));
        a.iter().all(|part| b.contains(part)) || b.iter().all(|part| a.contains(part))
    }

    fn parts(&self, extent: i64) -> Vec<i64> {
        match usize::try_from(-1 - extent).ok().and_then(|index| self.names.get(index)) {
            Some(Name::Broadcast(parts)) => parts.to_vec(),
            Some(Name::Axis(..)) | None => vec![extent],
        }
    }

    fn name(&mut self, name: Name) -> i64 {
        if let Some(id) = self.ids.get(&name) {
            return *id;
        }
        self.names.push(name.clone());
        let id = -(self.names.len() as i64);
        self.ids.insert(name, id);
        id
    }

    /// Names the dynamic extents of a value after itself.
    fn name_axes(&mut self, graph: &mut Graph, solution: &Solution, value: ValueId) {
        let found = solution.value(value);
        let dims = graph.shapes.get(found.shape).dims().filter(|dims| dims.iter().copied().any(is_dynamic));
        let (Some(dims), Known::DType(_)) = (dims.map(<[i64]>::to_vec), found.dtype) else { return };
        let named = dims.iter().enumerate().map(|(axis, dim)| match is_dynamic(*dim) {
            true => self.name(Name::Axis(value, axis)),
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
            let itself = self.name(Name::Axis(target, axis));
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
        self.parts(name).iter().all(|part| match usize::try_from(-1 - part).ok().map(|i| &self.names[i]) {
            Some(Name::Axis(value, _)) => tree.dominates(graph.value(*value).block, block),
            Some(Name::Broadcast(_)) | None => false,
        })
    }

    /// Names the extents of an op's result as its rules give them of its operands'.
    fn name_result(&mut self, graph: &mut Graph, solution: &Solution, op: OpId) {
        let node = *graph.node(op);
        let Known::DType(_) = solution.value(node.result).dtype else { return };
        let operands: Vec<ValueId> = graph.operands(op).to_vec();
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
        let broadcasts = matches!(node.op.info().shape, ShapeRule::Broadcast | ShapeRule::BroadcastTo);
        let given = given.iter().enumerate().map(|(axis, extent)| match *extent {
            DYNAMIC if broadcasts => shapes.iter().fold(1, |extent, shape| {
                let dims = shape.dims().unwrap_or_default();
                let of = (axis + dims.len()).checked_sub(rank).map_or(1, |axis| dims[axis]);
                self.broadcast(extent, of)
            }),
            extent => extent,
        });
        let given: Vec<i64> = given.collect();
        let named = own.iter().zip(&given).enumerate().map(|(axis, (own, given))| match *given {
            _ if !is_dynamic(*own) => *own,
            given if is_dynamic(given) && given != DYNAMIC => given,
            _ => self.name(Name::Axis(node.result, axis)),
        });
        let named: Vec<i64> = named.collect();
        if own.iter().zip(&given).any(|(own, given)| !is_dynamic(*own) && is_dynamic(*given)) {
            self.refined.insert(op, graph.shapes.id(Shape::ranked(given)));
        }
        self.shapes.insert(node.result, graph.shapes.id(Shape::ranked(named)));
    }
}
