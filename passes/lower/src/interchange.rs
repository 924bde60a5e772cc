//! The order of a kernel's loops: which dimension is innermost.
//!
//! Loops are first in the order of the axes of the op that a kernel began with. What was permuted before it is then read across
//! its rows. [`Kernel::interchange`] puts a dimension innermost along which less is read across.

use super::kernel::{Code, Form, Kernel, Role};
use promote_dialect::extent::Product;

/// Vectors do not lie along shorter dimensions: their loops would have no full ones.
const SHORT: i64 = 16;

impl Kernel {
    /// Puts another dimension innermost if more of what a reduction reads lies side by side along it than along the one that is.
    /// A reduction over rows becomes one over columns by that, or the other way round, but where elements are to be combined in the
    /// order that they have. Which of the dimensions that there were each is now.
    pub(crate) fn interchange(&mut self, keeps_order: bool) -> Vec<usize> {
        let same = (0..self.dims.len()).collect();
        let (Some(last), false) = (self.dims.len().checked_sub(1), self.form == Form::Map) else {
            return same;
        };
        let reduced = self.reduced();
        // Columns are reduced one element after the other, along whichever other dimension they lie side by side.
        let has_order = |dim: &usize| !reduced.contains(dim) && !reduced.contains(&last);
        let candidates =
            (0..last).filter(|dim| (!keeps_order || has_order(dim)) && self.may_be_innermost(*dim));
        // Of equals the one that is further inside.
        let Some(best) = candidates.rev().min_by_key(|dim| self.reads_across(*dim)) else { return same };
        if !self.reads_less_across(best, last) {
            return same;
        }
        let rank = self.dims.len();
        let (inner, outer): (Vec<usize>, Vec<usize>) =
            (0..rank).filter(|dim| *dim != best).partition(|dim| reduced.contains(dim));
        let form = match reduced.contains(&best) {
            true => Form::Rows { reduced: reduced.len() },
            false => Form::Columns { outer: outer.len(), reduced: reduced.len() },
        };
        let order = [outer, inner, vec![best]].concat();
        self.reorder(&order);
        self.form = form;
        order
    }

    /// Whether a dimension can be the innermost one.
    fn may_be_innermost(&self, dim: usize) -> bool {
        let reduced = self.reduced();
        let is_part = self.chunk.is_some_and(|chunk| chunk.by == dim);
        // Columns store nothing at each index of the reduced dimensions but the steps of a scan.
        let stores = self.roots.iter().filter(|root| root.role == Role::Store).flat_map(|root| &root.sinks);
        let is_whole = stores.flat_map(|sink| &sink.strides[reduced.clone()]).any(|stride| !stride.is_zero());
        !is_part && (reduced.contains(&dim) || !is_whole) && self.reads_along(dim)
    }

    /// Whether something is read that lies side by side along a dimension, which is long enough for vectors.
    pub fn reads_along(&self, dim: usize) -> bool {
        let is_long = self.dims[dim].fixed().is_none_or(|extent| extent >= SHORT);
        is_long && self.read_strides().any(|strides| matches!(strides[dim].fixed(), Some(-1 | 1)))
    }

    /// Whether less is read across a dimension than across another.
    pub fn reads_less_across(&self, dim: usize, other: usize) -> bool {
        self.reads_across(dim) < self.reads_across(other)
    }

    /// How much is read that neither lies side by side along a dimension nor is one element for all of it.
    pub fn reads_across(&self, dim: usize) -> usize {
        let is_across =
            |strides: &&Vec<Product>| strides[dim].fixed().is_none_or(|stride| !(-1..=1).contains(&stride));
        self.read_strides().filter(is_across).count()
    }

    fn read_strides(&self) -> impl Iterator<Item = &Vec<Product>> {
        self.exprs.iter().filter_map(|expr| match &expr.code {
            Code::Load(access) => Some(&access.strides),
            Code::Splat(_)
            | Code::Size(_)
            | Code::Index { .. }
            | Code::Take { .. }
            | Code::Map(..)
            | Code::Convert(_)
            | Code::Reduced(_) => None,
        })
    }

    /// Puts the dimensions in another order.
    fn reorder(&mut self, order: &[usize]) {
        let reordered = |products: &[Product]| order.iter().map(|dim| products[*dim].clone()).collect();
        self.dims = reordered(&self.dims);
        self.for_each_strides(|strides| *strides = reordered(strides));
        if let Some(chunk) = &mut self.chunk {
            let place = |dim: usize| order.iter().position(|own| *own == dim).unwrap_or(dim);
            (chunk.dim, chunk.by) = (place(chunk.dim), place(chunk.by));
        }
    }
}
