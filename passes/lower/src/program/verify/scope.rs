//! Definitions: every value is defined once, and on every path before it is used.

use super::flow::Flow;
use super::{Position, Reporter};
use crate::program::{Arg, Block, BlockId, Edge, End, Function, Launch, Step, ValueId};

pub(super) fn verify(function: &Function, flow: &Flow) -> Vec<super::Problem> {
    let mut scope = Scope {
        reporter: Reporter::new(function),
        is_defined: vec![false; function.values.len()],
        is_visible: vec![false; function.values.len()],
    };
    scope.define_once();
    scope.use_visible(flow);
    scope.reporter.problems
}

struct Scope<'p> {
    reporter: Reporter<'p>,
    is_defined: Vec<bool>,
    /// Whether a value is defined on every path to where the verifier is.
    is_visible: Vec<bool>,
}

/// What a block defines, and where.
fn definitions(block: &Block) -> impl Iterator<Item = (Position, ValueId)> + '_ {
    let parameters = block.parameters.iter().map(|parameter| (Position::Start, *parameter));
    let steps = block.steps.iter().enumerate();
    let of_steps = steps.flat_map(|(index, (step, _))| {
        step.defines().iter().map(move |value| (Position::Step(index), *value))
    });
    parameters.chain(of_steps)
}

impl Scope<'_> {
    fn define_once(&mut self) {
        for (index, block) in self.reporter.function.blocks.iter().enumerate() {
            for (position, value) in definitions(block) {
                if std::mem::replace(&mut self.is_defined[value.0 as usize], true) {
                    self.reporter.at = Some((BlockId(index as u32), position));
                    self.reporter.report(format!("{value} is defined twice"));
                }
            }
        }
    }

    /// Goes down the tree of dominators: what a block defines is visible in the blocks that it dominates.
    fn use_visible(&mut self, flow: &Flow) {
        enum Visit {
            Enter(usize),
            Leave(usize),
        }
        let blocks = &self.reporter.function.blocks;
        let mut stack = vec![Visit::Enter(0)];
        while let Some(visit) = stack.pop() {
            match visit {
                Visit::Enter(block) => {
                    self.block(BlockId(block as u32), &blocks[block]);
                    stack.push(Visit::Leave(block));
                    stack.extend(flow.dominated[block].iter().map(|next| Visit::Enter(*next)));
                }
                Visit::Leave(block) => {
                    definitions(&blocks[block])
                        .for_each(|(_, value)| self.is_visible[value.0 as usize] = false);
                }
            }
        }
    }

    fn block(&mut self, id: BlockId, block: &Block) {
        for parameter in &block.parameters {
            self.is_visible[parameter.0 as usize] = true;
        }
        for (index, (step, _)) in block.steps.iter().enumerate() {
            self.reporter.at = Some((id, Position::Step(index)));
            self.uses(step_uses(step));
            for value in step.defines() {
                self.is_visible[value.0 as usize] = true;
            }
        }
        self.reporter.at = Some((id, Position::End));
        self.uses(end_uses(&block.end));
    }

    fn uses(&mut self, values: Vec<ValueId>) {
        for value in values {
            if !self.is_visible[value.0 as usize] {
                let what = if self.is_defined[value.0 as usize] { "on every path before" } else { "where" };
                self.reporter.report(format!("{value} is not defined {what} it is used"));
            }
        }
    }
}

/// The values among what a step takes.
fn values_of<'a>(args: impl IntoIterator<Item = &'a Arg>) -> Vec<ValueId> {
    let value = |arg: &Arg| match arg {
        Arg::Value(value) => Some(*value),
        Arg::Known(_) => None,
    };
    args.into_iter().filter_map(value).collect()
}

fn step_uses(step: &Step) -> Vec<ValueId> {
    match step {
        Step::Allocate { buffer: _, dims }
        | Step::Output { buffer: _, index: _, dims }
        | Step::Shape { index: _, dims } => values_of(dims),
        Step::Constant { buffer: _, constant: _ }
        | Step::Cell { buffer: _, count: _ }
        | Step::Number { value: _, number: _ }
        | Step::CheckExceptions => Vec::new(),
        Step::Spill { buffer: _, value } => vec![*value],
        Step::Copy { from, to, count: _ } => vec![*from, *to],
        Step::Choose { buffer: _, condition, then, otherwise } => {
            [values_of([condition]), vec![*then, *otherwise]].concat()
        }
        Step::Retain(buffer) | Step::Release(buffer) => vec![*buffer],
        Step::Launch(Launch { kernel: _, buffers, places: _, extents }) => {
            buffers.iter().flatten().copied().chain(values_of(extents)).collect()
        }
        Step::Matmul(matmul) => [matmul.buffers(), values_of(&matmul.extents())].concat(),
        Step::Sort { buffer, outer, extent, inner } => {
            [vec![*buffer], values_of([outer, extent, inner])].concat()
        }
        Step::Read { value: _, buffer, index } => [vec![*buffer], values_of([index])].concat(),
        Step::Write { buffer, index, value } => [vec![*buffer, *value], values_of([index])].concat(),
        Step::Arith { value: _, op: _, args } => values_of(args),
        Step::FailIf { condition, message: _ } => values_of([condition]),
        Step::Call { callee: _, args, results: _ } => values_of(args),
    }
}

fn end_uses(end: &End) -> Vec<ValueId> {
    let passed = end.edges().into_iter().flat_map(|Edge { block: _, args }| values_of(args));
    let own = match end {
        End::Return(args) => values_of(args),
        End::Jump(_) => Vec::new(),
        End::Branch(condition, ..) => values_of([condition]),
        End::Switch(value, ..) => vec![*value],
    };
    own.into_iter().chain(passed).collect()
}
