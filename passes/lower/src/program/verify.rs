//! The verifier: that a program keeps the [laws](super).
//!
//! [`Program::verify`] is for whoever makes programs, reads them from text, or changes them. It goes from what stands on
//! its own to what needs all else, and stops with the first group that has problems:
//! 1. kernels ([`kernel`]), and the names of functions;
//! 2. of each function, ids and kinds ([`kinds`]): each step takes what it may;
//! 3. definitions ([`scope`]): each value is defined once, and before it is used;
//! 4. references and contents of buffers ([`references`]): a forward data flow over the blocks.
//!
//! Ids and kinds are checked in blocks that no path leads to as well; the rest is not.

mod flow;
mod kernel;
mod kinds;
mod references;
mod scope;

use std::fmt;

use rustc_hash::{FxHashMap, FxHashSet};

use super::{BlockId, EntryKind, Function, KernelId, Program};

/// What is wrong with a program, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// In what.
    pub item: Item,
    /// In a function, the block and the place in it.
    pub at: Option<(BlockId, Position)>,
    /// What is wrong.
    pub message: String,
}

/// What a problem is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A kernel.
    Kernel(KernelId),
    /// The function of that name for these callers.
    Function(String, EntryKind),
}

/// A place in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Its parameters.
    Start,
    /// The step of that number.
    Step(usize),
    /// Its end.
    End,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.item {
            Item::Kernel(kernel) => write!(f, "kernel {kernel}: ")?,
            Item::Function(name, entry) => write!(f, "func {entry} @{name}: ")?,
        }
        match self.at {
            None => {}
            Some((block, Position::Start)) => write!(f, "{block}: ")?,
            Some((block, Position::Step(step))) => write!(f, "{block}, step {step}: ")?,
            Some((block, Position::End)) => write!(f, "{block}, end: ")?,
        }
        f.write_str(&self.message)
    }
}

impl Program {
    /// Proves that the program keeps its laws.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn verify(&self) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        let mut interfaces = Vec::new();
        for (index, kernel) in self.kernels.iter().enumerate() {
            let (interface, messages) = kernel::verify(kernel, self.numerics);
            interfaces.push(interface);
            let item = Item::Kernel(KernelId(index as u32));
            let problem = |message| Problem { item: item.clone(), at: None, message };
            problems.extend(messages.into_iter().map(problem));
        }
        let public = self.functions.iter().filter(|function| function.entry == EntryKind::Public);
        let public: FxHashMap<&str, &Function> =
            public.map(|function| (function.name.as_str(), function)).collect();
        let mut entries = FxHashSet::default();
        for function in &self.functions {
            if !entries.insert((&function.name, function.entry)) {
                let mut found = Reporter::new(function);
                found.report("there is another function of the name for the same callers");
                problems.append(&mut found.problems);
            }
            let computes_the_same =
                |other: &&Function| (&other.inputs, &other.outputs) == (&function.inputs, &function.outputs);
            let EntryKind::Strided(strides) = function.entry else { continue };
            if let Some(input) = strides.input.filter(|input| *input >= function.inputs.len()) {
                let mut found = Reporter::new(function);
                found.report(format!("there is no input {input}"));
                problems.append(&mut found.problems);
            }
            if !public.get(function.name.as_str()).is_some_and(computes_the_same) {
                let mut found = Reporter::new(function);
                found.report("there is no public function of the name and the types");
                problems.append(&mut found.problems);
            }
        }
        if !problems.is_empty() {
            return Err(problems);
        }
        let is_private = |function: &&Function| function.entry == EntryKind::Private;
        let private = self.functions.iter().filter(is_private);
        let private = private.map(|function| (function.name.as_str(), function)).collect();
        let context = Context { program: self, interfaces, private };
        let problems: Vec<Problem> =
            self.functions.iter().flat_map(|function| context.function(function)).collect();
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }
}

/// What functions are verified against.
struct Context<'p> {
    program: &'p Program,
    /// Of each kernel.
    interfaces: Vec<kernel::Interface>,
    /// The functions that can be called, by name.
    private: FxHashMap<&'p str, &'p Function>,
}

impl Context<'_> {
    /// What is wrong with a function.
    fn function(&self, function: &Function) -> Vec<Problem> {
        let problems = kinds::verify(self, function);
        if !problems.is_empty() {
            return problems;
        }
        let flow = flow::Flow::new(function);
        let problems = scope::verify(function, &flow);
        if !problems.is_empty() {
            return problems;
        }
        references::verify(self, function, &flow)
    }
}

/// The problems of a function.
struct Reporter<'p> {
    function: &'p Function,
    /// What is looked at.
    at: Option<(BlockId, Position)>,
    problems: Vec<Problem>,
}

impl<'p> Reporter<'p> {
    const fn new(function: &'p Function) -> Self {
        Self { function, at: None, problems: Vec::new() }
    }

    fn report(&mut self, message: impl Into<String>) {
        let item = Item::Function(self.function.name.clone(), self.function.entry);
        self.problems.push(Problem { item, at: self.at, message: message.into() });
    }
}
