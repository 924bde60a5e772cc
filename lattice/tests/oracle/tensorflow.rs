//! The TensorFlow semantics against what TensorFlow does: its promotion tables, and every op in its three modes.

use promote_lattice::convert::Literal;
use promote_lattice::semantics::{Operand, Refusal};
use promote_lattice::{DType, Op, Semantics};
use serde_json::Value;

use crate::support::{array, binary_tables, extended, node, shown, wrong_cells};

const MODES: [&str; 3] = ["tensorflow", "tensorflow-safe", "tensorflow-all"];

fn semantics(name: &str) -> Semantics {
    Semantics::by_name(name, true).expect("it is one of ours")
}

fn ops() -> Value {
    extended("tensorflow_ops", include_bytes!("../data/tensorflow_ops.json.gz"))
}

#[test]
fn every_cell_of_the_binary_tables_agrees() {
    let tables = binary_tables();
    for (name, nodes) in
        [("tensorflow", 19), ("tensorflow-legacy", 19), ("tensorflow-safe", 24), ("tensorflow-all", 24)]
    {
        let semantics = semantics(name);
        let table = &tables["systems"][name]["table"];
        let (wrong, cells) = wrong_cells(&semantics, table, |a, b| semantics.tabulate(a, b));
        assert_eq!((wrong, cells), (vec![], nodes * nodes), "{name}");
        assert_eq!(semantics.nodes().len(), nodes, "{name}");
    }
}

#[test]
fn the_promotion_before_kernels_agrees() {
    let tables = binary_tables();
    for name in ["tensorflow-safe", "tensorflow-all"] {
        let semantics = semantics(name);
        let table = &tables["systems"][format!("{name}-lattice")]["table"];
        let (wrong, cells) = wrong_cells(&semantics, table, |a, b| semantics.promote(&[a, b]).ok());
        assert_eq!((wrong, cells), (vec![], 24 * 24), "{name}");
    }
}

/// What our rules leave to other checks, or keep for the dialect's sake.
fn is_set_apart(name: &str, op: Op, key: &str, operands: &[Operand]) -> bool {
    let is_python = |operand: &Operand| operand.is_literal();
    match op {
        // They need a dimension, which a Python scalar has not; or are Python's own operator.
        Op::ArgMax
        | Op::ArgMin
        | Op::CumulativeSum
        | Op::CumulativeProd
        | Op::Sort
        | Op::Softmax
        | Op::Slice
        | Op::Take
        | Op::Positive => is_python(&operands[0]),
        // The dialect's ops on shapes keep weakness, TensorFlow's only in part.
        Op::BroadcastTo | Op::Flip | Op::Reshape | Op::PermuteDims | Op::ExpandDims | Op::Squeeze => {
            is_python(&operands[0])
        }
        // The bounds do not broadcast `x`.
        Op::Clip => is_python(&operands[0]) && !is_python(&operands[1]),
        // The one pair of Python scalars that a list without a mode makes an array of the greater kind.
        Op::Stack => name == "tensorflow" && key == "i*,f*",
        _ => false,
    }
}

fn operands(semantics: &Semantics, op: Op, key: &str) -> Vec<Operand> {
    let operands: Vec<_> = key.split(',').map(|name| node(semantics, name)).collect();
    match (op, &operands[..]) {
        (Op::Where, [x, y]) => vec![array("b1"), *x, *y],
        (Op::Clip, [x, bounds]) => vec![*x, *bounds, *bounds],
        (Op::Take, [x]) => vec![*x, array("i32")],
        _ => operands,
    }
}

#[test]
fn every_op_accepts_and_gives_what_tensorflow_does() {
    let ops = ops();
    for (name, expected) in MODES.into_iter().zip([(12324, 121), (19280, 160), (19280, 160)]) {
        let semantics = semantics(name);
        let (mut wrong, mut compared, mut apart) = (Vec::new(), 0, 0);
        for group in ["unary", "binary"] {
            for (op, table) in ops["systems"][name][group].as_object().expect("a group is an object") {
                let op = Op::by_name(op).expect("the ops are ours");
                for (key, library) in table.as_object().expect("a table is an object") {
                    let operands = operands(&semantics, op, key);
                    let shape_of_weak = matches!(op, Op::BroadcastTo | Op::Flip | Op::Slice | Op::Take)
                        && operands[0].dtype.is_weak();
                    if is_set_apart(name, op, key, &operands) || shape_of_weak {
                        apart += 1;
                        continue;
                    }
                    let got = shown(&semantics, op, &operands);
                    if got != *library {
                        wrong.push(format!("{name} {op}({key}): {got}, TensorFlow: {library}"));
                    }
                    compared += 1;
                }
            }
        }
        assert_eq!(wrong, Vec::<String>::new());
        assert_eq!((compared, apart), expected, "{name}");
    }
}

#[test]
fn clip_promotes_its_operands_one_after_the_other() {
    let ops = ops();
    for name in MODES {
        let semantics = semantics(name);
        let mut compared = 0;
        for (key, library) in ops["systems"][name]["clip"].as_object().expect("a table is an object") {
            let operands: Vec<_> = key.split(',').map(|name| node(&semantics, name)).collect();
            assert_eq!(shown(&semantics, Op::Clip, &operands), *library, "{name} clip({key})");
            compared += 1;
        }
        assert_eq!(compared, if name == "tensorflow" { 6 * 6 * 6 } else { 14 * 14 * 14 }, "{name}");
    }
}

#[test]
fn conditions_are_bool_and_indices_some_integers() {
    let ops = ops();
    for name in MODES {
        let semantics = semantics(name);
        for (condition, library) in ops["where(cond)"].as_object().expect("a table is an object") {
            let operands = [array(condition), array("f32"), array("f32")];
            assert_eq!(shown(&semantics, Op::Where, &operands), *library, "{name} {condition}");
        }
        for (indices, library) in ops["take(indices)"].as_object().expect("a table is an object") {
            let operands = [array("f32"), array(indices)];
            assert_eq!(shown(&semantics, Op::Take, &operands), *library, "{name} {indices}");
        }
    }
}

#[test]
fn integers_beyond_32_bits_are_refused_where_a_mode_promotes() {
    let beyond = Operand::python(Literal::Int(1 << 40));
    for name in MODES {
        let semantics = semantics(name);
        for op in [Op::Add, Op::Divide, Op::Maximum, Op::Equal, Op::Less, Op::BitwiseAnd] {
            let wraps = semantics.infer(op, &[array("u8"), Operand::python(Literal::Int(300))]);
            assert!(wraps.is_ok(), "{name} {op}");
            let inferred = semantics.infer(op, &[array("i64"), beyond]);
            let refused = matches!(inferred, Err(Refusal::LiteralRange { dtype: DType::I32, .. }));
            let promotes = name != "tensorflow" && !matches!(op, Op::Less | Op::BitwiseAnd);
            assert_eq!((refused, inferred.is_ok()), (promotes, !promotes), "{name} {op}");
        }
    }
}

#[test]
fn ops_that_tensorflow_lacks_are_refused() {
    for name in MODES {
        let (semantics, ops) = (semantics(name), ops());
        for &op in Op::ALL {
            let refused = matches!(
                semantics.infer(op, &vec![array("f32"); op.info().arity.required]),
                Err(Refusal::NoOp { .. })
            );
            let measured =
                ["unary", "binary"].iter().any(|group| !ops["systems"][name][group][op.name()].is_null());
            let has_no_table = matches!(op, Op::Constant | Op::Iota | Op::Convert | Op::Relax);
            let plus = op == Op::Positive && name == "tensorflow";
            assert_eq!(refused, !measured && !has_no_table || plus, "{name} {op}");
        }
    }
}
