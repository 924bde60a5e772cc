//! Types: tensors of dtypes, and what pliron has no scalar type for.
//!
//! A tensor's text in pliron is MLIR's: `promote.tensor <4x?xbf16>`, `promote.tensor <*x!promote.unknown>`. Elements of other
//! types stand in parentheses, as pliron writes them: `promote.tensor <4x(builtin.integer si32)>`.

use std::fmt;

use pliron::builtin::types::{BF16Type, FP16Type, FP32Type, FP64Type, IntegerType, Signedness};
use pliron::context::Context;
use pliron::derive::pliron_type;
use pliron::parsable::{Parsable, ParseResult, StateStream};
use pliron::printable::{self, Printable};
use pliron::r#type::{Type, TypeHandle, TypedHandle};
use promote_infer::shape::{DYNAMIC, Shape, is_dynamic};
use promote_lattice::DType;
use promote_lattice::dtype::Kind;

use crate::reader::{Read, Reader, done};

/// What `!promote.unknown` is called.
pub(crate) const UNKNOWN: &str = "!promote.unknown";

/// The element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Element {
    /// A dtype.
    DType(DType),
    /// `!promote.unknown`, which inference replaces.
    Unknown,
    /// Any other type.
    Other(TypeHandle),
}

/// A tensor: elements and a shape, or no shape if not even the rank is known.
#[pliron_type(name = "promote.tensor", verifier = "succ")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorType {
    element: Element,
    shape: Shape,
}

impl TensorType {
    /// The tensor type of these elements and this shape. Extents that are known at run time only become
    /// [`DYNAMIC`].
    pub fn get(context: &Context, element: Element, shape: &Shape) -> TypedHandle<Self> {
        let extent = |extent: &i64| if is_dynamic(*extent) { DYNAMIC } else { *extent };
        let shape = shape.dims().map(|dims| dims.iter().map(extent).collect());
        Self::instantiate(Self { element, shape: Shape(shape) }, context)
    }

    /// The element type.
    pub const fn element(&self) -> Element {
        self.element
    }

    /// The shape.
    pub const fn shape(&self) -> &Shape {
        &self.shape
    }

    /// How many elements there are, if that is known and can be counted.
    pub fn count(&self) -> Option<usize> {
        let dims = self.shape.dims()?;
        dims.iter().try_fold(1_usize, |count, dim| count.checked_mul(usize::try_from(*dim).ok()?))
    }

    /// Writes the extents, each with an `x` after it.
    pub(crate) fn write_shape(&self, out: &mut impl fmt::Write) -> fmt::Result {
        let Some(dims) = self.shape.dims() else { return out.write_str("*x") };
        for dim in dims {
            match is_dynamic(*dim) {
                true => out.write_str("?x")?,
                false => write!(out, "{dim}x")?,
            }
        }
        Ok(())
    }

    /// Reads what stands between `<` and `>`.
    pub(crate) fn read(reader: &mut Reader<'_, '_>) -> Read<TypedHandle<Self>> {
        let shape = read_shape(reader)?;
        let element = read_element(reader)?;
        Ok(Self::get(reader.0.state.ctx, element, &shape))
    }

    /// Writes what stands between `<` and `>`.
    pub(crate) fn write(&self, context: &Context, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_shape(f)?;
        match self.element {
            Element::DType(dtype) => f.write_str(dtype.mlir()),
            Element::Unknown => f.write_str(UNKNOWN),
            Element::Other(other) => write!(f, "({})", other.disp(context).to_string().trim()),
        }
    }
}

impl Printable for TensorType {
    fn fmt(&self, context: &Context, _: &printable::State, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<")?;
        self.write(context, f)?;
        f.write_str(">")
    }
}

impl Parsable for TensorType {
    type Arg = ();
    type Parsed = TypedHandle<Self>;

    fn parse<'a>(input: &mut StateStream<'a>, (): ()) -> ParseResult<'a, Self::Parsed> {
        let mut reader = Reader(input);
        done(reader.between_angles(Self::read))
    }
}

/// A scalar of a dtype for which pliron has no type, as `promote.scalar <f8E4M3FN>`: see [`scalar`].
#[pliron_type(name = "promote.scalar", verifier = "succ")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScalarType(DType);

impl ScalarType {
    /// Its dtype.
    pub const fn dtype(&self) -> DType {
        self.0
    }
}

impl Printable for ScalarType {
    fn fmt(&self, _: &Context, _: &printable::State, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.0.mlir())
    }
}

impl Parsable for ScalarType {
    type Arg = ();
    type Parsed = TypedHandle<Self>;

    fn parse<'a>(input: &mut StateStream<'a>, (): ()) -> ParseResult<'a, Self::Parsed> {
        let mut reader = Reader(input);
        done(reader.between_angles(|reader| {
            let dtype = read_dtype(reader)?;
            Ok(Self::instantiate(Self(dtype), reader.0.state.ctx))
        }))
    }
}

/// An integer as wide as addresses: extents, positions and trip counts.
#[pliron_type(name = "promote.index", format, generate_get = true, verifier = "succ")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IndexType;

/// The type of a scalar of a dtype: pliron's own, where there is one.
pub fn scalar(context: &Context, dtype: DType) -> TypeHandle {
    let integer = |signedness| IntegerType::get(context, dtype.bits(), signedness).into();
    match dtype {
        DType::BF16 => BF16Type::get(context).into(),
        DType::F16 => FP16Type::get(context).into(),
        DType::F32 => FP32Type::get(context).into(),
        DType::F64 => FP64Type::get(context).into(),
        DType::I1 => integer(Signedness::Signed),
        weak if weak.is_weak() => ScalarType::instantiate(ScalarType(weak), context).into(),
        other => match other.kind() {
            Kind::Bool | Kind::Signed => integer(Signedness::Signless),
            Kind::Unsigned => integer(Signedness::Unsigned),
            Kind::Float | Kind::Complex => ScalarType::instantiate(ScalarType(other), context).into(),
        },
    }
}

/// Whether a type is an integer without a sign.
pub(crate) fn is_plain_integer(context: &Context, of: TypeHandle) -> bool {
    let of = of.deref(context);
    of.downcast_ref::<IntegerType>().is_some_and(IntegerType::is_signless)
}

/// Whether a type is `i1`.
pub(crate) fn is_bit(context: &Context, of: TypeHandle) -> bool {
    let width = of.deref(context).downcast_ref::<IntegerType>().map(IntegerType::width);
    width == Some(1) && is_plain_integer(context, of)
}

/// The dtype that a scalar is of, if it is of one.
pub fn dtype_of_scalar(context: &Context, scalar_type: TypeHandle) -> Option<DType> {
    if let Some(scalar) = scalar_type.deref(context).downcast_ref::<ScalarType>() {
        return Some(scalar.0);
    }
    DType::strong().find(|dtype| scalar(context, *dtype) == scalar_type)
}

fn read_shape(reader: &mut Reader<'_, '_>) -> Read<Shape> {
    if reader.accept('*') {
        reader.expect('x')?;
        return Ok(Shape::UNRANKED);
    }
    let mut dims = Vec::new();
    loop {
        if reader.accept('?') {
            dims.push(DYNAMIC);
        } else if reader.peek().is_some_and(|next| next.is_ascii_digit()) {
            dims.push(reader.integer()?);
        } else {
            return Ok(Shape::ranked(dims));
        }
        reader.expect('x')?;
    }
}

fn read_element(reader: &mut Reader<'_, '_>) -> Read<Element> {
    if reader.accept('(') {
        let other = reader.r#type()?;
        reader.expect(')')?;
        return Ok(Element::Other(other));
    }
    let (at, word) = read_word(reader);
    match word == UNKNOWN {
        true => Ok(Element::Unknown),
        false => dtype_called(reader, &word, at).map(Element::DType),
    }
}

pub(crate) fn read_dtype(reader: &mut Reader<'_, '_>) -> Read<DType> {
    let (at, word) = read_word(reader);
    dtype_called(reader, &word, at)
}

fn dtype_called(reader: &mut Reader<'_, '_>, word: &str, at: pliron::location::Location) -> Read<DType> {
    let found = DType::ALL.iter().copied().find(|dtype| dtype.mlir() == word);
    match found {
        Some(dtype) => Ok(dtype),
        None if word.is_empty() => reader.fail("an element type, as f32 or !promote.weak_int"),
        None => pliron::input_err!(at, "`{word}` is no element type: write it as MLIR does, as f32 or ui8")?,
    }
}

/// The name of an element type, which may have a part in angles.
fn read_word(reader: &mut Reader<'_, '_>) -> (pliron::location::Location, String) {
    reader.skip_spaces();
    let at = reader.location();
    let mut word = reader.take_while(|next| next.is_ascii_alphanumeric() || matches!(next, '_' | '.' | '!'));
    if word == "complex" && reader.take(|next| next == '<').is_some() {
        let part = reader.take_while(|next| next.is_ascii_alphanumeric());
        word = format!("complex<{part}>");
        if reader.take(|next| next == '>').is_none() {
            word.pop();
        }
    }
    (at, word)
}
