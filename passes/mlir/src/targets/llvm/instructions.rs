//! Machine instructions as ops of the LLVM dialect, in any number of lanes; one lane is no vector.

use mlir_sys::*;
use promote_scalar::{Binary, Cast, Compare, Ty, Unary};

use super::{Code, Predicate, block_argument, vector};
use crate::raw;

/// A register.
#[derive(Clone, Copy)]
pub struct Register {
    /// The value.
    pub value: MlirValue,
    /// What each lane holds.
    pub ty: Ty,
}

/// The registers' values.
pub fn values(registers: &[Register]) -> Vec<MlirValue> {
    registers.iter().map(|register| register.value).collect()
}

/// A scalar in so many lanes.
pub fn splat(code: &mut Code, scalar: Register, lanes: usize) -> Register {
    if lanes == 1 {
        return scalar;
    }
    if let Some(bits) = code.known_bits(scalar) {
        return Register { value: code.constant(scalar.ty, bits, lanes), ty: scalar.ty };
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

/// A loop that goes on while a condition holds.
pub struct While {
    header: MlirBlock,
    inside: MlirBlock,
    after: MlirBlock,
    /// The state that an iteration begins with, and that the last one leaves.
    pub state: Vec<Register>,
}

impl Code {
    fn instruction(
        &self,
        name: &str,
        operands: &[Register],
        (ty, lanes): (Ty, usize),
        attributes: &[(&str, MlirAttribute)],
    ) -> Register {
        let value = self.value(name, &values(operands), self.types.lanes(ty, lanes), attributes);
        Register { value, ty }
    }

    /// The low bits of a number in every lane.
    pub fn int_register(&mut self, lanes: usize, ty: Ty, value: i64) -> Register {
        let mask = u64::MAX >> (64 - ty.bits());
        Register { value: self.constant(ty, value.cast_unsigned() & mask, lanes), ty }
    }

    /// A number, rounded, in every lane.
    pub fn float_register(&mut self, lanes: usize, ty: Ty, value: f64) -> Register {
        let bits = match ty {
            Ty::F32 => (value as f32).to_bits().into(),
            Ty::F64 => value.to_bits(),
            Ty::I1 | Ty::I8 | Ty::I16 | Ty::I32 | Ty::I64 | Ty::F16 => {
                unreachable!("no definition has a constant of {ty:?} as a float")
            }
        };
        Register { value: self.constant(ty, bits, lanes), ty }
    }

    /// An instruction of one operand.
    pub fn unary(&self, lanes: usize, op: Unary, x: Register) -> Register {
        let name = match op {
            Unary::FNeg => "llvm.fneg",
            Unary::FAbs => "llvm.intr.fabs",
            Unary::Sqrt => "llvm.intr.sqrt",
            Unary::Floor => "llvm.intr.floor",
            Unary::Ceil => "llvm.intr.ceil",
            Unary::Trunc => "llvm.intr.trunc",
            Unary::RoundEven => "llvm.intr.roundeven",
            Unary::LeadingZeros => {
                let never = self.types.int(self.types.scalar(Ty::I1), 0);
                return self.instruction("llvm.intr.ctlz", &[x], (x.ty, lanes), &[("is_zero_poison", never)]);
            }
        };
        self.instruction(name, &[x], (x.ty, lanes), &[])
    }

    /// An instruction of two operands.
    pub fn binary(&self, lanes: usize, op: Binary, x: Register, y: Register) -> Register {
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
        self.instruction(name, &[x, y], (x.ty, lanes), &[])
    }

    /// A product and a sum, rounded once.
    pub fn fused(&self, lanes: usize, x: Register, y: Register, z: Register) -> Register {
        self.instruction("llvm.intr.fma", &[x, y, z], (x.ty, lanes), &[])
    }

    /// A comparison.
    pub fn compared(&self, lanes: usize, compare: Compare, x: Register, y: Register) -> Register {
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
        let predicate = self.types.int(self.types.i64, predicate);
        self.instruction(name, &[x, y], (Ty::I1, lanes), &[("predicate", predicate)])
    }

    /// One of two registers in each lane.
    pub fn selected(&self, lanes: usize, condition: Register, x: Register, y: Register) -> Register {
        self.instruction("llvm.select", &[condition, x, y], (x.ty, lanes), &[])
    }

    /// A conversion.
    pub fn converted(&self, lanes: usize, cast: Cast, x: Register, to: Ty) -> Register {
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
        let x = if cast == Cast::FTruncate && is_choice(x) { self.fenced(lanes, x) } else { x };
        self.instruction(name, &[x], (to, lanes), &[])
    }

    /// The same float, of which LLVM does not ask what else is made of it; it takes no instruction.
    ///
    /// `InstCombine` of LLVM 22 takes a choice for a minimum or maximum that depends on a comparison of `x` with zero and is between
    /// zero and what `x` is converted to. Such a one may give zeros another sign, unless the comparison is not strict. So what
    /// programs compare is fenced, and so are what was widened before a minimum or maximum, and a choice that is narrowed: LLVM would
    /// compare, or choose between, what is narrower.
    pub fn fenced(&self, lanes: usize, float: Register) -> Register {
        if self.known_bits(float).is_some() {
            return float;
        }
        let r#type = self.types.lanes(float.ty, lanes);
        Register { value: intrinsic(self, "llvm.arithmetic.fence", &[float.value], r#type), ..float }
    }

    /// Whether a truth value is true in any lane.
    pub fn any(&self, lanes: usize, condition: Register) -> MlirValue {
        if lanes == 1 {
            return condition.value;
        }
        let bits = self.types.scalar(Ty::I1);
        self.value("llvm.intr.vector.reduce.or", &[condition.value], bits, &[])
    }

    /// Opens a loop: what follows computes whether it goes on.
    pub fn open_while(&mut self, state: &[Register]) -> While {
        let types: Vec<_> = state.iter().map(|register| raw::value_type(register.value)).collect();
        let (header, inside, after) = (self.new_block(&types), self.new_block(&[]), self.new_block(&[]));
        self.branch(header, &values(state));
        self.go_to(header);
        let carried = state.iter().enumerate();
        let state =
            carried.map(|(i, start)| Register { value: block_argument(header, i), ty: start.ty }).collect();
        While { header, inside, after, state }
    }

    /// Goes on with its body if a truth value holds.
    pub fn enter_while(&mut self, open: &While, goes_on: MlirValue) {
        self.branch_if(goes_on, (open.inside, &[]), (open.after, &[]));
        self.go_to(open.inside);
    }

    /// Ends the body, which leaves a state; what the last iteration left.
    pub fn close_while(&mut self, open: While, next: &[Register]) -> Vec<Register> {
        self.branch(open.header, &values(next));
        self.go_to(open.after);
        open.state
    }
}

/// Calls an intrinsic of LLVM.
pub fn intrinsic(code: &Code, name: &str, operands: &[MlirValue], result: MlirType) -> MlirValue {
    crate::raw::result(call_intrinsic(code, name, operands, &[result]))
}

/// Calls an intrinsic of LLVM that may have no result.
pub fn call_intrinsic(
    code: &Code,
    name: &str,
    operands: &[MlirValue],
    results: &[MlirType],
) -> MlirOperation {
    let context = code.types.context;
    let segments = [operands.len() as i32, 0];
    // SAFETY: the context is alive, and MLIR copies the text and the arrays.
    let (name, segments, bundles) = unsafe {
        (
            mlirStringAttrGet(context, crate::raw::string(name)),
            mlirDenseI32ArrayGet(context, 2, segments.as_ptr()),
            mlirDenseI32ArrayGet(context, 0, std::ptr::null()),
        )
    };
    let attributes = [("intrin", name), ("operandSegmentSizes", segments), ("op_bundle_sizes", bundles)];
    code.op("llvm.call_intrinsic", operands, results, &attributes)
}

/// Whether a float was widened, as far as the op that defines it tells.
pub fn is_widened(float: Register) -> bool {
    is_of(float, &["llvm.fpext", "llvm.shufflevector"])
}

/// Whether a float is one of two, or made of one without rounding.
fn is_choice(float: Register) -> bool {
    let names = ["select", "fneg", "intr.fabs", "intr.floor", "intr.ceil", "intr.trunc", "intr.roundeven"];
    is_of(float, &names.map(|name| format!("llvm.{name}")))
}

fn is_of(float: Register, names: &[impl AsRef<str>]) -> bool {
    let is_one = |op| names.iter().any(|name| raw::is_named(op, name.as_ref()));
    raw::defining_op(float.value).is_some_and(is_one)
}
