//! Short rows: each thread computes one, in straight-line code.

use promote_lower::kernel::{Code as What, ExprId};
use promote_lower::order::Beside;
use promote_scalar::Element;

use super::{Emitter, Scope};
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
        // What is computed of each element.
        let mut elements: Vec<Scope<C::Value>> = vec![Scope::default(); beside.length];
        let full: Vec<usize> = (0..kernel.roots.len()).filter(|root| self.kernel.is_full(*root)).collect();
        let last = full.iter().map(|root| self.stage(*root)).max().unwrap_or(0);
        for stage in 0..=last {
            self.share_within_row(beside, stage);
            let roots: Vec<usize> = full.iter().copied().filter(|root| self.stage(*root) == stage).collect();
            let mut sums: Vec<Vec<Vec<C::Value>>> = Vec::new();
            for root in &roots {
                let count = beside.sums(kernel, &kernel.roots[*root]);
                sums.push((0..count).map(|_| self.identity(*root)).collect());
            }
            for (place, scope) in elements.iter_mut().enumerate() {
                let along = self.code.number(place as i64);
                self.index[beside.within()] = Some(along);
                self.scopes.push(std::mem::take(scope));
                for (root, sums) in roots.iter().zip(&mut sums) {
                    let count = sums.len();
                    match sums.get_mut(place % count.max(1)) {
                        Some(sum) => {
                            *sum = self.accumulate(*root, sum);
                            self.store_step(*root, sum);
                        }
                        None => self.store_root(*root),
                    }
                }
                *scope = self.scopes.pop().unwrap_or_default();
            }
            self.index[beside.within()] = None;
            for (root, sums) in roots.into_iter().zip(sums) {
                self.results[root] = self.sum_of_sums(root, sums);
            }
        }
        self.store_once();
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
