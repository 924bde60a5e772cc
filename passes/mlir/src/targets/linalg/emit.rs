//! The scalar definitions' machine in MLIR: `arith`, and of `math` what is exact.
//!
//! [`Machine`] writes instructions where its [`Builder`] stands. What a library refuses in the middle of a computation cannot
//! end a loop of `linalg`: such conditions are kept in [`Machine::traps`], and the one who makes the loop sees to them.

use mlir_sys::*;
use promote_scalar::{Binary, Cast, Compare, Emit, Trap, Ty, Unary};

use super::build::{Builder, Make};
use crate::raw;
use promote_lower::graph::Index;

/// A value with its type.
#[derive(Clone, Copy)]
pub struct Register {
    /// The value.
    pub value: MlirValue,
    /// Its type.
    pub ty: Ty,
}

/// Where instructions are written.
pub struct Machine<'a> {
    /// Makes them.
    pub builder: &'a mut Builder,
    /// The conditions under which the library raises an exception, why, and how many regions were open there.
    pub traps: Vec<(Trap, Register, usize)>,
}

impl<'a> Machine<'a> {
    /// A machine that writes where `builder` stands.
    pub const fn new(builder: &'a mut Builder) -> Self {
        Self { builder, traps: Vec::new() }
    }

    /// MLIR's type of a register.
    pub fn type_of(&self, ty: Ty) -> MlirType {
        let context = self.builder.context;
        // SAFETY: the context is alive.
        unsafe {
            match ty {
                Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 => mlirIntegerTypeGet(context, ty.bits()),
                Ty::F16 => mlirF16TypeGet(context),
                Ty::F32 => mlirF32TypeGet(context),
                Ty::F64 => mlirF64TypeGet(context),
            }
        }
    }

    fn add(&self, name: &str, operands: &[Register], ty: Ty) -> Register {
        self.add_with(name, operands, ty, &[])
    }

    fn add_with(
        &self,
        name: &str,
        operands: &[Register],
        ty: Ty,
        attributes: &[(&str, MlirAttribute)],
    ) -> Register {
        let operands: Vec<_> = operands.iter().map(|operand| operand.value).collect();
        Register { value: self.builder.add_with(name, &operands, self.type_of(ty), attributes), ty }
    }

    /// A magnitude and a sign. LLVM 22 for x86 takes 0 for the bits of a `bfloat` in memory where it finds that only their sign
    /// is asked for, as `math.copysign` does, so the sign is compared.
    fn copy_sign(&mut self, x: Register, y: Register) -> Register {
        let bits = x.ty.bits_type();
        let [x_bits, y_bits] = [x, y].map(|register| self.cast(Cast::Bitcast, register, bits));
        let sign = i64::MIN >> (64 - bits.bits());
        let [zero, sign, others] = [0, sign, !sign].map(|value| self.int(bits, value));
        let magnitude = self.binary(Binary::And, x_bits, others);
        let negative = self.binary(Binary::Or, magnitude, sign);
        let is_negative = self.compare(Compare::LtS, y_bits, zero);
        let chosen = self.select(is_negative, negative, magnitude);
        self.cast(Cast::Bitcast, chosen, x.ty)
    }

    /// Begins a region with arguments like these values.
    fn open(&mut self, like: &[Register]) -> Vec<Register> {
        let types: Vec<_> = like.iter().map(|register| self.type_of(register.ty)).collect();
        let arguments = self.builder.open(&types);
        arguments.into_iter().zip(like).map(|(value, like)| Register { value, ty: like.ty }).collect()
    }
}

impl Emit for Machine<'_> {
    type Value = Register;

    fn ty(&self, value: Register) -> Ty {
        value.ty
    }

    fn int(&mut self, ty: Ty, value: i64) -> Register {
        let r#type = self.type_of(ty);
        Register { value: self.builder.integer(r#type, value), ty }
    }

    fn float(&mut self, ty: Ty, value: f64) -> Register {
        let r#type = self.type_of(ty);
        Register { value: self.builder.float(r#type, value), ty }
    }

    fn unary(&mut self, op: Unary, x: Register) -> Register {
        let name = match op {
            Unary::FNeg => "arith.negf",
            Unary::FAbs => "math.absf",
            Unary::Sqrt => "math.sqrt",
            Unary::Floor => "math.floor",
            Unary::Ceil => "math.ceil",
            Unary::Trunc => "math.trunc",
            Unary::RoundEven => "math.roundeven",
            Unary::LeadingZeros => "math.ctlz",
        };
        self.add(name, &[x], x.ty)
    }

    fn binary(&mut self, op: Binary, x: Register, y: Register) -> Register {
        let name = match op {
            Binary::Add => "arith.addi",
            Binary::Sub => "arith.subi",
            Binary::Mul => "arith.muli",
            Binary::And => "arith.andi",
            Binary::Or => "arith.ori",
            Binary::Xor => "arith.xori",
            Binary::Shl => "arith.shli",
            Binary::ShrU => "arith.shrui",
            Binary::ShrS => "arith.shrsi",
            Binary::DivU => "arith.divui",
            Binary::DivS => "arith.divsi",
            Binary::RemU => "arith.remui",
            Binary::RemS => "arith.remsi",
            Binary::MinU => "arith.minui",
            Binary::MinS => "arith.minsi",
            Binary::MaxU => "arith.maxui",
            Binary::MaxS => "arith.maxsi",
            Binary::FAdd => "arith.addf",
            Binary::FSub => "arith.subf",
            Binary::FMul => "arith.mulf",
            Binary::FDiv => "arith.divf",
            Binary::FRem => "arith.remf",
            Binary::CopySign => return self.copy_sign(x, y),
        };
        self.add(name, &[x, y], x.ty)
    }

    fn fma(&mut self, x: Register, y: Register, z: Register) -> Register {
        self.add("math.fma", &[x, y, z], x.ty)
    }

    fn compare(&mut self, compare: Compare, x: Register, y: Register) -> Register {
        let (name, predicate) = match compare {
            Compare::Eq => ("arith.cmpi", 0),
            Compare::Ne => ("arith.cmpi", 1),
            Compare::LtS => ("arith.cmpi", 2),
            Compare::LeS => ("arith.cmpi", 3),
            Compare::GtS => ("arith.cmpi", 4),
            Compare::GeS => ("arith.cmpi", 5),
            Compare::LtU => ("arith.cmpi", 6),
            Compare::LeU => ("arith.cmpi", 7),
            Compare::GtU => ("arith.cmpi", 8),
            Compare::GeU => ("arith.cmpi", 9),
            Compare::FEq => ("arith.cmpf", 1),
            Compare::FGt => ("arith.cmpf", 2),
            Compare::FGe => ("arith.cmpf", 3),
            Compare::FLt => ("arith.cmpf", 4),
            Compare::FLe => ("arith.cmpf", 5),
            Compare::FNe => ("arith.cmpf", 13),
            Compare::FUnordered => ("arith.cmpf", 14),
        };
        let predicate = self.builder.number_attribute(predicate);
        self.add_with(name, &[x, y], Ty::I1, &[("predicate", predicate)])
    }

    fn select(&mut self, condition: Register, x: Register, y: Register) -> Register {
        self.add("arith.select", &[condition, x, y], x.ty)
    }

    fn cast(&mut self, cast: Cast, x: Register, to: Ty) -> Register {
        let name = match cast {
            Cast::ZExt => "arith.extui",
            Cast::SExt => "arith.extsi",
            Cast::Truncate => "arith.trunci",
            Cast::SToF => "arith.sitofp",
            Cast::UToF => "arith.uitofp",
            Cast::FToS => "arith.fptosi",
            Cast::FToU => "arith.fptoui",
            Cast::FExt => "arith.extf",
            Cast::FTruncate => "arith.truncf",
            Cast::Bitcast => "arith.bitcast",
        };
        self.add(name, &[x], to)
    }

    fn repeat(
        &mut self,
        state: &[Register],
        condition: impl FnOnce(&mut Self, &[Register]) -> Register,
        body: impl FnOnce(&mut Self, &[Register]) -> Vec<Register>,
    ) -> Vec<Register> {
        let carried = self.open(state);
        let goes_on = condition(self, &carried);
        let passed: Vec<_> =
            std::iter::once(goes_on.value).chain(carried.iter().map(|register| register.value)).collect();
        self.builder.end("scf.condition", &passed);
        let before = self.builder.close();
        let carried = self.open(state);
        let next: Vec<_> = body(self, &carried).into_iter().map(|register| register.value).collect();
        self.builder.end("scf.yield", &next);
        let after = self.builder.close();
        let operands: Vec<_> = state.iter().map(|register| register.value).collect();
        let results: Vec<_> = state.iter().map(|register| self.type_of(register.ty)).collect();
        let make =
            Make { operands: &operands, results: &results, regions: &[before, after], ..Make::default() };
        let repeated = self.builder.make("scf.while", &make);
        raw::results(repeated).zip(state).map(|(value, like)| Register { value, ty: like.ty }).collect()
    }

    fn trap(&mut self, condition: Register, why: Trap) {
        self.traps.push((why, condition, self.builder.depth()));
    }

    fn has_f16(&self) -> bool {
        true
    }
}

impl Machine<'_> {
    /// `linalg.index`: the index of a loop of the enclosing nest.
    pub fn loop_index(&mut self, dim: usize) -> MlirValue {
        let dim = self.builder.number_attribute(dim as i64);
        self.builder.add_with("linalg.index", &[], self.builder.index_type(), &[("dim", dim)])
    }

    /// An index of a view, whose first index and step are values.
    pub fn stepped(&mut self, index: &Index, start: MlirValue, step: MlirValue) -> MlirValue {
        let Some(dim) = index.dim else { return start };
        let index_type = self.builder.index_type();
        let here = self.loop_index(dim);
        let distance = self.builder.add("arith.muli", &[here, step], index_type);
        let name = if index.down { "arith.subi" } else { "arith.addi" };
        self.builder.add(name, &[start, distance], index_type)
    }

    /// An i64 as an index.
    pub fn index_of(&mut self, x: Register) -> MlirValue {
        self.builder.add("arith.index_cast", &[x.value], self.builder.index_type())
    }

    /// The element of a tensor at indices, if `condition`, else another: `operands` are those of `tensor.extract`.
    pub fn extract_if(
        &mut self,
        condition: Register,
        element: MlirType,
        operands: &[MlirValue],
        other: MlirValue,
    ) -> MlirValue {
        self.builder.open(&[]);
        let found = self.builder.add("tensor.extract", operands, element);
        self.builder.end("scf.yield", &[found]);
        let found = self.builder.close();
        self.builder.open(&[]);
        self.builder.end("scf.yield", &[other]);
        let other = self.builder.close();
        let make = Make {
            operands: &[condition.value],
            results: &[element],
            regions: &[found, other],
            ..Make::default()
        };
        raw::result(self.builder.make("scf.if", &make))
    }
}
