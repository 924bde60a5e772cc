//! Ids and kinds: what is named is there, and each step takes and defines what it may.

use promote_lattice::DType;
use promote_lattice::convert::is_exact;

use super::{Context, Position, Problem, Reporter};
use crate::program::{
    Arg, Arith, Block, BlockId, Edge, End, EntryKind, Function, Launch, Literal, Matmul, Panels, PlaceId,
    Step, ValueId, ValueKind, operands,
};
use crate::types::{Number, Type};

pub(super) fn verify(context: &Context<'_>, function: &Function) -> Vec<Problem> {
    let mut kinds = Kinds { context, function, reporter: Reporter::new(function) };
    kinds.function();
    kinds.reporter.problems
}

struct Kinds<'p> {
    context: &'p Context<'p>,
    function: &'p Function,
    reporter: Reporter<'p>,
}

const INDEX: ValueKind = ValueKind::INDEX;
const TRUTH: ValueKind = ValueKind::TRUTH;

/// The most elements that a buffer in the frame of a function has.
const MOST_IN_FRAME: i64 = 1 << 16;

impl Kinds<'_> {
    fn report(&mut self, message: impl Into<String>) {
        self.reporter.report(message);
    }

    fn function(&mut self) {
        let function = self.function;
        self.place(function.place);
        for (index, kind) in function.values.iter().enumerate() {
            if let ValueKind::Number(number) = kind {
                self.is_supported(*number, &format!("%{index}"));
            }
        }
        for r#type in &function.outputs {
            if let Type::Scalar(number) = r#type {
                self.is_supported(*number, "a result");
            }
        }
        let Some(entry) = function.blocks.first() else { return self.report("there is no block") };
        self.reporter.at = Some((BlockId(0), Position::Start));
        let parameters: Option<Vec<ValueKind>> =
            entry.parameters.iter().map(|parameter| self.kind(*parameter)).collect();
        if parameters.is_some_and(|kinds| kinds != function.all_parameters()) {
            self.report("the parameters are not what the function takes");
        }
        for (index, block) in function.blocks.iter().enumerate() {
            self.block(BlockId(index as u32), block);
        }
    }

    fn block(&mut self, id: BlockId, block: &Block) {
        self.reporter.at = Some((id, Position::Start));
        for parameter in &block.parameters {
            self.kind(*parameter);
        }
        for (index, (step, place)) in block.steps.iter().enumerate() {
            self.reporter.at = Some((id, Position::Step(index)));
            self.place(*place);
            self.step(step);
            if self.function.entry == EntryKind::Shapes {
                self.shapes_alone(step);
            }
        }
        self.reporter.at = Some((id, Position::End));
        self.end(&block.end);
    }

    // Values.

    fn is_supported(&mut self, number: Number, what: &str) {
        if number.dtype().is_none() {
            self.report(format!("{what} is {number}, of which no code is made"));
        }
    }

    fn place(&mut self, place: PlaceId) {
        if place.0 as usize >= self.context.program.places.len() {
            self.report(format!("there is no place {place}"));
        }
    }

    /// What a value is.
    fn kind(&mut self, value: ValueId) -> Option<ValueKind> {
        let kind = self.function.values.get(value.0 as usize).copied();
        if kind.is_none() {
            self.report(format!("there is no value {value}"));
        }
        kind
    }

    fn is(&mut self, value: ValueId, kind: ValueKind) {
        if let Some(found) = self.kind(value).filter(|found| *found != kind) {
            self.report(format!("{value} is {found}, not {kind}"));
        }
    }

    /// The dtype of a buffer.
    fn buffer(&mut self, value: ValueId) -> Option<DType> {
        match self.kind(value)? {
            ValueKind::Buffer(dtype) => Some(dtype),
            ValueKind::Number(number) => {
                self.report(format!("{value} is {number}, not a buffer"));
                None
            }
        }
    }

    /// The type of a number.
    fn number(&mut self, value: ValueId) -> Option<Number> {
        match self.kind(value)? {
            ValueKind::Number(number) => Some(number),
            ValueKind::Buffer(dtype) => {
                self.report(format!("{value} is buffer<{dtype}>, not a number"));
                None
            }
        }
    }

    fn arg(&mut self, arg: Arg, kind: ValueKind) {
        match arg {
            Arg::Value(value) => self.is(value, kind),
            Arg::Known(number) => {
                let is_known = kind == INDEX || kind == TRUTH && matches!(number, 0 | 1);
                if !is_known {
                    self.report(format!("{number} is no {kind}"));
                }
            }
        }
    }

    fn args(&mut self, args: &[Arg], kinds: &[ValueKind], what: &str) {
        if args.len() != kinds.len() {
            return self.report(format!("{what}: {} values for {}", args.len(), kinds.len()));
        }
        args.iter().zip(kinds).for_each(|(arg, kind)| self.arg(*arg, *kind));
    }

    /// An extent.
    fn extent(&mut self, extent: Arg) {
        self.arg(extent, INDEX);
        if extent.fixed().is_some_and(|extent| extent < 0) {
            self.report("an extent is negative");
        }
    }

    /// A number of elements that the frame of a function holds.
    fn few(&mut self, count: i64) {
        if !(0..=MOST_IN_FRAME).contains(&count) {
            self.report(format!("{count} elements are not held in a frame"));
        }
    }

    /// A number in a register, and the dtype that it has in memory.
    fn element(&mut self, value: ValueId, buffer: ValueId) {
        let (Some(number), Some(dtype)) = (self.number(value), self.buffer(buffer)) else { return };
        if number.dtype() != Some(dtype) {
            self.report(format!("{value} is {number}, and {buffer} is buffer<{dtype}>"));
        }
    }

    // Steps.

    fn step(&mut self, step: &Step) {
        match step {
            Step::Allocate { buffer, dims } => {
                self.buffer(*buffer);
                dims.iter().for_each(|extent| self.extent(*extent));
            }
            Step::Output { buffer, index, dims } => self.output(*buffer, *index, dims),
            Step::Shape { index, dims } => {
                self.result(*index, dims, EntryKind::Shapes);
            }
            Step::Constant { buffer, constant } => {
                let known = self.context.program.constants.get(constant.0 as usize);
                match known.map(|constant| ValueKind::Buffer(constant.dtype)) {
                    Some(kind) => self.is(*buffer, kind),
                    None => self.report(format!("there is no constant {constant}")),
                }
            }
            Step::Spill { buffer, value } => self.element(*value, *buffer),
            Step::Cell { buffer, count } => {
                self.buffer(*buffer);
                self.few(*count);
            }
            Step::Copy { from, to, count } => {
                if let Some(dtype) = self.buffer(*from) {
                    self.is(*to, ValueKind::Buffer(dtype));
                }
                if from == to {
                    self.report(format!("{to} is copied to itself"));
                }
                self.few(*count);
            }
            Step::Choose { buffer, condition, then, otherwise } => {
                self.arg(*condition, TRUTH);
                if let Some(dtype) = self.buffer(*buffer) {
                    [then, otherwise].into_iter().for_each(|value| self.is(*value, ValueKind::Buffer(dtype)));
                }
            }
            Step::Retain(buffer) | Step::Release(buffer) => {
                self.buffer(*buffer);
            }
            Step::Launch(launch) => self.launch(launch),
            Step::Matmul(matmul) => self.matmul(matmul),
            Step::Sort { buffer, outer, extent, inner } => {
                self.buffer(*buffer);
                [outer, extent, inner].into_iter().for_each(|extent| self.extent(*extent));
            }
            Step::CheckExceptions => {}
            Step::Read { value, buffer, index } | Step::Write { buffer, index, value } => {
                self.element(*value, *buffer);
                self.extent(*index);
            }
            Step::Arith { value, op, args } => self.arith(*value, *op, args),
            Step::Number { value, number } => self.literal(*value, *number),
            Step::FailIf { condition, message: _ } => self.arg(*condition, TRUTH),
            Step::Call { callee, args, results } => self.call(callee, args, results),
        }
    }

    fn output(&mut self, buffer: ValueId, index: usize, dims: &[Arg]) {
        let dtype = self.buffer(buffer);
        let asked = self.result(index, dims, EntryKind::Public);
        if let (Some(dtype), Some(asked)) = (dtype, asked)
            && dtype != asked
        {
            self.report(format!("{buffer} is buffer<{dtype}>, and result {index} is {asked}"));
        }
    }

    /// Checks the extents of a result; its dtype.
    fn result(&mut self, index: usize, dims: &[Arg], entry: EntryKind) -> Option<DType> {
        dims.iter().for_each(|extent| self.extent(*extent));
        if self.function.entry.row_major() != entry {
            self.report(format!("the step is one of {entry} functions"));
        }
        let Some(r#type) = self.function.outputs.get(index) else {
            self.report(format!("there is no result {index}"));
            return None;
        };
        let differs = |(extent, known): (&Arg, &Option<i64>)| match (extent.fixed(), known) {
            (Some(extent), Some(known)) => extent != *known,
            (None, _) | (_, None) => false,
        };
        if dims.len() != r#type.dims().len() || dims.iter().zip(r#type.dims()).any(differs) {
            self.report(format!("result {index} is {type}, of another shape"));
        }
        Some(r#type.dtype())
    }

    fn launch(&mut self, launch: &Launch) {
        let Launch { kernel, buffers, places, extents } = launch;
        let Some(interface) = self.context.interfaces.get(kernel.0 as usize) else {
            return self.report(format!("there is no kernel {kernel}"));
        };
        places.iter().for_each(|place| self.place(*place));
        extents.iter().for_each(|extent| self.arg(*extent, INDEX));
        let counts = [buffers.len(), places.len(), extents.len()];
        let needed = [interface.nodes, interface.nodes, interface.symbols];
        if counts != needed {
            let message = format!(
                "{kernel} needs {needed:?} buffers, places and extents, and the launch has {counts:?}"
            );
            return self.report(message);
        }
        let mut accessed = vec![None; interface.nodes];
        for (node, dtype) in interface.reads.iter().chain(&interface.writes) {
            accessed[node.0 as usize] = Some(*dtype);
        }
        for (index, (buffer, dtype)) in buffers.iter().zip(accessed).enumerate() {
            match (buffer, dtype) {
                (Some(buffer), Some(dtype)) => self.is(*buffer, ValueKind::Buffer(dtype)),
                (None, Some(_)) => self.report(format!("{kernel} accesses b{index}, which is missing")),
                (Some(buffer), None) => {
                    self.report(format!("{kernel} does not access b{index}, which is {buffer}"));
                }
                (None, None) => {}
            }
        }
        let mut others: Vec<ValueId> =
            interface.reads.keys().filter_map(|node| buffers[node.0 as usize]).collect();
        others.sort_unstable();
        for node in interface.writes.keys() {
            let Some(written) = buffers[node.0 as usize] else { continue };
            match others.binary_search(&written) {
                Ok(_) => self.report(format!("{written} is written and accessed as another buffer as well")),
                Err(place) => others.insert(place, written),
            }
        }
    }

    fn matmul(&mut self, matmul: &Matmul) {
        if let Some(dtype) = self.buffer(matmul.product) {
            if let Some(Panels { buffer, .. }) = matmul.workspace {
                self.is(buffer, ValueKind::Buffer(dtype));
            }
            for operand in [matmul.left, matmul.right] {
                let lossy = self.buffer(operand).filter(|from| !is_exact(*from, dtype));
                if let Some(from) = lossy {
                    self.report(format!(
                        "{operand} is of {from}, and {dtype} does not hold all values of that"
                    ));
                }
            }
        }
        matmul.extents().into_iter().for_each(|extent| self.extent(extent));
        let written = [Some(matmul.product), matmul.workspace.map(|panels| panels.buffer)];
        let is_alone = |value| matmul.buffers().into_iter().filter(|buffer| *buffer == value).count() == 1;
        if !written.into_iter().flatten().all(is_alone) {
            self.report("what is written is accessed as another buffer as well");
        }
        if matmul.workspace.is_some_and(|panels| panels.columns < 1) {
            self.report("a panel has no columns");
        }
    }

    fn arith(&mut self, value: ValueId, op: Arith, args: &[Arg]) {
        let Some(result) = self.number(value) else { return };
        let number = |arg: &Arg| match arg {
            Arg::Value(value) => self.number(*value).map(Some),
            Arg::Known(_) => Some(None),
        };
        let Some(numbers) = args.iter().map(number).collect::<Option<Vec<_>>>() else { return };
        let Some(taken) = operands(op, &numbers, result) else {
            let numbers: Vec<String> = numbers
                .iter()
                .map(|number| match number {
                    Some(number) => number.to_string(),
                    None => "a number".to_owned(),
                })
                .collect();
            return self.report(format!("{op} makes no {result} of ({})", numbers.join(", ")));
        };
        for (arg, number) in args.iter().zip(taken) {
            if let Arg::Known(known) = arg {
                self.is_literal(Literal::Int(*known), number);
            }
        }
        if op.divides() && args[1] == Arg::Known(0) {
            self.report("0 is no divisor");
        }
    }

    fn literal(&mut self, value: ValueId, literal: Literal) {
        if let Some(number) = self.number(value) {
            self.is_literal(literal, number);
        }
    }

    fn is_literal(&mut self, literal: Literal, number: Number) {
        let fits = match (literal, number) {
            (Literal::Int(_), Number::Index) => true,
            (Literal::Int(value), Number::Int(1)) => matches!(value, 0 | 1),
            (Literal::Int(value), Number::Int(width @ ..64)) => value >> (width - 1) == value >> 63,
            (Literal::Int(_), Number::Int(_)) => true,
            (Literal::Float(bits), Number::Float(dtype)) => bits >> dtype.bits() == 0,
            (Literal::Int(_), Number::Float(_)) | (Literal::Float(_), Number::Index | Number::Int(_)) => {
                false
            }
        };
        if !fits {
            self.report(format!("{literal} is no {number}"));
        }
    }

    fn call(&mut self, callee: &str, args: &[Arg], results: &[ValueId]) {
        let Some(function) = self.context.private.get(callee).copied() else {
            return self.report(format!("there is no private function @{callee}"));
        };
        self.args(args, &ValueKind::carrying(&function.inputs), &format!("the operands of @{callee}"));
        let returned = ValueKind::carrying(&function.outputs);
        if results.len() != returned.len() {
            return self.report(format!("@{callee} returns {} values", returned.len()));
        }
        results.iter().zip(returned).for_each(|(value, kind)| self.is(*value, kind));
    }

    /// Who asks for shapes alone has no buffers.
    fn shapes_alone(&mut self, step: &Step) {
        match step {
            Step::Shape { .. } | Step::Number { .. } | Step::Arith { .. } | Step::FailIf { .. } => {}
            Step::Allocate { .. }
            | Step::Output { .. }
            | Step::Constant { .. }
            | Step::Spill { .. }
            | Step::Cell { .. }
            | Step::Copy { .. }
            | Step::Choose { .. }
            | Step::Retain(_)
            | Step::Release(_)
            | Step::Launch(_)
            | Step::Matmul(_)
            | Step::Sort { .. }
            | Step::CheckExceptions
            | Step::Read { .. }
            | Step::Write { .. }
            | Step::Call { .. } => self.report("a function that computes shapes uses a buffer"),
        }
    }

    // Ends.

    fn end(&mut self, end: &End) {
        match end {
            End::Return(args) => {
                let returned = match self.function.entry {
                    EntryKind::Public | EntryKind::Strided(_) | EntryKind::Shapes => Vec::new(),
                    EntryKind::Private => ValueKind::carrying(&self.function.outputs),
                };
                self.args(args, &returned, "what is returned");
            }
            End::Jump(_) => {}
            End::Branch(condition, ..) => self.arg(*condition, TRUTH),
            End::Switch(value, cases, _) => {
                self.number(*value);
                let mut numbers: Vec<i64> = cases.iter().map(|(case, _)| *case).collect();
                numbers.sort_unstable();
                if numbers.windows(2).any(|pair| pair[0] == pair[1]) {
                    self.report("two cases are alike");
                }
            }
        }
        end.edges().into_iter().for_each(|edge| self.edge(edge));
    }

    fn edge(&mut self, edge: &Edge) {
        let Edge { block: id, args } = edge;
        let Some(block) = self.function.blocks.get(id.0 as usize) else {
            return self.report(format!("there is no block {id}"));
        };
        if *id == BlockId(0) {
            self.report("the first block is where callers start: nothing goes on there");
        }
        let parameters: Option<Vec<ValueKind>> =
            block.parameters.iter().map(|parameter| self.kind(*parameter)).collect();
        if let Some(parameters) = parameters {
            self.args(args, &parameters, &format!("the parameters of {id}"));
        }
    }
}
