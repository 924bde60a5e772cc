//! Places that nothing but what has no value flows to, as the results of a branch that is never taken: any type will do.
//!
//! Upstream passes pass `ub.poison` on where control flow makes a value out of nothing, and leave blocks that nothing
//! branches to. Poison adds nothing to what it meets; where it meets nothing, the place takes the type of what it flows to in
//! turn, so that no conversion is needed, and is one integer, which most ops take, if there is no such type. What is known
//! stays as it is.

use promote_lattice::DType;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::graph::{Counts, Known, OpId, ShapeId, SlotId, Source, Type, ValueId};
use super::super::shape::Shape;
use super::{Place, Solver};

/// What no value reaches.
struct Unreached {
    /// The slots, by number.
    slots: Vec<SlotId>,
    /// The ops that have such an operand, in program order.
    ops: Vec<OpId>,
}

impl Solver<'_> {
    /// Gives types to the places that no value reaches.
    pub(super) fn define(&mut self) {
        if self.graph.gets_undefined.is_empty() {
            return;
        }
        let targets = self.targets();
        let Unreached { mut slots, ops } = self.unreached(&targets);
        let scalar = self.graph.shapes.id(Shape::ranked([]));
        let any = Type { dtype: Known::DType(self.semantics.strengthen(DType::WeakInt)), shape: scalar };
        loop {
            slots.retain(|slot| self.slots[slot.0 as usize].dtype == Known::Unknown);
            let wanted = slots.iter().find_map(|slot| Some((*slot, self.wanted(*slot)?)));
            let Some((slot, found)) = wanted.or_else(|| Some((*slots.first()?, any))) else { break };
            self.assign(slot, found, &targets);
        }
        for op in ops {
            self.visit(op);
        }
    }

    /// The slot that each value stands for.
    fn targets(&self) -> FxHashMap<ValueId, SlotId> {
        let slots = self.graph.slot_ids();
        slots.filter_map(|slot| Some((self.graph.slot(slot).target?, slot))).collect()
    }

    fn is_open(&self, value: ValueId) -> bool {
        self.values[value.0 as usize].dtype == Known::Unknown
    }

    fn unreached(&self, targets: &FxHashMap<ValueId, SlotId>) -> Unreached {
        let sources = |slot: SlotId| self.graph.slot(slot).sources.iter().map(|feed| feed.value);
        let is_fed = |slot: SlotId| {
            self.graph.gets_undefined.contains(&slot) || !self.graph.slot(slot).sources.is_empty()
        };
        let comes_of = |value: ValueId| -> Option<Vec<ValueId>> {
            match (self.graph.value(value).source, targets.get(&value)) {
                (Source::Op(op), _) => Some(self.graph.operands(op).to_vec()),
                (Source::Elsewhere, Some(slot)) => is_fed(*slot).then(|| sources(*slot).collect()),
                (Source::Elsewhere, None) => self.graph.undefined.contains(&value).then(Vec::new),
            }
        };
        let open = self.graph.value_ids().filter(|value| self.is_open(*value));
        let mut without: FxHashMap<ValueId, Vec<ValueId>> =
            open.filter_map(|value| Some((value, comes_of(value)?))).collect();
        loop {
            let known: FxHashSet<ValueId> = without.keys().copied().collect();
            without.retain(|_, of| of.iter().all(|value| !self.is_open(*value) || known.contains(value)));
            if without.len() == known.len() {
                break;
            }
        }
        let is_without = |value: &ValueId| without.contains_key(value);
        let slots = self.graph.slot_ids().filter(|slot| match self.graph.slot(*slot).target {
            Some(target) => is_without(&target),
            None => is_fed(*slot) && sources(*slot).all(|value| is_without(&value)),
        });
        let ops = self.graph.ops().filter(|op| is_without(&self.graph.node(*op).result));
        Unreached { slots: slots.collect(), ops: ops.collect() }
    }

    /// The type of something that a slot flows to.
    fn wanted(&self, slot: SlotId) -> Option<Type> {
        let target = self.graph.slot(slot).target?;
        let users = &self.users.as_ref()?.0[target.0 as usize];
        users.iter().find_map(|user| {
            let Place::Slot(user) = *user else { return None };
            let is_it = |counts, value| counts == Counts::Type && value == target;
            let takes = self.graph.slot(user).sources.iter().any(|feed| is_it(feed.counts, feed.value));
            let found = self.slots[user.0 as usize];
            (takes && matches!(found.dtype, Known::DType(_))).then_some(found)
        })
    }

    /// Lets a slot be of a type, with those that have its type because they are no operands of each other.
    fn assign(&mut self, slot: SlotId, found: Type, targets: &FxHashMap<ValueId, SlotId>) {
        let mut stack = vec![slot];
        while let Some(slot) = stack.pop() {
            if self.slots[slot.0 as usize].dtype != Known::Unknown {
                continue;
            }
            let stated = self.graph.slot(slot).stated.shape;
            let shape = if stated == ShapeId::UNRANKED { found.shape } else { stated };
            let found = Type { shape, ..found };
            self.slots[slot.0 as usize] = found;
            let Some(target) = self.graph.slot(slot).target else { continue };
            self.values[target.0 as usize] = found;
            let followed = self.graph.slot(slot).sources.iter().filter(|feed| !feed.is_operand);
            stack.extend(followed.filter_map(|feed| targets.get(&feed.value)));
            let follows = |other: &SlotId| {
                let mut feeds = self.graph.slot(*other).sources.iter();
                feeds.any(|feed| !feed.is_operand && feed.value == target)
            };
            let users = self.users.iter().flat_map(|users| &users.0[target.0 as usize]);
            let users = users.filter_map(|user| match *user {
                Place::Slot(other) => Some(other),
                Place::Op(_) | Place::Value(_) | Place::Call(_) => None,
            });
            stack.extend(users.filter(follows));
        }
    }
}
