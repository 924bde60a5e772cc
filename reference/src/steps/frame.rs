//! A call of a function: its values, and the references that it has.

use std::collections::HashMap;

use promote_lower::program::{Arg, Block, BlockId, Function, PlaceId, Program, Step, ValueId, ValueKind};
use promote_lower::types::Number as Scalar;

use super::memory::{BufferId, Heap, References};
use super::{Stop, fault};
use crate::eval::scalar::wrap;
use crate::number::Number;

/// A value at run time.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    /// Memory.
    Buffer(BufferId),
    /// A number: an integer sign-extended, of one bit 0 or 1.
    Number(Number),
}

impl Slot {
    /// An integer.
    pub(super) fn integer(value: i64) -> Self {
        Self::Number(Number::Int(value.into()))
    }

    /// The buffer that it is, if it is one.
    pub(super) fn buffer(&self) -> Option<BufferId> {
        match self {
            Self::Buffer(id) => Some(*id),
            Self::Number(_) => None,
        }
    }
}

/// How far a call is in its block.
#[derive(Clone, Copy, Debug)]
pub(super) enum At {
    /// Its parameters are set.
    Start,
    /// A step.
    Step(usize),
    /// Its end.
    End,
}

/// A call.
pub(super) struct Frame<'r> {
    pub(super) function: &'r Function,
    pub(super) at: At,
    block: u32,
    values: Vec<Option<Slot>>,
    /// The references that it has.
    pub(super) references: References,
    /// The numbers that it has in memory.
    pub(super) spills: HashMap<ValueId, BufferId>,
    has_started: bool,
}

impl<'r> Frame<'r> {
    /// Of a function.
    pub(super) fn new(function: &'r Function) -> Self {
        Self {
            function,
            at: At::Start,
            block: 0,
            values: vec![None; function.values.len()],
            references: References::default(),
            spills: HashMap::default(),
            has_started: false,
        }
    }

    /// Goes to a block.
    pub(super) fn go_to(&mut self, block: u32) {
        self.block = block;
        self.at = At::Start;
    }

    /// The block at hand.
    pub(super) fn block(&self) -> &'r Block {
        self.function.block(BlockId(self.block))
    }

    /// Whether the function is entered now.
    pub(super) fn is_entry(&mut self) -> bool {
        !std::mem::replace(&mut self.has_started, true)
    }

    /// Where it is, for messages.
    pub(super) fn place(&self, program: &Program) -> String {
        let start = format!("@{} ({:?}), block {}", self.function.name, self.function.entry, self.block);
        match self.at {
            At::Start => format!("{start}, its parameters"),
            At::End => format!("{start}, its end"),
            At::Step(index) => {
                let (step, place) = &self.block().steps[index];
                format!("{start}, step {index} ({}; {})", of_place(program, *place), summary(step))
            }
        }
    }

    /// Where a buffer is made that is made now.
    pub(super) fn origin(&self) -> String {
        match self.at {
            At::Start | At::End => format!("@{}, block {}", self.function.name, self.block),
            At::Step(index) => format!("@{}, block {}, step {index}", self.function.name, self.block),
        }
    }

    /// What an argument is.
    pub(super) fn get(&self, arg: Arg) -> Result<Slot, Stop> {
        match arg {
            Arg::Known(number) => Ok(Slot::integer(number)),
            Arg::Value(value) => self.value(value),
        }
    }

    /// What a value is.
    pub(super) fn value(&self, value: ValueId) -> Result<Slot, Stop> {
        match self.values.get(value.0 as usize) {
            Some(Some(slot)) => Ok(*slot),
            Some(None) => fault(format!("%{} is used, and was not defined", value.0)),
            None => fault(format!("there is no value %{}", value.0)),
        }
    }

    /// The buffer that a value is.
    pub(super) fn buffer(&self, value: ValueId) -> Result<BufferId, Stop> {
        match self.value(value)? {
            Slot::Buffer(id) => Ok(id),
            Slot::Number(_) => fault(format!("%{} is a number where a buffer is meant", value.0)),
        }
    }

    /// The number that a value is.
    pub(super) fn number(&self, value: ValueId) -> Result<Number, Stop> {
        match self.value(value)? {
            Slot::Number(number) => Ok(number),
            Slot::Buffer(_) => fault(format!("%{} is a buffer where a number is meant", value.0)),
        }
    }

    /// The kind of number that a value is.
    pub(super) fn scalar(&self, value: ValueId) -> Result<Scalar, Stop> {
        match self.function.values.get(value.0 as usize) {
            Some(ValueKind::Number(number)) => Ok(*number),
            Some(ValueKind::Buffer(_)) | None => fault(format!("%{} is no number", value.0)),
        }
    }

    /// An index, or another integer.
    pub(super) fn index(&self, arg: Arg) -> Result<i64, Stop> {
        match self.get(arg)? {
            Slot::Number(Number::Int(value)) => Ok(value as i64),
            slot @ (Slot::Number(Number::Real(_) | Number::Complex(..)) | Slot::Buffer(_)) => {
                fault(format!("{arg:?} is {slot:?}, not an integer"))
            }
        }
    }

    /// An extent.
    pub(super) fn extent(&self, arg: Arg) -> Result<usize, Stop> {
        let extent = self.index(arg)?;
        let negative = |_| Stop::Fault(format!("{arg:?} is an extent of {extent}"));
        usize::try_from(extent).map_err(negative)
    }

    /// Extents.
    pub(super) fn shape(&self, dims: &[Arg]) -> Result<Vec<usize>, Stop> {
        dims.iter().map(|extent| self.extent(*extent)).collect()
    }

    /// A truth value.
    pub(super) fn truth(&self, arg: Arg) -> Result<bool, Stop> {
        match self.index(arg)? {
            0 => Ok(false),
            1 => Ok(true),
            other => fault(format!("{arg:?} is {other}, not a truth value")),
        }
    }

    /// Defines a value.
    pub(super) fn set(&mut self, value: ValueId, slot: Slot, heap: &Heap) -> Result<(), Stop> {
        let Some(kind) = self.function.values.get(value.0 as usize) else {
            return fault(format!("there is no value %{}", value.0));
        };
        check_kind(slot, *kind, heap)?;
        self.values[value.0 as usize] = Some(slot);
        Ok(())
    }
}

/// Fails unless something is of a kind.
pub(super) fn check_kind(slot: Slot, kind: ValueKind, heap: &Heap) -> Result<(), Stop> {
    let is_kind = match (slot, kind) {
        (Slot::Buffer(id), ValueKind::Buffer(dtype)) => heap.dtype(id)? == dtype.storage(),
        (Slot::Number(Number::Int(value)), ValueKind::Number(Scalar::Index)) => i64::try_from(value).is_ok(),
        (Slot::Number(Number::Int(value)), ValueKind::Number(Scalar::Int(width))) => {
            i64::try_from(value).is_ok_and(|value| wrap(value, width) == value)
        }
        (Slot::Number(Number::Real(_)), ValueKind::Number(Scalar::Float(_))) => true,
        (Slot::Buffer(_) | Slot::Number(_), ValueKind::Buffer(_) | ValueKind::Number(_)) => false,
    };
    if is_kind { Ok(()) } else { fault(format!("{slot:?} is no {kind:?}")) }
}

fn of_place(program: &Program, place: PlaceId) -> String {
    match program.places.get(place.0 as usize) {
        None => "nowhere".to_owned(),
        Some(place) => match &place.location {
            Some(location) => format!("{} at {location}", place.op),
            None => place.op.clone(),
        },
    }
}

/// A step in a few words: a kernel has no end of places.
fn summary(step: &Step) -> String {
    match step {
        Step::Launch(launch) => format!("Launch of kernel {}", launch.kernel.0),
        Step::Allocate { .. }
        | Step::Output { .. }
        | Step::Shape { .. }
        | Step::Constant { .. }
        | Step::Spill { .. }
        | Step::Cell { .. }
        | Step::Copy { .. }
        | Step::Choose { .. }
        | Step::Retain(_)
        | Step::Release(_)
        | Step::Matmul(_)
        | Step::Sort { .. }
        | Step::CheckExceptions
        | Step::Read { .. }
        | Step::Write { .. }
        | Step::Arith { .. }
        | Step::Number { .. }
        | Step::FailIf { .. }
        | Step::Call { .. } => format!("{step:?}"),
    }
}
