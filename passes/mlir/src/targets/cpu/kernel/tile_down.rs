//! Tiles of rows that are reduced down their columns: where they begin, and where their accumulators are.

use mlir_sys::*;
use promote_lower::kernel::{Access, Code as What, Role, Root};
use promote_scalar::{Ty, memory};

use super::down::Down;
use super::squares::Bounds;
use super::{KernelEmitter, Scope};
use crate::targets::cpu::costs::{CACHE_LINE, LEAST_IN_LINES, VECTORS_IN_LINES};
use crate::targets::llvm::Predicate;

/// A tile of rows that lie down their columns.
#[derive(Clone, Copy)]
pub(super) struct TileDown {
    pub(super) rows: Bounds,
    /// The first row whose elements begin lines of the cache, if that is worth knowing.
    pub(super) line: Option<MlirValue>,
    /// The row that the first accumulator would be of: one before the first row where that lets the accumulators of a line begin one.
    pub(super) first: MlirValue,
    /// How many accumulators one of the tile is before that of the same row in the tile of the next sum.
    pub(super) stride: i64,
    /// Whether the accumulators of neighbouring sums follow each other without a gap.
    pub(super) is_dense: bool,
    /// Whether the rows of neighbouring columns are one run of memory, too.
    pub(super) run: OneRun,
}

impl TileDown {
    /// A tile that is read from its first row on, sum by sum.
    pub(super) const fn new(rows: Bounds, first: MlirValue, stride: i64) -> Self {
        Self { rows, line: None, first, stride, is_dense: false, run: OneRun::Never }
    }
}

/// Whether the columns of neighbouring sums follow each other in memory without a gap.
#[derive(Clone, Copy)]
pub(super) enum OneRun {
    /// They do not, or nobody asks.
    Never,
    /// They do.
    Always,
    /// They do if this holds.
    If(MlirValue),
}

/// How many neighbouring sums are computed together.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) count: MlirValue,
    /// The most that there may be.
    pub(super) most: i64,
}

impl KernelEmitter<'_> {
    /// So many neighbouring sums.
    pub(super) fn sums_beside(&mut self, count: i64) -> Group {
        Group { count: self.code.index(count), most: count }
    }

    /// Does something for each of some sums that lie beside each other.
    pub(super) fn each_beside(&mut self, group: Group, body: &mut dyn FnMut(&mut Self, MlirValue)) {
        let zero = self.code.index(0);
        if group.most == 1 {
            return body(self, zero);
        }
        let beside = self.code.open((zero, group.count, 1), &[]);
        self.frames.push(Scope::default());
        body(self, beside.index);
        self.frames.pop();
        self.code.close(&beside, &[]);
    }

    /// Does something for the tile of each sum of a group, or for all as one where their accumulators follow each other: the number of the
    /// first sum, and its tile or that of all. Accumulators without a row are among those.
    pub(super) fn each_tile(
        &mut self,
        (tile, group): (TileDown, Group),
        body: &mut dyn FnMut(&mut Self, MlirValue, TileDown),
    ) {
        if !tile.is_dense {
            return self.each_beside(group, &mut |emitter, number| body(emitter, number, tile));
        }
        let (zero, all) = (self.code.index(0), self.as_one_tile(tile, group));
        body(self, zero, all);
    }

    /// The tiles of a group as one: its rows are those of the first sum, and then those of the others.
    pub(super) fn as_one_tile(&mut self, tile: TileDown, group: Group) -> TileDown {
        let rows = self.code.index(tile.stride);
        let all = self.code.int("llvm.mul", rows, group.count);
        TileDown { rows: (tile.rows.0, self.code.int("llvm.add", tile.rows.0, all)), ..tile }
    }

    /// The first row, counted from which accumulators are so many tiles further on.
    pub(super) fn further(&mut self, tile: TileDown, from: MlirValue, tiles: MlirValue) -> MlirValue {
        let size = self.code.index(tile.stride);
        let ahead = self.code.int("llvm.mul", tiles, size);
        self.code.int("llvm.sub", from, ahead)
    }

    /// A tile of rows, whose accumulators are so far from those of the next sum; it may have as many rows as are given, with those of sums whose
    /// accumulators follow. It is read from lines of the cache on if these are many vectors, which are as long as lines, and much is read. A column and how far
    /// the others are from it say where lines begin.
    pub(super) fn tile_down(
        &mut self,
        (dim, rows): (usize, Bounds),
        (most, stride): (i64, i64),
        columns: (MlirValue, i64),
    ) -> TileDown {
        let lanes = self.lanes as i64;
        let all = TileDown::new(rows, rows.0, stride);
        let is_long = most >= VECTORS_IN_LINES * lanes && self.has_masks;
        let Some(before) = is_long.then(|| self.before_lines_down((dim, rows.0), columns)).flatten() else {
            return all;
        };
        let line = self.code.int("llvm.add", rows.0, before);
        let (zero, in_vector) = (self.code.index(0), self.code.index(lanes - 1));
        let back = self.code.int("llvm.sub", zero, before);
        let back = self.code.int("llvm.and", back, in_vector);
        TileDown { line: Some(line), first: self.code.int("llvm.sub", rows.0, back), ..all }
    }

    /// How many rows, of those that are read down their columns, from one on are before the first line of the cache of what is read first:
    /// less than a vector, and 0 where that is another number in other columns; none where it is not worth it.
    fn before_lines_down(
        &mut self,
        (rows, from): (usize, MlirValue),
        (column, every): (MlirValue, i64),
    ) -> Option<MlirValue> {
        let kernel = self.kernel;
        let (access, dtype) = kernel.exprs.iter().find_map(|expr| match &expr.code {
            What::Load(access) if access.strides[rows].fixed() == Some(1) => Some((access, expr.dtype)),
            _ => None,
        })?;
        if self.lanes as i64 * i64::from(memory(dtype).bits()) / 8 != CACHE_LINE {
            return None;
        }
        let outside = self.index.clone();
        let zero = self.code.index(0);
        kernel.reduced().for_each(|dim| self.index[dim] = Some(zero));
        self.go_to_column(column);
        let steps = self.steps_of_columns(access, every);
        let before = self.before_line_of_many((access, dtype), (rows, from), &steps, LEAST_IN_LINES);
        self.index = outside;
        before
    }

    /// How many elements there are between columns that are so many apart, in the order of [`go_to_column`](Self::go_to_column): all distances
    /// are sums of multiples of these.
    fn steps_of_columns(&mut self, access: &Access, every: i64) -> Vec<MlirValue> {
        let (kernel, reduced) = (self.kernel, self.kernel.reduced());
        let last = reduced.end - 1;
        let mut steps = Vec::new();
        for dim in reduced {
            let mut step = self.product(&access.strides[dim].clone());
            if dim == last {
                let every = self.code.index(every);
                step = self.code.int("llvm.mul", step, every);
            } else if kernel.as_one && !self.is_whole_rounds(every) {
                // From the last index of the next dimension to the first one.
                let within = &access.strides[dim + 1] * &kernel.dims[dim + 1];
                let within = self.product(&within);
                step = self.code.int("llvm.sub", step, within);
            }
            steps.push(step);
        }
        steps
    }

    /// Whether the columns that one index of the other reduced dimensions has are known to be a multiple of so many.
    pub(super) fn is_whole_rounds(&self, every: i64) -> bool {
        let last = self.kernel.reduced().end - 1;
        self.kernel.dims[last].fixed().is_some_and(|extent| extent % every == 0)
    }

    /// Goes through the rows of a tile in vectors of whole lines. What is before the first one is in a vector that ends there, and what
    /// is behind the last one in one that begins there, both with masks: a row is in the same lane of the same vector whatever is done, so that
    /// accumulators of vectors are loaded as they were stored.
    pub(super) fn rows_in_lines(
        &mut self,
        dim: usize,
        tile: TileDown,
        body: &mut dyn FnMut(&mut Self, usize),
    ) {
        let (TileDown { rows: (from, to), first, .. }, lanes) = (tile, self.lanes);
        let mut body = |emitter: &mut Self, lanes: usize, _: &[MlirValue]| {
            body(emitter, lanes);
            Vec::new()
        };
        let Some(line) = tile.line else {
            self.innermost(dim, (from, to), &[], &mut body);
            return;
        };
        let last = self.last_whole((line, to), lanes as i64);
        self.repeat(dim, (line, last), lanes, &[], &mut |emitter, state| body(emitter, lanes, state));
        let [zero, two] = [0, 2].map(|number| self.code.index(number));
        let parts = self.code.open((zero, two, 1), &[]);
        self.frames.push(Scope::default());
        let is_before = self.code.compare(Predicate::Eq, parts.index, zero);
        let [begin, end] =
            [(first, last), (line, to)].map(|(before, behind)| self.code.select(is_before, before, behind));
        let end = self.code.int("llvm.intr.smin", end, to);
        self.repeat(dim, (begin, end), lanes, &[], &mut |emitter, state| {
            emitter.mask = Some(emitter.lanes_within(dim, (from, end)));
            let next = body(emitter, lanes, state);
            emitter.mask = None;
            next
        });
        self.frames.pop();
        self.code.close(&parts, &[]);
    }

    /// Whether the columns of neighbouring sums are one run of memory, and it makes no difference which column an element is of: everything that
    /// depends on a row or a column is read, or made of what is, and depends on both.
    pub(super) fn one_run(&mut self, down: &Down) -> OneRun {
        let (kernel, reduced) = (self.kernel, self.kernel.reduced());
        let last = reduced.end - 1;
        let all = reduced.clone().fold(1 << down.rows, |all, dim| all | 1u64 << dim);
        let both = 1u64 << down.rows | 1 << last;
        let seeks_column = |root: &Root| match root.role {
            Role::Arg(_) => true,
            Role::Store | Role::Reduce(_) | Role::Scan(_) => false,
        };
        if kernel.roots.iter().any(seeks_column) {
            return OneRun::Never;
        }
        let mut read = Vec::new();
        for expr in kernel.exprs.iter().filter(|expr| expr.stage == 0 && expr.dims & all != 0) {
            if expr.dims & both != both {
                return OneRun::Never;
            }
            match &expr.code {
                What::Load(access) if access.strides[down.rows].fixed() == Some(1) => read.push(access),
                What::Map(..) | What::Convert(_) => {}
                What::Load(_) | What::Take { .. } | What::Index { .. } => return OneRun::Never,
                What::Splat(_) | What::Size(_) | What::Reduced(_) => return OneRun::Never,
            }
        }
        // A group does not go on in the next row of columns if each has whole rounds of sums.
        let rounds =
            if kernel.as_one && !self.is_whole_rounds(down.sums as i64) { reduced.start..last } else { 0..0 };
        let mut pairs = Vec::new();
        for access in read {
            pairs.push((access.strides[last].clone(), kernel.dims[down.rows].clone()));
            pairs.extend(
                rounds.clone().map(|dim| {
                    (access.strides[dim].clone(), &access.strides[dim + 1] * &kernel.dims[dim + 1])
                }),
            );
        }
        if pairs
            .iter()
            .any(|(own, wanted)| own.fixed().zip(wanted.fixed()).is_some_and(|(own, wanted)| own != wanted))
        {
            return OneRun::Never;
        }
        pairs.retain(|(own, wanted)| own != wanted);
        let bits = self.code.types.scalar(Ty::I1);
        let mut holds = None;
        for (own, wanted) in pairs {
            let [own, wanted] = [own, wanted].map(|product| self.product(&product));
            let is_equal = self.code.compare(Predicate::Eq, own, wanted);
            holds = Some(match holds {
                None => is_equal,
                Some(before) => self.code.value("llvm.and", &[before, is_equal], bits, &[]),
            });
        }
        holds.map_or(OneRun::Always, OneRun::If)
    }
}
