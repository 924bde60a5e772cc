//! Maps: each thread computes an element, or some beside each other.

use promote_lower::kernel::{Access, Code as What, ExprId};
use promote_scalar::Element;

use super::Emitter;
use crate::build::Build;
use crate::code::Code;
use crate::elements::{load, store};

impl<C: Code> Emitter<'_, C> {
    /// Each thread computes so many elements beside each other, as far as there are.
    pub(super) fn elements(&mut self, count: usize) {
        let is_even = self.entry.geometry.units.fixed().is_some_and(|units| units % count as i64 == 0);
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

    fn element_of(&mut self, unit: C::Value) {
        self.decode(unit);
        (0..self.kernel.roots.len()).for_each(|root| self.store_root(root));
        self.index.fill(None);
    }

    /// Elements beside each other, from a unit on: they have the same indices but for the last.
    fn vector(&mut self, unit: C::Value, count: usize) {
        let kernel = self.kernel;
        let last = kernel.dims.len() - 1;
        self.decode(unit);
        self.hoist(1 << last, usize::MAX);
        let is_beside = |access: &Access| access.strides[last].fixed() == Some(1);
        let mut loaded: Vec<(ExprId, Vec<Element<C::Value>>)> = Vec::new();
        for (id, expr) in (0..).map(ExprId).zip(&kernel.exprs) {
            if let What::Load(access) = &expr.code
                && is_beside(access)
            {
                let from = self.buffer(access.buffer);
                let first = self.linear(&access.strides, &access.offset);
                loaded.push((id, load(self.code, from, first, expr.dtype, count)));
            }
        }
        let mut values: Vec<Vec<Element<C::Value>>> = vec![Vec::new(); kernel.roots.len()];
        let first = self.index[last];
        for lane in 0..count {
            self.enter();
            let scope = self.scopes.len() - 1;
            self.scopes[scope].extend(loaded.iter().map(|(id, elements)| (*id, elements[lane])));
            self.index[last] = first.map(|first| {
                let by = self.code.number(lane as i64);
                self.code.add(first, by)
            });
            for (root, values) in kernel.roots.iter().zip(&mut values) {
                if !root.sinks.is_empty() {
                    values.push(self.eval(root.expr));
                }
            }
            self.leave();
        }
        self.index[last] = first;
        for (root, values) in kernel.roots.iter().zip(&values) {
            for sink in &root.sinks {
                let to = self.buffer(sink.buffer);
                let first = self.linear(&sink.strides, &sink.offset);
                store(self.code, to, first, kernel.expr(root.expr).dtype, values);
            }
        }
        self.index.fill(None);
    }
}
