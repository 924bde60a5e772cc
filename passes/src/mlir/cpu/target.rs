//! What the code generator must know of a processor.

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
