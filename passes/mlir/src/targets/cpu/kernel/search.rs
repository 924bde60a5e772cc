//! Places of extremes in long rows: first the extreme of each block, which takes no indices, and then the place in the first block that
//! has the one of all.
//!
//! ## Laws
//! - The place is the one that [`combine_arg`](promote_scalar::combine_arg) finds: of equal elements, and of NaNs, the first.

use promote_dialect::extent::Product;
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Kind, Op};
use promote_lower::kernel::{ExprId, Form, Role};
use promote_scalar::{Cast, Element, Emit, Ty, combine, register};

use super::KernelEmitter;
use super::elements::element;
use super::squares::Bounds;
use crate::targets::cpu::costs::{SEARCHED_FLOATS, SEARCHED_INTEGERS, SHORTEST_SEARCHED};
use crate::targets::llvm::Register;

/// An index that is sought.
#[derive(Clone, Copy)]
pub(super) struct Sought {
    root: usize,
    expr: ExprId,
    dtype: DType,
    /// What looks for it.
    op: Op,
    /// What finds the extreme alone. It may take either zero of several, which are equal to those who look for one.
    extreme: Op,
    /// How many elements a block has.
    block: i64,
}

impl<'k> KernelEmitter<'k> {
    /// What is sought block by block, if the roots of a stage are that alone, along long rows.
    pub(super) fn sought(&self, roots: &[usize]) -> Option<Sought> {
        let ([root], Form::Rows { reduced: 1 }) = (roots, self.kernel.form) else { return None };
        let Role::Arg(op) = self.kernel.roots[*root].role else { return None };
        let expr = self.kernel.roots[*root].expr;
        let dtype = self.kernel.expr(expr).dtype;
        let vectors = match dtype.kind() {
            Kind::Bool | Kind::Unsigned | Kind::Signed => SEARCHED_INTEGERS,
            Kind::Float => SEARCHED_FLOATS,
            Kind::Complex => return None,
        };
        let block = vectors * self.lanes as i64;
        let extent = self.kernel.dims.last().and_then(Product::fixed);
        let is_long = extent.is_none_or(|extent| extent >= SHORTEST_SEARCHED * block);
        // In whatever is left of vectors some lanes are masked: nothing raises exceptions, which would be raised twice.
        let suits = self.has_masks && self.lanes > 1 && self.kept.is_empty() && !self.is_tiny;
        let extreme = if op == Op::ArgMax { Op::Maximum } else { Op::Minimum };
        (suits && is_long).then_some(Sought { root: *root, expr, dtype, op, extreme, block })
    }

    /// The first block of a range that has the extreme of all.
    pub(super) fn block_of_extreme(&mut self, sought: Sought, dim: usize, (from, to): Bounds) -> Bounds {
        let Sought { root, dtype, op, block, .. } = sought;
        let length = self.code.index(block);
        let start = self.identity(root, 1);
        let found = self.repeat(dim, (from, to), block as usize, &start, &mut |emitter, state| {
            let first = emitter.at(dim);
            let end = emitter.code.int("llvm.add", first, length);
            let end = emitter.code.int("llvm.intr.smin", end, to);
            let extreme = emitter.extreme(sought, dim, (first, end));
            let before = emitter.registers(root, state);
            let place = emitter.index_along(root, 1);
            let (best, place) = emitter.next_chosen(
                (op, dtype),
                1,
                (element(&before[..1]), before[1]),
                (Element::Real(extreme), place),
            );
            vec![best.real().value, place.value]
        });
        let place = self.registers(root, &found)[1];
        let place = if place.ty == Ty::I64 { place } else { self.emit(1).cast(Cast::SExt, place, Ty::I64) };
        let first = self.code.int("llvm.intr.smin", place.value, to);
        let end = self.code.int("llvm.add", first, length);
        (first, self.code.int("llvm.intr.smin", end, to))
    }

    /// The extreme of a block.
    fn extreme(&mut self, sought: Sought, dim: usize, block: Bounds) -> Register {
        let (lanes, ty) = (self.lanes, register(sought.dtype));
        let start = self.identity(sought.root, lanes)[0];
        let all = self.innermost(dim, block, &[start], &mut |emitter, lanes, state| {
            let value = emitter.eval(sought.expr, lanes).real();
            let new = emitter.more_extreme(sought, lanes, Register { value: state[0], ty }, value);
            emitter.masked(vec![new.value], state)
        });
        let (mut all, mut lanes) = (Register { value: all[0], ty }, lanes);
        while lanes > 1 {
            lanes /= 2;
            let half = |from: usize| -> Vec<i32> { (from..from + lanes).map(|lane| lane as i32).collect() };
            let [low, high] = [0, lanes].map(|from| self.part_of(all, &half(from)));
            all = self.more_extreme(sought, lanes, low, high);
        }
        all
    }

    /// Of two elements the more extreme one; a NaN if one of them is.
    fn more_extreme(
        &mut self,
        Sought { extreme, dtype, .. }: Sought,
        lanes: usize,
        x: Register,
        y: Register,
    ) -> Register {
        let [x, y] = [x, y].map(Element::Real);
        let both = combine(&mut self.emit(lanes), extreme, Numerics::NumPy, dtype, x, y);
        let Some(both) = both else { unreachable!("{extreme} combines elements that are in order") };
        both.real()
    }
}
