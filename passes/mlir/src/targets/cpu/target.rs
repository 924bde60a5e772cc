//! What the code generator must know of a processor.

use promote_lattice::{DType, Kind};

use super::costs::{self, LEAST_EXTENT, MANY_PRODUCTS, USUAL_EXTENT};
use super::matmul::Tile;
use promote_lower::target::{Costs, Target};

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
}

impl Default for Machine {
    /// Any x86-64 processor.
    fn default() -> Self {
        Self { vector_bytes: 16, vector_registers: 16, has_f16: false, has_fma: false }
    }
}

impl Machine {
    /// Whether lanes of a vector can be masked at no cost, as with AVX-512.
    pub const fn has_masks(&self) -> bool {
        self.vector_bytes >= 64
    }
}

impl Target for Machine {
    fn name(&self) -> &'static str {
        "the CPU"
    }

    fn costs(&self) -> Costs {
        costs::FUSION
    }

    fn panel(&self, dtype: DType, extents: [Option<i64>; 3]) -> Option<i64> {
        let extents = extents.map(|extent| extent.unwrap_or(USUAL_EXTENT));
        let count = extents.iter().fold(1i64, |all, extent| all.saturating_mul(*extent));
        // What registers hold as it is in memory.
        let register = promote_scalar::register(dtype);
        let is_plain = match dtype.kind() {
            Kind::Float | Kind::Unsigned | Kind::Signed => {
                promote_scalar::memory(dtype) == register && register.bits() == dtype.bits()
            }
            Kind::Bool | Kind::Complex => false,
        };
        let is_large =
            is_plain && extents.iter().all(|extent| *extent >= LEAST_EXTENT) && count >= MANY_PRODUCTS;
        is_large.then(|| Tile::new(*self, register).columns)
    }
}
