//! What the tests of all libraries share: the recorded facts, and comparing a table with a rule.

use std::io::Read;

use flate2::read::GzDecoder;
use promote_lattice::semantics::Operand;
use promote_lattice::{DType, Op, Semantics};
use serde_json::Value;

pub fn data(gz: &[u8]) -> Value {
    let mut text = String::new();
    GzDecoder::new(gz).read_to_string(&mut text).expect("the data file is gzip of UTF-8");
    serde_json::from_str(&text).expect("the data file is JSON")
}

/// The facts of a data file, and those of ops that were recorded later.
pub fn extended(name: &str, gz: &[u8]) -> Value {
    let mut facts = data(gz);
    let functions: Value =
        serde_json::from_slice(include_bytes!("../data/functions.json")).expect("the data file is JSON");
    merge(&mut facts, &functions[name]);
    facts
}

fn merge(facts: &mut Value, more: &Value) {
    match (facts.as_object_mut(), more.as_object()) {
        (Some(facts), Some(more)) => more.iter().for_each(|(key, value)| match facts.get_mut(key) {
            Some(known) => merge(known, value),
            None => drop(facts.insert(key.clone(), value.clone())),
        }),
        _ => assert!(more.is_null() || facts == more, "a fact was recorded twice"),
    }
}

pub fn binary_tables() -> Value {
    data(include_bytes!("../data/binary_tables.json.gz"))
}

pub fn op_rules() -> Value {
    extended("op_rules", include_bytes!("../data/op_rules.json.gz"))
}

/// A Python bool promotes as bool.
pub fn dtype(name: &str) -> DType {
    if name == "b*" { DType::B1 } else { name.parse().expect("the oracle names dtypes as we do") }
}

/// Weak operands as Python scalars, as the oracle passes them.
pub fn scalar(name: &str) -> Operand {
    if name.ends_with('*') { Operand::literal(dtype(name)) } else { Operand::value(dtype(name)) }
}

pub fn array(name: &str) -> Operand {
    Operand::value(dtype(name))
}

pub fn outcome(semantics: &Semantics, op: Op, operands: &[Operand]) -> String {
    match semantics.infer(op, operands) {
        Ok(typing) => typing.expect("the oracle's ops have rules").result.name().to_owned(),
        Err(_) => "error".to_owned(),
    }
}

/// Compares every entry of `table` with the rule of `op`; the differences, and how many entries there were.
pub fn differences(
    semantics: &Semantics,
    label: &str,
    op: Op,
    table: &Value,
    operand: fn(&str) -> Operand,
    wrap: impl Fn(Vec<Operand>) -> Vec<Operand>,
) -> (Vec<String>, usize) {
    let table = table.as_object().expect("a table is an object");
    let differences = table
        .iter()
        .filter_map(|(key, expected)| {
            let operands = wrap(key.split(',').map(operand).collect());
            let got = outcome(semantics, op, &operands);
            (got != *expected)
                .then(|| format!("{} {label}({key}): {got}, the library: {expected}", semantics.name()))
        })
        .collect();
    (differences, table.len())
}

/// The operand that the library's tables write as `name`.
pub fn node(semantics: &Semantics, name: &str) -> Operand {
    let node = semantics.nodes().iter().find(|node| node.name == name);
    node.unwrap_or_else(|| panic!("{} has no node {name}", semantics.name())).operand
}

/// How the library's tables write what `op` returns.
pub fn shown(semantics: &Semantics, op: Op, operands: &[Operand]) -> String {
    match semantics.infer(op, operands) {
        Ok(typing) => semantics.show(typing.expect("the oracle's ops have rules").result).to_owned(),
        Err(_) => "error".to_owned(),
    }
}

/// The cells of a binary table that differ from what `cell` says, and how many cells there are.
pub fn wrong_cells(
    semantics: &Semantics,
    table: &Value,
    cell: impl Fn(Operand, Operand) -> Option<DType>,
) -> (Vec<String>, usize) {
    let table = table.as_object().expect("a table is an object");
    let wrong = table.iter().filter_map(|(key, expected)| {
        let (a, b) = key.split_once(',').expect("a key names two operands");
        let got = cell(node(semantics, a), node(semantics, b)).map_or("error", |dtype| semantics.show(dtype));
        (got != *expected).then(|| format!("{} {key}: {got}, the library: {expected}", semantics.name()))
    });
    (wrong.collect(), table.len())
}
