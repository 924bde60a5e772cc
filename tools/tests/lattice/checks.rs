//! `check`: lattices, and counterexamples.

use insta::assert_snapshot;

use crate::support::{run, systems};

#[test]
fn lattices_are_lattices() {
    for system in ["jax:x64", "jax-lax", "jax-lax:x64", "jep9407-option3", "python", "tensorflow-all"] {
        let said = run(&["check", "-s", system]).succeeded();
        assert!(said.starts_with(&format!("{system}: a lattice")), "{said}");
    }
    assert_eq!(
        run(&["check", "-s", "numpy2", "--nodes", "u8,i8,f16"]).status,
        Some(1),
        "i16 and f32 belong to them"
    );
    let without_wide = "b1,u8,u16,u32,i8,i16,i32,bf16,f16,f32,c64,i*,f*,c*";
    assert!(run(&["check", "--nodes", without_wide]).succeeded().contains("associativity  yes"));
}

#[test]
fn others_are_not() {
    for system in ["jax", "numpy1", "numpy2", "torch", "tensorflow-safe", "dask"] {
        let run = run(&["check", "-s", system]);
        assert_eq!(run.status, Some(1), "{run}");
        assert!(run.stdout.starts_with(&format!("{system}: no lattice")) && run.stderr.is_empty(), "{run}");
    }
}

#[test]
fn every_semantics_can_be_checked() {
    for system in systems() {
        for format in ["text", "json", "csv"] {
            let run = run(&["check", "-s", &system, "--nodes", "core", "--format", format]);
            assert!(matches!(run.status, Some(0 | 1)) && run.stderr.is_empty(), "{run}");
        }
    }
}

#[test]
fn findings() {
    let mut said = String::new();
    for args in [
        &["check", "--x64"][..],
        &["check", "--nodes", "core"],
        &["check", "-s", "numpy2", "--nodes", "core"],
        &["check", "-s", "jax-lax", "--nodes", "b1,i32,i*", "--format", "json"],
        &["check", "-s", "numpy2", "--nodes", "u8,i8,f16", "--format", "csv"],
    ] {
        said.push_str(&format!("{}\n", run(args)));
    }
    assert_snapshot!(said);
}
