//! Kernels of each form.

use promote_dialect::extent::{Extent, Product, Sum};
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};
use promote_lower::kernel::{Chunk, Code, ExprId, Form, Kernel, Role, Taken};
use promote_reference::steps::run;
use promote_reference::{Error, Value};

use super::make::*;

/// The result of a kernel from a tensor of f32 into another.
fn of_reals(kernel: Kernel, from: (&[i64], &[f64]), to: &[i64]) -> Result<Vec<Value>, Error> {
    let shape: Vec<usize> = from.0.iter().map(|extent| *extent as usize).collect();
    let program = single(Numerics::Jax, kernel, (DType::F32, from.0), (DType::F32, to));
    run(&program, "f", &[reals(&shape, from.1)])
}

/// What a kernel of six elements of f32 makes of them.
fn of_six(kernel: Kernel, to: &[i64]) -> Result<Vec<Value>, Error> {
    of_reals(kernel, (&[2, 3], &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]), to)
}

#[test]
fn a_map_goes_through_memory_with_strides() {
    let exprs = vec![load(0, &[1, 3], DType::F32)];
    let transposed = kernel(&[3, 2], Form::Map, exprs, vec![root(0, Role::Store, &[access(1, &[2, 1])])]);
    let expected = reals(&[3, 2], &[1.0, 8.0, 2.0, 16.0, 4.0, 32.0]);
    assert_eq!(of_six(transposed, &[3, 2]), Ok(vec![expected]));
}

#[test]
fn a_map_without_dimensions_has_one_index() {
    let exprs = vec![load(0, &[], DType::F32), expr(Code::Convert(ExprId(0)), DType::I32, 0)];
    let converted = kernel(&[], Form::Map, exprs, vec![root(1, Role::Store, &[access(1, &[])])]);
    let program = single(Numerics::Jax, converted, (DType::F32, &[]), (DType::I32, &[]));
    assert_eq!(run(&program, "f", &[reals(&[], &[-2.75])]), Ok(vec![ints(DType::I32, &[], &[-2])]));
}

#[test]
fn rows_are_reduced() {
    let sum = |from| vec![load(from, &[3, 1], DType::F32)];
    let rows = |op| {
        let roots = vec![root(0, Role::Reduce(op), &[access(1, &[1, 0])])];
        kernel(&[2, 3], Form::Rows { reduced: 1 }, sum(0), roots)
    };
    assert_eq!(of_six(rows(Op::Sum), &[2]), Ok(vec![reals(&[2], &[7.0, 56.0])]));
    assert_eq!(of_six(rows(Op::Max), &[2]), Ok(vec![reals(&[2], &[4.0, 32.0])]));
    let all = kernel(
        &[2, 3],
        Form::Rows { reduced: 2 },
        sum(0),
        vec![root(0, Role::Reduce(Op::Sum), &[access(1, &[0, 0])])],
    );
    assert_eq!(of_six(all, &[]), Ok(vec![reals(&[], &[63.0])]));
}

#[test]
fn columns_are_reduced() {
    let exprs = vec![load(0, &[3, 1], DType::F32)];
    let roots = vec![root(0, Role::Reduce(Op::Sum), &[access(1, &[0, 1])])];
    let columns = kernel(&[2, 3], Form::Columns { outer: 0, reduced: 1 }, exprs, roots);
    assert_eq!(of_six(columns, &[3]), Ok(vec![reals(&[3], &[9.0, 18.0, 36.0])]));
}

#[test]
fn a_later_stage_uses_the_results_of_an_earlier_one() {
    // Each element divided by the sum of its row.
    let exprs = vec![
        load(0, &[3, 1], DType::F32),
        expr(Code::Reduced(0), DType::F32, 1),
        expr(Code::Map(Op::Divide, vec![ExprId(0), ExprId(1)]), DType::F32, 1),
    ];
    let roots = vec![root(0, Role::Reduce(Op::Sum), &[]), root(2, Role::Store, &[access(1, &[3, 1])])];
    let normalised = kernel(&[2, 3], Form::Rows { reduced: 1 }, exprs.clone(), roots);
    let numbers = [1.0, 1.0, 2.0, 8.0, 16.0, 8.0];
    let expected = reals(&[2, 3], &[0.25, 0.25, 0.5, 0.25, 0.5, 0.25]);
    assert_eq!(of_reals(normalised, (&[2, 3], &numbers), &[2, 3]), Ok(vec![expected]));
    // What does not vary with the reduced dimension is stored once: the square of the sum.
    let mut once = exprs;
    once[2].code = Code::Map(Op::Multiply, vec![ExprId(1), ExprId(1)]);
    let roots = vec![root(0, Role::Reduce(Op::Sum), &[]), root(2, Role::Store, &[access(1, &[1, 0])])];
    let once = kernel(&[2, 3], Form::Rows { reduced: 1 }, once, roots);
    assert_eq!(of_six(once, &[2]), Ok(vec![reals(&[2], &[49.0, 3136.0])]));
}

#[test]
fn what_is_stored_nowhere_is_an_expression_of_others() {
    // x² is a root of its own, of which the sum alone is stored.
    let exprs = vec![
        load(0, &[3, 1], DType::F32),
        expr(Code::Map(Op::Multiply, vec![ExprId(0), ExprId(0)]), DType::F32, 0),
    ];
    let roots = vec![root(1, Role::Store, &[]), root(1, Role::Reduce(Op::Sum), &[access(1, &[1, 0])])];
    let squares = kernel(&[2, 3], Form::Rows { reduced: 1 }, exprs, roots);
    assert_eq!(of_six(squares, &[2]), Ok(vec![reals(&[2], &[21.0, 1344.0])]));
}

#[test]
fn a_reduction_of_nothing_is_what_it_begins_with() {
    let of_nothing = |op| {
        let exprs = vec![load(0, &[0, 1], DType::F32)];
        let roots = vec![root(0, Role::Reduce(op), &[access(1, &[1, 0])])];
        let kernel = kernel(&[2, 0], Form::Rows { reduced: 1 }, exprs, roots);
        of_reals(kernel, (&[2, 0], &[]), &[2])
    };
    assert_eq!(of_nothing(Op::Sum), Ok(vec![reals(&[2], &[0.0, 0.0])]));
    assert_eq!(of_nothing(Op::Prod), Ok(vec![reals(&[2], &[1.0, 1.0])]));
    assert_eq!(of_nothing(Op::Min), Ok(vec![reals(&[2], &[f64::INFINITY; 2])]));
}

#[test]
fn the_least_of_a_format_without_infinities_is_a_number() {
    let exprs = vec![load(0, &[1], DType::F8E4M3FN)];
    let roots = vec![root(0, Role::Reduce(Op::Max), &[access(1, &[0])])];
    let largest = kernel(&[0], Form::Rows { reduced: 1 }, exprs, roots);
    let program = single(Numerics::NumPy, largest, (DType::F8E4M3FN, &[0]), (DType::F8E4M3FN, &[]));
    let array = |shape: &[usize], numbers: &[f64]| {
        Value::Array(promote_reference::Array::of_reals(DType::F8E4M3FN, shape, numbers))
    };
    assert_eq!(run(&program, "f", &[array(&[0], &[])]), Ok(vec![array(&[], &[-448.0])]));
}

/// Sums of parts of `extent` elements.
fn parts(extent: i64, parts: i64, length: i64) -> Kernel {
    let exprs = vec![load(0, &[0, 1], DType::F32)];
    let roots = vec![root(0, Role::Reduce(Op::Sum), &[access(1, &[1, 0])])];
    let mut kernel = kernel(&[parts, extent], Form::Rows { reduced: 1 }, exprs, roots);
    kernel.chunk = Some(Chunk { dim: 1, by: 0, length: Extent::Fixed(length), taken: Taken::Own });
    kernel
}

#[test]
fn parts_are_reduced_and_the_last_may_be_short_or_empty() {
    let numbers: Vec<f64> = (1..=7).map(f64::from).collect();
    let result = |kernel, count: i64| of_reals(kernel, (&[7], &numbers), &[count]);
    assert_eq!(result(parts(7, 3, 3), 3), Ok(vec![reals(&[3], &[6.0, 15.0, 7.0])]));
    assert_eq!(result(parts(7, 4, 3), 4), Ok(vec![reals(&[4], &[6.0, 15.0, 7.0, 0.0])]));
    assert_eq!(result(parts(7, 5, 3), 5), Ok(vec![reals(&[5], &[6.0, 15.0, 7.0, 0.0, 0.0])]));
}

#[test]
fn parts_take_those_before_them_and_cumulative_ops_go_on_from_there() {
    let numbers: Vec<f64> = (1..=7).map(f64::from).collect();
    let mut before = parts(7, 3, 3);
    before.chunk = before.chunk.map(|chunk| Chunk { taken: Taken::Before, ..chunk });
    assert_eq!(of_reals(before, (&[7], &numbers), &[3]), Ok(vec![reals(&[3], &[0.0, 6.0, 15.0])]));
    // Each part begins with 100 times its number.
    let start = Code::Index { strides: [100, 0].map(Product::number).to_vec(), offset: Sum::default() };
    let exprs = vec![
        load(0, &[0, 1], DType::F32),
        expr(start, DType::I64, 0),
        expr(Code::Convert(ExprId(1)), DType::F32, 0),
    ];
    let mut sums = root(0, Role::Scan(Op::CumulativeSum), &[access(1, &[0, 1])]);
    sums.start = Some(ExprId(2));
    let mut scan = kernel(&[3, 7], Form::Rows { reduced: 1 }, exprs, vec![sums]);
    scan.chunk = parts(7, 3, 3).chunk;
    let expected = reals(&[7], &[1.0, 3.0, 6.0, 104.0, 109.0, 115.0, 207.0]);
    assert_eq!(of_reals(scan, (&[7], &numbers), &[7]), Ok(vec![expected]));
}

#[test]
#[should_panic(expected = "2 parts of 3 are not all of a dimension")]
fn parts_that_leave_elements_out_are_a_fault() {
    let _ = of_reals(parts(7, 2, 3), (&[7], &[0.0; 7]), &[2]);
}

#[test]
fn places_of_extremes_are_those_of_the_first() {
    let places = |op, numbers: [f64; 3]| {
        let exprs = vec![load(0, &[1], DType::F32)];
        let roots = vec![root(0, Role::Arg(op), &[access(1, &[0])])];
        let kernel = kernel(&[3], Form::Rows { reduced: 1 }, exprs, roots);
        let program = single(Numerics::Jax, kernel, (DType::F32, &[3]), (DType::I64, &[]));
        run(&program, "f", &[reals(&[3], &numbers)])
    };
    let place = |place| Ok(vec![ints(DType::I64, &[], &[place])]);
    assert_eq!(places(Op::ArgMax, [1.0, 5.0, 5.0]), place(1));
    assert_eq!(places(Op::ArgMin, [1.0, 5.0, 1.0]), place(0));
    assert_eq!(places(Op::ArgMin, [1.0, f64::NAN, f64::NAN]), place(1));
}

#[test]
fn cumulative_sums_begin_as_the_library_does() {
    let sums = |numerics, form, strides: &[i64]| {
        let exprs = vec![load(0, strides, DType::F32)];
        let roots = vec![root(0, Role::Scan(Op::CumulativeSum), &[access(1, strides)])];
        let kernel = kernel(&[2, 2], form, exprs, roots);
        let program = single(numerics, kernel, (DType::F32, &[2, 2]), (DType::F32, &[2, 2]));
        run(&program, "f", &[reals(&[2, 2], &[-0.0, 1.0, 2.0, 3.0])])
    };
    let rows = Form::Rows { reduced: 1 };
    let columns = Form::Columns { outer: 0, reduced: 1 };
    assert_eq!(sums(Numerics::NumPy, rows, &[2, 1]), Ok(vec![reals(&[2, 2], &[-0.0, 1.0, 2.0, 5.0])]));
    assert_eq!(sums(Numerics::Jax, rows, &[2, 1]), Ok(vec![reals(&[2, 2], &[0.0, 1.0, 2.0, 5.0])]));
    assert_eq!(sums(Numerics::Jax, columns, &[2, 1]), Ok(vec![reals(&[2, 2], &[0.0, 1.0, 2.0, 4.0])]));
}

#[test]
fn indices_count_and_extents_are_symbols() {
    // Backwards: x[n - 1 - i] + i + n.
    let last = Sum(vec![symbol(0), Product::number(-1)]);
    let mut backwards = access(0, &[-1]);
    backwards.offset = last;
    let convert = |operand| expr(Code::Convert(ExprId(operand)), DType::F32, 0);
    let add = |x, y| expr(Code::Map(Op::Add, vec![ExprId(x), ExprId(y)]), DType::F32, 0);
    let index = Code::Index { strides: vec![Product::number(1)], offset: Sum::default() };
    let exprs = vec![
        expr(Code::Load(backwards), DType::F32, 0),
        expr(index, DType::I64, 0),
        expr(Code::Size(symbol(0)), DType::I64, 0),
        convert(1),
        convert(2),
        add(0, 3),
        add(5, 4),
    ];
    let mut kernel = kernel(&[0], Form::Map, exprs, vec![root(6, Role::Store, &[access(1, &[1])])]);
    kernel.dims = vec![symbol(0)];
    let mut program = single(Numerics::Jax, kernel, (DType::F32, &[3]), (DType::F32, &[3]));
    program.functions[0].blocks[0].steps[1].0 = launch(0, &[0, 1], &known(&[3]));
    let results = run(&program, "f", &[reals(&[3], &[10.0, 20.0, 30.0])]);
    assert_eq!(results, Ok(vec![reals(&[3], &[33.0, 24.0, 15.0])]));
}

/// Elements of buffer 0, which has three, at those indices that are in it: at each element itself.
fn taken(numerics: Numerics, numbers: &[i128; 3]) -> Result<Vec<Value>, Error> {
    let take = Code::Take {
        access: access(0, &[0]),
        index: ExprId(0),
        stride: Product::number(1),
        extent: Extent::Fixed(3),
    };
    let exprs = vec![load(0, &[1], DType::I32), expr(take, DType::I32, 0)];
    let taken = kernel(&[3], Form::Map, exprs, vec![root(1, Role::Store, &[access(1, &[1])])]);
    let program = single(numerics, taken, (DType::I32, &[3]), (DType::I32, &[3]));
    run(&program, "f", &[ints(DType::I32, &[3], numbers)])
}

#[test]
fn an_index_out_of_range_is_filled_in_or_an_exception() {
    assert_eq!(taken(Numerics::NumPy, &[2, -1, -3]), Ok(vec![ints(DType::I32, &[3], &[-3, -3, 2])]));
    let least = i128::from(i32::MIN);
    let filled = ints(DType::I32, &[3], &[least, 1, least]);
    assert_eq!(taken(Numerics::Jax, &[3, 1, -4]), Ok(vec![filled]));
    let why = Error::Trap("index 3 of 3".to_owned());
    assert_eq!(taken(Numerics::NumPy, &[3, 1, -4]), Err(why.clone()));
    assert_eq!(taken(Numerics::Torch, &[3, 1, -4]), Err(why));
}

#[test]
fn an_exception_of_an_element_ends_the_run_at_the_check() {
    let quotient = |numerics| {
        let exprs = vec![
            load(0, &[1], DType::I32),
            expr(Code::Map(Op::FloorDivide, vec![ExprId(0), ExprId(0)]), DType::I32, 0),
        ];
        let kernel = kernel(&[2], Form::Map, exprs, vec![root(1, Role::Store, &[access(1, &[1])])]);
        let program = single(numerics, kernel, (DType::I32, &[2]), (DType::I32, &[2]));
        run(&program, "f", &[ints(DType::I32, &[2], &[7, 0])])
    };
    assert_eq!(quotient(Numerics::NumPy), Ok(vec![ints(DType::I32, &[2], &[1, 0])]));
    assert_eq!(quotient(Numerics::Torch), Err(Error::Trap("ZeroDivisionError".to_owned())));
}
