//! From addresses of MLIR values to dense ids, fast for millions of them.
//!
//! MLIR allocates ops one after another, so values that are close in the program are close in memory. The map is a
//! table of pages, as a processor's: a page covers 64 KiB of addresses and holds one id for each 16 bytes, because no
//! two values are closer than that. Most look-ups hit the page of the one before.

use mlir_sys::MlirValue;
use rustc_hash::FxHashMap;

use promote_host::ir::ValueIds;
use promote_infer::graph::ValueId;

use super::raw::Address;

const PAGE_BITS: u32 = 16;
const GRAIN_BITS: u32 = 4;
const SLOTS: usize = 1 << (PAGE_BITS - GRAIN_BITS);
const EMPTY: u32 = u32::MAX;

/// A map from values to ids.
#[derive(Default)]
pub struct Ids {
    pages: Vec<Box<[u32]>>,
    index: FxHashMap<usize, usize>,
    /// The number of the page used last, and where it is.
    last: Option<(usize, usize)>,
}

impl Ids {
    fn slot(value: MlirValue) -> (usize, usize) {
        let address = value.ptr.addr();
        (address >> PAGE_BITS, (address >> GRAIN_BITS) & (SLOTS - 1))
    }

    fn page(&mut self, number: usize) -> Option<usize> {
        match self.last {
            Some((last, at)) if last == number => Some(at),
            _ => {
                let at = *self.index.get(&number)?;
                self.last = Some((number, at));
                Some(at)
            }
        }
    }
}

impl ValueIds<Address<MlirValue>> for Ids {
    fn get(&mut self, value: Address<MlirValue>) -> Option<ValueId> {
        let (number, slot) = Self::slot(value.0);
        let page = self.page(number)?;
        let id = self.pages[page][slot];
        (id != EMPTY).then_some(ValueId(id))
    }

    fn insert(&mut self, value: Address<MlirValue>, id: ValueId) {
        let (number, slot) = Self::slot(value.0);
        let page = self.page(number).unwrap_or_else(|| {
            self.pages.push(vec![EMPTY; SLOTS].into_boxed_slice());
            self.index.insert(number, self.pages.len() - 1);
            self.pages.len() - 1
        });
        self.pages[page][slot] = id.0;
    }
}
