//! What is wrong with how a program is built is said at the call, and nothing panics.

use promote_builder::program::Attribute;
use promote_builder::{Builder, Errors, Func, Literal, Location, Problem, Type, Value};
use promote_lattice::{DType, Op};

/// The errors of a program of one function of one argument.
fn errors(body: impl FnOnce(&Func, Value) -> Value) -> Errors {
    let mut builder = Builder::new();
    builder.function("f", |f| {
        let x = f.argument(DType::F32, &[Some(4)]);
        body(f, x)
    });
    builder.finish().expect_err("the program is wrong")
}

#[track_caller]
fn is_refused(errors: &Errors, message: &str, line: u32) {
    let [error] = errors.0.as_slice() else { panic!("{errors}") };
    assert_eq!(error.problem.to_string(), message);
    assert_eq!((error.place.file.as_str(), error.place.line), (file!(), line));
}

#[test]
fn an_op_with_too_few_operands() {
    let found = errors(|f, x| f.op(Op::Add, &[&x], &[], Type::UNKNOWN));
    is_refused(&found, "promote.add takes 2 operands, not 1", line!() - 1);
    let found = errors(|f, _| f.op(Op::Concat, &[], &[("axis", Attribute::Int(0))], Type::UNKNOWN));
    is_refused(&found, "promote.concat takes 1 to 8 operands, not 0", line!() - 1);
}

#[test]
fn attributes_that_an_op_does_not_have() {
    let found = errors(|_, x| x.sum(0).with("axes", 1));
    is_refused(
        &found,
        "promote.sum has no attribute `axes`: did you mean `axis = array<i64: 0, 1>`?",
        line!() - 4,
    );
    let found = errors(|_, x| x.sum(0).with("keepdims", 1));
    assert!(matches!(found.0[0].problem, Problem::Attribute { .. }), "{found}");
    let found = errors(|_, x| x.with("keepdims", true));
    assert_eq!(found.0[0].problem, Problem::NotAnOp("keepdims".to_owned()));
}

#[test]
fn a_value_of_another_function() {
    let mut builder = Builder::new();
    let mut leaked = None;
    builder.function("f", |f| {
        let x = f.argument(DType::F32, &[]);
        leaked = Some(x.clone());
        x
    });
    let leaked = leaked.expect("the closure ran");
    builder.function("g", |f| f.argument(DType::F32, &[]) + &leaked);
    let at = line!() - 1;
    is_refused(
        &builder.finish().expect_err("it is wrong"),
        "the value is of another function: pass it as an argument",
        at,
    );
}

#[test]
fn a_finished_function() {
    let mut builder = Builder::new();
    let mut leaked = None;
    builder.function("f", |f| {
        leaked = Some(f.argument(DType::F32, &[]));
    });
    let _ = leaked.expect("the closure ran").tanh();
    let errors = builder.finish().expect_err("it is wrong");
    assert!(errors.0.iter().any(|error| error.problem == Problem::Finished), "{errors}");
}

#[test]
fn a_value_outside_of_its_body() {
    let found = errors(|f, x| {
        let mut leaked = x.clone();
        f.for_range(0..3, x, |_, x| {
            leaked = x.tanh();
            x
        });
        leaked + 1
    });
    assert_eq!(found.0[0].problem, Problem::OutOfScope, "{found}");
}

#[test]
fn bodies_that_return_other_numbers_of_values() {
    let found = errors(|f, x| f.for_range(0..3, vec![x.clone()], |_, _| Vec::new()).pop().unwrap_or(x));
    assert_eq!(found.0[0].problem, Problem::Results { expected: 1, found: 0 });
    let found = errors(|f, x| f.if_(&x, || vec![x.clone()], || vec![x.clone(); 2])[0].clone());
    assert_eq!(found.0[0].problem, Problem::Results { expected: 1, found: 2 });
}

#[test]
fn names_of_functions() {
    let mut builder = Builder::new();
    for name in ["f", "f", "a.b", "", "1"] {
        builder.function(name, |_| ());
    }
    let found: Vec<_> =
        builder.finish().expect_err("names are wrong").0.into_iter().map(|e| e.problem).collect();
    let name = |name: &str| Problem::Name(name.to_owned());
    assert_eq!(found, [Problem::Duplicate("f".to_owned()), name("a.b"), name(""), name("1")]);
}

#[test]
fn calls() {
    let mut other = Builder::new();
    let callee = other.function("g", |f| f.argument(DType::F32, &[]));
    let found = errors(|f, x| f.call(&callee, &[&x])[0].clone());
    assert_eq!(found.0[0].problem, Problem::OtherProgram("g".to_owned()));
    let found = errors(|f, x| f.call(&callee, &[&x, &x])[0].clone());
    assert!(matches!(found.0[0].problem, Problem::Arguments { expected: 1, found: 2, .. }), "{found}");
}

#[test]
fn constants_that_are_none() {
    let shapes: [&[i64]; 4] = [&[3], &[-1], &[0], &[i64::MAX, i64::MAX]];
    for shape in shapes {
        let elements = [Literal::Int(1); 2];
        let found = errors(|f, _| f.constant(DType::F32, shape, &elements));
        assert!(found.0.iter().any(|e| matches!(e.problem, Problem::Elements { .. })), "{found}");
    }
    let found = errors(|f, _| f.constant(DType::I8, &[], &[Literal::Int(300)]));
    is_refused(&found, "300 is out of the range of i8", line!() - 1);
}

#[test]
fn places_that_a_front_end_gives() {
    let place = Location { file: "a.calc".to_owned(), line: 7, column: 3 };
    let found = errors(|f, x| {
        f.set_place(Some(place.clone()));
        f.op(Op::Add, &[&x], &[], Type::UNKNOWN)
    });
    assert_eq!(found.0[0].place, place);
    assert_eq!(found.to_string(), "a.calc:7:3: promote.add takes 2 operands, not 1");
}
