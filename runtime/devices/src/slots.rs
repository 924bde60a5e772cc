//! Tables whose handles tell when they are stale.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::DeviceError;
use crate::device::Handle;

static TABLES: AtomicU32 = AtomicU32::new(0);

/// Values by [`Handle`]. A handle is valid from [`insert`](Self::insert) to [`remove`](Self::remove), in this table only.
pub(crate) struct Slots<T> {
    table: u32,
    what: &'static str,
    slots: Vec<Slot<T>>,
    vacant: Vec<u32>,
}

struct Slot<T> {
    generation: u64,
    value: Option<T>,
}

impl<T> Slots<T> {
    /// An empty table of what errors call `what`.
    pub(crate) fn new(what: &'static str) -> Self {
        let table = TABLES.fetch_add(1, Ordering::Relaxed);
        Self { table, what, slots: Vec::new(), vacant: Vec::new() }
    }

    pub(crate) fn insert(&mut self, value: T) -> Handle {
        let slot = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(Slot { generation: 0, value: None });
            u32::try_from(self.slots.len() - 1).expect("memory ends before 2^32 values do")
        });
        let place = &mut self.slots[slot as usize];
        place.generation += 1;
        place.value = Some(value);
        Handle { table: self.table, slot, generation: place.generation }
    }

    pub(crate) fn get(&self, handle: Handle) -> Result<&T, DeviceError> {
        let place = (handle.table == self.table).then(|| self.slots.get(handle.slot as usize)).flatten();
        place
            .filter(|slot| slot.generation == handle.generation)
            .and_then(|slot| slot.value.as_ref())
            .ok_or(DeviceError::Stale { what: self.what })
    }

    /// Takes a value out; `None` if the handle is stale.
    pub(crate) fn remove(&mut self, handle: Handle) -> Option<T> {
        self.get(handle).ok()?;
        self.vacant.push(handle.slot);
        self.slots[handle.slot as usize].value.take()
    }

    /// Takes every value out.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = T> {
        self.vacant.clear();
        self.slots.drain(..).filter_map(|slot| slot.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_valid_until_its_value_is_removed() {
        let mut slots = Slots::new("value");
        let (first, second) = (slots.insert(1), slots.insert(2));
        assert_eq!((slots.get(first), slots.get(second)), (Ok(&1), Ok(&2)));
        assert_eq!(slots.remove(first), Some(1));
        assert_eq!(slots.remove(first), None);
        let third = slots.insert(3);
        assert_eq!(slots.get(first), Err(DeviceError::Stale { what: "value" }));
        assert_eq!(slots.get(third), Ok(&3));
    }

    #[test]
    fn a_handle_of_another_table_is_stale() {
        let (mut one, mut other) = (Slots::new("value"), Slots::new("value"));
        let handle = one.insert(1);
        other.insert(2);
        assert_eq!(other.get(handle), Err(DeviceError::Stale { what: "value" }));
    }
}
