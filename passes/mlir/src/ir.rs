//! MLIR as the passes see it.

use std::sync::Arc;

use mlir_sys::*;
use promote_diagnostics::Location;
use promote_dialect::attrs::Value as Attribute;
use promote_dialect::mlir::{Names, NotLoaded};
use promote_host::ir::{Element, Ir, KINDS, Kind, Mark, New, Signature, Tensor, Visibility};
use promote_host::rules::{Form, Pattern, Read, Rules};
use promote_infer::shape::{DYNAMIC, Shape};
use promote_lattice::convert::Bits;
use promote_lattice::{DType, Op};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::attributes::attribute;
use super::constant;
use super::foreign::Foreign;
use super::ids::Ids;
use super::made::{Made, Makes, made};
use super::places;
use super::raw::{self, Address, NewOp};
use super::types;

/// MLIR's objects for what the passes know by name, looked up once.
pub struct Vocabulary {
    /// The dialect's.
    pub names: Names,
    /// What ops are, by MLIR's uniqued names.
    kinds: FxHashMap<usize, Kind>,
    /// What rule files say of ops of other dialects.
    foreign: Option<Foreign>,
}

impl Vocabulary {
    /// The objects of `context`, which must know the dialect.
    ///
    /// # Safety
    /// `context` must be alive, and outlive the table.
    ///
    /// # Errors
    /// [`NotLoaded`] if it does not know the dialect.
    pub unsafe fn new(context: MlirContext) -> Result<Self, NotLoaded> {
        // SAFETY: the context is alive, and outlives the table.
        let names = unsafe { Names::new(context) }?;
        // SAFETY: the context is alive, and MLIR copies the name.
        let id = |name: &str| unsafe { mlirIdentifierGet(context, raw::string(name)) }.ptr as usize;
        let ours = Op::ALL.iter().map(|op| (id(&op.to_string()), Kind::Promote(*op)));
        let kinds = KINDS.iter().map(|(name, kind)| (id(name), *kind)).chain(ours).collect();
        Ok(Self { names, kinds, foreign: None })
    }

    /// The same, for programs with ops of other dialects that follow rules of ours.
    ///
    /// # Safety
    /// `context` must be alive, and outlive the table.
    ///
    /// # Errors
    /// If the context does not know the dialect, or MLIR does not read what a rule says.
    pub unsafe fn with_rules(context: MlirContext, rules: &Arc<Rules>) -> Result<Self, String> {
        // SAFETY: the context is alive, and outlives the table.
        let vocabulary = unsafe { Self::new(context) }.map_err(|error| error.to_string())?;
        if rules.is_empty() {
            return Ok(vocabulary);
        }
        // SAFETY: as above.
        let foreign = unsafe { Foreign::new(context, Arc::clone(rules)) }?;
        Ok(Self { foreign: Some(foreign), ..vocabulary })
    }
}

/// A program in MLIR. The context must be multi-threaded if units are worked on in parallel: its types and attributes are
/// made without locks otherwise.
#[derive(Clone)]
pub struct Mlir {
    /// What the passes know by name.
    pub vocabulary: Arc<Vocabulary>,
    /// Whether units are worked on in parallel.
    pub threads: bool,
}

impl Ir for Mlir {
    type Op = Address<MlirOperation>;
    type Value = Address<MlirValue>;
    type Block = Address<MlirBlock>;
    type Region = Address<MlirRegion>;
    type Type = Address<MlirType>;
    type Name = usize;
    type Ids = Ids;

    fn map<T: Send, R: Send>(
        &mut self,
        items: Vec<T>,
        work: impl Fn(&mut Self, T) -> R + Sync + Send,
    ) -> Vec<R> {
        let ir = &*self;
        let work = |item| work(&mut ir.clone(), item);
        if ir.threads && items.len() > 1 {
            items.into_par_iter().map(work).collect()
        } else {
            items.into_iter().map(work).collect()
        }
    }

    fn kind(&self, op: Self::Op) -> Kind {
        let known = self.vocabulary.kinds.get(&raw::name_id(op.0)).copied();
        known.or_else(|| self.foreign_kind(op)).unwrap_or(Kind::Other)
    }

    fn name(&self, op: Self::Op) -> usize {
        raw::name_id(op.0)
    }

    fn name_text(&self, name: usize) -> String {
        raw::identifier_text(name)
    }

    fn location(&self, op: Self::Op) -> Option<Location> {
        places::location(raw::location(op.0))
    }

    fn parent(&self, op: Self::Op) -> Option<Self::Op> {
        raw::parent(op.0).map(Address)
    }

    fn block(&self, op: Self::Op) -> Self::Block {
        Address(raw::block_of(op.0))
    }

    fn next(&self, op: Self::Op) -> Option<Self::Op> {
        raw::next(op.0).map(Address)
    }

    fn regions(&self, op: Self::Op) -> impl Iterator<Item = Self::Region> {
        raw::regions(op.0).map(Address)
    }

    fn has_regions(&self, op: Self::Op) -> bool {
        raw::has_regions(op.0)
    }

    fn successors(&self, op: Self::Op) -> impl ExactSizeIterator<Item = Self::Block> {
        raw::successors(op.0).map(Address)
    }

    fn blocks(&self, region: Self::Region) -> impl Iterator<Item = Self::Block> {
        raw::blocks(region.0).map(Address)
    }

    fn operations(&self, block: Self::Block) -> impl Iterator<Item = Self::Op> {
        raw::operations(block.0).map(Address)
    }

    fn last(&self, block: Self::Block) -> Option<Self::Op> {
        raw::last_operation(block.0).map(Address)
    }

    fn arguments(&self, block: Self::Block) -> impl ExactSizeIterator<Item = Self::Value> {
        raw::arguments(block.0).map(Address)
    }

    fn region(&self, block: Self::Block) -> Self::Region {
        Address(raw::region_of(block.0))
    }

    fn parent_of_block(&self, block: Self::Block) -> Self::Op {
        Address(raw::parent_of_block(block.0))
    }

    fn is_alone(&self, block: Self::Block) -> bool {
        raw::is_alone(block.0)
    }

    fn outside_of_combining(&self, op: Self::Op) -> Self::Op {
        Address(raw::outside_of_combining(op.0))
    }

    fn is_same_or_after(&self, op: Self::Op, other: Self::Op) -> bool {
        raw::is_same_or_after(op.0, other.0)
    }

    fn operands(&self, op: Self::Op) -> impl ExactSizeIterator<Item = Self::Value> {
        raw::operands(op.0).map(Address)
    }

    fn operand(&self, op: Self::Op, index: usize) -> Self::Value {
        Address(raw::operand(op.0, index))
    }

    fn results(&self, op: Self::Op) -> impl ExactSizeIterator<Item = Self::Value> {
        raw::results(op.0).map(Address)
    }

    fn result(&self, op: Self::Op) -> Self::Value {
        Address(raw::result(op.0))
    }

    fn value_type(&self, value: Self::Value) -> Self::Type {
        Address(raw::value_type(value.0))
    }

    fn defining_op(&self, value: Self::Value) -> Option<Self::Op> {
        raw::defining_op(value.0).map(Address)
    }

    fn argument_block(&self, value: Self::Value) -> Self::Block {
        Address(raw::argument_block(value.0))
    }

    fn argument_number(&self, value: Self::Value) -> usize {
        raw::argument_number(value.0)
    }

    fn location_of_argument(&self, value: Self::Value) -> Option<Location> {
        places::location(raw::value_location(value.0))
    }

    fn users(&self, value: Self::Value) -> impl Iterator<Item = Self::Op> {
        raw::users(value.0).map(Address)
    }

    fn is_used(&self, value: Self::Value) -> bool {
        raw::is_used(value.0)
    }

    fn tensor(&self, r#type: Self::Type) -> Option<Tensor> {
        let Some(element) = raw::element_type(r#type.0) else {
            return self.vocabulary.foreign.as_ref()?.tensor(r#type.0);
        };
        let names = &self.vocabulary.names;
        let element = match names.dtype(element) {
            _ if raw::is_encoded(r#type.0) => Element::Other,
            Some(dtype) => Element::DType(dtype),
            None if names.is_unknown(element) => Element::Unknown,
            None => Element::Other,
        };
        let extents = || raw::extents(r#type.0).map(|extent| extent.unwrap_or(DYNAMIC));
        let shape = raw::rank(r#type.0).map(|_| Shape::ranked(extents().collect::<Vec<_>>()));
        Some(Tensor { element, shape: shape.unwrap_or(Shape::UNRANKED) })
    }

    fn tensor_type(&self, dtype: DType, shape: &Shape) -> Self::Type {
        Address(types::tensor(self.vocabulary.names.element(dtype), shape))
    }

    fn mentions_promote(&self, r#type: Self::Type) -> bool {
        types::mentions_promote(r#type.0)
    }

    fn mentions_unknown(&self, r#type: Self::Type) -> bool {
        let foreign = self.vocabulary.foreign.as_ref().and_then(|foreign| foreign.tensor(r#type.0));
        foreign.is_some_and(|tensor| tensor.element == Element::Unknown)
            || raw::type_text(r#type.0).contains("!promote.unknown")
    }

    fn type_text(&self, r#type: Self::Type) -> String {
        raw::type_text(r#type.0)
    }

    fn rules(&self) -> Option<&Rules> {
        self.vocabulary.foreign.as_ref().map(|foreign| &*foreign.rules)
    }

    fn form(&self, r#type: Self::Type) -> Form {
        let foreign = self.vocabulary.foreign.as_ref().filter(|_| !raw::is_tensor(r#type.0));
        match foreign.and_then(|foreign| foreign.read(r#type.0)) {
            Some((form, Read::Tensor(_))) => form,
            Some((_, Read::Scalar(_) | Read::List)) | None => Form::BUILTIN,
        }
    }

    fn tensor_type_in(&self, form: Form, dtype: DType, shape: &Shape) -> Self::Type {
        let foreign = self.vocabulary.foreign.as_ref();
        let r#type = foreign.and_then(|foreign| foreign.tensor_type(form, dtype, shape));
        r#type.map_or_else(|| self.tensor_type(dtype, shape), Address)
    }

    fn scalar(&self, r#type: Self::Type) -> Option<DType> {
        match self.vocabulary.foreign.as_ref()?.read(r#type.0)?.1 {
            Read::Scalar(dtype) => Some(dtype),
            Read::Tensor(_) | Read::List => None,
        }
    }

    fn is_list(&self, r#type: Self::Type) -> bool {
        self.vocabulary.foreign.as_ref().is_some_and(|foreign| foreign.is_list(r#type.0))
    }

    fn retyped_list(&self, list: Self::Type, dtype: DType) -> Option<Self::Type> {
        self.vocabulary.foreign.as_ref()?.retyped_list(list.0, dtype).map(Address)
    }

    fn value_text(&self, constant: Self::Op) -> Option<String> {
        raw::attribute(constant.0, "value").map(raw::attribute_text)
    }

    fn write(
        &mut self,
        text: &str,
        operand: Option<Self::Value>,
        result: Self::Type,
        before: Self::Op,
    ) -> Result<Self::Value, String> {
        let foreign = self.vocabulary.foreign.as_ref().ok_or("there are no rules")?;
        foreign.write(text, operand.map(|operand| operand.0), result.0, before.0).map(Address)
    }

    fn respell(&mut self, op: Self::Op, from: &Pattern, pattern: &Pattern) -> Result<(), String> {
        let foreign = self.vocabulary.foreign.as_ref().ok_or("there are no rules")?;
        foreign.respell(op.0, from, pattern)
    }

    fn set_attribute(&mut self, op: Self::Op, name: &str, value: &str) -> Result<(), String> {
        let foreign = self.vocabulary.foreign.as_ref().ok_or("there are no rules")?;
        foreign.set_attribute(op.0, name, value)
    }

    fn is(&self, op: Self::Op, pattern: &Pattern) -> bool {
        self.vocabulary.foreign.as_ref().is_some_and(|foreign| foreign.is(op.0, pattern))
    }

    fn has_attributes(&self, op: Self::Op) -> bool {
        raw::has_attributes(op.0)
    }

    fn attributes(&self, op: Self::Op) -> Vec<(String, Attribute)> {
        raw::attributes(op.0).map(|(name, value)| (name, attribute(value))).collect()
    }

    fn attribute(&self, op: Self::Op, name: &str) -> Option<Attribute> {
        raw::attribute(op.0, name).map(attribute)
    }

    fn is_marked(&self, op: Self::Op, mark: Mark) -> bool {
        raw::attribute(op.0, mark.name()).is_some()
    }

    fn mark(&mut self, op: Self::Op, mark: Mark) {
        let value = raw::mark(raw::context(op.0), mark.name()).attribute;
        raw::set_attribute(op.0, mark.name(), value);
    }

    fn written_type(&self, op: Self::Op) -> Option<Self::Type> {
        constant::r#type(raw::attribute(op.0, "value")?).map(Address)
    }

    fn elements(&self, op: Self::Op, dtype: DType) -> Option<Vec<Bits>> {
        constant::elements(raw::attribute(op.0, "value")?, dtype)
    }

    fn symbol(&self, op: Self::Op) -> Option<String> {
        raw::string_attribute(op.0, "sym_name")
    }

    fn set_symbol(&mut self, op: Self::Op, name: &str) {
        raw::set_attribute(op.0, "sym_name", raw::string_attribute_of(raw::context(op.0), name));
    }

    fn symbol_like(&self, name: String) -> String {
        name
    }

    fn visibility(&self, function: Self::Op) -> Visibility {
        match raw::string_attribute(function.0, "sym_visibility").as_deref() {
            None | Some("public") => Visibility::Public,
            Some("private") => Visibility::Private,
            Some(_) => Visibility::Other,
        }
    }

    fn signature(&self, function: Self::Op) -> Option<Signature<Self::Type>> {
        let r#type = types::of_function(function.0)?;
        let all = |types: Vec<MlirType>| types.into_iter().map(Address).collect();
        Some(Signature { inputs: all(types::inputs(r#type)), results: all(types::results(r#type)) })
    }

    fn signature_text(&self, function: Self::Op) -> String {
        types::of_function(function.0).map_or_else(String::new, raw::type_text)
    }

    fn set_signature(&mut self, function: Self::Op, signature: &Signature<Self::Type>) {
        let all = |types: &[Self::Type]| types.iter().map(|r#type| r#type.0).collect::<Vec<_>>();
        let r#type =
            types::function(raw::context(function.0), &all(&signature.inputs), &all(&signature.results));
        raw::set_attribute(function.0, types::FUNCTION_TYPE, raw::type_attribute(r#type));
    }

    fn callee(&self, call: Self::Op) -> Option<String> {
        raw::attribute(call.0, CALLEE).and_then(raw::symbol)
    }

    fn set_callee(&mut self, call: Self::Op, name: &str) {
        raw::set_attribute(call.0, CALLEE, raw::symbol_reference(call.0, name));
    }

    fn symbols_named(&self, op: Self::Op) -> Vec<String> {
        let is_call = self.kind(op) == Kind::Call;
        let others = raw::attributes(op.0).filter(|(name, _)| !(is_call && name == CALLEE));
        others.filter_map(|(_, value)| raw::symbol(value)).collect()
    }

    fn set_type(&mut self, value: Self::Value, r#type: Self::Type) {
        raw::set_type(value.0, r#type.0);
    }

    fn set_operand(&mut self, op: Self::Op, index: usize, value: Self::Value) {
        raw::set_operand(op.0, index, value.0);
    }

    fn replace_all_uses(&mut self, of: Self::Value, with: Self::Value) {
        raw::replace_all_uses(of.0, with.0);
    }

    fn create(
        &mut self,
        new: New<'_>,
        operands: &[Self::Value],
        result: Option<Self::Type>,
        made_for: Self::Op,
    ) -> Self::Op {
        let context = raw::context(made_for.0);
        let Made { name, attributes, makes } = made(context, new);
        let operands: Vec<_> = operands.iter().map(|operand| operand.0).collect();
        let result = match makes {
            Makes::Nothing => None,
            Makes::Index => Some(raw::index_type(context)),
            Makes::Truth => Some(raw::truth_type(context)),
            Makes::Given => result.map(|result| result.0),
        };
        Address(raw::create(&NewOp {
            name,
            location: raw::location(made_for.0),
            operands: &operands,
            results: result.as_slice(),
            attributes: &attributes,
        }))
    }

    fn create_constant(
        &mut self,
        (elements, dtype): (&[Bits], DType),
        written: Self::Type,
        result: Self::Type,
        like: Self::Op,
    ) -> Self::Op {
        Address(constant::like(like.0, constant::dense(elements, dtype, written.0), result.0))
    }

    fn copy(&mut self, op: Self::Op) -> Self::Op {
        Address(raw::copy(op.0))
    }

    fn insert_before(&mut self, new: Self::Op, other: Self::Op) {
        raw::insert_before(new.0, other.0);
    }

    fn insert_after(&mut self, new: Self::Op, other: Self::Op) {
        raw::insert_after(new.0, other.0);
    }

    fn move_before(&mut self, op: Self::Op, other: Self::Op) {
        raw::move_before(op.0, other.0);
    }

    fn erase(&mut self, op: Self::Op) {
        // SAFETY: the passes erase what nothing uses, and use no handle to it again.
        unsafe { raw::erase(op.0) }
    }
}

impl Mlir {
    /// What an op is that only rule files may know.
    fn foreign_kind(&self, op: Address<MlirOperation>) -> Option<Kind> {
        let is_tensor = |value| {
            let r#type = Address(raw::value_type(value));
            let tensor = self.tensor(r#type);
            tensor.map_or_else(|| self.is_list(r#type), |tensor| tensor.element != Element::Other)
        };
        let (op, rule) = self.vocabulary.foreign.as_ref()?.rule(op.0, is_tensor)?;
        Some(Kind::Foreign { op, rule })
    }
}

/// The names of ops that are looked for by name.
pub const FUNCTION: &str = "func.func";
/// A choice between two values, as upstream passes write a condition whose branches only pass values on.
pub const SELECT: &str = "arith.select";
/// What stands where control never comes from, as upstream passes write it.
pub const POISON: &str = "ub.poison";

const CALLEE: &str = "callee";
