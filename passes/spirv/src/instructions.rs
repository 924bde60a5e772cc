//! The machine of element definitions, in SPIR-V.

use promote_device::trap_number;
use promote_scalar::{Binary, Cast, Compare, Emit, Trap, Ty, Unary};
use rspirv::dr::Operand;
use rspirv::spirv::{Decoration, GlslStd450Op as GLOp, Op, OpenclStd100Op as CLOp, Word};

use crate::module::{Emitter, Environment, Value};

impl Emitter {
    /// An instruction of values.
    pub(crate) fn of(&mut self, op: Op, operands: &[Value], ty: Ty) -> Value {
        let r#type = self.ty(ty);
        let operands = self.with_one_hidden(operands);
        let operands = operands.into_iter().map(|operand| Operand::IdRef(operand.id)).collect();
        Value { id: self.op(op, r#type, operands), ty }
    }

    /// An extended instruction.
    pub(crate) fn extended(&mut self, number: u32, operands: &[Value], ty: Ty) -> Value {
        let r#type = self.ty(ty);
        let mut all = vec![Operand::IdRef(self.library), Operand::LiteralExtInstInteger(number)];
        all.extend(self.with_one_hidden(operands).into_iter().map(|operand| Operand::IdRef(operand.id)));
        Value { id: self.op(Op::ExtInst, r#type, all), ty }
    }

    /// One that both environments have, under these names.
    pub(crate) fn function(&mut self, (vulkan, opencl): (GLOp, CLOp), operands: &[Value], ty: Ty) -> Value {
        let number = match self.environment {
            Environment::Vulkan => vulkan as Word,
            Environment::OpenCl => opencl as Word,
        };
        self.extended(number, operands, ty)
    }

    /// Arithmetic of floats, which is not contracted.
    fn rounded(&mut self, op: Op, operands: &[Value], ty: Ty) -> Value {
        let value = self.of(op, operands, ty);
        if self.environment == Environment::Vulkan {
            self.decorate(value.id, Decoration::NoContraction);
        }
        value
    }

    fn bits_of(&mut self, x: Value) -> Value {
        self.cast(Cast::Bitcast, x, x.ty.bits_type())
    }

    /// A float whose sign bit is another one: `op` of its bits and those of `mask`.
    fn with_sign(&mut self, op: Binary, x: Value, mask: u64) -> Value {
        let bits = self.bits_of(x);
        let mask = self.constant(bits.ty, mask);
        let bits = self.binary(op, bits, mask);
        // Compilers know these bits no better than the float that they are of.
        self.of(Op::Bitcast, &[bits], x.ty)
    }

    fn copy_sign(&mut self, x: Value, y: Value) -> Value {
        let sign = 1 << (x.ty.bits() - 1);
        let magnitude = self.with_sign(Binary::And, x, !sign);
        let (magnitude, other) = (self.bits_of(magnitude), self.bits_of(y));
        let sign = self.constant(other.ty, sign);
        let sign = self.binary(Binary::And, other, sign);
        let bits = self.binary(Binary::Or, magnitude, sign);
        self.of(Op::Bitcast, &[bits], x.ty)
    }

    /// How many high bits are zero.
    fn leading_zeros(&mut self, x: Value) -> Value {
        if self.environment == Environment::OpenCl {
            return self.extended(CLOp::clz as u32, &[x], x.ty);
        }
        match x.ty {
            Ty::I64 => {
                let thirty_two = self.constant(Ty::I64, 32);
                let high = self.binary(Binary::ShrU, x, thirty_two);
                let halves = [high, x].map(|half| self.cast(Cast::Truncate, half, Ty::I32));
                let [high, low] = halves.map(|half| self.leading_zeros(half));
                let all = self.constant(Ty::I32, 32);
                let is_low = self.compare(Compare::Eq, high, all);
                let of_low = self.binary(Binary::Add, low, all);
                let count = self.select(is_low, of_low, high);
                self.cast(Cast::ZExt, count, Ty::I64)
            }
            Ty::I32 => {
                // -1 if there is none.
                let highest = self.extended(GLOp::FindUMsb as u32, &[x], Ty::I32);
                let last = self.constant(Ty::I32, 31);
                self.binary(Binary::Sub, last, highest)
            }
            Ty::I1 | Ty::F16 | Ty::F32 | Ty::F64 => unreachable!("{:?} has no leading zeros", x.ty),
            Ty::I8 | Ty::I16 => {
                let wide = self.cast(Cast::ZExt, x, Ty::I32);
                let count = self.leading_zeros(wide);
                let more = self.constant(Ty::I32, (32 - x.ty.bits()).into());
                let count = self.binary(Binary::Sub, count, more);
                self.cast(Cast::Truncate, count, x.ty)
            }
        }
    }

    /// 32 bits extended with the sign to 64. Mesa 22.3 takes a comparison of what it extends itself with a constant for one that is
    /// always false.
    fn extended_by_shifts(&mut self, x: Value) -> Value {
        let wide = self.cast(Cast::ZExt, x, Ty::I64);
        let places = self.constant(Ty::I64, 32);
        let high = self.binary(Binary::Shl, wide, places);
        self.binary(Binary::ShrS, high, places)
    }

    /// The first operand where it compares so with the second, else the second.
    fn first_if(&mut self, compare: Compare, x: Value, y: Value) -> Value {
        let is_first = self.compare(compare, x, y);
        self.select(is_first, x, y)
    }

    fn truth(&mut self, op: Binary, x: Value, y: Value) -> Value {
        let op = match op {
            Binary::And | Binary::MinU | Binary::Mul => Op::LogicalAnd,
            Binary::Or | Binary::MaxU => Op::LogicalOr,
            Binary::Xor | Binary::Add | Binary::Sub => Op::LogicalNotEqual,
            Binary::Shl
            | Binary::ShrU
            | Binary::ShrS
            | Binary::DivU
            | Binary::DivS
            | Binary::RemU
            | Binary::RemS
            | Binary::MinS
            | Binary::MaxS
            | Binary::FAdd
            | Binary::FSub
            | Binary::FMul
            | Binary::FDiv
            | Binary::FRem
            | Binary::CopySign => unreachable!("{op:?} of truth values is in no definition"),
        };
        self.of(op, &[x, y], Ty::I1)
    }

    fn compare_truth(&mut self, compare: Compare, x: Value, y: Value) -> Value {
        let not = |emitter: &mut Self, x: Value| emitter.of(Op::LogicalNot, &[x], Ty::I1);
        match compare {
            Compare::Eq => self.of(Op::LogicalEqual, &[x, y], Ty::I1),
            Compare::Ne => self.of(Op::LogicalNotEqual, &[x, y], Ty::I1),
            // As unsigned numbers, 0 and 1; as signed ones, 0 and -1.
            Compare::LtU | Compare::GtS => {
                let x = not(self, x);
                self.of(Op::LogicalAnd, &[x, y], Ty::I1)
            }
            Compare::LeU | Compare::GeS => {
                let x = not(self, x);
                self.of(Op::LogicalOr, &[x, y], Ty::I1)
            }
            Compare::GtU | Compare::LtS => {
                let y = not(self, y);
                self.of(Op::LogicalAnd, &[x, y], Ty::I1)
            }
            Compare::GeU | Compare::LeS => {
                let y = not(self, y);
                self.of(Op::LogicalOr, &[x, y], Ty::I1)
            }
            Compare::FEq
            | Compare::FNe
            | Compare::FLt
            | Compare::FLe
            | Compare::FGt
            | Compare::FGe
            | Compare::FUnordered => unreachable!("truth values are no floats"),
        }
    }

    /// A conversion from or to truth values.
    fn cast_truth(&mut self, cast: Cast, x: Value, to: Ty) -> Value {
        match (x.ty, to) {
            (Ty::I1, Ty::I1) => x,
            (Ty::I1, _) if to.is_float() => {
                let one = self.float(to, if cast == Cast::SToF { -1.0 } else { 1.0 });
                let zero = self.float(to, 0.0);
                self.select(x, one, zero)
            }
            (Ty::I1, _) => {
                let one = self.int(to, if cast == Cast::SExt { -1 } else { 1 });
                let zero = self.int(to, 0);
                self.select(x, one, zero)
            }
            _ => {
                let one = self.int(x.ty, 1);
                let low = self.binary(Binary::And, x, one);
                self.compare(Compare::Eq, low, one)
            }
        }
    }
}

impl Emit for Emitter {
    type Value = Value;

    fn ty(&self, value: Value) -> Ty {
        value.ty
    }

    fn int(&mut self, ty: Ty, value: i64) -> Value {
        self.constant(ty, value.cast_unsigned())
    }

    fn float(&mut self, ty: Ty, value: f64) -> Value {
        let literal = match ty {
            Ty::F32 => self.constant(ty, (value as f32).to_bits().into()),
            Ty::F64 => self.constant(ty, value.to_bits()),
            Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::F16 => {
                unreachable!("no definition has a constant of {ty:?} as a float")
            }
        };
        if value == 0.0 { self.hidden(literal) } else { literal }
    }

    fn unary(&mut self, op: Unary, x: Value) -> Value {
        let sign = 1_u64.checked_shl(x.ty.bits() - 1).unwrap_or(0);
        let names = match op {
            Unary::FNeg => return self.with_sign(Binary::Xor, x, sign),
            Unary::FAbs => return self.with_sign(Binary::And, x, !sign),
            Unary::LeadingZeros => return self.leading_zeros(x),
            Unary::Sqrt => return self.square_root(x),
            Unary::Floor => (GLOp::Floor, CLOp::floor),
            Unary::Ceil => (GLOp::Ceil, CLOp::ceil),
            Unary::Trunc => (GLOp::Trunc, CLOp::trunc),
            Unary::RoundEven => (GLOp::RoundEven, CLOp::rint),
        };
        self.function(names, &[x], x.ty)
    }

    fn binary(&mut self, op: Binary, x: Value, y: Value) -> Value {
        if x.ty == Ty::I1 {
            return self.truth(op, x, y);
        }
        let op = match op {
            Binary::Add => Op::IAdd,
            Binary::Sub => Op::ISub,
            Binary::Mul => Op::IMul,
            Binary::And => Op::BitwiseAnd,
            Binary::Or => Op::BitwiseOr,
            Binary::Xor => Op::BitwiseXor,
            Binary::Shl => Op::ShiftLeftLogical,
            Binary::ShrU => Op::ShiftRightLogical,
            Binary::ShrS => Op::ShiftRightArithmetic,
            Binary::DivU => Op::UDiv,
            Binary::DivS => Op::SDiv,
            Binary::RemU => Op::UMod,
            Binary::RemS => Op::SRem,
            Binary::MinU => return self.first_if(Compare::LtU, x, y),
            Binary::MinS => return self.first_if(Compare::LtS, x, y),
            Binary::MaxU => return self.first_if(Compare::GtU, x, y),
            Binary::MaxS => return self.first_if(Compare::GtS, x, y),
            Binary::FAdd => return self.rounded(Op::FAdd, &[x, y], x.ty),
            Binary::FSub => return self.rounded(Op::FSub, &[x, y], x.ty),
            Binary::FMul => return self.rounded(Op::FMul, &[x, y], x.ty),
            Binary::FDiv => return self.rounded(Op::FDiv, &[x, y], x.ty),
            Binary::FRem => return self.float_remainder(x, y),
            Binary::CopySign => return self.copy_sign(x, y),
        };
        self.of(op, &[x, y], x.ty)
    }

    fn fma(&mut self, x: Value, y: Value, z: Value) -> Value {
        self.fused(x, y, z)
    }

    fn compare(&mut self, compare: Compare, x: Value, y: Value) -> Value {
        if x.ty == Ty::I1 {
            return self.compare_truth(compare, x, y);
        }
        let op = match compare {
            Compare::Eq => Op::IEqual,
            Compare::Ne => Op::INotEqual,
            Compare::LtS => Op::SLessThan,
            Compare::LeS => Op::SLessThanEqual,
            Compare::GtS => Op::SGreaterThan,
            Compare::GeS => Op::SGreaterThanEqual,
            Compare::LtU => Op::ULessThan,
            Compare::LeU => Op::ULessThanEqual,
            Compare::GtU => Op::UGreaterThan,
            Compare::GeU => Op::UGreaterThanEqual,
            Compare::FEq => Op::FOrdEqual,
            Compare::FNe => Op::FUnordNotEqual,
            Compare::FLt => Op::FOrdLessThan,
            Compare::FLe => Op::FOrdLessThanEqual,
            Compare::FGt => Op::FOrdGreaterThan,
            Compare::FGe => Op::FOrdGreaterThanEqual,
            Compare::FUnordered => {
                let (x_is, y_is) = (self.of(Op::IsNan, &[x], Ty::I1), self.of(Op::IsNan, &[y], Ty::I1));
                return self.of(Op::LogicalOr, &[x_is, y_is], Ty::I1);
            }
        };
        self.of(op, &[x, y], Ty::I1)
    }

    fn select(&mut self, condition: Value, x: Value, y: Value) -> Value {
        let [x, y] = [x, y].map(|value| self.hidden(value));
        self.of(Op::Select, &[condition, x, y], x.ty)
    }

    fn cast(&mut self, cast: Cast, x: Value, to: Ty) -> Value {
        if x.ty == Ty::I1 || to == Ty::I1 {
            return self.cast_truth(cast, x, to);
        }
        if cast == Cast::SExt && self.environment == Environment::Vulkan && (x.ty, to) == (Ty::I32, Ty::I64) {
            return self.extended_by_shifts(x);
        }
        if cast == Cast::Bitcast
            && to.is_float()
            && let Some(bits) = self.literal(x)
        {
            let literal = self.constant(to, bits);
            return self.hidden(literal);
        }
        let x = match cast {
            Cast::SToF | Cast::UToF => self.hidden_integer(x),
            Cast::Bitcast if to.is_float() && !x.ty.is_float() => self.hidden_integer(x),
            Cast::Bitcast
            | Cast::ZExt
            | Cast::SExt
            | Cast::Truncate
            | Cast::FToS
            | Cast::FToU
            | Cast::FExt
            | Cast::FTruncate => x,
        };
        let op = match cast {
            Cast::ZExt | Cast::Truncate => Op::UConvert,
            Cast::SExt => Op::SConvert,
            Cast::SToF => Op::ConvertSToF,
            Cast::UToF => Op::ConvertUToF,
            Cast::FToS => Op::ConvertFToS,
            Cast::FToU => Op::ConvertFToU,
            Cast::FExt | Cast::FTruncate => Op::FConvert,
            Cast::Bitcast if x.ty == to => return x,
            Cast::Bitcast => Op::Bitcast,
        };
        self.of(op, &[x], to)
    }

    fn repeat(
        &mut self,
        state: &[Value],
        condition: impl FnOnce(&mut Self, &[Value]) -> Value,
        body: impl FnOnce(&mut Self, &[Value]) -> Vec<Value>,
    ) -> Vec<Value> {
        let (variables, labels) = self.begin_loop(state);
        let carried = self.read(&variables);
        let goes_on = condition(self, &carried);
        self.enter_loop(goes_on, &labels);
        // What is read before the condition is the same here.
        let next = body(self, &carried);
        self.end_loop(&variables, &labels, &next, |_| {});
        self.read(&variables)
    }

    fn trap(&mut self, condition: Value, why: Trap) {
        let Some((exceptions, base, number)) = self.kernel.note else { return };
        let branch = self.begin_if(condition);
        let base = Value { id: self.kernel.parameters[base], ty: Ty::I64 };
        let base = self.cast(Cast::Truncate, base, Ty::I32);
        let number = self.constant(Ty::I32, (number + trap_number(why)).into());
        let number = self.binary(Binary::Add, base, number);
        self.note(exceptions, number);
        self.end_if(branch);
    }

    fn has_f16(&self) -> bool {
        false
    }
}
