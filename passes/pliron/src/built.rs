//! Programs of `promote-builder` as programs of pliron.
//!
//! ```
//! use pliron::context::Context;
//! use promote_builder::Builder;
//! use promote_lattice::{DType, Semantics};
//! use promote_pliron::pass::{Config, promote};
//! use promote_pliron::{built, text};
//!
//! let mut builder = Builder::new();
//! builder.function("half", |f| f.argument(DType::BF16, &[Some(4)]) * 0.5);
//! let program = builder.finish()?;
//! let context = &mut Context::new();
//! let module = built::module(context, &program);
//! promote(context, module, &Config::new(Semantics::by_name("jax", false)?)).expect("nothing is wrong with it");
//! assert!(text::print(context, module).contains("promote.multiply"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use pliron::attribute::AttrObj;
use pliron::basic_block::BasicBlock;
use pliron::builtin::attributes::{BoolAttr, FPDoubleAttr, IdentifierAttr, StringAttr};
use pliron::builtin::op_interfaces::SingleBlockRegionInterface;
use pliron::builtin::ops::ModuleOp;
use pliron::builtin::types::{IntegerType, Signedness};
use pliron::context::{Context, Ptr};
use pliron::identifier::Identifier;
use pliron::location::Location as Place;
use pliron::op::Op as _;
use pliron::operation::Operation;
use pliron::region::Region;
use pliron::r#type::TypeHandle;
use pliron::value::Value;
use promote_builder::program::{self, Attribute, Body, Function, Id, Kind, Program, Type};
use promote_infer::shape::{DYNAMIC, Shape};

use crate::attributes::{ElementsAttr, IntsAttr, VISIBILITY, integer};
use crate::dialect::{self, Parts};
use crate::import::place_in;
use crate::types::{Element, IndexType, TensorType};

/// What the module is called.
const NAME: &str = "module";

/// Makes a module of a program, in no block yet.
pub fn module(context: &mut Context, program: &Program) -> Ptr<Operation> {
    let module = ModuleOp::new(context, identifier(NAME));
    let body = module.get_body(context, 0);
    for function in program.functions() {
        let made = Writer { context: &mut *context, function, values: vec![None; function.types.len()] };
        made.function().insert_at_back(body, context);
    }
    module.get_operation()
}

fn identifier(name: &str) -> Identifier {
    Identifier::try_from(name).expect("the builder takes names of letters, digits and _ only")
}

struct Writer<'a> {
    context: &'a mut Context,
    function: &'a Function,
    /// The values that are defined so far.
    values: Vec<Option<Value>>,
}

impl Writer<'_> {
    fn function(mut self) -> Ptr<Operation> {
        let Function { name, is_public, body, results, place, .. } = self.function;
        let inputs: Vec<_> = self.function.inputs().map(|input| self.r#type(input)).collect();
        let results: Vec<_> = results.iter().map(|result| self.r#type(result)).collect();
        let place = place_in(self.context, place);
        let made = dialect::function(self.context, name, &inputs, &results, place);
        let (made, entry) = made.expect("the builder takes names of letters, digits and _ only");
        let made = made.get_operation();
        if !is_public {
            let private = StringAttr::new("private".to_owned());
            made.deref_mut(self.context).attributes.set(VISIBILITY, private);
        }
        self.body(body, entry);
        made
    }

    /// Writes a body to a block that has its arguments.
    fn body(&mut self, body: &Body, block: Ptr<BasicBlock>) {
        let arguments: Vec<_> = block.deref(self.context).arguments().collect();
        for ((id, _), argument) in body.arguments.iter().zip(arguments) {
            self.values[id.0] = Some(argument);
        }
        let places = body.arguments.iter().map(|(_, place)| place_in(self.context, place)).collect();
        dialect::set_argument_locations(self.context, block, places);
        for operation in &body.operations {
            self.operation(operation).insert_at_back(block, self.context);
        }
    }

    fn region(&mut self, body: &Body, region: Ptr<Region>) {
        let types = body.arguments.iter().map(|(id, _)| self.type_of(*id)).collect();
        let block = BasicBlock::new(self.context, None, types);
        block.insert_at_back(region, self.context);
        self.body(body, block);
    }

    fn operation(&mut self, operation: &program::Operation) -> Ptr<Operation> {
        let program::Operation { kind, operands, results, attributes, bodies, place } = operation;
        let place = place_in(self.context, place);
        let operands: Vec<_> = operands.iter().map(|operand| self.value(*operand)).collect();
        let types: Vec<_> = results.iter().map(|result| self.type_of(*result)).collect();
        let attributes: Vec<_> =
            attributes.iter().map(|(name, value)| (name.as_str(), self.attribute(value))).collect();
        let made = match kind {
            Kind::Promote(op) => dialect::op(self.context, *op, &operands, attributes, types[0], place),
            Kind::Index(value) => dialect::index(self.context, *value, place),
            Kind::Call(callee) => {
                let callee = IdentifierAttr::new(identifier(callee));
                self.beside(kind, &operands, &types, vec![("callee", callee.into())], bodies, place)
            }
            Kind::Extract
            | Kind::Return
            | Kind::For
            | Kind::While
            | Kind::If
            | Kind::Yield
            | Kind::Condition => self.beside(kind, &operands, &types, attributes, bodies, place),
        };
        for (id, value) in results.iter().zip(made.deref(self.context).results()) {
            self.values[id.0] = Some(value);
        }
        let regions: Vec<_> = made.deref(self.context).regions().collect();
        for (body, region) in bodies.iter().zip(regions) {
            self.region(body, region);
        }
        made
    }

    /// An op of another dialect.
    fn beside(
        &mut self,
        kind: &Kind,
        operands: &[Value],
        results: &[TypeHandle],
        attributes: Vec<(&str, AttrObj)>,
        bodies: &[Body],
        place: Place,
    ) -> Ptr<Operation> {
        let parts = Parts { operands, results, attributes, successors: &[], regions: bodies.len() };
        let made = dialect::operation(self.context, &kind.name(), parts, place);
        made.expect("the ops beside the dialect that the builder writes are all here")
    }

    fn value(&self, id: Id) -> Value {
        self.values[id.0].expect("the builder refuses operands that are not defined before")
    }

    fn type_of(&self, id: Id) -> TypeHandle {
        self.r#type(self.function.type_of(id))
    }

    fn r#type(&self, r#type: &Type) -> TypeHandle {
        let context = &*self.context;
        match r#type {
            Type::Index => IndexType::get(context).into(),
            Type::Bit => IntegerType::get(context, 1, Signedness::Signless).into(),
            Type::Tensor { dtype, shape } => {
                let element = dtype.map_or(Element::Unknown, Element::DType);
                let shape = match shape {
                    None => Shape::UNRANKED,
                    Some(extents) => {
                        let extents: Vec<_> =
                            extents.iter().map(|extent| extent.unwrap_or(DYNAMIC)).collect();
                        Shape::ranked(extents.as_slice())
                    }
                };
                TensorType::get(context, element, &shape).into()
            }
        }
    }

    fn attribute(&self, attribute: &Attribute) -> AttrObj {
        match attribute {
            Attribute::Int(value) => integer(self.context, *value),
            Attribute::Flag(value) => BoolAttr::new(*value).into(),
            Attribute::Float(value) => FPDoubleAttr::from(*value).into(),
            Attribute::Ints(values) => IntsAttr(values.as_slice().into()).into(),
            Attribute::Elements(elements) => {
                let shape = Shape::ranked(elements.shape.as_slice());
                let r#type = TensorType::get(self.context, Element::DType(elements.dtype), &shape);
                let made = ElementsAttr::new(self.context, r#type, &elements.bits);
                made.expect("the builder counts elements").into()
            }
        }
    }
}
