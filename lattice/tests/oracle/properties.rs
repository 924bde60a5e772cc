//! Commutativity and associativity as recorded with the tables of the libraries: verdicts, counts and examples.

use promote_lattice::properties::{Properties, Regrouped, Swapped, Table, spread};
use serde_json::{Map, Value, json};

use crate::support::binary_tables;

/// How many examples are recorded.
const EXAMPLES: usize = 6;

/// The dtypes of the documents' tables.
const STRONG: [&str; 15] =
    ["b1", "u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "bf16", "f16", "f32", "f64", "c64", "c128"];

fn text(value: &Value) -> &str {
    value.as_str().expect("names are strings")
}

/// Which nodes a recorded list of properties is about, by its name.
fn nodes<'s>(system: &str, dtypes: &'s [Value], list: &str, part: &str) -> Vec<&'s str> {
    let is_weak = |name: &str| name.ends_with('*');
    // TensorFlow's weak nodes have widths there, and the Python scalars stand beside them.
    let has_widths = system.starts_with("tensorflow-safe") || system.starts_with("tensorflow-all");
    let is_weak_node = |name: &str| match has_widths {
        true => is_weak(name) && name.len() > 2,
        false => is_weak(name) && name != "b*",
    };
    let is_core = |name: &str| STRONG.contains(&name) || is_weak_node(name);
    let is_in = |name: &str| match list {
        "properties_all" => true,
        "properties_core15" | "properties_core15_as_binary_op" => is_core(name),
        "properties_no_bf16" => is_core(name) && name != "bf16",
        "properties_natural_nodes_no_64bit" => is_core(name) && !is_wide(name),
        "properties_natural_nodes_no_64bit_incl_narrow" => !is_wide(name),
        "properties_tensors_only" => !is_weak(name),
        other => panic!("{other} is new"),
    };
    let is_in_part = |name: &str| match part {
        "all_nodes" | "all" => true,
        "strong_only" | "strong" => !is_weak(name),
        other => panic!("{other} is new"),
    };
    dtypes.iter().map(text).filter(|name| is_in(name) && is_in_part(name)).collect()
}

fn is_wide(name: &str) -> bool {
    ["u64", "i64", "f64", "c128"].contains(&name)
}

/// A result as the record writes it.
fn recorded(result: Option<&str>) -> &str {
    result.unwrap_or("error")
}

fn swapped(Swapped { operands: [a, b], results: [one, other] }: &Swapped<'_>) -> String {
    format!("({a},{b})->{} but ({b},{a})->{}", recorded(*one), recorded(*other))
}

fn regrouped(Regrouped { operands: [a, b, c], results: [left, right] }: &Regrouped<'_>) -> String {
    format!("({a}+{b})+{c}={}  {a}+({b}+{c})={}", recorded(*left), recorded(*right))
}

/// Properties as the record writes them.
fn record(properties: &Properties<'_>) -> Value {
    let soft = &properties.refused_in_one_grouping;
    let hard = &properties.not_associative;
    let not_idempotent: Map<_, _> = properties
        .not_idempotent
        .iter()
        .map(|(node, square)| ((*node).to_owned(), recorded(*square).into()))
        .collect();
    json!({
        "nodes": properties.nodes,
        "triples": properties.triples,
        "triples_open_skipped": properties.open,
        "commutative": properties.is_commutative(),
        "commutativity_violations": properties.not_commutative.len(),
        "commutativity_examples": properties.not_commutative.iter().take(EXAMPLES).map(swapped).collect::<Vec<_>>(),
        "associative": properties.is_associative(),
        "associative_where_defined": properties.is_associative_where_defined(),
        "assoc_violations_hard": hard.len(),
        "assoc_violations_error_vs_dtype": soft.len(),
        "assoc_examples_hard": spread(hard, EXAMPLES).map(regrouped).collect::<Vec<_>>(),
        "assoc_examples_soft": spread(soft, EXAMPLES).map(regrouped).collect::<Vec<_>>(),
        "non_idempotent": not_idempotent,
    })
}

#[test]
fn verdicts_counts_and_examples_agree() {
    let tables = binary_tables();
    let mut compared = 0;
    for (system, data) in tables["systems"].as_object().expect("systems have names") {
        let dtypes = data["dtypes"].as_array().expect("dtypes are listed");
        let lists = data.as_object().expect("a system is an object").iter();
        for (list, parts) in lists.filter(|(list, _)| list.starts_with("properties_")) {
            for (part, expected) in parts.as_object().expect("properties are of parts") {
                let nodes = nodes(system, dtypes, list, part);
                let cell = |a: usize, b: usize| text(&data["table"][format!("{},{}", nodes[a], nodes[b])]);
                let table = Table::new(&nodes, |a, b| Some(cell(a, b)).filter(|result| *result != "error"));
                assert_eq!(record(&table.properties()), *expected, "{system} {list} {part}");
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 108, "all properties that are recorded");
}
