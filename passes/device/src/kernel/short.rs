//! Short rows: each thread computes one, in straight-line code.

use promote_lower::kernel::{Code as What, ExprId};
use promote_lower::order::Beside;
use promote_scalar::Element;

use super::Emitter;
use crate::build::Build;
use crate::code::Code;

impl<C: Code> Emitter<'_, C> {
    pub(super) fn short_rows(&mut self, beside: &Beside) {
        self.for_units(|emitter, first, units| {
            let thread = emitter.code.thread();
            let row = emitter.code.add(first, thread);
            let is_there = emitter.code.less(row, units);
            emitter.only_if(is_there, |emitter| {
                emitter.decode(row);
                emitter.short_row(beside);
                emitter.index.fill(None);
            });
        });
    }

    fn short_row(&mut self, beside: &Beside) {
        let kernel = self.kernel;
        self.results.fill(Vec::new());
        // All elements of the row are beside each other.
        self.index[beside.within()] = Some(self.code.number(0));
        self.wide = beside.length;
        let full: Vec<usize> = (0..kernel.roots.len()).filter(|root| self.kernel.is_full(*root)).collect();
        let last = full.iter().map(|root| self.stage(*root)).max().unwrap_or(0);
        for stage in 0..=last {
            self.share_within_row(beside, stage);
            for root in full.iter().copied().filter(|root| self.stage(*root) == stage).collect::<Vec<_>>() {
                self.root_of_row(beside, root);
            }
        }
        self.index[beside.within()] = None;
        self.wide = 1;
        self.store_once();
    }

    /// Does what is to be done with a root at each element of a row.
    fn root_of_row(&mut self, beside: &Beside, root: usize) {
        let count = beside.sums(self.kernel, &self.kernel.roots[root]);
        if count == 0 {
            return self.store_root(root);
        }
        let mut sums: Vec<Vec<C::Value>> = (0..count).map(|_| self.identity(root)).collect();
        let steps = self.at_each_place(|emitter, place| {
            let sum = &mut sums[place % count];
            *sum = emitter.accumulate_one(root, sum);
            sum.clone()
        });
        self.store_step(root, &steps.concat());
        self.results[root] = self.sum_of_sums(root, sums);
    }

    /// Computes what elements of a row need in a stage, and is the same for all of them.
    fn share_within_row(&mut self, beside: &Beside, stage: usize) {
        let within = 1 << beside.within();
        for (index, expr) in self.kernel.exprs.iter().enumerate() {
            let is_shared = expr.dims & within == 0 && self.users[index] & within != 0;
            if is_shared && expr.stage == stage && !matches!(expr.code, What::Splat(_)) {
                self.eval(ExprId(index as u32));
            }
        }
    }

    fn sum_of_sums(&mut self, root: usize, mut sums: Vec<Vec<C::Value>>) -> Vec<Element<C::Value>> {
        while sums.len() > 1 {
            let others = sums.split_off(sums.len() / 2);
            for (sum, other) in sums.iter_mut().zip(others) {
                *sum = self.joined(root, sum, &other);
            }
        }
        sums.first().map_or_else(Vec::new, |sum| self.results_of(root, sum))
    }
}
