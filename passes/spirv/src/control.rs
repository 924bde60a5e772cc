//! Structured control flow, memory and threads.

use promote_device::{Code, Loop, Parameter};
use promote_scalar::{Binary, Cast, Emit, Ty};
use rspirv::dr::Operand;
use rspirv::spirv::{LoopControl, MemorySemantics, Op, Scope, SelectionControl, StorageClass, Word};

use crate::module::{Emitter, Environment, Value};

/// A variable of the function that carries a value around a loop, or out of a branch.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    id: Word,
    ty: Ty,
}

/// The blocks of a loop.
#[derive(Clone, Copy, Debug)]
pub struct Labels {
    header: Word,
    after: Word,
    again: Word,
}

/// A loop that counts.
pub struct Counting {
    labels: Labels,
    index: Variable,
    step: Value,
    variables: Vec<Variable>,
}

/// An open branch.
pub struct Branch {
    otherwise: Word,
    after: Word,
    variables: Vec<Variable>,
}

impl Emitter {
    fn label(&mut self, id: Word) {
        let block = self.builder.begin_block(Some(id));
        block.unwrap_or_else(|error| unreachable!("the block before was ended: {error}"));
    }

    /// A terminator.
    fn terminate(&mut self, op: Op, operands: Vec<Operand>) {
        self.act(op, operands);
        self.builder.select_block(None).unwrap_or_else(|error| unreachable!("{error}"));
    }

    fn jump(&mut self, to: Word) {
        self.terminate(Op::Branch, vec![Operand::IdRef(to)]);
    }

    fn jump_if(&mut self, condition: Value, then: Word, otherwise: Word) {
        let operands = [condition.id, then, otherwise].map(Operand::IdRef).to_vec();
        self.terminate(Op::BranchConditional, operands);
    }

    fn write(&mut self, variables: &[Variable], values: &[Value]) {
        for (variable, value) in variables.iter().zip(values) {
            let value = self.hidden(*value);
            self.act(Op::Store, vec![Operand::IdRef(variable.id), Operand::IdRef(value.id)]);
        }
    }

    pub(crate) fn read(&mut self, variables: &[Variable]) -> Vec<Value> {
        variables
            .iter()
            .map(|variable| {
                let r#type = self.ty(variable.ty);
                let id = self.op(Op::Load, r#type, vec![Operand::IdRef(variable.id)]);
                Value { id, ty: variable.ty }
            })
            .collect()
    }

    fn variables_of(&mut self, values: &[Value]) -> Vec<Variable> {
        values.iter().map(|value| Variable { id: self.variable(value.ty), ty: value.ty }).collect()
    }

    /// Begins a loop: what follows computes whether it goes on.
    pub(crate) fn begin_loop(&mut self, state: &[Value]) -> (Vec<Variable>, Labels) {
        let variables = self.variables_of(state);
        self.write(&variables, state);
        let [header, check, after, again] = [(); 4].map(|()| self.builder.id());
        self.jump(header);
        self.label(header);
        let control = Operand::LoopControl(LoopControl::NONE);
        self.act(Op::LoopMerge, vec![Operand::IdRef(after), Operand::IdRef(again), control]);
        self.jump(check);
        self.label(check);
        (variables, Labels { header, after, again })
    }

    /// Goes on with the body if a condition holds.
    pub(crate) fn enter_loop(&mut self, condition: Value, labels: &Labels) {
        let body = self.builder.id();
        self.jump_if(condition, body, labels.after);
        self.label(body);
    }

    /// Ends a body; `advance` is done between iterations.
    pub(crate) fn end_loop(
        &mut self,
        variables: &[Variable],
        labels: &Labels,
        next: &[Value],
        advance: impl FnOnce(&mut Self),
    ) {
        self.write(variables, next);
        self.jump(labels.again);
        self.label(labels.again);
        advance(self);
        self.jump(labels.header);
        self.label(labels.after);
    }

    /// Goes on only where a condition holds.
    pub(crate) fn begin_if(&mut self, condition: Value) -> Word {
        let [then, after] = [(); 2].map(|()| self.builder.id());
        self.merge_at(after);
        self.jump_if(condition, then, after);
        self.label(then);
        after
    }

    pub(crate) fn end_if(&mut self, after: Word) {
        self.jump(after);
        self.label(after);
    }

    fn merge_at(&mut self, after: Word) {
        let control = Operand::SelectionControl(SelectionControl::NONE);
        self.act(Op::SelectionMerge, vec![Operand::IdRef(after), control]);
    }

    fn scope(&mut self, scope: Scope) -> Operand {
        Operand::IdScope(self.constant(Ty::I32, (scope as u32).into()).id)
    }

    fn semantics(&mut self, semantics: MemorySemantics) -> Operand {
        Operand::IdMemorySemantics(self.constant(Ty::I32, semantics.bits().into()).id)
    }

    /// Leaves the least number that was noted.
    pub(crate) fn note(&mut self, exceptions: usize, number: Value) {
        let pointer = self.word_at(self.kernel.parameters[exceptions]);
        let word = self.ty(Ty::I32);
        let scope = self.scope(Scope::Device);
        let semantics = self.semantics(MemorySemantics::RELAXED);
        let operands = vec![Operand::IdRef(pointer), scope, semantics, Operand::IdRef(number.id)];
        self.op(Op::AtomicUMin, word, operands);
    }

    /// A pointer to the element that is `ahead` of an index.
    fn element(&mut self, shared: Shared, index: Value, ahead: usize) -> Word {
        let element = self.ty(shared.ty);
        let pointer = self.pointer(StorageClass::Workgroup, element);
        let index = match self.environment {
            // Some drivers take narrow indices only.
            Environment::Vulkan => self.cast(Cast::Truncate, index, Ty::I32),
            Environment::OpenCl => index,
        };
        let by = self.constant(index.ty, ahead as u64);
        let index = if ahead == 0 { index } else { self.binary(Binary::Add, index, by) };
        self.op(Op::AccessChain, pointer, vec![Operand::IdRef(shared.array), Operand::IdRef(index.id)])
    }

    fn get_one(&mut self, from: Shared, index: Value, ahead: usize) -> Value {
        let pointer = self.element(from, index, ahead);
        let r#type = self.ty(from.ty);
        let value = Value { id: self.op(Op::Load, r#type, vec![Operand::IdRef(pointer)]), ty: from.ty };
        if from.is_truth { self.cast(Cast::Truncate, value, Ty::I1) } else { value }
    }

    fn put_one(&mut self, to: Shared, index: Value, ahead: usize, value: Value) {
        let value = if to.is_truth { self.cast(Cast::ZExt, value, to.ty) } else { value };
        let pointer = self.element(to, index, ahead);
        self.act(Op::Store, vec![Operand::IdRef(pointer), Operand::IdRef(value.id)]);
    }
}

/// Memory of a group.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    array: Word,
    /// What is kept there.
    ty: Ty,
    /// Whether that is a truth value.
    is_truth: bool,
}

impl Code for Emitter {
    type Memory = Word;
    type Shared = Shared;
    type Loop = Counting;
    type Branch = Branch;

    fn begin(&mut self, name: &str, parameters: &[Parameter], threads: u32) {
        self.begin_kernel(name, parameters, threads);
    }

    fn end(&mut self) {
        self.end_kernel();
    }

    fn memory(&mut self, parameter: usize) -> Word {
        self.kernel.parameters[parameter]
    }

    fn word(&mut self, parameter: usize) -> Value {
        Value { id: self.kernel.parameters[parameter], ty: Ty::I64 }
    }

    fn thread(&mut self) -> Value {
        Value { id: self.kernel.place[0], ty: Ty::I64 }
    }

    fn group(&mut self) -> Value {
        Value { id: self.kernel.place[1], ty: Ty::I64 }
    }

    fn groups(&mut self) -> Value {
        Value { id: self.kernel.place[2], ty: Ty::I64 }
    }

    fn load(&mut self, from: Word, index: Value, ty: Ty, count: usize) -> Vec<Value> {
        self.load_elements(from, index, ty, count)
    }

    fn store(&mut self, to: Word, index: Value, values: &[Value]) {
        self.store_elements(to, index, values);
    }

    fn shared(&mut self, ty: Ty, count: u32) -> Shared {
        let kept = if ty == Ty::I1 { Ty::I32 } else { ty };
        Shared { array: self.shared_array(kept, count), ty: kept, is_truth: ty == Ty::I1 }
    }

    /// One by one: workgroup memory has no pointers to vectors of an array's elements.
    fn get(&mut self, from: Shared, index: Value, count: usize) -> Vec<Value> {
        (0..count).map(|ahead| self.get_one(from, index, ahead)).collect()
    }

    fn put(&mut self, to: Shared, index: Value, values: &[Value]) {
        values.iter().enumerate().for_each(|(ahead, value)| self.put_one(to, index, ahead, *value));
    }

    fn barrier(&mut self) {
        let (all, seen) = (self.scope(Scope::Workgroup), self.scope(Scope::Workgroup));
        let semantics = self.semantics(MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::WORKGROUP_MEMORY);
        self.act(Op::ControlBarrier, vec![all, seen, semantics]);
    }

    fn open(&mut self, (from, to, step): (Value, Value, Value), carried: &[Value]) -> Loop<Value, Counting> {
        let state: Vec<Value> = std::iter::once(from).chain(carried.iter().copied()).collect();
        let (mut variables, labels) = self.begin_loop(&state);
        let index = variables.remove(0);
        let now = self.read(&[index])[0];
        let goes_on = self.compare(promote_scalar::Compare::LtS, now, to);
        self.enter_loop(goes_on, &labels);
        let carried = self.read(&variables);
        Loop { index: now, carried, inner: Counting { labels, index, step, variables } }
    }

    fn close(&mut self, open: Loop<Value, Counting>, next: &[Value]) -> Vec<Value> {
        let Loop { index: now, inner: Counting { labels, index, step, variables }, .. } = open;
        self.end_loop(&variables, &labels, next, |emitter| {
            let next = emitter.binary(Binary::Add, now, step);
            emitter.write(&[index], &[next]);
        });
        self.read(&variables)
    }

    fn open_if(&mut self, condition: Value) -> Branch {
        let [then, otherwise, after] = [(); 3].map(|()| self.builder.id());
        self.merge_at(after);
        self.jump_if(condition, then, otherwise);
        self.label(then);
        Branch { otherwise, after, variables: Vec::new() }
    }

    fn otherwise(&mut self, branch: &mut Branch, values: &[Value]) {
        branch.variables = self.variables_of(values);
        self.write(&branch.variables, values);
        self.jump(branch.after);
        self.label(branch.otherwise);
    }

    fn close_if(&mut self, branch: Branch, values: &[Value]) -> Vec<Value> {
        self.write(&branch.variables, values);
        self.jump(branch.after);
        self.label(branch.after);
        self.read(&branch.variables)
    }

    fn note_at(&mut self, (exceptions, base): (usize, usize), number: u32) {
        self.kernel.note = Some((exceptions, base, number));
    }
}
