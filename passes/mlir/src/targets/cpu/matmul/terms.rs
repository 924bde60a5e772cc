//! How many terms of a sum are multiplied in an instruction, and how matrices are packed for that.
//!
//! An element of packed matrices holds so many terms, in 32 bits. There are as many elements as it takes for all terms of a part
//! of a sum; terms beyond the last are zero in packed rows.

use mlir_sys::*;
use promote_lattice::{DType, Kind};
use promote_scalar::{Binary, Cast, Emit, Ty, memory};

use super::emitter::Emitter;
use super::{fours, words};
use crate::targets::cpu::target::Machine;
use crate::targets::llvm::{Predicate, Register};

/// How many terms of a sum an element of packed matrices holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Terms {
    /// One, in the type of products.
    One,
    /// [Two](super::words) words of 16 bits.
    Words,
    /// [Two](super::pairs) of `bf16`.
    Pairs,
    /// [Four](super::fours) bytes.
    Fours,
}

impl Terms {
    /// How terms of these dtypes are multiplied, whose products are in registers of a type.
    pub(super) fn new(machine: Machine, operands: [DType; 2], ty: Ty) -> Self {
        let is_byte = |dtype: DType| match dtype.kind() {
            Kind::Unsigned | Kind::Signed => dtype.bits() == 8,
            Kind::Bool | Kind::Float | Kind::Complex => false,
        };
        if machine.has_vnni && machine.has_masks() && ty == Ty::I32 && operands.into_iter().all(is_byte) {
            Self::Fours
        } else if machine.has_bf16 && machine.has_masks() && ty == Ty::F32 && operands == [DType::BF16; 2] {
            Self::Pairs
        } else if machine.has_products_of_words && ty == Ty::I32 && operands.into_iter().all(words::fits_word)
        {
            Self::Words
        } else {
            Self::One
        }
    }

    /// How many there are.
    pub(super) const fn number(self) -> i64 {
        match self {
            Self::One => 1,
            Self::Words | Self::Pairs => 2,
            Self::Fours => 4,
        }
    }

    /// How much room the [sums](super::fours) take that are first, after the packed rows, and what is read beyond these.
    pub(super) const fn first_sums_room(self) -> i64 {
        match self {
            Self::One | Self::Words | Self::Pairs => 0,
            Self::Fours => fours::LANES as i64,
        }
    }

    /// By how many bits terms are shifted in an element, in order.
    const fn shifts(self) -> &'static [i64] {
        match self {
            Self::One => &[0],
            Self::Words => &[0, 16],
            // The instruction multiplies the term in the upper half first.
            Self::Pairs => &[16, 0],
            Self::Fours => &[0, 8, 16, 24],
        }
    }
}

/// A row of the right matrix.
pub(super) struct RightRow {
    start: MlirValue,
    /// Whether there is such a row, where that is asked for.
    is_there: Option<MlirValue>,
}

impl Emitter {
    /// How many elements of packed matrices so many terms are.
    pub(super) fn depth(&mut self, terms: MlirValue) -> MlirValue {
        let at_once = self.elements.terms.number();
        if at_once == 1 {
            return terms;
        }
        let (past, by) = (self.plus(terms, at_once - 1), self.code.index(at_once));
        self.code.int("llvm.udiv", past, by)
    }

    /// The rows of the right matrix that an element of a panel is made of; one beyond the last is read where the last is.
    pub(super) fn right_rows(
        &mut self,
        source: MlirValue,
        element: MlirValue,
        (k, n): (MlirValue, MlirValue),
    ) -> Vec<RightRow> {
        let (right, terms) = (self.elements.right, self.elements.terms);
        let by = self.code.index(terms.number());
        let first = self.multiply(element, by);
        let last = self.plus(k, -1);
        let rows = (0..terms.number()).map(|term| {
            let row = self.plus(first, term);
            let inside = if term == 0 { row } else { self.less(row, last) };
            let from = self.multiply(inside, n);
            let start = self.of(right, source, from);
            let is_there = match terms {
                Terms::Pairs if term > 0 => Some(self.code.compare(Predicate::Sle, row, last)),
                // Zeros of packed rows are multiplied with bytes and words, whatever these are.
                Terms::One | Terms::Words | Terms::Pairs | Terms::Fours => None,
            };
            RightRow { start, is_there }
        });
        rows.collect()
    }

    /// Elements of a panel, from a column on, and the terms that they hold.
    pub(super) fn right_terms(
        &mut self,
        rows: &[RightRow],
        column: MlirValue,
        (lanes, mask): (usize, Option<MlirValue>),
    ) -> (MlirValue, Vec<MlirValue>) {
        let right = self.elements.right;
        if let ([row], Terms::One) = (rows, self.elements.terms) {
            let address = self.of(right, row.start, column);
            return (self.operand(right, address, (lanes, mask)), Vec::new());
        }
        let ty = memory(right);
        let terms = rows.iter().map(|row| {
            let address = self.of(right, row.start, column);
            let term = self.raw(ty, address, (lanes, mask));
            let Some(is_there) = row.is_there else { return term };
            let nothing = self.code.constant(ty, 0, lanes);
            self.code.select(is_there, term, nothing)
        });
        let terms: Vec<_> = terms.collect();
        let joined = self.joined(right, &terms, lanes);
        (self.flipped(joined, lanes), terms)
    }

    /// Packs rows, some terms of each after another.
    pub(super) fn pack_rows_of_terms(&mut self, starts: &[MlirValue], packed: MlirValue, length: MlirValue) {
        let (terms, left) = (self.elements.terms, self.elements.left);
        let (zero, by) = (self.code.index(0), self.code.index(terms.number()));
        let (whole, all) = (self.code.int("llvm.udiv", length, by), self.depth(length));
        self.each_element(starts, packed, (zero, whole), |m, start, first| {
            let from = m.of(left, start, first);
            match terms {
                Terms::One => unreachable!("such rows are packed in the type of products"),
                Terms::Words => {
                    let pair = m.raw(memory(left), from, (2, None));
                    let pair = m.words(left, pair, 2);
                    m.code.value("llvm.bitcast", &[pair], m.code.types.i32, &[])
                }
                Terms::Fours => m.code.load(from, m.code.types.i32, 1),
                Terms::Pairs => {
                    let word = m.code.load(from, m.code.types.i32, 1);
                    let half = m.code.constant(Ty::I32, 16, 1);
                    m.code.value("llvm.intr.fshl", &[word, word, half], m.code.types.i32, &[])
                }
            }
        });
        self.each_element(starts, packed, (whole, all), |m, start, first| {
            let (last, ty) = (m.plus(length, -1), memory(left));
            let nothing = m.code.constant(ty, 0, 1);
            let terms: Vec<_> = (0..terms.number())
                .map(|term| {
                    let place = m.plus(first, term);
                    let (inside, is_inside) =
                        (m.less(place, last), m.code.compare(Predicate::Sle, place, last));
                    let from = m.of(left, start, inside);
                    let term = m.raw(ty, from, (1, None));
                    m.code.select(is_inside, term, nothing)
                })
                .collect();
            m.joined(left, &terms, 1)
        });
    }

    /// Stores some of the elements that each packed row has: what is made of the start of the row and the first term.
    fn each_element(
        &mut self,
        starts: &[MlirValue],
        packed: MlirValue,
        (from, to): (MlirValue, MlirValue),
        element: impl Fn(&mut Self, MlirValue, MlirValue) -> MlirValue,
    ) {
        let by = self.code.index(self.elements.terms.number());
        let height = self.code.index(starts.len() as i64);
        let steps = self.code.open((from, to, 1), &[]);
        let (first, target) = (self.multiply(steps.index, by), self.multiply(steps.index, height));
        for (row, start) in starts.iter().enumerate() {
            let value = element(self, *start, first);
            let to = self.plus(target, row as i64);
            let to = self.at(packed, to);
            self.store(value, to, None);
        }
        self.code.close(&steps, &[]);
    }

    /// Terms of an operand as one number of 32 bits, in lanes.
    fn joined(&mut self, of: DType, terms: &[MlirValue], lanes: usize) -> MlirValue {
        let shifts = self.elements.terms.shifts();
        let (terms, ty): (Vec<_>, _) = match self.elements.terms {
            Terms::Words => (terms.iter().map(|term| self.words(of, *term, lanes)).collect(), Ty::I16),
            Terms::One | Terms::Pairs | Terms::Fours => (terms.to_vec(), memory(of)),
        };
        let mut e = self.lanes(lanes);
        let wide: Vec<_> = terms
            .into_iter()
            .zip(shifts)
            .map(|(value, by)| {
                let wide = e.cast(Cast::ZExt, Register { value, ty }, Ty::I32);
                let by = e.int(Ty::I32, *by);
                e.binary(Binary::Shl, wide, by)
            })
            .collect();
        let joined = wide.into_iter().reduce(|all, one| e.binary(Binary::Or, all, one));
        let Some(joined) = joined else { unreachable!("an element holds a term at least") };
        joined.value
    }

    /// Calls an intrinsic of LLVM's of three operands, whose result has the type of the first.
    pub(super) fn intrinsic(&mut self, name: &str, operands: [MlirValue; 3]) -> MlirValue {
        let types = self.code.types;
        let attributes = [
            ("intrin", types.parse(&format!("\"{name}\""))),
            ("op_bundle_sizes", types.parse("array<i32>")),
            ("operandSegmentSizes", types.parse("array<i32: 3, 0>")),
        ];
        let result = crate::raw::value_type(operands[0]);
        self.code.value("llvm.call_intrinsic", &operands, result, &attributes)
    }
}
