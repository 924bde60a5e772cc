//! Plain Python, against its own tower of types and what its operators and functions return.

use promote_lattice::convert::Literal;
use promote_lattice::semantics::{Operand, Refusal};
use promote_lattice::{DType, Op, Semantics};

use crate::support::{extended, scalar, shown};

fn python() -> Semantics {
    Semantics::by_name("python", true).expect("it is one of ours")
}

#[test]
fn every_entry_of_the_op_rules_agrees() {
    let python = python();
    let ops = extended("python_ops", include_bytes!("../data/python_ops.json.gz"));
    let mut entries = 0;
    for (name, table) in ops["ops"].as_object().expect("the ops are an object") {
        let op = Op::by_name(name).expect("the op is one of ours");
        for (key, expected) in table.as_object().expect("a table is an object") {
            let operands: Vec<_> = key.split(',').map(scalar).collect();
            assert_eq!(shown(&python, op, &operands), *expected, "{name}({key})");
            entries += 1;
        }
    }
    assert_eq!(entries, 680);
}

#[test]
fn stored_numbers_are_promoted_as_the_types_that_they_store() {
    let python = python();
    let weak = [DType::WeakInt, DType::WeakFloat, DType::WeakComplex];
    for a in weak {
        for b in weak {
            let join = python.join(a, b).expect("Python promotes all its numbers");
            assert_eq!(python.join(a.storage(), b.storage()), Some(join.storage()), "{a} {b}");
            assert_eq!(python.join(a.storage(), b), Some(join.storage()), "{a} {b}");
        }
    }
}

#[test]
fn an_integer_to_a_negative_literal_is_a_float() {
    let python = python();
    let power = |base: &str, exponent| {
        shown(&python, Op::Pow, &[scalar(base), Operand::python(Literal::Int(exponent))])
    };
    assert_eq!(["b1", "i*", "i64", "f*", "c*"].map(|base| power(base, -1)), ["f*", "f*", "f64", "f*", "c*"]);
    assert_eq!(["b1", "i*", "i64", "f*", "c*"].map(|base| power(base, 2)), ["i*", "i*", "i64", "f*", "c*"]);
}

#[test]
fn what_python_does_not_have_is_refused() {
    let python = python();
    let refused: Vec<_> = Op::ALL
        .iter()
        .filter(|op| {
            let operands = vec![scalar("f*"); op.info().arity.required];
            matches!(python.infer(**op, &operands), Err(Refusal::NoOp { .. }))
        })
        .map(|op| op.name())
        .collect();
    let without_counterpart = [
        "sign",
        "relu",
        "rsqrt",
        "sinc",
        "sigmoid",
        "reciprocal",
        "signbit",
        "logaddexp",
        "softmax",
        "logsumexp",
        "matmul",
    ];
    assert_eq!(refused, without_counterpart);
}
