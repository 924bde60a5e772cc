//! Outputs may lie anywhere, also on inputs; shapes can be asked for first.

use super::*;

#[test]
fn strided_outputs_are_written_where_they_lie() {
    let x = counting(12);
    let mut memory = [0f32; 40];
    let mut out = Tensor::new(F32, memory.as_mut_ptr(), &[3, 4]).strided(&[-1, 6]);
    out.raw.byte_offset = 4 * 10;
    assert_eq!(call(incrementer(), &mut [Tensor::new(F32, x.as_ptr(), &[3, 4])], &mut [out]), ok());
    for (index, value) in x.iter().enumerate() {
        let place = 10 - index / 4 + 6 * (index % 4);
        assert_eq!(memory[place], value + 1.0, "element {index}");
        memory[place] = 0.0;
    }
    assert_eq!(memory, [0.0; 40]);
}

/// Reverses a vector, reading every element after the first write would have hit it.
fn reverser() -> &'static Function {
    unsafe extern "C" fn entry(context: *mut Context, inputs: *const Input) -> i32 {
        // SAFETY: the function is declared with one vector of f32 and a result of the same shape.
        unsafe {
            let (dims, values) = input::<f32>(inputs, 0, 1);
            let to = exports::promote_rt_output(context, 0, dims.as_ptr()).cast::<f32>();
            for index in 0..values.len() {
                *to.add(index) = values[values.len() - 1 - index];
            }
        }
        0
    }
    meta(entry, None, &[(F32, &[-1], None)], &[(F32, &[-1])])
}

#[test]
fn an_output_may_be_an_input() {
    for (from, to) in [(0, 0), (0, 3), (3, 0), (0, 10)] {
        let mut memory = counting(20);
        let mut naive = memory.clone();
        let reversed: Vec<f32> = memory[from..from + 10].iter().rev().copied().collect();
        naive[to..to + 10].copy_from_slice(&reversed);
        let start = memory.as_mut_ptr();
        let x = Tensor::new(F32, start.wrapping_add(from), &[10]);
        let out = Tensor::new(F32, start.wrapping_add(to), &[10]);
        assert_eq!(call(reverser(), &mut [x], &mut [out]), ok());
        assert_eq!(memory, naive, "from {from} to {to}");
    }
}

/// Two results: a vector as it is, and negated.
fn both() -> &'static Function {
    unsafe extern "C" fn entry(context: *mut Context, inputs: *const Input) -> i32 {
        // SAFETY: the function is declared with one vector of f32 and two results of the same shape.
        unsafe {
            let (dims, values) = input::<f32>(inputs, 0, 1);
            let first = exports::promote_rt_output(context, 0, dims.as_ptr()).cast::<f32>();
            let second = exports::promote_rt_output(context, 1, dims.as_ptr()).cast::<f32>();
            for (index, value) in values.iter().enumerate() {
                *second.add(index) = -value;
                *first.add(index) = *value;
            }
        }
        0
    }
    meta(entry, None, &[(F32, &[-1], None)], &[(F32, &[-1]), (F32, &[-1])])
}

#[test]
fn outputs_may_interleave_and_the_later_wins() {
    let x = counting(4);
    let mut memory = [9f32; 8];
    let even = Tensor::new(F32, memory.as_mut_ptr(), &[4]).strided(&[2]);
    let odd = Tensor::new(F32, memory.as_mut_ptr().wrapping_add(1), &[4]).strided(&[2]);
    assert_eq!(call(both(), &mut [Tensor::new(F32, x.as_ptr(), &[4])], &mut [even, odd]), ok());
    assert_eq!(memory, [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0]);
    let twice = || Tensor::new(F32, memory.as_ptr(), &[4]);
    assert_eq!(call(both(), &mut [Tensor::new(F32, x.as_ptr(), &[4])], &mut [twice(), twice()]), ok());
    assert_eq!(std::hint::black_box(memory)[..4], [-0.0, -1.0, -2.0, -3.0]);
}

#[test]
fn shapes_are_returned() {
    let x = counting(6);
    let asked = |function, room: &[i64]| {
        let mut out = [Tensor::new(I32, std::ptr::null::<f32>(), room)];
        let outcome = shapes(function, &mut [Tensor::new(F32, x.as_ptr(), &[2, 3])], &mut out);
        let [out] = out;
        (outcome, out.shape, out.raw.ndim, out.raw.dtype)
    };
    assert_eq!(asked(incrementer(), &[0, 0, 9]), (ok(), vec![2, 3, 9], 2, F32));
    let by_run = meta(increment, None, &[(F32, &[-1, -1], None)], &[(F32, &[-1, -1])]);
    assert_eq!(asked(by_run, &[0, 0]), (ok(), vec![2, 3], 2, F32));
    unsafe extern "C" fn never(context: *mut Context, _: *const Input) -> i32 {
        // SAFETY: the message is text.
        unsafe { exports::promote_rt_fail(context, b"run".as_ptr(), 3) };
        1
    }
    let known = meta(never, None, &[(F32, &[-1, -1], None)], &[(F32, &[7, 5])]);
    assert_eq!(asked(known, &[0, 0]), (ok(), vec![7, 5], 2, F32));
    let too_small = err(Status::Rank, "promote_f: output 0 has 2 dimensions, and there is room for 1");
    assert_eq!(asked(incrementer(), &[0]).0, too_small);
    let mut wrong = [Tensor::new(I32, x.as_ptr(), &[2, 3])];
    let mut out = [Tensor::new(F32, x.as_ptr(), &[2, 3])];
    assert_eq!(
        shapes(incrementer(), &mut wrong, &mut out),
        err(Status::Dtype, "promote_f: input 0 (x) must be float32[?,?], but is int32[2,3]")
    );
}

#[test]
fn a_message_goes_with_the_next_call() {
    let x = counting(6);
    let mut out = [0f32; 6];
    let outcome = |dtype, out: *mut f32| {
        call(
            incrementer(),
            &mut [Tensor::new(dtype, x.as_ptr(), &[2, 3])],
            &mut [Tensor::new(F32, out, &[2, 3])],
        )
    };
    assert_ne!(outcome(I32, out.as_mut_ptr()).1, "");
    std::thread::spawn(|| assert_eq!(last_error(), "")).join().expect("another thread has no message");
    assert_eq!(outcome(F32, out.as_mut_ptr()), ok());
}
