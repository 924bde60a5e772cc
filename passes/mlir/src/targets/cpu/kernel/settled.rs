//! Truth values of long rows: `any` and `all`, and `max` and `min` of bools, read no further once a block has settled them.
//!
//! ## Laws
//! - What is not read is without effect: nothing is kept of it, and nothing there may raise an exception.

use mlir_sys::*;
use promote_lower::kernel::Role;
use promote_lower::order::raises;
use promote_scalar::{Binary, Emit, Ty};

use super::held::unless_settled;
use super::squares::Bounds;
use super::{Body, KernelEmitter};
use crate::targets::cpu::costs::{LEAST_SETTLED, SETTLED_VECTORS};

/// What settles a row.
#[derive(Clone, Copy)]
pub(super) struct Settling {
    root: usize,
    /// The truth value of an element that does.
    truth: bool,
}

impl<'k> KernelEmitter<'k> {
    /// What settles what the roots of a row are, if they are one, and the row is long.
    pub(super) fn settling(&self, dim: usize, roots: &[usize]) -> Option<Settling> {
        let kernel = self.kernel;
        let [number] = roots else { return None };
        let root = &kernel.roots[*number];
        let Role::Reduce(op) = root.role else { return None };
        let unless_settled = unless_settled(op, kernel.expr(root.expr).dtype)?;
        let extent = kernel.dims[dim].fixed();
        let is_long = extent.is_none_or(|extent| extent >= LEAST_SETTLED * self.settled_block());
        let may_raise = kernel.exprs.iter().any(|expr| raises(expr, self.setting.numerics));
        (is_long && self.kept.is_empty() && !may_raise)
            .then_some(Settling { root: *number, truth: !unless_settled })
    }

    fn settled_block(&self) -> i64 {
        SETTLED_VECTORS * self.lanes as i64
    }

    /// The innermost loop of such a row: a block is empty if those before have settled it. Nothing is asked before the first one of a
    /// row that may be short.
    pub(super) fn innermost_until(
        &mut self,
        settling: Settling,
        (dim, (from, to)): (usize, Bounds),
        carried: &[MlirValue],
        body: &mut Body<'_, 'k>,
    ) -> Vec<MlirValue> {
        let length = self.settled_block();
        if self.kernel.dims[dim].fixed().is_some() {
            return self.blocks_until(settling, (dim, (from, to)), carried, body);
        }
        let block = self.code.index(length);
        let middle = self.code.int("llvm.add", from, block);
        let middle = self.code.int("llvm.intr.smin", middle, to);
        let state = self.innermost(dim, (from, middle), carried, body);
        self.blocks_until(settling, (dim, (middle, to)), &state, body)
    }

    fn blocks_until(
        &mut self,
        settling: Settling,
        (dim, (from, to)): (usize, Bounds),
        carried: &[MlirValue],
        body: &mut Body<'_, 'k>,
    ) -> Vec<MlirValue> {
        let length = self.settled_block();
        self.repeat(dim, (from, to), length as usize, carried, &mut |emitter, state| {
            let (first, length) = (emitter.at(dim), emitter.code.index(length));
            let end = emitter.code.int("llvm.add", first, length);
            let end = emitter.code.int("llvm.intr.smin", end, to);
            let is_settled = emitter.is_settled(settling, state[0]);
            let index = emitter.code.types.i64;
            let end = emitter.code.value("llvm.select", &[is_settled, first, end], index, &[]);
            emitter.innermost(dim, (first, end), state, body)
        })
    }

    /// Whether a lane of an accumulator has the value that settles all.
    fn is_settled(&mut self, Settling { root, truth }: Settling, seen: MlirValue) -> MlirValue {
        let lanes = self.lanes;
        let seen = self.registers(root, &[seen]);
        let mut seen = self.result(root, &seen, lanes).real();
        if !truth {
            let mut e = self.emit(lanes);
            let ones = e.int(Ty::I1, 1);
            seen = e.binary(Binary::Xor, seen, ones);
        }
        self.code.any(lanes, seen)
    }
}
