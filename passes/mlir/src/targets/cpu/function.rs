//! Functions of a program as functions of the LLVM dialect.
//!
//! A buffer is a pointer to its first element, and its owner: what keeps it alive. What lives longer than the call has none, or null
//! where a run alone knows that.

use std::mem::offset_of;

use mlir_sys::*;
use promote_abi::{Input, MOST_IN_ANY_ORDER};
use promote_scalar::{Ty, load, memory, memory_size, store};
use rustc_hash::{FxHashMap, FxHashSet};

use super::emit::Lanes;
use super::{Lowering, scalars};
use crate::raw;
use crate::targets::llvm::Register;
use crate::targets::llvm::{CALLER, Code, Predicate, block_argument};
use promote_lower::flow::reverse_postorder;
use promote_lower::program::{
    Arg, Block, Edge, End, EntryKind, Function as Source, PlaceId, Step, ValueId, ValueKind,
};
use promote_lower::types::{Number, Type};

/// As many words as bytes of a structure that is made of words.
const fn words(bytes: usize) -> i64 {
    (bytes / 8) as i64
}

/// The inputs of a public function that nothing but kernels reads, each of which is launched once: their buffers, and the number of
/// each. Empty if it is not plain that nothing else does.
fn read_by_kernels(source: &Source) -> FxHashMap<ValueId, usize> {
    let is_plain = |(step, _): &(Step, PlaceId)| match step {
        Step::Allocate { .. }
        | Step::Output { .. }
        | Step::Constant { .. }
        | Step::Spill { .. }
        | Step::Cell { .. }
        | Step::Release(_)
        | Step::Launch(_)
        // It sorts what it writes, which inputs are not.
        | Step::Sort { .. }
        | Step::CheckExceptions
        | Step::Arith { .. }
        | Step::Number { .. }
        | Step::FailIf { .. } => true,
        Step::Shape { .. }
        | Step::Copy { .. }
        | Step::Choose { .. }
        | Step::Retain(_)
        | Step::Matmul(_)
        | Step::Read { .. }
        | Step::Write { .. }
        | Step::Call { .. } => false,
    };
    match (source.entry, source.blocks.as_slice()) {
        (EntryKind::Public, [block]) if block.steps.iter().all(is_plain) => {
            let tensors = source.taken().filter(|(_, r#type, _)| !r#type.dims().is_empty());
            tensors.map(|(input, _, own)| (own[0], input)).collect()
        }
        (EntryKind::Public | EntryKind::Strided(_) | EntryKind::Shapes | EntryKind::Private, _) => {
            FxHashMap::default()
        }
    }
}

/// What a value is in code.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// The first element, and the owner, if there may be one.
    Buffer(MlirValue, Option<MlirValue>),
    /// A number, in the type that it has in registers.
    Number(MlirValue),
}

/// A function in the making.
pub struct Function<'l, 'a> {
    /// What the module shares.
    pub lowering: &'l mut Lowering<'a>,
    /// The code.
    pub code: Code,
    /// What it is made of.
    pub source: &'a Source,
    /// The context of the call.
    pub context: MlirValue,
    values: Vec<Option<Value>>,
    blocks: Vec<MlirBlock>,
    /// The block that leaves after a failure.
    pub(super) failure: Option<MlirBlock>,
    /// The buffers of inputs, where callers from outside give those, and the number of each.
    pub(super) inputs: FxHashMap<ValueId, usize>,
    /// The inputs that may lie in any order.
    pub(super) in_any_order: InAnyOrder,
}

/// The inputs of a function that may lie in any order in memory: nothing reads them but a few kernels, in the order of row-major
/// memory, for which the run time [stages](promote_abi::Runtime::Stage) them.
#[derive(Debug, Default)]
pub struct InAnyOrder {
    /// How many kernels read each.
    readers: FxHashMap<usize, u32>,
    /// What is read otherwise.
    others: FxHashSet<usize>,
}

impl InAnyOrder {
    /// The most kernels that read an input that is staged for each.
    const MOST_READERS: u32 = 2;

    /// Takes note of a kernel that reads an input in order; whether it may be staged for it.
    pub fn stages(&mut self, input: usize) -> bool {
        *self.readers.entry(input).or_default() += 1;
        input < MOST_IN_ANY_ORDER
    }

    /// Takes note that an input is read otherwise.
    pub fn leave(&mut self, input: usize) {
        self.others.insert(input);
    }

    /// A bit for each such input.
    fn bits(&self) -> i64 {
        let few = self.readers.iter().filter(|(_, readers)| **readers <= Self::MOST_READERS);
        let staged = few.map(|(input, _)| *input).filter(|input| !self.others.contains(input));
        staged.filter(|input| *input < MOST_IN_ANY_ORDER).fold(0, |all, input| all | 1 << input)
    }
}

impl<'l, 'a> Function<'l, 'a> {
    /// Makes a function of that symbol. A bit for each of its inputs that may lie in any order in memory.
    pub fn compile(lowering: &'l mut Lowering<'a>, source: &'a Source, symbol: &str) -> i64 {
        let types = lowering.setting.types;
        let arguments = match source.entry {
            EntryKind::Public | EntryKind::Strided(_) | EntryKind::Shapes => {
                vec![types.pointer, types.pointer]
            }
            EntryKind::Private => {
                let parameters = &source.blocks[0].parameters;
                let carriers =
                    parameters.iter().flat_map(|value| scalars::carriers(&types, source.kind(*value)));
                [types.pointer].into_iter().chain(carriers).chain([types.pointer]).collect()
            }
        };
        let location = lowering.location(source.place);
        let signature = (Some(types.i32), arguments.as_slice());
        let code = Code::function(types, lowering.setting.module, location, symbol, signature, CALLER);
        let context = code.argument(0);
        let values = vec![None; source.values.len()];
        let mut this = Function {
            lowering,
            code,
            source,
            context,
            values,
            blocks: Vec::new(),
            failure: None,
            inputs: read_by_kernels(source),
            in_any_order: InAnyOrder::default(),
        };
        this.run();
        this.in_any_order.bits()
    }

    fn run(&mut self) {
        // The entry block is kept for what is needed everywhere: the program's first block follows it.
        let entry = self.code.block();
        let source = self.source;
        for (index, block) in source.blocks.iter().enumerate() {
            let types = self.code.types;
            let carriers =
                block.parameters.iter().flat_map(|value| scalars::carriers(&types, source.kind(*value)));
            let carriers: Vec<_> = if index == 0 { Vec::new() } else { carriers.collect() };
            let new = self.code.new_block(&carriers);
            self.blocks.push(new);
        }
        let first = self.code.new_block(&[]);
        self.code.go_to(first);
        match source.entry {
            EntryKind::Public | EntryKind::Strided(_) | EntryKind::Shapes => self.take_inputs(),
            EntryKind::Private => self.take_parameters(),
        }
        self.code.branch(self.blocks[0], &[]);
        let successors = |block: usize| {
            let edges = source.blocks[block].end.edges().into_iter();
            edges.map(|edge| edge.block.0 as usize)
        };
        // A block after those that dominate it: values are made before they are used.
        for index in reverse_postorder(source.blocks.len(), successors) {
            self.code.go_to(self.blocks[index]);
            self.block(&source.blocks[index], index > 0);
        }
        if let Some(failure) = self.failure {
            self.code.go_to(failure);
            let one = self.code.constant(Ty::I32, 1, 1);
            self.code.r#return(Some(one));
        }
        self.code.go_to(entry);
        self.code.branch(first, &[]);
    }

    fn block(&mut self, block: &'a Block, has_parameters: bool) {
        if has_parameters {
            let own = self.code.block();
            let mut next = 0;
            for value in &block.parameters {
                let mut part = || {
                    next += 1;
                    block_argument(own, next - 1)
                };
                let known = match self.source.kind(*value) {
                    ValueKind::Buffer(_) => Value::Buffer(part(), Some(part())),
                    ValueKind::Number(_) => Value::Number(part()),
                };
                self.set(*value, known);
            }
        }
        for (step, place) in &block.steps {
            self.code.location = self.lowering.location(*place);
            self.step(step, *place);
        }
        self.end(&block.end);
    }

    // Values.

    /// Lets a value be something.
    pub fn set(&mut self, value: ValueId, known: Value) {
        self.values[value.0 as usize] = Some(known);
    }

    pub(super) fn value(&self, value: ValueId) -> Value {
        match self.values[value.0 as usize] {
            Some(known) => known,
            None => unreachable!("a value is defined before it is used"),
        }
    }

    /// The first element of a buffer.
    pub fn data(&self, buffer: ValueId) -> MlirValue {
        self.buffer(buffer).0
    }

    /// The owner of a buffer, if it may have one.
    pub fn owner(&self, buffer: ValueId) -> Option<MlirValue> {
        self.buffer(buffer).1
    }

    fn buffer(&self, buffer: ValueId) -> (MlirValue, Option<MlirValue>) {
        match self.value(buffer) {
            Value::Buffer(data, owner) => (data, owner),
            Value::Number(_) => unreachable!("the value is a buffer"),
        }
    }

    /// A number in a register.
    pub fn number(&self, value: ValueId) -> MlirValue {
        match self.value(value) {
            Value::Number(value) => value,
            Value::Buffer(..) => unreachable!("the value is a number"),
        }
    }

    /// A number, known or not.
    pub fn arg(&mut self, arg: Arg) -> MlirValue {
        match arg {
            Arg::Value(value) => self.number(value),
            Arg::Known(number) => self.code.index(number),
        }
    }

    /// A truth value.
    pub(super) fn truth(&mut self, arg: Arg) -> MlirValue {
        match arg {
            Arg::Value(value) => self.number(value),
            Arg::Known(truth) => self.code.constant(Ty::I1, truth.cast_unsigned(), 1),
        }
    }

    /// What carries a value between blocks and functions.
    pub(super) fn carried(&mut self, arg: Arg) -> Vec<MlirValue> {
        match arg {
            Arg::Value(value) => match self.value(value) {
                Value::Buffer(data, owner) => vec![data, owner.unwrap_or_else(|| self.code.null())],
                Value::Number(value) => vec![value],
            },
            Arg::Known(number) => vec![self.code.index(number)],
        }
    }

    // Inputs.

    fn take_parameters(&mut self) {
        let mut next = 1;
        let source = self.source;
        for value in &source.blocks[0].parameters {
            let known = match source.kind(*value) {
                ValueKind::Buffer(_) => {
                    next += 2;
                    Value::Buffer(self.code.argument(next - 2), Some(self.code.argument(next - 1)))
                }
                ValueKind::Number(_) => {
                    next += 1;
                    Value::Number(self.code.argument(next - 1))
                }
            };
            self.set(*value, known);
        }
    }

    /// Takes inputs from the run time: for each its data, its extents, and its strides if it has some.
    fn take_inputs(&mut self) {
        let source = self.source;
        let mut parameters = source.blocks[0].parameters.iter();
        let mut parameter = || match parameters.next() {
            Some(value) => *value,
            None => unreachable!(
                "there is a parameter for each input, and for each extent and stride that is open"
            ),
        };
        let pointer = self.code.types.pointer;
        for (index, r#type) in source.inputs.iter().enumerate() {
            let inputs = self.code.argument(1);
            let input = index as i64 * words(size_of::<Input>());
            let data = self.word(inputs, input + words(offset_of!(Input, data)), pointer);
            let value = parameter();
            match r#type {
                Type::Scalar(number) => {
                    let number = self.read_number(data, *number);
                    self.set(value, Value::Number(number));
                }
                Type::Tensor(_, dims) => {
                    self.set(value, Value::Buffer(data, None));
                    let is_open = dims.iter().any(Option::is_none);
                    let extents =
                        is_open.then(|| self.word(inputs, input + words(offset_of!(Input, dims)), pointer));
                    let open = (0..).zip(dims).filter(|(_, extent)| extent.is_none());
                    for (axis, extents) in open.filter_map(|(axis, _)| Some((axis, extents?))) {
                        let extent = self.word(extents, axis, self.code.types.i64);
                        self.set(parameter(), Value::Number(extent));
                    }
                    let strided = source.entry.strided_dims(index, r#type);
                    if strided.is_empty() {
                        continue;
                    }
                    let strides = self.word(inputs, input + words(offset_of!(Input, strides)), pointer);
                    for axis in strided {
                        let stride = self.word(strides, axis as i64, self.code.types.i64);
                        self.set(parameter(), Value::Number(stride));
                    }
                }
            }
        }
    }

    /// A word of an array in memory.
    pub fn word(&mut self, base: MlirValue, place: i64, r#type: MlirType) -> MlirValue {
        let place = self.code.index(place);
        let address = self.code.element(base, place, self.code.types.i64, 1);
        self.code.load(address, r#type, 8)
    }

    /// Words in a row on the stack.
    pub fn words(&mut self, words: &[MlirValue]) -> MlirValue {
        let i64 = self.code.types.i64;
        let room = self.code.stack(i64, words.len().max(1) as i64, 8);
        for (place, word) in words.iter().enumerate() {
            let place = self.code.index(place as i64);
            let place = self.code.element(room, place, i64, 1);
            self.code.store(*word, place, 8);
        }
        room
    }

    /// Extents in a row in memory; null if there are none.
    pub(super) fn dims(&mut self, dims: &[Arg]) -> MlirValue {
        if dims.is_empty() {
            return self.code.null();
        }
        let known = dims.iter().map(|extent| match extent {
            Arg::Known(extent) => Some(*extent),
            Arg::Value(_) => None,
        });
        if let Some(known) = known.collect::<Option<Vec<i64>>>() {
            let symbol = self.lowering.extents(known);
            return self.code.address_of(&symbol);
        }
        let dims: Vec<MlirValue> = dims.iter().map(|extent| self.arg(*extent)).collect();
        self.words(&dims)
    }

    /// What emits instructions on numbers.
    pub(super) fn lane(&mut self) -> Lanes<'_> {
        let has_f16 = self.lowering.setting.machine.has_f16;
        Lanes { code: &mut self.code, lanes: 1, has_f16, context: self.context, place: None }
    }

    pub(super) fn read_number(&mut self, address: MlirValue, number: Number) -> MlirValue {
        let dtype = scalars::dtype(number);
        let ty = memory(dtype);
        let value = self.code.load(address, self.code.types.scalar(ty), memory_size(dtype));
        load(&mut self.lane(), dtype, Register { value, ty }).value
    }

    pub(super) fn write_number(&mut self, value: ValueId, address: MlirValue) {
        let ValueKind::Number(number) = self.source.kind(value) else {
            unreachable!("the value is a number")
        };
        let dtype = scalars::dtype(number);
        let register = Register { value: self.number(value), ty: scalars::register_type(number) };
        let raw = store(&mut self.lane(), dtype, register).value;
        self.code.store(raw, address, memory_size(dtype));
    }

    // The ends of blocks.

    fn edge(&mut self, edge: &Edge) -> (MlirBlock, Vec<MlirValue>) {
        let args = edge.args.iter().flat_map(|arg| self.carried(*arg)).collect();
        (self.blocks[edge.block.0 as usize], args)
    }

    fn end(&mut self, end: &End) {
        match end {
            End::Return(values) => self.r#return(values),
            End::Jump(edge) => {
                let (block, args) = self.edge(edge);
                self.code.branch(block, &args);
            }
            End::Branch(condition, then, otherwise) => {
                let condition = self.truth(*condition);
                let (then, otherwise) = (self.edge(then), self.edge(otherwise));
                self.code.branch_if(condition, (then.0, &then.1), (otherwise.0, &otherwise.1));
            }
            End::Switch(number, cases, default) => self.switch(*number, cases, default),
        }
    }

    fn r#return(&mut self, values: &[Arg]) {
        if self.source.entry == EntryKind::Private {
            let results = self.code.argument(self.code.argument_count() - 1);
            let words: Vec<MlirValue> = values.iter().flat_map(|value| self.carried(*value)).collect();
            for (place, word) in words.into_iter().enumerate() {
                let place = self.code.index(place as i64);
                let address = self.code.element(results, place, self.code.types.i64, 1);
                self.code.store(word, address, 8);
            }
        }
        let ok = self.code.constant(Ty::I32, 0, 1);
        self.code.r#return(Some(ok));
    }

    /// Compares with one case after another.
    fn switch(&mut self, number: ValueId, cases: &[(i64, Edge)], default: &Edge) {
        let number = self.number(number);
        let r#type = raw::value_type(number);
        for (case, edge) in cases {
            let case = self.code.types.int(r#type, *case);
            let case = self.code.value("llvm.mlir.constant", &[], r#type, &[("value", case)]);
            let is_it = self.code.compare(Predicate::Eq, number, case);
            let after = self.code.new_block(&[]);
            let (block, args) = self.edge(edge);
            self.code.branch_if(is_it, (block, &args), (after, &[]));
            self.code.go_to(after);
        }
        let (block, args) = self.edge(default);
        self.code.branch(block, &args);
    }
}
