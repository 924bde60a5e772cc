//! Functions with code for inputs that lie in memory in another order: which code is called, and what it is given.

use promote_abi::IN_PIECES;
use promote_runtime::Strided;

use super::*;

/// What the entries return beside the sum: which of them was called, and the strides of both inputs.
type Called = [i32; 5];

/// Adds two matrices, of which both lie in memory as their strides say.
unsafe fn add(context: *mut Context, inputs: *const Input, code: i32) -> i32 {
    // SAFETY: the function is declared with two matrices of f32, and results of their shape and of five numbers.
    unsafe {
        let inputs = std::slice::from_raw_parts(inputs, 2);
        let dims = std::slice::from_raw_parts(inputs[0].dims, 2);
        let strides = [0, 1].map(|index: usize| match inputs[index].strides.is_null() {
            true => [dims[1], 1],
            false => [*inputs[index].strides, *inputs[index].strides.add(1)],
        });
        let to = exports::promote_rt_output(context, 0, dims.as_ptr()).cast::<f32>();
        let called = exports::promote_rt_output(context, 1, [5].as_ptr()).cast::<i32>();
        if to.is_null() || called.is_null() {
            return 1;
        }
        for (place, number) in [i64::from(code)].into_iter().chain(strides.into_iter().flatten()).enumerate()
        {
            *called.add(place) = number as i32;
        }
        for row in 0..dims[0] {
            for column in 0..dims[1] {
                let element = |index: usize| {
                    let place = row * strides[index][0] + column * strides[index][1];
                    *inputs[index].data.cast::<f32>().offset(place as isize)
                };
                *to.offset((row * dims[1] + column) as isize) = element(0) + element(1);
            }
        }
    }
    0
}

const ROW_MAJOR: i32 = -1;

unsafe extern "C" fn row_major(context: *mut Context, inputs: *const Input) -> i32 {
    // SAFETY: by contract.
    unsafe { add(context, inputs, ROW_MAJOR) }
}

unsafe extern "C" fn rows(context: *mut Context, inputs: *const Input) -> i32 {
    // SAFETY: by contract.
    unsafe { add(context, inputs, 0) }
}

unsafe extern "C" fn columns(context: *mut Context, inputs: *const Input) -> i32 {
    // SAFETY: by contract.
    unsafe { add(context, inputs, 1) }
}

unsafe extern "C" fn apart(context: *mut Context, inputs: *const Input) -> i32 {
    // SAFETY: by contract.
    unsafe { add(context, inputs, 2) }
}

unsafe extern "C" fn second_in_columns(context: *mut Context, inputs: *const Input) -> i32 {
    // SAFETY: by contract.
    unsafe { add(context, inputs, 3) }
}

fn adder(codes: &[(i64, i64, Entry)]) -> &'static Function {
    let matrix: (_, &[i64], _) = (F32, &[-1, -1], None);
    let plain = meta(row_major, None, &[matrix, matrix], &[(F32, &[-1, -1]), (I32, &[5])]);
    let code = |(before, input, entry): &(i64, i64, Entry)| Strided {
        before: *before,
        dense: 0,
        input: *input,
        entry: *entry,
        entry_stack: std::ptr::null(),
    };
    let strided: Vec<Strided> = codes.iter().map(code).collect();
    let (strided_count, strided) = (strided.len() as i64, strided.leak().as_ptr());
    Box::leak(Box::new(Function { strided_count, strided, ..*plain }))
}

const SIDE_BY_SIDE: [(i64, i64, Entry); 2] = [(0, -1, rows), (1, -1, columns)];
const ALL: [(i64, i64, Entry); 4] =
    [(0, -1, rows), (1, -1, columns), (-1, -1, apart), (1, 1, second_in_columns)];

/// The extents of the matrices: no run is short.
const DIMS: [i64; 2] = [150, 160];
const COUNT: usize = 150 * 160;

/// A matrix in memory: where it begins, and its strides.
type Lies = (usize, [i64; 2]);

const IN_ROWS: Lies = (0, [160, 1]);
const IN_COLUMNS: Lies = (0, [1, 150]);

/// Adds two matrices that lie so in one memory; which code was called, with what strides.
#[track_caller]
fn called(x: Lies, y: Lies) -> Called {
    called_of(&SIDE_BY_SIDE, x, y)
}

#[track_caller]
fn called_of(codes: &[(i64, i64, Entry)], x: Lies, y: Lies) -> Called {
    let memory = counting(80_000);
    let element = |(offset, strides): Lies, row: i64, column: i64| {
        memory[(offset as i64 + row * strides[0] + column * strides[1]) as usize]
    };
    let (mut sum, mut called) = (vec![0f32; COUNT], Called::default());
    let mut inputs = [x, y].map(|(offset, strides)| {
        let mut tensor = Tensor::new(F32, memory.as_ptr(), &DIMS).strided(&strides);
        tensor.raw.byte_offset = 4 * offset as u64;
        tensor
    });
    let outputs =
        &mut [Tensor::new(F32, sum.as_mut_ptr(), &DIMS), Tensor::new(I32, called.as_mut_ptr(), &[5])];
    assert_eq!(call(adder(codes), &mut inputs, outputs), ok());
    let indices = (0..DIMS[0]).flat_map(|row| (0..DIMS[1]).map(move |column| (row, column)));
    let naive: Vec<f32> =
        indices.map(|(row, column)| element(x, row, column) + element(y, row, column)).collect();
    assert_eq!(sum, naive);
    called
}

#[test]
fn inputs_in_rows_and_in_columns_are_read_where_they_are() {
    assert_eq!(called(IN_ROWS, IN_ROWS), [ROW_MAJOR, 160, 1, 160, 1]);
    assert_eq!(called(IN_COLUMNS, IN_COLUMNS), [1, 1, 150, 1, 150]);
    assert_eq!(called((3, [163, 1]), IN_ROWS), [0, 163, 1, 160, 1]);
    assert_eq!(called((3, [163, 1]), (0, [0, 1])), [0, 163, 1, 0, 1]);
    assert_eq!(called((2, [1, 170]), (7, [1, 151])), [1, 1, 170, 1, 151]);
}

#[test]
fn the_least_is_packed() {
    // As much either way: rows need no strides.
    assert_eq!(called(IN_COLUMNS, IN_ROWS), [ROW_MAJOR, 160, 1, 160, 1]);
    // One of two.
    assert_eq!(called(IN_COLUMNS, (0, [163, 1])), [0, 160, 1, 163, 1]);
    assert_eq!(called((0, [2, 305]), IN_COLUMNS), [1, 1, 150, 1, 150]);
    // Nothing lies side by side.
    assert_eq!(called((0, [480, 3]), (0, [480, 3])), [ROW_MAJOR, 160, 1, 160, 1]);
}

#[test]
fn inputs_whose_elements_lie_apart_are_read_where_they_are() {
    let apart = |x: Lies, y: Lies| called_of(&ALL, x, y);
    assert_eq!(apart((0, [480, 3]), (1, [480, 3])), [2, 480, 3, 480, 3]);
    // Backward, and over the same rows again.
    assert_eq!(apart((159, [160, -1]), (477, [0, -3])), [2, 160, -1, 0, -3]);
    // Reading one that is contiguous so takes less than packing the other.
    assert_eq!(apart((0, [480, 3]), IN_ROWS), [2, 480, 3, 160, 1]);
    // Nothing is packed where rows are side by side.
    assert_eq!(apart((0, [163, 1]), IN_ROWS), [0, 163, 1, 160, 1]);
    // Closer along another dimension.
    assert_eq!(apart((0, [2, 305]), (0, [480, 3])), [2, 160, 1, 480, 3]);
    // One element again and again.
    assert_eq!(apart((0, [3, 0]), IN_ROWS), [ROW_MAJOR, 160, 1, 160, 1]);
}

#[test]
fn an_input_that_lies_in_another_order_by_itself_is_read_where_it_is() {
    assert_eq!(called_of(&ALL, IN_ROWS, IN_COLUMNS), [3, 160, 1, 1, 150]);
    assert_eq!(called_of(&ALL, IN_ROWS, (7, [1, 170])), [3, 160, 1, 1, 170]);
    // There is no code for the first by itself.
    assert_eq!(called_of(&ALL, IN_COLUMNS, IN_ROWS), [ROW_MAJOR, 160, 1, 160, 1]);
    assert_eq!(called_of(&ALL, IN_COLUMNS, IN_COLUMNS), [1, 1, 150, 1, 150]);
}

/// Which code is called for two matrices of such extents and strides that begin so many bytes into one memory.
#[track_caller]
fn code_of(codes: &[(i64, i64, Entry)], dims: [i64; 2], strides: [i64; 2], byte_offset: u64) -> i32 {
    let memory = counting(20_000);
    let (mut sum, mut called) = (vec![0f32; 128 * 128], Called::default());
    let mut inputs = [(); 2].map(|()| {
        let mut tensor = Tensor::new(F32, memory.as_ptr(), &dims).strided(&strides);
        tensor.raw.byte_offset = byte_offset;
        tensor
    });
    let outputs =
        &mut [Tensor::new(F32, sum.as_mut_ptr(), &dims), Tensor::new(I32, called.as_mut_ptr(), &[5])];
    assert_eq!(call(adder(codes), &mut inputs, outputs), ok());
    called[0]
}

#[test]
fn short_rows_of_elements_that_lie_apart_are_packed() {
    let run = |dims, strides, byte_offset| code_of(&ALL, dims, strides, byte_offset);
    assert_eq!(run([4, 64], [140, 2], 4), 2);
    assert_eq!(run([4, 63], [140, 2], 4), ROW_MAJOR);
    assert_eq!(run([4, 64], [140, 2], 2), ROW_MAJOR);
    assert_eq!(run([1, 64], [1, 2], 0), 2);
}

#[test]
fn inputs_that_go_backward_are_packed() {
    assert_eq!(called((149 * 160, [-160, 1]), IN_ROWS), [ROW_MAJOR, 160, 1, 160, 1]);
    assert_eq!(called((159 * 150, [1, -150]), (0, [1, 151])), [1, 1, 150, 1, 151]);
}

#[test]
fn short_runs_and_misaligned_inputs_are_packed() {
    let run = |dims, strides, byte_offset| code_of(&SIDE_BY_SIDE, dims, strides, byte_offset);
    assert_eq!(run([4, 4], [140, 1], 4), 0);
    assert_eq!(run([4, 3], [140, 1], 4), ROW_MAJOR);
    assert_eq!(run([8, 128], [1, 140], 4), 1);
    assert_eq!(run([7, 128], [1, 140], 4), ROW_MAJOR);
    assert_eq!(run([8, 2], [1, 140], 4), 1);
    assert_eq!(run([4, 16], [140, 1], 2), ROW_MAJOR);
    assert_eq!(run([0, 16], [140, 1], 0), ROW_MAJOR);
}

/// Elements that are two apart down the columns are 300 apart along the rows.
#[test]
fn what_is_packed_is_put_in_the_order_in_which_it_lies() {
    assert_eq!(called((0, [2, 300]), (0, [2, 300])), [1, 1, 150, 1, 150]);
    assert_eq!(called((0, [320, 2]), (0, [320, 2])), [ROW_MAJOR, 160, 1, 160, 1]);
    let run = |dims, strides| code_of(&SIDE_BY_SIDE, dims, strides, 0);
    assert_eq!(run([8, 128], [2, 16]), 1);
    assert_eq!(run([7, 128], [2, 14]), ROW_MAJOR);
}

/// Tells the strides of three dimensions.
unsafe extern "C" fn tell(context: *mut Context, inputs: *const Input) -> i32 {
    // SAFETY: the function is declared with an argument of three dimensions, and a result of as many numbers.
    unsafe {
        let told = exports::promote_rt_output(context, 0, [3].as_ptr()).cast::<i32>();
        if told.is_null() {
            return 1;
        }
        let strides = (*inputs).strides;
        for axis in 0..3 {
            *told.add(axis) = if strides.is_null() { ROW_MAJOR } else { *strides.add(axis) as i32 };
        }
    }
    0
}

/// The strides that code for pieces takes of an argument of such a type, the first two of whose dimensions are a piece.
fn told(stated: [i64; 3], dims: [i64; 3], strides: [i64; 3]) -> [i32; 3] {
    let plain = meta(tell, None, &[(F32, &stated, None)], &[(I32, &[3])]);
    let stack = std::ptr::null();
    let code = Strided { before: 1, dense: IN_PIECES, input: -1, entry: tell, entry_stack: stack };
    let function = &Function { strided_count: 1, strided: &code, ..*plain };
    let (memory, mut told) = (counting(90_000), [0; 3]);
    let mut inputs = [Tensor::new(F32, memory.as_ptr(), &dims).strided(&strides)];
    let outputs = &mut [Tensor::new(I32, told.as_mut_ptr(), &[3])];
    assert_eq!(call(function, &mut inputs, outputs), ok());
    told
}

#[test]
fn pieces_of_memory_have_no_gaps() {
    let told = |dims, strides| told([-1; 3], dims, strides);
    assert_eq!(told([30, 20, 40], [20, 1, 600]), [20, 1, 600]);
    assert_eq!(told([30, 20, 40], [20, 1, 613]), [20, 1, 613]);
    assert_eq!(told([1, 20, 40], [77, 1, 23]), [77, 1, 23]);
    assert_eq!(told([30, 20, 40], [800, 40, 1]), [ROW_MAJOR; 3]);
    // With gaps within a piece, or elements apart, it is packed.
    assert_eq!(told([30, 20, 40], [21, 1, 640]), [20, 1, 600]);
    assert_eq!(told([30, 20, 40], [40, 2, 1200]), [20, 1, 600]);
}

/// What lies before a dimension of one index need not be one piece of memory with it, though that has the stride of an element.
#[test]
fn pieces_begin_with_dimensions_of_one_index() {
    let told = |dims, strides| told([-1, 1, -1], dims, strides);
    assert_eq!(told([300, 1, 40], [1, 1, 307]), [1, 1, 307]);
    assert_ne!(told([300, 1, 40], [7, 1, 2100]), [7, 1, 2100]);
}

/// What is read where it is must be read before it is written over.
#[test]
fn an_output_may_be_an_input_that_is_read_where_it_is() {
    let mut memory = counting(COUNT);
    let expected: Vec<f32> =
        (0..COUNT).map(|place| (place / 160 + 150 * (place % 160)) as f32 * 2.0).collect();
    let mut called = Called::default();
    let start = memory.as_mut_ptr();
    let mut inputs = [(); 2].map(|()| Tensor::new(F32, start, &DIMS).strided(&[1, 150]));
    let outputs = &mut [Tensor::new(F32, start, &DIMS), Tensor::new(I32, called.as_mut_ptr(), &[5])];
    assert_eq!(call(adder(&SIDE_BY_SIDE), &mut inputs, outputs), ok());
    assert_eq!(called, [1, 1, 150, 1, 150]);
    assert_eq!(memory, expected);
}
