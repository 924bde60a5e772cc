//! A kernel as it is executed: instructions whose registers are numbers, and whose branches say which instruction is next.

use crate::lanes::{Counts, Places};
use crate::matrix::Matrices;
use crate::memory::{Place, Space};
use crate::parse::Kind;
use crate::table::Run;

/// A kernel.
pub(crate) struct Code {
    pub(crate) name: String,
    /// How many bytes each parameter has.
    pub(crate) parameters: Vec<u32>,
    /// The threads of a block that it must be launched with.
    pub(crate) required: Option<[u32; 3]>,
    /// The most threads of a block.
    pub(crate) most: u32,
    pub(crate) counts: Counts,
    /// Registers that have the same number in all threads from the start.
    pub(crate) constants: Vec<(Slot, u64)>,
    /// Registers that say which thread it is.
    pub(crate) specials: Vec<(Slot, Special)>,
    /// The arrays in shared memory.
    pub(crate) shared: Vec<Place>,
    pub(crate) instructions: Vec<Instruction>,
}

/// A register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Slot {
    pub(crate) kind: Kind,
    pub(crate) index: u32,
}

/// A special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
    /// The place of the thread in the block along an axis.
    Thread(usize),
    /// The threads of a block along an axis.
    Threads(usize),
    /// The place of the block in the grid along an axis.
    Block(usize),
    /// The blocks of the grid along an axis.
    Blocks(usize),
    /// The place of the thread in the warp.
    Lane,
    /// The place of the warp in the block.
    Warp,
}

/// An instruction.
pub(crate) struct Instruction {
    pub(crate) action: Action,
    /// The predicate that it depends on, and whether that has to be false.
    pub(crate) guard: Option<(u32, bool)>,
    pub(crate) line: u32,
}

/// What an instruction does.
pub(crate) enum Action {
    /// Computes a number of each thread from others of the thread.
    Compute(Run, Places),
    /// Goes on at another instruction.
    Branch(u32),
    /// Ends the thread.
    Exit,
    /// Waits for the block at one of its barriers.
    Barrier,
    /// Reads or writes memory.
    Access(Box<Access>),
    /// Reads a parameter.
    Parameter(Box<Parameter>),
    /// Takes the parts of a register, from the lowest on; `None` where a part is not wanted.
    Unpack(Slot, Box<[Option<Slot>]>),
    /// Makes a register of parts, from the lowest on.
    Pack(Slot, Box<[Slot]>),
    /// Does something with other threads of the warp.
    Meet(Box<Meeting>),
    /// `cp.async`
    Copy(Box<Copy>),
    /// `cp.async.commit_group`
    Commit,
    /// `cp.async.wait_group`: waits for all but the last groups.
    Wait(u32),
    /// `cp.async.wait_all`: commits, and waits for all groups.
    WaitAll,
}

/// An address: a register, and a number that is added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Address {
    pub(crate) base: Slot,
    pub(crate) offset: i64,
}

/// A type in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) bytes: u32,
    /// Whether it is extended by its sign.
    pub(crate) is_signed: bool,
}

/// An access of memory.
pub(crate) struct Access {
    pub(crate) space: Space,
    pub(crate) address: Address,
    pub(crate) element: Element,
    pub(crate) what: What,
}

/// What an access does.
pub(crate) enum What {
    /// Loads one number after the other; `None` where it is not wanted.
    Load(Box<[Option<Slot>]>),
    /// Stores one number after the other.
    Store(Box<[Slot]>),
    /// Changes a number, and perhaps says what it was.
    Update(Update, Option<Slot>, [Slot; 2]),
}

/// An atomic operation: the old number, and two operands, of which the second one is that of `cas`.
pub(crate) type Update = fn(u64, u64, u64) -> u64;

/// A read of a parameter.
pub(crate) struct Parameter {
    pub(crate) to: Box<[Option<Slot>]>,
    /// Where it is among the bytes of all parameters.
    pub(crate) place: u32,
    pub(crate) element: Element,
}

/// Something that threads of a warp do together.
pub(crate) struct Meeting {
    /// Which threads do.
    pub(crate) members: Slot,
    pub(crate) what: Together,
}

/// What threads do together.
pub(crate) enum Together {
    /// Takes another thread's number.
    Shuffle {
        direction: Direction,
        to: Slot,
        /// Whether there is such a thread.
        is_there: Option<Slot>,
        from: Slot,
        by: Slot,
        limits: Slot,
    },
    /// Whether a predicate is set in all threads, in any, or in all or none; or in which.
    Vote(Vote, Slot, Slot, bool),
    /// Multiplies matrices.
    Multiply(Matrices, Box<[Slot]>),
    /// Loads matrices of 8×8 numbers of 16 bits from shared memory.
    LoadMatrices(Box<[Slot]>, Address, bool),
}

/// Which thread's number a shuffle takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    Up,
    Down,
    Butterfly,
    Index,
}

/// How votes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    All,
    Any,
    Uniform,
    Ballot,
}

/// A copy from global to shared memory, done when it is waited for.
#[derive(Clone, Copy)]
pub(crate) struct Copy {
    pub(crate) to: Address,
    pub(crate) from: Address,
    pub(crate) bytes: u32,
    /// How many bytes are read; the others become 0.
    pub(crate) read: Option<Slot>,
}
