//! Strict carries: the types that JAX infers for loops and conditions, and which of them it refuses.
//!
//! JAX traces a body with the types of the initial values, and asks that each carry comes out with the type that it went
//! in with, but for weakness. A weak initial value whose dtype differs is made strong, in the dtype that both promote to,
//! once; then the body is traced a second time, and no third. What branches return must be alike in the same way.
//!
//! The results of a loop are as weak as what its last iteration returns, those of an `scf.if` as its else branch, those of a
//! switch as the first case. So a slot has two types here: the one that it is stored in, which all that flows there is
//! converted to, and the one that its target has in the program, which may be weak where that is not. The two are alike.
//!
//! [`trace`] does as JAX does, on a graph that inference has solved; the rules are those of JAX 0.10.2 (`lax.scan`,
//! `fori_loop`, `while_loop`, `cond` and `switch`), compared with recorded runs of it.

mod taken;
mod trace;

use std::collections::BTreeSet;

use super::graph::{BlockId, OpId, SlotId, Type};
use super::shape::Shape;
use super::solve::{CallId, Problem, ProblemKind};
use crate::graph::Known;

pub use trace::trace;

/// An op whose regions pass values on in a structured way.
#[derive(Clone, Debug)]
pub struct Structure {
    /// What sort of op it is.
    pub kind: Kind,
    /// The block it stands in.
    pub block: BlockId,
    /// How many ops, and how many blocks, stand before it.
    pub after: (u32, u32),
    /// The first blocks of its regions.
    pub bodies: Vec<BlockId>,
    /// For a loop, what it carries: the first that flows there is the initial value, the last what a body returns.
    pub carries: Vec<Option<SlotId>>,
    /// For a loop of two regions, what the first passes to the second.
    pub passed: Vec<Option<SlotId>>,
    /// Its results.
    pub results: Vec<Option<SlotId>>,
}

/// What sort of op a [`Structure`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A loop with one body.
    For,
    /// A loop with a condition and a body.
    While,
    /// A condition with a region for yes and one for no.
    If,
    /// A switch: a default, then cases.
    Switch,
    /// A region that is run once.
    Once,
    /// A choice between two values, without regions.
    Select,
}

/// What JAX would refuse.
#[derive(Clone, Debug, PartialEq)]
pub enum Refused {
    /// A carry, or what branches return.
    Mismatch(Mismatch),
    /// An op, with the types of an iteration that is not the last.
    Op {
        /// The op.
        op: OpId,
        /// What is wrong.
        kind: ProblemKind,
        /// The types of its operands in that iteration.
        operands: Vec<Type>,
    },
}

/// Types that should be equal but for weakness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mismatch {
    /// The slot: a carry, or a result of a condition.
    pub slot: SlotId,
    /// The type it has at first: of a carry that goes in, or of the branch that counts.
    pub first: Type,
    /// What `first` becomes before the last iteration, if it is weak and does not come out as it goes in.
    pub raised: Option<Type>,
    /// Which of the joined values differs.
    pub other: usize,
    /// And its type.
    pub found: Type,
}

/// The type of a value, without an id of a graph.
pub type Plain = (Known, Shape);

/// What is known of a call with operands of certain types.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Its results, and the instance that it calls.
    Results(Vec<Plain>, Option<usize>),
    /// Nothing before what it calls is solved.
    Pending,
}

/// What calls return, by the types of their operands.
pub type Answers<'a> = &'a dyn Fn(CallId, &[Plain]) -> Answer;

/// The types that JAX infers.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The type of each value.
    pub values: Vec<Type>,
    /// What each slot is stored in.
    pub slots: Vec<Type>,
    /// What JAX refuses of loops and conditions.
    pub refused: Vec<Refused>,
    /// What is wrong with ops and slots otherwise.
    pub problems: Vec<Problem>,
    /// The instance that each call calls in the last iteration.
    pub targets: Vec<Option<usize>>,
    /// The instances that calls call in any iteration.
    pub called: BTreeSet<usize>,
    /// The calls of which the results were [pending](Answer::Pending), with the types of their operands: if there are some,
    /// nothing else is to be read here.
    pub pending: Vec<(CallId, Vec<Plain>)>,
}
