//! Maps: each thread computes an element, or some beside each other.

use super::Emitter;
use crate::build::Build;
use crate::code::Code;

impl<C: Code> Emitter<'_, C> {
    /// Each thread computes so many elements beside each other, as far as there are.
    pub(super) fn elements(&mut self, count: usize) {
        let is_even = self.entry.geometry.units.is_multiple_of(count as i64);
        self.for_units(|emitter, first, units| {
            let thread = emitter.code.thread();
            let ahead = emitter.code.scaled(thread, count as i64);
            let unit = emitter.code.add(first, ahead);
            if count == 1 {
                let is_there = emitter.code.less(unit, units);
                return emitter.only_if(is_there, |emitter| emitter.element_of(unit));
            }
            if is_even {
                let is_there = emitter.code.less(unit, units);
                return emitter.only_if(is_there, |emitter| emitter.vector(unit, count));
            }
            let end = emitter.code.ahead(unit, count as i64);
            let is_whole = emitter.code.compare(promote_scalar::Compare::LeS, end, units);
            let mut branch = emitter.code.open_if(is_whole);
            emitter.enter();
            emitter.vector(unit, count);
            emitter.leave();
            emitter.code.otherwise(&mut branch, &[]);
            let one = emitter.code.number(1);
            emitter.count((unit, units, one), &[], |emitter, unit, _| {
                emitter.element_of(unit);
                Vec::new()
            });
            emitter.code.close_if(branch, &[]);
        });
    }

    pub(super) fn element_of(&mut self, unit: C::Value) {
        self.decode(unit);
        (0..self.kernel.roots.len()).for_each(|root| self.store_root(root));
        self.index.fill(None);
    }

    /// Elements beside each other, from a unit on: they have the same indices but for the last.
    fn vector(&mut self, unit: C::Value, count: usize) {
        self.decode(unit);
        self.wide = count;
        self.hoist(1 << (self.index.len() - 1), usize::MAX);
        (0..self.kernel.roots.len()).for_each(|root| self.store_root(root));
        self.wide = 1;
        self.index.fill(None);
    }
}
