//! The source map: where the ids of a graph stand in the source, and how the program writes what they stand for.
//!
//! A host makes one for a [`Unit`](super::unit::Unit) from the program as it was viewed. Diagnostics alone read it, so a
//! host may wait until [`Sources::map`] is called: a program with nothing to say of has none.

use std::sync::Arc;

use promote_diagnostics::Location;

use super::graph::{OpId, SlotId, ValueId};

/// What makes a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// An op, as one of its results.
    Result {
        /// The name of the op.
        op: Arc<str>,
        /// Which of its results.
        index: usize,
        /// Whether the op has regions.
        has_regions: bool,
    },
    /// A block, as one of its arguments.
    BlockArgument {
        /// Which of its arguments.
        index: usize,
    },
    /// The function that is the unit, as one of its arguments.
    FunctionArgument {
        /// Which of its arguments.
        index: usize,
    },
}

/// A value in the source.
#[derive(Clone, Debug)]
pub struct ValueSource {
    /// Where it is defined.
    pub place: Option<Location>,
    /// Its type, as the program writes it.
    pub written: Arc<str>,
    /// What makes it.
    pub origin: Origin,
}

/// An operand through which a value flows to a slot.
#[derive(Clone, Debug)]
pub struct OperandSource {
    /// Where the op stands.
    pub place: Option<Location>,
    /// The name of the op.
    pub op: Arc<str>,
    /// Which operand of the op.
    pub index: usize,
    /// Whether the op makes the target of the slot, or holds the block whose argument that is: the initial value of a loop.
    pub is_own: bool,
}

/// The source of one unit. See the [module](self).
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    /// Where the unit stands.
    pub place: Option<Location>,
    /// The type of the function, as the program writes it; empty if the unit is none.
    pub signature: String,
    /// Where each op stands.
    pub ops: Vec<Option<Location>>,
    /// The values.
    pub values: Vec<ValueSource>,
    /// For each slot, where its joined values come from.
    pub feeds: Vec<Vec<OperandSource>>,
    /// The name of each structured op.
    pub structures: Vec<Arc<str>>,
    /// Where each call stands.
    pub calls: Vec<Option<Location>>,
}

impl SourceMap {
    /// Where an op stands.
    pub fn op(&self, op: OpId) -> Option<Location> {
        self.ops[op.0 as usize].clone()
    }

    /// A value in the source.
    pub fn value(&self, value: ValueId) -> &ValueSource {
        &self.values[value.0 as usize]
    }

    /// Where a value is defined.
    pub fn definition(&self, value: ValueId) -> Option<Location> {
        self.value(value).place.clone()
    }

    /// The operand that is the n-th to flow to a slot.
    pub fn feed(&self, slot: SlotId, index: usize) -> &OperandSource {
        &self.feeds[slot.0 as usize][index]
    }
}

/// Has a source map, or makes it when it is asked for.
pub trait Sources {
    /// The source map.
    fn map(&self) -> &SourceMap;
}

impl Sources for SourceMap {
    fn map(&self) -> &SourceMap {
        self
    }
}
