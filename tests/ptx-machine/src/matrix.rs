//! `mma.sync` of 16×8 results, and which thread has which part of each matrix.
//!
//! Registers are words of two numbers of 16 bits or four of 8 bits, which are neighbours along the axis that is summed over. A
//! thread is the `l / 4`th of its group of eight rows, and has the `l % 4`th words.

use crate::code::Slot;
use crate::floats::{Bf16, Half};
use crate::lanes::{LANES, Mask, Outcome, Registers};

/// What numbers the factors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Numbers {
    Half,
    Bf16,
    /// Integers of 8 bits, by whether those of each factor are signed.
    Bytes([bool; 2]),
}

/// A product of matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Matrices {
    numbers: Numbers,
    /// How many words are summed over.
    words: usize,
}

impl Matrices {
    /// The product of an instruction, by the parts of its name after `mma.sync.aligned`.
    pub(crate) fn find(name: &[&str]) -> Option<Self> {
        let [shape, "row", "col", to, a, b, from] = name else { return None };
        let depth = match *shape {
            "m16n8k8" => 8,
            "m16n8k16" => 16,
            "m16n8k32" => 32,
            _ => return None,
        };
        let is_signed = |of: &str| match of {
            "s8" => Some(true),
            "u8" => Some(false),
            _ => None,
        };
        let (numbers, width) = match (*to, *a, *b, *from) {
            ("f32", "f16", "f16", "f32") => (Numbers::Half, 2),
            ("f32", "bf16", "bf16", "f32") => (Numbers::Bf16, 2),
            ("s32", a, b, "s32") => (Numbers::Bytes([is_signed(a)?, is_signed(b)?]), 4),
            _ => return None,
        };
        let words = depth / width;
        matches!(words, 4 | 8).then_some(Self { numbers, words })
    }

    /// How many registers the factors have.
    pub(crate) fn registers(self) -> [usize; 2] {
        [self.words / 2, self.words / 4]
    }

    /// Multiplies: the registers are those of the result, of both factors, and of what is added.
    pub(crate) fn multiply(self, registers: &mut Registers, slots: &[Slot]) -> Outcome {
        let [of_a, of_b] = self.registers();
        let read = |slot: &Slot| registers.read::<u32>(slot.index, Mask::MAX);
        let all = |slots: &[Slot]| slots.iter().map(read).collect::<Result<Vec<_>, _>>();
        let (to, rest) = slots.split_at(4);
        let (a, rest) = rest.split_at(of_a);
        let (b, c) = rest.split_at(of_b);
        let (a, b, c) = (all(a)?, all(b)?, all(c)?);
        let row_of_a = |row: usize, word: usize| a[row / 8 + word / 4 * 2][row % 8 * 4 + word % 4];
        let column_of_b = |column: usize, word: usize| b[word / 4][column * 4 + word % 4];
        let mut results = [[0; LANES]; 4];
        for (index, result) in results.iter_mut().enumerate() {
            for (lane, result) in result.iter_mut().enumerate() {
                let (row, column) = (lane / 4 + 8 * (index / 2), lane % 4 * 2 + index % 2);
                let words = (0..self.words).map(|word| (row_of_a(row, word), column_of_b(column, word)));
                *result = self.dot(words, c[index][lane]);
            }
        }
        for (slot, result) in to.iter().zip(&results) {
            registers.write::<u32>(slot.index, Mask::MAX, result);
        }
        Ok(())
    }

    /// The sum of products; that of integers wraps around.
    fn dot(self, words: impl Iterator<Item = (u32, u32)>, start: u32) -> u32 {
        match self.numbers {
            Numbers::Half => sum(words, start, |bits| Half(bits).to_f64()),
            Numbers::Bf16 => sum(words, start, |bits| Bf16(bits).to_f64()),
            Numbers::Bytes(signed) => words.fold(start, |sum, (a, b)| {
                let byte = |word: u32, index: u32, is_signed: bool| {
                    let byte = (word >> (8 * index)) as u8;
                    if is_signed { i32::from(byte as i8) } else { i32::from(byte) }
                };
                let product = |index| byte(a, index, signed[0]) * byte(b, index, signed[1]);
                (0..4).fold(sum, |sum, index| sum.wrapping_add(product(index) as u32))
            }),
        }
    }
}

/// The sum of products of floats, which are exact and added in 64 bits in order; it is rounded to 32 bits. The ISA leaves the
/// order and the precision of the sum open.
fn sum(words: impl Iterator<Item = (u32, u32)>, start: u32, of: fn(u16) -> f64) -> u32 {
    let halves = |word: u32| [of(word as u16), of((word >> 16) as u16)];
    let products = words.flat_map(|(a, b)| {
        let (a, b) = (halves(a), halves(b));
        [a[0] * b[0], a[1] * b[1]]
    });
    let sum = products.fold(f64::from(f32::from_bits(start)), |sum, product| sum + product);
    crate::floats::canonical32(sum as f32)
}
