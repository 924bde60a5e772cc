//! From the registers of a thread to the memory of the product.

use promote_scalar::{Cast, Element, register};

use super::super::PRODUCT;
use super::{AT_ONCE, Kernel, LEFT, RIGHT, own};
use crate::build::Build;
use crate::code::Code;
use crate::elements::store;

impl<C: Code> Kernel<'_, C> {
    /// Stores the sums of a thread: of each small matrix two beside each other, and two eight rows below.
    pub(super) fn keep(&self, code: &mut C, sums: &[C::Value]) {
        let [row, column, start] = self.matrices.origin(code);
        let pair = code.scaled(self.place.quarter, 2);
        let [row, column] =
            [(row, LEFT, self.place.line), (column, RIGHT, pair)].map(|(first, which, place)| {
                let first = code.add(first, self.place.first[which]);
                code.add(first, place)
            });
        let lines = |which: usize| (0..own(self.tile, which)).step_by(AT_ONCE[which] as usize);
        let places = lines(LEFT).flat_map(|down| lines(RIGHT).map(move |across| (down, across)));
        let mut branch = code.open_if(self.is_even[RIGHT]);
        let emit = |code: &mut C, at_once: i64| {
            for ((down, across), sums) in places.clone().zip(sums.chunks(4)) {
                for (pair, down) in sums.chunks(2).zip([down, down + AT_ONCE[LEFT] / 2]) {
                    let place = (code.ahead(row, down), code.ahead(column, across));
                    self.keep_pair(code, (start, place), pair, at_once);
                }
            }
        };
        emit(code, 2);
        code.otherwise(&mut branch, &[]);
        emit(code, 1);
        code.close_if(branch, &[]);
    }

    /// The same of two sums beside each other, so many of them at once.
    fn keep_pair(
        &self,
        code: &mut C,
        (start, (row, column)): (C::Value, (C::Value, C::Value)),
        sums: &[C::Value],
        at_once: i64,
    ) {
        let dtype = self.dtypes[PRODUCT];
        let in_rows = code.less(row, self.matrices.rows);
        let line = code.mul(row, self.matrices.columns);
        let line = code.add(line, start);
        for (ahead, sums) in (0..).step_by(at_once as usize).zip(sums.chunks(at_once as usize)) {
            let column = code.ahead(column, ahead);
            let in_columns = code.less(column, self.matrices.columns);
            let is_there = code.both(in_rows, in_columns);
            let mut branch = code.open_if(is_there);
            let at = code.add(line, column);
            let totals: Vec<_> = sums.iter().map(|sum| self.total(code, *sum)).collect();
            store(code, self.matrices.memory[PRODUCT], at, dtype, (&totals, at_once as usize));
            code.otherwise(&mut branch, &[]);
            code.close_if(branch, &[]);
        }
    }

    /// A sum as an element of the product: the low bits of an integer.
    fn total(&self, code: &mut C, sum: C::Value) -> Element<C::Value> {
        let ty = register(self.dtypes[PRODUCT]);
        Element::Real(if code.ty(sum) == ty { sum } else { code.cast(Cast::Truncate, sum, ty) })
    }
}
