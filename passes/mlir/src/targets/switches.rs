//! `promote-number-switches`: `scf.index_switch` is switched on small numbers.
//!
//! Upstream's `convert-scf-to-cf` compares the lower 32 bits of the index with those of the cases, and takes a case that is none.
//! Before it the cases are numbered from 0, and the index becomes the number of its case, or their count.

use melior::dialect::DialectHandle;
use mlir_sys::*;
use promote_diagnostics::Diagnostic;
use rustc_hash::FxHashMap;

use super::TargetPass;
use crate::raw::{self, NewOp};

/// The pass `promote-number-switches`.
pub static PASS: TargetPass = TargetPass {
    name: "promote-number-switches",
    description: "let scf.index_switch choose by the number of a case, as convert-scf-to-cf looks at 32 bits",
    dialects: || vec![DialectHandle::arith()],
    run: |root, _, _| {
        number_all(root);
        Vec::<Diagnostic>::new()
    },
    emitted: None,
};

const CASES: &str = "cases";

fn number_all(root: MlirOperation) {
    let mut rest: Vec<MlirBlock> = raw::regions(root).flat_map(raw::blocks).collect();
    while let Some(block) = rest.pop() {
        for operation in raw::operations(block) {
            rest.extend(raw::regions(operation).flat_map(raw::blocks));
            if raw::is_named(operation, "scf.index_switch") {
                number(operation);
            }
        }
    }
}

/// Gives the cases of a switch their numbers.
fn number(switch: MlirOperation) {
    let Some(cases) = raw::attribute(switch, CASES).and_then(raw::i64_list) else { return };
    let numbered: Vec<i64> = (0..cases.len() as i64).collect();
    let context = raw::context(switch);
    let add = |name: &str, operands: &[MlirValue], result: MlirType, attributes: &[MlirNamedAttribute]| {
        let location = raw::location(switch);
        let made = raw::create(&NewOp { name, location, operands, results: &[result], attributes });
        raw::insert_before(made, switch);
        raw::result(made)
    };
    let mut known: FxHashMap<i64, MlirValue> = FxHashMap::default();
    let mut index = |value: i64| {
        *known.entry(value).or_insert_with(|| {
            let value = raw::named(context, "value", raw::index_attribute(context, value));
            add("arith.constant", &[], raw::index_type(context), &[value])
        })
    };
    let chosen = raw::operand(switch, 0);
    let equal = raw::named(context, "predicate", raw::i64_attribute(context, 0));
    let mut number = index(cases.len() as i64);
    for (case, own) in cases.iter().zip(&numbered) {
        let is_case = add("arith.cmpi", &[chosen, index(*case)], raw::truth_type(context), &[equal]);
        number = add("arith.select", &[is_case, index(*own), number], raw::index_type(context), &[]);
    }
    raw::set_operand(switch, 0, number);
    raw::set_attribute(switch, CASES, raw::i64_array(context, &numbered));
}
