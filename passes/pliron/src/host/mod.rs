//! The host: a pliron program as the passes of `promote-host` see it.
//!
//! Names and types in messages are MLIR's, so that a program is spoken of alike in both IRs. Ops of other crates are known by
//! pliron's interfaces: a branch passes on to its successors, an op whose regions may run again is a loop.

mod constants;
mod ids;
mod kinds;
pub(crate) mod places;
mod strong;
mod symbols;
pub(crate) mod types;

use std::any::TypeId;
use std::cell::{Cell, RefCell};

use pliron::basic_block::BasicBlock;
use pliron::builtin::attributes::{IdentifierAttr, StringAttr, TypeAttr, UnitAttr};
use pliron::builtin::op_interfaces::{ATTR_KEY_SYM_NAME, SymbolUserOpInterface};
use pliron::builtin::ops::{FuncOp, ModuleOp};
use pliron::builtin::type_interfaces::FunctionTypeInterface;
use pliron::builtin::types::FunctionType;
use pliron::context::{Context, Ptr};
use pliron::irbuild::cloning::{IrMapping, clone_operation};
use pliron::irbuild::listener::DummyListener;
use pliron::irbuild::rewriter::IRRewriter;
use pliron::linked_list::{ContainsLinkedList, LinkedList};
use pliron::op::op_cast;
use pliron::operation::Operation;
use pliron::region::Region;
use pliron::r#type::{TypeHandle, Typed, type_cast};
use pliron::value::{DefiningEntity, Value};
use promote_diagnostics::Location;
use promote_dialect::attrs::Value as Attribute;
use promote_host::ir::{self, Ir, Kind, Mark, New, Signature, Tensor, Visibility};
use promote_infer::shape::Shape;
use promote_lattice::DType;
use promote_lattice::convert::Bits;
use rustc_hash::FxHashMap;

use crate::attributes::{self, CALLEE, ElementsAttr, VALUE, VISIBILITY};
use crate::dialect::scf::InParallelOp;
use crate::types::{Element, TensorType};

pub use ids::Ids;
use symbols::identifier;

/// From how many results or arguments on the number of one is remembered: pliron looks through all of them each time.
const MANY: usize = 8;

/// A pliron program, and what is remembered of it.
pub struct Host<'a> {
    context: &'a mut Context,
    /// The ops that this crate knows.
    known: &'static kinds::Table,
    /// The one of them that was last asked for.
    last: Cell<(TypeId, Kind)>,
    /// The names of the ops of other crates that were met.
    foreign: RefCell<FxHashMap<TypeId, String>>,
    /// The values that stand among many, by their place among them.
    numbers: RefCell<FxHashMap<Value, usize>>,
    /// The types of those that are arguments.
    types: RefCell<FxHashMap<Value, TypeHandle>>,
    /// The block that was last asked for the order of its ops.
    order: RefCell<Option<Order>>,
}

/// A block, and where its ops stand in it.
type Order = (Ptr<BasicBlock>, FxHashMap<Ptr<Operation>, usize>);

impl<'a> Host<'a> {
    /// What is in a context.
    pub fn new(context: &'a mut Context) -> Self {
        Self {
            context,
            known: &kinds::KNOWN,
            last: Cell::new((TypeId::of::<ModuleOp>(), Kind::Module)),
            foreign: RefCell::default(),
            numbers: RefCell::default(),
            types: RefCell::default(),
            order: RefCell::default(),
        }
    }

    /// The context.
    pub const fn context(&self) -> &Context {
        self.context
    }

    /// Which of the results of its op, or of the arguments of its block, a value is.
    fn number(&self, value: Value) -> usize {
        let many: Vec<Value> = match value.defining_entity() {
            DefiningEntity::Op(op) => {
                let op = op.deref(self.context);
                if op.get_num_results() < MANY {
                    return op.results().position(|result| result == value).unwrap_or(0);
                }
                if let Some(number) = self.numbers.borrow().get(&value) {
                    return *number;
                }
                op.results().collect()
            }
            DefiningEntity::Block(block) => {
                let block = block.deref(self.context);
                if block.get_num_arguments() < MANY {
                    return block.arguments().position(|argument| argument == value).unwrap_or(0);
                }
                if let Some(number) = self.numbers.borrow().get(&value) {
                    return *number;
                }
                block.arguments().collect()
            }
        };
        let mut numbers = self.numbers.borrow_mut();
        numbers.extend(many.into_iter().enumerate().map(|(number, value)| (value, number)));
        numbers.get(&value).copied().unwrap_or(0)
    }

    fn function(&self, op: Ptr<Operation>) -> Option<FuncOp> {
        Operation::get_op(op, self.context)
    }
}

/// Reads a part of the IR item by item.
macro_rules! items {
    ($self:ident, $of:expr, $count:ident, $item:ident) => {{
        let of = $of.deref(&*$self.context);
        (0..of.$count()).map(move |index| of.$item(index))
    }};
}

impl Ir for Host<'_> {
    type Op = Ptr<Operation>;
    type Value = Value;
    type Block = Ptr<BasicBlock>;
    type Region = Ptr<Region>;
    type Type = TypeHandle;
    type Name = TypeId;
    type Ids = Ids;

    fn map<T: Send, R: Send>(
        &mut self,
        items: Vec<T>,
        work: impl Fn(&mut Self, T) -> R + Sync + Send,
    ) -> Vec<R> {
        // A context of pliron is used by one thread at a time.
        items.into_iter().map(|item| work(self, item)).collect()
    }

    fn kind(&self, op: Ptr<Operation>) -> Kind {
        let found = kinds::type_of(self.context, op);
        if let (last, kind) = self.last.get()
            && last == found
        {
            return kind;
        }
        let Some(known) = self.known.get(&found) else { return kinds::foreign(self.context, op) };
        self.last.set((found, known.kind));
        known.kind
    }

    fn name(&self, op: Ptr<Operation>) -> TypeId {
        let name = kinds::type_of(self.context, op);
        if !self.known.contains_key(&name) {
            let text = || Operation::get_opid(op, self.context).to_string();
            self.foreign.borrow_mut().entry(name).or_insert_with(text);
        }
        name
    }

    fn name_text(&self, name: TypeId) -> String {
        let known = self.known.get(&name).map(|known| known.name.clone());
        known.or_else(|| self.foreign.borrow().get(&name).cloned()).unwrap_or_default()
    }

    fn location(&self, op: Ptr<Operation>) -> Option<Location> {
        places::location(self.context, op.deref(self.context).loc())
    }

    fn parent(&self, op: Ptr<Operation>) -> Option<Ptr<Operation>> {
        op.deref(self.context).get_parent_op(self.context)
    }

    fn block(&self, op: Ptr<Operation>) -> Ptr<BasicBlock> {
        op.deref(self.context).get_parent_block().expect("the op stands in a block")
    }

    fn next(&self, op: Ptr<Operation>) -> Option<Ptr<Operation>> {
        op.deref(self.context).get_next()
    }

    fn regions(&self, op: Ptr<Operation>) -> impl Iterator<Item = Ptr<Region>> {
        items!(self, op, num_regions, get_region)
    }

    fn has_regions(&self, op: Ptr<Operation>) -> bool {
        op.deref(self.context).num_regions() > 0
    }

    fn successors(&self, op: Ptr<Operation>) -> impl ExactSizeIterator<Item = Ptr<BasicBlock>> {
        items!(self, op, get_num_successors, get_successor)
    }

    fn blocks(&self, region: Ptr<Region>) -> impl Iterator<Item = Ptr<BasicBlock>> {
        region.deref(self.context).iter(self.context)
    }

    fn operations(&self, block: Ptr<BasicBlock>) -> impl Iterator<Item = Ptr<Operation>> {
        block.deref(self.context).iter(self.context)
    }

    fn last(&self, block: Ptr<BasicBlock>) -> Option<Ptr<Operation>> {
        block.deref(self.context).get_tail()
    }

    fn arguments(&self, block: Ptr<BasicBlock>) -> impl ExactSizeIterator<Item = Value> {
        items!(self, block, get_num_arguments, get_argument)
    }

    fn region(&self, block: Ptr<BasicBlock>) -> Ptr<Region> {
        block.deref(self.context).get_parent_region().expect("the block stands in a region")
    }

    fn parent_of_block(&self, block: Ptr<BasicBlock>) -> Ptr<Operation> {
        self.region(block).deref(self.context).get_parent_op()
    }

    fn is_alone(&self, block: Ptr<BasicBlock>) -> bool {
        let block = block.deref(self.context);
        block.get_next().is_none() && block.get_prev().is_none()
    }

    fn outside_of_combining(&self, op: Ptr<Operation>) -> Ptr<Operation> {
        let parent = self.parent(op).filter(|parent| Operation::is_op::<InParallelOp>(*parent, self.context));
        parent.unwrap_or(op)
    }

    fn is_same_or_after(&self, op: Ptr<Operation>, other: Ptr<Operation>) -> bool {
        let block = self.block(op);
        if self.block(other) != block {
            return false;
        }
        let mut known = self.order.borrow_mut();
        let (_, order) = match known.take().filter(|(of, _)| *of == block) {
            Some(order) => known.insert(order),
            None => {
                known.insert((block, self.operations(block).enumerate().map(|(at, op)| (op, at)).collect()))
            }
        };
        order.get(&op) >= order.get(&other)
    }

    fn operands(&self, op: Ptr<Operation>) -> impl ExactSizeIterator<Item = Value> {
        items!(self, op, get_num_operands, get_operand)
    }

    fn operand(&self, op: Ptr<Operation>, index: usize) -> Value {
        op.deref(self.context).get_operand(index)
    }

    fn results(&self, op: Ptr<Operation>) -> impl ExactSizeIterator<Item = Value> {
        items!(self, op, get_num_results, get_result)
    }

    fn result(&self, op: Ptr<Operation>) -> Value {
        op.deref(self.context).get_result(0)
    }

    fn value_type(&self, value: Value) -> TypeHandle {
        match value.defining_entity() {
            DefiningEntity::Op(op) => op.deref(self.context).get_type(self.number(value)),
            DefiningEntity::Block(block) if block.deref(self.context).get_num_arguments() < MANY => {
                value.get_type(self.context)
            }
            DefiningEntity::Block(_) => {
                *self.types.borrow_mut().entry(value).or_insert_with(|| value.get_type(self.context))
            }
        }
    }

    fn defining_op(&self, value: Value) -> Option<Ptr<Operation>> {
        value.defining_op()
    }

    fn argument_block(&self, value: Value) -> Ptr<BasicBlock> {
        value.defining_block().expect("the value is an argument of a block")
    }

    fn argument_number(&self, value: Value) -> usize {
        self.number(value)
    }

    fn location_of_argument(&self, value: Value) -> Option<Location> {
        places::of_argument(self.context, self.argument_block(value), self.number(value))
    }

    fn users(&self, value: Value) -> impl Iterator<Item = Ptr<Operation>> {
        value.uses(self.context).into_iter().map(|found| found.user_op())
    }

    fn use_count(&self, value: Value) -> usize {
        value.num_uses(self.context)
    }

    fn is_used(&self, value: Value) -> bool {
        value.is_used(self.context)
    }

    fn tensor(&self, r#type: TypeHandle) -> Option<Tensor> {
        let found = r#type.deref(self.context);
        let tensor = found.downcast_ref::<TensorType>()?;
        let element = match tensor.element() {
            Element::DType(dtype) => ir::Element::DType(dtype),
            Element::Unknown => ir::Element::Unknown,
            Element::Other(_) => ir::Element::Other,
        };
        Some(Tensor { element, shape: tensor.shape().clone() })
    }

    fn tensor_type(&self, dtype: DType, shape: &Shape) -> TypeHandle {
        TensorType::get(self.context, Element::DType(dtype), shape).into()
    }

    fn mentions_promote(&self, r#type: TypeHandle) -> bool {
        types::mentions(self.context, r#type, false)
    }

    fn mentions_unknown(&self, r#type: TypeHandle) -> bool {
        types::mentions(self.context, r#type, true)
    }

    fn type_text(&self, r#type: TypeHandle) -> String {
        types::text(self.context, r#type)
    }

    fn has_attributes(&self, op: Ptr<Operation>) -> bool {
        op.deref(self.context).attributes.0.iter().any(|(key, _)| attributes::is_ours(key))
    }

    fn attributes(&self, op: Ptr<Operation>) -> Vec<(String, Attribute)> {
        let op = op.deref(self.context);
        let named = |(key, value)| Some((attributes::name(key)?, attributes::value(self.context, value)));
        op.attributes.0.iter().filter_map(named).collect()
    }

    fn is_marked(&self, op: Ptr<Operation>, mark: Mark) -> bool {
        op.deref(self.context).attributes.0.contains_key(&attributes::mark(mark))
    }

    fn mark(&mut self, op: Ptr<Operation>, mark: Mark) {
        op.deref_mut(self.context).attributes.set(attributes::mark(mark), UnitAttr);
    }

    fn written_type(&self, op: Ptr<Operation>) -> Option<TypeHandle> {
        let op = op.deref(self.context);
        op.attributes.get::<ElementsAttr>(&VALUE).map(|value| value.tensor().into())
    }

    fn elements(&self, op: Ptr<Operation>, dtype: DType) -> Option<Vec<Bits>> {
        let op = op.deref(self.context);
        let value = op.attributes.get::<ElementsAttr>(&VALUE).filter(|value| value.dtype() == dtype)?;
        Some(value.elements().collect())
    }

    fn symbol(&self, op: Ptr<Operation>) -> Option<String> {
        let op = op.deref(self.context);
        op.attributes.get::<IdentifierAttr>(&ATTR_KEY_SYM_NAME).map(|name| name.as_ref().to_string())
    }

    fn set_symbol(&mut self, op: Ptr<Operation>, name: &str) {
        let name = IdentifierAttr::new(identifier(name));
        op.deref_mut(self.context).attributes.set(ATTR_KEY_SYM_NAME.clone(), name);
    }

    fn symbol_like(&self, name: String) -> String {
        identifier(&name).into()
    }

    fn visibility(&self, function: Ptr<Operation>) -> Visibility {
        let function = function.deref(self.context);
        match function.attributes.0.get(&VISIBILITY).map(|found| found.downcast_ref::<StringAttr>()) {
            None => Visibility::Public,
            Some(Some(text)) if text.as_str() == "public" => Visibility::Public,
            Some(Some(text)) if text.as_str() == "private" => Visibility::Private,
            Some(_) => Visibility::Other,
        }
    }

    fn signature(&self, function: Ptr<Operation>) -> Option<Signature<TypeHandle>> {
        let stated = self.stated_signature(function)?;
        let stated = stated.deref(self.context);
        let signature = type_cast::<dyn FunctionTypeInterface>(&*stated)?;
        Some(Signature { inputs: signature.arg_types(), results: signature.res_types() })
    }

    fn signature_text(&self, function: Ptr<Operation>) -> String {
        self.stated_signature(function).map_or_else(String::new, |stated| self.type_text(stated))
    }

    fn set_signature(&mut self, function: Ptr<Operation>, signature: &Signature<TypeHandle>) {
        let Signature { inputs, results } = signature.clone();
        let signature = FunctionType::get(self.context, inputs, results);
        if let Some(function) = self.function(function) {
            function.set_attr_builtin_func_type(self.context, TypeAttr::new(signature.into()));
        }
    }

    fn callee(&self, call: Ptr<Operation>) -> Option<String> {
        let call = call.deref(self.context);
        call.attributes.get::<IdentifierAttr>(&CALLEE).map(|name| name.as_ref().to_string())
    }

    fn set_callee(&mut self, call: Ptr<Operation>, name: &str) {
        call.deref_mut(self.context).attributes.set(CALLEE, IdentifierAttr::new(identifier(name)));
    }

    fn symbols_named(&self, op: Ptr<Operation>) -> Vec<String> {
        if self.kind(op) == Kind::Call {
            return Vec::new();
        }
        let found = Operation::get_op_dyn(op, self.context);
        let user = op_cast::<dyn SymbolUserOpInterface>(&*found);
        user.map_or_else(Vec::new, |user| {
            user.used_symbols(self.context).into_iter().map(String::from).collect()
        })
    }

    fn set_type(&mut self, value: Value, r#type: TypeHandle) {
        value.set_type(self.context, r#type);
        if let Some(known) = self.types.get_mut().get_mut(&value) {
            *known = r#type;
        }
    }

    fn set_operand(&mut self, op: Ptr<Operation>, index: usize, value: Value) {
        Operation::replace_operand(op, self.context, index, value);
    }

    fn replace_all_uses(&mut self, of: Value, with: Value) {
        of.replace_all_uses_with(self.context, &with);
    }

    fn create(
        &mut self,
        new: New<'_>,
        operands: &[Value],
        result: Option<TypeHandle>,
        made_for: Ptr<Operation>,
    ) -> Ptr<Operation> {
        constants::create(self.context, new, operands, result, made_for)
    }

    fn create_constant(
        &mut self,
        elements: (&[Bits], DType),
        written: TypeHandle,
        result: TypeHandle,
        like: Ptr<Operation>,
    ) -> Ptr<Operation> {
        constants::create_constant(self.context, elements, written, result, like)
    }

    fn rewrite_constant(
        &mut self,
        elements: (&[Bits], DType),
        written: TypeHandle,
        result: TypeHandle,
        constant: Ptr<Operation>,
    ) {
        constants::rewrite(self.context, elements, written, result, constant);
    }

    fn copy(&mut self, op: Ptr<Operation>) -> Ptr<Operation> {
        let mut rewriter = IRRewriter::<DummyListener>::default();
        clone_operation(op, self.context, &mut rewriter, &mut IrMapping::new())
    }

    fn insert_before(&mut self, new: Ptr<Operation>, other: Ptr<Operation>) {
        *self.order.get_mut() = None;
        new.insert_before(self.context, other);
    }

    fn insert_after(&mut self, new: Ptr<Operation>, other: Ptr<Operation>) {
        *self.order.get_mut() = None;
        new.insert_after(self.context, other);
    }

    fn move_before(&mut self, op: Ptr<Operation>, other: Ptr<Operation>) {
        *self.order.get_mut() = None;
        if op != other {
            op.unlink(self.context);
            op.insert_before(self.context, other);
        }
    }

    fn erase(&mut self, op: Ptr<Operation>) {
        *self.order.get_mut() = None;
        Operation::erase(op, self.context);
    }
}
