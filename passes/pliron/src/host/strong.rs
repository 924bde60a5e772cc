//! Strong programs in pliron, as lowering reads them.

use pliron::attribute::{AttrObj, attr_cast};
use pliron::builtin::attr_interfaces::{FloatAttr, TypedAttrInterface};
use pliron::builtin::attributes::{BoolAttr, IntegerAttr, StringAttr};
use pliron::builtin::types::IntegerType;
use pliron::context::{Context, Ptr};
use pliron::operation::Operation;
use pliron::printable::Printable;
use pliron::r#type::TypeHandle;
use promote_host::strong::Strong;
use promote_lattice::Kind;
use promote_lower::program::Literal;
use promote_lower::types::Number;

use super::Host;
use crate::attributes::{CASES, IndexAttr, IntsAttr, NumberAttr, key};
use crate::types::{IndexType, dtype_of_scalar};

impl Strong for Host<'_> {
    fn number_type(&self, r#type: TypeHandle) -> Option<Number> {
        let found = r#type.deref(self.context);
        if found.is::<IndexType>() {
            return Some(Number::Index);
        }
        if let Some(integer) = found.downcast_ref::<IntegerType>().filter(|integer| integer.is_signless()) {
            return Some(Number::Int(integer.width()));
        }
        let dtype = dtype_of_scalar(self.context, r#type);
        dtype.filter(|dtype| dtype.kind() == Kind::Float && !dtype.is_weak()).map(Number::Float)
    }

    fn number(&self, op: Ptr<Operation>, r#type: Number) -> Option<Literal> {
        self.attribute(op, "value", |value| match r#type {
            Number::Float(dtype) => {
                if let Some(number) = value.downcast_ref::<NumberAttr>() {
                    return (number.dtype() == dtype).then(|| Literal::Float(number.bits()));
                }
                let float = attr_cast::<dyn FloatAttr>(&**value)?;
                let of = attr_cast::<dyn TypedAttrInterface>(&**value)?.get_type(self.context);
                let is_same = dtype_of_scalar(self.context, of) == Some(dtype);
                is_same.then(|| Literal::Float(float.get_inner().to_bits()))
            }
            Number::Int(1) => {
                let flag = value.downcast_ref::<BoolAttr>().map(|flag| bool::from(flag.clone()));
                flag.or_else(|| integer(value).map(|number| number != 0))
                    .map(|truth| Literal::Int(truth.into()))
            }
            Number::Index | Number::Int(_) => integer(value).map(Literal::Int),
        })
    }

    fn integer(&self, op: Ptr<Operation>, name: &str) -> Option<i64> {
        self.attribute(op, name, integer)
    }

    fn cases(&self, op: Ptr<Operation>) -> Vec<i64> {
        let op = op.deref(self.context);
        op.attributes.get::<IntsAttr>(&CASES).map_or_else(Vec::new, |cases| cases.0.to_vec())
    }

    fn string(&self, op: Ptr<Operation>, name: &str) -> Option<String> {
        self.attribute(op, name, |value| {
            value.downcast_ref::<StringAttr>().map(|text| text.as_str().to_owned())
        })
    }

    fn attribute_text(&self, op: Ptr<Operation>, name: &str) -> Option<String> {
        self.attribute(op, name, |value| Some(text(self.context, value)))
    }
}

impl Host<'_> {
    fn attribute<T>(
        &self,
        op: Ptr<Operation>,
        name: &str,
        read: impl Fn(&AttrObj) -> Option<T>,
    ) -> Option<T> {
        read(op.deref(self.context).attributes.0.get(&key(name)?)?)
    }
}

fn integer(value: &AttrObj) -> Option<i64> {
    if let Some(index) = value.downcast_ref::<IndexAttr>() {
        return Some(index.0);
    }
    let number = value.downcast_ref::<IntegerAttr>()?.value();
    // As MLIR has it, a truth value is 0 or 1, and other numbers have a sign.
    (number.bw() <= 64).then(|| if number.bw() == 1 { number.to_u64() as i64 } else { number.to_i64() })
}

/// An attribute as MLIR prints it, as far as that is asked for: integers and the names of cases.
fn text(context: &Context, value: &AttrObj) -> String {
    if let Some(case) = value.downcast_ref::<StringAttr>() {
        return case.as_str().to_owned();
    }
    match value.downcast_ref::<IntegerAttr>() {
        Some(number) => format!("{} : i{}", number.value().to_string_signed_decimal(), number.value().bw()),
        None => value.disp(context).to_string(),
    }
}
