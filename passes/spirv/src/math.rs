//! What Vulkan promises too little of.
//!
//! Its fused multiply-add may round twice, and its remainder of floats is inexact: both are computed of other instructions.
//! OpenCL's functions of these names are exact.

use promote_scalar::{Cast, Emit, Ty, fma_exact, remainder_exact};
use rspirv::spirv::{GlslStd450Op as GLOp, OpenclStd100Op as CLOp};

use crate::module::{Emitter, Environment, Value};

impl Emitter {
    /// `x * y + z`, rounded once.
    pub(crate) fn fused(&mut self, x: Value, y: Value, z: Value) -> Value {
        match self.environment {
            Environment::Vulkan => fma_exact(self, x, y, z),
            Environment::OpenCl => self.extended(CLOp::fma as u32, &[x, y, z], x.ty),
        }
    }

    pub(crate) fn square_root(&mut self, x: Value) -> Value {
        self.function((GLOp::Sqrt, CLOp::sqrt), &[x], x.ty)
    }

    /// C's `fmod`.
    pub(crate) fn float_remainder(&mut self, x: Value, y: Value) -> Value {
        match self.environment {
            Environment::Vulkan => remainder_exact(self, x, y),
            Environment::OpenCl => self.extended(CLOp::fmod as u32, &[x, y], x.ty),
        }
    }

    /// The zero of a float type, which compilers cannot see to be one: some take `x + 0`, `x * 0` and `0 / x` for what they are of
    /// positive numbers.
    pub(crate) fn zero(&mut self, ty: Ty) -> Value {
        let bits = Value { id: self.kernel.nothing, ty: Ty::I64 };
        match ty {
            Ty::F64 => self.cast(Cast::Bitcast, bits, ty),
            _ => {
                let bits = self.cast(Cast::Truncate, bits, ty.bits_type());
                self.cast(Cast::Bitcast, bits, ty)
            }
        }
    }
}
