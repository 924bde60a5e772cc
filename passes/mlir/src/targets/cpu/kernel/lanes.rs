//! What a kernel computes outside of its loops, and innermost dimensions that are shorter than vectors.

use promote_dialect::extent::Product;
use promote_lattice::DType;
use promote_lower::kernel::{Access, Code as What, Expr, ExprId, Form, Kernel};

use super::elements::part_count;
use crate::targets::cpu::costs::{LEAST_ROWS, MOST_PLANES};
use crate::targets::cpu::target::Machine;

/// Whether the elements of a short innermost dimension lie in planes, as the colours of an image may: those side by side are of the
/// dimension before it.
pub(super) fn is_planar(access: &Access) -> bool {
    let [.., before, last] = access.strides.as_slice() else { return false };
    before.fixed() == Some(1) && last.fixed().is_none_or(|stride| !(-1..=1).contains(&stride))
}

/// What is read in planes.
pub(super) fn planar(kernel: &Kernel) -> Vec<(ExprId, &Access, DType)> {
    let ids = (0..).map(ExprId).zip(&kernel.exprs);
    let reads = ids.filter_map(|(id, expr)| match &expr.code {
        What::Load(access) if is_planar(access) => Some((id, access, expr.dtype)),
        What::Load(_) | What::Take { .. } | What::Splat(_) | What::Size(_) | What::Index { .. } => None,
        What::Map(..) | What::Convert(_) | What::Reduced(_) => None,
    });
    reads.collect()
}

/// What is computed for each index of the dimension before the innermost one, and the same along that: for a short innermost dimension, in
/// vectors of rows, whose lanes are repeated.
pub(super) fn repeated(kernel: &Kernel) -> Vec<ExprId> {
    let Some(before) = kernel.dims.len().checked_sub(2) else { return Vec::new() };
    let ids = (0..).map(ExprId).zip(&kernel.exprs).zip(kernel.users());
    let is_repeated = |expr: &Expr, users: u64| expr.dims >> before & 3 == 1 && users >> before & 2 != 0;
    ids.filter(|((_, expr), users)| is_repeated(expr, *users)).map(|((id, _), _)| id).collect()
}

/// The extent of an innermost dimension that is too short for vectors, if the one before it is stored right before it
/// wherever something varies with both. Some of it may be read [in planes](is_planar), or be [the same](repeated) along it.
pub(super) fn short(kernel: &Kernel, machine: Machine) -> Option<i64> {
    let (Form::Map, [.., _, last]) = (kernel.form, kernel.dims.as_slice()) else { return None };
    let extent =
        last.fixed().filter(|extent| (2..=16).contains(extent) && *extent < machine.vector_bytes as i64)?;
    let stored = kernel.roots.iter().flat_map(|root| root.sinks.iter().map(|sink| &sink.strides));
    // What varies with the last two dimensions is stored in their order; what does not vary with the one before the last
    // depends on the last alone, or not on it either.
    let suits = |strides: &Vec<Product>| {
        let [outer @ .., before, last] = strides.as_slice() else { return false };
        let in_order = last.fixed() == Some(1) && before.fixed() == Some(extent);
        let is_alone = last.is_zero() || outer.iter().all(Product::is_zero);
        in_order || before.is_zero() && is_alone
    };
    let is_repeated = |access: &Access| access.strides.last().is_some_and(Product::is_zero);
    let is_simple = |expr: &Expr| match &expr.code {
        What::Load(access) if is_planar(access) => part_count(expr.dtype) == 1,
        What::Load(access) if is_repeated(access) => true,
        What::Load(access) => suits(&access.strides),
        What::Index { .. } | What::Take { .. } | What::Reduced(_) => false,
        What::Splat(_) | What::Size(_) | What::Map(..) | What::Convert(_) => true,
    };
    let is_stored_in_order = |strides: &Vec<Product>| {
        suits(strides)
            && strides.last().is_some_and(|last| !last.is_zero())
            && strides[strides.len() - 2].fixed() == Some(extent)
    };
    let (planes, repeated) = (planar(kernel).len() as i64, repeated(kernel).len() as i64);
    let has_rows = kernel.dims[kernel.dims.len() - 2].fixed().is_none_or(|rows| rows >= LEAST_ROWS);
    let vectors = planes * extent + repeated;
    // Open rows may be fewer than a round has, and elements one by one take longer than what is left where this is not chosen.
    let is_open = kernel.dims[kernel.dims.len() - 2].fixed().is_none();
    let has_others = !is_open || repeated == 0 || goes_by_row(kernel);
    let is_worth_it = vectors == 0 || vectors <= MOST_PLANES && has_rows && has_others;
    let is_in_order = kernel.exprs.iter().all(is_simple) && stored.into_iter().all(is_stored_in_order);
    (is_in_order && is_worth_it).then_some(extent)
}

/// Whether rows of a short innermost dimension may be computed one by one, in vectors along it: nothing is read in planes, or depends on
/// that dimension alone.
pub(super) fn goes_by_row(kernel: &Kernel) -> bool {
    planar(kernel).is_empty() && !periodic(kernel, Some(0)).contains(&true)
}

/// The expressions that depend on a short innermost dimension and no other.
pub(super) fn periodic(kernel: &Kernel, short: Option<i64>) -> Vec<bool> {
    let last = kernel.dims.len().wrapping_sub(1);
    kernel.exprs.iter().map(|expr| short.is_some() && expr.dims == 1 << last).collect()
}
