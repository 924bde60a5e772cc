//! The scalar definitions' machine in StableHLO: an instruction is an op on whole tensors of one shape.
//!
//! What StableHLO has an op of its own for, it keeps ([`NATIVE`]): these are within the bounds that `docs/stablehlo.md` states.
//! Everything else is what [`promote_scalar`] says, coefficients included.
//!
//! Integers stand in registers as they come, with or without a sign; an instruction that reads them the other way has them
//! read so.

use promote_lattice::convert::{Bits, Literal, Numerics, literal};
use promote_lattice::{DType, Kind, Op};
use promote_scalar::{Binary, Cast, Compare, Element, Emit, Trap, Ty, Unary, fma_in_parts};

use super::bits::{bits_dtype, signed_dtype};
use super::builder::{Builder, Direction, Parts, Tensor};
use crate::raw::{self, Address};

/// Functions that StableHLO has, of real numbers of single and double precision and of complex ones of such parts.
const NATIVE: &[(Op, &str)] = &[
    (Op::Rsqrt, "stablehlo.rsqrt"),
    (Op::Exp, "stablehlo.exponential"),
    (Op::Expm1, "stablehlo.exponential_minus_one"),
    (Op::Log, "stablehlo.log"),
    (Op::Log1p, "stablehlo.log_plus_one"),
    (Op::Sin, "stablehlo.sine"),
    (Op::Cos, "stablehlo.cosine"),
    (Op::Tan, "stablehlo.tan"),
    (Op::Tanh, "stablehlo.tanh"),
    (Op::Sigmoid, "stablehlo.logistic"),
    (Op::Sqrt, "stablehlo.sqrt"),
];

/// Those of real numbers alone.
const NATIVE_OF_REALS: &[(Op, &str)] =
    &[(Op::Cbrt, "stablehlo.cbrt"), (Op::Pow, "stablehlo.power"), (Op::Atan2, "stablehlo.atan2")];

/// The op of StableHLO that is an op of the dialect, of complex numbers or of real ones.
pub fn native(op: Op, is_complex: bool) -> Option<&'static str> {
    let more = if is_complex { &[][..] } else { NATIVE_OF_REALS };
    NATIVE.iter().chain(more).find(|(known, _)| *known == op).map(|(_, name)| *name)
}

/// The type of the register that a tensor of numbers is.
fn type_of(dtype: DType) -> Ty {
    match (dtype.kind(), dtype.bits()) {
        (Kind::Bool, _) => Ty::I1,
        (Kind::Unsigned | Kind::Signed, ..=8) => Ty::I8,
        (Kind::Unsigned | Kind::Signed, ..=16) => Ty::I16,
        (Kind::Unsigned | Kind::Signed, ..=32) => Ty::I32,
        (Kind::Unsigned | Kind::Signed, _) => Ty::I64,
        (Kind::Float | Kind::Complex, ..=32) => Ty::F32,
        (Kind::Float | Kind::Complex, _) => Ty::F64,
    }
}

/// The dtype of a register of integers or truth values, which are signed; of floats that of IEEE.
const fn dtype_of(ty: Ty) -> DType {
    match ty {
        Ty::I1 => DType::B1,
        Ty::I8 => DType::I8,
        Ty::I16 => DType::I16,
        Ty::I32 => DType::I32,
        Ty::I64 => DType::I64,
        Ty::F16 => DType::F16,
        Ty::F32 => DType::F32,
        Ty::F64 => DType::F64,
    }
}

/// Where instructions are written.
pub struct Machine<'b, 'a> {
    b: &'b mut Builder<'a>,
    shape: Vec<i64>,
    /// What stands for single precision: a narrower float where an op has one right result in every format.
    single: DType,
    /// Whether narrow floats are converted by StableHLO, and not by their codes.
    converts_codes: bool,
    /// Why the library raises an exception, wherever it may.
    pub traps: Vec<Trap>,
}

impl<'b, 'a> Machine<'b, 'a> {
    /// A machine that writes where `b` stands, of tensors of a shape.
    pub const fn new(b: &'b mut Builder<'a>, shape: Vec<i64>) -> Self {
        Self { b, shape, single: DType::F32, converts_codes: true, traps: Vec::new() }
    }

    /// The same, with a float dtype that stands for single precision.
    pub fn computing_in(self, single: DType) -> Self {
        Self { single, ..self }
    }

    /// Another dtype, without a definition of its own: a wider float.
    pub fn convert(&mut self, x: Tensor, dtype: DType) -> Tensor {
        self.b.cast(x, dtype)
    }

    /// An element of a tensor in registers: narrow integers in bytes, complex numbers in parts. Floats are of 32 or 64 bits.
    pub fn load(&mut self, x: Tensor) -> Element<Tensor> {
        match x.kind() {
            Kind::Complex => {
                let (re, im) = self.b.parts(x);
                Element::Complex(re, im)
            }
            Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float => Element::Real(self.b.in_bytes(x)),
        }
    }

    /// A narrow float in single precision, taken by its code, for its sign alone: XLA's conversion does not keep the sign of
    /// every NaN, and what stands here flushes subnormal numbers.
    pub fn decoded(&mut self, x: Tensor) -> Tensor {
        let code = self.b.bitcast(x, bits_dtype(x.dtype));
        let code = self.b.in_bytes(code);
        self.converts_codes = false;
        let number = promote_scalar::load(self, x.dtype, code);
        self.converts_codes = true;
        number
    }

    /// The tensor of a dtype that an element in registers is.
    pub fn store(&mut self, dtype: DType, element: Element<Tensor>) -> Tensor {
        match (element, dtype.kind()) {
            (Element::Complex(re, im), _) => self.b.complex(re, im),
            (Element::Real(x), Kind::Unsigned) => {
                let wide = self.unsigned(x);
                self.b.cast(wide, dtype)
            }
            (Element::Real(x), Kind::Signed) => {
                let wide = self.signed(x);
                self.b.cast(wide, dtype)
            }
            (Element::Real(x), Kind::Bool | Kind::Float | Kind::Complex) => x,
        }
    }

    fn unsigned(&mut self, x: Tensor) -> Tensor {
        if x.kind() == Kind::Signed { self.b.bitcast(x, bits_dtype(x.dtype)) } else { x }
    }

    fn signed(&mut self, x: Tensor) -> Tensor {
        if x.kind() == Kind::Unsigned { self.b.bitcast(x, signed_dtype(x.dtype)) } else { x }
    }

    /// `x` as an integer that is read like `other`.
    fn like(&mut self, x: Tensor, other: Tensor) -> Tensor {
        match other.kind() {
            Kind::Unsigned => self.unsigned(x),
            Kind::Signed => self.signed(x),
            Kind::Bool | Kind::Float | Kind::Complex => x,
        }
    }

    fn splat(&mut self, dtype: DType, bits: Bits) -> Tensor {
        let shape = std::mem::take(&mut self.shape);
        let constant = self.b.splat_bits(dtype, &shape, bits);
        self.shape = shape;
        constant
    }

    /// Towards zero.
    fn trunc(&mut self, x: Tensor) -> Tensor {
        let zero = self.float(type_of(x.dtype), 0.0);
        let (floor, ceil) = (self.b.unary("stablehlo.floor", x), self.b.unary("stablehlo.ceil", x));
        let is_negative = self.b.compare(x, Direction::Lt, zero);
        self.b.select(is_negative, ceil, floor)
    }

    /// The magnitude of one and the sign of the other.
    fn copy_sign(&mut self, x: Tensor, sign: Tensor) -> Tensor {
        let bits = type_of(x.dtype).bits_type();
        let [x_bits, sign_bits] = [x, sign].map(|part| self.cast(Cast::Bitcast, part, bits));
        let least = i64::MIN >> (64 - bits.bits());
        let (least, others) = (self.int(bits, least), self.int(bits, !least));
        let (magnitude, sign) = (self.b.and(x_bits, others), self.b.and(sign_bits, least));
        let both = self.b.or(magnitude, sign);
        self.b.bitcast(both, x.dtype)
    }

    /// Whether one of all elements is true.
    fn any(&mut self, x: Tensor) -> Tensor {
        let axes: Vec<i64> = (0..self.shape.len() as i64).collect();
        let init = self.b.splat_bits(DType::B1, &[], 0);
        self.b.reduce(&[x], &[init], &axes, |b, so_far, next| vec![b.or(so_far[0], next[0])])[0]
    }
}

/// How an instruction reads integers.
#[derive(Clone, Copy)]
enum Sign {
    /// As they come.
    Any,
    Unsigned,
    Signed,
}

/// The op that an instruction is, and how it reads integers.
const fn binary_op(op: Binary) -> Option<(&'static str, Sign)> {
    Some(match op {
        Binary::Add | Binary::FAdd => ("stablehlo.add", Sign::Any),
        Binary::Sub | Binary::FSub => ("stablehlo.subtract", Sign::Any),
        Binary::Mul | Binary::FMul => ("stablehlo.multiply", Sign::Any),
        Binary::And => ("stablehlo.and", Sign::Any),
        Binary::Or => ("stablehlo.or", Sign::Any),
        Binary::Xor => ("stablehlo.xor", Sign::Any),
        Binary::Shl => ("stablehlo.shift_left", Sign::Any),
        Binary::ShrU => ("stablehlo.shift_right_logical", Sign::Any),
        Binary::ShrS => ("stablehlo.shift_right_arithmetic", Sign::Any),
        Binary::DivU => ("stablehlo.divide", Sign::Unsigned),
        Binary::DivS => ("stablehlo.divide", Sign::Signed),
        Binary::RemU => ("stablehlo.remainder", Sign::Unsigned),
        Binary::RemS => ("stablehlo.remainder", Sign::Signed),
        Binary::MinU => ("stablehlo.minimum", Sign::Unsigned),
        Binary::MinS => ("stablehlo.minimum", Sign::Signed),
        Binary::MaxU => ("stablehlo.maximum", Sign::Unsigned),
        Binary::MaxS => ("stablehlo.maximum", Sign::Signed),
        Binary::FDiv => ("stablehlo.divide", Sign::Any),
        Binary::FRem => ("stablehlo.remainder", Sign::Any),
        // StableHLO has no such op.
        Binary::CopySign => return None,
    })
}

const fn comparison(compare: Compare) -> (Direction, Sign) {
    match compare {
        Compare::Eq | Compare::FEq => (Direction::Eq, Sign::Any),
        Compare::Ne | Compare::FNe | Compare::FUnordered => (Direction::Ne, Sign::Any),
        Compare::LtS => (Direction::Lt, Sign::Signed),
        Compare::LeS => (Direction::Le, Sign::Signed),
        Compare::GtS => (Direction::Gt, Sign::Signed),
        Compare::GeS => (Direction::Ge, Sign::Signed),
        Compare::LtU => (Direction::Lt, Sign::Unsigned),
        Compare::LeU => (Direction::Le, Sign::Unsigned),
        Compare::GtU => (Direction::Gt, Sign::Unsigned),
        Compare::GeU => (Direction::Ge, Sign::Unsigned),
        Compare::FLt => (Direction::Lt, Sign::Any),
        Compare::FLe => (Direction::Le, Sign::Any),
        Compare::FGt => (Direction::Gt, Sign::Any),
        Compare::FGe => (Direction::Ge, Sign::Any),
    }
}

impl Machine<'_, '_> {
    /// Two operands as an instruction reads them.
    fn read(&mut self, sign: Sign, x: Tensor, y: Tensor) -> (Tensor, Tensor) {
        match sign {
            Sign::Any => (x, self.like(y, x)),
            Sign::Unsigned => (self.unsigned(x), self.unsigned(y)),
            Sign::Signed => (self.signed(x), self.signed(y)),
        }
    }
}

impl Emit for Machine<'_, '_> {
    type Value = Tensor;

    fn ty(&self, value: Tensor) -> Ty {
        type_of(value.dtype)
    }

    fn int(&mut self, ty: Ty, value: i64) -> Tensor {
        let mask = Bits::from(u64::MAX >> (64 - ty.bits()));
        self.splat(dtype_of(ty), Bits::from(value.cast_unsigned()) & mask)
    }

    fn float(&mut self, ty: Ty, value: f64) -> Tensor {
        let dtype = if ty == Ty::F64 { DType::F64 } else { self.single };
        let bits = literal(Literal::Float(value), dtype, Numerics::NumPy).bits;
        self.splat(dtype, bits)
    }

    fn unary(&mut self, op: Unary, x: Tensor) -> Tensor {
        let name = match op {
            Unary::FNeg => "stablehlo.negate",
            Unary::FAbs => "stablehlo.abs",
            Unary::Sqrt => "stablehlo.sqrt",
            Unary::Floor => "stablehlo.floor",
            Unary::Ceil => "stablehlo.ceil",
            Unary::Trunc => return self.trunc(x),
            Unary::RoundEven => "stablehlo.round_nearest_even",
            Unary::LeadingZeros => "stablehlo.count_leading_zeros",
        };
        self.b.unary(name, x)
    }

    fn binary(&mut self, op: Binary, x: Tensor, y: Tensor) -> Tensor {
        let Some((name, sign)) = binary_op(op) else { return self.copy_sign(x, y) };
        let (x, y) = self.read(sign, x, y);
        self.b.binary(name, x, y)
    }

    fn fma(&mut self, x: Tensor, y: Tensor, z: Tensor) -> Tensor {
        fma_in_parts(self, x, y, z)
    }

    fn mul_add(&mut self, x: Tensor, y: Tensor, z: Tensor) -> Tensor {
        let product = self.b.mul(x, y);
        self.b.add(product, z)
    }

    fn compare(&mut self, compare: Compare, x: Tensor, y: Tensor) -> Tensor {
        let (direction, sign) = comparison(compare);
        if compare == Compare::FUnordered && Address(x.value) != Address(y.value) {
            let (x, y) = (self.b.compare(x, Direction::Ne, x), self.b.compare(y, Direction::Ne, y));
            return self.b.or(x, y);
        }
        let (x, y) = self.read(sign, x, y);
        self.b.compare(x, direction, y)
    }

    fn select(&mut self, condition: Tensor, x: Tensor, y: Tensor) -> Tensor {
        let y = self.like(y, x);
        self.b.select(condition, x, y)
    }

    fn cast(&mut self, cast: Cast, x: Tensor, to: Ty) -> Tensor {
        let dtype = dtype_of(to);
        match cast {
            Cast::ZExt => {
                let x = self.unsigned(x);
                let wide = if x.kind() == Kind::Bool { dtype } else { bits_dtype(dtype) };
                self.b.cast(x, wide)
            }
            Cast::SExt | Cast::SToF => {
                let x = self.signed(x);
                self.b.cast(x, dtype)
            }
            Cast::UToF => {
                let x = self.unsigned(x);
                self.b.cast(x, dtype)
            }
            Cast::FToU => self.b.cast(x, bits_dtype(dtype)),
            Cast::Truncate if x.kind() == Kind::Unsigned => self.b.cast(x, bits_dtype(dtype)),
            Cast::Truncate | Cast::FToS | Cast::FExt | Cast::FTruncate => self.b.cast(x, dtype),
            Cast::Bitcast => self.b.bitcast(x, dtype),
        }
    }

    fn repeat(
        &mut self,
        state: &[Tensor],
        mut condition: impl FnMut(&mut Self, &[Tensor]) -> Tensor,
        mut body: impl FnMut(&mut Self, &[Tensor]) -> Vec<Tensor>,
    ) -> Vec<Tensor> {
        let types: Vec<_> = state.iter().map(|part| raw::value_type(part.value)).collect();
        let opened = self.b.open(&types);
        let carried = self.b.tensors(opened.arguments());
        let goes_on = condition(self, &carried);
        let goes_on = self.any(goes_on);
        self.b.end(&[goes_on.value]);
        let holds = self.b.close(opened);
        let opened = self.b.open(&types);
        let carried = self.b.tensors(opened.arguments());
        let next = body(self, &carried);
        let next: Vec<_> = next.into_iter().zip(state).map(|(x, like)| self.like(x, *like).value).collect();
        self.b.end(&next);
        let body = self.b.close(opened);
        let operands: Vec<_> = state.iter().map(|part| part.value).collect();
        let parts = Parts { operands: &operands, results: &types, attributes: &[], regions: &[holds, body] };
        let made = self.b.append("stablehlo.while", &parts);
        self.b.tensors(raw::results(made))
    }

    fn trap(&mut self, _: Tensor, why: Trap) {
        self.traps.push(why);
    }

    fn has_f16(&self) -> bool {
        false
    }

    fn divides_integers(&self) -> bool {
        true
    }

    fn keeps_sums(&self) -> bool {
        // XLA adds up constants that meet.
        false
    }

    fn native(&mut self, op: Op, args: &[Element<Tensor>]) -> Option<Element<Tensor>> {
        match *args {
            [Element::Complex(re, im)] => {
                let z = self.b.complex(re, im);
                if op == Op::Abs {
                    return Some(Element::Real(self.b.abs(z)));
                }
                let made = self.b.unary(native(op, true)?, z);
                Some(self.load(made))
            }
            [Element::Real(x)] => {
                // Its angle is that of a triangle.
                if op == Op::Atan {
                    let one = self.float(type_of(x.dtype), 1.0);
                    return Some(Element::Real(self.b.atan2(x, one)));
                }
                Some(Element::Real(self.b.unary(native(op, false)?, x)))
            }
            [Element::Real(x), Element::Real(y)] => {
                Some(Element::Real(self.b.binary(native(op, false)?, x, y)))
            }
            _ => None,
        }
    }

    fn encode(&mut self, dtype: DType, x: Tensor) -> Option<Tensor> {
        let code = bits_dtype(dtype);
        // No integer has the six bits of some floats.
        (self.converts_codes && code.bits() == dtype.bits()).then(|| {
            let narrow = self.b.cast(x, dtype);
            let code = self.b.bitcast(narrow, code);
            self.b.in_bytes(code)
        })
    }

    fn decode(&mut self, dtype: DType, code: Tensor) -> Option<Tensor> {
        let bits = bits_dtype(dtype);
        (self.converts_codes && bits.bits() == dtype.bits()).then(|| {
            let code = self.unsigned(code);
            let code = self.b.cast(code, bits);
            let narrow = self.b.bitcast(code, dtype);
            self.b.cast(narrow, DType::F32)
        })
    }
}
