//! Dense ids of values, fast for millions of them.
//!
//! pliron numbers the values of a context as they are made, so values that are close in the program have numbers that are close.
//! The map is a table of pages: a page has the ids of as many numbers in turn, and most look-ups hit the page of the one before.
//! The number is the first that a value gives to a hasher. Nothing but speed rests on that: each slot has its value too, and
//! what finds its slot taken by another goes to a map.

use std::hash::{Hash, Hasher};

use pliron::value::Value;
use promote_host::ir::ValueIds;
use promote_infer::graph::ValueId;
use rustc_hash::FxHashMap;

/// Few, as there is a map for each function.
const PAGE_BITS: u32 = 6;
const SLOTS: usize = 1 << PAGE_BITS;

type Slot = Option<(Value, ValueId)>;

/// A map from values to ids.
#[derive(Default)]
pub struct Ids {
    pages: Vec<Box<[Slot]>>,
    index: FxHashMap<u64, usize>,
    /// The number of the page that was used last, and where it is.
    last: Option<(u64, usize)>,
    /// Those whose slots are taken.
    others: FxHashMap<Value, ValueId>,
}

impl Ids {
    fn page(&mut self, number: u64) -> Option<usize> {
        match self.last {
            Some((last, at)) if last == number => Some(at),
            Some(_) | None => {
                let at = *self.index.get(&number)?;
                self.last = Some((number, at));
                Some(at)
            }
        }
    }
}

impl ValueIds<Value> for Ids {
    fn get(&mut self, value: Value) -> Option<ValueId> {
        let (page, slot) = place(value);
        let page = self.page(page)?;
        match self.pages[page][slot] {
            Some((found, id)) if found == value => Some(id),
            Some(_) => self.others.get(&value).copied(),
            None => None,
        }
    }

    fn insert(&mut self, value: Value, id: ValueId) {
        let (number, slot) = place(value);
        let page = self.page(number).unwrap_or_else(|| {
            self.pages.push(vec![None; SLOTS].into_boxed_slice());
            self.index.insert(number, self.pages.len() - 1);
            self.pages.len() - 1
        });
        match &mut self.pages[page][slot] {
            Some((found, _)) if *found != value => drop(self.others.insert(value, id)),
            free => *free = Some((value, id)),
        }
    }
}

/// The page and the slot of a value.
fn place(value: Value) -> (u64, usize) {
    let mut first = First(None);
    value.hash(&mut first);
    let number = first.finish();
    (number >> PAGE_BITS, number as usize % SLOTS)
}

/// The first number that it is given.
struct First(Option<u64>);

impl Hasher for First {
    fn write(&mut self, bytes: &[u8]) {
        let number = bytes.iter().take(8).fold(0, |number, byte| number << 8 | u64::from(*byte));
        self.write_u64(number);
    }

    fn write_u64(&mut self, number: u64) {
        self.0.get_or_insert(number);
    }

    fn finish(&self) -> u64 {
        self.0.unwrap_or(0)
    }
}
