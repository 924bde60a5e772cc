//! Ops and types of other dialects, as rule files read and write them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use mlir_sys::*;
use promote_host::ir::Tensor;
use promote_host::rules::{Form, OPERAND, OpRules, Pattern, RESULT, Read, RuleId, Rules};
use promote_infer::shape::Shape;
use promote_lattice::{DType, Op};
use rustc_hash::FxHashMap;

use super::raw::{self, Address, NewOp};

/// The rule files of a program, with MLIR's objects for what they name.
pub struct Foreign {
    /// What the files say.
    pub rules: Arc<Rules>,
    context: Address<MlirContext>,
    /// The rules of each op, by MLIR's uniqued names.
    ops: FxHashMap<usize, Vec<Candidate>>,
    /// What each type says that was asked about.
    types: RwLock<FxHashMap<Address<MlirType>, Said>>,
    /// What recipes that are filled in make: functions of what they take, which are in no module.
    templates: Mutex<HashMap<String, Address<MlirOperation>>>,
}

/// What a type says, and in which form, if it is in one of a file.
type Said = Option<(Form, Read)>;

/// A rule that an op may follow.
struct Candidate {
    rule: RuleId,
    op: Op,
    /// The operands that take part, if not all do.
    operands: Option<Vec<usize>>,
    /// The attributes that the op must have.
    attributes: Vec<(String, Address<MlirAttribute>)>,
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let templates = std::mem::take(&mut *self.templates.lock().unwrap_or_else(PoisonError::into_inner));
        for template in templates.into_values() {
            // SAFETY: the template stands in nothing, and no handle to it or to what is in it is kept.
            unsafe { raw::erase(template.0) }
        }
    }
}

impl Foreign {
    /// The rules for programs of a context, in which the dialects that they write are loaded.
    ///
    /// # Safety
    /// `context` must be alive, and outlive the result.
    ///
    /// # Errors
    /// An attribute of a rule that MLIR does not read.
    pub unsafe fn new(context: MlirContext, rules: Arc<Rules>) -> Result<Self, String> {
        // Threads may not load dialects: all that rules name are loaded here.
        for file in rules.files() {
            for dialect in file.dialects() {
                // SAFETY: the context is alive; MLIR returns null for a name it does not know.
                unsafe { mlirContextGetOrLoadDialect(context, raw::string(dialect)) };
            }
        }
        let mut ops: FxHashMap<usize, Vec<Candidate>> = FxHashMap::default();
        for (rule, of) in rules.all() {
            let attributes = of.pattern.attributes.iter().map(|(name, text)| {
                let value = parsed(context, text).ok_or_else(|| {
                    let file = &rules.file(rule).name;
                    format!("op rules {file}: MLIR does not read the attribute {name} = {text}")
                })?;
                Ok((name.clone(), Address(value)))
            });
            let attributes = attributes.collect::<Result<Vec<_>, String>>()?;
            // SAFETY: the context is alive, and MLIR copies the name.
            let name = unsafe { mlirIdentifierGet(context, raw::string(&of.pattern.name)) }.ptr as usize;
            let candidate = Candidate { rule, op: of.op, operands: of.operands.clone(), attributes };
            ops.entry(name).or_default().push(candidate);
        }
        Ok(Self {
            rules,
            context: Address(context),
            ops,
            types: RwLock::default(),
            templates: Mutex::default(),
        })
    }

    /// The rule that an op follows, if it does: `is_tensor` says whether a value counts as one.
    pub fn rule(
        &self,
        operation: MlirOperation,
        is_tensor: impl Fn(MlirValue) -> bool,
    ) -> Option<(Op, RuleId)> {
        let candidates = self.ops.get(&raw::name_id(operation))?;
        let found = candidates.iter().find(|candidate| {
            let mut attributes = candidate.attributes.iter();
            attributes.all(|(name, value)| raw::attribute(operation, name).map(Address) == Some(*value))
        })?;
        let takes_part =
            |index: usize| found.operands.as_ref().is_none_or(|operands| operands.contains(&index));
        let mut operands = raw::operands(operation).enumerate().filter(|(index, _)| takes_part(*index));
        let has_tensor = operands.any(|(_, operand)| is_tensor(operand));
        let is_whole = raw::results(operation).len() > 0 && !raw::has_regions(operation);
        (has_tensor && is_whole).then_some((found.op, found.rule))
    }

    /// What a type says that is no tensor of MLIR, if a file maps it.
    pub fn read(&self, r#type: MlirType) -> Said {
        let files = self.rules.files();
        let maps_none = |file: &OpRules| {
            file.forms.tensors.is_empty() && file.forms.scalars.is_empty() && file.lists.is_none()
        };
        if files.iter().all(maps_none) {
            return None;
        }
        let known = self.types.read().unwrap_or_else(PoisonError::into_inner).get(&Address(r#type)).cloned();
        known.unwrap_or_else(|| {
            let found = self.rules.read_type(&raw::type_text(r#type));
            let mut types = self.types.write().unwrap_or_else(PoisonError::into_inner);
            types.insert(Address(r#type), found.clone());
            found
        })
    }

    /// What a type says that is a tensor in a form of a file.
    pub fn tensor(&self, r#type: MlirType) -> Option<Tensor> {
        match self.read(r#type)?.1 {
            Read::Tensor(tensor) => Some(tensor),
            Read::Scalar(_) | Read::List => None,
        }
    }

    /// Whether a type is that of a list of tensors.
    pub fn is_list(&self, r#type: MlirType) -> bool {
        matches!(self.read(r#type), Some((_, Read::List)))
    }

    /// The type of a list with elements of another dtype, if it says of which dtype they are.
    pub fn retyped_list(&self, list: MlirType, dtype: DType) -> Option<MlirType> {
        self.parsed_type(&self.rules.retype_list(&raw::type_text(list), dtype)?)
    }

    /// The type that a text is.
    fn parsed_type(&self, text: &str) -> Option<MlirType> {
        // SAFETY: the context is alive; MLIR returns null for what is no type.
        let r#type = unsafe { mlirTypeParseGet(self.context.0, raw::string(text)) };
        (!r#type.ptr.is_null()).then_some(r#type)
    }

    /// The tensor type in a form of a file.
    pub fn tensor_type(&self, form: Form, dtype: DType, shape: &Shape) -> Option<MlirType> {
        self.parsed_type(&self.rules.write_type(form, dtype, shape)?)
    }

    /// Whether an op is the one that a pattern describes.
    pub fn is(&self, operation: MlirOperation, pattern: &Pattern) -> bool {
        raw::is_named(operation, &pattern.name)
            && pattern.attributes.iter().all(|(name, text)| {
                let value = parsed(self.context.0, text).map(Address);
                value.is_some() && raw::attribute(operation, name).map(Address) == value
            })
    }

    /// The attribute that a text is.
    fn attribute(&self, name: &str, text: &str) -> Result<MlirAttribute, String> {
        parsed(self.context.0, text)
            .ok_or_else(|| format!("MLIR does not read the attribute {name} = {text}"))
    }

    /// Gives an attribute of an op a value.
    ///
    /// # Errors
    /// If the text is none.
    pub fn set_attribute(&self, operation: MlirOperation, name: &str, text: &str) -> Result<(), String> {
        raw::set_attribute(operation, name, self.attribute(name, text)?);
        Ok(())
    }

    /// Puts the op of a pattern in the place of an op of another one. What the first does not say stays: attributes, but not
    /// the properties of an op of a registered dialect, which are its own.
    ///
    /// # Errors
    /// Why there is no such op.
    pub fn respell(&self, operation: MlirOperation, from: &Pattern, pattern: &Pattern) -> Result<(), String> {
        let attributes = pattern.attributes.iter().map(|(name, text)| {
            let value = self.attribute(name, text)?;
            Ok(raw::named(self.context.0, name, value))
        });
        let mut attributes = attributes.collect::<Result<Vec<_>, String>>()?;
        attributes.extend(
            raw::discardable_attributes(operation)
                .filter(|(name, _)| !from.says(name) && !pattern.says(name))
                .map(|(name, value)| raw::named(self.context.0, &name, value)),
        );
        let operands: Vec<_> = raw::operands(operation).collect();
        let results: Vec<_> = raw::results(operation).map(raw::value_type).collect();
        let new = raw::create(&NewOp {
            name: &pattern.name,
            location: raw::location(operation),
            operands: &operands,
            results: &results,
            attributes: &attributes,
        });
        raw::insert_before(new, operation);
        for (old, new) in raw::results(operation).zip(raw::results(new)) {
            raw::replace_all_uses(old, new);
        }
        // SAFETY: nothing uses the op any more, and the pass has no other handle to it.
        unsafe { raw::erase(operation) }
        Ok(())
    }

    /// Writes ops given as text before an op.
    ///
    /// # Errors
    /// What MLIR says of the text.
    pub fn write(
        &self,
        text: &str,
        operand: Option<MlirValue>,
        result: MlirType,
        before: MlirOperation,
    ) -> Result<MlirValue, String> {
        let taken = operand.map(raw::value_type);
        let whole = template_text(text, taken, result);
        let mut templates = self.templates.lock().unwrap_or_else(PoisonError::into_inner);
        let template = match templates.get(&whole) {
            Some(template) => *template,
            None => {
                let made = Address(raw::parse_operation(self.context.0, &whole)?);
                if raw::regions(made.0).flat_map(raw::blocks).count() != 1 {
                    // SAFETY: it was just parsed, and nothing has a handle to it.
                    unsafe { raw::erase(made.0) };
                    return Err("it has branches, and must be one block".to_owned());
                }
                templates.insert(whole, made);
                made
            }
        };
        Ok(splice(raw::copy(template.0), operand, before))
    }
}

/// The attribute that a text is, if it is one. A number without a type is of 64 bits, as in MLIR.
fn parsed(context: MlirContext, text: &str) -> Option<MlirAttribute> {
    // SAFETY: the context is alive; MLIR returns null for what is no attribute.
    let attribute = unsafe { mlirAttributeParseGet(context, raw::string(text)) };
    (!attribute.ptr.is_null()).then_some(attribute)
}

/// A function of what a recipe takes that returns what it makes.
fn template_text(text: &str, taken: Option<MlirType>, result: MlirType) -> String {
    let (taken, result) = (taken.map(raw::type_text), raw::type_text(result));
    let argument = taken.as_ref().map_or(String::new(), |taken| format!("{OPERAND}: {taken}"));
    let taken = taken.unwrap_or_default();
    format!(
        "\"func.func\"() ({{\n^bb0({argument}):\n{text}\n\"func.return\"({RESULT}) : ({result}) -> ()\n}}) \
         {{sym_name = \"recipe\", function_type = ({taken}) -> ({result})}} : () -> ()"
    )
}

/// Moves the ops of a copy of a template before an op; what they make.
fn splice(template: MlirOperation, operand: Option<MlirValue>, before: MlirOperation) -> MlirValue {
    let blocks = raw::regions(template).flat_map(raw::blocks);
    let body = blocks.into_iter().next().expect("a function that was parsed with a body has one");
    if let (Some(argument), Some(operand)) = (raw::arguments(body).next(), operand) {
        raw::replace_all_uses(argument, operand);
    }
    let mut ops: Vec<MlirOperation> = raw::operations(body).collect();
    let end = ops.pop().expect("a function ends with a return, as MLIR verified");
    let made = raw::operand(end, 0);
    for operation in ops {
        raw::relocate(operation, raw::location(before));
        raw::move_before(operation, before);
    }
    // SAFETY: what is left of the copy is its return, to which no handle is kept.
    unsafe { raw::erase(template) }
    made
}
