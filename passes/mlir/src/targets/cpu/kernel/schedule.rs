//! How the loops of a kernel are run: which elements are in a vector, and what becomes of those that fill none.
//!
//! The choice depends on the kernel, the processor and whose numbers are computed, and on nothing that a run alone knows.
//! `--emit=program` prints it beside each kernel.

use std::fmt::{self, Display, Formatter};

use promote_dialect::extent::Product;
use promote_lattice::convert::Numerics;
use promote_lower::interchange::lies_along;
use promote_lower::kernel::{Code, Form, Kernel, Moved};
use promote_lower::order::{self, Beside, Rows, register_lanes, square_lanes};

use super::along::is_side_by_side;
use super::copied::is_copied;
use super::down::Down;
use super::grouped::Grouped;
use super::in_turn::InTurn;
use super::lanes::{planar, repeated, short};
use super::lengthwise::Lengthwise;
use super::parts::Parts;
use super::prefetch::loaded_bytes;
use super::shuffled::Shuffled;
use super::squares::{columns_at_once, squares, step_across};
use crate::targets::cpu::costs::{
    CACHED_ROWS, COLUMNS_UPRIGHT, FEW_VECTORS, GROUPED_ROWS, IN_REGISTERS, IN_REGISTERS_UNMASKED,
    LEAST_ROWS_DOWN, WORTH_SHORTENING,
};
use crate::targets::cpu::target::Machine;

/// How a kernel is run.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// How many elements are computed at once.
    pub(super) lanes: usize,
    /// The same where rows of a short innermost dimension are computed one by one, as there are too few.
    pub(super) lanes_of_row: usize,
    /// How many rows a square has that is transposed in registers: as many as it has columns. A map may have several beside each other.
    pub(super) side: usize,
    /// How many sums a row has at once.
    pub(super) sums: usize,
    /// The dimension along which the lanes of vectors lie: the innermost one, or that of rows side by side.
    pub(super) vector: Option<usize>,
    /// The dimension along which the innermost one is read across: the kernel is computed in squares of as many indices.
    pub(super) across: Option<usize>,
    /// Which of the columns that are read across are read lengthwise.
    pub(super) lengthwise: Option<Lengthwise>,
    /// Of how many runs of those what they add up to is transposed at once.
    pub(super) runs: usize,
    /// The parts of columns that are reduced beside each other, if they are.
    pub(super) parts: Option<Parts>,
    /// How rows that are too short for vectors are computed side by side.
    pub(super) beside: Option<Beside>,
    /// How rows are reduced down their columns.
    pub(super) down: Option<Down>,
    /// How rows are reduced in groups.
    pub(super) grouped: Option<Grouped>,
    /// How blocks are permuted, if they are.
    pub(super) shuffled: Option<Shuffled>,
    /// How columns that take turns are reduced, if they are.
    pub(super) in_turn: Option<InTurn>,
    /// How many indices the innermost dimension has, where it is run through with the one before as one.
    pub(super) short: Option<i64>,
    /// Whether what is left of a loop after whole vectors is computed in a vector, too, of which some lanes are masked.
    pub(super) has_masks: bool,
    /// Whether there are so few indices that LLVM may keep what is stored here and loaded elsewhere in registers. It does so where there
    /// is neither a loop nor a mask: a map is computed in shorter and shorter vectors, and rows are read and written one by one.
    pub(super) is_tiny: bool,
    /// Whether what is left of a loop after whole vectors is computed in one that ends where the loop does: some of it again.
    pub(super) overlaps: bool,
    /// Whether the run time does what the kernel does.
    pub(super) is_copied: bool,
}

impl Schedule {
    /// The schedule of a kernel.
    pub fn new(kernel: &Kernel, machine: Machine, numerics: Numerics) -> Self {
        let bytes = machine.vector_bytes;
        let square = match kernel.form {
            Form::Map | Form::Rows { .. } => square_lanes(kernel, bytes),
            Form::Columns { .. } => square_lanes(kernel, bytes).min(COLUMNS_UPRIGHT),
        };
        let rows = rows(kernel, numerics, machine);
        let has_masks = machine.has_masks() && !rows.has_rest;
        let register = register_lanes(kernel, bytes);
        let shuffled = Shuffled::new(kernel, machine, numerics);
        let short = short(kernel, machine).filter(|_| shuffled.is_none());
        let across = squares(kernel, square, has_masks).filter(|_| short.is_none() && shuffled.is_none());
        let runs = square_lanes(kernel, bytes);
        let lengthwise = across.and_then(|dim| Lengthwise::new(kernel, dim, (square, runs), has_masks));
        let parts = across.and_then(|dim| Parts::new(kernel, dim, (runs, has_masks)));
        let down = Down::new(kernel, numerics, &rows, register);
        let grouped = Grouped::new(kernel, &rows, bytes).filter(|_| has_masks && down.is_none());
        let Rows { lanes, beside, fill_vectors: _, has_rest: _ } = rows;
        let sums = if beside.is_some() { square } else { lanes };
        let lanes = match (across, short, &down) {
            (Some(dim), _, _) if kernel.form == Form::Map => columns_at_once(kernel, dim, square, bytes),
            (Some(_), _, _) => square,
            (None, Some(_), _) => {
                let most = order::lanes(kernel, numerics, bytes, true);
                let has_vectors = !(planar(kernel).is_empty() && repeated(kernel).is_empty());
                let rows = kernel.dims[kernel.dims.len() - 2].fixed().filter(|_| has_vectors);
                rows.map_or(most, |rows| most.min(1 << rows.ilog2()))
            }
            (None, None, Some(_)) => register,
            (None, None, None) if let Some(shuffled) = shuffled => shuffled.lanes,
            (None, None, None) if kernel.form == Form::Map => map_lanes(kernel, sums, register),
            (None, None, None) => sums,
        };
        let innermost = kernel.dims.len().checked_sub(1);
        let side_by_side = beside.as_ref().map(|beside| beside.rows);
        let vector = side_by_side.or(down.as_ref().map(|down| down.rows)).or(innermost);
        // Where a dimension is empty, others still have their indices.
        let count = kernel.dims.iter().try_fold(1i64, |all, extent| all.checked_mul(extent.fixed()?.max(1)));
        let others = [across.is_some(), short.is_some(), beside.is_some(), down.is_some(), grouped.is_some()];
        let is_along = others == [false; 5] && shuffled.is_none();
        let is_tiny = is_along
            && count.is_some_and(|count| count <= IN_REGISTERS)
            && match kernel.form {
                Form::Map => true,
                Form::Rows { .. } => {
                    let is_short = count.is_some_and(|count| count <= IN_REGISTERS_UNMASKED);
                    (has_masks || is_short) && kernel.chunk.is_none()
                }
                Form::Columns { .. } => false,
            };
        let overlaps = kernel.form == Form::Map && is_along && !is_tiny;
        let is_copied = short.is_none() && shuffled.is_none() && is_copied(kernel, across);
        Self {
            lanes,
            lanes_of_row: map_lanes(kernel, sums, register),
            side: square,
            sums,
            vector,
            across,
            lengthwise,
            runs,
            parts,
            beside,
            down,
            grouped,
            shuffled,
            in_turn: InTurn::new(kernel, bytes).filter(|_| across.is_none()),
            short,
            has_masks,
            is_tiny,
            overlaps,
            is_copied,
        }
    }

    /// What the kernel moves, if the run time copies it.
    pub fn moved<'k>(&self, kernel: &'k Kernel) -> Option<Moved<'k>> {
        kernel.moved().filter(|_| self.is_copied)
    }

    /// Whether what is read along memory may be short runs one after the other: squares have parts, and rows side by side may be short.
    pub fn reads_short_runs(&self) -> bool {
        self.across.is_some() || self.beside.is_some()
    }

    /// Whether all operands of the kernel are read along memory, so that packing one first would not be faster. Reading a map in
    /// squares takes as long.
    pub fn reads_in_order(&self, kernel: &Kernel) -> bool {
        let Some(vector) = self.vector.filter(|_| !self.is_copied) else { return true };
        // Columns of few rows are far apart where dimensions count as one, and are read again in a later stage.
        let is_costly = kernel.as_one || kernel.roots.iter().any(|root| kernel.expr(root.expr).stage > 0);
        let has_few = |down: &Down| kernel.dims[down.rows].fixed().is_some_and(|rows| rows < LEAST_ROWS_DOWN);
        let is_down = self.down.as_ref().map(|down| !(is_costly && has_few(down)));
        if !is_down.unwrap_or(!kernel.as_one) {
            return false;
        }
        let across = self.across.filter(|_| kernel.form != Form::Map);
        kernel.exprs.iter().all(|expr| match (&expr.code, &self.beside) {
            (Code::Load(access), Some(beside)) => beside.layout(access, expr.dtype).is_some(),
            (Code::Load(access), _) => {
                let is_across = |dim: usize| step_across(access, dim, expr.dtype).is_some();
                let is_along = match kernel.form {
                    Form::Map => is_side_by_side(access, vector),
                    Form::Rows { .. } | Form::Columns { .. } => {
                        lies_along(&access.strides[vector], expr.dtype)
                    }
                };
                is_along || across.is_some_and(is_across)
            }
            (
                // What is taken from where it is, is few elements or whole rows: lowering copies all else.
                Code::Take { .. }
                | Code::Splat(_)
                | Code::Size(_)
                | Code::Index { .. }
                | Code::Map(..)
                | Code::Convert(_)
                | Code::Reduced(_),
                _,
            ) => true,
        })
    }
}

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { lanes, side, has_masks, is_tiny, overlaps, .. } = self;
        if self.is_copied {
            return f.write_str("copied by the run time");
        }
        let Some(vector) = self.vector.filter(|_| *lanes > 1) else { return f.write_str("one by one") };
        if self.beside.is_some() {
            return write!(f, "{lanes} rows of d{vector} side by side");
        }
        if let Some(down) = &self.down {
            write!(f, "{lanes} rows of d{vector} down their columns")?;
            return if down.apart.is_some() { f.write_str(", each sum of all rows apart") } else { Ok(()) };
        }
        if let Some(across) = self.across {
            if self.parts.is_some() {
                return write!(f, "parts of d{across} beside each other, lengthwise");
            }
            if self.lengthwise == Some(Lengthwise::All) {
                return write!(f, "{} columns of d{vector} lengthwise along d{across}", self.runs);
            }
            write!(f, "squares of {side} along d{across} and d{vector}")?;
            if lanes > side {
                write!(f, ", {} at once", lanes / side)?;
            }
            return match self.lengthwise {
                Some(Lengthwise::Open) => write!(f, ", some columns lengthwise"),
                Some(Lengthwise::Rest) => write!(f, ", the rest lengthwise"),
                Some(Lengthwise::All) | None => Ok(()),
            };
        }
        if let Some(Shuffled { inner, block, .. }) = self.shuffled {
            return write!(f, "{lanes} lanes, blocks of {block} from d{inner} on permuted");
        }
        if let Some(InTurn { columns, lanes }) = self.in_turn {
            return write!(f, "{lanes} lanes of {columns} columns that take turns");
        }
        match self.short {
            Some(_) => write!(f, "{lanes} lanes along d{} and d{vector} as one", vector - 1),
            None if self.grouped.is_some() => {
                write!(f, "{lanes} lanes along d{vector}, the rest masked, {GROUPED_ROWS} rows at once")
            }
            None if *is_tiny => write!(f, "{lanes} lanes along d{vector}, the rest in registers"),
            None if *overlaps => write!(f, "{lanes} lanes along d{vector}, the last vector overlapping"),
            None if *has_masks => write!(f, "{lanes} lanes along d{vector}, the rest masked"),
            None => write!(f, "{lanes} lanes along d{vector}, the rest one by one"),
        }
    }
}

/// How rows are combined. Short ones that fill vectors are not computed side by side where they are read in the order of memory otherwise:
/// along rows, or down their columns if there are so many rows beside each other that what is read of them is in no cache.
fn rows(kernel: &Kernel, numerics: Numerics, machine: Machine) -> Rows {
    let rows = Rows::new(kernel, numerics, machine.vector_bytes);
    let Some(beside) = rows.beside.as_ref().filter(|_| rows.fill_vectors) else { return rows };
    let is_along = beside.is_along_rows(kernel);
    let both = 1 << beside.rows | 1 << beside.within();
    let read = kernel.exprs.iter().filter(|expr| expr.dims & both == both).map(loaded_bytes);
    let row = read.sum::<i64>() * beside.length as i64;
    let is_far =
        kernel.dims[beside.rows].fixed().is_some_and(|count| count.saturating_mul(row) > CACHED_ROWS);
    if !is_along && !is_far {
        return rows;
    }
    let apart = Rows { beside: None, ..rows.clone() };
    let register = register_lanes(kernel, machine.vector_bytes);
    if is_along || Down::new(kernel, numerics, &apart, register).is_some() { apart } else { rows }
}

/// In how many lanes a map is computed, at most those of some registers: in rows of few vectors, in as many as leave fewer of them
/// without an element.
fn map_lanes(kernel: &Kernel, most: usize, register: usize) -> usize {
    let computed = |extent: usize, lanes: usize| extent.next_multiple_of(lanes);
    let extent = kernel.dims.last().and_then(Product::fixed).and_then(|extent| usize::try_from(extent).ok());
    let Some(extent) = extent.filter(|extent| *extent <= FEW_VECTORS * most) else { return most };
    let halves = std::iter::successors(Some(most), |lanes| Some(lanes / 2));
    let fitting = halves.take_while(|lanes| *lanes >= register.clamp(1, most));
    let best = fitting.reduce(|best, lanes| {
        let saved = computed(extent, best) - computed(extent, lanes);
        if saved * WORTH_SHORTENING > computed(extent, best) { lanes } else { best }
    });
    best.unwrap_or(most)
}

#[cfg(test)]
mod tests;
