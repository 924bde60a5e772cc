//! Strong modules as programs: the last that is read of an IR before code is made of it.

use promote_diagnostics::{Code, Diagnostic};
use promote_lattice::Semantics;
use promote_lower::program::Program;
use promote_lower::program::build::build;
use promote_lower::target::Target;

use super::Strong;
use super::interface;
use super::placement::{self, Functions};
use super::read::Reader;
use crate::ir::{Kind, Visibility};
use crate::source::place_of;
use crate::units::blocks;
use crate::verify::verify_strong;

/// A module as a program, and what it is made of.
pub struct Source<I: Strong> {
    /// The functions, with a body or without.
    pub functions: Vec<I::Op>,
    /// What they are.
    pub program: Program,
    /// The ops of the program's places.
    pub ops: Vec<I::Op>,
}

/// Reads a strong module, whose control flow is blocks, as a program for a target.
///
/// # Errors
/// What no code is made for.
pub fn program<I: Strong>(
    ir: &mut I,
    root: I::Op,
    semantics: &Semantics,
    target: &dyn Target,
) -> Result<Source<I>, Vec<Diagnostic>> {
    none_of(verify_strong(ir, root, Vec::new(), semantics))?;
    let body = blocks(ir, root).next().filter(|_| ir.kind(root) == Kind::Module);
    let Some(body) = body else {
        let message = "a program is read from a module";
        return Err(vec![Diagnostic::error(Code::NotLowered, place_of(ir, root), message)]);
    };
    none_of(placement::outside_of_functions(ir, root, Functions::OfTheRoot))?;
    let functions = ir.operations(body).filter(|operation| ir.kind(*operation) == Kind::Function);
    let functions: Vec<I::Op> = functions.collect();
    let mut reader = Reader::new(ir);
    let mut refused = Vec::new();
    for function in functions.iter().copied().filter(|function| has_body(ir, *function)) {
        match interface::of_function(ir, function) {
            Ok(interface) => reader.function(function, is_public(ir, function), interface),
            Err(error) => refused.push(error),
        }
    }
    none_of(refused)?;
    let Reader { module, ops, .. } = reader;
    let program = build(&module, semantics.numerics(), target)?;
    program.verify().map_err(|problems| {
        let broken = |problem| format!("the program does not keep its laws: {problem}");
        problems
            .into_iter()
            .map(|problem| Diagnostic::error(Code::Internal, None, broken(problem)))
            .collect::<Vec<_>>()
    })?;
    Ok(Source { functions, program, ops })
}

/// Whether a function has a body.
pub fn has_body<I: Strong>(ir: &I, function: I::Op) -> bool {
    blocks(ir, function).next().is_some()
}

/// Whether callers outside see a function of a strong program.
pub fn is_public<I: Strong>(ir: &I, function: I::Op) -> bool {
    ir.visibility(function) != Visibility::Private
}

fn none_of(refused: Vec<Diagnostic>) -> Result<(), Vec<Diagnostic>> {
    if refused.is_empty() { Ok(()) } else { Err(refused) }
}
