//! Loops, branches and calls against what JAX 0.10.2 recorded of 1593 programs, with and without x64: which it refuses, and the
//! types of what it accepts.

use promote::{Options, Policies, Semantics, Session};
use serde_json::Value;

use crate::support::{DEFAULT, INFER, jax_control_flow, list, result_types, run_in, tensor, text};

/// Without x64, and with it.
fn sessions(strict_carries: bool) -> [Session; 2] {
    [false, true].map(|x64| {
        let semantics = Semantics::by_name("jax", x64).expect("jax is known");
        let policies = Policies { strict_carries, ..Policies::default() };
        Session::new(&Options { policies, ..Options::new(semantics) }).expect("MLIR takes the dialect")
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
        assert_eq!(!outcome.text.is_empty(), accepts, "{entry}\n{}", outcome.diagnostics_text());
        accepted += usize::from(accepts);
    }
    assert_eq!((accepted, entries.len()), (1706, 2986));
}

#[test]
fn strict_carries_give_what_jax_gives() {
    let sessions = sessions(true);
    for entry in jax_control_flow() {
        let (found, expected) = (inferred(&sessions, &entry), recorded(&entry, "results"));
        assert_eq!(found, expected, "{entry}");
    }
}

#[test]
fn what_strict_carries_give_is_strong_in_the_end_and_a_second_run_changes_nothing() {
    let sessions = sessions(true);
    for entry in jax_control_flow().iter().filter(|entry| entry["accepts"] == true) {
        for pipeline in [INFER, DEFAULT] {
            let session = of(&sessions, entry);
            let once = run_in(session, text(entry, "source"), pipeline);
            assert!(!once.text.is_empty(), "{entry}\n{}", once.diagnostics_text());
            let twice = run_in(session, &once.text, pipeline);
            assert_eq!(twice.text, once.text, "{entry}\n{}", twice.diagnostics_text());
        }
        let strong = run_in(of(&sessions, entry), text(entry, "source"), DEFAULT);
        assert_eq!(
            Some(result_types(&strong.text)),
            strengthened(recorded(entry, "results"), entry),
            "{entry}"
        );
    }
}

#[test]
fn strict_carries_type_a_loop_that_a_call_precedes_and_follows() {
    let source = r#"
!u = tensor<*x!promote.unknown>
func.func private @twice(%x: !u) -> !u {
  %y = "promote.add"(%x, %x) : (!u, !u) -> !u
  return %y : !u
}
func.func @f(%w: tensor<!promote.weak_float>, %x: tensor<f32>, %h: tensor<bf16>, %n: index) -> (!u, !u) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = "promote.relax"(%x) : (tensor<f32>) -> !u
  %z = "promote.relax"(%w) : (tensor<!promote.weak_float>) -> !u
  %init = func.call @twice(%i) : (!u) -> !u
  %r:2 = scf.for %k = %c0 to %n step %c1 iter_args(%a = %init, %b = %z) -> (!u, !u) {
    scf.yield %z, %a : !u, !u
  }
  %s = func.call @twice(%r#0) : (!u) -> !u
  %t = "promote.multiply"(%s, %h) : (!u, tensor<bf16>) -> !u
  %v = "promote.multiply"(%r#1, %h) : (!u, tensor<bf16>) -> !u
  return %t, %v : !u, !u
}"#;
    let outcome = run_in(&sessions(true)[0], source, INFER);
    assert_eq!(
        result_types(&outcome.text),
        ["tensor<bf16>", "tensor<f32>"],
        "{}",
        outcome.diagnostics_text()
    );
    let outcome = run_in(&sessions(false)[0], source, INFER);
    assert_eq!(result_types(&outcome.text), ["tensor<f32>", "tensor<f32>"], "{}", outcome.diagnostics_text());
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
    assert_eq!((refused, joined, raised), (20, 2884, 82));
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
            other.push(*entry);
        }
    }
    assert_eq!((accepted.len(), same), (1706, 1657));
    // JAX gives a result the weakness of the body's last output, or of one of the branches, where we join them: these
    // programs multiply such a result by something narrower. The second number is that of runs with x64.
    let with_x64 = other.iter().filter(|entry| entry["x64"] == true).count();
    assert_eq!((other.len(), with_x64), (24, 4));
}
