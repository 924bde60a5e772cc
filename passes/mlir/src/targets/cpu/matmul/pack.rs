//! Packing the right matrix into panels: some columns each, row by row, so that a panel is read in order.
//!
//! What of a panel lies beyond the last column is zero.

use mlir_sys::*;

use super::emitter::Emitter;
use super::pairs::Range;
use super::{Elements, Slot};
use crate::targets::cpu::kernel::Setting;
use crate::targets::llvm::Predicate;

/// Compiles the function that packs panels of so many columns: a unit is a panel of a batch.
pub(super) fn pack(
    setting: Setting,
    (name, location): (&str, MlirLocation),
    elements: Elements,
    columns: i64,
) {
    let mut m = Emitter::new(setting, name, location, elements);
    let (right, packed) = (m.word(Slot::Right), m.word(Slot::Packed));
    let (k, n) = (m.word(Slot::K), m.word(Slot::N));
    let (begin, end) = (m.code.argument(1), m.code.argument(2));
    let width = m.code.index(columns);
    let panels = m.panels(n, columns);
    let units = m.code.open((begin, end, 1), &[]);
    let (batch, panel) = m.decode(units.index, panels);
    let (matrix, all) = (m.multiply(k, n), m.depth(k));
    let all = m.multiply(all, width);
    let first = m.multiply(panel, width);
    let from = m.place(batch, matrix, first);
    let source = m.of(elements.right, right, from);
    let of_unit = m.multiply(units.index, all);
    let target = m.at(packed, of_unit);
    let is_outside = m.pack_panel((source, target), (k, n), (columns, first));
    if let Some(is_outside) = is_outside {
        m.tell_outside(is_outside);
    }
    m.code.close(&units, &[]);
    m.code.r#return(None);
}

impl Emitter {
    /// Packs so many rows of a panel, which begins at a column. Whether it has elements outside the range of [pairs](super::pairs),
    /// if its terms are such.
    pub(super) fn pack_panel(
        &mut self,
        (source, target): (MlirValue, MlirValue),
        (k, n): (MlirValue, MlirValue),
        (columns, first): (i64, MlirValue),
    ) -> Option<MlirValue> {
        let rest = self.sub(n, first);
        if self.setting.machine.has_masks() {
            return self.pack_vectors((source, target), (k, n), (columns, Some(rest)));
        }
        let width = self.code.index(columns);
        let is_whole = self.code.compare(Predicate::Sge, rest, width);
        let (whole, part, after) =
            (self.code.new_block(&[]), self.code.new_block(&[]), self.code.new_block(&[]));
        self.code.branch_if(is_whole, (whole, &[]), (part, &[]));
        self.code.go_to(whole);
        self.pack_vectors((source, target), (k, n), (columns, None));
        self.code.branch(after, &[]);
        self.code.go_to(part);
        self.pack_part((source, target), (k, n), (columns, rest));
        self.code.branch(after, &[]);
        self.code.go_to(after);
        None
    }

    /// Packs a panel whose columns are all there, or those that are of `rest`.
    fn pack_vectors(
        &mut self,
        (source, target): (MlirValue, MlirValue),
        (k, n): (MlirValue, MlirValue),
        (columns, rest): (i64, Option<MlirValue>),
    ) -> Option<MlirValue> {
        let (zero, width) = (self.code.index(0), self.code.index(columns));
        let lanes = self.elements.lanes(self.setting.machine).min(columns as usize);
        let vectors: Vec<_> = (0..columns)
            .step_by(lanes)
            .map(|first| {
                let mask = rest.filter(|_| lanes > 1).map(|rest| {
                    let less = self.plus(rest, -first);
                    self.mask(less, lanes)
                });
                (first, mask)
            })
            .collect();
        let depth = self.depth(k);
        let range = self.elements.asks_for_range().then(|| self.no_range(lanes));
        let steps = self.code.open((zero, depth, 1), range.as_ref().map_or(&[], Range::values));
        let mut range = range.map(|_| Range::of(&steps.carried));
        let rows = self.right_rows(source, steps.index, (k, n));
        let to = self.multiply(steps.index, width);
        for (first, mask) in vectors {
            let column = self.code.index(first);
            let (value, terms) = self.right_terms(&rows, column, (lanes, mask));
            range = range.map(|range| self.widened(range, &terms, lanes));
            let to = self.plus(to, first);
            let to = self.at(target, to);
            self.store(value, to, None);
        }
        self.code.close(&steps, range.as_ref().map_or(&[], Range::values));
        range.map(|_| self.is_outside(Range::of(&steps.carried)))
    }

    /// Packs the columns that there are of a panel, one by one.
    fn pack_part(
        &mut self,
        (source, target): (MlirValue, MlirValue),
        (k, n): (MlirValue, MlirValue),
        (columns, rest): (i64, MlirValue),
    ) {
        let (zero, one, width) = (self.code.index(0), self.code.index(1), self.code.index(columns));
        let depth = self.depth(k);
        let steps = self.code.open((zero, depth, 1), &[]);
        let rows = self.right_rows(source, steps.index, (k, n));
        let columns = self.code.open((zero, width, 1), &[]);
        // A column beyond the last one is read where there is one, and not used.
        let last = self.sub(rest, one);
        let inside = self.less(columns.index, last);
        let (value, _) = self.right_terms(&rows, inside, (1, None));
        let to = self.place(steps.index, width, columns.index);
        let (to, nothing) = (self.at(target, to), self.zero(1));
        let is_inside = self.code.compare(Predicate::Slt, columns.index, rest);
        let value = self.code.select(is_inside, value, nothing);
        self.store(value, to, None);
        self.code.close(&columns, &[]);
        self.code.close(&steps, &[]);
    }
}
