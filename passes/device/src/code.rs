//! The machine that kernels of devices are written for: that of [elements](Emit), and memory, threads and control flow.

use promote_scalar::{Emit, Trap, Ty};

use crate::matmul::Factors;

/// What a kernel takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parameter {
    /// Memory of the device.
    Memory,
    /// 64 bits.
    Word,
}

/// A loop whose body is being emitted.
#[derive(Clone, Debug)]
pub struct Loop<V, L> {
    /// The number of the iteration: the first one, and each one by the step, below the last.
    pub index: V,
    /// What the iteration before left, or what was there before the first.
    pub carried: Vec<V>,
    /// What the emitter needs to know of it.
    pub inner: L,
}

/// Emits the code of kernels: [instructions](Emit) of one lane, in the order in which they are asked for.
///
/// # Laws
/// - Control flow is structured: what is opened last is closed first.
/// - A value is used where it is defined, or in what is nested there.
/// - All threads of a group meet at the same [barriers](Code::barrier).
/// - Indices and extents are [`Ty::I64`].
pub trait Code: Emit {
    /// A buffer in the memory of the device.
    type Memory: Copy;
    /// Memory that the threads of a group share.
    type Shared: Copy;
    /// An open loop.
    type Loop;
    /// An open branch.
    type Branch;

    /// Begins a kernel that so many threads a group run, and that takes these parameters. Its name is a C identifier.
    fn begin(&mut self, name: &str, parameters: &[Parameter], threads: u32);

    /// Ends it.
    fn end(&mut self);

    /// The memory that a parameter is.
    fn memory(&mut self, parameter: usize) -> Self::Memory;

    /// The word that a parameter is.
    fn word(&mut self, parameter: usize) -> Self::Value;

    /// The number of the thread in its group.
    fn thread(&mut self) -> Self::Value;

    /// The number of the group.
    fn group(&mut self) -> Self::Value;

    /// How many groups there are.
    fn groups(&mut self) -> Self::Value;

    /// Loads `count` elements that lie beside each other, from the element `index` on. More than one are aligned to their size
    /// together, a power of two of 16 bytes at most.
    fn load(&mut self, from: Self::Memory, index: Self::Value, ty: Ty, count: usize) -> Vec<Self::Value>;

    /// Stores elements beside each other, aligned as in [`load`](Code::load).
    fn store(&mut self, to: Self::Memory, index: Self::Value, values: &[Self::Value]);

    /// New shared memory of so many elements, for the whole kernel. It is aligned for every access.
    fn shared(&mut self, ty: Ty, count: u32) -> Self::Shared;

    /// Reads `count` elements of shared memory that lie beside each other, aligned as in [`load`](Code::load).
    fn get(&mut self, from: Self::Shared, index: Self::Value, count: usize) -> Vec<Self::Value>;

    /// Writes elements beside each other, aligned as in [`load`](Code::load).
    fn put(&mut self, to: Self::Shared, index: Self::Value, values: &[Self::Value]);

    /// Waits until all threads of the group are here, and sees what they have written to shared memory.
    fn barrier(&mut self);

    /// How many threads that follow each other, from a multiple of that on, can [exchange](Code::exchange) values; 1 if none can.
    fn subgroup(&self) -> u32 {
        1
    }

    /// What the thread of a number in the group, which is of the same [subgroup](Code::subgroup), has as this value. All threads of
    /// the subgroup are here.
    fn exchange(&mut self, _value: Self::Value, _thread: Self::Value) -> Self::Value {
        unreachable!("there are no subgroups")
    }

    /// Narrow integers as one, the first in the low bits. Only asked for with [tensor cores](crate::TensorCores), as what follows is.
    fn join(&mut self, _parts: &[Self::Value]) -> Self::Value {
        unreachable!("there are no tensor cores")
    }

    /// The integers that [`join`](Code::join) makes one of.
    fn parts(&mut self, _joined: Self::Value, _ty: Ty, _count: usize) -> Vec<Self::Value> {
        unreachable!("there are no tensor cores")
    }

    /// Begins to copy 16 bytes from memory to shared memory, from a word of 32 bits on, aligned in both. The thread sees them once
    /// it has [waited](Code::finish_copies), and others after a barrier.
    fn copy(&mut self, _from: (Self::Memory, Self::Value), _to: (Self::Shared, Self::Value)) {
        unreachable!("there are no tensor cores")
    }

    /// Waits for the copies that the thread has begun.
    fn finish_copies(&mut self) {
        unreachable!("there are no tensor cores")
    }

    /// Adds the product of a matrix of 16 rows and one of 8 columns to sums. All 32 threads of the subgroup are here, and hold the
    /// matrices between them: the first four the first row, or column, and so on. Of its row of the left matrix, and of the one
    /// eight below, a thread has the words of its place among the four, and then those four further on; of its column of the right
    /// one it has the same two words; of the sums of its two rows, two beside each other.
    fn multiply_matrices(
        &mut self,
        _factors: Factors,
        _left: [Self::Value; 4],
        _right: [Self::Value; 2],
        _sums: [Self::Value; 4],
    ) -> [Self::Value; 4] {
        unreachable!("there are no tensor cores")
    }

    /// Opens a loop from a number to below another by a step, which is positive.
    fn open(
        &mut self,
        bounds: (Self::Value, Self::Value, Self::Value),
        carried: &[Self::Value],
    ) -> Loop<Self::Value, Self::Loop>;

    /// Closes a loop; what its last iteration left.
    fn close(&mut self, open: Loop<Self::Value, Self::Loop>, next: &[Self::Value]) -> Vec<Self::Value>;

    /// The same of a loop that is best unrolled `at_once` times, where the compiler of the code can be told.
    fn close_unrolled(
        &mut self,
        open: Loop<Self::Value, Self::Loop>,
        next: &[Self::Value],
        _at_once: u32,
    ) -> Vec<Self::Value> {
        self.close(open, next)
    }

    /// Goes on only where a truth value holds.
    fn open_if(&mut self, condition: Self::Value) -> Self::Branch;

    /// Ends that with values, and goes on where it does not hold.
    fn otherwise(&mut self, branch: &mut Self::Branch, values: &[Self::Value]);

    /// Ends the branch: the values of one side or the other.
    fn close_if(&mut self, branch: Self::Branch, values: &[Self::Value]) -> Vec<Self::Value>;

    /// Which number [`trap`](Emit::trap) notes from here on: the word that the second parameter is, and `number`, and that of
    /// the [trap](trap_number). The least number that any thread notes is left in the first 32 bits of the first parameter.
    fn note_at(&mut self, parameters: (usize, usize), number: u32);
}

/// How many numbers a node has for its traps.
pub const TRAPS: u32 = 4;

/// The number of a trap, below [`TRAPS`].
pub const fn trap_number(trap: Trap) -> u32 {
    match trap {
        Trap::DivisionByZero => 0,
        Trap::NegativePower => 1,
        Trap::IndexOutOfRange => 2,
    }
}

/// The trap of such a number, if there is one.
pub const fn trap_of(number: u32) -> Option<Trap> {
    match number {
        0 => Some(Trap::DivisionByZero),
        1 => Some(Trap::NegativePower),
        2 => Some(Trap::IndexOutOfRange),
        _ => None,
    }
}
