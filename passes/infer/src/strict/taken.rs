//! What structured ops take from outside of their regions.

use rustc_hash::{FxHashMap, FxHashSet};

use super::super::graph::{BlockId, Counts, Feed, Graph, SlotId, ValueId};
use super::super::solve::Call;
use super::Kind;

/// What flows to a result of a condition, but for the mask of a choice.
pub(super) fn alternatives(graph: &Graph, slot: SlotId) -> &[Feed] {
    let feeds = &graph.slot(slot).sources;
    let masked = feeds.last().is_some_and(|feed| feed.counts == Counts::Shape);
    &feeds[..feeds.len() - usize::from(masked)]
}

/// For each structured op, the values that it takes from outside, each once.
pub(super) fn taken(graph: &Graph, calls: &[Call]) -> Vec<Vec<ValueId>> {
    // The structured ops that contain a block, the innermost last.
    let mut holder: FxHashMap<BlockId, usize> = FxHashMap::default();
    for (index, structure) in graph.structures.iter().enumerate() {
        holder.extend(structure.bodies.iter().map(|body| (*body, index)));
    }
    let parent = |block: BlockId| {
        let mut next = Some(block);
        std::iter::from_fn(move || {
            let block = next?;
            let info = graph.block(block);
            next = info.parent;
            Some(info.entry)
        })
    };
    let holders = |block: BlockId| parent(block).filter_map(|entry| holder.get(&entry).copied()).collect();
    let mut taken: Vec<FxHashSet<ValueId>> = vec![FxHashSet::default(); graph.structures.len()];
    let mut take = |value: ValueId, block: BlockId| {
        let defined: FxHashSet<usize> =
            parent(graph.value(value).block).filter_map(|entry| holder.get(&entry).copied()).collect();
        let holders: Vec<usize> = holders(block);
        for index in holders.into_iter().filter(|index| !defined.contains(index)) {
            taken[index].insert(value);
        }
    };
    for op in graph.ops() {
        for value in graph.operands(op) {
            take(*value, graph.node(op).block);
        }
    }
    for call in calls {
        call.operands.iter().for_each(|value| take(*value, call.block));
    }
    for slot in graph.slot_ids() {
        for feed in graph.slot(slot).sources.iter().filter(|feed| feed.is_operand) {
            take(feed.value, feed.block);
        }
    }
    for (index, structure) in graph.structures.iter().enumerate() {
        // A choice has no region that would take them.
        let chosen = structure.results.iter().filter(|_| structure.kind == Kind::Select);
        for slot in chosen.copied().flatten() {
            taken[index].extend(alternatives(graph, slot).iter().map(|feed| feed.value));
        }
        for slot in structure.carries.iter().copied().flatten() {
            taken[index].extend(graph.slot(slot).sources.first().map(|feed| feed.value));
        }
    }
    let sorted = taken.into_iter().map(|values| {
        let mut values: Vec<ValueId> = values.into_iter().collect();
        values.sort_unstable();
        values
    });
    sorted.collect()
}
