//! The order in which the elements of a reduction are combined.
//!
//! Sums of floats depend on it, so it is part of what a kernel computes. It follows from the kernel, whose numbers are
//! computed, and how wide vectors are; what runs the kernel, and on how many threads, changes nothing. Targets whose vectors
//! are equally wide compute the same bits.
//!
//! | form | order |
//! |---|---|
//! | short rows [side by side](Beside) that fill no vectors | an element goes to the sum of its place modulo [`SHORT_ROW_SUMS`]; the sums are halved |
//! | other rows, and short ones that [fill vectors](Rows::fill_vectors) | an element goes to the sum of its lane: its place modulo [`lanes`](Rows::lanes). What fills no vector goes to its lanes too, or, where [it is apart](Rows::has_rest), to a sum of its own. The lanes are halved, and the rest comes last |
//! | columns | one element after the other; sums that round, [four at a time](is_summed_in_fours) |
//! | products of matrices, [in order](crate::target::Product::is_in_order) | one product after the other, in blocks of [`PRODUCTS`] |
//! | cumulative, along rows | in vectors of [`SCANNED_LANES`], or one after the other; the parts of a long one each from what those before it add up to, in as many lanes |
//!
//! Long sums are added up in [blocks](is_summed_in_blocks): of vectors along rows, of rows down columns. Of cumulative ones each
//! block begins with nothing, and what was before it is added to all of it.

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind, Op};
use promote_scalar::{depends_on_order, keeps_first, memory, register};

use crate::kernel::{Access, Code, Expr, ExprId, Form, Kernel, Role, Root};

/// So many vectors, or rows, are added up before their sum is added to that of those before: sums of many numbers one after
/// the other lose more bits the more there are.
pub const BLOCK: i64 = 64;
/// So many elements of a column are added up before their sum is added to that of those before: rows are read as many at once, and
/// columns that lie along memory in vectors.
pub const FOUR: i64 = 4;
/// So many products of an element of a matrix are added up one after the other, from zero on, before their sum is added to that
/// of those before.
pub const PRODUCTS: i64 = 384;
/// The longest rows that are computed side by side: the code of a row is emitted once for each of its elements.
pub const SHORT_ROW: i64 = 32;
/// The most that those elements cost together.
const SHORT_ROW_COST: i64 = 2048;
/// How many of the sums of a short row are carried at once.
pub const SHORT_ROW_SUMS: usize = 4;
/// The shortest rows that are combined in the order of vectors along them, as longer ones are: halving the lanes of shorter ones takes as
/// long as reading them.
const LEAST_IN_VECTORS: i64 = 16;
/// The most that the ops on an element of such rows cost.
const CHEAP_ELEMENT: u32 = 8;
/// The most that the ops cost that are done once for such a row, not in vectors: those on its result, and on what is the same within it.
const CHEAP_ROW: u32 = 5;
/// From how many bytes on vectors have lanes that are masked at no cost.
pub const MASKED_BYTES: usize = 64;
/// The longest rows of which vectors hold some side by side in memory: longer ones are transposed in squares.
const INTERLEAVED_ROW: i64 = 4;
/// The largest steps in which the elements of such a row are chosen from all that lies between them.
const ROW_STEP: i64 = 4;
/// How many bytes that is, at most.
const ROW_IN_STEPS: i64 = 128;
/// The most lanes of a vector, in as many registers as it takes.
pub const MOST_LANES: i64 = 128;
/// The lanes of a vector of cumulative sums.
pub const SCANNED_LANES: usize = 16;

/// How the elements of rows are combined.
#[derive(Clone, Debug)]
pub struct Rows {
    /// How many sums a row has at once in vectors along it.
    pub lanes: usize,
    /// How short rows are computed side by side, if they may be.
    pub beside: Option<Beside>,
    /// Whether rows are short and combined in the order of vectors along them, also where they are computed side by side.
    pub fill_vectors: bool,
    /// Whether what fills no vector is combined apart, one element after the other, and joined at the end.
    pub has_rest: bool,
}

impl Rows {
    /// The order of a kernel's rows in vectors of so many bytes. Its lanes say how a map is run, too.
    pub fn new(kernel: &Kernel, numerics: Numerics, vector_bytes: usize) -> Self {
        let lanes = lanes(kernel, numerics, vector_bytes, false);
        let fill_vectors = fill_vectors(kernel, numerics, vector_bytes);
        let sums = if fill_vectors { lanes } else { SHORT_ROW_SUMS };
        let beside = Beside::new(kernel, square_lanes(kernel, vector_bytes), sums);
        Self { lanes, beside, fill_vectors, has_rest: has_rest(kernel, numerics) }
    }
}

/// In which order a kernel goes through what it reduces: two kernels of the same expressions that have the same one combine elements
/// in the same order, however their operands lie in memory.
#[derive(Clone, Debug)]
pub enum Traversal {
    /// This one.
    Known(Box<Order>),
    /// A run alone knows it.
    Open,
}

/// What the order of the elements of a reduction follows from, on whatever target.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    is_in_rows: bool,
    /// What is done with the roots whose results depend on it.
    roots: Vec<(Role, DType)>,
    /// Which dimensions are reduced, counted from the first one, those that are gone through as through one together, and their
    /// extents, as far as they are known.
    reduced: Vec<(Vec<usize>, Option<i64>)>,
    /// Which of them is cut into parts, if one is, and their length, as far as it is known.
    chunk: Option<(usize, Option<i64>)>,
    /// For vectors of each width how many sums a row has, and whether rows are short ones side by side that fill no vectors; nothing of
    /// columns.
    rows: Vec<(usize, bool)>,
    has_rest: bool,
}

/// The widths of vectors, in bytes, that processors have.
const WIDTHS: [usize; 3] = [16, 32, 64];

impl Traversal {
    /// That of a kernel, if its results depend on it. `dims` says what each dimension is, in numbers that among those of reduced
    /// dimensions do not depend on how operands lie.
    pub fn of(kernel: &Kernel, dims: &[Vec<usize>], numerics: Numerics) -> Option<Self> {
        if combines_in_any_order(kernel) {
            return None;
        }
        let ordered = kernel.roots.iter().filter(|root| !is_in_any_order(kernel, root));
        let rows = |bytes: usize| {
            let rows = Rows::new(kernel, numerics, bytes);
            match rows.beside.filter(|_| !rows.fill_vectors) {
                Some(beside) => (beside.free_sums, true),
                None => (rows.lanes, false),
            }
        };
        let first = kernel.reduced().flat_map(|dim| &dims[dim]).min().copied().unwrap_or(0);
        let from_first = |dim: usize| dims[dim].iter().map(move |own| own - first);
        let of_each =
            || kernel.reduced().map(|dim| (from_first(dim).collect(), kernel.dims[dim].fixed())).collect();
        let of_all = || (kernel.reduced().flat_map(from_first).collect(), kernel.length().fixed());
        let reduced = if kernel.as_one { vec![of_all()] } else { of_each() };
        let is_in_rows = matches!(kernel.form, Form::Rows { .. });
        let widths = if is_in_rows { &WIDTHS[..] } else { &[] };
        Some(Self::Known(Box::new(Order {
            is_in_rows,
            roots: ordered.map(|root| (root.role, kernel.expr(root.expr).dtype)).collect(),
            reduced,
            chunk: kernel.chunk.map(|chunk| (chunk.dim - kernel.reduced().start, chunk.length.fixed())),
            rows: widths.iter().copied().map(rows).collect(),
            has_rest: has_rest(kernel, numerics),
        })))
    }

    /// Whether both are known, and the same.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Known(own), Self::Known(other)) => own == other,
            (Self::Open, _) | (_, Self::Open) => false,
        }
    }
}

/// Whether the results of a kernel are the same in whatever order it combines elements.
pub fn combines_in_any_order(kernel: &Kernel) -> bool {
    kernel.roots.iter().all(|root| is_in_any_order(kernel, root))
}

/// Whether a result is the same in whatever order elements are combined.
fn is_in_any_order(kernel: &Kernel, root: &Root) -> bool {
    let dtype = kernel.expr(root.expr).dtype;
    match root.role {
        Role::Store => true,
        Role::Arg(_) => dtype.kind() != Kind::Complex,
        Role::Reduce(op) => has_free_order(op, dtype),
        Role::Scan(_) => false,
    }
}

/// Whether a reduction of numbers of a dtype is the same in whatever order they are combined. By `maximum` or `minimum` it may be the
/// other zero, which is the same to those who subtract it.
pub fn has_free_order(op: Op, dtype: DType) -> bool {
    let is_extreme =
        matches!(op, Op::Max | Op::Maximum | Op::Min | Op::Minimum) && dtype.kind() != Kind::Complex;
    is_extreme || matches!(dtype.kind(), Kind::Bool | Kind::Unsigned | Kind::Signed)
}

/// Whether what fills no vector cannot be computed in one: it may raise exceptions where there is no element, or is one of
/// cumulative sums.
pub fn has_rest(kernel: &Kernel, numerics: Numerics) -> bool {
    let may_raise = |expr: &Expr| matches!(expr.code, Code::Take { .. }) || raises(expr, numerics);
    scans_rows(kernel) || kernel.exprs.iter().any(may_raise)
}

/// Whether short rows are combined as longer ones are, in vectors along them: where a row takes several vectors, most lanes of which have an
/// element (the others are masked), and there is one reduction and little to do beside it. Such rows may be read in the order of memory.
/// In squares, what is read next is in another row, and processors do not foresee it: what is in no cache takes up to four times as long.
fn fill_vectors(kernel: &Kernel, numerics: Numerics, vector_bytes: usize) -> bool {
    let (Form::Rows { reduced: 1 }, None, [.., length]) = (kernel.form, kernel.chunk, kernel.dims.as_slice())
    else {
        return false;
    };
    let lengths = LEAST_IN_VECTORS..=SHORT_ROW;
    let Some(length) = length.fixed().filter(|length| lengths.contains(length)) else { return false };
    let within = kernel.reduced().start;
    let is_of_element = |expr: &&Expr| expr.dims & 1 << within != 0;
    let read = |expr: &Expr| match expr.code {
        Code::Load(_) => memory(expr.dtype).bits().div_ceil(8) as usize,
        Code::Take { .. } | Code::Splat(_) | Code::Size(_) | Code::Index { .. } | Code::Map(..) => 0,
        Code::Convert(_) | Code::Reduced(_) => 0,
    };
    let elements = || kernel.exprs.iter().filter(is_of_element);
    let widest = elements().filter(|expr| expr.dims & !(1 << within) != 0).map(read).max().unwrap_or(0);
    // Where elements are made wider, more vectors are computed than read.
    let at_once = register_lanes(kernel, vector_bytes).max(1);
    let (length, computed) = (length as usize, (length as usize).next_multiple_of(at_once));
    let is_dense = widest * at_once == vector_bytes && length > at_once && computed * 3 <= length * 4;
    let each: u32 = elements().map(Expr::cost).sum();
    let is_cheap = each <= CHEAP_ELEMENT && kernel.cost() - each <= CHEAP_ROW;
    let is_of_lanes = |root: &Root| match root.role {
        Role::Reduce(op) => {
            let dtype = kernel.expr(root.expr).dtype;
            dtype.kind() != Kind::Bool && !depends_on_order(op, dtype)
        }
        Role::Store | Role::Scan(_) | Role::Arg(_) => false,
    };
    let mut others = kernel.roots.iter().filter(|root| root.role != Role::Store);
    let is_plain = others.next().is_some_and(is_of_lanes) && others.next().is_none();
    vector_bytes >= MASKED_BYTES && is_dense && is_cheap && is_plain && !has_rest(kernel, numerics)
}

/// Whether an expression may end a run with an exception.
pub fn raises(expr: &Expr, numerics: Numerics) -> bool {
    let may = match &expr.code {
        Code::Take { .. } => true,
        Code::Map(op, _) => {
            matches!(op, Op::FloorDivide | Op::Remainder | Op::Fmod | Op::Pow | Op::Reciprocal)
                && !expr.dtype.is_inexact()
        }
        Code::Splat(_)
        | Code::Size(_)
        | Code::Index { .. }
        | Code::Load(_)
        | Code::Convert(_)
        | Code::Reduced(_) => false,
    };
    may && numerics != Numerics::Jax
}

/// Whether each step of a sum is rounded, to no fewer bits than a number in single precision has.
fn is_rounded(op: Op, dtype: DType) -> bool {
    matches!(op, Op::Sum | Op::CumulativeSum) && dtype.is_inexact() && dtype.real_part().bits() >= 32
}

/// Whether cumulative sums may be added up in another order than one after the other.
pub fn has_any_order(op: Op, dtype: DType, numerics: Numerics) -> bool {
    let is_integer = matches!(dtype.kind(), Kind::Unsigned | Kind::Signed);
    op == Op::CumulativeSum && (is_integer || is_rounded(op, dtype)) && !keeps_first(op, numerics, dtype)
}

/// Whether a root is added up in blocks of rows, or of vectors: if there are so many that they may be more than a block. One
/// block alone is the sum, so that whether an extent is known changes nothing.
pub fn is_summed_in_blocks(kernel: &Kernel, root: &Root, numerics: Numerics, lanes: usize) -> bool {
    let dtype = kernel.expr(root.expr).dtype;
    let is_in_rows = matches!(kernel.form, Form::Rows { .. });
    let is_sum = match root.role {
        Role::Reduce(op) => is_rounded(op, dtype),
        Role::Scan(op) => is_rounded(op, dtype) && has_any_order(op, dtype, numerics),
        Role::Store | Role::Arg(_) => false,
    };
    let vector = if is_in_rows { lanes as i64 } else { 1 };
    is_sum && most_in_a_run(kernel).is_none_or(|length| length > BLOCK * vector)
}

/// Whether the elements of columns are added up in fours, each of which begins with its first element, and those one after the
/// other: if there are so many that they may be more than one. One four alone is the sum.
pub fn is_summed_in_fours(kernel: &Kernel, root: &Root) -> bool {
    let is_sum = match root.role {
        Role::Reduce(op) => is_rounded(op, kernel.expr(root.expr).dtype),
        // Each step of a cumulative sum is a result.
        Role::Scan(_) | Role::Store | Role::Arg(_) => false,
    };
    let is_of_columns = matches!(kernel.form, Form::Columns { .. });
    is_sum && is_of_columns && most_in_a_run(kernel).is_none_or(|length| length > FOUR)
}

/// How many elements are combined along the innermost reduced dimension, or the part of it that a unit has, at most; none if a run alone
/// knows.
fn most_in_a_run(kernel: &Kernel) -> Option<i64> {
    let last = kernel.reduced().end - 1;
    let part = kernel.chunk.filter(|chunk| chunk.dim == last).and_then(|chunk| chunk.length.fixed());
    part.or(if kernel.as_one { kernel.length().fixed() } else { kernel.dims[last].fixed() })
}

/// Whether a kernel adds up rows to the totals that cumulative ops go on from.
fn totals_scans(kernel: &Kernel) -> bool {
    matches!(kernel.form, Form::Rows { .. })
        && kernel.roots.iter().any(|root| root.role == Role::Reduce(Op::CumulativeSum))
}

/// Whether cumulative ops run along rows. Their vectors are equally long on all processors, so that their order is the same.
pub fn scans_rows(kernel: &Kernel) -> bool {
    matches!(kernel.form, Form::Rows { .. })
        && kernel.roots.iter().any(|root| matches!(root.role, Role::Scan(_)))
}

/// How many elements of rows are combined at once, or of a map computed: some vector registers of the widest type, so that
/// the latency of one is hidden by the others; one, if `is_short`.
pub fn lanes(kernel: &Kernel, numerics: Numerics, vector_bytes: usize, is_short: bool) -> usize {
    let bytes = |dtype: DType| register(dtype).bits().div_ceil(8) as usize;
    let widest = kernel.exprs.iter().filter(|expr| expr.dims != 0).map(|expr| bytes(expr.dtype)).max();
    let at_once = match (is_short, kernel.cost()) {
        (true, _) => 1,
        (false, ..=4) => 4,
        // Sums of columns that are all at hand stay in registers from row to row.
        (false, 5..=16) if matches!(kernel.form, Form::Columns { .. }) => 4,
        (false, 5..=64) => 2,
        // There is enough to do at a time, and registers and compile time are expensive.
        (false, 65..) => 1,
    };
    let most = (vector_bytes * at_once / widest.unwrap_or(1)).clamp(1, MOST_LANES as usize);
    let length = kernel.length().fixed().filter(|_| !kernel.dims.is_empty());
    let is_short_row = length.is_some_and(|length| length <= SHORT_ROW);
    let is_in_order = |root: &Root| match root.role {
        Role::Scan(op) => !has_any_order(op, kernel.expr(root.expr).dtype, numerics) || is_short_row,
        Role::Reduce(op) => depends_on_order(op, kernel.expr(root.expr).dtype),
        Role::Store | Role::Arg(_) => false,
    };
    let is_ordered = matches!(kernel.form, Form::Rows { .. }) && kernel.roots.iter().any(is_in_order);
    match length {
        _ if is_ordered => 1,
        _ if scans_rows(kernel) || totals_scans(kernel) => SCANNED_LANES,
        None if kernel.dims.is_empty() => 1,
        _ if is_short => most,
        Some(extent) if extent < most as i64 => 1 << (extent.max(1) as usize).ilog2(),
        _ => most,
    }
}

/// How many lanes a square has that is transposed in registers: as many as a register of the widest type, as far as there are
/// registers for as many rows.
pub fn square_lanes(kernel: &Kernel, vector_bytes: usize) -> usize {
    register_lanes(kernel, vector_bytes).clamp(1, 16)
}

/// How many elements of the widest type a register has.
pub fn register_lanes(kernel: &Kernel, vector_bytes: usize) -> usize {
    let bytes = |expr: &Expr| register(expr.dtype).bits().div_ceil(8) as usize;
    let widest = kernel.exprs.iter().filter(|expr| expr.dims != 0).map(bytes).max();
    vector_bytes / widest.unwrap_or(1)
}

/// How rows that are too short for vectors are computed side by side.
#[derive(Clone, Debug)]
pub struct Beside {
    /// The dimension of the rows.
    pub rows: usize,
    /// The elements of a row.
    pub length: usize,
    /// How many sums a row has at once where more than one is possible: an element goes to the sum of its place modulo as many.
    free_sums: usize,
}

/// How the elements of some rows lie in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Those of one index side by side, or one for all rows.
    Along,
    /// Rows side by side, without anything between them, and so short that vectors hold several.
    Interleaved,
    /// Each row by itself.
    Squares {
        /// How many elements of memory there are from one of the row to the next.
        step: i64,
    },
}

impl Beside {
    /// How the rows of a kernel are computed side by side, so many at once, with as many sums each, if they are short.
    fn new(kernel: &Kernel, lanes: usize, free_sums: usize) -> Option<Self> {
        let (Form::Rows { reduced: 1 }, None, [.., rows, length]) =
            (kernel.form, kernel.chunk, kernel.dims.as_slice())
        else {
            return None;
        };
        let length = length.fixed().filter(|length| (2..=SHORT_ROW).contains(length))?;
        let beside = Self { rows: kernel.dims.len() - 2, length: length as usize, free_sums };
        let is_many = lanes > 1 && rows.fixed().is_none_or(|rows| rows >= lanes as i64);
        let is_cheap = i64::from(kernel.cost()) * length <= SHORT_ROW_COST;
        let varies = |id: ExprId| kernel.expr(id).dims & 1 << beside.rows != 0;
        let suits = |(id, expr): (ExprId, &Expr)| match &expr.code {
            Code::Load(access) => beside.layout(access, expr.dtype).is_some(),
            Code::Take { .. } => false,
            Code::Reduced(_) => varies(id),
            Code::Splat(_) | Code::Size(_) | Code::Index { .. } | Code::Map(..) | Code::Convert(_) => true,
        };
        let ends = kernel.roots.iter().all(|root| {
            let dtype = kernel.expr(root.expr).dtype;
            let is_stored_along = |sink: &Access| match beside.layout(sink, dtype) {
                Some(Layout::Along | Layout::Interleaved) => true,
                Some(Layout::Squares { step }) => step == 1,
                None => false,
            };
            (root.role == Role::Store || varies(root.expr)) && root.sinks.iter().all(is_stored_along)
        });
        (is_many && is_cheap && ends && (0..).map(ExprId).zip(&kernel.exprs).all(suits)).then_some(beside)
    }

    /// The dimension within a row.
    pub const fn within(&self) -> usize {
        self.rows + 1
    }

    /// How many sums of a row a root has at once: none if it is only stored.
    pub fn sums(&self, kernel: &Kernel, root: &Root) -> usize {
        match root.role {
            Role::Store => 0,
            Role::Reduce(op) if !depends_on_order(op, kernel.expr(root.expr).dtype) => self.free_sums,
            Role::Reduce(_) | Role::Arg(_) | Role::Scan(_) => 1,
        }
    }

    /// Whether all that differs within rows lies along them in memory, each element beside the one before.
    pub fn is_along_rows(&self, kernel: &Kernel) -> bool {
        let is_along = |access: &Access| {
            let within = &access.strides[self.within()];
            within.fixed() == Some(1) || within.is_zero()
        };
        let loads = kernel.exprs.iter().filter_map(|expr| expr.code.access());
        loads.chain(kernel.roots.iter().flat_map(|root| &root.sinks)).all(is_along)
    }

    /// How an access goes through rows; `None` if it does so in no way that is worth it.
    pub fn layout(&self, access: &Access, dtype: DType) -> Option<Layout> {
        let [rows, within] = [self.rows, self.within()].map(|dim| &access.strides[dim]);
        if rows.is_zero() || rows.fixed() == Some(1) {
            return Some(Layout::Along);
        }
        if within.is_zero() {
            return Some(Layout::Along);
        }
        if dtype.kind() == Kind::Complex {
            return None;
        }
        let (length, bytes) = (self.length as i64, i64::from(memory(dtype).bits() / 8));
        let is_near = |step: i64| step <= ROW_STEP && (step * (length - 1) + 1) * bytes <= ROW_IN_STEPS;
        let is_worth_it = |step: &i64| matches!(step, -1 | 1) || is_near(step.saturating_abs());
        let step = within.fixed().filter(is_worth_it)?;
        let is_dense = step == 1 && rows.fixed() == Some(length);
        Some(if is_dense && length <= INTERLEAVED_ROW {
            Layout::Interleaved
        } else {
            Layout::Squares { step }
        })
    }
}
