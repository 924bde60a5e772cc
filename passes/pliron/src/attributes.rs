//! Attributes: what pliron has none for, and the keys by which ops have them.
//!
//! Keys are one namespace in pliron, for all dialects, so the dialect's begin with `promote_`: the attribute `axis` of MLIR
//! is `promote_axis` here, and `promote.implicit` is `promote_implicit`.

use std::fmt;

use pliron::attribute::AttrObj;
use pliron::builtin::attr_interfaces::TypedAttrInterface;
use pliron::builtin::attributes::{BoolAttr, FPDoubleAttr, IntegerAttr};
use pliron::builtin::types::{IntegerType, Signedness};
use pliron::common_traits::Verify;
use pliron::context::Context;
use pliron::derive::{attr_interface_impl, pliron_attr};
use pliron::identifier::Identifier;
use pliron::location::Location;
use pliron::parsable::{Parsable, ParseResult, StateStream};
use pliron::printable::{self, Printable};
use pliron::result::Result;
use pliron::r#type::{TypeHandle, TypedHandle};
use pliron::utils::apint::APInt;
use pliron::{ident, verify_err_noloc};
use promote_dialect::attrs::Value;
use promote_host::ir::Mark;
use promote_lattice::DType;
use promote_lattice::convert::Bits;

use crate::numbers;
use crate::reader::{Read, Reader, done};
use crate::types::{Element, IndexType, TensorType, read_dtype, scalar};

/// What the keys of the dialect begin with.
const PREFIX: &str = "promote_";

/// The value of a constant.
pub const VALUE: Identifier = ident!("promote_value");
/// The shape of a broadcast.
pub const SHAPE: Identifier = ident!("promote_shape");
/// The function that a call names.
pub const CALLEE: Identifier = ident!("promote_callee");
/// Who sees a function: `"public"`, as without it, `"private"` or `"nested"`.
pub const VISIBILITY: Identifier = ident!("promote_visibility");
/// The number of a comparison's predicate.
pub const PREDICATE: Identifier = ident!("promote_predicate");
/// What an assertion says.
pub const MESSAGE: Identifier = ident!("promote_msg");
/// The cases of a switch.
pub const CASES: Identifier = ident!("promote_cases");
/// The places of a block's arguments, which are attributes of the block.
pub const ARGUMENT_LOCATIONS: Identifier = ident!("promote_argument_locations");

/// The key of an attribute that MLIR knows by this name.
///
/// ```
/// # use promote_pliron::attributes::key;
/// assert_eq!(key("axis").map(String::from), Some("promote_axis".to_owned()));
/// assert_eq!(key("promote.implicit").map(String::from), Some("promote_implicit".to_owned()));
/// ```
pub fn key(name: &str) -> Option<Identifier> {
    let name = name.strip_prefix("promote.").unwrap_or(name);
    Identifier::try_new(format!("{PREFIX}{}", name.replace('.', "_"))).ok()
}

/// The name by which MLIR knows the attribute of a key, if that is one of the dialect.
pub fn name(key: &Identifier) -> Option<String> {
    let name = key.as_ref().strip_prefix(PREFIX)?;
    Some(match name {
        "implicit" | "checked" => format!("promote.{name}"),
        _ => name.to_owned(),
    })
}

/// Whether a key is of the dialect.
pub fn is_ours(key: &Identifier) -> bool {
    key.as_ref().starts_with(PREFIX)
}

/// The key of a mark.
pub const fn mark(mark: Mark) -> Identifier {
    match mark {
        Mark::Implicit => ident!("promote_implicit"),
        Mark::Checked => ident!("promote_checked"),
    }
}

/// One `i64`.
pub fn integer(context: &Context, value: i64) -> AttrObj {
    let width = std::num::NonZero::new(64).expect("64 is not 0");
    let of = IntegerType::get(context, 64, Signedness::Signless);
    IntegerAttr::new(of, APInt::from_i64(value, width)).into()
}

/// What an attribute says, as the checks of the dialect take it.
pub fn value(context: &Context, attribute: &AttrObj) -> Value {
    if let Some(list) = attribute.downcast_ref::<IntsAttr>() {
        return Value::Ints(list.0.clone());
    }
    if let Some(integer) = attribute.downcast_ref::<IntegerAttr>() {
        let is_i64 = integer.get_type().deref(context).width() == 64 && integer.value().bw() == 64;
        return if is_i64 { Value::Int(integer.value().to_i64()) } else { Value::Other };
    }
    if let Some(flag) = attribute.downcast_ref::<BoolAttr>() {
        return Value::Flag(bool::from(flag.clone()));
    }
    if let Some(float) = attribute.downcast_ref::<FPDoubleAttr>() {
        return Value::Float(f64::from(float.clone()));
    }
    if attribute.is::<ElementsAttr>() { Value::Elements } else { Value::Other }
}

/// A list of integers, as `promote.ints [0, 1]`.
#[pliron_attr(name = "promote.ints", verifier = "succ")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IntsAttr(pub Box<[i64]>);

impl Printable for IntsAttr {
    fn fmt(&self, _: &Context, _: &printable::State, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

impl Parsable for IntsAttr {
    type Arg = ();
    type Parsed = Self;

    fn parse<'a>(input: &mut StateStream<'a>, (): ()) -> ParseResult<'a, Self> {
        done(Reader(input).list(Reader::integer).map(|list| Self(list.into())))
    }
}

/// An index, as `promote.index_value 3`.
#[pliron_attr(name = "promote.index_value", verifier = "succ")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IndexAttr(pub i64);

impl Printable for IndexAttr {
    fn fmt(&self, _: &Context, _: &printable::State, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl Parsable for IndexAttr {
    type Arg = ();
    type Parsed = Self;

    fn parse<'a>(input: &mut StateStream<'a>, (): ()) -> ParseResult<'a, Self> {
        done(Reader(input).integer().map(Self))
    }
}

#[attr_interface_impl]
impl TypedAttrInterface for IndexAttr {
    fn get_type(&self, context: &Context) -> TypeHandle {
        IndexType::get(context).into()
    }
}

/// A scalar of any dtype, by its bits, as `promote.number <f8E4M3FN: 1.5>`.
#[pliron_attr(name = "promote.number", verifier = "succ")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NumberAttr {
    dtype: DType,
    bits: Bits,
}

impl NumberAttr {
    /// The number of a dtype that these bits are.
    pub const fn new(dtype: DType, bits: Bits) -> Self {
        Self { dtype, bits: bits & numbers::mask(dtype) }
    }

    /// Its dtype.
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// Its bits.
    pub const fn bits(&self) -> Bits {
        self.bits
    }
}

impl Printable for NumberAttr {
    fn fmt(&self, _: &Context, _: &printable::State, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}: ", self.dtype.mlir())?;
        numbers::write(self.bits, self.dtype, f)?;
        f.write_str(">")
    }
}

impl Parsable for NumberAttr {
    type Arg = ();
    type Parsed = Self;

    fn parse<'a>(input: &mut StateStream<'a>, (): ()) -> ParseResult<'a, Self> {
        done(Reader(input).between_angles(|reader| {
            let dtype = read_dtype(reader)?;
            reader.expect(':')?;
            Ok(Self::new(dtype, numbers::read(reader, dtype)?))
        }))
    }
}

#[attr_interface_impl]
impl TypedAttrInterface for NumberAttr {
    fn get_type(&self, context: &Context) -> TypeHandle {
        scalar(context, self.dtype)
    }
}

/// The elements of a tensor in row-major order, as `promote.elements <2x2xf32: [1.0, 2.0, 3.0, 4.0]>`, or one that stands for
/// all, as `promote.elements <2x2xf32: 0.0>`.
#[pliron_attr(name = "promote.elements")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ElementsAttr {
    tensor: TypedHandle<TensorType>,
    dtype: DType,
    /// The bytes of each element, the lowest first.
    bytes: Box<[u8]>,
}

impl ElementsAttr {
    /// Elements of a tensor type; a single one stands for all. `None` if the type is not of a dtype, if its shape is not
    /// static, or if there are not as many.
    pub fn new(context: &Context, tensor: TypedHandle<TensorType>, elements: &[Bits]) -> Option<Self> {
        let Element::DType(dtype) = tensor.deref(context).element() else { return None };
        let width = width(dtype);
        let bits = elements.iter().map(|bits| (bits & numbers::mask(dtype)).to_le_bytes());
        let bytes = bits.flat_map(|bytes| bytes.into_iter().take(width)).collect();
        let made = Self { tensor, dtype, bytes };
        made.is_complete(context).then_some(made)
    }

    /// The type of the tensor.
    pub const fn tensor(&self) -> TypedHandle<TensorType> {
        self.tensor
    }

    /// The dtype of the elements.
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// The elements; one, if it stands for all.
    pub fn elements(&self) -> impl ExactSizeIterator<Item = Bits> {
        let bits = |bytes: &[u8]| bytes.iter().rev().fold(0, |bits, byte| bits << 8 | Bits::from(*byte));
        self.bytes.chunks_exact(width(self.dtype)).map(bits)
    }

    fn is_complete(&self, context: &Context) -> bool {
        let (given, wanted) = (self.elements().len(), self.tensor.deref(context).count());
        wanted.is_some_and(|wanted| given == wanted || given == 1)
    }

    fn read(reader: &mut Reader<'_, '_>) -> Read<Self> {
        let at = reader.location();
        let tensor = TensorType::read(reader)?;
        let Element::DType(dtype) = tensor.deref(reader.0.state.ctx).element() else {
            return pliron::input_err!(at, "the elements of a constant must be of a dtype")?;
        };
        reader.expect(':')?;
        reader.skip_spaces();
        let elements = match reader.peek() {
            Some('[') => reader.list(|reader| numbers::read(reader, dtype))?,
            _ => vec![numbers::read(reader, dtype)?],
        };
        match Self::new(reader.0.state.ctx, tensor, &elements) {
            Some(made) => Ok(made),
            None => pliron::input_err!(at, "the type has not {} elements", elements.len())?,
        }
    }
}

/// How many bytes an element takes.
const fn width(dtype: DType) -> usize {
    dtype.bits().div_ceil(8) as usize
}

impl Verify for ElementsAttr {
    fn verify(&self, context: &Context) -> Result<()> {
        if self.is_complete(context) {
            return Ok(());
        }
        verify_err_noloc!("the type has not {} elements", self.elements().len())
    }
}

impl Printable for ElementsAttr {
    fn fmt(&self, context: &Context, _: &printable::State, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<")?;
        self.tensor.deref(context).write(context, f)?;
        f.write_str(": ")?;
        let mut elements = self.elements();
        if elements.len() == 1 {
            elements.try_for_each(|bits| numbers::write(bits, self.dtype, f))?;
            return f.write_str(">");
        }
        f.write_str("[")?;
        for (index, bits) in elements.enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            numbers::write(bits, self.dtype, f)?;
        }
        f.write_str("]>")
    }
}

impl Parsable for ElementsAttr {
    type Arg = ();
    type Parsed = Self;

    fn parse<'a>(input: &mut StateStream<'a>, (): ()) -> ParseResult<'a, Self> {
        done(Reader(input).between_angles(Self::read))
    }
}

#[attr_interface_impl]
impl TypedAttrInterface for ElementsAttr {
    fn get_type(&self, _: &Context) -> TypeHandle {
        self.tensor.into()
    }
}

/// Places, as `promote.locations [?, "a.mlir": line: 1, column: 2]`.
#[pliron_attr(name = "promote.locations", verifier = "succ")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LocationsAttr(pub Vec<Location>);

impl Printable for LocationsAttr {
    fn fmt(&self, context: &Context, state: &printable::State, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (index, location) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            location.fmt(context, state, f)?;
        }
        f.write_str("]")
    }
}

impl Parsable for LocationsAttr {
    type Arg = ();
    type Parsed = Self;

    fn parse<'a>(input: &mut StateStream<'a>, (): ()) -> ParseResult<'a, Self> {
        done(Reader(input).list(Reader::place).map(Self))
    }
}
