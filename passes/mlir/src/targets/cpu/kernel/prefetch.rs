//! What is read later, brought into the caches.

use mlir_sys::*;
use promote_dialect::extent::Product;
use promote_lattice::Op;
use promote_lower::kernel::{Access, Code as What, Expr, Role};

use super::elements::read_bytes;
use super::{KernelEmitter, NextRow};
use crate::targets::cpu::costs::{BYTES_AHEAD, CACHE_LINE};
use crate::targets::llvm::Level;

impl KernelEmitter<'_> {
    /// Whether so little is done with each byte that processors are far enough ahead by themselves, where they see how it goes on, as
    /// where numbers of 32 bits are added up, or their squares.
    pub(super) fn runs_ahead(&self) -> bool {
        let kernel = self.kernel;
        let sums = kernel.roots.iter().filter(|root| root.role != Role::Store);
        let bytes = |expr: &Expr| match expr.code {
            What::Load(_) => read_bytes(expr),
            What::Take { .. } | What::Splat(_) | What::Size(_) | What::Index { .. } => 0,
            What::Map(..) | What::Convert(_) | What::Reduced(_) => 0,
        };
        let read: i64 = kernel.exprs.iter().map(bytes).sum();
        let ops = i64::from(kernel.cost()) + sums.clone().count() as i64;
        ops * BYTES_AHEAD <= read && sums.into_iter().all(|root| root.role == Role::Reduce(Op::Sum))
    }

    /// Brings as many bytes of the next row into the caches.
    pub(super) fn prefetch_next_row(
        &mut self,
        access: &Access,
        (first, unit, parts): (MlirValue, MlirType, usize),
        bytes: usize,
    ) {
        let Some(NextRow { ahead, level }) = self.next_row.clone() else { return };
        let mut next = first;
        for (dim, rows) in ahead {
            let stride = &access.strides[dim] * &Product::number(parts as i64);
            if !stride.is_zero() {
                let stride = self.product(&stride);
                let ahead = self.code.int("llvm.mul", stride, rows);
                next = self.code.element(next, ahead, unit, 1);
            }
        }
        if next.ptr == first.ptr {
            return;
        }
        self.prefetch_lines(next, bytes, level);
    }

    /// Brings the lines of the cache that so many bytes lie in into it.
    pub(super) fn prefetch_lines(&mut self, first: MlirValue, bytes: usize, level: Level) {
        for line in (0..bytes as i64).step_by(CACHE_LINE as usize) {
            let ahead = self.code.index(line);
            let address = self.code.element(first, ahead, self.code.types.i8, 1);
            self.code.prefetch(address, level);
        }
    }
}
