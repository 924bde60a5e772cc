//! Steps, blocks and calls that keep the laws.

use promote_dialect::extent::{Product, Sum};
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};
use promote_lower::graph::NodeId;
use promote_lower::kernel::{Access, Code, ExprId, Form, Kernel, Role};
use promote_lower::program::{
    Arith, Constant, ConstantId, End, EntryKind, Literal, Matmul, Panels, Program, Step, ValueId, ValueKind,
};
use promote_lower::types::{Number, Type};
use promote_reference::steps::{Interpreter, run, shapes};
use promote_reference::{Array, Error, Value};

use super::make::*;

#[test]
fn a_buffer_is_written_read_and_released() {
    let steps = vec![
        allocate(1, &[3]),
        launch(0, &[0, 1], &[]),
        output(2, &[3]),
        launch(1, &[1, 2], &[]),
        release(1),
    ];
    let body = vec![block(&[0], steps, done())];
    let types = [tensor(DType::F32, &[3])];
    let f = function(("f", EntryKind::Public), (&types, &types), &[F32; 3], body);
    let kernels = vec![twice(Op::Add, 3), twice(Op::Multiply, 3)];
    let program = program(Numerics::Jax, kernels, vec![f]);
    let results = run(&program, "f", &[reals(&[3], &[1.0, -2.0, 0.5])]);
    assert_eq!(results, Ok(vec![reals(&[3], &[4.0, 16.0, 1.0])]));
}

/// `@f(x, n)`: x added up n times, in a loop that carries the sum and the number of iterations.
fn loop_program() -> Program {
    let zero = kernel(
        &[2],
        Form::Map,
        vec![expr(Code::Splat(0), DType::F32, 0)],
        vec![root(0, Role::Store, &[access(0, &[1])])],
    );
    let sum = vec![
        load(0, &[1], DType::F32),
        load(1, &[1], DType::F32),
        expr(Code::Map(Op::Add, vec![ExprId(0), ExprId(1)]), DType::F32, 0),
    ];
    let sum = kernel(&[2], Form::Map, sum, vec![root(2, Role::Store, &[access(2, &[1])])]);
    let [x, n, init, carry, round, goes_on, next, after, result] = [0, 1, 2, 3, 4, 5, 6, 7, 8];
    let arith = |value, op, args: &[_]| Step::Arith { value: ValueId(value), op, args: args.to_vec() };
    let blocks = vec![
        block(
            &[x, n],
            vec![allocate(init, &[2]), launch(0, &[init], &[])],
            End::Jump(edge(1, &[value(init), known(&[0])[0]])),
        ),
        block(
            &[carry, round],
            vec![arith(goes_on, Arith::LtU, &[value(round), value(n)])],
            End::Branch(value(goes_on), edge(2, &[]), edge(3, &[])),
        ),
        block(
            &[],
            vec![
                allocate(next, &[2]),
                launch(1, &[carry, x, next], &[]),
                release(carry),
                arith(after, Arith::Add, &[value(round), known(&[1])[0]]),
            ],
            End::Jump(edge(1, &[value(next), value(after)])),
        ),
        block(&[], vec![output(result, &[2]), launch(1, &[carry, x, result], &[]), release(carry)], done()),
    ];
    let values = [F32, INDEX, F32, F32, INDEX, TRUTH, F32, INDEX, F32];
    let (inputs, outputs) = ([tensor(DType::F32, &[2]), index()], [tensor(DType::F32, &[2])]);
    let f = function(("f", EntryKind::Public), (&inputs, &outputs), &values, blocks);
    program(Numerics::NumPy, vec![zero, sum], vec![f])
}

#[test]
fn a_loop_carries_a_buffer_with_its_reference() {
    let program = loop_program();
    let interpreter = Interpreter::new(&program);
    let results = |n| interpreter.run("f", &[reals(&[2], &[1.0, 0.5]), Value::Integer(n)]);
    assert_eq!(results(0), Ok(vec![reals(&[2], &[1.0, 0.5])]));
    assert_eq!(results(3), Ok(vec![reals(&[2], &[4.0, 2.0])]));
    // As unsigned numbers, which is how rounds are counted here, -1 are more than any run goes through.
    assert_eq!(results(-1), Err(Error::Limit));
}

#[test]
fn a_callee_borrows_its_arguments_and_returns_references() {
    // @g returns its argument, and twice that.
    let types = [tensor(DType::F32, &[-1])];
    let dims = |id| vec![value(id)];
    let extents = [value(1)];
    let mut kernel = twice(Op::Add, 0);
    kernel.dims = vec![symbol(0)];
    let steps =
        vec![Step::Allocate { buffer: ValueId(2), dims: dims(1) }, launch(0, &[0, 2], &extents), retain(0)];
    let end = End::Return(vec![value(0), value(1), value(2), value(1)]);
    let g = function(
        ("g", EntryKind::Private),
        (&types, &[types[0].clone(), types[0].clone()]),
        &[F32, INDEX, F32],
        vec![block(&[0, 1], steps, end)],
    );
    let steps = vec![
        Step::Call {
            callee: "g".to_owned(),
            args: vec![value(0), value(1)],
            results: [2, 3, 4, 5].map(ValueId).to_vec(),
        },
        release(2),
        Step::Output { buffer: ValueId(6), index: 0, dims: dims(5) },
        launch(0, &[4, 6], &[value(5)]),
        release(4),
    ];
    let values = [F32, INDEX, F32, INDEX, F32, INDEX, F32];
    let body = vec![block(&[0, 1], steps, done())];
    let f = function(("f", EntryKind::Public), (&types, &types), &values, body);
    let program = program(Numerics::Jax, vec![kernel], vec![g, f]);
    let results = run(&program, "f", &[reals(&[2], &[1.0, -3.0])]);
    assert_eq!(results, Ok(vec![reals(&[2], &[4.0, -12.0])]));
    assert_eq!(run(&program, "f", &[reals(&[0], &[])]), Ok(vec![reals(&[0], &[])]));
    assert!(matches!(run(&program, "g", &[]), Err(Error::Arguments(_))), "@g is no public function");
}

#[test]
fn calls_without_end_reach_the_limit() {
    let call = Step::Call { callee: "f".to_owned(), args: Vec::new(), results: Vec::new() };
    let body = || vec![block(&[], vec![call.clone()], done())];
    let functions =
        [EntryKind::Private, EntryKind::Public].map(|entry| function(("f", entry), (&[], &[]), &[], body()));
    let program = program(Numerics::Jax, Vec::new(), functions.to_vec());
    assert_eq!(run(&program, "f", &[]), Err(Error::Limit));
}

#[test]
fn shapes_are_returned_without_buffers() {
    let steps = vec![
        Step::Arith { value: ValueId(2), op: Arith::Mul, args: vec![value(1), known(&[3])[0]] },
        Step::Shape { index: 0, dims: vec![value(2)] },
    ];
    let f = function(
        ("f", EntryKind::Shapes),
        (&[tensor(DType::F32, &[-1, 3])], &[tensor(DType::F32, &[-1])]),
        &[F32, INDEX, INDEX],
        vec![block(&[0, 1], steps, done())],
    );
    let program = program(Numerics::Jax, Vec::new(), vec![f]);
    assert!(Interpreter::new(&program).tells_shapes("f"));
    assert_eq!(shapes(&program, "f", &[reals(&[2, 3], &[0.0; 6])]), Ok(vec![vec![6]]));
    assert!(matches!(shapes(&program, "f", &[reals(&[3, 2], &[0.0; 6])]), Err(Error::Arguments(_))));
}

#[test]
fn what_a_program_says_fails_is_a_trap() {
    let fail = Step::FailIf { condition: value(2), message: "there is nothing".to_owned() };
    let steps = vec![
        Step::Arith { value: ValueId(2), op: Arith::Eq, args: vec![value(1), known(&[0])[0]] },
        // What was allocated is no leak: the run stops here.
        allocate(3, &[1]),
        fail,
        release(3),
    ];
    let f = function(
        ("f", EntryKind::Public),
        (&[tensor(DType::F32, &[-1])], &[]),
        &[F32, INDEX, TRUTH, F32],
        vec![block(&[0, 1], steps, done())],
    );
    let program = program(Numerics::Jax, Vec::new(), vec![f]);
    assert_eq!(run(&program, "f", &[reals(&[0], &[])]), Err(Error::Trap("there is nothing".to_owned())));
    assert_eq!(run(&program, "f", &[reals(&[1], &[0.0])]), Ok(Vec::new()));
}

/// `@f(x: 3xi8, i: index) -> i8`: by a switch, element i of x, or of a constant, plus 100.
fn numbers_program() -> Program {
    let i8 = ValueKind::Number(Number::Int(8));
    let buffer = ValueKind::Buffer(DType::I8);
    let [x, i, constant, number, hundred, sum, result, one] = [0, 1, 2, 3, 4, 5, 6, 7];
    let read = |from| Step::Read { value: ValueId(number), buffer: ValueId(from), index: value(i) };
    let blocks = vec![
        block(&[x, i], Vec::new(), End::Switch(ValueId(i), vec![(2, edge(1, &[]))], edge(2, &[]))),
        block(
            &[],
            vec![
                Step::Constant { buffer: ValueId(constant), constant: ConstantId(0) },
                retain(constant),
                read(constant),
                release(constant),
            ],
            End::Jump(edge(3, &[value(number)])),
        ),
        block(&[], vec![read(x)], End::Jump(edge(3, &[value(number)]))),
        block(
            &[one],
            vec![
                Step::Number { value: ValueId(hundred), number: Literal::Int(100) },
                Step::Arith { value: ValueId(sum), op: Arith::Add, args: vec![value(one), value(hundred)] },
                output(result, &[]),
                Step::Write { buffer: ValueId(result), index: known(&[0])[0], value: ValueId(sum) },
            ],
            done(),
        ),
    ];
    let values = [buffer, INDEX, buffer, i8, i8, i8, buffer, i8];
    let types = (&[tensor(DType::I8, &[3]), index()][..], &[Type::Scalar(Number::Int(8))][..]);
    let f = function(("f", EntryKind::Public), types, &values, blocks);
    let mut program = program(Numerics::Jax, Vec::new(), vec![f]);
    program.constants.push(Constant { dtype: DType::I8, elements: vec![0, 0, 0xff] });
    program
}

#[test]
fn numbers_are_read_computed_with_and_written() {
    let program = numbers_program();
    let result = |i| run(&program, "f", &[ints(DType::I8, &[3], &[1, 100, 3]), Value::Integer(i)]);
    assert_eq!(result(0), Ok(vec![Value::Integer(101)]));
    assert_eq!(result(1), Ok(vec![Value::Integer(-56)]));
    assert_eq!(result(2), Ok(vec![Value::Integer(99)]));
}

#[test]
fn a_choice_and_a_spilled_flag_live_as_long_as_they_are_used() {
    // One of two new buffers, and with it a flag in memory.
    let [x, flag, a, b, chosen, spilled, result] = [0, 1, 2, 3, 4, 5, 6];
    let flags = vec![
        load(0, &[1], DType::F32),
        load(1, &[0], DType::B1),
        expr(Code::Map(Op::Where, vec![ExprId(1), ExprId(0), ExprId(0)]), DType::F32, 0),
    ];
    let flags = kernel(&[2], Form::Map, flags, vec![root(2, Role::Store, &[access(2, &[1])])]);
    let steps = vec![
        allocate(a, &[2]),
        launch(0, &[x, a], &[]),
        allocate(b, &[2]),
        launch(1, &[x, b], &[]),
        Step::Choose {
            buffer: ValueId(chosen),
            condition: value(flag),
            then: ValueId(a),
            otherwise: ValueId(b),
        },
        release(a),
        release(b),
        Step::Spill { buffer: ValueId(spilled), value: ValueId(flag) },
        output(result, &[2]),
        launch(2, &[chosen, spilled, result], &[]),
        release(chosen),
    ];
    let values = [F32, TRUTH, F32, F32, F32, ValueKind::Buffer(DType::B1), F32];
    let types = [tensor(DType::F32, &[2])];
    let inputs = [types[0].clone(), Type::Scalar(Number::Int(1))];
    let body = vec![block(&[x, flag], steps, done())];
    let f = function(("f", EntryKind::Public), (&inputs, &types), &values, body);
    let kernels = vec![twice(Op::Add, 2), twice(Op::Multiply, 2), flags];
    let program = program(Numerics::Jax, kernels, vec![f]);
    let result = |flag| run(&program, "f", &[reals(&[2], &[3.0, 5.0]), Value::Integer(flag)]);
    assert_eq!(result(1), Ok(vec![reals(&[2], &[6.0, 10.0])]));
    assert_eq!(result(0), Ok(vec![reals(&[2], &[9.0, 25.0])]));
    assert!(matches!(result(2), Err(Error::Arguments(_))), "2 is no truth value");
}

fn copy(count: i64) -> Kernel {
    let sink = Access { buffer: NodeId(1), strides: vec![Product::number(1)], offset: Sum::default() };
    let exprs = vec![load(0, &[1], DType::F32)];
    kernel(&[count], Form::Map, exprs, vec![root(0, Role::Store, &[sink])])
}

#[test]
fn matrices_are_multiplied_and_a_dimension_is_sorted() {
    let [x, y, workspace, product, sorted] = [0, 1, 2, 3, 4];
    let sizes = [1, 2, 3, 2].map(|extent| known(&[extent])[0]);
    let [batch, rows, inner, columns] = sizes;
    let steps = vec![
        allocate(product, &[2, 2]),
        allocate(workspace, &[1, 1, 3, 2]),
        Step::Matmul(Matmul {
            left: ValueId(x),
            right: ValueId(y),
            product: ValueId(product),
            workspace: Some(Panels { buffer: ValueId(workspace), columns: 2 }),
            batch,
            rows,
            inner,
            columns,
        }),
        release(workspace),
        output(sorted, &[2, 2]),
        launch(0, &[product, sorted], &[]),
        release(product),
        Step::Sort { buffer: ValueId(sorted), outer: batch, extent: rows, inner: columns },
    ];
    let inputs = [tensor(DType::F32, &[2, 3]), tensor(DType::F32, &[3, 2])];
    let body = vec![block(&[x, y], steps, done())];
    let outputs = [tensor(DType::F32, &[2, 2])];
    let f = function(("f", EntryKind::Public), (&inputs, &outputs), &[F32; 5], body);
    let program = program(Numerics::Jax, vec![copy(4)], vec![f]);
    let arguments = [
        reals(&[2, 3], &[1.0, 2.0, 3.0, 0.0, 1.0, -1.0]),
        reals(&[3, 2], &[1.0, 0.0, f64::NAN, 1.0, 2.0, 2.0]),
    ];
    // The product is [[NaN, 8], [NaN, -1]]; columns are sorted.
    let expected = Array::of_reals(DType::F32, &[2, 2], &[f64::NAN, -1.0, f64::NAN, 8.0]);
    assert_eq!(run(&program, "f", &arguments), Ok(vec![Value::Array(expected)]));
}
