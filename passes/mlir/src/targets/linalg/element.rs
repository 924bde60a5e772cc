//! Elements: from a tensor into registers, and back.
//!
//! Floats and complex numbers keep MLIR's types in tensors. What arith has no exact instruction for is taken by its bits:
//! bf16 and the narrower floats are decoded and encoded as the scalar definitions say, with the same bits on every target.

use mlir_sys::*;
use promote_lattice::convert::{Bits, Numerics, convert};
use promote_lattice::dtype::Specials;
use promote_lattice::{DType, Kind, Op};
use promote_scalar::eval::Eval;
use promote_scalar::{Cast, Element, Emit, Ty, identity, memory, register};

use super::Lowering;
use super::emit::{Machine, Register};
use crate::raw;

/// How a part of an element stands in a tensor.
enum Storage {
    /// As it stands in a register.
    Register,
    /// As an integer of fewer bits.
    Narrow,
    /// As MLIR's f16.
    Half,
    /// As a float that is taken by its bits, of so many.
    Bits(u32),
}

fn storage(dtype: DType) -> Storage {
    let part = dtype.storage().real_part();
    match (part.kind(), part.bits()) {
        _ if part == DType::F16 => Storage::Half,
        (Kind::Unsigned | Kind::Signed, ..8) => Storage::Narrow,
        (Kind::Float, bits @ ..32) => Storage::Bits(bits),
        (Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Float, _) => Storage::Register,
        (Kind::Complex, _) => unreachable!("the part of a number is real"),
    }
}

impl Machine<'_> {
    /// The element that a value of a tensor's element type is.
    pub fn load(&mut self, dtype: DType, value: MlirValue) -> Element<Register> {
        if dtype.kind() != Kind::Complex {
            return Element::Real(self.load_part(dtype, value));
        }
        let part = |machine: &mut Self, name| {
            let r#type = machine.part_type(value);
            let part = machine.builder.add(name, &[value], r#type);
            machine.load_part(dtype, part)
        };
        let real = part(self, "complex.re");
        Element::Complex(real, part(self, "complex.im"))
    }

    fn part_type(&self, complex: MlirValue) -> MlirType {
        // SAFETY: the value is a complex number.
        unsafe { mlirComplexTypeGetElementType(raw::value_type(complex)) }
    }

    fn load_part(&mut self, dtype: DType, value: MlirValue) -> Register {
        let ty = register(dtype);
        let builder = &*self.builder;
        match storage(dtype) {
            Storage::Register => Register { value, ty },
            Storage::Narrow => {
                let name = if dtype.kind() == Kind::Signed { "arith.extsi" } else { "arith.extui" };
                Register { value: builder.add(name, &[value], self.type_of(ty)), ty }
            }
            Storage::Half => {
                Register { value: builder.add("arith.extf", &[value], self.type_of(Ty::F32)), ty: Ty::F32 }
            }
            Storage::Bits(bits) => {
                let code = builder.add("arith.bitcast", &[value], builder.integer_type(bits));
                let ty = memory(dtype);
                let raw = match bits < ty.bits() {
                    true => builder.add("arith.extui", &[code], self.type_of(ty)),
                    false => code,
                };
                promote_scalar::load(self, dtype, Register { value: raw, ty })
            }
        }
    }

    /// An element as a value of a tensor's element type.
    pub fn store(&mut self, dtype: DType, r#type: MlirType, element: Element<Register>) -> MlirValue {
        match element {
            Element::Real(x) => self.store_part(dtype, r#type, x),
            Element::Complex(re, im) => {
                // SAFETY: a complex dtype's element type is a complex type.
                let part = unsafe { mlirComplexTypeGetElementType(r#type) };
                let parts = [self.store_part(dtype, part, re), self.store_part(dtype, part, im)];
                self.builder.add("complex.create", &parts, r#type)
            }
        }
    }

    fn store_part(&mut self, dtype: DType, r#type: MlirType, x: Register) -> MlirValue {
        match storage(dtype) {
            Storage::Register => x.value,
            Storage::Narrow => self.builder.add("arith.trunci", &[x.value], r#type),
            Storage::Half => self.builder.add("arith.truncf", &[x.value], r#type),
            Storage::Bits(bits) => {
                let raw = promote_scalar::store(self, dtype, x);
                let code = match bits < raw.ty.bits() {
                    true => {
                        let narrow = self.builder.integer_type(bits);
                        self.builder.add("arith.trunci", &[raw.value], narrow)
                    }
                    false => raw.value,
                };
                self.builder.add("arith.bitcast", &[code], r#type)
            }
        }
    }

    /// A value that is an index as an i64.
    pub fn number_of(&mut self, index: MlirValue) -> Register {
        let r#type = self.type_of(Ty::I64);
        Register { value: self.builder.add("arith.index_cast", &[index], r#type), ty: Ty::I64 }
    }

    /// The integer of an index's width with the number of an integer element, a place in a dimension.
    pub fn place(&mut self, dtype: DType, x: Register) -> Register {
        let cast = if dtype.kind() == Kind::Signed { Cast::SExt } else { Cast::ZExt };
        if x.ty == Ty::I64 { x } else { self.cast(cast, x, Ty::I64) }
    }
}

impl Lowering<'_> {
    /// The element type of a dtype in tensors.
    pub fn element_type(&mut self, dtype: DType) -> MlirType {
        self.types.of(self.names.element(dtype.storage()))
    }

    /// A number as a value of a tensor's element type.
    pub fn scalar(&mut self, dtype: DType, bits: Bits) -> MlirValue {
        let dtype = dtype.storage();
        let r#type = self.element_type(dtype);
        match dtype.kind() {
            Kind::Bool | Kind::Unsigned | Kind::Signed => self.builder.integer(r#type, bits as i64),
            Kind::Float => {
                let value = number(bits, dtype);
                self.builder.float(r#type, value)
            }
            Kind::Complex => {
                let part = dtype.real_part();
                let parts = [bits, bits >> part.bits()].map(|bits| {
                    // SAFETY: a complex dtype's element type is a complex type, and its parts are floats.
                    unsafe {
                        let part_type = mlirComplexTypeGetElementType(r#type);
                        mlirFloatAttrDoubleGet(self.builder.context, part_type, number(bits, part))
                    }
                });
                let value = self.builder.array_attribute(&parts);
                self.builder.add_with("complex.constant", &[], r#type, &[("value", value)])
            }
        }
    }
}

/// The number that a float's bits are.
fn number(bits: Bits, dtype: DType) -> f64 {
    f64::from_bits(convert(bits, dtype, DType::F64, Numerics::NumPy) as u64)
}

/// What a reduction starts from. `None` if the op is no reduction.
pub fn initial(op: Op, numerics: Numerics, dtype: DType) -> Option<Bits> {
    let dtype = dtype.storage();
    let is_least = matches!(op, Op::Max | Op::Maximum);
    if is_least || matches!(op, Op::Min | Op::Minimum) {
        let end = finite_end(dtype, is_least);
        if end.is_some() {
            return end;
        }
    }
    let mut machine = Eval::default();
    let start = identity(&mut machine, op, numerics, dtype)?;
    let mut bits = |part| {
        let stored = promote_scalar::store(&mut machine, dtype, part);
        Bits::from(stored.bits)
    };
    Some(match start {
        Element::Real(part) => bits(part),
        Element::Complex(re, im) => bits(re) | bits(im) << dtype.real_part().bits(),
    })
}

/// The least number, or the largest, of a format without infinities, in which nothing else holds the place of one.
fn finite_end(dtype: DType, least: bool) -> Option<Bits> {
    let format = dtype.props().format?;
    let magnitude = (1 << (format.exponent_bits + format.mantissa_bits)) - 1;
    let sign = magnitude + 1;
    let largest = match format.specials {
        Specials::Ieee => return None,
        Specials::ExponentOnly => return Some(if least { 0 } else { magnitude - 1 }),
        Specials::NanOnly => magnitude - 1,
        Specials::NanIsNegativeZero | Specials::FiniteOnly => magnitude,
    };
    Some(if least { largest | sign } else { largest })
}
