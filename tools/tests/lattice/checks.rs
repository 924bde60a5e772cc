//! `check`: lattices, and counterexamples.

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{run, systems};

#[test]
fn lattices_are_lattices() {
    for system in ["jax:x64", "jax-lax", "jax-lax:x64", "jep9407-option3", "python", "tensorflow-all"] {
        let output = run(&["check", "-s", system]).succeeded();
        assert!(output.starts_with(&format!("{system}: a lattice")), "{output}");
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
fn what_narrows_is_a_lattice_otherwise() {
    for system in ["jax", "jax-strict"] {
        let narrowing = run(&["check", "-s", system, "--format", "json"]);
        let narrowing: Value = serde_json::from_str(&narrowing.stdout).expect("findings are JSON");
        let expected = json!({
            "wide": ["u64", "i64", "f64", "c128"],
            "is_lattice_without": true,
            "is_lattice_with_x64": true,
        });
        assert_eq!(narrowing["narrowing"], expected, "{system}");
        let names = run(&["show", "-s", system, "--format", "json"]).json();
        let names = names["nodes"].as_array().expect("nodes are listed").iter().filter_map(Value::as_str);
        let narrow: Vec<_> = names.filter(|name| !["u64", "i64", "f64", "c128"].contains(name)).collect();
        let output = run(&["check", "-s", system, "--nodes", &narrow.join(",")]).succeeded();
        assert!(
            output.starts_with(&format!("{system}: a lattice")) && !output.contains("narrowed"),
            "{output}"
        );
        run(&["check", "-s", system, "--x64"]).succeeded();
    }
    for system in ["jax:x64", "jax-lax", "numpy2"] {
        assert_eq!(
            run(&["check", "-s", system, "--format", "json"]).stdout.matches("\"narrowing\": null").count(),
            1
        );
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
    let mut output = String::new();
    for args in [
        &["check", "--x64"][..],
        &["check", "--nodes", "core"],
        &["check", "-s", "numpy2", "--nodes", "core"],
        &["check", "-s", "jax-lax", "--nodes", "b1,i32,i*", "--format", "json"],
        &["check", "-s", "numpy2", "--nodes", "u8,i8,f16", "--format", "csv"],
    ] {
        output.push_str(&format!("{}\n", run(args)));
    }
    assert_snapshot!(output);
}
