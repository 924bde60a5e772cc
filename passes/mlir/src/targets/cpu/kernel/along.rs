//! What a kernel reads across its vectors, so that it is better turned before.

use promote_lattice::DType;
use promote_lattice::convert::Numerics;
use promote_lower::graph::NodeId;
use promote_lower::interchange::lies_along;
use promote_lower::kernel::{Access, Code, Expr, Form, Kernel, Role};
use promote_lower::order::has_any_order;

use super::schedule::Schedule;
use crate::targets::cpu::costs::LEAST_TURNED;

/// Whether elements lie side by side along a dimension, or are one for all of it.
pub(super) fn is_side_by_side(access: &Access, dim: usize) -> bool {
    access.strides[dim].fixed().is_some_and(|stride| (-1..=1).contains(&stride))
}

impl Schedule {
    /// The buffers of what is read across vectors and not turned in registers. Where the kernel reduces and stores as many elements as it
    /// reads, vectors are to lie along both: if they do not lie along what is stored, that is all that is read. What is one element for
    /// each row comes with it: rows are one dimension then, as where nothing was turned, and are reduced in the same order.
    pub fn reads_across(&self, kernel: &Kernel, numerics: Numerics) -> Vec<NodeId> {
        let Some(vector) = self.vector.filter(|_| !self.is_copied && self.beside.is_none()) else {
            return Vec::new();
        };
        let is_full = |access: &&Access| kernel.reduced().any(|dim| !access.strides[dim].is_zero());
        let mut stored = kernel.roots.iter().flat_map(|root| &root.sinks).filter(is_full).peekable();
        let stores_rows = stored.peek().is_some();
        if !stores_rows && (self.turns_in_registers() || is_small(kernel)) {
            return Vec::new();
        }
        let is_written_along = stored.all(|access| is_side_by_side(access, vector));
        // Maps read all of it, and those of neighbouring steps the same lines again.
        let only_reduces = kernel.form != Form::Map && !stores_rows;
        let is_along = |(access, dtype): &(&Access, DType)| match only_reduces {
            true => lies_along(&access.strides[vector], *dtype),
            false => is_side_by_side(access, vector),
        };
        let loads: Vec<_> = kernel.exprs.iter().filter_map(loaded).collect();
        let is_any_across = !loads.iter().all(is_along);
        if !is_any_across && (is_written_along || scans_in_order(kernel, numerics)) {
            return Vec::new();
        }
        let is_of_row = |access: &Access| stores_rows && access.strides[vector].is_zero();
        let is_turned = |load: &(&Access, DType)| !is_written_along || !is_along(load) || is_of_row(load.0);
        loads.into_iter().filter(is_turned).map(|(access, _)| access.buffer).collect()
    }

    /// Whether what is read across vectors is turned in registers.
    fn turns_in_registers(&self) -> bool {
        let Self { across, down, grouped, shuffled, in_turn, short, .. } = self;
        let turns = across.is_some() || down.is_some() || grouped.is_some();
        turns || shuffled.is_some() || in_turn.is_some() || short.is_some()
    }
}

/// What an expression loads from memory, and of which dtype; what it takes is looked up.
fn loaded(expr: &Expr) -> Option<(&Access, DType)> {
    match &expr.code {
        Code::Load(access) => Some((access, expr.dtype)),
        Code::Take { .. } | Code::Splat(_) | Code::Size(_) | Code::Index { .. } => None,
        Code::Map(..) | Code::Convert(_) | Code::Reduced(_) => None,
    }
}

/// Whether columns are gone through by cumulative ops whose steps must follow one another: along rows they would be computed one by one.
fn scans_in_order(kernel: &Kernel, numerics: Numerics) -> bool {
    matches!(kernel.form, Form::Columns { .. })
        && kernel.roots.iter().all(|root| match root.role {
            Role::Scan(op) => !has_any_order(op, kernel.expr(root.expr).dtype, numerics),
            Role::Store | Role::Reduce(_) | Role::Arg(_) => true,
        })
}

/// Whether a kernel has so few indices that reading across them takes no longer than turning what it reads.
fn is_small(kernel: &Kernel) -> bool {
    let indices = kernel.dims.iter().try_fold(1_i64, |all, dim| all.checked_mul(dim.fixed()?));
    indices.is_some_and(|indices| indices < LEAST_TURNED)
}
