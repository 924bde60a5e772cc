//! Inputs that are copied as loops read them: those that lie in another order than the code goes through them.

use super::*;

/// The inputs, and their elements for each of the first indices, which are the units of work.
const DIMS: [i64; 3] = [40, 50, 60];
const ROW: i64 = 50 * 60;
const COUNT: usize = 40 * 50 * 60;

/// What the body finds in its environment: the sums, whether inputs are where the call has them, and their addresses.
#[repr(C)]
struct Environment {
    sums: *mut f32,
    seen: *mut i32,
    given: [*const u8; 2],
    inputs: [*const u8; 2],
}

extern "C" fn add_rows(env: *mut u8, begin: i64, end: i64) {
    // SAFETY: the entry passes its environment, or the run time a copy of it; units write to places of their own.
    unsafe {
        let Environment { sums, seen, given, inputs } = env.cast::<Environment>().read();
        for unit in begin..end {
            let elements = (unit * ROW..(unit + 1) * ROW).map(|place| place as usize);
            let sum = elements.fold(0.0, |sum, place| {
                let x = inputs[0].wrapping_add(4 * place).cast::<f32>().read();
                sum + x * f32::from(inputs[1].wrapping_add(place).cast::<i8>().read())
            });
            *sums.offset(unit as isize) = sum;
            let staged = [0, 1].map(|input: usize| given[input] != inputs[input]);
            *seen.offset(unit as isize) = i32::from(staged[0]) + 2 * i32::from(staged[1]);
        }
    }
}

unsafe extern "C" fn weighted_sums(context: *mut Context, inputs: *const Input) -> i32 {
    // SAFETY: the function is declared with two inputs, and results of as many numbers as the first index of these.
    unsafe {
        let inputs = std::slice::from_raw_parts(inputs, 2);
        let sums = exports::promote_rt_output(context, 0, DIMS.as_ptr()).cast::<f32>();
        let seen = exports::promote_rt_output(context, 1, DIMS.as_ptr()).cast::<i32>();
        if sums.is_null() || seen.is_null() {
            return 1;
        }
        let given = [inputs[0].data, inputs[1].data];
        let mut environment = Environment { sums, seen, given, inputs: given };
        // Six words; each unit reads a row of its own; the addresses are the last two.
        let order = [6, 1, ROW, ROW, 2, 4, 0, 5, 1];
        let env = (&raw mut environment).cast();
        exports::promote_rt_stage(context, add_rows, env, DIMS[0], 1, order.as_ptr());
    }
    0
}

fn function(in_any_order: i64) -> &'static Function {
    let i8 = DLDataType { code: 0, bits: 8, lanes: 1 };
    let inputs: [(_, &[i64], _); 2] = [(F32, &DIMS, None), (i8, &DIMS, None)];
    let plain = meta(weighted_sums, None, &inputs, &[(F32, &DIMS[..1]), (I32, &DIMS[..1])]);
    Box::leak(Box::new(Function { in_any_order, ..*plain }))
}

const ROW_MAJOR: [i64; 3] = [3000, 60, 1];
/// The last two dimensions change places.
const TURNED: [i64; 3] = [3000, 1, 50];
/// All do: whole lines of memory are a megabyte of it.
const REVERSED: [i64; 3] = [1, 40, 2000];

/// Which units found their inputs elsewhere than the call has them, after it was checked that sums are right. The first input is so many
/// bytes past the beginning of its memory.
#[track_caller]
fn staged(in_any_order: i64, strides: [[i64; 3]; 2], shift: usize) -> Vec<i32> {
    let numbers: Vec<f32> = (0..COUNT).map(|number| (number % 1013) as f32 / 64.0).collect();
    let weights: Vec<i8> = (0..COUNT).map(|number| (number % 7) as i8 - 3).collect();
    let mut memory = vec![0u8; 4 * COUNT + 4];
    for (place, number) in memory[shift..].chunks_exact_mut(4).zip(&numbers) {
        place.copy_from_slice(&number.to_ne_bytes());
    }
    let mut inputs = [
        Tensor::new(F32, memory.as_ptr(), &DIMS).strided(&strides[0]),
        Tensor::new(DLDataType { code: 0, bits: 8, lanes: 1 }, weights.as_ptr(), &DIMS).strided(&strides[1]),
    ];
    inputs[0].raw.byte_offset = shift as u64;
    let (mut sums, mut seen) = (vec![0f32; 40], vec![-1; 40]);
    let outputs = &mut [
        Tensor::new(F32, sums.as_mut_ptr(), &DIMS[..1]),
        Tensor::new(I32, seen.as_mut_ptr(), &DIMS[..1]),
    ];
    assert_eq!(call(function(in_any_order), &mut inputs, outputs), ok());
    assert_eq!(sums, naive(&numbers, &weights, strides));
    seen
}

fn naive(numbers: &[f32], weights: &[i8], strides: [[i64; 3]; 2]) -> Vec<f32> {
    let at = |strides: [i64; 3], index: [i64; 3]| {
        index.iter().zip(strides).map(|(index, stride)| index * stride).sum::<i64>() as usize
    };
    let row = |first: i64| {
        let indices = (0..DIMS[1]).flat_map(|second| (0..DIMS[2]).map(move |third| [first, second, third]));
        indices.fold(0.0, |sum, index| {
            sum + numbers[at(strides[0], index)] * f32::from(weights[at(strides[1], index)])
        })
    };
    (0..DIMS[0]).map(row).collect()
}

#[test]
fn inputs_in_other_orders_are_copied_as_they_are_read() {
    assert_eq!(staged(3, [ROW_MAJOR; 2], 0), [0; 40]);
    assert_eq!(staged(3, [TURNED, ROW_MAJOR], 0), [1; 40]);
    // The bytes of the other input are so few that they are packed.
    assert_eq!(staged(3, [TURNED; 2], 0), [1; 40]);
    // Misaligned elements are copied byte by byte.
    assert_eq!(staged(3, [ROW_MAJOR, TURNED], 1), [1; 40]);
}

#[test]
fn inputs_are_packed_where_code_does_not_allow_it_or_lines_would_be_read_again() {
    assert_eq!(staged(0, [TURNED; 2], 0), [0; 40]);
    assert_eq!(staged(2, [TURNED; 2], 0), [0; 40]);
    assert_eq!(staged(3, [REVERSED, TURNED], 0), [0; 40]);
}

#[test]
fn results_in_the_memory_of_such_inputs_are_written_after_them() {
    let numbers: Vec<f32> = (0..COUNT).map(|number| (number % 509) as f32).collect();
    let weights = vec![1_i8; COUNT];
    let wanted = naive(&numbers, &weights, [TURNED, ROW_MAJOR]);
    let (mut memory, mut seen) = (numbers, vec![-1; 40]);
    let data = memory.as_mut_ptr();
    let mut inputs = [
        Tensor::new(F32, data, &DIMS).strided(&TURNED),
        Tensor::new(DLDataType { code: 0, bits: 8, lanes: 1 }, weights.as_ptr(), &DIMS),
    ];
    let outputs = &mut [Tensor::new(F32, data, &DIMS[..1]), Tensor::new(I32, seen.as_mut_ptr(), &DIMS[..1])];
    assert_eq!(call(function(3), &mut inputs, outputs), ok());
    assert_eq!(memory[..40], wanted);
    assert_eq!(seen, [1; 40]);
}
