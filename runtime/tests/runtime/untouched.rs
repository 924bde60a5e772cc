//! What is not to be read is not: memory that ends the process if it is touched.

use super::*;

/// Bytes of a page of any machine, or several.
const PAGE: usize = 1 << 16;

mod system {
    use std::ffi::c_void;

    pub const READ_AND_WRITE: i32 = 3;
    pub const PRIVATE_AND_ANONYMOUS: i32 = 0x22;

    unsafe extern "C" {
        pub fn mmap(
            at: *mut c_void,
            length: usize,
            protection: i32,
            flags: i32,
            file: i32,
            offset: i64,
        ) -> *mut c_void;
        pub fn mprotect(at: *mut c_void, length: usize, protection: i32) -> i32;
    }
}

/// Two pages, of which the second one must not be touched; its address. They stay for as long as the process.
fn guarded() -> *mut u8 {
    // SAFETY: new memory, wherever the system likes; the second half is made inaccessible.
    unsafe {
        let start = system::mmap(
            std::ptr::null_mut(),
            2 * PAGE,
            system::READ_AND_WRITE,
            system::PRIVATE_AND_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(start.addr(), usize::MAX);
        let guard = start.cast::<u8>().add(PAGE);
        assert_eq!(system::mprotect(guard.cast(), PAGE, 0), 0);
        guard
    }
}

/// These numbers, right in front of a guard.
fn at_the_end(numbers: &[i64]) -> *mut i64 {
    // SAFETY: there is a page in front of the guard.
    unsafe {
        let place = guarded().cast::<i64>().sub(numbers.len());
        place.copy_from_nonoverlapping(numbers.as_ptr(), numbers.len());
        place
    }
}

/// A tensor of `ndim` extents, as its owner says, of which there are two.
fn lying(dtype: DLDataType, ndim: i32, data: *mut c_void) -> DLTensor {
    DLTensor {
        data,
        device: DLDevice { device_type: 1, device_id: 0 },
        ndim,
        dtype,
        shape: at_the_end(&[2, 3]),
        strides: at_the_end(&[3, 1]),
        byte_offset: 0,
    }
}

#[test]
fn a_wrong_rank_is_refused_before_extents_are_read() {
    let mut numbers = [0f32; 6];
    let right = lying(F32, 2, numbers.as_mut_ptr().cast());
    for (ndim, dtype) in [3, 5, 64, 65, 1_000_000, i32::MAX, 1, 0, -1, i32::MIN]
        .into_iter()
        .flat_map(|ndim| [(ndim, F32), (ndim, I32)])
    {
        let mut wrong = lying(dtype, ndim, numbers.as_mut_ptr().cast());
        let mut other = right;
        // SAFETY: the tensors have as many extents as the function's have dimensions, and more are not read.
        let (as_input, as_output, of_shapes) = unsafe {
            let returned = |status| (status, last_error());
            let as_input = returned(promote_rt_call(
                incrementer(),
                [&raw const wrong].as_ptr(),
                [&raw mut other].as_ptr(),
            ));
            let as_output = returned(promote_rt_call(
                incrementer(),
                [&raw const other].as_ptr(),
                [&raw mut wrong].as_ptr(),
            ));
            let of_shapes = returned(promote_rt_shapes(
                incrementer(),
                [&raw const wrong].as_ptr(),
                [&raw mut other].as_ptr(),
            ));
            (as_input, as_output, of_shapes)
        };
        let (status, is) = match dtype {
            F32 => (Status::Rank, format!("has rank {ndim}")),
            _ => (Status::Dtype, format!("is int32 of rank {ndim}")),
        };
        let must = format!("must be float32[?,?], but {is}");
        assert_eq!(as_input, err(status, &format!("promote_f: input 0 (x) {must}")));
        assert_eq!(as_output, err(status, &format!("promote_f: output 0 {must}")));
        assert_eq!(of_shapes, as_input);
    }
}

#[test]
fn shapes_are_returned_without_reading_elements() {
    let data = guarded();
    // Row-major, transposed, misaligned, and larger than any memory.
    for (shape, strides, offset) in [
        ([4, 5], None, 0),
        ([4, 5], Some([1, 4]), 0),
        ([4, 5], None, 1),
        ([1 << 20, 1 << 30], Some([0, 0]), 0),
        ([4, 5], Some([-5, -1]), 76),
    ] {
        let mut tensor = Tensor::new(F32, data.wrapping_add(offset), &shape);
        tensor.strides = strides.map(|strides| strides.to_vec());
        let mut out = [Tensor::new(I32, std::ptr::null::<f32>(), &[0, 0])];
        assert_eq!(shapes(incrementer(), &mut [tensor], &mut out), ok());
        assert_eq!(out[0].shape, shape);
    }
}

#[test]
fn numbers_without_dimensions_are_read_even_for_shapes() {
    unsafe extern "C" fn shape(context: *mut Context, inputs: *const Input) -> i32 {
        // SAFETY: the function is declared with a scalar and one matrix of f32.
        unsafe {
            let (_, number) = input::<i32>(inputs, 0, 0);
            exports::promote_rt_shape(context, 0, [i64::from(number[0])].as_ptr());
        }
        0
    }
    let function = meta(shape, Some(shape), &[(I32, &[], None), (F32, &[-1, -1], None)], &[(F32, &[-1])]);
    let bytes = [0u8, 7, 0, 0, 0, 0];
    // One byte away from where an integer may be.
    let number = Tensor::new(I32, bytes.as_ptr().wrapping_add(1), &[]);
    let matrix = Tensor::new(F32, guarded(), &[4, 5]).strided(&[1, 4]);
    let mut out = [Tensor::new(I32, std::ptr::null::<f32>(), &[0])];
    assert_eq!(shapes(function, &mut [number, matrix], &mut out), ok());
    assert_eq!(out[0].shape, [7]);
}
