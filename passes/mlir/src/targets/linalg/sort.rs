//! Sorting: a stable merge of runs from the bottom up, in `scf` loops.
//!
//! Pass `p` merges each two runs of `2^p` elements of a line from one tensor into another, so a line of `n` elements takes
//! `n` steps for each of `log2 n` passes. A round is two passes, there and back, so that each of two tensors stays in its
//! place. A step takes the first element of one of two runs: that of the right one only if
//! it is less. NaNs are larger than all numbers and equal to one another; complex numbers are compared by their real parts
//! first.

use mlir_sys::*;
use promote_lattice::DType;

use super::Lowering;
use super::build::Make;
use super::emit::Machine;
use super::extent::{EQUAL, LESS};
use super::structured::element_of;
use crate::raw;
use promote_dialect::extent::Extent;
use promote_lower::graph::NodeId;

/// What the steps of a pass share.
struct Pass {
    /// What is merged.
    from: MlirValue,
    dtype: DType,
    axis: usize,
    /// How many elements a line has.
    count: MlirValue,
    /// How many elements a run has.
    width: MlirValue,
}

impl Lowering<'_> {
    /// The operand sorted along a dimension.
    pub fn sort(&mut self, arg: NodeId, axis: usize) -> MlirValue {
        let (value, dtype, shape) = (self.value(arg), self.dtype(arg), self.graph.shape(arg));
        if self.is_short(shape[axis]) {
            return value;
        }
        let count = self.extent(shape[axis]);
        let extents: Vec<MlirValue> = shape.iter().map(|extent| self.extent(*extent)).collect();
        let rounds = self.rounds(shape[axis], count);
        let element = element_of(value);
        let other = self.empty(element, &shape);
        let sorted = self.repeat_for(rounds, &[value, other], |this, round, carried| {
            let one = this.builder.index(1);
            let exponent = this.on_indices("arith.shli", round, one);
            let width = this.on_indices("arith.shli", one, exponent);
            let there = Pass { from: carried[0], dtype, axis, count, width };
            let other = this.merge_lines(&there, &extents, &mut Vec::new(), carried[1]);
            let width = this.on_indices("arith.shli", width, one);
            let back = Pass { from: other, width, ..there };
            vec![this.merge_lines(&back, &extents, &mut Vec::new(), carried[0]), other]
        });
        sorted[0]
    }

    /// Whether an extent is known to be at most 1.
    fn is_short(&self, extent: Extent) -> bool {
        self.graph.extents.resolve(extent).fixed().is_some_and(|extent| extent <= 1)
    }

    /// How many rounds of two passes sort a line: the last index has as many bits as passes are needed, or one less.
    fn rounds(&mut self, extent: Extent, count: MlirValue) -> MlirValue {
        if let Some(extent) = self.graph.extents.resolve(extent).fixed() {
            let bits = 64 - (extent - 1).leading_zeros();
            return self.builder.index(bits.div_ceil(2).into());
        }
        let (one, word) = (self.builder.index(1), self.builder.integer_type(64));
        // An empty line has no last index; it takes no step in any pass.
        let some = self.on_indices("arith.maxsi", count, one);
        let last = self.on_indices("arith.subi", some, one);
        let last = self.builder.add("arith.index_cast", &[last], word);
        let unused = self.builder.add("math.ctlz", &[last], word);
        // Of 64 bits, and one more to round up.
        let bits = self.builder.integer(word, 65);
        let used = self.builder.add("arith.subi", &[bits, unused], word);
        let used = self.builder.add("arith.index_cast", &[used], self.builder.index_type());
        self.on_indices("arith.shrui", used, one)
    }

    /// `scf.for` from 0 up to `end`.
    fn repeat_for(
        &mut self,
        end: MlirValue,
        carried: &[MlirValue],
        body: impl FnOnce(&mut Self, MlirValue, &[MlirValue]) -> Vec<MlirValue>,
    ) -> Vec<MlirValue> {
        let (zero, one) = (self.builder.index(0), self.builder.index(1));
        let types: Vec<_> = carried.iter().map(|value| raw::value_type(*value)).collect();
        let arguments = self.builder.open(&[&[self.builder.index_type()], types.as_slice()].concat());
        let next = body(self, arguments[0], &arguments[1..]);
        self.builder.end("scf.yield", &next);
        let region = self.builder.close();
        let operands = [&[zero, end, one], carried].concat();
        let make = Make { operands: &operands, results: &types, regions: &[region], ..Make::default() };
        raw::results(self.builder.make("scf.for", &make)).collect()
    }

    /// A loop for each dimension but that of the lines, around the merge of one line.
    fn merge_lines(
        &mut self,
        pass: &Pass,
        extents: &[MlirValue],
        at: &mut Vec<MlirValue>,
        to: MlirValue,
    ) -> MlirValue {
        if at.len() == extents.len() {
            return self.merge_line(pass, at, to);
        }
        if at.len() == pass.axis {
            // The place along the line is filled in by the steps.
            at.push(pass.count);
            return self.merge_lines(pass, extents, at, to);
        }
        let merged = self.repeat_for(extents[at.len()], &[to], |this, index, carried| {
            at.push(index);
            vec![this.merge_lines(pass, extents, at, carried[0])]
        });
        merged[0]
    }

    /// The steps along one line: the next places in the left and the right run are carried on.
    fn merge_line(&mut self, pass: &Pass, at: &[MlirValue], to: MlirValue) -> MlirValue {
        let (zero, two) = (self.builder.index(0), self.builder.index(2));
        let both = self.on_indices("arith.muli", pass.width, two);
        let carried = [zero, zero, to];
        let merged = self.repeat_for(pass.count, &carried, |this, place, carried| {
            let (count, width) = (pass.count, pass.width);
            let pair = this.on_indices("arith.divui", place, both);
            let start = this.on_indices("arith.muli", pair, both);
            let middle = this.on_indices("arith.addi", start, width);
            let middle = this.on_indices("arith.minsi", middle, count);
            let end = this.on_indices("arith.addi", start, both);
            let end = this.on_indices("arith.minsi", end, count);
            let begins = this.compare(EQUAL, place, start);
            let left = this.select(begins, start, carried[0]);
            let right = this.select(begins, middle, carried[1]);
            let value_of = |this: &mut Self, index| {
                let one = this.builder.index(1);
                let last = this.on_indices("arith.subi", count, one);
                // A run that is used up returns an element that is not taken.
                let safe = this.on_indices("arith.minsi", index, last);
                let mut operands = [&[pass.from], at].concat();
                operands[1 + pass.axis] = safe;
                this.builder.add("tensor.extract", &operands, element_of(pass.from))
            };
            let [of_left, of_right] = [left, right].map(|index| value_of(this, index));
            let [has_left, has_right] =
                [(left, middle), (right, end)].map(|(index, end)| this.compare(LESS, index, end));
            let truth = this.builder.integer_type(1);
            let yes = this.builder.integer(truth, 1);
            let numerics = this.numerics;
            let mut machine = Machine::new(&mut this.builder);
            let [of_right_loaded, of_left_loaded] =
                [of_right, of_left].map(|value| machine.load(pass.dtype, value));
            let is_less = promote_scalar::is_before(
                &mut machine,
                numerics,
                pass.dtype,
                of_right_loaded,
                of_left_loaded,
            );
            let is_less = is_less.value;
            let no_left = this.builder.add("arith.xori", &[has_left, yes], truth);
            let better = this.builder.add("arith.ori", &[no_left, is_less], truth);
            let takes_right = this.builder.add("arith.andi", &[has_right, better], truth);
            let taken = this.select(takes_right, of_right, of_left);
            let mut operands = [&[taken, carried[2]], at].concat();
            operands[2 + pass.axis] = place;
            let to = this.builder.add("tensor.insert", &operands, raw::value_type(carried[2]));
            let step = this.builder.add("arith.index_castui", &[takes_right], this.builder.index_type());
            let one = this.builder.index(1);
            let rest = this.on_indices("arith.subi", one, step);
            vec![this.on_indices("arith.addi", left, rest), this.on_indices("arith.addi", right, step), to]
        });
        merged[2]
    }
}
