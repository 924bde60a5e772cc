//! Which tensors are needed at the ends of blocks.

use mlir_sys::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::mlir::raw::{self, Address};

/// A value.
pub type Name = Address<MlirValue>;

/// The tensors that are used behind the start, and behind the end, of each block.
#[derive(Debug, Default)]
pub struct Liveness {
    /// At the start; arguments of the block are not among them.
    pub at_start: FxHashMap<Address<MlirBlock>, FxHashSet<Name>>,
    /// At the end.
    pub at_end: FxHashMap<Address<MlirBlock>, FxHashSet<Name>>,
}

/// The blocks that can be reached from the first one, each behind those that dominate it: what comes of a depth-first walk,
/// from the last that it leaves to the first.
pub fn in_order(region: MlirRegion) -> Vec<MlirBlock> {
    let successors = |block: MlirBlock| -> Vec<MlirBlock> {
        raw::last_operation(block).into_iter().flat_map(raw::successors).collect()
    };
    let Some(first) = raw::blocks(region).next() else { return Vec::new() };
    let mut seen = FxHashSet::from_iter([Address(first)]);
    let mut walk = vec![(first, successors(first))];
    let mut order = Vec::new();
    while let Some((block, rest)) = walk.last_mut() {
        match rest.pop() {
            Some(next) => {
                if seen.insert(Address(next)) {
                    walk.push((next, successors(next)));
                }
            }
            None => {
                order.push(*block);
                walk.pop();
            }
        }
    }
    order.reverse();
    order
}

/// Finds the live tensors of a function whose control flow is blocks.
pub fn liveness(blocks: &[MlirBlock], is_tensor: impl Fn(MlirValue) -> bool) -> Liveness {
    let mut found = Liveness::default();
    let mut used: FxHashMap<Address<MlirBlock>, (FxHashSet<Name>, FxHashSet<Name>)> = FxHashMap::default();
    for block in blocks {
        let (mut needs, mut makes) = (FxHashSet::default(), FxHashSet::default());
        makes.extend(raw::arguments(*block).map(Address));
        for operation in raw::operations(*block) {
            for operand in raw::operands(operation).filter(|operand| is_tensor(*operand)) {
                if !makes.contains(&Address(operand)) {
                    needs.insert(Address(operand));
                }
            }
            makes.extend(raw::results(operation).map(Address));
        }
        used.insert(Address(*block), (needs, makes));
    }
    let mut changed = true;
    while changed {
        changed = false;
        for block in blocks.iter().rev() {
            let last = raw::last_operation(*block);
            let mut at_end = FxHashSet::default();
            for next in last.into_iter().flat_map(raw::successors) {
                at_end.extend(found.at_start.get(&Address(next)).into_iter().flatten().copied());
            }
            let Some((needs, makes)) = used.get(&Address(*block)) else { continue };
            let mut at_start = needs.clone();
            at_start.extend(at_end.iter().filter(|name| !makes.contains(name)).copied());
            let before = found.at_start.get(&Address(*block)).map_or(0, FxHashSet::len);
            changed |= at_start.len() != before;
            found.at_start.insert(Address(*block), at_start);
            found.at_end.insert(Address(*block), at_end);
        }
    }
    found
}
