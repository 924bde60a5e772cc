//! Reading: from MLIR to a [`Program`]. The only file that knows MLIR.

use std::collections::{BTreeMap, HashMap};

use melior::Context;
use melior::dialect::DialectRegistry;
use melior::ir::attribute::{AttributeLike, DenseElementsAttribute};
use melior::ir::block::BlockLike;
use melior::ir::operation::{OperationLike, OperationRef};
use melior::ir::{Attribute, BlockRef, Module, RegionLike, RegionRef, ValueLike};
use promote_lattice::{DType, Op};

use crate::Error;
use crate::number::Number;
use crate::program::{Arith, Attributes, Block, Function, Kind, Operation, Program, Region, Stated, ValueId};
use crate::value::Array;

/// A context that reads modules.
pub struct Reader {
    context: Context,
}

type Read<T> = Result<T, Error>;

fn unreadable(message: impl Into<String>) -> Error {
    Error::Unreadable(message.into())
}

impl Reader {
    /// A context with all upstream dialects and the promote dialect.
    ///
    /// # Errors
    /// [`Error::Unreadable`] if MLIR does not take the dialect.
    pub fn new() -> Read<Self> {
        let registry = DialectRegistry::new();
        melior::utility::register_all_dialects(&registry);
        let context = Context::new_with_registry(&registry, false);
        promote_dialect::mlir::register(&context).map_err(|error| unreadable(error.to_string()))?;
        Ok(Self { context })
    }

    /// Reads a module from text.
    ///
    /// # Errors
    /// [`Error::Unreadable`].
    pub fn read(&self, text: &str) -> Read<Program> {
        let module =
            Module::parse(&self.context, text).ok_or_else(|| unreadable("MLIR does not parse it"))?;
        let mut functions = Vec::new();
        let body = module.body();
        let mut next = body.first_operation();
        while let Some(operation) = next {
            if name(&operation) == "func.func" {
                functions.push(function(&operation)?);
            }
            next = operation.next_in_block();
        }
        let names = functions.iter().enumerate().map(|(index, function)| (function.name.clone(), index));
        let names: BTreeMap<String, usize> = names.collect();
        Ok(Program { names, functions })
    }
}

fn name<'c: 'a, 'a>(operation: &OperationRef<'c, 'a>) -> String {
    operation.name().as_string_ref().as_str().unwrap_or_default().to_owned()
}

fn attribute<'c: 'a, 'a>(operation: &OperationRef<'c, 'a>, name: &str) -> Option<String> {
    operation.attribute(name).ok().map(|attribute| attribute.to_string())
}

fn function<'c: 'a, 'a>(operation: &OperationRef<'c, 'a>) -> Read<Function> {
    let text = |name| attribute(operation, name).unwrap_or_default();
    let name = text("sym_name").trim_matches('"').to_owned();
    let mut walk = Walk::default();
    let body = operation.region(0).map_err(|error| unreadable(error.to_string()))?;
    let body = walk.region(&body)?;
    let arguments = body.blocks.first().map_or(&[][..], |block| &block.arguments);
    let open = |value: &ValueId| matches!(walk.stated[*value], Stated::Tensor { dtype: None, .. });
    let is_generic = text("sym_visibility") == "\"private\"" && arguments.iter().any(open);
    let mut function = Function {
        name,
        results: result_types(&text("function_type")).iter().map(|text| stated(text)).collect(),
        body,
        stated: walk.stated,
        is_generic,
        slots: Vec::new(),
        literals: Vec::new(),
        constants: Vec::new(),
    };
    function.complete();
    Ok(function)
}

/// The results of a function type, as text.
fn result_types(function: &str) -> Vec<String> {
    let results = function.split_once(") -> ").map_or("", |(_, results)| results);
    let results = results.strip_prefix('(').and_then(|list| list.strip_suffix(')')).unwrap_or(results);
    let (mut parts, mut depth) = (vec![String::new()], 0);
    for character in results.chars() {
        match character {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            _ => {}
        }
        match (character, depth) {
            (',', 0) => parts.push(String::new()),
            _ => parts.last_mut().into_iter().for_each(|part| part.push(character)),
        }
    }
    parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// What a type's text says.
fn stated(text: &str) -> Stated {
    let other = || Stated::Other(text.to_owned());
    if let Some(inner) = text.strip_prefix("tensor<").and_then(|rest| rest.strip_suffix('>')) {
        return tensor(inner).unwrap_or_else(other);
    }
    match text.strip_prefix('i').and_then(|width| width.parse().ok()) {
        Some(width) => Stated::Integer(width),
        None if text == "index" => Stated::Integer(64),
        None => other(),
    }
}

/// What stands between the brackets of a tensor's type: extents, each before an `x`, and an element.
fn tensor(text: &str) -> Option<Stated> {
    let element = |text: &str| match DType::ALL.iter().find(|dtype| dtype.mlir() == text) {
        None if text == "!promote.unknown" => Some(None),
        None => None,
        found => Some(found.copied()),
    };
    if let Some(rest) = text.strip_prefix("*x") {
        return Some(Stated::Tensor { dtype: element(rest)?, shape: None });
    }
    let (mut shape, mut rest) = (Vec::new(), text);
    while let Some((extent, after)) = rest.split_once('x') {
        match extent {
            "?" => shape.push(None),
            _ => match extent.parse() {
                Ok(extent) => shape.push(Some(extent)),
                Err(_) => break,
            },
        }
        rest = after;
    }
    Some(Stated::Tensor { dtype: element(rest)?, shape: Some(shape) })
}

/// The integers in the text of an attribute: of one, of `array<i64: …>` or of `dense<…>`.
fn integers(text: &str) -> Vec<i64> {
    let values = match text.split_once('<') {
        Some((_, rest)) => {
            let inner = rest.split_once('>').map_or(rest, |(inner, _)| inner);
            inner.split_once(':').map_or(inner, |(_, values)| values)
        }
        None => text.split_once(':').map_or(text, |(value, _)| value),
    };
    let values = values.split(',').map(|value| value.trim_matches([' ', '[', ']']));
    values.filter_map(|value| if value == "true" { Some(1) } else { value.parse().ok() }).collect()
}

/// The number in the text of an attribute.
fn number(text: &str) -> f64 {
    let value = text.split_once(':').map_or(text, |(value, _)| value).trim();
    match value.strip_prefix("0x") {
        Some(bits) => f64::from_bits(u64::from_str_radix(bits, 16).unwrap_or(0)),
        None => value.parse().unwrap_or(0.0),
    }
}

/// What is known on the way through a function.
#[derive(Default)]
struct Walk {
    /// Values by MLIR's addresses.
    values: HashMap<usize, ValueId>,
    stated: Vec<Stated>,
    operations: usize,
}

impl Walk {
    fn value<'c>(&mut self, value: &impl ValueLike<'c>) -> ValueId {
        let stated_len = self.stated.len();
        let id = *self.values.entry(value.to_raw().ptr as usize).or_insert(stated_len);
        if id == stated_len {
            self.stated.push(stated(&value.r#type().to_string()));
        }
        id
    }

    fn region<'c: 'a, 'a>(&mut self, region: &RegionRef<'c, 'a>) -> Read<Region> {
        let mut blocks: Vec<BlockRef<'c, 'a>> = Vec::new();
        let mut next = region.first_block();
        while let Some(block) = next {
            next = block.next_in_region();
            blocks.push(block);
        }
        let read = blocks.iter().map(|block| self.block(block, &blocks)).collect::<Read<_>>()?;
        Ok(Region { blocks: read })
    }

    fn block<'c: 'a, 'a>(&mut self, block: &BlockRef<'c, 'a>, all: &[BlockRef<'c, 'a>]) -> Read<Block> {
        let arguments = (0..block.argument_count()).filter_map(|i| block.argument(i).ok());
        let arguments = arguments.map(|argument| self.value(&argument)).collect();
        let mut operations = Vec::new();
        let mut next = block.first_operation();
        while let Some(operation) = next {
            operations.push(self.operation(&operation, all)?);
            next = operation.next_in_block();
        }
        Ok(Block { arguments, operations })
    }

    fn operation<'c: 'a, 'a>(
        &mut self,
        operation: &OperationRef<'c, 'a>,
        blocks: &[BlockRef<'c, 'a>],
    ) -> Read<Operation> {
        let id = self.operations;
        self.operations += 1;
        let mut operands: Vec<ValueId> = operation.operands().map(|value| self.value(&value)).collect();
        let results: Vec<ValueId> = operation.results().map(|value| self.value(&value)).collect();
        let regions = operation.regions().map(|region| self.region(&region)).collect::<Read<_>>()?;
        let mut successors = Vec::new();
        let targets: Vec<BlockRef<'c, 'a>> = operation.successors().collect();
        let passed: usize = targets.iter().map(|block| block.argument_count()).sum();
        let mut rest =
            operands.split_off(if targets.is_empty() { operands.len() } else { operands.len() - passed });
        for target in targets {
            let place = blocks.iter().position(|block| *block == target);
            let place = place.ok_or_else(|| unreadable("a branch out of its region"))?;
            let after = rest.split_off(target.argument_count());
            successors.push((place, std::mem::replace(&mut rest, after)));
        }
        let kind = self.kind(operation, &results, successors.len())?;
        Ok(Operation { id, kind, operands, results, regions, successors })
    }

    fn kind<'c: 'a, 'a>(
        &self,
        operation: &OperationRef<'c, 'a>,
        results: &[ValueId],
        successors: usize,
    ) -> Read<Kind> {
        let name = name(operation);
        let text = |name| attribute(operation, name).unwrap_or_default();
        let predicate = integers(&text("predicate")).first().copied();
        if let Some(op) = name.strip_prefix("promote.").and_then(Op::by_name) {
            return match op {
                Op::Constant => constant(operation, &self.stated[results[0]]).map(Kind::Constant),
                op => Ok(Kind::Promote(op, attributes(operation))),
            };
        }
        Ok(match name.as_str() {
            "arith.constant" => match integers(&text("value"))[..] {
                [value] => Kind::Integer(value),
                _ if text("value") == "false" => Kind::Integer(0),
                _ => Kind::Other(name),
            },
            "arith.select" if matches!(self.stated[results[0]], Stated::Tensor { .. }) => Kind::Select,
            "ub.poison" => Kind::Poison,
            "tensor.dim" => Kind::Dim,
            "tensor.rank" => Kind::Rank,
            "tensor.cast" => Kind::Cast,
            "tensor.extract" => Kind::Extract,
            "cf.assert" => Kind::Assert(text("msg").trim_matches('"').to_owned()),
            "cf.br" | "cf.cond_br" => Kind::Branch,
            "cf.switch" => {
                let cases = integers(&text("case_values"));
                // All cases alike are written once.
                Kind::Switch(if cases.len() == 1 { vec![cases[0]; successors - 1] } else { cases })
            }
            "scf.if" => Kind::If,
            "scf.index_switch" => Kind::IndexSwitch(integers(&text("cases"))),
            "scf.execute_region" => Kind::Execute,
            "scf.for" => Kind::For,
            "scf.while" => Kind::While,
            "scf.condition" => Kind::Condition,
            "scf.yield" => Kind::Yield,
            "func.call" => Kind::Call(text("callee").trim_start_matches('@').trim_matches('"').to_owned()),
            "func.return" => Kind::Return,
            other => match Arith::by_name(other, predicate) {
                Some(arith) => Kind::Arith(arith),
                None => Kind::Other(name),
            },
        })
    }
}

fn attributes<'c: 'a, 'a>(operation: &OperationRef<'c, 'a>) -> Attributes {
    let list = |name| attribute(operation, name).map(|text| integers(&text));
    Attributes {
        axis: list("axis"),
        keepdims: attribute(operation, "keepdims").is_some_and(|text| text == "true"),
        correction: attribute(operation, "correction").map_or(0.0, |text| number(&text)),
        shape: list("shape").unwrap_or_default(),
        permutation: list("permutation").unwrap_or_default(),
        start: list("start").unwrap_or_default(),
        stop: list("stop").unwrap_or_default(),
        step: list("step").unwrap_or_default(),
    }
}

/// The value of a `promote.constant`, whose result is stated to be of type `result`.
fn constant<'c: 'a, 'a>(operation: &OperationRef<'c, 'a>, result: &Stated) -> Read<Array> {
    let wrong = || unreadable("the value of a constant");
    let value: Attribute<'c> = operation.attribute("value").map_err(|_| wrong())?;
    let dense = DenseElementsAttribute::try_from(value).map_err(|_| wrong())?;
    let Stated::Tensor { dtype: Some(written), shape: Some(shape) } = stated(&value.r#type().to_string())
    else {
        return Err(wrong());
    };
    let dtype = match result {
        Stated::Tensor { dtype: Some(dtype), .. } => *dtype,
        _ => written,
    };
    let shape: Vec<usize> = shape.into_iter().flatten().collect();
    let count: usize = shape.iter().product();
    let width = written.bits().div_ceil(8) as usize;
    let element = |index: usize| {
        let index = if dense.is_splat() { 0 } else { index };
        if written == DType::B1 {
            return Some(Number::truth(if dense.is_splat() {
                dense.bool_splat_value()
            } else {
                dense.bool_element(index).ok()?
            }));
        }
        // SAFETY: the attribute is alive, and holds an element of `width` bytes for each of its places, or one for all.
        let bytes =
            unsafe { std::slice::from_raw_parts(dense.raw_data().cast::<u8>().add(index * width), width) };
        let bits = bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u128::from(*byte));
        Some(Number::from_bits(bits, written))
    };
    let elements = (0..count).map(element).collect::<Option<Vec<_>>>();
    let unknown = || Error::Unsupported(format!("constants of {written}"));
    Ok(Array { dtype, shape, elements: elements.ok_or_else(unknown)? })
}
