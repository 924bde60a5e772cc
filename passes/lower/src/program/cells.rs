//! Small tensors in the frame of a function.
//!
//! Memory with references is allocated, counted and freed. For a few elements that takes longer than computing them, and a loop that
//! carries them does it in each iteration. [`Cells::hold`] has functions hold such tensors in [cells](Step::Cell) of their frames, which
//! a target may even keep in registers.
//!
//! ## Algorithm
//! 1. What a block takes is a *variable* if all that is passed to it has the same few elements, and nothing needs a reference to it: a
//!    cell of the whole function, to which each edge to the block [copies](Step::Copy) what it passes.
//! 2. Memory that the function makes and does not pass on, but to variables, is a cell from where it is made.
//! 3. What takes a buffer with a reference (a return, a parameter that is no variable) gets one that is allocated for it.

use promote_scalar::memory_size;
use rustc_hash::{FxHashMap, FxHashSet};

use super::registers::in_buffers;
use super::sizes::sizes;
use super::{Arg, Block, BlockId, Constant, Edge, End, Function, PlaceId, Step, ValueId, ValueKind};
use crate::target::InFrame;

/// What is known of the buffers of a function.
pub struct Cells<'f> {
    function: &'f mut Function,
    /// What each block took.
    parameters: Vec<Vec<ValueId>>,
    /// How many elements each buffer has.
    sizes: Vec<Option<i64>>,
    /// Which parameters are variables, by value.
    is_variable: Vec<bool>,
    /// Which other buffers are cells, by value.
    is_cell: Vec<bool>,
    /// The cells in which variables are kept while they are overwritten, by what they are and how many elements they have.
    kept: FxHashMap<(ValueKind, i64), ValueId>,
}

type Steps = Vec<(Step, PlaceId)>;

impl<'f> Cells<'f> {
    /// Holds small tensors in the frame of a function.
    pub fn hold(function: &'f mut Function, constants: &[Constant], limits: InFrame) {
        let sizes = sizes(function, constants);
        let mut room = Room { limits, left: limits.all };
        let is_variable = variables(function, &sizes, &mut room);
        let is_cell = cells(function, &sizes, &is_variable, &mut room);
        let parameters = function.blocks.iter().map(|block| block.parameters.clone()).collect();
        let kept = FxHashMap::default();
        let mut cells = Self { function, parameters, sizes, is_variable, is_cell, kept };
        let variables = cells.take_variables();
        for block in 0..cells.parameters.len() {
            cells.block(block);
        }
        let mut kept: Vec<ValueId> = cells.kept.values().copied().collect();
        kept.sort_unstable();
        let place = cells.function.place;
        let made = variables.into_iter().chain(kept).map(|buffer| {
            let count = cells.count(buffer);
            (Step::Cell { buffer, count }, place)
        });
        let made: Vec<_> = made.collect();
        cells.function.blocks[0].steps.splice(..0, made);
    }

    /// Takes the variables from the blocks: they are made where the function starts.
    fn take_variables(&mut self) -> Vec<ValueId> {
        let mut taken = Vec::new();
        for block in &mut self.function.blocks[1..] {
            taken.extend(block.parameters.extract_if(.., |buffer| self.is_variable[buffer.0 as usize]));
        }
        taken
    }

    fn is_in_frame(&self, buffer: ValueId) -> bool {
        self.is_variable[buffer.0 as usize] || self.is_cell[buffer.0 as usize]
    }

    fn count(&self, buffer: ValueId) -> i64 {
        match self.sizes[buffer.0 as usize] {
            Some(count) => count,
            None => unreachable!("what is in a frame has elements that are counted"),
        }
    }

    fn new_buffer(&mut self, like: ValueId) -> ValueId {
        let count = self.count(like);
        self.function.values.push(self.function.kind(like));
        self.sizes.push(Some(count));
        self.is_variable.push(false);
        self.is_cell.push(false);
        ValueId((self.function.values.len() - 1) as u32)
    }

    fn block(&mut self, index: usize) {
        let block = &mut self.function.blocks[index];
        let steps = std::mem::take(&mut block.steps);
        let end = std::mem::replace(&mut block.end, End::Return(Vec::new()));
        let last = steps.last().map_or(self.function.place, |(_, place)| *place);
        let mut out = Steps::with_capacity(steps.len());
        for (step, place) in steps {
            match step {
                Step::Allocate { buffer, .. } if self.is_in_frame(buffer) => {
                    out.push((Step::Cell { buffer, count: self.count(buffer) }, place));
                }
                Step::Retain(buffer) | Step::Release(buffer) if self.is_in_frame(buffer) => {}
                step => out.push((step, place)),
            }
        }
        let end = self.end(end, last, &mut out);
        let block = &mut self.function.blocks[index];
        (block.steps, block.end) = (out, end);
    }

    fn end(&mut self, end: End, place: PlaceId, out: &mut Steps) -> End {
        match end {
            End::Return(args) => {
                End::Return(args.into_iter().map(|arg| self.with_reference(arg, place, out)).collect())
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

    /// What is passed on with a reference: a copy of what is in the frame.
    fn with_reference(&mut self, arg: Arg, place: PlaceId, out: &mut Steps) -> Arg {
        let Arg::Value(from) = arg else { return arg };
        if !self.is_in_frame(from) {
            return arg;
        }
        let (to, count) = (self.new_buffer(from), self.count(from));
        out.push((Step::Allocate { buffer: to, dims: vec![Arg::Known(count)] }, place));
        out.push((Step::Copy { from, to, count }, place));
        Arg::Value(to)
    }

    /// An edge, with copies of what it passes to variables.
    fn edge(&mut self, edge: Edge, place: PlaceId, out: &mut Steps) -> Edge {
        let parameters = self.parameters[edge.block.0 as usize].clone();
        let (mut args, mut copies, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
        for (arg, parameter) in edge.args.into_iter().zip(parameters) {
            match arg {
                Arg::Value(from) if self.is_variable[parameter.0 as usize] => {
                    if from != parameter {
                        copies.push((from, parameter));
                    }
                    if !self.is_in_frame(from) {
                        dropped.push(from);
                    }
                }
                arg => args.push(self.with_reference(arg, place, out)),
            }
        }
        self.copy(copies, place, out);
        dropped.into_iter().for_each(|buffer| drop_reference(buffer, place, out));
        Edge { block: edge.block, args }
    }

    /// Copies buffers to variables, all at once: one that is read is overwritten after that.
    fn copy(&mut self, mut copies: Vec<(ValueId, ValueId)>, place: PlaceId, out: &mut Steps) {
        let mut readers: FxHashMap<ValueId, Vec<usize>> = FxHashMap::default();
        let mut writer: FxHashMap<ValueId, usize> = FxHashMap::default();
        for (index, (from, to)) in copies.iter().enumerate() {
            readers.entry(*from).or_default().push(index);
            writer.insert(*to, index);
        }
        let mut left: FxHashMap<ValueId, usize> =
            readers.iter().map(|(from, indices)| (*from, indices.len())).collect();
        let is_free = |(_, to): &(ValueId, ValueId)| !readers.contains_key(to);
        let mut free: Vec<usize> = (0..copies.len()).rev().filter(|index| is_free(&copies[*index])).collect();
        let mut is_done = vec![false; copies.len()];
        for next in 0..copies.len() {
            if !is_done[next] && free.is_empty() {
                // Each of these is read by another one: what the first overwrites is kept.
                let to = copies[next].1;
                let (kept, count) = (self.kept(to), self.count(to));
                out.push((Step::Copy { from: to, to: kept, count }, place));
                for reader in readers.get(&to).into_iter().flatten() {
                    copies[*reader].0 = kept;
                }
                free.push(next);
            }
            while let Some(index) = free.pop() {
                let (from, to) = copies[index];
                out.push((Step::Copy { from, to, count: self.count(to) }, place));
                is_done[index] = true;
                let Some(left) = left.get_mut(&from) else { continue };
                *left -= 1;
                if *left == 0 {
                    free.extend(writer.get(&from).filter(|index| !is_done[**index]));
                }
            }
        }
    }

    /// A cell for what is in a variable.
    fn kept(&mut self, variable: ValueId) -> ValueId {
        let of = (self.function.kind(variable), self.count(variable));
        if let Some(kept) = self.kept.get(&of) {
            return *kept;
        }
        let kept = self.new_buffer(variable);
        self.kept.insert(of, kept);
        kept
    }

    /// One of several edges: what must be done on it alone is done in a block of its own.
    fn split(&mut self, edge: Edge, place: PlaceId) -> Edge {
        let mut steps = Steps::new();
        let edge = self.edge(edge, place, &mut steps);
        if steps.is_empty() {
            return edge;
        }
        self.function.blocks.push(Block { parameters: Vec::new(), steps, end: End::Jump(edge) });
        Edge { block: BlockId((self.function.blocks.len() - 1) as u32), args: Vec::new() }
    }
}

/// Drops a reference, or does not take it in the first place.
fn drop_reference(buffer: ValueId, place: PlaceId, out: &mut Steps) {
    let last = out
        .iter()
        .rposition(|(step, _)| matches!(step, Step::Retain(of) | Step::Release(of) if *of == buffer));
    match last {
        Some(index) if matches!(out[index].0, Step::Retain(_)) => {
            out.remove(index);
        }
        Some(_) | None => out.push((Step::Release(buffer), place)),
    }
}

/// What fits in the frame.
struct Room {
    limits: InFrame,
    /// How many bytes are left.
    left: i64,
}

impl Room {
    /// Takes room for a buffer, if there is.
    fn take(&mut self, function: &Function, buffer: ValueId, count: i64) -> bool {
        let bytes = count.saturating_mul(memory_size(function.dtype(buffer)) as i64);
        let fits = bytes > 0 && bytes <= self.limits.bytes.min(self.left);
        self.left -= if fits { bytes } else { 0 };
        fits
    }
}

/// Which parameters are variables.
fn variables(function: &Function, sizes: &[Option<i64>], room: &mut Room) -> Vec<bool> {
    let mut needs_reference = vec![false; function.values.len()];
    for (step, _) in function.blocks.iter().flat_map(|block| &block.steps) {
        with_references(step).into_iter().for_each(|value| needs_reference[value.0 as usize] = true);
    }
    let mut is_variable = vec![false; function.values.len()];
    // There is room to keep one of each size while it is overwritten.
    let mut kept = FxHashSet::default();
    for parameter in function.blocks[1..].iter().flat_map(|block| &block.parameters) {
        let index = parameter.0 as usize;
        if let (ValueKind::Buffer(_), Some(count), false) =
            (function.kind(*parameter), sizes[index], needs_reference[index])
        {
            let of = (function.kind(*parameter), count);
            if kept.contains(&of) || room.take(function, *parameter, count) {
                kept.insert(of);
                is_variable[index] = room.take(function, *parameter, count);
            }
        }
    }
    is_variable
}

/// Which values are memory that the function makes and does not pass on, but to variables.
fn cells(function: &Function, sizes: &[Option<i64>], is_variable: &[bool], room: &mut Room) -> Vec<bool> {
    let mut is_passed = vec![false; function.values.len()];
    let mut pass = |arg: &Arg| {
        if let Arg::Value(value) = arg {
            is_passed[value.0 as usize] = true;
        }
    };
    let steps = || function.blocks.iter().flat_map(|block| &block.steps).map(|(step, _)| step);
    for step in steps() {
        with_references(step).into_iter().for_each(|value| pass(&Arg::Value(value)));
    }
    for block in &function.blocks {
        if let End::Return(args) = &block.end {
            args.iter().for_each(&mut pass);
        }
        for edge in block.end.edges() {
            let passed = edge.args.iter().zip(&function.block(edge.block).parameters);
            passed.filter(|(_, parameter)| !is_variable[parameter.0 as usize]).for_each(|(arg, _)| pass(arg));
        }
    }
    let mut is_cell = vec![false; function.values.len()];
    for step in steps() {
        if let Step::Allocate { buffer, .. } = step
            && let (Some(count), false) = (sizes[buffer.0 as usize], is_passed[buffer.0 as usize])
        {
            is_cell[buffer.0 as usize] = count == 1 || room.take(function, *buffer, count);
        }
    }
    is_cell
}

/// The values that a step takes as buffers with references.
fn with_references(step: &Step) -> Vec<ValueId> {
    match step {
        Step::Call { args, .. } => {
            let value = |arg: &Arg| match arg {
                Arg::Value(value) => Some(*value),
                Arg::Known(_) => None,
            };
            args.iter().filter_map(value).collect()
        }
        step => in_buffers(step),
    }
}
