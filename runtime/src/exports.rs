//! The functions compiled code and C callers call, by name.
//!
//! None of them unwinds: a panic inside is kept as an error of the call.

use std::borrow::Cow;
use std::ffi::{CStr, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use promote_abi::{Body, Context as Handle, DLTensor, Exports, Function, SortKind, Status, TvmAny, extents};

use crate::builtins::{__truncdfbf2, __truncsfbf2};
use crate::context::Context;
use crate::copy::{self, Strided};
use crate::{buffer, dlpack, environment, error, pool, sort, stage, tvm};

/// Runs `body`; if it panics, the call fails, and there is `otherwise`.
fn guarded<T>(context: &Context, otherwise: T, body: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        context.fail(Status::Internal, "the run-time library failed");
        otherwise
    })
}

/// Text of compiled code; none if the pointer is null.
///
/// # Safety
/// `start` is null or points to `length` bytes, which live as long as they are used.
unsafe fn text<'a>(start: *const u8, length: i64) -> Option<Cow<'a, str>> {
    let length = usize::try_from(length).ok().filter(|_| !start.is_null())?;
    // SAFETY: by contract.
    Some(String::from_utf8_lossy(unsafe { std::slice::from_raw_parts(start, length) }))
}

/// A buffer for a row-major tensor of that shape, with one owner, aligned to 64 bytes; null, with an error kept in the
/// context, if there is none. Shapes without elements have a buffer too. Contents are arbitrary.
///
/// # Safety
/// The context is that of the call; `dims` points to `rank` extents.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_new(
    context: *mut Handle,
    rank: i64,
    dims: *const i64,
    element_size: i64,
) -> *mut u8 {
    // SAFETY: by contract.
    let (context, dims) = unsafe { (Context::of(context), extents(dims, i32::try_from(rank).unwrap_or(0))) };
    guarded(context, None, || context.allocate(dims, element_size)).unwrap_or(std::ptr::null_mut())
}

/// Gives a buffer of [`promote_rt_new`] one more owner. Null does nothing.
///
/// # Safety
/// `owner` is null, or a buffer that has an owner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_retain(owner: *mut u8) {
    if !owner.is_null() {
        // SAFETY: by contract the buffer is alive. Relaxed: who has the pointer has it by way of an owner.
        unsafe { buffer::block_of(owner).as_ref() }
            .references
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Takes an owner from a buffer of [`promote_rt_new`], and frees it after the last. Null does nothing.
///
/// # Safety
/// The context is the one the buffer was made in; `owner` is null, or a buffer that has an owner.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_release(context: *mut Handle, owner: *mut u8) {
    // SAFETY: by contract.
    let context = unsafe { Context::of(context) };
    // SAFETY: by contract.
    guarded(context, (), || unsafe { context.release(owner) });
}

/// Where output `index` must be written, row-major, given its extents; null, with an error kept in the context, if the
/// caller's tensor has another shape or there is no memory. Not reference-counted.
///
/// # Safety
/// The context is that of the call; `dims` points to as many extents as the metadata gives the output dimensions.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_output(context: *mut Handle, index: i64, dims: *const i64) -> *mut u8 {
    // SAFETY: by contract.
    let context = unsafe { Context::of(context) };
    // SAFETY: by contract.
    guarded(context, std::ptr::null_mut(), || unsafe { context.output(index, dims) })
}

/// Tells the extents of output `index`; what [`Function::shape`](crate::Function::shape) calls.
///
/// # Safety
/// As [`promote_rt_output`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_shape(context: *mut Handle, index: i64, dims: *const i64) {
    // SAFETY: by contract.
    let context = unsafe { Context::of(context) };
    // SAFETY: by contract.
    guarded(context, (), || unsafe { context.shape(index, dims) });
}

/// A pointer that other threads may use.
struct Shared(*mut u8);

// SAFETY: the caller of `promote_rt_parallel` says that its body may run on several threads with it.
unsafe impl Sync for Shared {}

impl Shared {
    const fn get(&self) -> *mut u8 {
        self.0
    }
}

/// Runs `body(env, begin, end)` over ranges that together cover `0..count`, possibly on several threads at once. Ranges
/// start at multiples of `grain` and are at least that long, except a single one; inside a parallel body everything is
/// one range.
///
/// # Safety
/// The context is that of the call; `body` may run with `env` on several threads at once, for distinct ranges.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_parallel(
    context: *mut Handle,
    body: Body,
    env: *mut u8,
    count: i64,
    grain: i64,
) {
    // SAFETY: by contract.
    let context = unsafe { Context::of(context) };
    let env = Shared(env);
    guarded(context, (), || pool::parallel(count, grain, &|begin, end| body(env.get(), begin, end)));
}

/// How many threads a loop that starts here is spread over, at most.
#[unsafe(no_mangle)]
pub extern "C" fn promote_rt_threads() -> i64 {
    pool::threads_here() as i64
}

/// The same as `promote_rt_parallel` for a body that reads inputs of the call in the order of row-major memory. Those of them
/// that lie in another order are copied as they are read, and the body finds the address of such a copy in its environment, as
/// if all of the input lay around it.
///
/// # Safety
/// The context is that of the call; `body` may run with `env`, or a copy of it, on several threads at once, for distinct ranges; `order`
/// points to the words that say how it reads inputs of the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_stage(
    context: *mut Handle,
    body: Body,
    env: *mut u8,
    count: i64,
    grain: i64,
    order: *const i64,
) {
    // SAFETY: by contract.
    let context = unsafe { Context::of(context) };
    if !context.stages() {
        // SAFETY: by contract.
        return unsafe { promote_rt_parallel(context.handle(), body, env, count, grain) };
    }
    guarded(context, (), || {
        // SAFETY: by contract.
        unsafe {
            let order = stage::Order::read(order);
            stage::run(context, body, env.cast_const().cast(), (count, grain), &order);
        }
    });
}

/// A check made while running did not hold: keeps the message, unless there is one. The code then returns non-zero.
///
/// # Safety
/// The context is that of the call; `message` points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_fail(context: *mut Handle, message: *const u8, length: i64) {
    // SAFETY: by contract.
    let context = unsafe { Context::of(context) };
    // SAFETY: by contract.
    let message = unsafe { text(message, length) };
    let message = message.unwrap_or(Cow::Borrowed("a check did not hold"));
    guarded(context, (), || context.fail(Status::Check, &message));
}

/// A function of the program calls another, which takes `need` bytes of stack, the loops that it runs included: 0 if that may
/// be, else the code returns non-zero, and an error is kept. `place` describes the op that calls, in `length` bytes; null if
/// that is not known. Every call that was allowed ends with [`promote_rt_leave`], unless the whole call fails.
///
/// # Safety
/// The context is that of the call; `place` is null or points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_enter(
    context: *mut Handle,
    need: i64,
    place: *const u8,
    length: i64,
) -> i32 {
    // SAFETY: by contract.
    let context = unsafe { Context::of(context) };
    // SAFETY: by contract.
    let place = || unsafe { text(place, length) };
    guarded(context, 1, || i32::from(!context.enter(usize::try_from(need).unwrap_or(0), place)))
}

/// A function of the program returns to another.
///
/// # Safety
/// The context is that of the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_leave(context: *mut Handle) {
    // SAFETY: by contract.
    unsafe { Context::of(context) }.leave();
}

/// Notes that something happened which the semantics refuse; the first one is kept. `code` is a number of
/// [`Trap`](promote_abi::Trap). The call fails even if its entry returns 0. `place` describes the
/// op: its place in the source and its name, in `length` bytes; null if that is not known.
///
/// # Safety
/// The context is that of the call; `place` is null or points to `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_trap(context: *mut Handle, code: i32, place: *const u8, length: i64) {
    // SAFETY: by contract.
    let context = unsafe { Context::of(context) };
    // SAFETY: by contract.
    let place = unsafe { text(place, length) };
    guarded(context, (), || context.trap(code, place.as_deref()));
}

/// The first trap of the call, or 0.
///
/// # Safety
/// The context is that of the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_trapped(context: *mut Handle) -> i32 {
    // SAFETY: by contract.
    unsafe { Context::of(context) }.trapped()
}

/// Sorts a contiguous `[outer, extent, inner]` array in place along its middle axis, ascending and stable, as NumPy and
/// JAX do: NaNs last, complex numbers by real part, then imaginary. `kind` is a [`SortKind`].
///
/// # Safety
/// The context is that of the call; `data` points to that many elements of that kind, which nobody else uses meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_sort(
    context: *mut Handle,
    kind: i32,
    data: *mut u8,
    outer: i64,
    extent: i64,
    inner: i64,
) {
    // SAFETY: by contract.
    let context = unsafe { Context::of(context) };
    let extents = [outer, extent, inner].map(|extent| usize::try_from(extent).unwrap_or(0));
    guarded(context, (), || match SortKind::from_number(kind) {
        // SAFETY: by contract.
        Some(kind) => unsafe { sort::sort(kind, data, extents) },
        None => {
            context.fail(Status::Internal, &format!("compiled code sorts elements of unknown kind {kind}"))
        }
    });
}

/// Copies the elements of a tensor, of `element_size` bytes each. Strides are in elements.
///
/// # Safety
/// The context is that of the call. There are `rank` extents, strides of `to` and strides of `from`; all elements that they describe are
/// readable in `from` and writable in `to`; the two do not overlap, no two elements of `to` do, and nobody else uses them meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_copy(
    context: *mut Handle,
    rank: i64,
    dims: *const i64,
    element_size: i64,
    to: *mut u8,
    to_strides: *const i64,
    from: *const u8,
    from_strides: *const i64,
) {
    // SAFETY: by contract.
    let context = unsafe { Context::of(context) };
    guarded(context, (), || {
        let rank = usize::try_from(rank).unwrap_or(0);
        // SAFETY: by contract.
        let [dims, to_strides, from_strides] =
            [dims, to_strides, from_strides].map(|words| unsafe { std::slice::from_raw_parts(words, rank) });
        let dims: Vec<usize> = dims.iter().map(|extent| usize::try_from(*extent).unwrap_or(0)).collect();
        let [to_strides, from_strides] = [to_strides, from_strides].map(|strides| -> Vec<isize> {
            // Those of a dimension of one index may be any numbers.
            strides.iter().map(|stride| (*stride as isize).wrapping_mul(element_size as isize)).collect()
        });
        let to = Strided { data: to, strides: &to_strides };
        let from = Strided { data: from.cast_mut(), strides: &from_strides };
        // SAFETY: by contract.
        unsafe { copy::copy(&dims, usize::try_from(element_size).unwrap_or(0), to, from) };
    });
}

/// Runs a compiled function on DLPack tensors in CPU memory, and returns a [`Status`].
///
/// Inputs may be strided in any way. Outputs must have the dtype and shape of the results ([`promote_rt_shapes`] tells
/// them); they may be strided, and may overlap inputs, which are then read before they are written. What outputs hold
/// after an error is arbitrary.
///
/// # Safety
/// `function` is the metadata of a compiled function. Each pointer may be null (which is an error), else it points to what
/// its type says: as many tensors as the function takes and returns, with memory for the elements that they describe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_call(
    function: *const Function,
    inputs: *const *const DLTensor,
    outputs: *const *mut DLTensor,
) -> i32 {
    // SAFETY: by contract.
    kept(|| unsafe {
        let (callable, inputs, outputs) = dlpack::request(function, inputs, outputs)?;
        callable.call_on(inputs, outputs)
    })
}

/// Fills dtype, `ndim` and shape of each output that [`promote_rt_call`] would need for these inputs, and returns a [`Status`].
///
/// `ndim` says before how many extents `shape` has room for; other fields are neither read nor written. If they depend on values
///  a shape, the function is run.
///
/// # Safety
/// As [`promote_rt_call`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_shapes(
    function: *const Function,
    inputs: *const *const DLTensor,
    outputs: *const *mut DLTensor,
) -> i32 {
    // SAFETY: by contract.
    kept(|| unsafe {
        let (callable, inputs, outputs) = dlpack::request(function, inputs, outputs)?;
        callable.shapes_on(inputs, outputs)
    })
}

/// Runs a compiled function on arguments by TVM-FFI's convention: 0, or -1 and an error that TVM-FFI's library has been told.
///
/// # Safety
/// `function` is the metadata of a compiled function. There are as many arguments as `count` says, and they are what they say;
/// `result` may be written to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_rt_tvm(
    function: *const Function,
    arguments: *const TvmAny,
    count: i32,
    result: *mut TvmAny,
) -> i32 {
    let null = |what: &str| error::RunError::new(Status::Null, format!("{what} is null"));
    // SAFETY: by contract.
    let status = kept(|| unsafe {
        let function = function.as_ref().ok_or_else(|| null("the function"))?;
        let result = result.as_mut().ok_or_else(|| null("the result"))?;
        let arguments = match usize::try_from(count).unwrap_or(0) {
            0 => &[],
            _ if arguments.is_null() => return Err(null("the array of arguments")),
            count => std::slice::from_raw_parts(arguments, count),
        };
        tvm::call(function, arguments, result)
    });
    match Status::from_number(status) {
        Some(Status::Ok) => 0,
        failed => {
            // SAFETY: the message was just kept.
            tvm::raise(failed.unwrap_or(Status::Internal), unsafe { CStr::from_ptr(error::last()) });
            -1
        }
    }
}

/// Runs a C caller's request and keeps its message for the thread.
fn kept(request: impl FnOnce() -> Result<(), error::RunError>) -> i32 {
    let outcome = catch_unwind(AssertUnwindSafe(request))
        .unwrap_or_else(|_| Err(error::RunError::new(Status::Internal, "the run-time library failed")));
    error::keep(outcome)
}

/// The message of this thread's last call: empty if it succeeded, valid until the thread's next call.
#[unsafe(no_mangle)]
pub extern "C" fn promote_last_error() -> *const c_char {
    error::last()
}

/// Spreads loops over `number` threads from now on, the caller's included; 0 or less: over the default number.
#[unsafe(no_mangle)]
pub extern "C" fn promote_set_num_threads(number: i32) {
    pool::set_num_threads(usize::try_from(number).unwrap_or(0));
}

/// How many threads loops are spread over, the caller's included: `PROMOTE_NUM_THREADS` of the environment, else the number
/// of processors this process may use, unless [`promote_set_num_threads`] set another number.
#[unsafe(no_mangle)]
pub extern "C" fn promote_get_num_threads() -> i32 {
    pool::num_threads() as i32
}

/// From now on, calls flush denormal numbers to zero, or (the default) leave that as their caller has it.
#[unsafe(no_mangle)]
pub extern "C" fn promote_set_flush_denormals(flush: bool) {
    environment::set_flush_denormals(flush);
}

/// The functions of the table, as this crate has them: one that is missing or has another signature does not compile.
static EXPORTS: Exports = Exports {
    promote_rt_new,
    promote_rt_retain,
    promote_rt_release,
    promote_rt_output,
    promote_rt_shape,
    promote_rt_parallel,
    promote_rt_stage,
    promote_rt_threads,
    promote_rt_enter,
    promote_rt_leave,
    promote_rt_fail,
    promote_rt_trap,
    promote_rt_trapped,
    promote_rt_sort,
    promote_rt_copy,
    promote_rt_call,
    promote_rt_shapes,
    promote_rt_tvm,
    promote_last_error,
    promote_set_num_threads,
    promote_get_num_threads,
    promote_set_flush_denormals,
    __truncsfbf2,
    __truncdfbf2,
};

/// The functions of the table, with their names.
pub fn symbols() -> Vec<(&'static str, *const c_void)> {
    EXPORTS.addresses()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    /// The functions that a folder of source exports.
    fn exported(folder: &Path, names: &mut BTreeSet<String>) {
        for entry in std::fs::read_dir(folder).expect("the source is there") {
            let path = entry.expect("the source is there").path();
            if path.is_dir() {
                exported(&path, names);
                continue;
            }
            let text = std::fs::read_to_string(&path).expect("the source is text");
            let mut lines = text.lines().map(str::trim);
            while let Some(line) = lines.next() {
                if line.starts_with("#[unsafe(no_mangle)]") || line.starts_with("#[unsafe(export_name") {
                    let function = lines.next().and_then(|line| line.split("extern \"C\" fn ").nth(1));
                    let name = function.and_then(|rest| rest.split('(').next());
                    let name =
                        name.unwrap_or_else(|| panic!("{}: no function follows {line}", path.display()));
                    names.insert(name.to_owned());
                }
            }
        }
    }

    #[test]
    fn every_export_is_in_the_table() {
        let mut names = BTreeSet::new();
        exported(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut names);
        let table = promote_abi::prototypes().into_iter().map(|function| function.name.to_owned());
        assert_eq!(names, table.collect::<BTreeSet<String>>());
    }
}
