//! What there is of values in other dtypes.

use promote_lattice::DType;

use super::super::graph::ValueId;
use super::{Produced, Role};

/// What there is already: values in dtypes, each once. A value is in few dtypes, so those of one are a list.
#[derive(Debug, Default)]
pub struct Made {
    /// For each value, the place of its last entry plus one, or 0.
    last: Vec<u32>,
    entries: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    dtype: DType,
    role: Role,
    produced: Produced,
    /// The place of the entry before of the same value plus one, or 0.
    before: u32,
}

impl Made {
    /// A value in a dtype, for a role.
    pub fn get(&self, value: ValueId, dtype: DType, role: Role) -> Option<Produced> {
        let mut at = self.last.get(value.0 as usize).copied().unwrap_or(0);
        while let Some(entry) = self.entries.get((at as usize).wrapping_sub(1)) {
            if (entry.dtype, entry.role) == (dtype, role) {
                return Some(entry.produced);
            }
            at = entry.before;
        }
        None
    }

    /// Adds that, unless there is one.
    pub fn add(&mut self, (value, dtype, role): (ValueId, DType, Role), produced: Produced) {
        if self.get(value, dtype, role).is_some() {
            return;
        }
        let index = value.0 as usize;
        if index >= self.last.len() {
            self.last.resize(index + 1, 0);
        }
        self.entries.push(Entry { dtype, role, produced, before: self.last[index] });
        self.last[index] = self.entries.len() as u32;
    }
}
