//! What breaks a law of programs is found, and named.

use promote_dialect::extent::{Product, Sum};
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};
use promote_lower::kernel::{Code, ExprId, Form, Kernel, Role};
use promote_lower::program::{Arg, End, EntryKind, Program, Step, ValueId};
use promote_reference::steps::run;

use super::make::*;

/// Runs `@f` of two elements, with eight values that are buffers of f32, the first of which is the argument. Kernel 0
/// adds, kernel 1 multiplies node 0 by itself, into node 1.
fn run_steps(steps: Vec<Step>) {
    run_blocks(vec![block(&[0], steps, done())]);
}

fn run_blocks(blocks: Vec<promote_lower::program::Block>) {
    let types = [tensor(DType::F32, &[2])];
    let f = function(("f", EntryKind::Public), (&types, &types), &[F32; 8], blocks);
    let kernels = vec![twice(Op::Add, 2), twice(Op::Multiply, 2), twice(Op::Add, 3)];
    run_all(&program(Numerics::Jax, kernels, vec![f]));
}

fn run_all(program: &Program) {
    let results = run(program, "f", &[reals(&[2], &[1.0, 2.0])]);
    panic!("no fault was found: {results:?}");
}

fn made(buffer: u32) -> Vec<Step> {
    vec![allocate(buffer, &[2]), launch(0, &[0, buffer], &[])]
}

#[test]
#[should_panic(
    expected = "@f (Public), block 0, its end: the f32 buffer made in @f, block 0, step 0 leaks: a reference to it is left"
)]
fn a_leak() {
    run_steps(made(1));
}

#[test]
#[should_panic(
    expected = "@f (Public), block 0, step 3 (test.op; Release(ValueId(1))): the f32 buffer made in @f, block 0, step 0 is released by who has no reference"
)]
fn a_double_release() {
    run_steps([made(1), vec![release(1), release(1)]].concat());
}

#[test]
#[should_panic(
    expected = "block 0, step 0 (test.op; Release(ValueId(0))): the f32 buffer made in argument 0 is released"
)]
fn a_release_of_what_belongs_to_the_caller() {
    run_steps(vec![release(0)]);
}

#[test]
#[should_panic(
    expected = "step 4 (test.op; Launch of kernel 1): the f32 buffer made in @f, block 0, step 0 is used after its release"
)]
fn a_use_after_the_release() {
    run_steps([made(1), vec![release(1), output(2, &[2]), launch(1, &[1, 2], &[])]].concat());
}

#[test]
#[should_panic(expected = "is read at element 0, which was never written")]
fn a_read_of_what_was_never_written() {
    run_steps(vec![allocate(1, &[2]), output(2, &[2]), launch(0, &[1, 2], &[]), release(1)]);
}

#[test]
#[should_panic(expected = "is read at element 0, which was never written")]
fn a_result_that_is_not_complete() {
    run_steps(vec![output(1, &[2])]);
}

#[test]
#[should_panic(expected = "@f: a result was not made")]
fn a_result_that_is_not_made() {
    run_steps(Vec::new());
}

#[test]
#[should_panic(expected = "is written by who has not the only reference")]
fn a_write_to_what_another_reference_may_read() {
    run_steps(vec![allocate(1, &[2]), retain(1), launch(0, &[0, 1], &[])]);
}

#[test]
#[should_panic(expected = "is written after it was read")]
fn a_write_after_a_read() {
    let after = vec![allocate(2, &[2]), launch(0, &[1, 2], &[]), launch(1, &[0, 1], &[])];
    run_steps([made(1), after].concat());
}

#[test]
#[should_panic(expected = "made in argument 0 is written, and belongs to the caller or is constant")]
fn a_write_to_an_argument() {
    run_steps([made(1), vec![launch(0, &[1, 0], &[])]].concat());
}

#[test]
#[should_panic(expected = "is read and written by one kernel")]
fn a_kernel_in_place() {
    run_steps(vec![allocate(1, &[2]), launch(0, &[1, 1], &[])]);
}

#[test]
#[should_panic(expected = "has 2 elements, and element 2 is accessed")]
fn an_index_past_the_end() {
    run_steps(vec![output(1, &[2]), launch(2, &[0, 1], &[])]);
}

#[test]
#[should_panic(expected = "%1 is used, and was not defined")]
fn a_value_without_a_definition() {
    run_steps(vec![output(2, &[2]), launch(0, &[1, 2], &[])]);
}

#[test]
#[should_panic(expected = "made in argument 0 is passed to a block without a reference")]
fn a_buffer_passed_without_a_reference() {
    run_blocks(vec![
        block(&[0], Vec::new(), End::Jump(edge(1, &[value(0)]))),
        block(&[1], vec![output(2, &[2]), launch(0, &[1, 2], &[])], done()),
    ]);
}

#[test]
#[should_panic(expected = "result 0 is of shape [3], not [Some(2)]")]
fn a_result_of_another_shape() {
    run_steps(vec![output(1, &[3])]);
}

#[test]
#[should_panic(expected = "result 0 is made twice")]
fn a_result_made_twice() {
    run_steps(vec![output(1, &[2]), output(2, &[2])]);
}

#[test]
#[should_panic(
    expected = "@g (Private), block 0, its end: the f32 buffer made in argument 0 is returned without a reference"
)]
fn an_argument_returned_without_a_reference() {
    let types = [tensor(DType::F32, &[2])];
    let body = vec![block(&[0], Vec::new(), End::Return(vec![value(0)]))];
    let g = function(("g", EntryKind::Private), (&types, &types), &[F32], body);
    let call = Step::Call { callee: "g".to_owned(), args: vec![value(0)], results: vec![ValueId(1)] };
    let body = vec![block(&[0], vec![call], done())];
    let f = function(("f", EntryKind::Public), (&types, &types), &[F32; 2], body);
    run_all(&program(Numerics::Jax, Vec::new(), vec![g, f]));
}

#[test]
#[should_panic(expected = "is in use after the function returns that spilled it")]
fn a_spilled_number_that_outlives_its_function() {
    let types = [tensor(DType::I64, &[])];
    let buffer = promote_lower::program::ValueKind::Buffer(DType::I64);
    let steps = vec![
        Step::Arith {
            value: ValueId(0),
            op: promote_lower::program::Arith::Add,
            args: vec![Arg::Known(2), Arg::Known(2)],
        },
        Step::Spill { buffer: ValueId(1), value: ValueId(0) },
        retain(1),
    ];
    let body = vec![block(&[], steps, End::Return(vec![value(1)]))];
    let g = function(("g", EntryKind::Private), (&[], &types), &[INDEX, buffer], body);
    let call = Step::Call { callee: "g".to_owned(), args: Vec::new(), results: vec![ValueId(1)] };
    let inputs = [tensor(DType::F32, &[2])];
    let body = vec![block(&[0], vec![call, release(1)], done())];
    let f = function(("f", EntryKind::Public), (&inputs, &[]), &[F32, buffer], body);
    run_all(&program(Numerics::Jax, Vec::new(), vec![g, f]));
}

// Kernels.

fn run_kernel(kernel: Kernel) {
    run_all(&single(Numerics::Jax, kernel, (DType::F32, &[2]), (DType::F32, &[2])));
}

#[test]
#[should_panic(expected = "is written twice at element 0 in one step")]
fn two_indices_that_write_to_one_place() {
    let exprs = vec![load(0, &[1], DType::F32)];
    run_kernel(kernel(&[2], Form::Map, exprs, vec![root(0, Role::Store, &[access(1, &[0])])]));
}

#[test]
#[should_panic(expected = "dimension 0 is asked for outside of the loop over it")]
fn a_reduced_dimension_outside_of_its_loop() {
    let exprs = vec![load(0, &[1], DType::F32)];
    let roots = vec![root(0, Role::Store, &[access(1, &[0])])];
    run_kernel(kernel(&[2], Form::Rows { reduced: 1 }, exprs, roots));
}

#[test]
#[should_panic(expected = "expression 1 is of the stage of a reduction that it needs")]
fn a_result_used_in_the_stage_that_makes_it() {
    let exprs = vec![load(0, &[1], DType::F32), expr(Code::Reduced(0), DType::F32, 0)];
    let roots = vec![root(0, Role::Reduce(Op::Sum), &[]), root(1, Role::Store, &[access(1, &[1])])];
    run_kernel(kernel(&[2], Form::Rows { reduced: 1 }, exprs, roots));
}

#[test]
#[should_panic(expected = "expression 0 stands before its operand 1")]
fn an_expression_before_its_operand() {
    let exprs = vec![expr(Code::Convert(ExprId(1)), DType::F32, 0), load(0, &[1], DType::F32)];
    run_kernel(kernel(&[2], Form::Map, exprs, vec![root(0, Role::Store, &[access(1, &[1])])]));
}

#[test]
#[should_panic(expected = "is accessed as one of f64")]
fn an_element_of_another_dtype() {
    let exprs = vec![load(0, &[1], DType::F64)];
    run_kernel(kernel(&[2], Form::Map, exprs, vec![root(0, Role::Store, &[access(1, &[1])])]));
}

#[test]
#[should_panic(expected = "a dimension of the kernel has -2 indices")]
fn a_dimension_of_fewer_than_no_indices() {
    let exprs = vec![load(0, &[1], DType::F32)];
    run_kernel(kernel(&[-2], Form::Map, exprs, vec![root(0, Role::Store, &[access(1, &[1])])]));
}

#[test]
#[should_panic(expected = "the launch has no number for symbol 0")]
fn a_symbol_without_a_number() {
    let index = Code::Index { strides: vec![Product::number(1)], offset: Sum(vec![symbol(0)]) };
    let exprs = vec![expr(index, DType::I64, 0), expr(Code::Convert(ExprId(0)), DType::F32, 0)];
    run_kernel(kernel(&[2], Form::Map, exprs, vec![root(1, Role::Store, &[access(1, &[1])])]));
}

#[test]
#[should_panic(expected = "no step asked for an exception: ZeroDivisionError")]
fn an_exception_that_no_step_asks_for() {
    let exprs = vec![
        expr(Code::Splat(0), DType::I32, 0),
        expr(Code::Map(Op::Remainder, vec![ExprId(0), ExprId(0)]), DType::I32, 0),
        expr(Code::Convert(ExprId(1)), DType::F32, 0),
    ];
    let kernel = kernel(&[2], Form::Map, exprs, vec![root(2, Role::Store, &[access(1, &[1])])]);
    let mut program = single(Numerics::Torch, kernel, (DType::F32, &[2]), (DType::F32, &[2]));
    program.functions[0].blocks[0].steps.pop();
    run_all(&program);
}
