//! Reads strong functions as data: what lowering takes, with ids instead of handles.

use promote_dialect::attrs;
use promote_lattice::Op;
use promote_lower::flow::reverse_postorder;
use promote_lower::program::{Place, PlaceId};
use promote_lower::strong::{Block, Edge, Function, Kind, Module, Operation, Value};
use promote_lower::types::{MAX_RANK, Number, Type};
use rustc_hash::FxHashMap;

use super::{Strong, numbers, type_of};
use crate::ir::{self, Flow};
use crate::source::place_of;
use promote_lower::interface::Interface;

/// Reads functions, and where each op comes from.
pub struct Reader<'i, I: Strong> {
    ir: &'i I,
    /// What was read.
    pub module: Module,
    /// The ops of [`Module::places`].
    pub ops: Vec<I::Op>,
}

/// A function that is read.
struct Reading<'r, 'i, I: Strong> {
    ir: &'i I,
    reader: &'r mut Reader<'i, I>,
    blocks: FxHashMap<I::Block, usize>,
    values: FxHashMap<I::Value, Value>,
    types: Vec<Option<Type>>,
}

impl<'i, I: Strong> Reader<'i, I> {
    /// Reads nothing yet.
    pub fn new(ir: &'i I) -> Self {
        Self { ir, module: Module::default(), ops: Vec::new() }
    }

    /// Reads a function that has a body and this interface.
    pub fn function(&mut self, function: I::Op, is_public: bool, interface: Interface) {
        let ir = self.ir;
        let place = self.place(function);
        let Some(region) = ir.regions(function).next() else { unreachable!("the function has a body") };
        let order = in_order(ir, region);
        let blocks = order.iter().enumerate().map(|(index, block)| (*block, index)).collect();
        let mut reading =
            Reading { ir, reader: self, blocks, values: FxHashMap::default(), types: Vec::new() };
        let blocks = order.into_iter().map(|block| reading.block(block)).collect();
        let types = reading.types;
        let Interface { name, inputs, outputs, .. } = interface;
        self.module.functions.push(Function { name, place, is_public, inputs, outputs, blocks, types });
    }

    fn place(&mut self, operation: I::Op) -> PlaceId {
        let op = self.ir.name_text(self.ir.name(operation));
        self.module.places.push(Place { location: place_of(self.ir, operation), op });
        self.ops.push(operation);
        PlaceId((self.ops.len() - 1) as u32)
    }
}

impl<I: Strong> Reading<'_, '_, I> {
    /// The number of a value. A block stands after those that dominate it, so operands are known.
    fn value(&mut self, value: I::Value) -> Value {
        *self.values.entry(value).or_insert_with(|| {
            self.types.push(type_of(self.ir, self.ir.value_type(value)));
            Value((self.types.len() - 1) as u32)
        })
    }

    fn is_tensor(&self, value: Value) -> bool {
        self.types[value.0 as usize].as_ref().is_some_and(Type::is_tensor)
    }

    fn block(&mut self, block: I::Block) -> Block {
        let arguments = self.ir.arguments(block).map(|argument| self.value(argument)).collect();
        let operations = self.ir.operations(block).map(|operation| self.operation(operation)).collect();
        Block { arguments, operations }
    }

    fn operation(&mut self, operation: I::Op) -> Operation {
        let place = self.reader.place(operation);
        let mut operands: Vec<Value> =
            self.ir.operands(operation).map(|operand| self.value(operand)).collect();
        let results: Vec<Value> = self.ir.results(operation).map(|result| self.value(result)).collect();
        let kind = self.kind(operation, &operands, &results);
        // What a terminator passes on stands with its edges.
        let passed: usize = kind.edges().iter().map(|edge| edge.values.len()).sum();
        operands.truncate(operands.len() - passed);
        Operation { kind, operands, results, place }
    }

    fn kind(&mut self, operation: I::Op, operands: &[Value], results: &[Value]) -> Kind {
        let unsupported = |why: &str| Kind::Unsupported(why.to_owned());
        if let ir::Kind::Promote(op) = self.ir.kind(operation) {
            return self.promote(op, operation, operands, results);
        }
        let name = self.ir.name_text(self.ir.name(operation));
        let makes_tensor = results
            .first()
            .is_some_and(|_| self.ir.tensor(self.ir.value_type(self.ir.result(operation))).is_some());
        match name.as_str() {
            "func.return" => Kind::Return,
            "func.call" => match self.ir.callee(operation) {
                Some(callee) => Kind::Call(callee),
                None => unsupported("it names no function"),
            },
            "cf.br" | "cf.cond_br" | "cf.switch" => self.branch(&name, operation, operands),
            "cf.assert" => Kind::Assert(self.ir.string(operation, "msg").unwrap_or_default()),
            "tensor.dim" | "tensor.rank" if !self.is_tensor(operands[0]) => {
                unsupported("the rank of the tensor must be known")
            }
            "tensor.dim" => Kind::Dim(self.constant_integer(self.ir.operand(operation, 1))),
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

    fn promote(&mut self, op: Op, operation: I::Op, operands: &[Value], results: &[Value]) -> Kind {
        if !results.iter().chain(operands).all(|value| self.is_tensor(*value)) {
            let why =
                format!("its operands and results must be tensors of a known rank, of {MAX_RANK} at most");
            return Kind::Unsupported(why);
        }
        if op == Op::Constant {
            return self.constant(operation, results[0]);
        }
        let found = self.ir.attributes(operation);
        match attrs::check(op, found.iter().map(|(name, value)| (name.as_str(), value.clone()))) {
            Ok(attrs) => Kind::Promote(op, attrs),
            Err(_) => unreachable!("strong programs have the attributes that their ops need"),
        }
    }

    fn constant(&self, operation: I::Op, result: Value) -> Kind {
        let dtype = self.types[result.0 as usize].as_ref().map(Type::dtype);
        match dtype.and_then(|dtype| Some((dtype, self.ir.elements(operation, dtype)?))) {
            Some((dtype, elements)) => Kind::Constant(dtype, elements),
            None => Kind::Unsupported("its value cannot be read".to_owned()),
        }
    }

    /// The number that a value is defined as, if it is a constant.
    fn constant_integer(&self, value: I::Value) -> Option<i64> {
        let defining = self.ir.defining_op(value)?;
        let is_constant = self.ir.name_text(self.ir.name(defining)) == "arith.constant";
        is_constant.then(|| self.ir.integer(defining, "value")).flatten()
    }

    /// An op of another dialect on numbers.
    fn of_numbers(&self, operation: I::Op, operands: &[Value], results: &[Value]) -> Kind {
        let is_number = |value: &Value| matches!(self.types[value.0 as usize], Some(Type::Scalar(_)));
        let is_on_numbers = operands.iter().chain(results).all(is_number);
        if !is_on_numbers || self.ir.has_regions(operation) || self.ir.successors(operation).len() > 0 {
            let values = self.ir.operands(operation).chain(self.ir.results(operation));
            let mut types = values.map(|value| self.ir.value_type(value));
            let is_number = |r#type: &I::Type| matches!(type_of(self.ir, *r#type), Some(Type::Scalar(_)));
            let other = types.find(|r#type| !is_number(r#type)).map(|r#type| self.ir.type_text(r#type));
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
        numbers::kind(self.ir, operation, &numbers(operands), &numbers(results))
            .unwrap_or_else(Kind::Unsupported)
    }

    fn branch(&self, name: &str, operation: I::Op, operands: &[Value]) -> Kind {
        let ir::Kind::Flow(Flow::Branch(own)) = self.ir.kind(operation) else {
            unreachable!("the op is a branch")
        };
        let mut rest = &operands[own..];
        let edges = self.ir.successors(operation).map(|block| {
            let (values, others) = rest.split_at(self.ir.arguments(block).len());
            rest = others;
            Edge { block: self.blocks[&block], values: values.to_vec() }
        });
        let mut edges = edges.collect::<Vec<_>>().into_iter();
        let mut next = || match edges.next() {
            Some(edge) => edge,
            None => unreachable!("the op has as many successors as its name says"),
        };
        match name {
            "cf.br" => Kind::Branch(next()),
            "cf.cond_br" => Kind::BranchIf(next(), next()),
            _ => {
                let default = next();
                Kind::Switch(default, self.ir.cases(operation).into_iter().zip(edges).collect())
            }
        }
    }
}

/// The blocks that paths from the first one lead to, each after those that dominate it.
fn in_order<I: Strong>(ir: &I, region: I::Region) -> Vec<I::Block> {
    let blocks: Vec<I::Block> = ir.blocks(region).collect();
    let indices: FxHashMap<_, _> = blocks.iter().enumerate().map(|(index, block)| (*block, index)).collect();
    let successors = |block: usize| {
        let next = ir.last(blocks[block]).into_iter().flat_map(|last| ir.successors(last));
        next.map(|next| indices[&next]).collect::<Vec<_>>().into_iter()
    };
    reverse_postorder(blocks.len(), successors).into_iter().map(|index| blocks[index]).collect()
}
