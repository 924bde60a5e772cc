//! What Vulkan promises too little of.
//!
//! Its fused multiply-add may round twice, and its remainder of floats is inexact: both are computed of other instructions.
//! OpenCL's functions of these names are exact.
//!
//! Some compilers take `x + 0`, `x * 0` and `0 / x` for what they are of positive numbers, whatever they are asked to keep. So they
//! must not see a zero: no constant that is one, no operation of constants alone, no constant that a branch or a choice may
//! turn out to give, and no integer that becomes a float, whether it is converted or its bits are taken.

use promote_scalar::{Binary, Emit, Ty, fma_exact, remainder_exact};
use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{GlslStd450Op as GLOp, Op, OpenclStd100Op as CLOp, Word};

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

    /// A number that compilers cannot see, of these bits, computed once at the beginning of a kernel for Vulkan.
    pub(crate) fn unseen(&mut self, ty: Ty, bits: u64) -> Value {
        if let Some(known) = self.kernel.unseen.get(&(ty, bits)) {
            return Value { id: *known, ty };
        }
        let id = if ty.is_float() {
            let bits = self.unseen(ty.bits_type(), bits);
            self.at_first(Op::Bitcast, ty, &[bits.id])
        } else if bits != 0 {
            let operands = [self.unseen(ty, 0).id, self.constant(ty, bits).id];
            self.at_first(Op::BitwiseOr, ty, &operands)
        } else if ty == Ty::I64 {
            self.kernel.nothing
        } else {
            self.at_first(Op::UConvert, ty, &[self.kernel.nothing])
        };
        self.kernel.unseen.insert((ty, bits), id);
        Value { id, ty }
    }

    /// An instruction at the beginning of a kernel.
    fn at_first(&mut self, op: Op, ty: Ty, operands: &[Word]) -> Word {
        let (r#type, id) = (self.ty(ty), self.builder.id());
        let operands = operands.iter().copied().map(Operand::IdRef).collect();
        self.kernel.first_instructions.push(Instruction::new(op, Some(r#type), Some(id), operands));
        id
    }

    /// A constant of a float type where compilers cannot see it; other values as they are.
    pub(crate) fn hidden(&mut self, value: Value) -> Value {
        match self.literal(value) {
            Some(bits) if value.ty.is_float() && self.environment == Environment::Vulkan => {
                self.unseen(value.ty, bits)
            }
            Some(_) | None => value,
        }
    }

    /// Operands of which compilers cannot compute a float: if all are constants, the first is hidden.
    pub(crate) fn with_one_hidden(&mut self, operands: &[Value]) -> Vec<Value> {
        let mut operands = operands.to_vec();
        let are_all = operands.iter().all(|operand| self.literal(*operand).is_some());
        if let Some(first) = operands.first_mut().filter(|_| are_all) {
            *first = self.hidden(*first);
        }
        operands
    }

    /// An integer that becomes a float: compilers cannot know it, even if it is a constant, or `n - n`.
    pub(crate) fn hidden_integer(&mut self, x: Value) -> Value {
        match (self.environment, self.literal(x)) {
            (Environment::Vulkan, Some(bits)) => self.unseen(x.ty, bits),
            (Environment::Vulkan, None) => {
                let nothing = self.unseen(x.ty, 0);
                self.binary(Binary::Or, x, nothing)
            }
            (Environment::OpenCl, _) => x,
        }
    }
}
