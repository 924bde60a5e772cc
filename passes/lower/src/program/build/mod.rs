//! Programs of strong code.
//!
//! ## Algorithm
//! 1. Straight-line code is collected as a graph of primitives (`segment`), until a tensor is needed in memory: by a
//!    terminator, a call, or an op that takes an element out.
//! 2. The graph is partitioned into kernels ([`fuse`](crate::fuse)), which are launched in order.
//! 3. Buffers are counted: a block owns one reference to each tensor that is live at its start, to each that is passed to
//!    it, and to each that it makes. With every tensor that it passes on goes a reference, and what is not needed later is
//!    released. Arguments of functions belong to the caller.

mod choice;
mod extents;
mod flow;
mod liveness;
mod ops;
mod products;
mod readers;
mod segment;
mod strided;

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};
use rustc_hash::{FxHashMap, FxHashSet};

use self::liveness::Liveness;
use self::readers::ReadersOf;
use self::segment::{Segment, Stored};
use self::strided::{Lies, Traversals};
use super::cells::Cells;
use super::registers::Registers;
use super::{
    Arg, Block, BlockId, Constant, ConstantId, End, EntryKind, Function, KernelId, Layout, Literal, Place,
    PlaceId, Program, Step, ValueId, ValueKind,
};
use crate::kernel::Kernel;
use crate::strong::{self, Kind, Value};
use crate::target::Target;
use crate::types::{Number, Type};
use promote_diagnostics::{Code, Diagnostic};

/// Makes the program of a module.
///
/// # Errors
/// What no code is made for.
pub fn build(
    module: &strong::Module,
    numerics: Numerics,
    target: &dyn Target,
) -> Result<Program, Vec<Diagnostic>> {
    let calls = module.functions.iter().flat_map(|function| &function.blocks);
    let calls = calls.flat_map(|block| &block.operations).filter_map(|operation| match &operation.kind {
        Kind::Call(callee) => Some(callee.as_str()),
        _ => None,
    });
    let called: FxHashSet<&str> = calls.collect();
    let mut context = Context {
        module,
        target,
        program: Program {
            numerics,
            functions: Vec::new(),
            kernels: Vec::new(),
            constants: Vec::new(),
            places: module.places.clone(),
        },
        kernels: FxHashMap::default(),
        constants: FxHashMap::default(),
        bodies: module.functions.iter().map(|function| function.name.as_str()).collect(),
        diagnostics: Vec::new(),
    };
    for function in &module.functions {
        let mut entries = Vec::new();
        entries.extend(called.contains(function.name.as_str()).then_some(EntryKind::Private));
        entries.extend(function.is_public.then_some(EntryKind::Public));
        entries.extend((function.is_public && function.tells_shape()).then_some(EntryKind::Shapes));
        let before = context.diagnostics.len();
        for entry in entries {
            let (mut made, traversals) = Builder::new(&mut context, function, entry).function();
            context.hold(&mut made);
            context.program.functions.push(made);
            if context.diagnostics.len() > before {
                // The other entries would say the same.
                break;
            }
            if entry == EntryKind::Public {
                context.add_strided(function, &traversals);
            }
        }
    }
    let Context { program, diagnostics, .. } = context;
    if diagnostics.is_empty() { Ok(program) } else { Err(diagnostics) }
}

/// What the functions of a program share.
struct Context<'m> {
    module: &'m strong::Module,
    target: &'m dyn Target,
    program: Program,
    /// The number of each kernel in canonical form.
    kernels: FxHashMap<Kernel, KernelId>,
    /// The number of each constant.
    constants: FxHashMap<Constant, ConstantId>,
    /// The functions that have one.
    bodies: FxHashSet<&'m str>,
    diagnostics: Vec<Diagnostic>,
}

impl Context<'_> {
    /// Has a function hold small tensors without references.
    fn hold(&self, function: &mut Function) {
        if function.entry == EntryKind::Shapes || function.blocks.is_empty() {
            return;
        }
        Registers::promote(function, &self.program.constants);
        Cells::hold(function, &self.program.constants, self.target.in_frame());
    }

    fn place(&self, place: PlaceId) -> &Place {
        &self.module.places[place.0 as usize]
    }

    /// Takes note that no code is made for an op.
    fn unsupported(&mut self, place: PlaceId, why: &str) {
        let Place { location, op } = self.place(place).clone();
        let message = format!("{op} is not lowered to {}: {why}", self.target.name());
        self.diagnostics.push(Diagnostic::error(Code::NotLowered, location, message));
    }

    /// Takes note that what an op of the source computes is not defined for a dtype; of one that computes several things,
    /// of the first. Functions that are specialised of one function have its places.
    fn undefined(&mut self, place: PlaceId, op: Op, dtype: DType) {
        let Place { location, op: source } = self.place(place).clone();
        let (computed, target) = (format!("{op} of {dtype}"), self.target.name());
        let message = match source == op.to_string() {
            true => format!("{computed} is not lowered to {target}: it is not defined"),
            false => {
                format!("{source} is not lowered to {target}: it computes {computed}, which is not defined")
            }
        };
        let error = Diagnostic::error(Code::NotLowered, location, message)
            .with_remedy("convert the operands with promote.convert");
        if !self.diagnostics.contains(&error) {
            self.diagnostics.push(error);
        }
    }

    fn constant(&mut self, constant: Constant) -> ConstantId {
        let constants = &mut self.program.constants;
        *self.constants.entry(constant).or_insert_with_key(|constant| {
            constants.push(constant.clone());
            ConstantId((constants.len() - 1) as u32)
        })
    }

    fn kernel(&mut self, kernel: Kernel) -> KernelId {
        let kernels = &mut self.program.kernels;
        *self.kernels.entry(kernel).or_insert_with_key(|kernel| {
            kernels.push(kernel.clone());
            KernelId((kernels.len() - 1) as u32)
        })
    }
}

/// What a value of the source is now.
#[derive(Clone, Debug)]
enum Lowered {
    Tensor(Stored),
    Number(ValueId),
}

/// A function in the making.
struct Builder<'b, 'm> {
    context: &'b mut Context<'m>,
    source: &'m strong::Function,
    function: Function,
    /// The block that steps are appended to.
    block: BlockId,
    /// Where steps come from.
    place: PlaceId,
    /// The block and the op of the source at hand.
    at: (usize, usize),
    /// The tensors that are not in memory yet.
    segment: Segment,
    /// The buffers of which another shape alone is in use.
    floating: Vec<ValueId>,
    values: FxHashMap<Value, Lowered>,
    /// The numbers that are known.
    literals: FxHashMap<ValueId, Literal>,
    live: Liveness,
    readers: ReadersOf,
    /// The tensors to which the block at hand owns a reference.
    owned: Vec<Value>,
    /// How buffers lie in memory that are not contiguous.
    strided: FxHashMap<ValueId, Lies>,
    traversals: Traversals,
}

impl<'b, 'm> Builder<'b, 'm> {
    fn new(context: &'b mut Context<'m>, source: &'m strong::Function, entry: EntryKind) -> Self {
        let function = Function {
            name: source.name.clone(),
            entry,
            place: source.place,
            inputs: source.inputs.clone(),
            outputs: source.outputs.clone(),
            values: Vec::new(),
            blocks: Vec::new(),
        };
        let segment = Segment::new(&context.target.costs());
        Self {
            context,
            source,
            function,
            block: BlockId(0),
            place: source.place,
            at: (0, 0),
            segment,
            floating: Vec::new(),
            values: FxHashMap::default(),
            literals: FxHashMap::default(),
            live: Liveness::new(source),
            readers: ReadersOf::new(source),
            owned: Vec::new(),
            strided: FxHashMap::default(),
            traversals: Traversals::new(),
        }
    }

    fn function(mut self) -> (Function, Traversals) {
        for block in &self.source.blocks {
            let id = self.new_block();
            for (number, argument) in block.arguments.iter().enumerate() {
                self.parameter(id, number, *argument);
            }
        }
        let borrowed: FxHashSet<Value> = self.source.blocks[0].arguments.iter().copied().collect();
        for (index, block) in self.source.blocks.iter().enumerate() {
            self.block = BlockId(index as u32);
            self.owned = self.live.at_start[index].iter().copied().collect();
            self.owned.retain(|value| !borrowed.contains(value));
            self.owned.sort_unstable();
            if index > 0 {
                let tensors = block.arguments.iter().filter(|argument| self.source.is_tensor(**argument));
                self.owned.extend(tensors);
            }
            for (place, operation) in block.operations.iter().enumerate() {
                self.at = (index, place);
                self.place = operation.place;
                self.operation(operation);
            }
        }
        (self.function, self.traversals)
    }

    /// A new block after all others.
    fn new_block(&mut self) -> BlockId {
        let end = End::Return(Vec::new());
        self.function.blocks.push(Block { parameters: Vec::new(), steps: Vec::new(), end });
        BlockId((self.function.blocks.len() - 1) as u32)
    }

    /// Appends a step.
    fn push(&mut self, step: Step) {
        self.function.blocks[self.block.0 as usize].steps.push((step, self.place));
    }

    /// Ends the block.
    fn end(&mut self, end: End) {
        self.function.blocks[self.block.0 as usize].end = end;
    }

    /// Whether only shapes are asked for.
    fn is_shape(&self) -> bool {
        self.function.entry == EntryKind::Shapes
    }

    /// Lets an argument of the source be parameters of a block.
    fn parameter(&mut self, block: BlockId, number: usize, argument: Value) {
        let source = self.source;
        let Some(r#type) = source.r#type(argument) else { return };
        let (known, mut parts) = self.parts(r#type);
        let entry = self.function.entry;
        let layout = entry.layout(number, r#type);
        if let (Lowered::Tensor(stored), BlockId(0)) = (&known, block)
            && layout != Layout::RowMajor
        {
            let dims = entry.strided_dims(number, r#type);
            let strides: Vec<ValueId> = dims.iter().map(|_| self.new_value(ValueKind::INDEX)).collect();
            parts.extend(&strides);
            let strides = dims.into_iter().zip(strides).collect();
            self.strided.insert(stored.buffer, Lies { layout, strides });
        }
        self.function.blocks[block.0 as usize].parameters.extend(parts);
        self.values.insert(argument, known);
    }

    /// New values for what carries a value between blocks and functions: a number; or the buffer of a tensor, and the
    /// extents that its type leaves open.
    fn parts(&mut self, r#type: &Type) -> (Lowered, Vec<ValueId>) {
        match r#type {
            Type::Scalar(number) => {
                let value = self.new_value(ValueKind::Number(*number));
                (Lowered::Number(value), vec![value])
            }
            Type::Tensor(dtype, dims) => {
                let buffer = self.new_value(ValueKind::Buffer(*dtype));
                let mut parts = vec![buffer];
                let dims = dims.iter().map(|extent| match extent {
                    Some(extent) => Arg::Known(*extent),
                    None => {
                        let value = self.new_value(ValueKind::Number(Number::Index));
                        parts.push(value);
                        Arg::Value(value)
                    }
                });
                let dims = dims.collect();
                (Lowered::Tensor(Stored { buffer, dims }), parts)
            }
        }
    }

    /// What carries a value between blocks and functions.
    fn carried(known: &Lowered, r#type: &Type) -> Vec<Arg> {
        match (known, r#type) {
            (Lowered::Number(value), Type::Scalar(_)) => vec![Arg::Value(*value)],
            (Lowered::Tensor(stored), Type::Tensor(_, dims)) => {
                let open = dims.iter().zip(&stored.dims).filter(|(known, _)| known.is_none());
                std::iter::once(Arg::Value(stored.buffer)).chain(open.map(|(_, extent)| *extent)).collect()
            }
            _ => unreachable!("a value is of its type"),
        }
    }

    /// A reference more.
    fn retain(&mut self, buffer: ValueId) {
        if !self.is_shape() {
            self.push(Step::Retain(buffer));
        }
    }

    /// A reference less.
    fn release(&mut self, buffer: ValueId) {
        if !self.is_shape() {
            self.push(Step::Release(buffer));
        }
    }

    /// Fails with a message, which says where, if a condition holds.
    fn fail_if(&mut self, condition: Arg, message: &str) {
        let place = self.context.place(self.place);
        let message = match &place.location {
            Some(location) => format!("{location}: {message}"),
            None => message.to_owned(),
        };
        self.fail_with(condition, message);
    }

    fn fail_with(&mut self, condition: Arg, message: String) {
        if condition != Arg::Known(0) {
            self.push(Step::FailIf { condition, message });
        }
    }
}
