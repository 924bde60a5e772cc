//! Calls, returns and branches, and the references that go with them.

use rustc_hash::FxHashSet;

use super::{Builder, Lowered};
use crate::program::{Arg, Edge, End, EntryKind, Step, ValueId, ValueKind};
use crate::strong::{self, Kind, Operation, Value};
use crate::types::{Number, Type};

impl Builder<'_, '_> {
    fn tensors(&self, values: impl IntoIterator<Item = Value>) -> Vec<Value> {
        values.into_iter().filter(|value| self.source.is_tensor(*value)).collect()
    }

    pub(super) fn call(&mut self, operation: &Operation, callee: &str) {
        if !self.context.bodies.contains(callee) {
            return self.unsupported(operation, "the function that it calls has no body");
        }
        self.settle(&self.tensors(operation.operands.iter().copied()));
        let source = self.source;
        let mut args = Vec::new();
        for operand in &operation.operands {
            let Some(r#type) = source.r#type(*operand) else { continue };
            args.extend(Self::carried(&self.value(*operand), r#type));
        }
        let mut results = Vec::new();
        for result in &operation.results {
            let Some(r#type) = source.r#type(*result) else { continue };
            let (known, parts) = self.parts(r#type);
            results.extend(parts);
            if let Lowered::Tensor(_) = known {
                self.owned.push(*result);
            }
            self.values.insert(*result, known);
        }
        self.push(Step::Call { callee: callee.to_owned(), args, results });
    }

    pub(super) fn r#return(&mut self, operation: &Operation) {
        let results = match self.function.entry {
            EntryKind::Public | EntryKind::Strided(_) | EntryKind::Shapes => {
                self.put_results(operation);
                Vec::new()
            }
            EntryKind::Private => self.returned(operation),
        };
        self.release_dead(&[], &FxHashSet::default());
        self.end(End::Return(results));
    }

    /// Puts results where the caller wants them.
    fn put_results(&mut self, operation: &Operation) {
        let mut outputs = Vec::new();
        for (index, value) in operation.operands.iter().enumerate() {
            if self.source.is_tensor(*value) {
                outputs.push((self.node(*value), index));
            }
        }
        self.bring(&[], &outputs);
        for (index, value) in operation.operands.iter().enumerate() {
            if let Some(Type::Scalar(number)) = self.source.r#type(*value) {
                self.put_number(index, *value, *number);
            }
        }
    }

    fn put_number(&mut self, index: usize, value: Value, number: Number) {
        let dims = Vec::new();
        if self.is_shape() {
            return self.push(Step::Shape { index, dims });
        }
        let Some(dtype) = number.dtype() else { unreachable!("code is made for the number") };
        let buffer = self.new_value(ValueKind::Buffer(dtype));
        let value = self.number(value);
        self.push(Step::Output { buffer, index, dims });
        self.push(Step::Write { buffer, index: Arg::Known(0), value });
    }

    /// What is returned to a caller in the program, with a reference to each buffer.
    fn returned(&mut self, operation: &Operation) -> Vec<Arg> {
        self.settle(&self.tensors(operation.operands.iter().copied()));
        let source = self.source;
        let mut parts = Vec::new();
        for value in &operation.operands {
            let Some(r#type) = source.r#type(*value) else { continue };
            let known = self.value(*value);
            if let Lowered::Tensor(stored) = &known {
                self.retain(stored.buffer);
            }
            parts.extend(Self::carried(&known, r#type));
        }
        parts
    }

    pub(super) fn branch(&mut self, operation: &Operation) {
        let edges = operation.kind.edges();
        let passed: Vec<Value> = edges.iter().flat_map(|edge| edge.values.iter().copied()).collect();
        self.settle(&self.tensors(passed.iter().copied()));
        let successors: Vec<usize> = edges.iter().map(|edge| edge.block).collect();
        self.release_dead(&successors, &passed.into_iter().collect());
        let is_only = edges.len() == 1;
        let made: Vec<Edge> = edges.into_iter().map(|edge| self.edge(edge, is_only)).collect();
        let mut made = made.into_iter();
        let mut next = || match made.next() {
            Some(edge) => edge,
            None => unreachable!("there is an edge a successor"),
        };
        let end = match &operation.kind {
            Kind::BranchIf(..) => {
                let condition = Arg::Value(self.number(operation.operands[0]));
                End::Branch(condition, next(), next())
            }
            Kind::Switch(_, cases) => {
                let default = next();
                let cases = cases.iter().map(|(case, _)| (*case, next())).collect();
                End::Switch(self.number(operation.operands[0]), cases, default)
            }
            Kind::Branch(_) => End::Jump(next()),
            kind => unreachable!("{kind:?} is no branch"),
        };
        self.end(end);
    }

    /// Drops what no successor needs, and what is not passed to one.
    fn release_dead(&mut self, successors: &[usize], passed: &FxHashSet<Value>) {
        let is_live = |value: &Value| {
            passed.contains(value) || successors.iter().any(|next| self.live.at_start[*next].contains(value))
        };
        let (kept, dead): (Vec<Value>, Vec<Value>) = self.owned.iter().copied().partition(is_live);
        self.owned = kept;
        dead.into_iter().for_each(|value| self.release(self.stored(value).buffer));
    }

    /// The way to a successor, and what it is passed. The block's reference to a passed tensor goes to the successor where
    /// it is not needed for anything else there; other tensors that are passed get a reference more, and what only other
    /// successors need loses the block's. That is done on this way alone: in a block between, unless it is the only way.
    fn edge(&mut self, edge: &strong::Edge, is_only: bool) -> Edge {
        let source = self.source;
        let at_start = &self.live.at_start[edge.block];
        let mut dead: FxHashSet<Value> =
            self.owned.iter().copied().filter(|value| !at_start.contains(value)).collect();
        let (mut args, mut retained): (Vec<Arg>, Vec<ValueId>) = (Vec::new(), Vec::new());
        for (value, argument) in edge.values.iter().zip(&source.blocks[edge.block].arguments) {
            let Some(r#type) = source.r#type(*argument) else { continue };
            let known = self.value(*value);
            if let Lowered::Tensor(stored) = &known
                && !dead.remove(value)
            {
                retained.push(stored.buffer);
            }
            args.extend(Self::carried(&known, r#type));
        }
        let dead: Vec<Value> = self.owned.iter().copied().filter(|value| dead.contains(value)).collect();
        let target = strong_block(edge.block);
        if dead.is_empty() && retained.is_empty() {
            return Edge { block: target, args };
        }
        let here = self.block;
        let between = (!is_only).then(|| self.new_block());
        self.block = between.unwrap_or(here);
        retained.into_iter().for_each(|buffer| self.retain(buffer));
        dead.into_iter().for_each(|value| self.release(self.stored(value).buffer));
        let Some(between) = between else { return Edge { block: target, args } };
        self.end(End::Jump(Edge { block: target, args }));
        self.block = here;
        Edge { block: between, args: Vec::new() }
    }
}

/// The block of the program that starts as a block of the source does: they have the same numbers.
fn strong_block(block: usize) -> crate::program::BlockId {
    crate::program::BlockId(block as u32)
}
