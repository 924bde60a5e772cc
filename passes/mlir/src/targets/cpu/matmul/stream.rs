//! Products of few rows: the right matrix is read once, where it is.
//!
//! ## Algorithm
//! A unit is some columns; as many units as come together make a chunk of columns. The sums of some rows and these columns
//! are in the first-level cache. Some rows of the right matrix at a time, or, of short ones of a matrix that is in no cache, one
//! after the other, are multiplied with as many elements of each row of the left one, which stay in registers, and added to
//! the sums, one after another. If there are more rows of the left matrix than are multiplied at once, what the next ones
//! need of the right matrix is in the second-level cache.

use mlir_sys::*;
use promote_lower::order::PRODUCTS;
use promote_lower::program::Matmul;
use promote_scalar::memory;

use super::emitter::Emitter;
use super::{Elements, Slot};
use crate::targets::cpu::costs::{
    CACHED, CACHED_ROWS, FEW_AT_ONCE, MOST_IN_ORDER, STREAMED_AGAIN, STREAMED_AHEAD, STREAMED_BYTES,
    STREAMED_FACTORS, STREAMED_IN_ORDER, STREAMED_LEAST, STREAMED_PART, STREAMED_ROWS, STREAMED_STEPS,
    STREAMED_UNIT,
};
use crate::targets::cpu::kernel::Setting;
use crate::targets::cpu::target::Machine;
use crate::targets::llvm::Predicate;

/// How products of few rows are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stream {
    /// How many rows at once.
    rows: i64,
    /// How many columns a unit has.
    unit: i64,
    /// How many columns of some units after another are multiplied at once.
    chunk: i64,
}

impl Stream {
    /// For so many rows, if they are known.
    pub fn new(machine: Machine, elements: Elements, rows: Option<i64>) -> Self {
        let of = |bytes: i64| (bytes / elements.size() as i64).max(elements.lanes(machine) as i64);
        let Some(rows) = rows.map(|rows| rows.max(1)) else {
            return Self { rows: FEW_AT_ONCE, unit: of(STREAMED_UNIT), chunk: of(STREAMED_UNIT) };
        };
        let groups = (rows + STREAMED_ROWS - 1) / STREAMED_ROWS;
        let chunk = if groups > 1 { of(STREAMED_AGAIN) } else { of(STREAMED_BYTES) };
        Self { rows: (rows + groups - 1) / groups, unit: chunk.min(of(STREAMED_UNIT)), chunk }
    }

    /// How many columns a unit has.
    pub const fn columns(self) -> i64 {
        self.unit
    }

    /// How many columns are multiplied at once.
    pub const fn chunk(self) -> i64 {
        self.chunk
    }

    /// How many rows are multiplied at once.
    pub(super) const fn rows(self) -> i64 {
        self.rows
    }

    /// How many sums there are at once.
    pub(super) const fn most_sums(self) -> i64 {
        self.rows * self.chunk
    }

    /// How many blocks of terms a product has that threads share, if they do: it has few rows, and the right matrix is large.
    pub fn blocks(self, elements: Elements, matmul: &Matmul) -> Option<i64> {
        let [rows, inner, columns] = [matmul.rows, matmul.inner, matmul.columns].map(|extent| extent.fixed());
        let blocks = (inner? + PRODUCTS - 1) / PRODUCTS;
        let bytes = inner?.saturating_mul(columns?).saturating_mul(elements.size() as i64);
        (blocks > 1 && rows? <= self.rows && bytes >= CACHED).then_some(blocks)
    }

    /// How many rows of the right matrix are multiplied at once.
    fn steps(self, machine: Machine) -> i64 {
        let has_many = machine.vector_registers >= 32;
        let (factors, least) =
            if has_many { (STREAMED_FACTORS, 1) } else { (STREAMED_FACTORS / 2, STREAMED_LEAST) };
        (factors / self.rows).clamp(least, STREAMED_STEPS)
    }
}

/// A group of rows of the product, and a part of what is summed over.
pub(super) struct Group {
    /// Where the part of each row of the left matrix starts.
    pub(super) left: Vec<MlirValue>,
    /// Where the part of the right matrix starts.
    pub(super) right: MlirValue,
    /// How far its rows are apart.
    pub(super) n: MlirValue,
    /// How many columns.
    pub(super) count: MlirValue,
    /// Where their sums are kept.
    pub(super) sums: MlirValue,
}

/// Compiles the function that multiplies: a unit is a chunk of columns of a batch.
pub(super) fn stream(
    setting: Setting,
    (name, location): (&str, MlirLocation),
    elements: Elements,
    stream: Stream,
) {
    let mut m = Emitter::new(setting, name, location, elements);
    let (left, right, product) = (m.word(Slot::Left), m.word(Slot::Right), m.word(Slot::Product));
    let (rows, k, n) = (m.word(Slot::M), m.word(Slot::K), m.word(Slot::N));
    let units = m.word(Slot::Blocks);
    let (zero, one) = (m.code.index(0), m.code.index(1));
    let scalar = m.scalar();
    let sums = m.code.stack(scalar, stream.most_sums(), 64);

    let (batches, range) = m.open_batches(units);
    let batch = batches.index;
    let (of_left, of_right, of_product) = (m.multiply(rows, k), m.multiply(k, n), m.multiply(rows, n));
    let of_left = m.multiply(batch, of_left);
    let left = m.of(elements.left, left, of_left);
    let unit = m.code.index(stream.unit);
    let [from, to] = range.map(|place| m.multiply(place, unit));
    let to = m.less(to, n);
    let chunks = m.code.open((from, to, stream.chunk), &[]);
    let first = chunks.index;
    let (rest, width) = (m.sub(to, first), m.code.index(stream.chunk));
    let count = m.less(rest, width);
    let of_right = m.place(batch, of_right, first);
    let right = m.of(elements.right, right, of_right);
    let of_product = m.place(batch, of_product, first);
    let product = m.at(product, of_product);

    // A sum of nothing is a part, too: it stores zeros.
    let summed = m.code.int("llvm.intr.smax", k, one);
    let parts = m.code.open((zero, summed, PRODUCTS), &[]);
    let rest = m.sub(k, parts.index);
    let length = m.code.index(PRODUCTS);
    let length = m.less(rest, length);
    let is_first = m.code.compare(Predicate::Eq, parts.index, zero);
    let from = m.multiply(parts.index, n);
    let right = m.of(elements.right, right, from);

    let groups = m.code.open((zero, rows, stream.rows), &[]);
    let left = m.row_starts((left, stream.rows), (groups.index, rows), (parts.index, k));
    let group = Group { left, right, n, count, sums };
    m.clear(&stream, &group);
    m.all_steps(&stream, &group, length);
    m.put_rows(&stream, &group, (product, rows), (groups.index, is_first));
    m.code.close(&groups, &[]);
    m.code.close(&parts, &[]);
    m.code.close(&chunks, &[]);
    m.code.close(&batches, &[]);
    m.code.r#return(None);
}

impl Emitter {
    /// Where rows of the left matrix start, from an element on; a row beyond the last is the last.
    pub(super) fn row_starts(
        &mut self,
        (left, count): (MlirValue, i64),
        (first, rows): (MlirValue, MlirValue),
        (start, k): (MlirValue, MlirValue),
    ) -> Vec<MlirValue> {
        let one = self.code.index(1);
        let last = self.sub(rows, one);
        let starts = (0..count).map(|row| {
            let row = self.plus(first, row);
            let row = self.less(row, last);
            let from = self.place(row, k, start);
            self.of(self.elements.left, left, from)
        });
        starts.collect()
    }

    /// Where sums of a row are. The vectors of all rows are beside each other: rows that are a power of two apart would meet in
    /// few places of the cache.
    fn sums_at(
        &mut self,
        stream: &Stream,
        group: &Group,
        row: i64,
        (column, lanes): (MlirValue, usize),
    ) -> MlirValue {
        let rows = self.code.index(stream.rows);
        let place = self.multiply(column, rows);
        let place = self.plus(place, row * lanes as i64);
        self.at(group.sums, place)
    }

    pub(super) fn clear(&mut self, stream: &Stream, group: &Group) {
        let (zero, lanes) = (self.code.index(0), self.elements.lanes(self.setting.machine));
        let columns = self.code.open((zero, group.count, lanes as i64), &[]);
        for row in 0..stream.rows {
            let (nothing, address) =
                (self.zero(lanes), self.sums_at(stream, group, row, (columns.index, lanes)));
            self.store(nothing, address, None);
        }
        self.code.close(&columns, &[]);
    }

    /// Adds the products of a part of so many rows of the right matrix: of some at once, as far as that is faster, then of single ones.
    pub(super) fn all_steps(&mut self, stream: &Stream, group: &Group, length: MlirValue) {
        let steps = stream.steps(self.setting.machine);
        let (zero, by) = (self.code.index(0), self.code.index(steps));
        let rest = self.code.int("llvm.urem", length, by);
        let whole = self.sub(length, rest);
        let middle = self.rows_at_once(stream, group.n, whole);
        for (from, to, steps) in [(zero, middle, steps), (middle, length, 1)] {
            let at_once = self.code.open((from, to, steps), &[]);
            self.some_steps(stream, group, (at_once.index, steps));
            self.code.close(&at_once, &[]);
        }
    }

    /// How many rows of the right matrix, of `n` elements, are multiplied several at once: `whole`, or none where one after the other is
    /// faster, as of short rows of a matrix that is in no cache. Of batches, one counts.
    fn rows_at_once(&mut self, stream: &Stream, n: MlirValue, whole: MlirValue) -> MlirValue {
        if stream.rows > MOST_IN_ORDER {
            return whole;
        }
        let [least, most] = STREAMED_IN_ORDER;
        let of = |bytes: i64| bytes * 8 / i64::from(memory(self.elements.right).bits());
        let [least, most, cached] =
            [least, most / stream.rows, CACHED_ROWS].map(|bytes| self.code.index(of(bytes)));
        let k = self.word(Slot::K);
        let all = self.multiply(k, n);
        let at_once = [(Predicate::Slt, n, least), (Predicate::Sge, n, most), (Predicate::Sle, all, cached)];
        at_once.into_iter().fold(self.code.index(0), |until, (predicate, x, y)| {
            let is_faster = self.code.compare(predicate, x, y);
            self.code.select(is_faster, whole, until)
        })
    }

    /// Adds the products of some rows of the right matrix.
    fn some_steps(&mut self, stream: &Stream, group: &Group, (first, steps): (MlirValue, i64)) {
        let Elements { left, right, .. } = self.elements;
        let factors: Vec<MlirValue> = group
            .left
            .iter()
            .flat_map(|start| (0..steps).map(move |step| (*start, step)))
            .map(|(start, step)| {
                let place = self.plus(first, step);
                let address = self.of(left, start, place);
                self.operand(left, address, (1, None))
            })
            .collect();
        let starts: Vec<MlirValue> = (0..steps)
            .map(|step| {
                let row = self.plus(first, step);
                let from = self.multiply(row, group.n);
                self.of(right, group.right, from)
            })
            .collect();
        let aheads = self.next_of_rows(group, &starts);
        self.each_vector(group.count, |m, columns| {
            let at = (columns.lanes, columns.mask);
            for ahead in &aheads {
                let address = m.of(right, *ahead, columns.first);
                m.code.prefetch(address, m.setting.machine.level_ahead());
            }
            let rights: Vec<MlirValue> = starts
                .iter()
                .map(|start| {
                    let address = m.of(right, *start, columns.first);
                    m.operand(right, address, at)
                })
                .collect();
            for (row, factors) in factors.chunks(steps as usize).enumerate() {
                let address = m.sums_at(stream, group, row as i64, (columns.first, columns.lanes));
                let mut sum = m.load(address, columns.lanes, None);
                for (factor, right) in factors.iter().zip(&rights) {
                    let factor = m.splat(*factor, columns.lanes);
                    sum = m.accumulate([factor, *right, sum], columns.lanes);
                }
                m.store(sum, address, None);
            }
        });
    }

    /// What of rows of the right matrix is brought into the caches while what is at their starts is multiplied, if that is worth it.
    fn next_of_rows(&mut self, group: &Group, starts: &[MlirValue]) -> Vec<MlirValue> {
        if self.setting.machine.foresees_rows() {
            return Vec::new();
        }
        let right = self.elements.right;
        let [least, most] =
            STREAMED_AHEAD.map(|bytes| self.code.index(bytes * 8 / i64::from(memory(right).bits())));
        let part = self.code.index(STREAMED_PART);
        let part = self.code.int("llvm.udiv", group.n, part);
        let ahead = self.code.int("llvm.intr.smax", part, least);
        let ahead = self.code.int("llvm.intr.smin", ahead, most);
        starts.iter().map(|start| self.of(right, *start, ahead)).collect()
    }

    /// Stores the sums of the rows that there are.
    pub(super) fn put_rows(
        &mut self,
        stream: &Stream,
        group: &Group,
        (product, rows): (MlirValue, MlirValue),
        (first, is_first): (MlirValue, MlirValue),
    ) {
        for number in 0..stream.rows {
            let row = self.plus(first, number);
            let is_inside = self.code.compare(Predicate::Slt, row, rows);
            let (inside, after) = (self.code.new_block(&[]), self.code.new_block(&[]));
            self.code.branch_if(is_inside, (inside, &[]), (after, &[]));
            self.code.go_to(inside);
            let start = self.multiply(row, group.n);
            let target = self.at(product, start);
            self.each_vector(group.count, |m, columns| {
                let from = m.sums_at(stream, group, number, (columns.first, columns.lanes));
                let sum = m.load(from, columns.lanes, None);
                let to = m.at(target, columns.first);
                m.put(sum, to, (columns.lanes, columns.mask), is_first);
            });
            self.code.branch(after, &[]);
            self.code.go_to(after);
        }
    }
}
