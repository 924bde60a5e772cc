//! What lowering must know of a target to decide what runs how.

use promote_lattice::convert::{Numerics, is_exact};
use promote_lattice::{DType, Kind};

use crate::kernel::Kernel;

/// A target of programs.
pub trait Target {
    /// What it is called in messages, as in `is not lowered to the CPU`.
    fn name(&self) -> &str;

    /// What is worth it there.
    fn costs(&self) -> Costs;

    /// How the target runs the loops of a kernel, in a few words.
    fn schedule(&self, kernel: &Kernel, numerics: Numerics) -> String;

    /// How the target multiplies such matrices itself, if it does; otherwise the product is a kernel.
    fn packing(&self, product: &Product) -> Option<Packing>;
}

/// Whether numbers are converted without loss in an instruction or two, on every target.
pub fn converts_at_once(from: DType, to: DType) -> bool {
    let is_cheap = match from.kind() {
        Kind::Unsigned | Kind::Signed => !to.is_inexact(),
        Kind::Float => matches!(from, DType::BF16 | DType::F32),
        Kind::Bool | Kind::Complex => false,
    };
    is_cheap && to.kind() != Kind::Complex && is_exact(from, to)
}

/// A product of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product {
    /// The dtypes of the operands, all of whose values are some of the product's.
    pub operands: [DType; 2],
    /// The dtype of the elements of the product, in which they are multiplied and added up.
    pub dtype: DType,
    /// The rows of the product, if they are known.
    pub rows: Option<i64>,
    /// What is summed over.
    pub inner: Option<i64>,
    /// The columns of the product.
    pub columns: Option<i64>,
}

/// What of the operands a target packs before it multiplies them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// Nothing: it needs no workspace.
    Nothing,
    /// All of the right matrix, into panels of so many columns.
    Panels(i64),
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
