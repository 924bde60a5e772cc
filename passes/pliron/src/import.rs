//! Programs of other hosts as programs of pliron.
//!
//! [`import`] copies a module of any host that [reads strong programs](Strong), as MLIR's does: the same ops with the same types,
//! attributes and places. It needs nothing of inference, so that a program may come over before or after any pass.

use pliron::attribute::AttrObj;
use pliron::basic_block::BasicBlock;
use pliron::builtin::attributes::{BoolAttr, FPDoubleAttr, IntegerAttr, StringAttr, UnitAttr};
use pliron::builtin::op_interfaces::SingleBlockRegionInterface;
use pliron::builtin::ops::ModuleOp;
use pliron::builtin::types::{IntegerType, Signedness};
use pliron::combine::stream::position::SourcePosition;
use pliron::context::{Context, Ptr};
use pliron::identifier::Identifier;
use pliron::location::{Location as Place, Source};
use pliron::op::Op as _;
use pliron::operation::Operation;
use pliron::region::Region;
use pliron::r#type::TypeHandle;
use pliron::utils::apint::APInt;
use pliron::value::Value;
use promote_diagnostics::{Code, Diagnostic, Location};
use promote_dialect::attrs::Value as Attribute;
use promote_host::ir::{self, Flow, Kind, Signature, Tensor, Visibility};
use promote_host::source::place_of;
use promote_host::strong::Strong;
use promote_lower::program::Literal;
use promote_lower::types::Number;
use rustc_hash::FxHashMap;

use crate::attributes::{ElementsAttr, IndexAttr, IntsAttr, NumberAttr, VISIBILITY, integer};
use crate::dialect::{self, Parts};
use crate::types::{Element, IndexType, TensorType, scalar};

/// A place as pliron has it.
pub(crate) fn place_in(context: &Context, place: &Location) -> Place {
    let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
    let src = Source::new_from_file(context, &place.file);
    let pos = SourcePosition { line: number(place.line), column: number(place.column) };
    Place::SrcPos { src, pos }
}

/// What a module without a name is called.
const NO_NAME: &str = "module";

/// Copies a module.
///
/// # Errors
/// What pliron has no type, op or name for. All of it is reported.
pub fn import<I: Strong>(ir: &I, root: I::Op, context: &mut Context) -> Result<ModuleOp, Vec<Diagnostic>> {
    let mut importer = Importer {
        ir,
        context,
        values: FxHashMap::default(),
        blocks: FxHashMap::default(),
        types: FxHashMap::default(),
        late: Vec::new(),
        refused: Vec::new(),
    };
    if ir.kind(root) != Kind::Module {
        return Err(vec![Diagnostic::error(Code::NotLowered, place_of(ir, root), "a module is copied")]);
    }
    let module = importer.module(root);
    importer.define_late();
    if importer.refused.is_empty() {
        return Ok(module);
    }
    let refused = importer.refused;
    Operation::erase(module.get_operation(), context);
    Err(refused)
}

/// An operand that is defined further on: the op that has it, which, the value, and what stands for it so far.
type Late<V> = (Ptr<Operation>, usize, V, Ptr<Operation>);

struct Importer<'a, I: Strong> {
    ir: &'a I,
    context: &'a mut Context,
    values: FxHashMap<I::Value, Value>,
    blocks: FxHashMap<I::Block, Ptr<BasicBlock>>,
    types: FxHashMap<I::Type, Option<TypeHandle>>,
    /// Operands that are defined further on.
    late: Vec<Late<I::Value>>,
    refused: Vec<Diagnostic>,
}

impl<I: Strong> Importer<'_, I> {
    fn refuse(&mut self, operation: I::Op, message: String) {
        let remedy = "programs of the dialect, of functions and of the control flow that the passes know can be copied";
        let error = Diagnostic::error(Code::NotLowered, place_of(self.ir, operation), message);
        self.refused.push(error.with_remedy(remedy));
    }

    fn module(&mut self, operation: I::Op) -> ModuleOp {
        let name = self.ir.symbol(operation).unwrap_or_else(|| NO_NAME.to_owned());
        let name = self.identifier(operation, &name);
        let module = ModuleOp::new(self.context, name);
        let place = self.location(self.ir.location(operation));
        module.get_operation().deref_mut(self.context).set_loc(place);
        let body = module.get_body(self.context, 0);
        let contents: Vec<_> = self.ir.regions(operation).flat_map(|region| self.ir.blocks(region)).collect();
        for block in contents {
            self.contents(block, body);
        }
        module
    }

    fn identifier(&mut self, operation: I::Op, name: &str) -> Identifier {
        Identifier::try_from(name).unwrap_or_else(|_| {
            self.refuse(operation, format!("@{name} is no name in pliron: names are letters, digits and _"));
            Identifier::try_from(NO_NAME).expect("it is letters")
        })
    }

    fn location(&self, place: Option<Location>) -> Place {
        place.map_or(Place::Unknown, |place| place_in(self.context, &place))
    }

    /// Copies the ops of a block to the end of one.
    fn contents(&mut self, block: I::Block, to: Ptr<BasicBlock>) {
        let operations: Vec<_> = self.ir.operations(block).collect();
        for operation in operations {
            if let Some(made) = self.operation(operation) {
                made.insert_at_back(to, self.context);
            }
        }
    }

    fn operation(&mut self, operation: I::Op) -> Option<Ptr<Operation>> {
        let kind = self.ir.kind(operation);
        match kind {
            Kind::Module => return Some(self.module(operation).get_operation()),
            Kind::Function => return self.function(operation),
            Kind::Promote(_)
            | Kind::Foreign { .. }
            | Kind::Call
            | Kind::Return
            | Kind::Poison
            | Kind::Flow(_)
            | Kind::Loop
            | Kind::Other => {}
        }
        let ir = self.ir;
        let results: Option<Vec<_>> =
            ir.results(operation).map(|result| self.r#type(operation, ir.value_type(result))).collect();
        let results = results?;
        let passed: usize = match kind {
            Kind::Flow(Flow::Branch(_)) => {
                ir.successors(operation).map(|block| ir.arguments(block).len()).sum()
            }
            _ => 0,
        };
        let mut late = Vec::new();
        let operands: Option<Vec<_>> = ir
            .operands(operation)
            .enumerate()
            .map(|(index, operand)| self.operand(operation, index, operand, &mut late))
            .collect();
        let operands = operands?;
        let (own, mut rest) = operands.split_at(operands.len() - passed);
        let successors: Vec<_> = ir
            .successors(operation)
            .map(|block| {
                let count = ir.arguments(block).len().min(rest.len());
                let (values, others) = rest.split_at(count);
                rest = others;
                (self.blocks[&block], values.to_vec())
            })
            .collect();
        let attributes = self.attributes(operation, kind)?;
        let attributes: Vec<_> =
            attributes.iter().map(|(name, value)| (name.as_str(), value.clone())).collect();
        let place = self.location(ir.location(operation));
        let regions = ir.regions(operation).count();
        let made = match kind {
            Kind::Promote(op) => dialect::op(self.context, op, own, attributes, results[0], place),
            _ => {
                let name = ir.name_text(ir.name(operation));
                let parts =
                    Parts { operands: own, results: &results, attributes, successors: &successors, regions };
                let Some(made) = dialect::operation(self.context, &name, parts, place) else {
                    self.refuse(operation, format!("pliron has no {name}"));
                    return None;
                };
                made
            }
        };
        self.late.extend(late.into_iter().map(|(index, value, stand_in)| (made, index, value, stand_in)));
        for (old, new) in ir.results(operation).zip(made.deref(self.context).results()) {
            self.values.insert(old, new);
        }
        let new: Vec<_> = made.deref(self.context).regions().collect();
        let old: Vec<_> = ir.regions(operation).collect();
        for (old, new) in old.into_iter().zip(new) {
            self.region(operation, old, new);
        }
        Some(made)
    }

    fn operand(
        &mut self,
        operation: I::Op,
        index: usize,
        value: I::Value,
        late: &mut Vec<(usize, I::Value, Ptr<Operation>)>,
    ) -> Option<Value> {
        if let Some(value) = self.values.get(&value) {
            return Some(*value);
        }
        let results = [self.r#type(operation, self.ir.value_type(value))?];
        let parts = Parts { results: &results, ..Parts::default() };
        let stand_in = dialect::operation(self.context, "ub.poison", parts, Place::Unknown)?;
        late.push((index, value, stand_in));
        Some(dialect::result_of(self.context, stand_in))
    }

    /// Gives operands that were defined further on their values.
    fn define_late(&mut self) {
        for (operation, index, value, stand_in) in std::mem::take(&mut self.late) {
            if let Some(value) = self.values.get(&value) {
                Operation::replace_operand(operation, self.context, index, *value);
                Operation::erase(stand_in, self.context);
            }
        }
    }

    fn function(&mut self, operation: I::Op) -> Option<Ptr<Operation>> {
        let ir = self.ir;
        let name = ir.symbol(operation).unwrap_or_default();
        let name = self.identifier(operation, &name).to_string();
        let Signature { inputs, results } = ir.signature(operation)?;
        let mut all = |types: Vec<I::Type>| {
            types.into_iter().map(|r#type| self.r#type(operation, r#type)).collect::<Option<Vec<_>>>()
        };
        let (inputs, results) = (all(inputs)?, all(results)?);
        let place = self.location(ir.location(operation));
        let blocks: Vec<_> = ir.regions(operation).flat_map(|region| ir.blocks(region)).collect();
        let made = match blocks.is_empty() {
            true => dialect::declaration(self.context, &name, &inputs, &results, place),
            false => dialect::function(self.context, &name, &inputs, &results, place).map(|(made, _)| made),
        };
        let made = made.expect("the name is an identifier").get_operation();
        let visibility = match ir.visibility(operation) {
            Visibility::Public => None,
            Visibility::Private => Some("private"),
            Visibility::Other => Some("nested"),
        };
        if let Some(visibility) = visibility {
            made.deref_mut(self.context).attributes.set(VISIBILITY, StringAttr::new(visibility.to_owned()));
        }
        let to = made.deref(self.context).get_region(0);
        self.blocks_of(operation, &blocks, to);
        Some(made)
    }

    fn region(&mut self, operation: I::Op, from: I::Region, to: Ptr<Region>) {
        let blocks: Vec<_> = self.ir.blocks(from).collect();
        self.blocks_of(operation, &blocks, to);
    }

    /// Copies blocks to a region, whose first block may be there.
    fn blocks_of(&mut self, operation: I::Op, blocks: &[I::Block], to: Ptr<Region>) {
        let ir = self.ir;
        let mut there = to.deref(self.context).get_entry_block();
        for block in blocks {
            let types: Vec<_> = ir
                .arguments(*block)
                .map(|argument| self.r#type(operation, ir.value_type(argument)))
                .collect();
            let types: Option<Vec<_>> = types.into_iter().collect();
            let new = there.take().unwrap_or_else(|| {
                let new = BasicBlock::new(self.context, None, types.unwrap_or_default());
                new.insert_at_back(to, self.context);
                new
            });
            self.blocks.insert(*block, new);
            let arguments: Vec<_> = new.deref(self.context).arguments().collect();
            self.values.extend(ir.arguments(*block).zip(arguments));
            let places = ir.arguments(*block).map(|old| self.location(ir.location_of_argument(old)));
            dialect::set_argument_locations(self.context, new, places.collect());
        }
        for block in blocks {
            self.contents(*block, self.blocks[block]);
        }
    }

    fn r#type(&mut self, operation: I::Op, r#type: I::Type) -> Option<TypeHandle> {
        if let Some(known) = self.types.get(&r#type) {
            return *known;
        }
        let found = self.new_type(r#type);
        if found.is_none() {
            let message = format!("pliron has no type like {}", self.ir.type_text(r#type));
            self.refuse(operation, message);
        }
        self.types.insert(r#type, found);
        found
    }

    fn new_type(&self, r#type: I::Type) -> Option<TypeHandle> {
        let context = &*self.context;
        let Some(Tensor { element, shape }) = self.ir.tensor(r#type) else {
            return Some(match self.ir.number_type(r#type)? {
                Number::Index => IndexType::get(context).into(),
                Number::Int(width) => IntegerType::get(context, width, Signedness::Signless).into(),
                Number::Float(dtype) => scalar(context, dtype),
            });
        };
        let element = match element {
            ir::Element::DType(dtype) => Element::DType(dtype),
            ir::Element::Unknown => Element::Unknown,
            // Of others programs have tensors of indices, as shapes.
            ir::Element::Other => {
                let text = self.ir.type_text(r#type);
                text.ends_with("index>").then(|| Element::Other(IndexType::get(context).into()))?
            }
        };
        Some(TensorType::get(context, element, &shape).into())
    }

    fn attributes(&mut self, operation: I::Op, kind: Kind) -> Option<Vec<(String, AttrObj)>> {
        let ir = self.ir;
        let mut all = Vec::new();
        if let Some(value) = self.value(operation) {
            all.push(("value".to_owned(), value));
        }
        if let Some(message) = ir.string(operation, "msg") {
            all.push(("msg".to_owned(), StringAttr::new(message).into()));
        }
        for name in ["pred", "roundingmode"] {
            if let Some(text) = ir.attribute_text(operation, name) {
                all.push((name.to_owned(), StringAttr::new(text).into()));
            }
        }
        match kind {
            Kind::Call => {
                let callee = ir.callee(operation)?;
                let callee = self.identifier(operation, &callee);
                let callee = pliron::builtin::attributes::IdentifierAttr::new(callee);
                all.push(("callee".to_owned(), callee.into()));
            }
            Kind::Flow(Flow::Branch(_))
                if ir.successors(operation).len() > 2 || !ir.cases(operation).is_empty() =>
            {
                all.push(("cases".to_owned(), IntsAttr(ir.cases(operation).into()).into()));
            }
            Kind::Promote(_)
            | Kind::Foreign { .. }
            | Kind::Flow(_)
            | Kind::Other
            | Kind::Loop
            | Kind::Poison
            | Kind::Return
            | Kind::Module
            | Kind::Function => {}
        }
        for (name, value) in ir.attributes(operation) {
            // Those of other dialects stay behind.
            let is_foreign = name.contains('.') && !name.starts_with("promote.");
            if is_foreign || name == "operandSegmentSizes" || all.iter().any(|(known, _)| *known == name) {
                continue;
            }
            all.extend(self.plain(value, kind.promote().is_some()).map(|value| (name, value)));
        }
        Some(all)
    }

    /// The value of a constant.
    fn value(&self, operation: I::Op) -> Option<AttrObj> {
        let ir = self.ir;
        if let Some(written) = ir.written_type(operation) {
            let tensor = ir.tensor(written)?;
            let ir::Element::DType(dtype) = tensor.element else { return None };
            let r#type = TensorType::get(self.context, Element::DType(dtype), &tensor.shape);
            return Some(ElementsAttr::new(self.context, r#type, &ir.elements(operation, dtype)?)?.into());
        }
        let result = ir.results(operation).next()?;
        let number = ir.number_type(ir.value_type(result))?;
        match (number, ir.number(operation, number)?) {
            (Number::Index, Literal::Int(value)) => Some(IndexAttr(value).into()),
            (Number::Int(width), Literal::Int(value)) => {
                let of = IntegerType::get(self.context, width, Signedness::Signless);
                let width = std::num::NonZero::new(width as usize)?;
                Some(IntegerAttr::new(of, APInt::from_i64(value, width)).into())
            }
            (Number::Float(dtype), Literal::Float(bits)) => Some(NumberAttr::new(dtype, bits).into()),
            (Number::Index | Number::Int(_) | Number::Float(_), _) => None,
        }
    }

    fn plain(&self, value: Attribute, is_ours: bool) -> Option<AttrObj> {
        Some(match value {
            Attribute::Int(value) => integer(self.context, value),
            Attribute::Flag(flag) => BoolAttr::new(flag).into(),
            Attribute::Float(value) => FPDoubleAttr::from(value).into(),
            Attribute::Ints(list) => IntsAttr(list).into(),
            // What is wrong with an op of the dialect is that, too.
            Attribute::Other if is_ours => UnitAttr.into(),
            Attribute::Other => return None,
            // The value of a constant comes with its elements.
            Attribute::Elements => return None,
        })
    }
}
