//! Rows that are read again at each index around them, some at a time, as of distances between all pairs of points.
//!
//! A tile of rows stays in a cache while the indices around it are gone through, and what is read at those is read once for the rows
//! of a group. Halving the lanes of a sum takes as many steps for one row as for several, if those share a vector: each step leaves
//! half the lanes of every row, and what is left of two vectors is put into one until all rows of the group are in it.
//!
//! ## Laws
//! - The same lanes of a row are combined in the same steps as where it is reduced by itself.
//! - The last rows of a tile are taken with some that the group before had, so that a group is whole.

use mlir_sys::*;
use promote_lattice::Kind;
use promote_lower::kernel::{Code, Expr, Form, Kernel, Role, Root, cost};
use promote_lower::order::Rows;

use super::elements::read_bytes;
use super::roots::accumulator_bytes;
use super::squares::Bounds;
use super::{KernelEmitter, Scope};
use crate::targets::cpu::costs::{
    CHEAP_GROUPED, DEAR_OP, GROUPED_REGISTERS, GROUPED_ROWS, LEAST_GROUPED, OTHERS_CACHED, ROWS_BESIDE,
    STAYING_BYTES,
};
use crate::targets::llvm::{Register, shuffle};

/// How rows are reduced in groups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grouped {
    /// The dimension of the rows.
    pub(super) rows: usize,
    /// How many rows a tile has.
    pub(super) tile: i64,
}

impl Grouped {
    /// How the rows of a kernel are reduced in groups with registers of so many bytes, if they have nothing but reductions, little is
    /// done with each element, the accumulators of so many lanes fit into registers, and the rows are read again and again.
    pub(super) fn new(kernel: &Kernel, sums: &Rows, bytes: usize) -> Option<Self> {
        let (Form::Rows { reduced: 1 }, None) = (kernel.form, kernel.chunk) else { return None };
        let within = kernel.reduced().start;
        let rows = within.checked_sub(1)?;
        let around = rows.checked_sub(1)?;
        let is_again = loads_within(kernel, within).all(|expr| !has(expr, rows) || !has(expr, around));
        let are_many = kernel.dims[rows].fixed().is_none_or(|count| count >= LEAST_GROUPED);
        // What is settled early is not read to its end.
        let is_reduced = |root: &Root| match root.role {
            Role::Reduce(_) => {
                let expr = kernel.expr(root.expr);
                expr.stage == 0 && expr.dtype.kind() != Kind::Bool
            }
            Role::Store => kernel.expr(root.expr).dims & 1 << within == 0,
            Role::Scan(_) | Role::Arg(_) => false,
        };
        let is_cheap = |expr: &Expr| match expr.code {
            Code::Map(op, _) => cost(op) < DEAR_OP,
            Code::Load(_)
            | Code::Take { .. }
            | Code::Splat(_)
            | Code::Size(_)
            | Code::Index { .. }
            | Code::Convert(_)
            | Code::Reduced(_) => true,
        };
        let row: i64 = kernel.roots.iter().map(|root| accumulator_bytes(kernel, root)).sum();
        let accumulators = row * (sums.lanes * GROUPED_ROWS) as i64;
        let fit = accumulators <= GROUPED_REGISTERS * bytes as i64;
        let is_plain = sums.beside.is_none() && !sums.has_rest && sums.lanes >= GROUPED_ROWS;
        let suits = kernel.cost() <= CHEAP_GROUPED && kernel.exprs.iter().all(is_cheap);
        let suits = suits && kernel.roots.iter().all(is_reduced);
        let suits = suits && is_again && is_plain && fit && are_many;
        let tile = tile(kernel, [around, rows, within]).filter(|_| suits)?;
        Some(Self { rows, tile })
    }
}

/// How many rows a tile has: as many as stay in the first-level cache, if those are enough for what is around them to be read again for
/// each tile. Longer rows are worth it where there are more of them than stay in any cache, and what is around them does.
fn tile(kernel: &Kernel, [around, rows, within]: [usize; 3]) -> Option<i64> {
    let bytes_along = |dim: usize| -> Option<i64> {
        let of = loads_within(kernel, within).filter(|expr| has(expr, dim));
        of.map(read_bytes).sum::<i64>().checked_mul(kernel.dims[within].fixed()?)
    };
    let all_along = |dim: usize, others: std::ops::Range<usize>| {
        let extents = std::iter::once(dim).chain(others).map(|dim| kernel.dims[dim].fixed());
        extents.into_iter().try_fold(bytes_along(dim)?, |all, extent| all.checked_mul(extent?))
    };
    let row = bytes_along(rows)?;
    let others = all_along(around, 0..around).unwrap_or(i64::MAX);
    let fitting = (STAYING_BYTES / row.max(1)).min(ROWS_BESIDE);
    let least = if others <= OTHERS_CACHED { GROUPED_ROWS as i64 } else { LEAST_GROUPED };
    if fitting >= least {
        return Some(1 << fitting.ilog2());
    }
    let are_far = all_along(rows, 0..0).is_none_or(|all| all > OTHERS_CACHED);
    (are_far && others <= OTHERS_CACHED).then_some(GROUPED_ROWS as i64)
}

/// What is loaded along a dimension.
fn loads_within(kernel: &Kernel, dim: usize) -> impl Iterator<Item = &Expr> {
    let is_load = |expr: &&Expr| match expr.code {
        Code::Load(_) | Code::Take { .. } => true,
        Code::Splat(_)
        | Code::Size(_)
        | Code::Index { .. }
        | Code::Map(..)
        | Code::Convert(_)
        | Code::Reduced(_) => false,
    };
    kernel.exprs.iter().filter(is_load).filter(move |expr| has(expr, dim))
}

fn has(expr: &Expr, dim: usize) -> bool {
    expr.dims & 1 << dim != 0
}

impl<'k> KernelEmitter<'k> {
    /// A tile of rows that are reduced in groups.
    pub(super) fn rows_grouped(&mut self, Grouped { rows, tile }: Grouped, bounds: Bounds) {
        self.hoist(3 << rows, 0);
        self.in_groups(
            rows,
            bounds,
            bounds.0,
            (GROUPED_ROWS, LEAST_GROUPED.min(tile), tile),
            &mut |emitter, count| match count {
                1 => emitter.rows(),
                _ => emitter.group(rows, count),
            },
        );
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
            let sums = sums.chunks(parts).map(|row| self.registers(*root, &row[own.clone()])).collect();
            let halved = self.halved_together(*root, sums);
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

#[cfg(test)]
mod tests {
    use promote_lower::order::Rows;
    use promote_lower::program::Program;

    use super::Grouped;

    /// How many rows a tile has with AVX-512 if distances are summed up in groups: of so many points to so many others, of so many
    /// numbers each.
    fn tile(ty: &str, [around, rows, within]: [&str; 3], op: &str) -> Option<i64> {
        let text = format!(
            "numerics jax

kernel @k0 {{
  dims [{around}, {rows}, {within}]
  form rows reduced 1
  e0 = load b0[{within}*d0 + d2] : {ty} over [d0, d2] stage 0 node 0
  e1 = load b1[{within}*d1 + d2] : {ty} over [d1, d2] stage 0 node 1
  e2 = promote.{op} e0, e1 : {ty} over [d0, d1, d2] stage 0 node 2
  r0 = reduce sum e2 to b2[{rows}*d0 + d1] node 2
}}
"
        );
        let program = Program::parse(&text).expect("it is a program");
        let kernel = &program.kernels[0];
        let grouped = Grouped::new(kernel, &Rows::new(kernel, program.numerics, 64), 64)?;
        assert_eq!(grouped.rows, 1);
        Some(grouped.tile)
    }

    #[test]
    fn tiles_of_rows_that_are_read_again_stay_in_a_cache() {
        for (ty, extents, wanted) in [
            // Of 32 KiB.
            ("f32", ["1000", "1000", "64"], Some(128)),
            ("f64", ["1000", "1000", "64"], Some(64)),
            ("f32", ["1000", "s0", "64"], Some(128)),
            ("f32", ["s0", "1000", "64"], Some(128)),
            ("c64", ["1000", "1000", "40"], Some(64)),
            // Long rows: what is around them stays in a cache, or not.
            ("f32", ["500", "500", "1000"], Some(8)),
            ("f32", ["20000", "500", "1000"], None),
            ("f32", ["s0", "500", "1000"], None),
            ("f32", ["1000", "64", "5000"], None),
            ("f32", ["10", "1000", "20000"], Some(4)),
            // What a run alone knows.
            ("f32", ["1000", "1000", "s0"], None),
            // Too few of them, side by side, and sums that do not fit into registers.
            ("f32", ["1000", "15", "64"], None),
            ("f32", ["1000", "1000", "5"], None),
            ("c64", ["1000", "1000", "64"], None),
        ] {
            assert_eq!(tile(ty, extents, "subtract"), wanted, "{ty} {extents:?}");
        }
        assert_eq!(tile("f32", ["1000", "1000", "64"], "divide"), None, "divisions take longer");
    }
}
