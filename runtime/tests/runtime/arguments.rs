//! Every wrong argument is refused, with the function, the argument, what was expected and what was found.

use super::*;

/// A function with `float32[4,?]`, and a scalar `int32`; its result is `float32[?]`.
fn checked() -> &'static Function {
    unsafe extern "C" fn entry(context: *mut Context, inputs: *const Input) -> i32 {
        // SAFETY: the function is declared with these inputs and this output.
        unsafe {
            let (dims, values) = input::<f32>(inputs, 0, 2);
            let (_, scale) = input::<i32>(inputs, 1, 0);
            let to = exports::promote_rt_output(context, 0, &dims[1]).cast::<f32>();
            if to.is_null() {
                return 1;
            }
            for column in 0..dims[1] as usize {
                let sum: f32 = (0..4).map(|row| values[row * dims[1] as usize + column]).sum();
                *to.add(column) = sum * scale[0] as f32;
            }
        }
        0
    }
    meta(entry, None, &[(F32, &[4, -1], Some("x")), (I32, &[], None)], &[(F32, &[-1])])
}

/// Calls [`checked`] with arguments changed by `change`.
fn changed(change: impl FnOnce(&mut Tensor, &mut Tensor, &mut Tensor)) -> (i32, String) {
    let (x, scale, mut out) = (counting(12), 2i32, [0f32; 3]);
    let (mut x, mut scale) = (Tensor::new(F32, x.as_ptr(), &[4, 3]), Tensor::new(I32, &raw const scale, &[]));
    let mut out = Tensor::new(F32, out.as_mut_ptr(), &[3]);
    change(&mut x, &mut scale, &mut out);
    call(checked(), &mut [x, scale], &mut [out])
}

#[test]
fn right_arguments_are_taken() {
    let (x, scale, mut out) = (counting(12), 2i32, [0f32; 3]);
    let inputs = &mut [Tensor::new(F32, x.as_ptr(), &[4, 3]), Tensor::new(I32, &raw const scale, &[])];
    assert_eq!(call(checked(), inputs, &mut [Tensor::new(F32, out.as_mut_ptr(), &[3])]), ok());
    assert_eq!(out, [36.0, 44.0, 52.0]);
}

#[test]
fn types_and_shapes() {
    assert_eq!(
        changed(|x, _, _| x.raw.dtype = I32),
        err(Status::Dtype, "promote_f: input 0 (x) must be float32[4,?], but is int32[4,3]")
    );
    assert_eq!(
        changed(|x, _, _| x.raw.dtype.lanes = 2),
        err(Status::Dtype, "promote_f: input 0 (x) must be float32[4,?], but is float32x2[4,3]")
    );
    assert_eq!(
        changed(|x, _, _| x.raw.dtype = DLDataType { code: 99, bits: 32, lanes: 1 }),
        err(
            Status::Dtype,
            "promote_f: input 0 (x) must be float32[4,?], but is type code 99 of 32 bits[4,3]"
        )
    );
    assert_eq!(
        changed(|x, _, _| x.shape = vec![3, 4]),
        err(Status::Shape, "promote_f: input 0 (x) must be float32[4,?], but is float32[3,4]")
    );
    assert_eq!(
        changed(|x, _, _| x.raw.ndim = 1),
        err(Status::Rank, "promote_f: input 0 (x) must be float32[4,?], but has rank 1")
    );
    assert_eq!(
        changed(|_, scale, _| {
            scale.shape = vec![1];
            scale.raw.ndim = 1;
        }),
        err(Status::Rank, "promote_f: input 1 must be int32[], but has rank 1")
    );
    assert_eq!(
        changed(|x, _, _| x.raw.ndim = -1),
        err(Status::Rank, "promote_f: input 0 (x) must be float32[4,?], but has rank -1")
    );
    assert_eq!(
        changed(|x, _, _| x.raw.ndim = i32::MAX),
        err(Status::Rank, "promote_f: input 0 (x) must be float32[4,?], but has rank 2147483647")
    );
    assert_eq!(
        changed(|x, _, _| x.shape = vec![4, -1]),
        err(Status::Shape, "promote_f: input 0 (x) has a negative extent: float32[4,-1]")
    );
    assert_eq!(
        changed(|x, _, _| x.shape = vec![4, i64::MAX]),
        err(
            Status::Shape,
            "promote_f: input 0 (x) is larger than any memory: float32[4,9223372036854775807]"
        )
    );
    assert_eq!(
        changed(|_, _, out| out.raw.dtype = I32),
        err(Status::Dtype, "promote_f: output 0 must be float32[?], but is int32[3]")
    );
    assert_eq!(
        changed(|_, _, out| out.shape = vec![5]),
        err(Status::Shape, "promote_f: output 0 must be float32[3] for these inputs, but is float32[5]")
    );
}

#[test]
fn pointers() {
    assert_eq!(
        changed(|x, _, _| x.raw.data = std::ptr::null_mut()),
        err(Status::Null, "promote_f: input 0 (x) has null data: float32[4,3]")
    );
    assert_eq!(
        changed(|_, _, out| {
            out.raw.data = std::ptr::null_mut();
            out.raw.byte_offset = 64;
        }),
        err(Status::Null, "promote_f: output 0 has null data: float32[3]")
    );
    let function = checked();
    let mut x = Tensor::new(F32, std::ptr::null::<f32>(), &[4, 0]);
    let mut scale = Tensor::new(I32, &1i32, &[]);
    let mut out = Tensor::new(F32, std::ptr::null::<f32>(), &[0]);
    let (inputs, outputs) = ([x.raw().cast_const(), scale.raw().cast_const()], [out.raw()]);
    // SAFETY: null pointers are errors; the others are alive.
    let run =
        |function, inputs, outputs| unsafe { (promote_rt_call(function, inputs, outputs), last_error()) };
    assert_eq!(run(function, inputs.as_ptr(), outputs.as_ptr()), ok());
    assert_eq!(
        run(std::ptr::null(), inputs.as_ptr(), outputs.as_ptr()),
        err(Status::Null, "the function is null")
    );
    assert_eq!(
        run(function, std::ptr::null(), outputs.as_ptr()),
        err(Status::Null, "promote_f: the array of inputs is null")
    );
    assert_eq!(
        run(function, inputs.as_ptr(), std::ptr::null()),
        err(Status::Null, "promote_f: the array of outputs is null")
    );
    let missing = [inputs[0], std::ptr::null()];
    assert_eq!(
        run(function, missing.as_ptr(), outputs.as_ptr()),
        err(Status::Null, "promote_f: input 1 is null")
    );
    assert_eq!(
        run(function, inputs.as_ptr(), [std::ptr::null_mut()].as_ptr()),
        err(Status::Null, "promote_f: output 0 is null")
    );
    x.raw.shape = std::ptr::null_mut();
    let shapeless: [*const DLTensor; 2] = [&raw const x.raw, inputs[1]];
    assert_eq!(
        run(function, shapeless.as_ptr(), outputs.as_ptr()),
        err(Status::Null, "promote_f: input 0 (x) has a null shape")
    );
}

#[test]
fn devices() {
    let on = |kind: i32| changed(move |x, _, _| x.raw.device = DLDevice { device_type: kind, device_id: 3 });
    assert_eq!(on(3), ok());
    assert_eq!(
        on(2),
        err(Status::Device, "promote_f: input 0 (x) must be in CPU memory, but is on CUDA device 3")
    );
    assert_eq!(
        on(77),
        err(
            Status::Device,
            "promote_f: input 0 (x) must be in CPU memory, but is on a device of DLPack's type 77"
        )
    );
}

#[test]
fn strides() {
    assert_eq!(
        changed(|x, _, _| x.strides = Some(vec![i64::MAX, 1])),
        err(
            Status::Strides,
            "promote_f: input 0 (x) has strides that exceed the address space: float32[4,3] [9223372036854775807,1]"
        )
    );
    assert_eq!(
        changed(|_, _, out| out.strides = Some(vec![0])),
        err(Status::Strides, "promote_f: output 0 has strides that put several elements in one place: [0]")
    );
}

#[test]
fn strided_inputs_are_read_as_they_lie() {
    let memory = counting(1000);
    let at = |offset: usize, index: [i64; 2], strides: [i64; 2]| {
        memory[(offset as i64 + index[0] * strides[0] + index[1] * strides[1]) as usize]
    };
    for (offset, strides, shape) in [
        (0, [1, 4], [4, 9]),
        (999, [-30, -1], [30, 30]),
        (5, [0, 1], [8, 3]),
        (5, [1, 0], [8, 3]),
        (5, [0, 0], [2, 2]),
        (0, [100, 3], [10, 30]),
        (400, [-2, 7], [50, 40]),
        (7, [1, 1], [1, 1]),
    ] {
        let mut out = vec![0f32; (shape[0] * shape[1]) as usize];
        let mut x = Tensor::new(F32, memory.as_ptr(), &shape).strided(&strides);
        x.raw.byte_offset = 4 * offset as u64;
        assert_eq!(call(incrementer(), &mut [x], &mut [Tensor::new(F32, out.as_mut_ptr(), &shape)]), ok());
        let naive: Vec<f32> = (0..shape[0])
            .flat_map(|row| (0..shape[1]).map(move |column| [row, column]))
            .map(|index| at(offset, index, strides) + 1.0)
            .collect();
        assert_eq!(out, naive, "{strides:?}");
    }
}

#[test]
fn misaligned_tensors_are_copied() {
    let mut bytes = [0u8; 4 * 6 + 1];
    for (index, chunk) in bytes[1..].chunks_exact_mut(4).enumerate() {
        chunk.copy_from_slice(&(index as f32).to_ne_bytes());
    }
    let mut out = [0u8; 4 * 6 + 3];
    let mut x = Tensor::new(F32, bytes.as_ptr(), &[2, 3]);
    x.raw.byte_offset = 1;
    let mut y = Tensor::new(F32, out.as_mut_ptr(), &[2, 3]);
    y.raw.byte_offset = 3;
    assert_eq!(call(incrementer(), &mut [x], &mut [y]), ok());
    let values: Vec<f32> = out[3..]
        .chunks_exact(4)
        .map(|chunk| f32::from_ne_bytes(chunk.try_into().expect("four bytes")))
        .collect();
    assert_eq!(values, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
}

#[test]
fn elements_narrower_than_a_byte_take_one_each() {
    const I4: DLDataType = DLDataType { code: 0, bits: 4, lanes: 1 };
    const F4: DLDataType = DLDataType { code: 17, bits: 4, lanes: 1 };
    unsafe extern "C" fn entry(context: *mut Context, inputs: *const Input) -> i32 {
        // SAFETY: the function is declared with one vector and one result, both of bytes.
        unsafe {
            let (dims, values) = input::<u8>(inputs, 0, 1);
            let to = exports::promote_rt_output(context, 0, dims.as_ptr());
            values.iter().enumerate().for_each(|(index, value)| *to.add(index) = value ^ 7);
        }
        0
    }
    let function = meta(entry, None, &[(I4, &[-1], None)], &[(F4, &[-1])]);
    let (x, mut out) = ([1u8, 2, 3], [0u8; 3]);
    let to = out.as_mut_ptr();
    let arguments = |dtype| ([Tensor::new(dtype, x.as_ptr(), &[3])], [Tensor::new(F4, to, &[3])]);
    let (mut inputs, mut outputs) = arguments(I4);
    assert_eq!(call(function, &mut inputs, &mut outputs), ok());
    assert_eq!(out, [6, 5, 4]);
    let (mut inputs, mut outputs) = arguments(DLDataType { code: 0, bits: 8, lanes: 1 });
    assert_eq!(
        call(function, &mut inputs, &mut outputs),
        err(Status::Dtype, "promote_f: input 0 must be int4[?], but is int8[3]")
    );
}

/// Numbers that are the same every time.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % bound
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Changes some fields of a tensor to odd values that do not reach beyond `elements` of memory on both sides of its data.
fn distort(random: &mut Random, tensor: &mut Tensor, elements: i64) {
    let odd = [i64::MIN, -1, 0, 1, 2, 3, 4, 1 << 33, i64::MAX];
    for _ in 0..random.below(3) {
        match random.below(9) {
            0 => tensor.raw.dtype.code = random.below(256) as u8,
            1 => tensor.raw.dtype.bits = random.pick(&[0, 1, 8, 32, 64, 255]),
            2 => tensor.raw.dtype.lanes = random.pick(&[0, 1, 2, 65535]),
            3 => tensor.raw.ndim = random.pick(&[i32::MIN, -1, 0, 1, 2]),
            4 => tensor.raw.device.device_type = random.pick(&[0, 1, 2, -5]),
            5 => tensor.raw.data = std::ptr::null_mut(),
            // Empty, negative, or too large to be anywhere.
            6 => tensor.shape[0] = random.pick(&[i64::MIN, -1, 0, i64::MAX / 8, i64::MAX]),
            7 => tensor.shape[1] = random.pick(&[i64::MIN, -1, 0, i64::MAX / 8, i64::MAX]),
            _ => {
                let step = elements / 8;
                let strides = [random.pick(&odd), random.pick(&odd)];
                // Strides within memory, or such that the address space ends before them.
                tensor.strides = Some(
                    strides
                        .map(|stride| if stride.unsigned_abs() < 5 { stride.min(step) } else { i64::MAX })
                        .to_vec(),
                );
            }
        }
    }
}

#[test]
fn no_tensor_crashes_a_call() {
    let mut random = Random(9);
    let mut statuses = std::collections::HashSet::new();
    for _ in 0..20_000 {
        let (mut from, mut to) = (counting(256), vec![0f32; 256]);
        let shape = [3, 4];
        let mut x = Tensor::new(F32, from.as_mut_ptr().wrapping_add(128), &shape);
        let mut out = Tensor::new(F32, to.as_mut_ptr().wrapping_add(128), &shape);
        distort(&mut random, &mut x, 64);
        distort(&mut random, &mut out, 64);
        let ask = random.below(4) == 0;
        let (status, message) = if ask {
            shapes(incrementer_once(), &mut [x], &mut [out])
        } else {
            call(incrementer_once(), &mut [x], &mut [out])
        };
        assert_eq!(status == 0, message.is_empty());
        assert!(status == 0 || message.starts_with("promote_f: "), "{message}");
        statuses.insert(status);
    }
    let expected = [
        Status::Ok,
        Status::Null,
        Status::Device,
        Status::Dtype,
        Status::Rank,
        Status::Shape,
        Status::Strides,
    ];
    assert!(expected.iter().all(|status| statuses.contains(&(*status as i32))), "{statuses:?}");
}

/// [`incrementer`], made once.
fn incrementer_once() -> &'static Function {
    static ONCE: std::sync::OnceLock<&'static Function> = std::sync::OnceLock::new();
    ONCE.get_or_init(incrementer)
}
