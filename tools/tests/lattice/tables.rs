//! `table`: text, JSON, CSV, marks and operands without dimensions.

use insta::assert_snapshot;
use promote_lattice::Semantics;

use crate::support::{run, systems, transcript};

const FEW: &str = "u8,i8,i32,f16,i*,f*";

#[test]
fn as_text() {
    assert_snapshot!(transcript(&[
        &["table", "--x64"],
        &["table", "-s", "jax-lax", "--nodes", FEW],
        &["table", "-s", "numpy2", "--nodes", FEW, "--mark", "jax"],
        &["table", "-s", "numpy1", "--nodes", "u8,i32,f16", "--zero-dim", "rhs"],
        &["table", "-s", "torch", "--nodes", "f16,f64,i*", "--zero-dim", "both"],
    ]));
}

#[test]
fn for_programs() {
    assert_snapshot!(transcript(&[
        &["table", "-s", "jax-strict", "--nodes", "b1,u8,i*", "--format", "json"],
        &["table", "-s", "numpy2", "--nodes", "u8,f16,i*", "--format", "json", "--mark", "jax"],
        &["table", "-s", "jax-strict", "--nodes", "b1,u8,i*", "--format", "csv"],
        &["table", "-s", "numpy2", "--nodes", "u8,f16,i*", "--format", "csv", "--mark", "jax:x64"],
    ]));
}

#[test]
fn json_has_all_nodes_in_their_order() {
    for system in systems() {
        let json = run(&["table", "-s", &system, "--format", "json"]).succeeded();
        let (name, x64) = system.strip_suffix(":x64").map_or((system.as_str(), false), |name| (name, true));
        let semantics = Semantics::by_name(name, x64).expect("it is named");
        let keys: Vec<_> = json.lines().filter_map(|line| Some(line.split_once("\": ")?.0.trim())).collect();
        let names: Vec<_> = semantics.nodes().iter().map(|node| node.name).collect();
        let expected: Vec<_> = names
            .iter()
            .flat_map(|row| names.iter().map(move |column| format!("\"{row},{column}")))
            .collect();
        assert_eq!(keys, expected, "{system}");
    }
}

#[test]
fn core_is_the_documents_dtypes_and_the_weak_ones() {
    for (system, count) in
        [("jax", 18), ("numpy2", 18), ("torch", 18), ("tensorflow-all", 20), ("array-api", 16)]
    {
        let cells = run(&["table", "-s", system, "--nodes", "core", "--format", "json"]).json();
        assert_eq!(cells.as_object().map(serde_json::Map::len), Some(count * count), "{system}");
    }
}

#[test]
fn colours_are_for_terminals_or_when_asked_for() {
    let args = ["table", "--nodes", "u8,i8,f8e5m2", "--mark", "jax-strict"];
    assert!(!run(&args).succeeded().contains('\x1b'));
    let coloured = run(&[&args[..], &["--color=always"]].concat()).succeeded();
    assert!(coloured.contains("\x1b[") && coloured.contains("[i16]"), "{coloured}");
}
