//! Numbers in place of buffers of one element.
//!
//! Control flow carries tensors in buffers, each with a reference. For a tensor of one element that is an allocation, and some
//! counting, in each iteration. [`Registers::promote`] lets blocks carry such elements as numbers, which a target may keep
//! in registers.
//!
//! ## Algorithm
//! 1. A block's parameter is a number if all that is passed to it has one element, its dtype is one that numbers have, and
//!    nothing needs a buffer of its own that is made of it. It is [spilled](Step::Spill) where the block begins.
//! 2. What takes a buffer that is a number here (a return, a call, a parameter that stayed a buffer) gets one that is allocated
//!    for it; where a buffer is passed as a number, it is read, and its reference dropped.

use rustc_hash::FxHashMap;

use super::sizes::sizes;
use super::{Arg, Block, BlockId, Constant, Edge, End, Function, PlaceId, Step, ValueId, ValueKind};
use crate::types::Number;

/// What is known of the buffers of a function.
pub struct Registers<'f> {
    function: &'f mut Function,
    /// The numbers that parameters have become.
    numbers: FxHashMap<ValueId, ValueId>,
}

impl<'f> Registers<'f> {
    /// Lets a function carry numbers in place of buffers of one element.
    pub fn promote(function: &'f mut Function, constants: &[Constant]) {
        let is_number = parameters(function, constants);
        let mut registers = Self { function, numbers: FxHashMap::default() };
        registers.take_numbers(&is_number);
        for block in 0..registers.function.blocks.len() {
            registers.block(block);
        }
    }

    fn new_value(&mut self, kind: ValueKind) -> ValueId {
        self.function.values.push(kind);
        ValueId((self.function.values.len() - 1) as u32)
    }

    /// Makes numbers of parameters, and spills them.
    fn take_numbers(&mut self, is_number: &[bool]) {
        for block in 1..self.function.blocks.len() {
            let parameters = self.function.blocks[block].parameters.clone();
            let mut spills = Vec::new();
            for (place, buffer) in parameters.into_iter().enumerate() {
                if !is_number[buffer.0 as usize] {
                    continue;
                }
                let Some(number) = Number::of(self.function.dtype(buffer)) else {
                    unreachable!("parameters of such dtypes are numbers")
                };
                let value = self.new_value(ValueKind::Number(number));
                self.function.blocks[block].parameters[place] = value;
                self.numbers.insert(buffer, value);
                spills.push((Step::Spill { buffer, value }, self.place_of(block)));
            }
            self.function.blocks[block].steps.splice(..0, spills);
        }
    }

    /// Where the first step of a block comes from.
    fn place_of(&self, block: usize) -> PlaceId {
        self.function.blocks[block].steps.first().map_or(self.function.place, |(_, place)| *place)
    }

    fn block(&mut self, index: usize) {
        let block = &mut self.function.blocks[index];
        let steps = std::mem::take(&mut block.steps);
        let end = std::mem::replace(&mut block.end, End::Return(Vec::new()));
        let last = steps.last().map_or(self.function.place, |(_, place)| *place);
        let mut out = Vec::with_capacity(steps.len());
        for (step, place) in steps {
            self.step(step, place, &mut out);
        }
        let end = self.end(end, last, &mut out);
        let block = &mut self.function.blocks[index];
        (block.steps, block.end) = (out, end);
    }

    fn step(&mut self, step: Step, place: PlaceId, out: &mut Vec<(Step, PlaceId)>) {
        match step {
            // Numbers have no references.
            Step::Retain(buffer) | Step::Release(buffer) if self.numbers.contains_key(&buffer) => {}
            Step::Call { callee, args, results } => {
                let mut made = Vec::new();
                let args = args.into_iter().map(|arg| match self.allocated(arg, place, out) {
                    Some(buffer) => {
                        made.push(buffer);
                        Arg::Value(buffer)
                    }
                    None => arg,
                });
                let args = args.collect();
                out.push((Step::Call { callee, args, results }, place));
                out.extend(made.into_iter().map(|buffer| (Step::Release(buffer), place)));
            }
            step => out.push((step, place)),
        }
    }

    /// A buffer with a reference for a parameter that is a number here; `None` for anything else.
    fn allocated(&mut self, arg: Arg, place: PlaceId, out: &mut Vec<(Step, PlaceId)>) -> Option<ValueId> {
        let Arg::Value(own) = arg else { return None };
        let number = *self.numbers.get(&own)?;
        let buffer = self.new_value(self.function.kind(own));
        out.push((Step::Allocate { buffer, dims: Vec::new() }, place));
        out.push((Step::Write { buffer, index: Arg::Known(0), value: number }, place));
        Some(buffer)
    }

    fn end(&mut self, end: End, place: PlaceId, out: &mut Vec<(Step, PlaceId)>) -> End {
        match end {
            End::Return(args) => {
                let all = args.into_iter().map(|arg| self.allocated(arg, place, out).map_or(arg, Arg::Value));
                End::Return(all.collect())
            }
            End::Jump(edge) => End::Jump(self.edge(edge, place, out)),
            End::Branch(condition, then, otherwise) => {
                End::Branch(condition, self.split(then, place), self.split(otherwise, place))
            }
            End::Switch(number, cases, default) => {
                let cases = cases.into_iter().map(|(case, edge)| (case, self.split(edge, place))).collect();
                End::Switch(number, cases, self.split(default, place))
            }
        }
    }

    /// An edge, with what it passes on as its block takes it.
    fn edge(&mut self, edge: Edge, place: PlaceId, out: &mut Vec<(Step, PlaceId)>) -> Edge {
        let parameters = self.function.block(edge.block).parameters.clone();
        let args = edge.args.into_iter().zip(parameters).map(|(arg, parameter)| {
            let Arg::Value(value) = arg else { return arg };
            match (self.function.kind(value), self.function.kind(parameter)) {
                (ValueKind::Buffer(_), ValueKind::Number(number)) => self.number(value, number, place, out),
                (ValueKind::Buffer(_), ValueKind::Buffer(_)) => {
                    self.allocated(arg, place, out).map_or(arg, Arg::Value)
                }
                (ValueKind::Number(_), _) => arg,
            }
        });
        let args = args.collect();
        Edge { block: edge.block, args }
    }

    /// The number in a buffer whose reference is passed on.
    fn number(
        &mut self,
        buffer: ValueId,
        number: Number,
        place: PlaceId,
        out: &mut Vec<(Step, PlaceId)>,
    ) -> Arg {
        if let Some(known) = self.numbers.get(&buffer) {
            return Arg::Value(*known);
        }
        let value = self.new_value(ValueKind::Number(number));
        out.push((Step::Read { value, buffer, index: Arg::Known(0) }, place));
        out.push((Step::Release(buffer), place));
        Arg::Value(value)
    }

    /// One of several edges: what must be done on it alone is done in a block of its own.
    fn split(&mut self, edge: Edge, place: PlaceId) -> Edge {
        let mut steps = Vec::new();
        let edge = self.edge(edge, place, &mut steps);
        if steps.is_empty() {
            return edge;
        }
        self.function.blocks.push(Block { parameters: Vec::new(), steps, end: End::Jump(edge) });
        Edge { block: BlockId((self.function.blocks.len() - 1) as u32), args: Vec::new() }
    }
}

/// Which values are parameters that can be numbers.
fn parameters(function: &Function, constants: &[Constant]) -> Vec<bool> {
    let sizes = sizes(function, constants);
    let mut is_number = vec![false; function.values.len()];
    for parameter in function.blocks[1..].iter().flat_map(|block| &block.parameters) {
        if let ValueKind::Buffer(dtype) = function.kind(*parameter) {
            let index = parameter.0 as usize;
            is_number[index] = sizes[index] == Some(1) && Number::of(dtype).is_some();
        }
    }
    for (step, _) in function.blocks.iter().flat_map(|block| &block.steps) {
        in_buffers(step).into_iter().for_each(|value| is_number[value.0 as usize] = false);
    }
    is_number
}

/// The values that a step takes as buffers with references of their own. It names every step: what it leaves out may be in the
/// frame of the function.
pub(super) fn in_buffers(step: &Step) -> Vec<ValueId> {
    match step {
        Step::Choose { then, otherwise, .. } => vec![*then, *otherwise],
        Step::Matmul(matmul) => matmul.buffers(),
        Step::Sort { buffer, .. } => vec![*buffer],
        Step::Allocate { .. }
        | Step::Output { .. }
        | Step::Shape { .. }
        | Step::Constant { .. }
        | Step::Spill { .. }
        | Step::Cell { .. }
        | Step::Copy { .. }
        | Step::Retain(_)
        | Step::Release(_)
        | Step::Launch(_)
        | Step::CheckExceptions
        | Step::Read { .. }
        | Step::Write { .. }
        | Step::Arith { .. }
        | Step::Number { .. }
        | Step::FailIf { .. }
        | Step::Call { .. } => Vec::new(),
    }
}
