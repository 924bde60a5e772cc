//! From the registers of a thread to the memory of the product.

use promote_scalar::{Binary, Cast, Element, register};

use super::super::PRODUCT;
use super::{Kernel, LEFT, RIGHT, SIDE, Steps};
use crate::build::Build;
use crate::code::Code;
use crate::elements::{load, store};

/// About how many registers there are for the sums of the blocks before.
const REGISTERS: i64 = 8;

/// How far after the first row of a thread another one is, and its sums.
type Row<'s, V> = (i64, &'s [V]);

impl<C: Code> Kernel<'_, C> {
    /// Adds the sums of a block, which begins with an index of what is summed over, to those of the blocks before.
    pub(super) fn keep(&self, code: &mut C, block: C::Value, sums: &[C::Value]) {
        let [row, column, start] = self.matrices.origin(code);
        let [row, column] =
            [(row, LEFT), (column, RIGHT)].map(|(first, which)| code.add(first, self.own[which]));
        let zero = code.number(0);
        let is_later = code.less(zero, block);
        let columns = self.lines(self.tile.columns);
        let of_row = columns.len() as i64 * i64::from(self.sum.1.bits()) / 32;
        let rows: Vec<_> = self.lines(self.tile.rows).into_iter().zip(sums.chunks(columns.len())).collect();
        for rows in rows.chunks((REGISTERS / of_row).max(1) as usize) {
            let mut branch = code.open_if(self.is_even[RIGHT]);
            self.keep_rows(code, is_later, (start, row, column), (rows, &columns), self.steps.at_once);
            code.otherwise(&mut branch, &[]);
            self.keep_rows(code, is_later, (start, row, column), (rows, &columns), 1);
            code.close_if(branch, &[]);
        }
    }

    /// How far after the first one the rows, or columns, of a thread are, in a tile of so many.
    fn lines(&self, extent: i64) -> Vec<i64> {
        let Steps { at_once, .. } = self.steps;
        let line = |number: i64| number / at_once * SIDE * at_once + number % at_once;
        (0..extent / SIDE).map(line).collect()
    }

    /// The same of some rows, so many elements at once.
    fn keep_rows(
        &self,
        code: &mut C,
        is_later: C::Value,
        (start, row, column): (C::Value, C::Value, C::Value),
        (rows, columns): (&[Row<'_, C::Value>], &[i64]),
        at_once: i64,
    ) {
        let mut places = Vec::new();
        for (ahead, sums) in rows {
            let row = code.ahead(row, *ahead);
            let in_rows = code.less(row, self.matrices.rows);
            let line = code.mul(row, self.matrices.columns);
            let line = code.add(line, start);
            for (columns, sums) in columns.chunks(at_once as usize).zip(sums.chunks(at_once as usize)) {
                let column = code.ahead(column, columns[0]);
                let in_columns = code.less(column, self.matrices.columns);
                let is_there = code.both(in_rows, in_columns);
                places.push((is_there, code.add(line, column), sums));
            }
        }
        // All are loaded before the first is waited for.
        let before: Vec<Vec<C::Value>> = places
            .iter()
            .map(|(is_there, at, _)| {
                let is_there = code.both(*is_there, is_later);
                self.before(code, is_there, *at, at_once as usize)
            })
            .collect();
        for ((is_there, at, sums), before) in places.into_iter().zip(before) {
            let totals: Vec<_> =
                std::iter::zip(sums, before).map(|(sum, before)| self.total(code, *sum, before)).collect();
            let mut branch = code.open_if(is_there);
            store(code, self.matrices.memory[PRODUCT], at, self.dtypes[2], (&totals, at_once as usize));
            code.otherwise(&mut branch, &[]);
            code.close_if(branch, &[]);
        }
    }

    /// What the blocks before came to of elements beside each other, if there are any: else zeros, to which sums are added, as on
    /// processors. So no total is a negative zero.
    fn before(&self, code: &mut C, is_there: C::Value, at: C::Value, count: usize) -> Vec<C::Value> {
        if !self.is_in_blocks() {
            return vec![code.zero(self.sum.1); count];
        }
        let mut branch = code.open_if(is_there);
        let loaded = load(code, self.matrices.memory[PRODUCT], at, self.dtypes[2], (count, count));
        let loaded: Vec<_> = loaded.into_iter().map(Element::real).collect();
        code.otherwise(&mut branch, &loaded);
        let zero = code.zero(self.sum.1);
        code.close_if(branch, &vec![zero; count])
    }

    /// What a sum and those of the blocks before come to, as an element of the product.
    fn total(&self, code: &mut C, sum: C::Value, before: C::Value) -> Element<C::Value> {
        if self.is_in_blocks() {
            return Element::Real(code.binary(Binary::FAdd, before, sum));
        }
        let ty = register(self.dtypes[2]);
        Element::Real(if ty == self.sum.1 { sum } else { code.cast(Cast::Truncate, sum, ty) })
    }
}
