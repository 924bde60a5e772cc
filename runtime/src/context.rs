//! One call in progress: its buffers, its outputs, and whether something went wrong.
//!
//! A [`Context`] lives as long as the call. Everything in it may be used from every thread that takes part. The first
//! error and the first trap win; the order of threads may decide which, never whether.

use std::borrow::Cow;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use std::ptr::NonNull;

use crate::buffer::{self, Header, Refusal};
use crate::error::RunError;
use crate::shape::Shape;
use crate::stack;
use crate::stage::Staged;
use promote_abi::{Status, TensorType, Trap, extents};

/// One call in progress; compiled code only passes a [handle](Context::handle) of it on.
pub struct Context {
    name: String,
    trap: AtomicI32,
    /// The lowest address of the calling thread's stack that may be used, if it is known.
    lowest: Option<usize>,
    /// How deep functions have called each other, if it is not.
    depth: AtomicI32,
    state: Mutex<State>,
    /// The inputs that are copied as they are read, by their numbers.
    staged: Vec<Option<Staged>>,
}

struct State {
    error: Option<RunError>,
    /// Where the first trap was raised, if that is known.
    place: Option<String>,
    live: Vec<NonNull<Header>>,
    outputs: Vec<Output>,
}

// SAFETY: the pointers are to buffers that the context owns and to outputs that the caller lends it for the call.
unsafe impl Send for State {}

/// One result of the call.
pub struct Output {
    /// What the function says of it.
    pub expected: TensorType,
    /// Where it is to be written.
    pub target: Target,
    /// Its extents, once the function has requested or written them.
    pub dims: Option<Vec<i64>>,
    /// Its own buffer, if the target has one.
    pub buffer: Option<NonNull<Header>>,
}

impl Output {
    /// The extents, which are known after a call that succeeded.
    pub fn take_dims(&mut self) -> Vec<i64> {
        self.dims.take().unwrap_or_default()
    }
}

/// Where a result is to be written.
#[derive(Clone, Debug)]
pub enum Target {
    /// Into memory of the caller, contiguous and aligned.
    Direct {
        /// Where it starts.
        data: *mut u8,
        /// The caller's extents.
        dims: Vec<i64>,
    },
    /// Into a buffer of ours, to be copied to the caller's memory after the call.
    Staged {
        /// The caller's extents.
        dims: Vec<i64>,
    },
    /// Into a buffer of ours, which the caller gets.
    Fresh,
}

/// How deep functions may call each other on a stack of which nothing is known: a frame takes some kilobytes.
const MAX_DEPTH: i32 = 1000;

/// What a trap means.
const fn trap(code: i32) -> (Status, &'static str) {
    match Trap::from_number(code) {
        Some(Trap::Division) => (Status::Division, "integer division by zero"),
        Some(Trap::NegativePower) => (Status::NegativePower, "an integer is raised to a negative power"),
        Some(Trap::Index) => (Status::Index, "an index is out of range"),
        None => (Status::Internal, "an unknown trap was raised"),
    }
}

impl Context {
    /// The call of which compiled code has the handle.
    ///
    /// # Safety
    /// The handle is of a call that goes on as long as it is used.
    pub unsafe fn of<'a>(handle: *mut promote_abi::Context) -> &'a Context {
        // SAFETY: by contract it came from `handle`.
        unsafe { &*handle.cast() }
    }

    /// What compiled code passes on.
    pub fn handle(&self) -> *mut promote_abi::Context {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// A call of the function that messages call `name`, on this thread.
    pub fn new(name: String, outputs: Vec<Output>) -> Context {
        let state = State { error: None, place: None, live: Vec::new(), outputs };
        let lowest = stack::lowest();
        Context {
            name,
            trap: AtomicI32::new(0),
            lowest,
            depth: AtomicI32::new(0),
            state: Mutex::new(state),
            staged: Vec::new(),
        }
    }

    /// The same with inputs that are copied as they are read.
    pub fn staging(mut self, staged: Vec<Option<Staged>>) -> Context {
        self.staged = staged;
        self
    }

    /// Whether some inputs are.
    pub fn stages(&self) -> bool {
        !self.staged.is_empty()
    }

    /// An input, given its number, if it is copied as it is read.
    pub fn staged(&self, input: usize) -> Option<&Staged> {
        self.staged.get(input)?.as_ref()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // The state is consistent wherever something under the lock can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an error, unless there is one; its message gets the function's name.
    pub fn fail(&self, status: Status, message: &str) {
        let error = self.error(status, message);
        self.state().error.get_or_insert(error);
    }

    /// An error of this function.
    pub fn error(&self, status: Status, message: &str) -> RunError {
        RunError::new(status, format!("{}: {message}", self.name))
    }

    /// Goes a call deeper, if the stack holds `need` bytes more; else keeps an error with `place`. Only the thread of the
    /// call calls functions.
    pub fn enter<'p>(&self, need: usize, place: impl FnOnce() -> Option<Cow<'p, str>>) -> bool {
        let refusal = match self.lowest {
            Some(lowest) => {
                let (need, left) = (need.saturating_add(stack::RESERVE), stack::left(lowest));
                (need > left)
                    .then(|| format!("the call needs {need} bytes of stack, but only {left} are left"))
            }
            None => (self.depth.fetch_add(1, Ordering::Relaxed) >= MAX_DEPTH)
                .then(|| format!("calls are nested more than {MAX_DEPTH} deep")),
        };
        let Some(refusal) = refusal else { return true };
        let place = place().map(|place| format!("{place}: ")).unwrap_or_default();
        self.fail(Status::Check, &format!("{place}{refusal}"));
        false
    }

    /// Comes back from a call.
    pub fn leave(&self) {
        if self.lowest.is_none() {
            self.depth.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Notes a trap, unless there is one, and the op that raised it, if that is known.
    pub fn trap(&self, code: i32, place: Option<&str>) {
        // Relaxed: what raised the trap is joined before anybody acts on it.
        let is_first = self.trap.compare_exchange(0, code, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if let (true, Some(place)) = (is_first, place) {
            self.state().place = Some(place.to_owned());
        }
    }

    /// The first trap, or 0.
    pub fn trapped(&self) -> i32 {
        self.trap.load(Ordering::Relaxed)
    }

    /// A buffer with one owner, freed with the context if not before.
    pub fn allocate(&self, dims: &[i64], element_size: i64) -> Option<*mut u8> {
        let block = self.block(dims, element_size)?;
        let mut state = self.state();
        // SAFETY: the block is alive, and only we know it.
        unsafe { (*block.as_ptr()).place = state.live.len() };
        state.live.push(block);
        Some(buffer::data(block))
    }

    fn block(&self, dims: &[i64], element_size: i64) -> Option<NonNull<Header>> {
        let shape = Shape::of(dims);
        let refuse = |status, why: &str| {
            self.fail(
                status,
                &format!("a tensor of shape {shape} with elements of {element_size} bytes {why}"),
            );
        };
        let bytes = match byte_count(dims, element_size) {
            Ok(bytes) => bytes,
            Err(Extents::Negative) => {
                refuse(Status::Shape, "has a negative extent");
                return None;
            }
            Err(Extents::Overflow) => {
                refuse(Status::Memory, "is larger than the memory of this machine");
                return None;
            }
        };
        match buffer::allocate(bytes) {
            Ok(block) => Some(block),
            Err(Refusal::TooLarge) => {
                refuse(Status::Memory, "is larger than the memory of this machine");
                None
            }
            Err(Refusal::Exhausted) => {
                refuse(Status::Memory, "does not fit in the available memory");
                None
            }
        }
    }

    /// Takes one owner from a buffer, and frees it after the last.
    ///
    /// # Safety
    /// `owner` is null, or came from [`Context::allocate`] of this context and has an owner left.
    pub unsafe fn release(&self, owner: *mut u8) {
        if owner.is_null() {
            return;
        }
        // SAFETY: by contract the buffer is alive.
        let block = unsafe { buffer::block_of(owner) };
        // SAFETY: as above. Release and acquire: every owner's writes happen before the buffer is used again.
        if unsafe { block.as_ref() }.references.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        self.state().unlist(block);
        // SAFETY: that was the last owner.
        unsafe { buffer::free(block) };
    }

    /// Where output `index` must be written, given its extents; null if that failed.
    ///
    /// # Safety
    /// `dims` points to as many extents as the output has dimensions.
    pub unsafe fn output(&self, index: i64, dims: *const i64) -> *mut u8 {
        // SAFETY: by contract.
        let Some((expected, target, actual)) = (unsafe { self.asked(index, dims) }) else {
            return std::ptr::null_mut();
        };
        let (wanted, direct) = match target {
            Target::Direct { data, dims } => (Some(dims), Some(data)),
            Target::Staged { dims } => (Some(dims), None),
            Target::Fresh => (None, None),
        };
        if let Some(given) = wanted
            && given != actual
        {
            let dtype = expected.dtype();
            let (must, is) = (Shape::of(&actual), Shape::of(&given));
            self.fail(
                Status::Shape,
                &format!("output {index} must be {dtype}{must} for these inputs, but is {dtype}{is}"),
            );
            return std::ptr::null_mut();
        }
        let data = match direct {
            Some(data) => data,
            None => match self.own_buffer(index, &actual, &expected) {
                Some(data) => data,
                None => return std::ptr::null_mut(),
            },
        };
        self.state().outputs[index as usize].dims = Some(actual);
        data
    }

    /// How many bytes an element of output `index` has.
    pub fn output_size(&self, index: usize) -> Option<usize> {
        self.state().outputs.get(index).map(|output| output.expected.dtype().size())
    }

    /// Notes the extents of output `index`.
    ///
    /// # Safety
    /// `dims` points to as many extents as the output has dimensions.
    pub unsafe fn shape(&self, index: i64, dims: *const i64) {
        // SAFETY: by contract.
        if let Some((_, _, actual)) = unsafe { self.asked(index, dims) } {
            self.state().outputs[index as usize].dims = Some(actual);
        }
    }

    /// What there is to know of output `index`, and the extents compiled code says it has.
    unsafe fn asked(&self, index: i64, dims: *const i64) -> Option<(TensorType, Target, Vec<i64>)> {
        let known = {
            let state = self.state();
            let output = usize::try_from(index).ok().and_then(|index| state.outputs.get(index));
            output.map(|output| (output.expected, output.target.clone()))
        };
        let Some((expected, target)) = known else {
            self.fail(
                Status::Internal,
                &format!("compiled code wrote an output {index} that it does not have"),
            );
            return None;
        };
        // SAFETY: by the caller's contract.
        let actual = unsafe { extents(dims, expected.rank) }.to_vec();
        if actual.iter().any(|&extent| extent < 0) {
            let shape = Shape::of(&actual);
            self.fail(Status::Shape, &format!("output {index} would have a negative extent: {shape}"));
            return None;
        }
        Some((expected, target, actual))
    }

    /// The buffer of an output that is not written directly; the same one if it is asked for again.
    fn own_buffer(&self, index: i64, dims: &[i64], expected: &TensorType) -> Option<*mut u8> {
        if let Some(block) = self.state().outputs[index as usize].buffer {
            return Some(buffer::data(block));
        }
        let block = self.block(dims, expected.dtype().size() as i64)?;
        self.state().outputs[index as usize].buffer = Some(block);
        Some(buffer::data(block))
    }

    /// What went wrong, if `returned` is what the entry returned: an error, a trap, or an output that was not written.
    pub fn outcome(&self, returned: i32) -> Result<(), RunError> {
        let state = self.state();
        if let Some(error) = &state.error {
            return Err(error.clone());
        }
        if self.trapped() != 0 {
            let (status, message) = trap(self.trapped());
            let place = state.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
            return Err(self.error(status, &format!("{place}{message}")));
        }
        if returned != 0 {
            return Err(self.error(Status::Internal, "compiled code failed without a message"));
        }
        match state.outputs.iter().position(|output| output.dims.is_none()) {
            Some(index) => {
                Err(self.error(Status::Internal, &format!("compiled code did not write output {index}")))
            }
            None => Ok(()),
        }
    }

    /// The outputs, for the caller to take; what buffers they have are now the caller's.
    pub fn take_outputs(&self) -> Vec<Output> {
        std::mem::take(&mut self.state().outputs)
    }
}

impl State {
    /// Removes a buffer from the list.
    fn unlist(&mut self, block: NonNull<Header>) {
        // SAFETY: listed buffers are alive.
        let place = unsafe { block.as_ref() }.place;
        self.live.swap_remove(place);
        if let Some(moved) = self.live.get(place) {
            // SAFETY: as above; the lock is ours.
            unsafe { (*moved.as_ptr()).place = place };
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let mut state = self.state();
        let outputs =
            state.outputs.drain(..).filter_map(|mut output| output.buffer.take()).collect::<Vec<_>>();
        for block in state.live.drain(..).chain(outputs) {
            // SAFETY: the call is over: nobody uses its buffers.
            unsafe { buffer::free(block) };
        }
    }
}

/// What can be wrong with extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extents {
    /// One is negative.
    Negative,
    /// Their product cannot be addressed.
    Overflow,
}

/// The bytes of a contiguous tensor. Without elements there are none, however large the other extents are.
pub fn byte_count(dims: &[i64], element_size: i64) -> Result<usize, Extents> {
    if element_size < 0 || dims.iter().any(|&extent| extent < 0) {
        return Err(Extents::Negative);
    }
    if dims.contains(&0) {
        return Ok(0);
    }
    let product = dims.iter().try_fold(element_size, |product, &extent| product.checked_mul(extent));
    product.and_then(|bytes| usize::try_from(bytes).ok()).ok_or(Extents::Overflow)
}
