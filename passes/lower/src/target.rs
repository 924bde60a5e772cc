//! What lowering must know of a target to decide what runs how.

use promote_lattice::DType;

/// A target of programs.
pub trait Target {
    /// What it is called in messages, as in `is not lowered to the CPU`.
    fn name(&self) -> &str;

    /// What is worth it there.
    fn costs(&self) -> Costs;

    /// How many columns of the right matrix stand together in the workspace of a product, if the target multiplies matrices
    /// of such rows, columns and what is summed over itself; otherwise the product is a kernel.
    fn panel(&self, dtype: DType, extents: [Option<i64>; 3]) -> Option<i64>;
}

/// What is worth it on a target, as far as fusion decides it. Costs are in instructions: those of an op are the ones that
/// its definition has, the same on every target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// From this cost on, an expression that is used several times is computed once, and kept in memory.
    pub expensive: u32,
    /// An expression of this cost is computed in a kernel of its own.
    pub too_long: u32,
    /// How many expressions a kernel has at most.
    pub max_exprs: usize,
    /// With fewer results than these beside each other in memory, what goes along an axis in order computes one at a time.
    pub few_columns: i64,
    /// How long reductions are cut, if they are.
    pub cuts: Option<Cuts>,
}

/// How long reductions are cut into parts, which may be reduced in parallel. Shapes alone decide, so results do not depend
/// on how many threads there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cuts {
    /// About how many elements a part has.
    pub length: i64,
    /// The most parts.
    pub most: i64,
    /// With so many results, a reduction over the last dimension occupies all processors without being cut.
    pub many_rows: i64,
    /// The same for a reduction over another dimension, whose results are computed several at a time.
    pub many_columns: i64,
}
