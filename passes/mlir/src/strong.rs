//! Reads strong functions as data: what lowering takes, with ids instead of handles.

use mlir_sys::*;
use promote_dialect::attrs;
use promote_dialect::mlir::Names;
use promote_lattice::{Kind as DTypeKind, Op};
use rustc_hash::FxHashMap;

use super::places::place_of;
use super::raw::{self, Address};
use super::{constant, numbers, view};
use promote_lower::flow::reverse_postorder;
use promote_lower::program::{Place, PlaceId};
use promote_lower::strong::{Block, Edge, Function, Kind, Module, Operation, Value};
use promote_lower::types::{MAX_RANK, Number, Type};

/// What a type means; `None` for one that no code is made for.
pub fn type_of(r#type: MlirType, names: &Names) -> Option<Type> {
    // SAFETY: types live as long as the context; each accessor is called on a type of its kind.
    unsafe {
        if mlirTypeIsARankedTensor(r#type) {
            let is_encoded = !mlirRankedTensorTypeGetEncoding(r#type).ptr.is_null();
            if is_encoded || raw::extents(r#type).len() > MAX_RANK {
                return None;
            }
            let dtype = names.dtype(mlirShapedTypeGetElementType(r#type))?;
            return Some(Type::Tensor(dtype, raw::extents(r#type).collect()));
        }
        let number = if mlirTypeIsAIndex(r#type) {
            Number::Index
        } else if mlirTypeIsAInteger(r#type) && mlirIntegerTypeIsSignless(r#type) {
            Number::Int(mlirIntegerTypeGetWidth(r#type))
        } else {
            Number::Float(names.dtype(r#type).filter(|dtype| dtype.kind() == DTypeKind::Float)?)
        };
        (number.dtype().is_some()).then_some(Type::Scalar(number))
    }
}

/// Reads functions, and where each op comes from.
pub struct Reader<'n> {
    names: &'n Names,
    /// What was read.
    pub module: Module,
    /// The locations of [`Module::places`].
    pub locations: Vec<MlirLocation>,
}

/// A function that is read.
struct Reading<'r, 'n> {
    reader: &'r mut Reader<'n>,
    blocks: FxHashMap<Address<MlirBlock>, usize>,
    values: FxHashMap<Address<MlirValue>, Value>,
    types: Vec<Option<Type>>,
}

impl<'n> Reader<'n> {
    /// Reads nothing yet.
    pub fn new(names: &'n Names) -> Self {
        Self { names, module: Module::default(), locations: Vec::new() }
    }

    /// Reads a function that has a body, of this name and these types.
    pub fn function(
        &mut self,
        function: MlirOperation,
        name: &str,
        is_public: bool,
        (inputs, outputs): (&[Type], &[Type]),
    ) {
        let place = self.place(function);
        let Some(region) = raw::regions(function).next() else { unreachable!("the function has a body") };
        let order = in_order(region);
        let blocks = order.iter().enumerate().map(|(index, block)| (Address(*block), index)).collect();
        let mut reading = Reading { reader: self, blocks, values: FxHashMap::default(), types: Vec::new() };
        let blocks = order.into_iter().map(|block| reading.block(block)).collect();
        let types = reading.types;
        let (name, inputs, outputs) = (name.to_owned(), inputs.to_vec(), outputs.to_vec());
        self.module.functions.push(Function { name, place, is_public, inputs, outputs, blocks, types });
    }

    fn place(&mut self, operation: MlirOperation) -> PlaceId {
        self.module.places.push(Place { location: place_of(operation), op: raw::name(operation) });
        // SAFETY: the op is alive.
        self.locations.push(unsafe { mlirOperationGetLocation(operation) });
        PlaceId((self.locations.len() - 1) as u32)
    }
}

impl Reading<'_, '_> {
    /// The number of a value. A block stands after those that dominate it, so operands are known.
    fn value(&mut self, value: MlirValue) -> Value {
        *self.values.entry(Address(value)).or_insert_with(|| {
            self.types.push(type_of(raw::value_type(value), self.reader.names));
            Value((self.types.len() - 1) as u32)
        })
    }

    fn is_tensor(&self, value: Value) -> bool {
        self.types[value.0 as usize].as_ref().is_some_and(Type::is_tensor)
    }

    fn block(&mut self, block: MlirBlock) -> Block {
        let arguments = raw::arguments(block).map(|argument| self.value(argument)).collect();
        let operations = raw::operations(block).map(|operation| self.operation(operation)).collect();
        Block { arguments, operations }
    }

    fn operation(&mut self, operation: MlirOperation) -> Operation {
        let place = self.reader.place(operation);
        let mut operands: Vec<Value> = raw::operands(operation).map(|operand| self.value(operand)).collect();
        let results: Vec<Value> = raw::results(operation).map(|result| self.value(result)).collect();
        let kind = self.kind(operation, &operands, &results);
        // What a terminator passes on stands with its edges.
        let passed: usize = kind.edges().iter().map(|edge| edge.values.len()).sum();
        operands.truncate(operands.len() - passed);
        Operation { kind, operands, results, place }
    }

    fn kind(&mut self, operation: MlirOperation, operands: &[Value], results: &[Value]) -> Kind {
        let unsupported = |why: &str| Kind::Unsupported(why.to_owned());
        // SAFETY: the op is alive.
        if let Some(op) = unsafe { self.reader.names.op(operation) } {
            return self.promote(op, operation, operands, results);
        }
        let name = raw::name(operation);
        let makes_tensor =
            results.first().is_some_and(|_| raw::is_tensor(raw::value_type(raw::result(operation))));
        match name.as_str() {
            "func.return" => Kind::Return,
            "func.call" => match raw::attribute(operation, "callee").and_then(raw::symbol) {
                Some(callee) => Kind::Call(callee),
                None => unsupported("it names no function"),
            },
            "cf.br" | "cf.cond_br" | "cf.switch" => self.branch(&name, operation, operands),
            "cf.assert" => Kind::Assert(raw::string_attribute(operation, "msg").unwrap_or_default()),
            "tensor.dim" | "tensor.rank" if !self.is_tensor(operands[0]) => {
                unsupported("the rank of the tensor must be known")
            }
            "tensor.dim" => Kind::Dim(constant_integer(raw::operand(operation, 1))),
            "tensor.rank" => Kind::Rank,
            "tensor.cast" => Kind::Cast,
            "tensor.extract" => Kind::Extract,
            "tensor.from_elements" => Kind::FromElements,
            "arith.constant" | "arith.select" | "ub.poison" if makes_tensor => {
                match self.is_tensor(results[0]) {
                    false => unsupported("its result is not a ranked tensor of the dialect's dtypes"),
                    true if name == "arith.constant" => self.constant(operation, results[0]),
                    true if name == "arith.select" => Kind::Select,
                    true => Kind::Poison,
                }
            }
            name if name.starts_with("scf.") || name.starts_with("affine.") => {
                unsupported("control flow must be blocks: run lower-affine and convert-scf-to-cf first")
            }
            _ => self.of_numbers(operation, operands, results),
        }
    }

    fn promote(&mut self, op: Op, operation: MlirOperation, operands: &[Value], results: &[Value]) -> Kind {
        if !results.iter().chain(operands).all(|value| self.is_tensor(*value)) {
            let why =
                format!("its operands and results must be tensors of a known rank, of {MAX_RANK} at most");
            return Kind::Unsupported(why);
        }
        if op == Op::Constant {
            return self.constant(operation, results[0]);
        }
        let found: Vec<_> =
            raw::attributes(operation).map(|(name, value)| (name, view::attribute(value))).collect();
        match attrs::check(op, found.iter().map(|(name, value)| (name.as_str(), value.clone()))) {
            Ok(attrs) => Kind::Promote(op, attrs),
            Err(_) => unreachable!("strong programs have the attributes that their ops need"),
        }
    }

    fn constant(&self, operation: MlirOperation, result: Value) -> Kind {
        let dtype = self.types[result.0 as usize].as_ref().map(Type::dtype);
        let elements = raw::attribute(operation, "value").zip(dtype);
        match elements.and_then(|(value, dtype)| Some((dtype, constant::elements(value, dtype)?))) {
            Some((dtype, elements)) => Kind::Constant(dtype, elements),
            None => Kind::Unsupported("its value cannot be read".to_owned()),
        }
    }

    /// An op of another dialect on numbers.
    fn of_numbers(&self, operation: MlirOperation, operands: &[Value], results: &[Value]) -> Kind {
        let is_number = |value: &Value| matches!(self.types[value.0 as usize], Some(Type::Scalar(_)));
        let is_on_numbers = operands.iter().chain(results).all(is_number);
        if !is_on_numbers || raw::regions(operation).next().is_some() || raw::successors(operation).len() > 0
        {
            let types = raw::operands(operation).chain(raw::results(operation)).map(raw::value_type);
            let is_number =
                |r#type: &MlirType| matches!(type_of(*r#type, self.reader.names), Some(Type::Scalar(_)));
            let other = types.filter(|r#type| !is_number(r#type)).map(raw::type_text).next();
            return Kind::Unsupported(match other {
                Some(other) => format!("no code is made for ops of other dialects on {other}"),
                None => "it has regions or successors, and is not of the dialects that code is made for"
                    .to_owned(),
            });
        }
        let numbers = |values: &[Value]| -> Vec<Number> {
            let number = |value: &Value| match self.types[value.0 as usize] {
                Some(Type::Scalar(number)) => number,
                _ => unreachable!("the op is on numbers"),
            };
            values.iter().map(number).collect()
        };
        numbers::kind(operation, &numbers(operands), &numbers(results)).unwrap_or_else(Kind::Unsupported)
    }

    fn branch(&self, name: &str, operation: MlirOperation, operands: &[Value]) -> Kind {
        let blocks: Vec<usize> =
            raw::successors(operation).map(|successor| self.blocks[&Address(successor)]).collect();
        let mut passed = passed(name, operation, operands, blocks.len()).into_iter();
        let mut edges =
            blocks.into_iter().map(|block| Edge { block, values: passed.next().unwrap_or_default() });
        let mut next = || match edges.next() {
            Some(edge) => edge,
            None => unreachable!("the op has as many successors as its name says"),
        };
        match name {
            "cf.br" => Kind::Branch(next()),
            "cf.cond_br" => Kind::BranchIf(next(), next()),
            _ => {
                let default = next();
                Kind::Switch(default, cases(operation).into_iter().zip(edges).collect())
            }
        }
    }
}

/// The number that a value is defined as, if it is a constant.
fn constant_integer(value: MlirValue) -> Option<i64> {
    let defining = raw::defining_op(value).filter(|defining| raw::is_named(*defining, "arith.constant"))?;
    let number = raw::attribute(defining, "value")?;
    // SAFETY: the attribute is alive, and an integer's.
    Some(unsafe { mlirIntegerAttrGetValueInt(number) })
}

/// The values of the cases of a switch.
fn cases(operation: MlirOperation) -> Vec<i64> {
    let Some(values) = raw::attribute(operation, "case_values") else { return Vec::new() };
    // SAFETY: the attribute is alive, and one of integers, a value a case.
    unsafe {
        (0..mlirElementsAttrGetNumElements(values) as u64)
            .map(|index| mlirElementsAttrGetValue(values, 1, [index].as_mut_ptr()))
            .map(|value| mlirIntegerAttrGetValueInt(value))
            .collect()
    }
}

/// What a branch passes to each successor.
fn passed(name: &str, operation: MlirOperation, operands: &[Value], count: usize) -> Vec<Vec<Value>> {
    if name == "cf.br" {
        return vec![operands.to_vec()];
    }
    let ints = |attribute: MlirAttribute| -> Vec<usize> {
        // SAFETY: the attribute is alive, and an array of 32-bit integers.
        unsafe {
            (0..mlirDenseArrayGetNumElements(attribute))
                .map(|i| mlirDenseI32ArrayGetElement(attribute, i) as usize)
                .collect()
        }
    };
    let segments = raw::attribute(operation, "operandSegmentSizes").map(ints).unwrap_or_default();
    let mut sizes: Vec<usize> = segments[1..].to_vec();
    if name == "cf.switch" {
        let of_cases = raw::attribute(operation, "case_operand_segments").map(ints).unwrap_or_default();
        sizes.truncate(1);
        sizes.extend(of_cases);
    }
    sizes.resize(count, 0);
    let mut rest = &operands[1..];
    let passed = sizes.into_iter().map(|size| {
        let (own, others) = rest.split_at(size);
        rest = others;
        own.to_vec()
    });
    passed.collect()
}

/// The blocks that paths from the first one lead to, each after those that dominate it.
fn in_order(region: MlirRegion) -> Vec<MlirBlock> {
    let blocks: Vec<MlirBlock> = raw::blocks(region).collect();
    let indices: FxHashMap<_, _> =
        blocks.iter().enumerate().map(|(index, block)| (Address(*block), index)).collect();
    let successors = |block: usize| {
        let next = raw::last_operation(blocks[block]).into_iter().flat_map(raw::successors);
        next.map(|next| indices[&Address(next)]).collect::<Vec<_>>().into_iter()
    };
    reverse_postorder(blocks.len(), successors).into_iter().map(|index| blocks[index]).collect()
}
