//! Builds programs of the dialect in Rust, for any host.
//!
//! A front end calls a [`Builder`]: values have Rust's operators and a method for each op of the dialect, numbers are
//! weak literals as in Python, loops and branches are closures. What comes of it is a [`Program`]: plain data. Its
//! `Display` is MLIR's text, and `promote-pliron` makes pliron's ops of it.
//!
//! ```
//! use promote_builder::Builder;
//! use promote_lattice::DType;
//!
//! let mut builder = Builder::new();
//! builder.function("scaled", |f| {
//!     let x = f.argument(DType::BF16, &[Some(4)]);
//!     let b = f.argument(DType::F32, &[]);
//!     let y = (x * 0.5).tanh() + b;
//!     f.for_range(0..3, y, |_, y| &y * &y)
//! });
//! let program = builder.finish()?;
//! assert!(program.to_string().contains(r#""promote.tanh""#));
//! # Ok::<(), promote_builder::Errors>(())
//! ```
//!
//! What is wrong with a program as such, as an op with too few operands or a value of another function, [`Builder::finish`]
//! says, with the place of the call: nothing here panics. What is wrong with its types, the passes say, with the same places.

mod error;
mod func;
pub mod program;
mod recorder;
mod text;
mod value;

use std::collections::HashSet;
use std::panic::Location as Caller;

pub use error::{Error, Errors, Problem};
pub use func::{Callee, Func, Values};
pub use program::{Program, Type};
pub use promote_diagnostics::Location;
pub use promote_lattice::convert::Literal;
pub use value::{Axes, Operand, Value};

use program::{Body, Function, Kind, Operation};

/// Builds a program, a function at a time.
#[derive(Debug, Default)]
pub struct Builder {
    functions: Vec<Function>,
    /// What they are called.
    names: HashSet<String>,
    recorded: Vec<Func>,
    errors: Vec<Error>,
}

impl Builder {
    /// A builder of a program without functions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a public function: the closure writes its body and returns its results.
    #[track_caller]
    pub fn function<R: Values>(&mut self, name: &str, body: impl FnOnce(&Func) -> R) -> Callee {
        self.build(name, true, body, Caller::caller())
    }

    /// Builds a function that only this program calls. It may have [arguments of any type](Func::generic).
    #[track_caller]
    pub fn private<R: Values>(&mut self, name: &str, body: impl FnOnce(&Func) -> R) -> Callee {
        self.build(name, false, body, Caller::caller())
    }

    fn build<R: Values>(
        &mut self,
        name: &str,
        is_public: bool,
        body: impl FnOnce(&Func) -> R,
        caller: &Caller<'_>,
    ) -> Callee {
        let place = recorder::place_of(caller);
        self.check_name(name, &place);
        let func = Func::new();
        let returned = body(&func).values();
        let ids = func.ids(&returned, &place);
        let mut recorder = func.recorder();
        let place = recorder.place(caller);
        let mut operands = Vec::new();
        for id in ids {
            // What leaves a function has a dtype of its own, which inference finds.
            let to = recorder.type_of(id).clone();
            let to = if to.is_weak() { Type::UNKNOWN } else { to };
            operands.push(recorder.relaxed(id, &to, &place));
        }
        let results: Vec<_> = operands.iter().map(|id| recorder.type_of(*id).clone()).collect();
        recorder.add(Kind::Return, operands, Vec::new(), Vec::new(), &place);
        let body = Body { arguments: recorder.arguments.clone(), ..recorder.close() };
        recorder.check(&body);
        let types = recorder.types.clone();
        drop(recorder);
        let function = Function { name: name.to_owned(), is_public, types, body, results, place };
        let callee = Callee {
            name: name.to_owned(),
            inputs: function.inputs().cloned().collect(),
            results: function.results.clone(),
        };
        self.functions.push(function);
        self.recorded.push(func);
        callee
    }

    fn check_name(&mut self, name: &str, place: &Location) {
        let is_letter = |first: char| first.is_ascii_alphabetic() || first == '_';
        let is_name = name.starts_with(is_letter)
            && name.chars().all(|character| is_letter(character) || character.is_ascii_digit());
        let is_taken = !self.names.insert(name.to_owned());
        let problem = match (is_name, is_taken) {
            (false, _) => Problem::Name(name.to_owned()),
            (true, true) => Problem::Duplicate(name.to_owned()),
            (true, false) => return,
        };
        self.errors.push(Error { place: place.clone(), problem });
    }

    /// The program.
    ///
    /// # Errors
    /// All that is wrong with how it was built.
    pub fn finish(mut self) -> Result<Program, Errors> {
        let recorded = self.recorded.iter().flat_map(|func| func.recorder().take_errors());
        self.errors.extend(recorded.collect::<Vec<_>>());
        let known: HashSet<_> = self.functions.iter().map(|function| function.name.as_str()).collect();
        for function in &self.functions {
            check_calls(&function.body, &known, &mut self.errors);
        }
        if self.errors.is_empty() {
            Ok(Program { functions: self.functions })
        } else {
            Err(Errors(self.errors))
        }
    }
}

/// Refuses calls of functions of other programs.
fn check_calls(body: &Body, known: &HashSet<&str>, errors: &mut Vec<Error>) {
    for Operation { kind, bodies, place, .. } in &body.operations {
        match kind {
            Kind::Call(callee) if !known.contains(callee.as_str()) => {
                let problem = Problem::OtherProgram(callee.clone());
                errors.push(Error { place: place.clone(), problem });
            }
            Kind::Call(_)
            | Kind::Promote(_)
            | Kind::Index(_)
            | Kind::Extract
            | Kind::Return
            | Kind::For
            | Kind::While
            | Kind::If
            | Kind::Yield
            | Kind::Condition => {}
        }
        bodies.iter().for_each(|body| check_calls(body, known, errors));
    }
}
