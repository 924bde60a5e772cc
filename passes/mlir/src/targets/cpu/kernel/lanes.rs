//! How many lanes a kernel computes at once, and what it computes outside of its loops.

use promote_dialect::extent::Product;
use promote_lattice::DType;
use promote_lattice::convert::Numerics;
use promote_lower::kernel::{Code as What, Expr, ExprId, Form, Kernel, Role, Root};
use promote_scalar::{depends_on_order, register};

use super::sums::has_any_order;
use crate::targets::cpu::costs::{MOST_LANES, SCANNED_LANES, SHORT_ROW};
use crate::targets::cpu::target::Machine;

/// The dimensions of what uses each expression.
pub(super) fn users(kernel: &Kernel) -> Vec<u64> {
    let mut users = vec![0u64; kernel.exprs.len()];
    for (index, expr) in kernel.exprs.iter().enumerate() {
        for operand in kernel.operands(ExprId(index as u32)) {
            users[operand.0 as usize] |= expr.dims;
        }
    }
    for root in &kernel.roots {
        let own = match root.role {
            Role::Store => kernel.expr(root.expr).dims,
            Role::Reduce(_) | Role::Arg(_) | Role::Scan(_) => u64::MAX,
        };
        let stored = root.sinks.iter().flat_map(|sink| sink.strides.iter().enumerate());
        let stored = stored.filter(|(_, stride)| !stride.is_zero()).fold(0, |all, (dim, _)| all | 1 << dim);
        users[root.expr.0 as usize] |= own | stored;
    }
    users
}

/// The extent of an innermost dimension that is too short for vectors, if the one before it is stored right before it
/// wherever something varies with both.
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
    let is_simple = |expr: &Expr| match &expr.code {
        What::Load(access) => suits(&access.strides),
        What::Index { .. } | What::Take { .. } | What::Reduced(_) => false,
        What::Splat(_) | What::Size(_) | What::Map(..) | What::Convert(_) => true,
    };
    let is_stored_in_order = |strides: &Vec<Product>| {
        suits(strides)
            && strides.last().is_some_and(|last| !last.is_zero())
            && strides[strides.len() - 2].fixed() == Some(extent)
    };
    (kernel.exprs.iter().all(is_simple) && stored.into_iter().all(is_stored_in_order)).then_some(extent)
}

/// Whether cumulative ops run along rows. Their vectors are equally long on all processors, so that their order is the same.
pub(super) fn scans_rows(kernel: &Kernel) -> bool {
    matches!(kernel.form, Form::Rows { .. })
        && kernel.roots.iter().any(|root| matches!(root.role, Role::Scan(_)))
}

/// Whether rows are so short that some processor computes them side by side, each in order.
fn is_short_row(kernel: &Kernel) -> bool {
    kernel.dims.last().and_then(Product::fixed).is_some_and(|length| length <= SHORT_ROW)
}

/// The expressions that depend on a short innermost dimension and no other.
pub(super) fn periodic(kernel: &Kernel, short: Option<i64>) -> Vec<bool> {
    let last = kernel.dims.len().wrapping_sub(1);
    kernel.exprs.iter().map(|expr| short.is_some() && expr.dims == 1 << last).collect()
}

/// How many lanes a square has that is transposed in registers: as many as a register of the widest type, as far as there are
/// registers for as many rows.
pub(super) fn square_lanes(kernel: &Kernel, machine: Machine) -> usize {
    let bytes = |expr: &Expr| register(expr.dtype).bits().div_ceil(8) as usize;
    let widest = kernel.exprs.iter().filter(|expr| expr.dims != 0).map(bytes).max();
    (machine.vector_bytes / widest.unwrap_or(1)).clamp(1, 16)
}

/// How many lanes: some vector registers of the widest type at once, so that the latency of one is hidden by the others.
pub(super) fn lanes_of(
    kernel: &Kernel,
    (machine, numerics): (Machine, Numerics),
    short: Option<i64>,
) -> usize {
    let bytes = |dtype: DType| register(dtype).bits().div_ceil(8) as usize;
    let widest = kernel.exprs.iter().filter(|expr| expr.dims != 0).map(|expr| bytes(expr.dtype)).max();
    let at_once = match (short, kernel.cost()) {
        (Some(_), _) => 1,
        (None, ..=4) => 4,
        (None, ..=64) => 2,
        // There is enough to do at a time, and registers and compile time are expensive.
        (None, _) => 1,
    };
    let most = (machine.vector_bytes * at_once / widest.unwrap_or(1)).clamp(1, MOST_LANES as usize);
    let is_in_order = |root: &Root| match root.role {
        Role::Scan(op) => !has_any_order(op, kernel.expr(root.expr).dtype, numerics) || is_short_row(kernel),
        Role::Reduce(op) => depends_on_order(op, kernel.expr(root.expr).dtype),
        Role::Store | Role::Arg(_) => false,
    };
    let is_ordered = matches!(kernel.form, Form::Rows { .. }) && kernel.roots.iter().any(is_in_order);
    match kernel.dims.last().and_then(Product::fixed) {
        _ if is_ordered => 1,
        _ if scans_rows(kernel) => SCANNED_LANES,
        None if kernel.dims.is_empty() => 1,
        _ if short.is_some() => most,
        Some(extent) if extent < most as i64 => 1 << (extent.max(1) as usize).ilog2(),
        _ => most,
    }
}
