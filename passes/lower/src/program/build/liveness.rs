//! Which tensors are needed later.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::strong::{Function, Operation, Value};

/// Where the tensors of a function are needed.
#[derive(Debug)]
pub struct Liveness {
    /// The tensors that are needed at the start of each block; its arguments are not among them.
    pub at_start: Vec<FxHashSet<Value>>,
    /// Those that are needed at the end of each block.
    pub at_end: Vec<FxHashSet<Value>>,
    /// For each block, the last op that uses a value.
    last_use: Vec<FxHashMap<Value, usize>>,
}

/// What an op uses.
pub(super) fn used(operation: &Operation) -> impl Iterator<Item = Value> + '_ {
    let passed = operation.kind.edges().into_iter().flat_map(|edge| edge.values.iter().copied());
    operation.operands.iter().copied().chain(passed)
}

impl Liveness {
    /// Of the tensors of a function.
    pub fn new(function: &Function) -> Self {
        let count = function.blocks.len();
        let mut needs = vec![FxHashSet::default(); count];
        let mut defines: Vec<FxHashSet<Value>> = vec![FxHashSet::default(); count];
        let mut last_use = vec![FxHashMap::default(); count];
        for (index, block) in function.blocks.iter().enumerate() {
            let own = &mut defines[index];
            own.extend(&block.arguments);
            for (place, operation) in block.operations.iter().enumerate() {
                for value in used(operation).filter(|value| function.is_tensor(*value)) {
                    last_use[index].insert(value, place);
                    if !own.contains(&value) {
                        needs[index].insert(value);
                    }
                }
                own.extend(&operation.results);
            }
        }
        let successors: Vec<Vec<usize>> = function
            .blocks
            .iter()
            .map(|block| block.operations.last().map_or_else(Vec::new, |last| last.kind.edges()))
            .map(|edges| edges.into_iter().map(|edge| edge.block).collect())
            .collect();
        let (mut at_start, mut at_end) = (needs, vec![FxHashSet::default(); count]);
        let mut changed = true;
        while changed {
            changed = false;
            for index in (0..count).rev() {
                let mut end = FxHashSet::default();
                for next in &successors[index] {
                    end.extend(&at_start[*next]);
                }
                let before = at_start[index].len();
                at_start[index].extend(end.iter().filter(|value| !defines[index].contains(value)));
                changed |= at_start[index].len() != before;
                at_end[index] = end;
            }
        }
        Self { at_start, at_end, last_use }
    }

    /// Whether a value is needed after an op of a block.
    pub fn is_needed_after(&self, (block, operation): (usize, usize), value: Value) -> bool {
        self.at_end[block].contains(&value)
            || self.last_use[block].get(&value).is_some_and(|last| *last > operation)
    }
}
