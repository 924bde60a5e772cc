//! What lowering must know of a target to decide what runs how.

use promote_lattice::DType;

/// A target of programs.
pub trait Target {
    /// What it is called in messages, as in `is not lowered to the CPU`.
    fn name(&self) -> &str;

    /// Whether long reductions are cut into parts, which may be reduced in parallel.
    fn cuts_reductions(&self) -> bool;

    /// How many columns of the right matrix stand together in the workspace of a product, if the target multiplies matrices
    /// of such rows, columns and what is summed over itself; otherwise the product is a kernel.
    fn panel(&self, dtype: DType, extents: [Option<i64>; 3]) -> Option<i64>;
}
