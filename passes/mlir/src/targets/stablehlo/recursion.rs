//! Recursion, which XLA has none of.

use rustc_hash::FxHashMap;

use mlir_sys::MlirOperation;

use super::builder::Refusal;
use super::error;
use crate::raw::{self, Address};
use crate::units::Shared;
use promote_diagnostics::Diagnostic;

/// How far the search has come with a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    New,
    /// Its calls are being followed.
    Open,
    Done,
}

/// The calls that lead back to a function they are made in, of a search in depth from the first function on.
pub fn refusals(functions: &[Address<MlirOperation>], shared: Shared<'_>) -> Vec<Diagnostic> {
    let names = functions.iter().enumerate().filter_map(|(index, function)| {
        raw::string_attribute(function.0, "sym_name").map(|name| (name, index))
    });
    let names: FxHashMap<String, usize> = names.collect();
    let calls: Vec<_> = functions.iter().map(|function| calls(function.0, &names, shared)).collect();
    let mut states = vec![State::New; functions.len()];
    let mut found = Vec::new();
    for start in 0..functions.len() {
        // Functions, and how many of their calls are followed.
        let mut stack = vec![(start, 0)];
        while let Some((function, followed)) = stack.pop() {
            states[function] = State::Open;
            let Some((call, callee)) = calls[function].get(followed) else {
                states[function] = State::Done;
                continue;
            };
            stack.push((function, followed + 1));
            match states[*callee] {
                State::New => stack.push((*callee, 0)),
                State::Open => found.push(refusal(*call)),
                State::Done => {}
            }
        }
    }
    found
}

fn calls(
    function: MlirOperation,
    names: &FxHashMap<String, usize>,
    shared: Shared<'_>,
) -> Vec<(MlirOperation, usize)> {
    let mut found = Vec::new();
    shared.walk(function, &mut |operation| {
        let callee = raw::is_named(operation, "func.call")
            .then(|| raw::attribute(operation, "callee").and_then(raw::symbol))
            .flatten();
        found.extend(callee.and_then(|name| names.get(&name)).map(|callee| (operation, *callee)));
    });
    found
}

fn refusal(call: MlirOperation) -> Diagnostic {
    let message = "a function is recursive, which StableHLO does not support".to_owned();
    error(call, Refusal { message, remedy: "write the recursion as an scf.while" })
}
