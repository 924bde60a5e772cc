//! Modules with registered ops that their dialects do not accept before promotion: `arith.addf` of an `f32` and a `bf16`.
//!
//! MLIR's C interface verifies all that it parses, and the dialects cannot be left unregistered: `arith` is part of the
//! control flow of every program. So a shim parses without verifying, and what is verified is a copy in which ops of an
//! unregistered dialect stand for those that follow rules. All else must be as MLIR wants it, and after promotion the
//! module as a whole is.

use std::fs;

use mlir_sys::*;
use promote_host::rules::Rules;

use super::raw::{self, NewOp};
use super::session::Source;

unsafe extern "C" {
    fn promote_parse_unverified(
        context: MlirContext,
        source: MlirStringRef,
        name: MlirStringRef,
    ) -> MlirModule;
}

/// The op that stands for others in what is verified.
const STAND_IN: &str = "promote_rules.op";

/// Whether rules name an op that is registered.
pub fn has_rules(context: MlirContext, rules: &Rules) -> bool {
    rules.all().any(|(_, rule)| is_registered(context, &rule.pattern.name))
}

fn is_registered(context: MlirContext, name: &str) -> bool {
    let dialect = name.split_once('.').map_or("", |(dialect, _)| dialect);
    // SAFETY: the context is alive; MLIR knows the ops of dialects that are loaded, and returns null for one that is none.
    unsafe {
        mlirContextGetOrLoadDialect(context, raw::string(dialect));
        mlirContextIsRegisteredOperation(context, raw::string(name))
    }
}

/// Parses a module, and verifies it but for the ops that rules name. A null module if MLIR refuses it: it has said why.
pub fn parse(context: MlirContext, source: &Source<'_>, rules: &Rules) -> MlirModule {
    let null = MlirModule { ptr: std::ptr::null_mut() };
    let (mut bytes, name) = match source {
        Source::File(path) => match fs::read(path) {
            Ok(bytes) => (bytes, path.to_string_lossy().into_owned()),
            Err(_) => return null,
        },
        Source::Text(text) => (text.as_bytes().to_vec(), "-".to_owned()),
        Source::Bytecode(bytes) => (bytes.to_vec(), "-".to_owned()),
    };
    let length = bytes.len();
    bytes.push(0);
    let text = MlirStringRef { data: bytes.as_ptr().cast(), length };
    // SAFETY: the context is alive, and the strings outlive the call; the byte after the text is NUL.
    let module = unsafe { promote_parse_unverified(context, text, raw::string(&name)) };
    if module.ptr.is_null() || is_valid(module, rules) {
        return module;
    }
    // SAFETY: the module was just made, and nothing else refers to it.
    unsafe { mlirModuleDestroy(module) };
    null
}

/// Whether MLIR accepts a module but for the ops that rules name.
pub fn is_valid(module: MlirModule, rules: &Rules) -> bool {
    // SAFETY: the module is alive.
    let copy = raw::copy(unsafe { mlirModuleGetOperation(module) });
    let names: std::collections::HashSet<&str> =
        rules.all().map(|(_, rule)| rule.pattern.name.as_str()).collect();
    let mut stack: Vec<MlirBlock> = raw::regions(copy).flat_map(raw::blocks).collect();
    while let Some(block) = stack.pop() {
        for operation in raw::operations(block) {
            if raw::has_regions(operation) {
                stack.extend(raw::regions(operation).flat_map(raw::blocks));
            } else if names.contains(raw::name(operation).as_str()) && raw::successors(operation).len() == 0 {
                stand_in(operation);
            }
        }
    }
    // SAFETY: the copy is alive, stands in nothing, and no handle to it or to what is in it is used again.
    unsafe {
        let valid = mlirOperationVerify(copy);
        raw::erase(copy);
        valid
    }
}

/// Puts an op of no registered dialect in the place of an op.
fn stand_in(operation: MlirOperation) {
    let operands: Vec<_> = raw::operands(operation).collect();
    let results: Vec<_> = raw::results(operation).map(raw::value_type).collect();
    let new = raw::create(&NewOp {
        name: STAND_IN,
        location: raw::location(operation),
        operands: &operands,
        results: &results,
        attributes: &[],
    });
    raw::insert_before(new, operation);
    for (old, new) in raw::results(operation).zip(raw::results(new)) {
        raw::replace_all_uses(old, new);
    }
    // SAFETY: nothing uses the op any more, and the walk has left it.
    unsafe { raw::erase(operation) }
}
