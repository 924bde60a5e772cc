//! The options of JEP 9407 against the document's drawings.

use std::collections::BTreeSet;

use promote_lattice::semantics::Refusal;
use promote_lattice::{DType, Op, Semantics};
use serde_json::Value;

use crate::support::{data, dtype, node, scalar};

const OPTIONS: [&str; 4] = ["jep9407-option0", "jep9407-option1", "jep9407-option2", "jep9407-option3"];

fn semantics(name: &str) -> Semantics {
    Semantics::by_name(name, true).expect("the option is one of ours")
}

fn drawing(name: &str) -> Value {
    data(include_bytes!("../data/jep9407_lattices.json.gz"))["lattices"][name].clone()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().map(|name| name.as_str().expect("a node is a name")).collect()
}

/// What the drawing reaches from `node`, the node included.
fn above<'a>(drawing: &'a Value, node: &'a str) -> BTreeSet<&'a str> {
    let next = names(&drawing["successors"][node]);
    next.into_iter().flat_map(|next| above(drawing, next)).chain([node]).collect()
}

/// The join as the document defines it: the bound that all others are above.
fn join<'a>(drawing: &'a Value, a: &'a str, b: &'a str) -> Option<&'a str> {
    let bounds: BTreeSet<_> = above(drawing, a).intersection(&above(drawing, b)).copied().collect();
    bounds.iter().copied().find(|least| bounds.is_subset(&above(drawing, least)))
}

#[test]
fn every_pair_joins_as_drawn() {
    for name in OPTIONS {
        let (semantics, drawing) = (semantics(name), drawing(name));
        let drawn = names(&drawing["nodes"]);
        let mut without_join = 0;
        for a in &drawn {
            for b in &drawn {
                let expected = join(&drawing, a, b).map(dtype);
                assert_eq!(
                    semantics.tabulate(node(&semantics, a), node(&semantics, b)),
                    expected,
                    "{name} {a} {b}"
                );
                without_join += usize::from(expected.is_none());
            }
        }
        let bf16 = usize::from(name == "jep9407-option3");
        assert_eq!(
            drawn.len(),
            16 + bf16,
            "{name}: the document's dtypes without bool, with bf16 from option 3 on"
        );
        assert_eq!(
            without_join / 2,
            drawing["pairs_without_join"],
            "{name}: no pair lacks a join one way only"
        );
    }
}

#[test]
fn bool_is_below_everything_and_nothing_else_is_added() {
    for name in OPTIONS {
        let semantics = semantics(name);
        let bf16 = usize::from(name == "jep9407-option3");
        assert_eq!(semantics.order().nodes().len(), 17 + bf16, "{name}");
        for &dtype in semantics.order().nodes() {
            assert_eq!(semantics.join(DType::B1, dtype), Some(dtype), "{name} {dtype}");
        }
    }
}

#[test]
fn what_is_not_joined_is_refused_with_the_reason() {
    for (name, a, b) in [
        ("jep9407-option0", "i32", "f32"),
        ("jep9407-option1", "i64", "f64"),
        ("jep9407-option2", "u64", "f64"),
        ("jep9407-option3", "u64", "i8"),
    ] {
        let refusal = semantics(name).infer(Op::Add, &[scalar(a), scalar(b)]).expect_err("they have no join");
        assert!(matches!(refusal, Refusal::NoJoin { .. }), "{refusal:?}");
        let text =
            format!("{name} does not promote {a} and {b} to one dtype: {a} and {b} have no upper bound");
        assert_eq!(refusal.to_string(), text);
    }
}

#[test]
fn ops_give_and_compute_in_nodes_alone() {
    for name in OPTIONS {
        let semantics = semantics(name);
        let nodes = semantics.order().nodes().to_vec();
        for &op in Op::ALL {
            for &a in &nodes {
                for &b in &nodes {
                    let operands = [scalar(a.name()), scalar(b.name())];
                    let operands = &operands[..op.info().arity.required.min(2)];
                    let Ok(Some(typing)) = semantics.infer(op, operands) else { continue };
                    assert!(nodes.contains(&typing.result), "{name} {op} {operands:?}");
                    let mut compute = (0..operands.len()).map(|i| typing.compute(i));
                    assert!(compute.all(|dtype| nodes.contains(&dtype)), "{name} {op} {operands:?}");
                }
            }
        }
    }
}
