//! The values of a call of a function.

use promote_lattice::DType;
use promote_lower::program::{Arg, BlockId, Function, ValueId, ValueKind};
use promote_lower::types::Number;
use promote_scalar::eval::Value;
use promote_scalar::{Ty, register};

use crate::heap::BufferId;

/// A value.
#[derive(Clone, Copy, Debug)]
pub enum Slot {
    /// Memory.
    Buffer(BufferId),
    /// A number, as its register holds it.
    Number(Value),
}

/// A call of a function.
pub struct Frame<'p> {
    /// The function.
    pub function: &'p Function,
    /// The block at hand.
    pub block: BlockId,
    /// The next step.
    pub step: usize,
    values: Vec<Option<Slot>>,
    /// The buffers that go with it.
    pub own: Vec<(ValueId, BufferId)>,
    /// What the caller calls its results.
    pub results: &'p [ValueId],
}

/// The dtype of a number in memory.
pub fn dtype(number: Number) -> DType {
    number.dtype().unwrap_or_else(|| unreachable!("values are numbers that code is made for"))
}

/// The type of a number in a register.
pub fn register_type(number: Number) -> Ty {
    register(dtype(number))
}

impl<'p> Frame<'p> {
    pub fn new(function: &'p Function, results: &'p [ValueId]) -> Self {
        let values = vec![None; function.values.len()];
        Self { function, block: BlockId(0), step: 0, values, own: Vec::new(), results }
    }

    pub fn set(&mut self, value: ValueId, slot: Slot) {
        self.values[value.0 as usize] = Some(slot);
    }

    pub fn get(&self, value: ValueId) -> Slot {
        // The verifier has seen that values are defined before they are used.
        self.values[value.0 as usize].unwrap_or_else(|| unreachable!("%{} is defined", value.0))
    }

    pub fn buffer(&self, value: ValueId) -> BufferId {
        match self.get(value) {
            Slot::Buffer(buffer) => buffer,
            Slot::Number(_) => unreachable!("%{} is a buffer", value.0),
        }
    }

    pub fn number(&self, value: ValueId) -> Value {
        match self.get(value) {
            Slot::Number(number) => number,
            Slot::Buffer(_) => unreachable!("%{} is a number", value.0),
        }
    }

    /// The type of a number.
    pub fn number_type(&self, value: ValueId) -> Number {
        match self.function.kind(value) {
            ValueKind::Number(number) => number,
            ValueKind::Buffer(_) => unreachable!("%{} is a number", value.0),
        }
    }

    /// An index.
    pub fn index(&self, arg: Arg) -> i64 {
        match arg {
            Arg::Known(number) => number,
            Arg::Value(value) => self.number(value).to_signed(),
        }
    }

    pub fn truth(&self, arg: Arg) -> bool {
        match arg {
            Arg::Known(number) => number != 0,
            Arg::Value(value) => self.number(value).to_bool(),
        }
    }

    pub fn dims(&self, dims: &[Arg]) -> Vec<i64> {
        dims.iter().map(|extent| self.index(*extent)).collect()
    }

    /// What is passed as a value of that kind.
    pub fn passed(&self, arg: Arg, kind: ValueKind) -> Slot {
        match (arg, kind) {
            (Arg::Value(value), _) => self.get(value),
            (Arg::Known(known), ValueKind::Number(number)) => {
                Slot::Number(Value::new(register_type(number), known.cast_unsigned()))
            }
            (Arg::Known(_), ValueKind::Buffer(_)) => unreachable!("a buffer is no number"),
        }
    }
}
