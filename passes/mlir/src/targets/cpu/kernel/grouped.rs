//! Rows that are read again at each index around them, some at a time, as of distances between all pairs of points.
//!
//! The rows of a tile stay in the first-level cache while the indices around them are gone through, and what is read at those is read
//! once for the rows of a group. Halving the lanes of a sum takes
//! as many steps for one row as for several, if those share a vector: each step leaves half the lanes of every row, and what is left
//! of two vectors is put into one until all rows of the group are in it.
//!
//! ## Laws
//! - The same lanes of a row are combined in the same steps as where it is reduced by itself.
//! - The last rows of a tile are taken with some that the group before had, so that a group is whole.

use mlir_sys::*;
use promote_lattice::Kind;
use promote_lower::kernel::{Code, Expr, Form, Kernel, Role, Root};
use promote_lower::order::Rows;
use promote_scalar::memory;

use super::elements::part_count;
use super::roots::accumulator_bytes;
use super::squares::Bounds;
use super::{KernelEmitter, Scope};
use crate::targets::cpu::costs::{
    CHEAP_ROW, GROUPED_REGISTERS, GROUPED_ROWS, LEAST_GROUPED, ROWS_BESIDE, STAYING_BYTES,
};
use crate::targets::llvm::{Register, shuffle};

/// How rows are reduced in groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grouped {
    /// The dimension of the rows.
    pub(super) rows: usize,
    /// How many rows a tile has: as many as stay in the first-level cache.
    pub(super) tile: i64,
}

impl Grouped {
    /// How the rows of a kernel are reduced in groups with registers of so many bytes, if they have nothing but sums of so many lanes
    /// that fit into registers, and are read again and again.
    pub(super) fn new(kernel: &Kernel, sums: &Rows, bytes: usize) -> Option<Self> {
        let (Form::Rows { reduced: 1 }, None) = (kernel.form, kernel.chunk) else { return None };
        let within = kernel.reduced().start;
        let rows = within.checked_sub(1)?;
        let read = bytes_of_rows(kernel, [rows.checked_sub(1)?, rows, within])?;
        let are_many = kernel.dims[rows].fixed().is_none_or(|count| count >= LEAST_GROUPED);
        // What is settled early is not read to its end.
        let is_sum = |root: &Root| match root.role {
            Role::Reduce(_) => {
                let expr = kernel.expr(root.expr);
                expr.stage == 0 && expr.dtype.kind() != Kind::Bool
            }
            Role::Store => kernel.expr(root.expr).dims & 1 << within == 0,
            Role::Scan(_) | Role::Arg(_) => false,
        };
        let row: i64 = kernel.roots.iter().map(|root| accumulator_bytes(kernel, root)).sum();
        let accumulators = row * (sums.lanes * GROUPED_ROWS) as i64;
        let fit = accumulators <= GROUPED_REGISTERS * bytes as i64;
        let suits = sums.beside.is_none() && !sums.has_rest && sums.lanes >= GROUPED_ROWS;
        let is_cheap = kernel.cost() <= CHEAP_ROW;
        (suits && fit && is_cheap && are_many && kernel.roots.iter().all(is_sum)).then(|| {
            let fitting = match kernel.dims[within].fixed() {
                Some(extent) => STAYING_BYTES / read.saturating_mul(extent).max(1),
                None => LEAST_GROUPED,
            };
            Self { rows, tile: 1 << fitting.clamp(GROUPED_ROWS as i64, ROWS_BESIDE).ilog2() }
        })
    }
}

/// The bytes that are read of rows for each index within one, if they are the same at each index of the dimension around the rows.
fn bytes_of_rows(kernel: &Kernel, [around, rows, within]: [usize; 3]) -> Option<i64> {
    let is_read = |expr: &&Expr| match expr.code {
        Code::Load(_) | Code::Take { .. } => true,
        Code::Splat(_)
        | Code::Size(_)
        | Code::Index { .. }
        | Code::Map(..)
        | Code::Convert(_)
        | Code::Reduced(_) => false,
    };
    let has = |expr: &Expr, dim: usize| expr.dims & 1 << dim != 0;
    let read = kernel.exprs.iter().filter(is_read);
    let of_rows: Vec<&Expr> = read.filter(|expr| has(expr, rows) && has(expr, within)).collect();
    let bytes = |expr: &&Expr| i64::from(memory(expr.dtype).bits()) / 8 * part_count(expr.dtype) as i64;
    let stay = of_rows.iter().all(|expr| !has(expr, around));
    stay.then(|| of_rows.iter().map(bytes).sum())
}

impl<'k> KernelEmitter<'k> {
    /// A tile of rows that are reduced in groups.
    pub(super) fn rows_grouped(&mut self, Grouped { rows, tile }: Grouped, bounds: Bounds) {
        self.hoist(3 << rows, 0);
        self.in_groups(rows, bounds, bounds.0, (GROUPED_ROWS, tile), &mut |emitter, count| match count {
            1 => emitter.rows(),
            _ => emitter.group(rows, count),
        });
    }

    /// So many rows from the current one on.
    fn group(&mut self, rows: usize, count: usize) {
        let kernel = self.kernel;
        let full: Vec<usize> = (0..kernel.roots.len()).filter(|root| kernel.is_full(*root)).collect();
        let first = self.at(rows);
        let places: Vec<MlirValue> = (0..count)
            .map(|row| {
                let ahead = self.code.index(row as i64);
                self.code.int("llvm.add", first, ahead)
            })
            .collect();
        let mut start = Vec::new();
        for root in &full {
            start.extend(self.start(*root));
        }
        let parts = start.len();
        let (roots, starts) = (full.repeat(count), start.repeat(count));
        self.stage = 0;
        // What differs from row to row is not computed in front of the loop.
        self.index[rows] = None;
        let sums = self.nest(kernel.reduced(), 0, (&roots, &starts), &mut |emitter, lanes, state| {
            emitter.share(1 << rows, 0, lanes);
            let mut next = Vec::with_capacity(state.len());
            for (place, own) in places.iter().zip(state.chunks(parts)) {
                emitter.index[rows] = Some(*place);
                emitter.frames.push(Scope::default());
                next.extend(emitter.row_step(&full, &[], lanes, own));
                emitter.frames.pop();
            }
            emitter.index[rows] = None;
            next
        });
        self.index[rows] = Some(first);
        let mut at = 0;
        for root in &full {
            let own = at..at + self.accumulator(*root).len();
            at = own.end;
            let rows = sums.chunks(parts).map(|row| self.registers(*root, &row[own.clone()])).collect();
            let halved = self.halved_together(*root, rows);
            self.results[*root] = Some(self.result(*root, &halved, count));
        }
        let outside = self.vector.replace(rows);
        self.store_row(&full, count);
        self.vector = outside;
    }

    /// The sums of rows, each in a vector, as one of each row, in one vector: the number of rows is a power of two.
    fn halved_together(&mut self, root: usize, mut rows: Vec<Vec<Register>>) -> Vec<Register> {
        let count = rows.len();
        // What is left of a row, and how many rows a vector has of it.
        let (mut lanes, mut together) = (self.lanes, 1);
        while lanes > 1 {
            let half = lanes / 2;
            let sources = if rows.len() > 1 { 2 } else { 1 };
            // The lower and the upper half of each row of one vector, or of two.
            let side = |upper: usize| -> Vec<i32> {
                let row = |row: usize| (0..half).map(move |lane| (row * lanes + upper * half + lane) as i32);
                (0..sources * together).flat_map(row).collect()
            };
            let (low, high) = (side(0), side(1));
            let width = low.len();
            rows = rows
                .chunks(sources)
                .map(|pair| {
                    let of = |mask: &[i32]| -> Vec<Register> {
                        let other = pair.last().unwrap_or(&pair[0]);
                        let both = pair[0].iter().zip(other);
                        both.map(|(x, y)| {
                            let r#type = self.code.types.lanes(x.ty, width);
                            Register {
                                value: shuffle(&self.code, (x.value, y.value), r#type, mask),
                                ty: x.ty,
                            }
                        })
                        .collect()
                    };
                    let (low, high) = (of(&low), of(&high));
                    self.joined_accumulators(root, width, &low, &high)
                })
                .collect();
            together *= sources;
            lanes = half;
        }
        debug_assert_eq!(together, count);
        rows.swap_remove(0)
    }
}
