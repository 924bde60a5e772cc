//! `promote-to-stablehlo`: a strong program as StableHLO, which XLA and all that reads its programs take.
//!
//! [`to_stablehlo`] builds each function anew beside the old one, and puts the new bodies in their places only if every
//! function could be built: a module that is refused stays as it was.
//!
//! ## How it works
//! 1. [`verify_strong`](crate::verify) runs first: an op's operands are in the dtype and shape that it computes in.
//! 2. [`lower`] goes through a function in program order, and knows the new value of every old one.
//! 3. One module an area makes the ops: [`elementwise`] keeps what StableHLO has, and has the scalar definitions expanded for
//!    the rest by [`emit`], in functions of their own where that is long ([`outline`]); [`convert`]; [`reduce`], which
//!    makes StableHLO of the primitives that `promote_lower` takes an op apart into; [`layout`]; [`matmul`]; [`control`] for
//!    `scf`, and [`scalars`] for `arith` and `tensor`.
//! 4. All of them make ops by the [`builder`] and its [`ops`], which own the spelling of StableHLO.
//!
//! ## Laws
//! - The numbers are the semantics': what StableHLO leaves to the implementation (integers divided by zero, shifts past the
//!   width, floats out of an integer's range) is never asked for. What raises an exception in the library is refused, unless
//!   it is seen that it never happens.
//! - Indices and other scalars become tensors without dimensions; an index is an `i64`.
//! - A program of StableHLO ops alone stays as it is.

mod bits;
mod builder;
mod control;
mod convert;
mod elementwise;
mod emit;
mod known;
mod layout;
mod lower;
mod matmul;
mod ops;
mod outline;
mod recursion;
mod reduce;
mod regions;
mod scalars;

use mlir_sys::*;
use rustc_hash::FxHashSet;

use crate::ir::FUNCTION;
use crate::places::place_of;
use crate::raw::{self, Address};
use crate::targets::{Emitted, TargetPass};
use crate::units::Shared;
use builder::Refusal;
use promote_diagnostics::{Code, Diagnostic, Severity};

/// What XLA may do with the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Leave out roundings to floats narrower than `f32`: no `reduce_precision` keeps them.
    pub excess_precision: bool,
}

/// The pass `promote-to-stablehlo`.
pub static PASS: TargetPass = TargetPass {
    name: "promote-to-stablehlo",
    description: "lower a strong program to StableHLO",
    dialects: Vec::new,
    run: |root, shared, config| to_stablehlo(root, shared, config.targets.stablehlo),
    emitted: Some(Emitted {
        name: "stablehlo",
        summary: "StableHLO, as text for XLA",
        prepared_by: &["lift-cf-to-scf"],
    }),
};

/// Rewrites the functions in `root` as StableHLO; what there is to say, in program order. With an error nothing is changed.
pub fn to_stablehlo(root: MlirOperation, shared: Shared<'_>, options: Options) -> Vec<Diagnostic> {
    let mut diagnostics = shared.verify_strong(root);
    if refuses(&diagnostics) {
        return diagnostics;
    }
    diagnostics.extend(unmade(root));
    diagnostics.extend(outside_of_functions(root, shared));
    let mut functions = shared.roots(root);
    functions.retain(|unit| raw::is_named(unit.0, FUNCTION));
    diagnostics.extend(recursion::refusals(&functions, shared));
    // Beside a function on which the pass runs alone nothing may be put.
    let taken = (!raw::is_named(root, FUNCTION)).then(|| outline::symbols(root, shared));
    let lower =
        |function: Address<_>| lower::function(function.0, shared, options.excess_precision, taken.as_ref());
    let lowered = shared.map(functions, lower);
    diagnostics.extend(lowered.iter().flat_map(|function| function.diagnostics.iter().cloned()));
    let refused = refuses(&diagnostics);
    let mut there = FxHashSet::default();
    for function in lowered {
        if refused { function.discard() } else { function.commit(&mut there) }
    }
    diagnostics
}

fn refuses(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error)
}

/// The error that an op is not StableHLO.
fn error(operation: MlirOperation, refusal: Refusal) -> Diagnostic {
    Diagnostic::error(Code::NotStableHlo, place_of(operation), refusal.message).with_remedy(refusal.remedy)
}

/// Whether the context refuses to make ops of a dialect that it does not know.
fn unmade(root: MlirOperation) -> Option<Diagnostic> {
    let context = raw::context(root);
    // SAFETY: the context is alive.
    let takes = unsafe {
        mlirContextGetAllowUnregisteredDialects(context)
            || mlirContextIsRegisteredOperation(context, raw::string("stablehlo.add"))
    };
    let refusal = || Refusal {
        message: "the context has no StableHLO dialect and does not allow unregistered dialects".to_owned(),
        remedy: "allow unregistered dialects in the context, or register StableHLO in it",
    };
    (!takes).then(|| error(root, refusal()))
}

/// Ops outside functions, where StableHLO has none.
fn outside_of_functions(root: MlirOperation, shared: Shared<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    if raw::is_named(root, FUNCTION) {
        return found;
    }
    shared.walk(root, &mut |operation| {
        if !raw::is_named(operation, FUNCTION) && !raw::is_named(operation, "builtin.module") {
            let message = format!("{} is outside of functions", raw::name(operation));
            found.push(error(operation, Refusal { message, remedy: "move it into a function" }));
        }
    });
    found
}
