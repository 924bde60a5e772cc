//! Weak literals as constants of the dtype that uses them.

use mlir_sys::*;
use promote_lattice::convert::{Bits, Literal, convert, literal};
use promote_lattice::{DType, Kind, Semantics};

use super::raw::{self, NewOp};
use super::report::{definition_of, place_of};
use crate::diagnostic::{Code, Diagnostic, Location, Severity};

/// A literal whose value the dtype that uses it does not hold.
#[derive(Debug)]
pub struct OutOfRange {
    /// The literal, as written.
    written: String,
    /// The dtype that uses it.
    dtype: DType,
    /// What it becomes.
    becomes: String,
    /// Where it is written.
    definition: Option<Location>,
}

impl OutOfRange {
    /// The finding, at the place of the op that uses the literal.
    pub fn diagnostic(self, severity: Severity, place: Option<Location>) -> Diagnostic {
        let Self { written, dtype, becomes, definition } = self;
        let message = format!("the weak literal {written} is outside the range of {dtype}, and becomes {becomes}");
        Diagnostic::new(severity, Code::LiteralRange, place, message)
            .with_note(definition, "the literal is written here")
            .with_remedy(format!(
                "convert the other operand to a dtype that holds {written} with promote.convert, or write {becomes} if that is meant"
            ))
    }
}

/// The number of type `from` (`i64`, `f64` or `c128`) that `bytes` hold.
fn read(from: DType, bytes: &[u8]) -> Literal {
    let word = |at: usize| {
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[at..at + 8]);
        word
    };
    match from.kind() {
        Kind::Float => Literal::Float(f64::from_le_bytes(word(0))),
        Kind::Complex => Literal::Complex(f64::from_le_bytes(word(0)), f64::from_le_bytes(word(8))),
        Kind::Bool | Kind::Unsigned | Kind::Signed => Literal::Int(i64::from_le_bytes(word(0))),
    }
}

/// Makes the constant that the weak literal `source` is in `dtype`, in no block yet, and what to say of it.
pub fn constant(
    source: MlirValue,
    dtype: DType,
    result: MlirType,
    context: MlirContext,
    semantics: &Semantics,
) -> (MlirOperation, Option<OutOfRange>) {
    let Some(written) = raw::defining_op(source) else { unreachable!("a weak literal is the result of a constant") };
    let Some(value) = raw::attribute(written, "value") else { unreachable!("a constant has a value") };
    let elements = elements(value);
    let mut bits = Vec::with_capacity(elements.len());
    let mut out_of_range = None;
    for element in elements {
        let converted = literal(element, dtype, semantics.numerics());
        bits.push(converted.bits);
        if !converted.in_range && out_of_range.is_none() {
            out_of_range = Some(OutOfRange {
                written: show_literal(element),
                dtype,
                becomes: show(converted.bits, dtype, semantics),
                definition: definition_of(source),
            });
        }
    }
    // SAFETY: the constant is alive.
    let location = unsafe { mlirOperationGetLocation(written) };
    debug_assert_eq!(place_of(written), super::report::location(location));
    let attributes = [raw::named(context, "value", dense(&bits, dtype, result))];
    let op = NewOp { name: "promote.constant", location, operands: &[], result, attributes: &attributes };
    (raw::create(&op), out_of_range)
}

/// The elements of a dense attribute of `i64`, `f64` or `complex<f64>`; one, if all are the same.
fn elements(value: MlirAttribute) -> Vec<Literal> {
    // SAFETY: the attribute is alive and dense, its type is a tensor's, and its data are as long as computed here.
    unsafe {
        let element = mlirShapedTypeGetElementType(mlirAttributeGetType(value));
        let (from, width) = if mlirTypeIsAComplex(element) {
            (DType::C128, 16)
        } else if mlirTypeIsAF64(element) {
            (DType::F64, 8)
        } else {
            (DType::I64, 8)
        };
        let count = if mlirDenseElementsAttrIsSplat(value) { 1 } else { mlirElementsAttrGetNumElements(value) };
        let count = usize::try_from(count).unwrap_or(0);
        if count == 0 {
            return Vec::new();
        }
        let data = std::slice::from_raw_parts(mlirDenseElementsAttrGetRawData(value).cast::<u8>(), count * width);
        data.chunks_exact(width).map(|bytes| read(from, bytes)).collect()
    }
}

/// A dense attribute of `result`'s type with these elements; a single one stands for all.
fn dense(bits: &[Bits], dtype: DType, result: MlirType) -> MlirAttribute {
    let width = dtype.bits().div_ceil(8) as usize;
    let bytes: Vec<u8> = if dtype.bits() == 1 {
        packed(bits)
    } else {
        bits.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(width)).collect()
    };
    // SAFETY: the type is a static tensor's, and the buffer holds one element or all of them.
    unsafe { mlirDenseElementsAttrRawBufferGet(result, bytes.len(), bytes.as_ptr().cast()) }
}

/// One bit an element, the lowest first; a single element as a byte of eight equal bits.
fn packed(bits: &[Bits]) -> Vec<u8> {
    match bits {
        [single] => vec![if *single == 0 { 0 } else { u8::MAX }],
        all => all
            .chunks(8)
            .map(|bits| bits.iter().enumerate().fold(0, |byte, (i, bit)| byte | u8::from(*bit != 0) << i))
            .collect(),
    }
}

fn show_literal(literal: Literal) -> String {
    match literal {
        Literal::Int(value) => value.to_string(),
        Literal::Float(value) => format!("{value:?}"),
        Literal::Complex(re, im) => format!("({re:?}, {im:?})"),
    }
}

/// A number of `dtype` as a person writes it.
fn show(bits: Bits, dtype: DType, semantics: &Semantics) -> String {
    let to = |dtype_to| convert(bits, dtype, dtype_to, semantics.numerics());
    match dtype.kind() {
        Kind::Bool => if bits == 0 { "false" } else { "true" }.to_owned(),
        Kind::Unsigned => (to(DType::U64) as u64).to_string(),
        Kind::Signed => (to(DType::I64) as u64).cast_signed().to_string(),
        Kind::Float => format!("{:?}", f64::from_bits(to(DType::F64) as u64)),
        Kind::Complex => {
            let wide = to(DType::C128);
            let part = |bits: u128| f64::from_bits(bits as u64);
            format!("({:?}, {:?})", part(wide), part(wide >> 64))
        }
    }
}
