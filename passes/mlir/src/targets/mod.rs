//! What strong programs are lowered to: code for processors, linalg on tensors, and StableHLO.

pub mod cpu;
pub mod linalg;
pub mod stablehlo;
