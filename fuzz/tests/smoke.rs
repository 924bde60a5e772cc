//! A first part of the programs and mutants, in child processes: `promote-fuzz` says what is wrong with which.
//!
//! Every program goes through the passes twice, bytecode, the graph, linalg, StableHLO, steps and LLVM's dialect, is compiled
//! and run beside the interpreter; its code is also written as LLVM IR, assembly, an object and a header, and one in eight as
//! a library.
//! `PROMOTE_SEEDS=10000..20000` takes others.

use std::process::Command;

fn holds(mode: &str, count: u64, accepted: &str) {
    let numbers = std::env::var("PROMOTE_SEEDS").unwrap_or_else(|_| format!("0..{count}"));
    let run = Command::new(env!("CARGO_BIN_EXE_promote-fuzz"))
        .args([mode, &numbers, "--accept", accepted])
        .output()
        .expect("the tool starts");
    let (out, errors) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{out}{errors}");
    // Past the test runner's capture: a log shall say what became of them.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), out.as_bytes());
}

/// As many as a normal run checks.
const fn count(of_release: u64) -> u64 {
    if cfg!(debug_assertions) { of_release / 10 } else { of_release }
}

#[test]
fn functions_with_dynamic_extents_keep_to_their_limits() {
    holds("programs", count(2000), "0.9");
}

#[test]
fn mutants_are_accepted_or_refused_as_they_should_be() {
    holds("mutants", count(2000), "0.6");
}
