//! The run time as its callers see it: entries written in Rust stand for compiled code.

use std::ffi::{CStr, CString, c_void};

use promote_runtime::{
    Context, DLDataType, DLDevice, DLTensor, Entry, Function, Input, Status, TensorType, exports,
    promote_last_error, promote_rt_call, promote_rt_shapes,
};

mod arguments;
mod failures;
mod outputs;
mod rust;
mod staged;
mod strided;
mod threads;
#[cfg(target_os = "linux")]
mod untouched;

const F32: DLDataType = DLDataType { code: 2, bits: 32, lanes: 1 };
const I32: DLDataType = DLDataType { code: 0, bits: 32, lanes: 1 };

/// Metadata, which live as long as the test.
fn meta(
    entry: Entry,
    shape: Option<Entry>,
    inputs: &[(DLDataType, &[i64], Option<&str>)],
    outputs: &[(DLDataType, &[i64])],
) -> &'static Function {
    let unnamed: Vec<_> = outputs.iter().map(|&(dtype, dims)| (dtype, dims, None)).collect();
    Box::leak(Box::new(Function {
        name: c"promote_f".as_ptr(),
        inputs: inputs.len() as i32,
        outputs: outputs.len() as i32,
        input_types: types(inputs),
        output_types: types(&unnamed),
        entry,
        shape,
        entry_stack: std::ptr::null(),
        shape_stack: std::ptr::null(),
        in_any_order: 0,
        strided_count: 0,
        strided: std::ptr::null(),
    }))
}

fn types(of: &[(DLDataType, &[i64], Option<&str>)]) -> *const TensorType {
    let name = |name: &str| CString::new(name).expect("names have no NUL").into_raw().cast_const();
    let types = of.iter().map(|&(dtype, dims, called)| TensorType {
        code: dtype.code,
        bits: dtype.bits,
        lanes: dtype.lanes,
        rank: dims.len() as i32,
        dims: Vec::leak(dims.to_vec()).as_ptr(),
        name: called.map_or(std::ptr::null(), name),
    });
    Vec::leak(types.collect()).as_ptr()
}

/// A DLPack tensor with its own shape and strides.
struct Tensor {
    shape: Vec<i64>,
    strides: Option<Vec<i64>>,
    raw: DLTensor,
}

impl Tensor {
    fn new<T>(dtype: DLDataType, data: *const T, shape: &[i64]) -> Tensor {
        Tensor {
            shape: shape.to_vec(),
            strides: None,
            raw: DLTensor {
                data: data.cast::<c_void>().cast_mut(),
                device: DLDevice { device_type: 1, device_id: 0 },
                ndim: shape.len() as i32,
                dtype,
                shape: std::ptr::null_mut(),
                strides: std::ptr::null_mut(),
                byte_offset: 0,
            },
        }
    }

    fn strided(mut self, strides: &[i64]) -> Tensor {
        self.strides = Some(strides.to_vec());
        self
    }

    fn raw(&mut self) -> *mut DLTensor {
        self.raw.shape = self.shape.as_mut_ptr();
        self.raw.strides = self.strides.as_mut().map_or(std::ptr::null_mut(), |strides| strides.as_mut_ptr());
        &raw mut self.raw
    }
}

fn call(function: &Function, inputs: &mut [Tensor], outputs: &mut [Tensor]) -> (i32, String) {
    let inputs: Vec<*const DLTensor> = inputs.iter_mut().map(|tensor| tensor.raw().cast_const()).collect();
    let outputs: Vec<*mut DLTensor> = outputs.iter_mut().map(Tensor::raw).collect();
    // SAFETY: the tensors are what they say, and alive.
    let status = unsafe { promote_rt_call(function, inputs.as_ptr(), outputs.as_ptr()) };
    (status, last_error())
}

fn shapes(function: &Function, inputs: &mut [Tensor], outputs: &mut [Tensor]) -> (i32, String) {
    let inputs: Vec<*const DLTensor> = inputs.iter_mut().map(|tensor| tensor.raw().cast_const()).collect();
    let outputs: Vec<*mut DLTensor> = outputs.iter_mut().map(Tensor::raw).collect();
    // SAFETY: as above.
    let status = unsafe { promote_rt_shapes(function, inputs.as_ptr(), outputs.as_ptr()) };
    (status, last_error())
}

fn last_error() -> String {
    // SAFETY: the message is NUL-terminated and lives until the next call.
    unsafe { CStr::from_ptr(promote_last_error()) }.to_str().expect("messages are UTF-8").to_owned()
}

/// What a call that succeeds returns.
fn ok() -> (i32, String) {
    (Status::Ok as i32, String::new())
}

fn err(status: Status, message: &str) -> (i32, String) {
    (status as i32, message.to_owned())
}

/// Input `index` as a slice of `T` over all `rank` extents.
unsafe fn input<'a, T>(inputs: *const Input, index: usize, rank: usize) -> (&'a [i64], &'a [T]) {
    // SAFETY: by the caller's word, the function has that input of that type.
    unsafe {
        let input = *inputs.add(index);
        let dims = if rank == 0 { &[] } else { std::slice::from_raw_parts(input.dims, rank) };
        let count = dims.iter().product::<i64>() as usize;
        (dims, if count == 0 { &[] } else { std::slice::from_raw_parts(input.data.cast(), count) })
    }
}

/// Adds 1 to a matrix, element by element, in parallel pieces.
unsafe extern "C" fn increment(context: *mut Context, inputs: *const Input) -> i32 {
    struct Env {
        from: *const f32,
        to: *mut f32,
    }
    extern "C" fn body(env: *mut u8, begin: i64, end: i64) {
        // SAFETY: the environment is that of the call below.
        unsafe {
            let env = &*env.cast::<Env>();
            for index in begin as usize..end as usize {
                *env.to.add(index) = *env.from.add(index) + 1.0;
            }
        }
    }
    // SAFETY: the function is declared with one matrix of f32 and one result of the same shape.
    unsafe {
        let (dims, values) = input::<f32>(inputs, 0, 2);
        let to = exports::promote_rt_output(context, 0, dims.as_ptr());
        if to.is_null() {
            return 1;
        }
        let mut env = Env { from: values.as_ptr(), to: to.cast() };
        exports::promote_rt_parallel(context, body, (&raw mut env).cast(), values.len() as i64, 16);
        0
    }
}

unsafe extern "C" fn increment_shape(context: *mut Context, inputs: *const Input) -> i32 {
    // SAFETY: as above.
    unsafe { exports::promote_rt_shape(context, 0, (*inputs).dims) };
    0
}

fn incrementer() -> &'static Function {
    meta(increment, Some(increment_shape), &[(F32, &[-1, -1], Some("x"))], &[(F32, &[-1, -1])])
}

/// The numbers from 0.
fn counting(count: usize) -> Vec<f32> {
    (0..count).map(|index| index as f32).collect()
}
