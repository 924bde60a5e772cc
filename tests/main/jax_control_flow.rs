//! Loops and branches against what JAX 0.10.2 recorded of 993 programs, with and without x64: which it refuses, and the
//! types of what it accepts.

use std::sync::Arc;

use promote::pass::Policies;
use promote::{Options, Semantics, Session};
use serde_json::Value;

use crate::support::{INFER, jax_control_flow, list, result_types, run_in, tensor, text};

/// Without x64, and with it.
fn sessions(strict_carries: bool) -> [Session; 2] {
    [false, true].map(|x64| {
        let semantics = Arc::new(Semantics::by_name("jax", x64).expect("jax is known"));
        let policies = Policies { strict_carries, ..Policies::default() };
        let options = Options { semantics, threads: true, remarks: false, policies };
        Session::new(&options).expect("MLIR takes the dialect")
    })
}

fn of<'a>(sessions: &'a [Session; 2], entry: &Value) -> &'a Session {
    &sessions[usize::from(entry["x64"] == true)]
}

/// The types that an entry records, if it does.
fn recorded(entry: &Value, what: &str) -> Option<Vec<String>> {
    let types = list(entry, what).iter().map(|found| tensor(text(found, "dtype"), list(found, "shape")));
    (!entry[what].is_null()).then(|| types.collect())
}

#[test]
fn strict_carries_refuse_what_jax_refuses() {
    let (sessions, mut accepted) = (sessions(true), 0);
    let entries = jax_control_flow();
    for entry in &entries {
        let outcome = run_in(of(&sessions, entry), text(entry, "source"), INFER);
        let accepts = entry["accepts"] == true;
        assert_eq!(!outcome.text.is_empty(), accepts, "{entry}\n{}", outcome.said_text());
        accepted += usize::from(accepts);
    }
    assert_eq!((accepted, entries.len()), (1192, 1986));
}

/// The types that inference gives to the results of an entry.
fn inferred(sessions: &[Session; 2], entry: &Value) -> Option<Vec<String>> {
    let outcome = run_in(of(sessions, entry), text(entry, "source"), INFER);
    (!outcome.text.is_empty()).then(|| result_types(&outcome.text))
}

/// Types with the default dtypes in place of weak ones.
fn strengthened(types: Option<Vec<String>>, entry: &Value) -> Option<Vec<String>> {
    let (int, float) = if entry["x64"] == true { ("i64", "f64") } else { ("i32", "f32") };
    let strong =
        |found: &String| found.replace("!promote.weak_int", int).replace("!promote.weak_float", float);
    types.map(|types| types.iter().map(strong).collect())
}

#[test]
fn what_flows_to_one_place_has_the_join_also_where_jax_refuses() {
    let sessions = sessions(false);
    let (mut refused, mut joined, mut raised) = (0, 0, 0);
    for entry in jax_control_flow() {
        let (found, expected) = (inferred(&sessions, &entry), recorded(&entry, "joined"));
        assert_eq!(found.is_some(), expected.is_some(), "{entry}");
        match found {
            None => refused += 1,
            Some(_) if found == expected => joined += 1,
            // A weak carry of another dtype than its initial value is strong, which the join is not.
            Some(_) => raised += 1,
        }
    }
    assert_eq!((refused, joined, raised), (20, 1914, 52));
}

#[test]
fn what_jax_accepts_has_its_dtypes() {
    let sessions = sessions(false);
    let entries = jax_control_flow();
    let accepted: Vec<_> = entries.iter().filter(|entry| entry["accepts"] == true).collect();
    let (mut same, mut other) = (0, Vec::new());
    for entry in &accepted {
        let (found, expected) = (inferred(&sessions, entry), recorded(entry, "results"));
        same += usize::from(found == expected);
        if strengthened(found, entry) != strengthened(expected, entry) {
            other.push(text(entry, "name"));
        }
    }
    assert_eq!((accepted.len(), same), (1192, 1154));
    // Without x64, f* and f32 are the same to JAX's check: it gives a result the weakness of the body's last output, or of
    // one of the branches, where we join them. These programs multiply such results by bf16.
    let of_weakness = [
        "strong_carry_weak_body_of_its_dtype",
        "swap_of_weak_and_strong_of_one_dtype",
        "body_saw_the_carry_weak",
        "first_strong_second_weak_cond",
        "first_weak_second_strong_switch",
        "three_branches_first_weak_switch",
    ];
    assert_eq!(other.len(), 15);
    assert!(other.iter().all(|name| of_weakness.iter().any(|stem| name.starts_with(stem))), "{other:?}");
}
