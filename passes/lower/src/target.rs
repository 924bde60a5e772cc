//! What lowering must know of a target to decide what runs how.

use promote_dialect::extent::Symbol;
use promote_lattice::convert::{Numerics, is_exact};
use promote_lattice::{DType, Kind};
use promote_scalar::{memory, register};

use crate::graph::NodeId;
use crate::kernel::Kernel;

/// A target of programs.
pub trait Target {
    /// What it is called in messages, as in `is not lowered to the CPU`.
    fn name(&self) -> &str;

    /// What is worth it there.
    fn costs(&self) -> Costs;

    /// What functions hold in their frames, beside tensors of one element.
    fn in_frame(&self) -> InFrame {
        InFrame { bytes: 0, all: 0 }
    }

    /// How the target runs the loops of a kernel, in a few words.
    fn schedule(&self, kernel: &Kernel, numerics: Numerics) -> String;

    /// The nodes whose buffers a kernel reads across vectors, which takes longer than to turn what is read [before](crate::fuse::fuse):
    /// one element at a time, or against the order in which it stores as many elements.
    fn reads_across(&self, _kernel: &Kernel, _numerics: Numerics) -> Vec<NodeId> {
        Vec::new()
    }

    /// When the target reads arguments where a caller has them, though they are not contiguous and row-major; `None` if never.
    fn in_place(&self) -> Option<InPlace> {
        None
    }

    /// Whether the target reads all operands of a kernel along memory, so that packing them first would not be faster.
    fn reads_in_order(&self, _kernel: &Kernel, _numerics: Numerics) -> bool {
        false
    }

    /// Whether it reads operands along memory, too, where these are [short runs](promote_abi::shortest_run) one after the other.
    fn reads_short_runs(&self, _kernel: &Kernel, _numerics: Numerics) -> bool {
        false
    }

    /// Whether the target reads what a kernel moves as fast as it packs it, whatever the strides are.
    fn reads_anyhow(&self, _kernel: &Kernel, _numerics: Numerics) -> bool {
        false
    }

    /// A symbol of a kernel, and a number: for runs in which the symbol is a multiple of it, the target has faster code. `None` if
    /// for none.
    fn faster_multiple(&self, _kernel: &Kernel, _numerics: Numerics) -> Option<(Symbol, i64)> {
        None
    }

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
    /// About how many they are: [`USUAL_EXTENT`] stands for each extent that a run alone knows.
    pub usual_rows: i64,
    /// What is summed over.
    pub inner: Option<i64>,
    /// The columns of the product.
    pub columns: Option<i64>,
}

/// From so many products on, multiplying matrices tile by tile is worth it: their elements are used often.
const MANY_PRODUCTS: i64 = 1 << 15;
/// The least extent of what is summed over, and of the columns, of such a matrix.
const LEAST_EXTENT: i64 = 8;
/// What an extent is taken to be that is known at run time only.
pub const USUAL_EXTENT: i64 = 64;

impl Product {
    /// Whether the products of an element, which an instruction adds up, are added up in the order of the index. It is part of
    /// what a program computes: all targets ask this before they say how they multiply such matrices.
    pub fn is_in_order(&self, has_f16: bool) -> bool {
        let Self { operands, dtype, .. } = *self;
        let is_read = |operand: DType| {
            let is_half = operand == DType::F16 && has_f16 && matches!(dtype, DType::F32 | DType::F64);
            operand == dtype || is_half || converts_at_once(operand, dtype)
        };
        is_plain(dtype) && operands.into_iter().all(is_read) && self.is_large()
    }

    /// Whether multiplying tile by tile is worth it.
    pub fn is_large(&self) -> bool {
        let [inner, columns] = [self.inner, self.columns].map(|extent| extent.unwrap_or(USUAL_EXTENT));
        let count = self.usual_rows.saturating_mul(inner).saturating_mul(columns);
        inner.min(columns) >= LEAST_EXTENT && count >= MANY_PRODUCTS
    }
}

/// Whether registers hold elements of a dtype as they are in memory, and add and multiply them in one instruction each.
pub fn is_plain(dtype: DType) -> bool {
    match dtype.kind() {
        Kind::Float | Kind::Unsigned | Kind::Signed => {
            memory(dtype) == register(dtype) && register(dtype).bits() == dtype.bits()
        }
        Kind::Bool | Kind::Complex => false,
    }
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
    /// How many values leave a kernel at most: code generators take the square of their number.
    pub max_roots: usize,
    /// With fewer results than these beside each other in memory, what goes along an axis in order computes one at a time.
    pub few_columns: i64,
    /// When a `take` from a view looks up elements, and has no copy of it made.
    pub lookups: Lookups,
    /// How long reductions are cut, if they are.
    pub cuts: Option<Cuts>,
}

/// How many bytes are copied in the time of a lookup, of an element that lies apart from the one before, or of a row of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookups {
    /// Operands of up to so many bytes are in the caches.
    pub cache: i64,
    /// The bytes that are copied in the time of a lookup in such an operand.
    pub near: i64,
    /// The same in a larger one. Rows of so many bytes are always looked up.
    pub far: i64,
}

impl Costs {
    /// What fusion asks for, on every target: what is computed together decides in which order sums are added up. It was
    /// measured on CPUs.
    pub const COMMON: Self = Self {
        expensive: 8,
        too_long: 256,
        max_exprs: 600,
        max_roots: 64,
        few_columns: 8,
        lookups: Lookups { cache: 1 << 24, near: 1 << 4, far: 1 << 7 },
        cuts: Some(Cuts {
            length: 1 << 16,
            most: 64,
            least_terms: 64,
            many_rows: 64,
            many_columns: 1 << 16,
            long_row: 1 << 10,
            far: 1 << 23,
            scanned: 1 << 12,
            many_scans: 8,
            reread: 1 << 20,
            part: 1 << 15,
            few: 6,
        }),
    };
}

/// When it is worth it to have code that reads arguments where a caller has them, though they are not contiguous and row-major:
/// else they are packed, which is less code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPlace {
    /// From so many elements of an argument on.
    pub elements: i64,
    /// Where no kernel that reads an argument costs more than that many instructions an index.
    pub cost: u32,
    /// In functions that launch so many kernels at most.
    pub launches: usize,
    /// For elements side by side along one of so many last dimensions.
    pub dims: usize,
    /// For one argument alone that lies in another order, where no more than so many have two or more dimensions.
    pub alone: usize,
    /// Where one in so many elements of an argument is taken, or fewer, whatever its strides are.
    pub few: i64,
}

/// What is copied in the frame of a function faster than memory with references is made for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFrame {
    /// The most bytes of a tensor.
    pub bytes: i64,
    /// The most bytes of all of them, of a function.
    pub all: i64,
}

/// How long reductions are cut into parts, which may be reduced in parallel. Shapes alone decide, so results do not depend
/// on how many threads there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cuts {
    /// About how many elements a part has.
    pub length: i64,
    /// The most parts.
    pub most: i64,
    /// Of about how many elements each result of a part is made, at least: it is written and read again.
    pub least_terms: i64,
    /// With so many results, a reduction over the last dimension occupies all processors without being cut.
    pub many_rows: i64,
    /// The same for a reduction over another dimension, whose results are computed several at a time.
    pub many_columns: i64,
    /// A reduction over several dimensions is one of rows of so many elements first, where there are [`most`](Self::most) of them.
    pub long_row: i64,
    /// More elements than so many are taken to be in no cache: where all are reduced, it is along few dimensions first, in whatever order they lie.
    pub far: i64,
    /// How many elements a part of cumulative ops has.
    pub scanned: i64,
    /// With so many results beside an axis, what is cumulative along it occupies enough processors: cut, it reads everything twice.
    pub many_scans: i64,
    /// From so many elements on, what is reduced and then read again is cut into parts, each of which stays in the caches until then.
    pub reread: i64,
    /// About how many elements such a part has; as many as [`reread`](Self::reread) at most.
    pub part: i64,
    /// With fewer results beside each other, but for one, computing takes longer than reading, and nothing is cut for that.
    pub few: i64,
}
