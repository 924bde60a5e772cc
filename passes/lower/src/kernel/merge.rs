//! Dimensions of a kernel that are one in memory, or count as one.

use promote_dialect::extent::{Extent, Product, Symbol};

use super::{Chunk, Code, Form, Kernel};
use crate::graph::NodeId;

/// Rows of so many columns are long enough to be gone through one by one.
pub(crate) const SHORT_COLUMNS: i64 = 512;

impl Kernel {
    /// Merges neighbouring dimensions where all accesses go through both as through one, and drops those of one index. Which
    /// of the dimensions that there were each is now.
    pub fn collapse(&mut self) -> Vec<Vec<usize>> {
        let mut merged: Vec<Vec<usize>> = (0..self.dims.len()).map(|dim| vec![dim]).collect();
        let one = Product::number(1);
        for dim in (0..self.dims.len()).rev() {
            let is_needed = self.reduced().len() == 1 && self.reduced().contains(&dim) || self.is_cut(dim);
            if self.dims[dim] == one && !is_needed {
                self.remove(dim);
                merged.remove(dim);
            }
        }
        let mut dim = 0;
        while dim < self.dims.len() {
            let is_last = dim + 1 == self.dims.len();
            if !is_last && self.is_mergeable(dim) {
                if let Some(length) = self.merged_length(dim) {
                    self.chunk = self.chunk.map(|chunk| Chunk { dim: dim + 1, length, ..chunk });
                }
                self.dims[dim + 1] = &self.dims[dim] * &self.dims[dim + 1];
                self.remove(dim);
                let outer = merged.remove(dim);
                merged[dim].splice(..0, outer);
            } else {
                dim += 1;
            }
        }
        // Columns of a single element are a row.
        if let Form::Columns { outer, reduced } = self.form
            && outer + reduced == self.dims.len()
        {
            self.form = Form::Rows { reduced };
        }
        self.as_one &= self.reduced().len() > 1;
        self.find_dims();
        merged
    }

    /// The stride of short rows of columns, and the number that it is where nothing is between them, with the kernel for such runs: they are
    /// one there. None where they are in no case.
    pub(crate) fn dense_columns(&self) -> Option<(Symbol, i64, Self)> {
        let last = self.dims.len().checked_sub(1)?;
        let rows = last.checked_sub(1).filter(|rows| *rows >= self.reduced().end)?;
        let length = self.dims[last].fixed().filter(|length| *length < SHORT_COLUMNS)?;
        let stride = |code: &Code| match code.access()?.strides[rows].symbols[..] {
            [symbol] => Some(symbol),
            _ => None,
        };
        let symbol = self.exprs.iter().find_map(|expr| stride(&expr.code))?;
        let mut dense = self.replaced(symbol, &Product::number(length));
        dense.collapse();
        (self.form != Form::Map && dense.dims.len() < self.dims.len()).then_some((symbol, length, dense))
    }

    /// Has the dimensions of a row, which follow each other, count as one if they would be one where some buffers are row-major.
    pub(crate) fn join_rows(&mut self, is_row_major: impl Fn(NodeId) -> bool) {
        let reduced = self.reduced();
        let others = self.exprs.iter().filter_map(|expr| match &expr.code {
            Code::Load(access) if is_row_major(access.buffer) => None,
            code => code.strides(),
        });
        let sinks = self.roots.iter().flat_map(|root| root.sinks.iter().map(|sink| &sink.strides));
        let is_one = |strides: &Vec<Product>| {
            let pairs = reduced.clone().zip(reduced.clone().skip(1));
            pairs.into_iter().all(|(dim, next)| strides[dim] == &strides[next] * &self.dims[next])
        };
        let is_whole = self.chunk.is_none_or(|chunk| !reduced.contains(&chunk.dim));
        self.as_one = matches!(self.form, Form::Rows { .. })
            && reduced.len() > 1
            && is_whole
            && others.chain(sinks).all(is_one);
    }

    /// The length of the parts that a dimension is cut into, in indices of the one after it, if all know it.
    fn merged_length(&self, dim: usize) -> Option<Extent> {
        let chunk = self.chunk.filter(|chunk| chunk.dim == dim && dim + 1 < self.dims.len())?;
        let length = chunk.length.fixed()?.checked_mul(self.dims[dim + 1].fixed()?)?;
        Some(Extent::Fixed(length))
    }

    fn is_mergeable(&self, dim: usize) -> bool {
        let reduced = self.reduced();
        let is_reduced = reduced.contains(&dim);
        // What looks for indices, or goes in order, keeps the one dimension that it goes along.
        let differ =
            is_reduced != reduced.contains(&(dim + 1)) || dim < reduced.start && dim + 1 >= reduced.end;
        let is_kept = self.is_cut(dim) && self.merged_length(dim).is_none();
        if differ || is_kept || self.is_cut(dim + 1) {
            return false;
        }
        self.strides().all(|strides| strides[dim] == &strides[dim + 1] * &self.dims[dim + 1])
    }

    /// Removes a dimension; what it counted, the one after it counts now.
    fn remove(&mut self, dim: usize) {
        let reduced = self.reduced();
        match &mut self.form {
            Form::Map => {}
            Form::Rows { reduced: count } => *count -= usize::from(reduced.contains(&dim)),
            Form::Columns { outer, reduced: count } => {
                *outer -= usize::from(dim < reduced.start);
                *count -= usize::from(reduced.contains(&dim));
            }
        }
        if let Some(chunk) = &mut self.chunk {
            chunk.dim -= usize::from(dim < chunk.dim);
            chunk.by -= usize::from(dim < chunk.by);
        }
        self.dims.remove(dim);
        self.for_each_strides(|strides| _ = strides.remove(dim));
    }
}
