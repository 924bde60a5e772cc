//! What is read later, brought into the caches.

use mlir_sys::*;
use promote_dialect::extent::Product;
use promote_lower::kernel::Access;

use super::{KernelEmitter, NextRow};
use crate::targets::cpu::costs::CACHE_LINE;
use crate::targets::llvm::Level;

impl KernelEmitter<'_> {
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
