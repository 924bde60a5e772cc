//! References to buffers, and what is in them.
//!
//! ## Algorithm
//! A forward data flow. What is known at a place is, for each buffer, how many references are held, whether it has been
//! written on every path, and whether it may have been read; and which results the caller has been asked for. References
//! must be equal where paths join; a buffer is written there if it is on each of them, and read if it is on one.
//!
//! A buffer whose reference is passed on, or that is one of two to choose from, has other names from there on. It counts
//! as read, so what may still be written has one name alone.

use std::collections::{BTreeMap, BTreeSet};

use super::flow::Flow;
use super::{Context, Position, Problem, Reporter};
use crate::program::sizes::sizes;
use crate::program::{
    Arg, Block, BlockId, End, EntryKind, Function, Launch, Matmul, Step, ValueId, ValueKind,
};

pub(super) fn verify(context: &Context<'_>, function: &Function, flow: &Flow) -> Vec<Problem> {
    let origins = origins(function);
    let sizes = sizes(function, &context.program.constants);
    let (reporter, state) = (Reporter::new(function), State::default());
    let mut references = References { context, function, origins, sizes, reporter, state };
    let starts = references.solve(flow);
    references.reporter.problems.clear();
    for block in &flow.order {
        let Some(start) = &starts[*block] else { continue };
        for (target, end) in references.block(BlockId(*block as u32), start) {
            references.joins(target, &end, starts[target.0 as usize].as_ref());
        }
    }
    references.reporter.problems
}

/// Where a buffer comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// It lives longer than the call, and is not written.
    Borrowed,
    /// The same, and it is not contiguous: kernels alone read it.
    Strided,
    /// The memory of a result.
    Output(usize),
    /// Memory of the function's frame.
    Cell,
    /// Memory of the function's own.
    Allocated,
    /// A reference that a block, a choice or a callee passes on.
    Passed,
}

/// Where each value comes from, if it is a buffer.
fn origins(function: &Function) -> Vec<Option<Origin>> {
    let mut origins = vec![None; function.values.len()];
    let mut set = |value: ValueId, origin: Origin| {
        if let ValueKind::Buffer(_) = function.kind(value) {
            origins[value.0 as usize] = Some(origin);
        }
    };
    for (index, block) in function.blocks.iter().enumerate() {
        let origin = if index == 0 { Origin::Borrowed } else { Origin::Passed };
        block.parameters.iter().for_each(|parameter| set(*parameter, origin));
        if index == 0 {
            function.strided().into_iter().for_each(|parameter| set(parameter, Origin::Strided));
        }
        for (step, _) in &block.steps {
            let origin = match step {
                Step::Allocate { .. } => Origin::Allocated,
                Step::Cell { .. } => Origin::Cell,
                Step::Output { index, .. } => Origin::Output(*index),
                Step::Constant { .. } | Step::Spill { .. } => Origin::Borrowed,
                Step::Choose { .. } | Step::Call { .. } => Origin::Passed,
                Step::Shape { .. }
                | Step::Retain(_)
                | Step::Release(_)
                | Step::Launch(_)
                | Step::Matmul(_)
                | Step::Sort { .. }
                | Step::Copy { .. }
                | Step::CheckExceptions
                | Step::Read { .. }
                | Step::Write { .. }
                | Step::Arith { .. }
                | Step::Number { .. }
                | Step::FailIf { .. } => continue,
            };
            step.defines().iter().for_each(|value| set(*value, origin));
        }
    }
    origins
}

/// What is known of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    /// How many references there are, beyond that of the caller.
    references: u64,
    /// Whether every path has written it.
    is_written: bool,
    /// Whether a path may have read it.
    is_read: bool,
}

/// What is known at a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct State {
    /// The buffers to which there are references, and those of results.
    held: BTreeMap<ValueId, Held>,
    /// The results that the caller has been asked for, and whether every path has written each.
    results: BTreeMap<usize, bool>,
}

impl State {
    fn references(&self, value: ValueId) -> u64 {
        self.held.get(&value).map_or(0, |held| held.references)
    }

    /// Takes in what is known on another path to the same place.
    fn join(&mut self, other: &Self) {
        self.held.retain(|value, held| match other.held.get(value) {
            Some(other) => {
                held.is_written &= other.is_written;
                held.is_read |= other.is_read;
                true
            }
            // The counts differ, which is a problem, or no block from here on sees the value.
            None => held.references > 0,
        });
        for (index, is_written) in &mut self.results {
            *is_written &= other.results.get(index).copied().unwrap_or(false);
        }
    }
}

struct References<'p> {
    context: &'p Context<'p>,
    function: &'p Function,
    origins: Vec<Option<Origin>>,
    /// How many elements each buffer has.
    sizes: Vec<Option<i64>>,
    reporter: Reporter<'p>,
    /// What is known where the verifier is.
    state: State,
}

impl References<'_> {
    fn report(&mut self, message: impl Into<String>) {
        self.reporter.report(message);
    }

    /// What is known at the start of each block.
    fn solve(&mut self, flow: &Flow) -> Vec<Option<State>> {
        let mut starts = vec![None; self.function.blocks.len()];
        starts[0] = Some(State::default());
        let mut position = vec![0; starts.len()];
        flow.order.iter().enumerate().for_each(|(index, block)| position[*block] = index);
        let mut pending = BTreeSet::from([0]);
        while let Some(next) = pending.pop_first() {
            let block = flow.order[next];
            let Some(start) = starts[block].clone() else { continue };
            for (target, end) in self.block(BlockId(block as u32), &start) {
                let target = target.0 as usize;
                let joined = match &starts[target] {
                    None => end,
                    Some(known) => {
                        let mut joined = known.clone();
                        joined.join(&end);
                        joined
                    }
                };
                if starts[target].as_ref() != Some(&joined) {
                    starts[target] = Some(joined);
                    pending.insert(position[target]);
                }
            }
        }
        starts
    }

    /// Goes through a block; what is known after each of its edges.
    fn block(&mut self, id: BlockId, start: &State) -> Vec<(BlockId, State)> {
        let block: &Block = self.function.block(id);
        self.state = start.clone();
        for (index, (step, _)) in block.steps.iter().enumerate() {
            self.reporter.at = Some((id, Position::Step(index)));
            self.step(step);
        }
        self.reporter.at = Some((id, Position::End));
        if let End::Return(args) = &block.end {
            self.pass(args);
            self.r#return();
        }
        let end = std::mem::take(&mut self.state);
        let edges = block.end.edges().into_iter();
        edges
            .map(|edge| {
                self.state = end.clone();
                self.pass(&edge.args);
                self.enter(edge.block);
                (edge.block, std::mem::take(&mut self.state))
            })
            .collect()
    }

    /// Compares what is known at the end of an edge with what is known at the start of its block.
    fn joins(&mut self, target: BlockId, end: &State, start: Option<&State>) {
        let Some(start) = start else { return };
        let values: BTreeSet<ValueId> = start.held.keys().chain(end.held.keys()).copied().collect();
        for value in values {
            let (here, there) = (end.references(value), start.references(value));
            if here != there {
                self.report(format!(
                    "{target} starts with {here} references to {value} from here, and with {there} from elsewhere"
                ));
            }
        }
        if !start.results.keys().eq(end.results.keys()) {
            self.report(format!("{target} starts with other results from here than from elsewhere"));
        }
    }

    // References.

    fn origin(&self, value: ValueId) -> Option<Origin> {
        self.origins[value.0 as usize]
    }

    /// Takes note of a new buffer.
    fn make(&mut self, value: ValueId, held: Held) {
        self.state.held.insert(value, held);
    }

    /// Takes note of a reference that something passes on.
    fn receive(&mut self, value: ValueId) {
        if self.origin(value).is_some() {
            self.make(value, Held { references: 1, is_written: true, is_read: true });
        }
    }

    /// Whether a buffer is there.
    fn is_there(&mut self, value: ValueId) -> bool {
        let is_there = match self.origin(value) {
            Some(Origin::Borrowed | Origin::Strided | Origin::Output(_) | Origin::Cell) => true,
            Some(Origin::Allocated | Origin::Passed) => self.state.references(value) > 0,
            None => false,
        };
        if !is_there {
            self.report(format!("there is no reference to {value} left"));
        }
        is_there
    }

    fn retain(&mut self, value: ValueId) {
        if self.origin(value) == Some(Origin::Cell) {
            self.report(format!("{value} is in the frame of the function, and has no references"));
        } else if self.origin(value) == Some(Origin::Strided) {
            self.report(format!("{value} has strides, and is passed on"));
        } else if self.is_there(value) {
            let held = Held { references: 0, is_written: true, is_read: true };
            self.state.held.entry(value).or_insert(held).references += 1;
        }
    }

    /// Drops a reference.
    fn release(&mut self, value: ValueId) {
        let is_output = matches!(self.origin(value), Some(Origin::Output(_)));
        match self.state.held.get_mut(&value) {
            Some(held) if held.references > 0 => {
                held.references -= 1;
                if held.references == 0 && !is_output {
                    self.state.held.remove(&value);
                }
            }
            _ => self.report(format!("there is no reference to {value} to drop")),
        }
    }

    /// Something other than a kernel reads a buffer.
    fn read(&mut self, value: ValueId) {
        if self.origin(value) == Some(Origin::Strided) {
            self.report(format!("{value} has strides, and is read by something other than a kernel"));
        }
        self.read_by_kernel(value);
    }

    fn read_by_kernel(&mut self, value: ValueId) {
        if !self.is_there(value) {
            return;
        }
        let is_written = self.state.held.get_mut(&value).is_none_or(|held| {
            held.is_read = true;
            held.is_written
        });
        if !is_written {
            self.report(format!("{value} is read before it is written"));
        }
    }

    fn write(&mut self, value: ValueId) {
        let own = match self.origin(value) {
            Some(Origin::Allocated) => 1,
            Some(Origin::Output(_) | Origin::Cell) => 0,
            Some(Origin::Borrowed | Origin::Strided | Origin::Passed) | None => {
                return self.report(format!("{value} is written, and is no memory that a step makes"));
            }
        };
        if !self.is_there(value) {
            return;
        }
        let Some(held) = self.state.held.get_mut(&value) else { return };
        let (references, is_read) = (held.references, held.is_read);
        held.is_written = true;
        if let Some(Origin::Output(index)) = self.origin(value) {
            self.state.results.insert(index, true);
        }
        if references != own {
            self.report(format!("{value} is written, and there is more than one reference to it"));
        }
        if is_read {
            self.report(format!("{value} is written after it was read"));
        }
    }

    /// Passes values on, with a reference to each buffer.
    fn pass(&mut self, args: &[Arg]) {
        let buffers: Vec<ValueId> = self.buffers(args);
        for buffer in &buffers {
            self.read(*buffer);
        }
        for buffer in buffers {
            self.release(buffer);
        }
    }

    fn buffers(&self, args: &[Arg]) -> Vec<ValueId> {
        let buffer = |arg: &Arg| match arg {
            Arg::Value(value) => self.origin(*value).map(|_| *value),
            Arg::Known(_) => None,
        };
        args.iter().filter_map(buffer).collect()
    }

    /// Starts a block with a reference to each buffer that is passed to it.
    fn enter(&mut self, id: BlockId) {
        let function = self.function;
        for parameter in &function.block(id).parameters {
            if self.state.references(*parameter) > 0 {
                self.report(format!("{id} starts anew, and there is a reference to {parameter} still"));
            }
            self.receive(*parameter);
        }
    }

    fn r#return(&mut self) {
        let state = std::mem::take(&mut self.state);
        for (value, held) in &state.held {
            if held.references > 0 {
                let count = held.references;
                self.report(format!("the function returns, and {value} has {count} references still"));
            }
        }
        if self.function.entry == EntryKind::Private {
            return;
        }
        for index in 0..self.function.outputs.len() {
            match state.results.get(&index) {
                Some(true) => {}
                Some(false) => {
                    self.report(format!("the function returns, and result {index} is not written"))
                }
                None => self.report(format!("the function returns, and result {index} is not made")),
            }
        }
    }

    // Steps.

    fn step(&mut self, step: &Step) {
        match step {
            Step::Allocate { buffer, dims } => {
                self.make(*buffer, Held { references: 1, is_written: has_none(dims), is_read: false });
            }
            Step::Output { buffer, index, dims } => {
                let is_written = has_none(dims);
                self.result(*index, is_written);
                self.make(*buffer, Held { references: 0, is_written, is_read: false });
            }
            Step::Cell { buffer, count } => {
                self.make(*buffer, Held { references: 0, is_written: *count == 0, is_read: false });
            }
            Step::Copy { from, to, count } => {
                for buffer in [from, to] {
                    if self.sizes[buffer.0 as usize] != Some(*count) {
                        self.report(format!("{buffer} is not known to have {count} elements"));
                    }
                }
                self.read(*from);
                if self.origin(*to) == Some(Origin::Cell) {
                    self.make(*to, Held { references: 0, is_written: true, is_read: false });
                } else {
                    self.write(*to);
                }
            }
            Step::Shape { index, dims: _ } => self.result(*index, true),
            Step::Choose { buffer, condition: _, then, otherwise } => {
                [then, otherwise].into_iter().for_each(|value| self.read(*value));
                self.receive(*buffer);
            }
            Step::Retain(buffer) => self.retain(*buffer),
            Step::Release(buffer) => self.release(*buffer),
            Step::Launch(launch) => self.launch(launch),
            Step::Matmul(Matmul { left, right, product, workspace, .. }) => {
                [left, right].into_iter().for_each(|value| self.read(*value));
                self.write(*product);
                workspace.iter().for_each(|panels| self.write(panels.buffer));
            }
            Step::Sort { buffer, .. } => {
                let before = self.state.held.get(buffer).copied();
                self.read(*buffer);
                // It is read in place, by who writes it.
                if let (Some(before), Some(held)) = (before, self.state.held.get_mut(buffer)) {
                    held.is_read = before.is_read;
                }
                self.write(*buffer);
            }
            Step::Read { value: _, buffer, index: _ } => self.read(*buffer),
            Step::Write { buffer, .. } => self.write(*buffer),
            Step::Call { callee: _, args, results } => {
                self.buffers(args).into_iter().for_each(|value| self.read(value));
                results.iter().for_each(|value| self.receive(*value));
            }
            Step::Constant { .. }
            | Step::Spill { .. }
            | Step::CheckExceptions
            | Step::Arith { .. }
            | Step::Number { .. }
            | Step::FailIf { .. } => {}
        }
    }

    fn launch(&mut self, launch: &Launch) {
        let interface = &self.context.interfaces[launch.kernel.0 as usize];
        interface.reads.keys().for_each(|node| self.read_by_kernel(launch.buffer(*node)));
        interface.writes.keys().for_each(|node| self.write(launch.buffer(*node)));
    }

    /// Takes note that a result is asked for.
    fn result(&mut self, index: usize, is_written: bool) {
        if self.state.results.insert(index, is_written).is_some() {
            self.report(format!("result {index} is made twice"));
        }
    }
}

/// Whether a buffer has no elements: there is nothing to write.
fn has_none(dims: &[Arg]) -> bool {
    dims.contains(&Arg::Known(0))
}
