//! Machine instructions as ops of the LLVM dialect, in any number of lanes.

use mlir_sys::*;
use promote_abi::Runtime;
use promote_scalar::{Binary, Cast, Compare, Emit, Trap, Ty, Unary};

use super::llvm::{Code, Predicate, block_argument, vector};
use crate::raw;

/// A register.
#[derive(Clone, Copy)]
pub struct Register {
    /// The value.
    pub value: MlirValue,
    /// What each lane holds.
    pub ty: Ty,
}

/// An emitter of so many lanes.
pub struct Lanes<'c> {
    /// The function.
    pub code: &'c mut Code,
    /// How many.
    pub lanes: usize,
    /// Whether the target converts half precision in an instruction.
    pub has_f16: bool,
    /// The context of the call, which exceptions are reported to.
    pub context: MlirValue,
    /// The op that raises them: the symbol of the text of its place, and the length of that.
    pub place: Option<(&'c str, usize)>,
}

impl Lanes<'_> {
    fn register(&self, name: &str, operands: &[Register], ty: Ty) -> Register {
        self.with(name, operands, ty, &[])
    }

    fn with(
        &self,
        name: &str,
        operands: &[Register],
        ty: Ty,
        attributes: &[(&str, MlirAttribute)],
    ) -> Register {
        let operands: Vec<_> = operands.iter().map(|operand| operand.value).collect();
        let result = self.code.types.lanes(ty, self.lanes);
        Register { value: self.code.value(name, &operands, result, attributes), ty }
    }

    fn constant(&mut self, ty: Ty, bits: u64) -> Register {
        Register { value: self.code.constant(ty, bits, self.lanes), ty }
    }

    /// Whether a truth value is true in any lane.
    fn any(&mut self, condition: Register) -> MlirValue {
        if self.lanes == 1 {
            return condition.value;
        }
        let bits = self.code.types.scalar(Ty::I1);
        self.code.value("llvm.intr.vector.reduce.or", &[condition.value], bits, &[])
    }
}

/// A scalar in so many lanes.
pub fn splat(code: &mut Code, scalar: Register, lanes: usize) -> Register {
    if lanes == 1 {
        return scalar;
    }
    let r#type = vector(raw::value_type(scalar.value), lanes);
    let zero = code.index(0);
    let poison = code.poison(r#type);
    let first = code.value("llvm.insertelement", &[poison, scalar.value, zero], r#type, &[]);
    Register { value: shuffle(code, (first, first), r#type, &vec![0; lanes]), ty: scalar.ty }
}

/// The lanes of two vectors, by their numbers.
pub fn shuffle(code: &Code, (x, y): (MlirValue, MlirValue), result: MlirType, mask: &[i32]) -> MlirValue {
    // SAFETY: the context is alive, and MLIR copies the array.
    let mask = unsafe { mlirDenseI32ArrayGet(code.types.context, mask.len() as isize, mask.as_ptr()) };
    code.value("llvm.shufflevector", &[x, y], result, &[("mask", mask)])
}

impl Emit for Lanes<'_> {
    type Value = Register;

    fn ty(&self, value: Register) -> Ty {
        value.ty
    }

    fn int(&mut self, ty: Ty, value: i64) -> Register {
        let mask = u64::MAX >> (64 - ty.bits());
        self.constant(ty, value.cast_unsigned() & mask)
    }

    fn float(&mut self, ty: Ty, value: f64) -> Register {
        match ty {
            Ty::F32 => self.constant(ty, (value as f32).to_bits().into()),
            _ => self.constant(ty, value.to_bits()),
        }
    }

    fn unary(&mut self, op: Unary, x: Register) -> Register {
        let name = match op {
            Unary::FNeg => "llvm.fneg",
            Unary::FAbs => "llvm.intr.fabs",
            Unary::Sqrt => "llvm.intr.sqrt",
            Unary::Floor => "llvm.intr.floor",
            Unary::Ceil => "llvm.intr.ceil",
            Unary::Trunc => "llvm.intr.trunc",
            Unary::RoundEven => "llvm.intr.roundeven",
            Unary::LeadingZeros => {
                let never = self.code.types.int(self.code.types.scalar(Ty::I1), 0);
                return self.with("llvm.intr.ctlz", &[x], x.ty, &[("is_zero_poison", never)]);
            }
        };
        self.register(name, &[x], x.ty)
    }

    fn binary(&mut self, op: Binary, x: Register, y: Register) -> Register {
        let name = match op {
            Binary::Add => "llvm.add",
            Binary::Sub => "llvm.sub",
            Binary::Mul => "llvm.mul",
            Binary::And => "llvm.and",
            Binary::Or => "llvm.or",
            Binary::Xor => "llvm.xor",
            Binary::Shl => "llvm.shl",
            Binary::ShrU => "llvm.lshr",
            Binary::ShrS => "llvm.ashr",
            Binary::DivU => "llvm.udiv",
            Binary::DivS => "llvm.sdiv",
            Binary::RemU => "llvm.urem",
            Binary::RemS => "llvm.srem",
            Binary::MinU => "llvm.intr.umin",
            Binary::MinS => "llvm.intr.smin",
            Binary::MaxU => "llvm.intr.umax",
            Binary::MaxS => "llvm.intr.smax",
            Binary::FAdd => "llvm.fadd",
            Binary::FSub => "llvm.fsub",
            Binary::FMul => "llvm.fmul",
            Binary::FDiv => "llvm.fdiv",
            Binary::FRem => "llvm.frem",
            Binary::CopySign => "llvm.intr.copysign",
        };
        self.register(name, &[x, y], x.ty)
    }

    fn fma(&mut self, x: Register, y: Register, z: Register) -> Register {
        self.register("llvm.intr.fma", &[x, y, z], x.ty)
    }

    fn compare(&mut self, compare: Compare, x: Register, y: Register) -> Register {
        use Predicate::{Eq, Ne, Sge, Sgt, Sle, Slt, Uge, Ugt, Ule, Ult};
        // LLVM's numbers of the comparisons of floats.
        let (name, predicate) = match compare {
            Compare::Eq => ("llvm.icmp", Eq as i64),
            Compare::Ne => ("llvm.icmp", Ne as i64),
            Compare::LtS => ("llvm.icmp", Slt as i64),
            Compare::LeS => ("llvm.icmp", Sle as i64),
            Compare::GtS => ("llvm.icmp", Sgt as i64),
            Compare::GeS => ("llvm.icmp", Sge as i64),
            Compare::LtU => ("llvm.icmp", Ult as i64),
            Compare::LeU => ("llvm.icmp", Ule as i64),
            Compare::GtU => ("llvm.icmp", Ugt as i64),
            Compare::GeU => ("llvm.icmp", Uge as i64),
            Compare::FEq => ("llvm.fcmp", 1),
            Compare::FGt => ("llvm.fcmp", 2),
            Compare::FGe => ("llvm.fcmp", 3),
            Compare::FLt => ("llvm.fcmp", 4),
            Compare::FLe => ("llvm.fcmp", 5),
            Compare::FUnordered => ("llvm.fcmp", 14),
            Compare::FNe => ("llvm.fcmp", 13),
        };
        let predicate = self.code.types.int(self.code.types.i64, predicate);
        self.with(name, &[x, y], Ty::I1, &[("predicate", predicate)])
    }

    fn select(&mut self, condition: Register, x: Register, y: Register) -> Register {
        self.register("llvm.select", &[condition, x, y], x.ty)
    }

    fn cast(&mut self, cast: Cast, x: Register, to: Ty) -> Register {
        let name = match cast {
            Cast::ZExt => "llvm.zext",
            Cast::SExt => "llvm.sext",
            Cast::Truncate => "llvm.trunc",
            Cast::SToF => "llvm.sitofp",
            Cast::UToF => "llvm.uitofp",
            Cast::FToS => "llvm.fptosi",
            Cast::FToU => "llvm.fptoui",
            Cast::FExt => "llvm.fpext",
            Cast::FTruncate => "llvm.fptrunc",
            Cast::Bitcast => "llvm.bitcast",
        };
        self.register(name, &[x], to)
    }

    fn repeat(
        &mut self,
        state: &[Register],
        condition: impl FnOnce(&mut Self, &[Register]) -> Register,
        body: impl FnOnce(&mut Self, &[Register]) -> Vec<Register>,
    ) -> Vec<Register> {
        let types: Vec<_> = state.iter().map(|register| raw::value_type(register.value)).collect();
        let values =
            |registers: &[Register]| registers.iter().map(|register| register.value).collect::<Vec<_>>();
        let (header, inside, after) =
            (self.code.new_block(&types), self.code.new_block(&[]), self.code.new_block(&[]));
        self.code.branch(header, &values(state));
        self.code.go_to(header);
        let carried = state.iter().enumerate();
        let carried: Vec<_> =
            carried.map(|(i, start)| Register { value: block_argument(header, i), ty: start.ty }).collect();
        let goes_on = condition(self, &carried);
        let goes_on = self.any(goes_on);
        self.code.branch_if(goes_on, (inside, &[]), (after, &[]));
        self.code.go_to(inside);
        let next = body(self, &carried);
        self.code.branch(header, &values(&next));
        self.code.go_to(after);
        carried
    }

    fn trap(&mut self, condition: Register, why: Trap) {
        let condition = self.any(condition);
        let (noted, after) = (self.code.new_block(&[]), self.code.new_block(&[]));
        self.code.branch_if(condition, (noted, &[]), (after, &[]));
        self.code.go_to(noted);
        let code = match why {
            Trap::DivisionByZero => promote_abi::Trap::Division,
            Trap::NegativePower => promote_abi::Trap::NegativePower,
            Trap::IndexOutOfRange => promote_abi::Trap::Index,
        };
        let code = self.code.constant(Ty::I32, code as u64, 1);
        let (text, length) = match self.place {
            Some((symbol, length)) => (self.code.address_of(symbol), self.code.index(length as i64)),
            None => (self.code.null(), self.code.index(0)),
        };
        self.code.call_runtime(Runtime::Trap, &[self.context, code, text, length]);
        self.code.branch(after, &[]);
        self.code.go_to(after);
    }

    fn has_f16(&self) -> bool {
        self.has_f16
    }
}
