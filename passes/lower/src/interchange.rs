//! The order of a kernel's loops: which dimension is innermost.
//!
//! Loops are first in the order of the axes of the op that a kernel began with. What was permuted before it is then read across
//! its rows. `Kernel::interchange` puts a dimension innermost along which less is read across.

use super::kernel::{Code, Form, Kernel, Role};
use promote_dialect::extent::Product;
use promote_lattice::{DType, Kind};

/// Vectors do not lie along shorter dimensions: their loops would have no full ones.
const SHORT: i64 = 16;

/// The most elements from one to the next where a vector of them is still chosen among all that lies between.
const NEAR: i64 = 4;

/// How many elements it is from one to the next along a dimension of that stride, if they lie near each other in order: side by side, or, of
/// real numbers, a few apart.
pub fn near(stride: &Product, dtype: DType) -> Option<i64> {
    let most = if dtype.kind() == Kind::Complex { 1 } else { NEAR };
    stride.fixed().filter(|stride| (1..=most).contains(stride))
}

/// Whether elements lie near each other along a dimension of that stride, or are one for all of it.
pub fn lies_along(stride: &Product, dtype: DType) -> bool {
    near(stride, dtype).is_some() || matches!(stride.fixed(), Some(-1 | 0))
}

/// How much is read otherwise than side by side along a dimension; of less the dimension is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Across {
    /// What is read from further apart.
    far: usize,
    /// What is read from a few elements apart.
    stepped: usize,
}

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
        let best = candidates.rev().min_by_key(|dim| self.reads_across(*dim));
        let best = best.filter(|best| self.reads_less_across(*best, last));
        let Some(best) = best.or_else(|| self.nearer_columns(last)) else { return same };
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

    /// The dimension along which columns that are read lengthwise are known to lie next to each other, where it is not known how far apart they
    /// lie along the last one.
    fn nearer_columns(&self, last: usize) -> Option<usize> {
        let reduced = self.reduced();
        let within = reduced.clone().next_back()?;
        let is_known = |dim: usize| self.reads().all(|(strides, _)| strides[dim].fixed().is_some());
        let is_lengthwise = self.reads_along(within) && self.reads_less_across(within, last);
        if reduced.contains(&last) || is_known(last) || !is_lengthwise {
            return None;
        }
        let is_long = |dim: usize| self.dims[dim].fixed().is_some_and(|extent| extent >= SHORT);
        let is_near = |dim: &usize| is_long(*dim) && is_known(*dim) && self.may_be_columns(*dim);
        (0..last).rev().filter(|dim| !reduced.contains(dim)).find(is_near)
    }

    /// Whether a dimension can be the innermost one, if something is to be read along it.
    fn may_be_innermost(&self, dim: usize) -> bool {
        let is_reduced = self.reduced().contains(&dim);
        (is_reduced || self.may_be_columns(dim)) && !self.is_part(dim) && self.reads_along(dim)
    }

    /// Whether columns can lie beside each other along a dimension.
    fn may_be_columns(&self, dim: usize) -> bool {
        let reduced = self.reduced();
        // Columns store nothing at each index of the reduced dimensions but the steps of a scan.
        let stores = self.roots.iter().filter(|root| root.role == Role::Store).flat_map(|root| &root.sinks);
        let is_whole = stores.flat_map(|sink| &sink.strides[reduced.clone()]).any(|stride| !stride.is_zero());
        !self.is_part(dim) && !is_whole
    }

    /// Whether a dimension counts the parts of another one.
    fn is_part(&self, dim: usize) -> bool {
        self.chunk.is_some_and(|chunk| chunk.by == dim)
    }

    /// Whether something is read whose elements lie near each other along a dimension, which is long enough for vectors.
    pub fn reads_along(&self, dim: usize) -> bool {
        let is_long = self.dims[dim].fixed().is_none_or(|extent| extent >= SHORT);
        let is_along = |stride: &Product, dtype| near(stride, dtype).is_some() || stride.fixed() == Some(-1);
        is_long && self.reads().any(|(strides, dtype)| is_along(&strides[dim], dtype))
    }

    /// Whether less is read across a dimension than across another.
    pub fn reads_less_across(&self, dim: usize, other: usize) -> bool {
        self.reads_across(dim) < self.reads_across(other)
    }

    /// How much is read that neither lies side by side along a dimension nor is one element for all of it.
    pub fn reads_across(&self, dim: usize) -> Across {
        let mut across = Across { far: 0, stepped: 0 };
        for (strides, dtype) in self.reads() {
            let stride = &strides[dim];
            if !lies_along(stride, dtype) {
                across.far += 1;
            } else if near(stride, dtype).is_some_and(|step| step > 1) {
                across.stepped += 1;
            }
        }
        across
    }

    /// The strides in which elements are read, and their dtypes.
    fn reads(&self) -> impl Iterator<Item = (&Vec<Product>, DType)> {
        self.exprs.iter().filter_map(|expr| match &expr.code {
            Code::Load(access) => Some((&access.strides, expr.dtype)),
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
