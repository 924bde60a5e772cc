//! Sums of columns in [fours](promote_lower::order::is_summed_in_fours) of rows, which are added to accumulators.

use mlir_sys::*;
use promote_lower::order::{self, FOUR};

use super::elements::parts;
use super::squares::Bounds;
use super::sums::BlockBody;
use super::{KernelEmitter, Scope};
use crate::targets::llvm::Register;

/// The rows of a partial sum, which begins with nothing and is added to an accumulator.
#[derive(Clone, Copy)]
pub(super) enum Partial {
    Four,
    Block,
}

/// An accumulator, and the four that is begun, with how many rows it has.
pub(super) struct InFours {
    sum: Vec<MlirValue>,
    four: Option<Vec<MlirValue>>,
    rows: i64,
}

impl<'k> KernelEmitter<'k> {
    /// Whether a root is added up in fours.
    pub(super) fn is_summed_in_fours(&self, root: usize) -> bool {
        order::is_summed_in_fours(self.kernel, &self.kernel.roots[root])
    }

    /// The values at an index added to an accumulator, or to nothing.
    pub(super) fn added(&mut self, root: usize, sum: Option<&[MlirValue]>, lanes: usize) -> Vec<MlirValue> {
        match sum {
            Some(sum) => self.accumulate(root, sum, lanes),
            None => {
                let value = self.eval(self.kernel.roots[root].expr, lanes);
                parts(value).into_iter().map(|register| register.value).collect()
            }
        }
    }

    /// An accumulator with another sum, of rows after its own.
    pub(super) fn with_sum(
        &mut self,
        root: usize,
        sums: (&[MlirValue], &[MlirValue]),
        lanes: usize,
    ) -> Vec<MlirValue> {
        let [sum, other] = [sums.0, sums.1].map(|values| self.registers(root, values));
        let all = self.joined_accumulators(root, lanes, &sum, &other);
        all.into_iter().map(|register| register.value).collect()
    }

    /// Begins with the fours of a tile of columns.
    pub(super) fn begin_fours(&mut self, roots: &[usize], columns: Bounds) {
        self.of_columns_in_fours(roots, columns, &mut |emitter, root, lanes| {
            let nothing = emitter.identity(root, lanes);
            emitter.put_four(root, &nothing, columns.0, lanes);
        });
    }

    /// Adds the fours at hand of a tile of columns to their accumulators.
    pub(super) fn add_fours(&mut self, roots: &[usize], columns: Bounds) {
        self.of_columns_in_fours(roots, columns, &mut |emitter, root, lanes| {
            let rooms = emitter.fours[root].clone();
            let four: Vec<MlirValue> =
                rooms.into_iter().map(|room| emitter.get(room, columns.0, lanes).value).collect();
            let sum = emitter.column(root, columns.0, lanes);
            let sum = emitter.with_sum(root, (&sum, &four), lanes);
            emitter.put_column(root, &sum, columns.0, lanes);
        });
    }

    /// Sets the sum of the four at hand, at the column at hand.
    fn put_four(&mut self, root: usize, values: &[MlirValue], from: MlirValue, lanes: usize) {
        for (room, value) in self.fours[root].clone().into_iter().zip(values) {
            self.put(room, Register { value: *value, ty: room.1 }, from, lanes);
        }
    }

    /// Does something with each root that is summed in fours, of all columns of a tile.
    fn of_columns_in_fours(
        &mut self,
        roots: &[usize],
        columns: Bounds,
        body: &mut dyn FnMut(&mut Self, usize, usize),
    ) {
        let dim = self.kernel.dims.len() - 1;
        let summed: Vec<usize> =
            roots.iter().copied().filter(|root| self.is_summed_in_fours(*root)).collect();
        self.innermost(dim, columns, &[], &mut |emitter, lanes, _| {
            summed.iter().for_each(|root| body(emitter, *root, lanes));
            Vec::new()
        });
    }

    /// Accumulators between two fours.
    pub(super) fn sums_in_fours(&self, roots: &[usize], state: &[MlirValue]) -> Vec<InFours> {
        let sums = self.of_each(roots, state);
        sums.map(|(_, sum)| InFours { sum: sum.to_vec(), four: None, rows: 0 }).collect()
    }

    /// Adds the elements of the current row to accumulators, or to the fours that are added to those.
    pub(super) fn add_row(&mut self, roots: &[usize], sums: &mut [InFours], lanes: usize) {
        for (root, InFours { sum, four, rows }) in roots.iter().zip(sums) {
            if !self.is_summed_in_fours(*root) {
                *sum = self.accumulate(*root, sum, lanes);
                continue;
            }
            let own = self.added(*root, four.as_deref(), lanes);
            *rows += 1;
            if *rows % FOUR == 0 {
                *sum = self.with_sum(*root, (sum, &own), lanes);
            }
            *four = (*rows % FOUR != 0).then_some(own);
        }
    }

    /// Accumulators with the fours that are begun.
    pub(super) fn with_last_fours(
        &mut self,
        roots: &[usize],
        sums: &[InFours],
        lanes: usize,
    ) -> Vec<MlirValue> {
        let mut all = Vec::with_capacity(sums.len());
        for (root, InFours { sum, four, .. }) in roots.iter().zip(sums) {
            match four {
                Some(four) => all.extend(self.with_sum(*root, (sum, four), lanes)),
                None => all.extend(sum),
            }
        }
        all
    }

    /// What each root has of the values of accumulators.
    pub(super) fn of_each<'a>(
        &self,
        roots: &'a [usize],
        values: &'a [MlirValue],
    ) -> impl Iterator<Item = (usize, &'a [MlirValue])> + use<'a, 'k> {
        let sizes: Vec<usize> = roots.iter().map(|root| self.accumulator(*root).len()).collect();
        let mut rest = values;
        roots.iter().zip(sizes).map(move |(root, size)| {
            let (own, others) = rest.split_at(size);
            rest = others;
            (*root, own)
        })
    }

    /// Whether a root is added up in such partial sums.
    fn has_partial(&self, of: Partial, root: usize) -> bool {
        match of {
            Partial::Four => self.is_summed_in_fours(root),
            Partial::Block => self.is_summed_in_blocks(root),
        }
    }

    /// What the rows of a partial sum begin with: nothing, or, where a root has no such sums, its accumulator.
    pub(super) fn begun(
        &mut self,
        of: Partial,
        (roots, state): (&[usize], &[MlirValue]),
        lanes: usize,
    ) -> Vec<MlirValue> {
        let mut begun = Vec::with_capacity(state.len());
        for (root, sum) in self.of_each(roots, state) {
            match self.has_partial(of, root) {
                true => begun.extend(self.identity(root, lanes)),
                false => begun.extend(sum),
            }
        }
        begun
    }

    /// Accumulators with partial sums; `state` is what they were before these.
    pub(super) fn with_partial(
        &mut self,
        of: Partial,
        roots: &[usize],
        (state, sums): (&[MlirValue], &[MlirValue]),
        lanes: usize,
    ) -> Vec<MlirValue> {
        let mut all = Vec::with_capacity(state.len());
        for ((root, before), (_, own)) in self.of_each(roots, state).zip(self.of_each(roots, sums)) {
            match self.has_partial(of, root) {
                true => all.extend(self.with_sum(root, (before, own), lanes)),
                false => all.extend(own),
            }
        }
        all
    }

    /// Goes through a range so many indices at a time; the last ones may be fewer.
    pub(super) fn in_pieces(
        &mut self,
        (from, to): Bounds,
        length: i64,
        carried: &[MlirValue],
        body: &mut BlockBody<'_, 'k>,
    ) -> Vec<MlirValue> {
        let pieces = self.code.open((from, to, length), carried);
        self.frames.push(Scope::default());
        let length = self.code.index(length);
        let end = self.code.int("llvm.add", pieces.index, length);
        let end = self.code.int("llvm.intr.smin", end, to);
        let next = body(self, (pieces.index, end), &pieces.carried);
        self.frames.pop();
        self.code.close(&pieces, &next);
        pieces.carried
    }
}
