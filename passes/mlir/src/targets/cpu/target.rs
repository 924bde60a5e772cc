//! What the code generator must know of a processor.

use super::costs::{IN_FRAME, IN_PLACE};
use super::kernel::Schedule;
use super::matmul::{Elements, Tile};
use crate::targets::llvm::Level;
use promote_dialect::extent;
use promote_lattice::convert::Numerics;
use promote_lower::graph::NodeId;
use promote_lower::kernel::{Kernel, Moved};
use promote_lower::order::MASKED_BYTES;
use promote_lower::target::{Costs, InFrame, InPlace, Packing, Product, Target};

/// A processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Width of a vector register in bytes.
    pub vector_bytes: usize,
    /// How many of them there are.
    pub vector_registers: usize,
    /// Whether half precision is converted in an instruction.
    pub has_f16: bool,
    /// Whether products are added in an instruction that rounds once.
    pub has_fma: bool,
    /// Whether an instruction adds four products of bytes to each element of the widest vectors.
    pub has_vnni: bool,
    /// Whether an instruction adds up two products of words of 16 bits in each element of the widest vectors.
    pub has_products_of_words: bool,
    /// Whether an instruction adds two products of `bf16` to each element of the widest vectors, one after the other.
    pub has_bf16: bool,
    /// The narrowest elements, in bits, that an instruction chooses by their places in two of the widest vectors, if one does.
    pub narrowest_chosen: Option<u32>,
    /// Whether an instruction chooses bytes by their places in a register of 16.
    pub chooses_bytes: bool,
    /// Whether as many lines may be on their way to the first-level cache as reading memory at its full speed takes. Elsewhere what is read
    /// later is brought into the second-level cache.
    pub has_many_misses: bool,
}

/// How an instruction chooses elements by their places, which a run alone knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// In two registers of 64 bytes.
    OfPairs,
    /// In one register of 16 bytes, byte by byte.
    OfBytes,
}

impl Choice {
    /// How many bytes a register has that it chooses from.
    pub const fn register_bytes(self) -> usize {
        match self {
            Self::OfPairs => 64,
            Self::OfBytes => 16,
        }
    }
}

impl Default for Machine {
    /// Any x86-64 processor.
    fn default() -> Self {
        Self {
            vector_bytes: 16,
            vector_registers: 16,
            has_f16: false,
            has_fma: false,
            has_vnni: false,
            has_products_of_words: false,
            has_bf16: false,
            narrowest_chosen: None,
            chooses_bytes: false,
            has_many_misses: false,
        }
    }
}

impl Machine {
    /// Whether lanes of a vector can be masked at no cost, as with AVX-512.
    pub const fn has_masks(&self) -> bool {
        self.vector_bytes >= MASKED_BYTES
    }

    /// How elements of so many bits are chosen by their places, if an instruction does so.
    pub fn choice(&self, bits: u32) -> Option<Choice> {
        match self.narrowest_chosen {
            Some(least) if bits >= least => Some(Choice::OfPairs),
            Some(_) | None => self.chooses_bytes.then_some(Choice::OfBytes),
        }
    }

    /// Whether processors see by themselves which rows are read next, and what is brought into the caches for them costs more than it gains:
    /// up to a quarter of the time on Zen 3, as which all without AVX-512 are taken; those with it (Zen 4, Zen 5) do not.
    pub const fn foresees_rows(&self) -> bool {
        !self.has_masks()
    }

    /// The level of the caches into which what is read later is brought from memory.
    pub const fn level_ahead(&self) -> Level {
        if self.has_many_misses { Level::First } else { Level::Second }
    }
}

impl Target for Machine {
    fn name(&self) -> &'static str {
        "the CPU"
    }

    fn costs(&self) -> Costs {
        Costs::COMMON
    }

    fn in_frame(&self) -> InFrame {
        IN_FRAME
    }

    fn schedule(&self, kernel: &Kernel, numerics: Numerics) -> String {
        Schedule::new(kernel, *self, numerics).to_string()
    }

    fn reads_across(&self, kernel: &Kernel, numerics: Numerics) -> Vec<NodeId> {
        Schedule::new(kernel, *self, numerics).reads_across(kernel, numerics)
    }

    fn in_place(&self) -> Option<InPlace> {
        Some(IN_PLACE)
    }

    fn reads_in_order(&self, kernel: &Kernel, numerics: Numerics) -> bool {
        Schedule::new(kernel, *self, numerics).reads_in_order(kernel)
    }

    fn reads_short_runs(&self, kernel: &Kernel, numerics: Numerics) -> bool {
        Schedule::new(kernel, *self, numerics).reads_short_runs()
    }

    fn reads_anyhow(&self, kernel: &Kernel, numerics: Numerics) -> bool {
        // What is read again and again is better packed once.
        let is_read_once = |moved: &Moved<'_>| !moved.from.strides.iter().any(extent::Product::is_zero);
        Schedule::new(kernel, *self, numerics).moved(kernel).is_some_and(|moved| is_read_once(&moved))
    }

    fn packing(&self, product: &Product) -> Option<Packing> {
        let Product { operands, dtype, rows, columns, .. } = *product;
        product.is_in_order(self.has_f16).then(|| {
            let elements = Elements::new(*self, operands, dtype);
            match rows {
                Some(rows) if rows <= elements.most_streamed() => Packing::Nothing,
                Some(_) | None => Packing::Panels(Tile::width(*self, elements, columns)),
            }
        })
    }
}
