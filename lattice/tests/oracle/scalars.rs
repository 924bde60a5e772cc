//! What Python computes of its own numbers, against recorded runs, bit for bit.

use promote_lattice::Semantics;
use promote_lattice::op::Op;
use promote_lattice::scalar::{Scalar, Uncomputed, compute, is_pythons};
use promote_lattice::semantics::Operand;
use serde_json::Value;

use crate::support::data;

fn recorded() -> Value {
    data(include_bytes!("../data/python_scalars.json.gz"))
}

fn float(bits: &str) -> f64 {
    f64::from_bits(u64::from_str_radix(bits, 16).expect("floats are recorded as their bits"))
}

/// A number, if the text is one and no exception.
fn number(text: &str) -> Option<Scalar> {
    let rest = text.get(1..)?;
    match text.as_bytes()[0] {
        b'b' => Some(Scalar::Bool(rest == "1")),
        b'i' => rest.parse().ok().map(Scalar::Int),
        b'f' => Some(Scalar::Float(float(rest))),
        b'c' => rest.split_once(',').map(|(real, imaginary)| Scalar::Complex(float(real), float(imaginary))),
        _ => None,
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("numbers and exceptions are recorded as text")
}

/// Equal bits, or both no numbers.
fn is_same(a: Scalar, b: Scalar) -> bool {
    let alike = |a: f64, b: f64| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
    match (a, b) {
        (Scalar::Float(a), Scalar::Float(b)) => alike(a, b),
        (Scalar::Complex(a, b), Scalar::Complex(c, d)) => alike(a, c) && alike(b, d),
        _ => a == b,
    }
}

fn agrees(found: Result<Scalar, Uncomputed>, expected: &str) -> bool {
    match found {
        Ok(found) => number(expected).is_some_and(|expected| is_same(found, expected)),
        Err(Uncomputed::ZeroDivision) => expected == "ZeroDivisionError",
        Err(Uncomputed::Overflow) => expected == "OverflowError",
        Err(Uncomputed::Value) => expected == "ValueError",
        Err(Uncomputed::Type) => expected == "TypeError",
        Err(Uncomputed::Wide) => expected == "wide",
        // Complex powers are not computed, whatever Python makes of them.
        Err(Uncomputed::ComplexPower) => true,
    }
}

#[test]
fn every_number_is_the_one_that_python_computes() {
    let recorded = recorded();
    let values = recorded["values"].as_array().expect("the values are a list");
    let values: Vec<Scalar> = values.iter().filter_map(|value| number(text(value))).collect();
    let (mut entries, mut uncomputed) = (0, 0);
    let pairs = || values.iter().flat_map(|x| values.iter().map(move |y| vec![*x, *y]));
    for (name, outcomes) in recorded["ops"].as_object().expect("the ops are an object") {
        let op = Op::by_name(name).expect("the op is one of ours");
        let outcomes = outcomes.as_array().expect("the outcomes are a list");
        let all: Vec<Vec<Scalar>> = if op.info().arity.required == 1 {
            values.iter().map(|x| vec![*x]).collect()
        } else {
            pairs().collect()
        };
        assert_eq!(outcomes.len(), all.len());
        for (operands, outcome) in all.into_iter().zip(outcomes) {
            let found = compute(op, &operands).expect("Python has the op");
            assert!(agrees(found, text(outcome)), "{name} of {operands:?}: {found:?}, not {outcome}");
            entries += 1;
            uncomputed += usize::from(found == Err(Uncomputed::ComplexPower));
        }
    }
    assert_eq!((entries, uncomputed), (60830, 976));
}

#[test]
fn every_operator_of_pythons_is_recorded_and_computed() {
    let recorded = recorded();
    for op in Op::ALL {
        let is_recorded = recorded["ops"].get(op.name()).is_some();
        assert_eq!(is_pythons(*op), is_recorded, "{op}");
        let ones = vec![Scalar::Int(1); op.info().arity.required];
        assert_eq!(compute(*op, &ones).is_some(), is_recorded, "{op}");
    }
}

#[test]
fn the_type_of_a_number_is_that_of_pythons_rules() {
    let python = Semantics::by_name("python", true).expect("it is one of ours");
    let ones = [Scalar::Int(1), Scalar::Float(1.0), Scalar::Complex(1.0, 1.0)];
    for op in Op::ALL.iter().filter(|op| is_pythons(**op)) {
        let pairs = ones.iter().flat_map(|x| ones.iter().map(move |y| vec![*x, *y]));
        let all: Vec<Vec<Scalar>> = match op.info().arity.required {
            1 => ones.iter().map(|x| vec![*x]).collect(),
            _ => pairs.collect(),
        };
        for operands in all {
            let Some(Ok(found)) = compute(*op, &operands) else { continue };
            let typed: Vec<_> = operands.iter().map(|operand| Operand::python(operand.literal())).collect();
            let typing = python.infer(*op, &typed).expect("Python has the op").expect("it has a rule");
            // Of unequal types `max` and `min` return one or the other.
            let chosen = matches!(op, Op::Maximum | Op::Minimum);
            assert!(found.dtype() == typing.result || chosen, "{op} of {operands:?}");
        }
    }
}
