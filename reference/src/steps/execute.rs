//! What each step does.

use promote_lattice::{DType, Kind};
use promote_lower::program::{Arg, Arith, EntryKind, Literal, Step, ValueId, ValueKind, operands};
use promote_lower::types::Number as Scalar;

use super::frame::{Frame, Slot};
use super::memory::{BufferId, Lifetime};
use super::{Machine, Made, Stop, arith, fault, has_shape, matrix};
use crate::Error;
use crate::eval::scalar::wrap;
use crate::number::Number;

impl<'r> Machine<'r> {
    pub(super) fn step(&mut self, frame: &mut Frame<'r>, step: &'r Step) -> Result<(), Stop> {
        match step {
            Step::Allocate { buffer, dims } => {
                let shape = frame.shape(dims)?;
                let id = self.allocate(frame, *buffer, &shape, Lifetime::Counted)?;
                frame.references.add(id);
                self.set_buffer(frame, *buffer, id)
            }
            Step::Output { buffer, index, dims } => {
                let shape = self.result_shape(frame, (*index, EntryKind::Public), dims)?;
                let (stated, own) = (frame.function.outputs[*index].dtype(), dtype(frame, *buffer)?);
                if stated.storage() != own {
                    return fault(format!("result {index} is of {stated}, not {own}"));
                }
                let id = self.allocate(frame, *buffer, &shape, Lifetime::Output)?;
                self.results[*index] = Some(Made::Buffer(id, shape));
                self.set_buffer(frame, *buffer, id)
            }
            Step::Shape { index, dims } => {
                let shape = self.result_shape(frame, (*index, EntryKind::Shapes), dims)?;
                self.results[*index] = Some(Made::Shape(shape));
                Ok(())
            }
            Step::Constant { buffer, constant } => {
                let id = self.constant(constant.0)?;
                self.set_buffer(frame, *buffer, id)
            }
            Step::Spill { buffer, value } => {
                let dtype = dtype(frame, *buffer)?;
                let number = self.element(frame, *value, dtype)?;
                let id =
                    self.heap.filled(dtype, [Some(number)].into_iter(), Lifetime::Spilled, frame.origin())?;
                self.set_in_frame(frame, *buffer, id)
            }
            Step::Cell { buffer, count } => {
                let shape = frame.shape(&[Arg::Known(*count)])?;
                let id = self.allocate(frame, *buffer, &shape, Lifetime::Cell)?;
                self.set_in_frame(frame, *buffer, id)
            }
            Step::Copy { from, to, count } => {
                self.copy(frame, frame.buffer(*from)?, frame.buffer(*to)?, *count)
            }
            Step::Choose { buffer, condition, then, otherwise } => {
                let both = [frame.buffer(*then)?, frame.buffer(*otherwise)?];
                both.iter().try_for_each(|id| self.heap.len(*id).map(|_| ()))?;
                let id = if frame.truth(*condition)? { both[0] } else { both[1] };
                self.retain(frame, id)?;
                self.set_buffer(frame, *buffer, id)
            }
            Step::Retain(buffer) => self.retain(frame, frame.buffer(*buffer)?),
            Step::Release(buffer) => self.release(frame, frame.buffer(*buffer)?),
            Step::Launch(launch) => self.launch(frame, launch),
            Step::Matmul(matmul) => matrix::matmul(self, frame, matmul),
            Step::Sort { buffer, outer, extent, inner } => {
                let extents = [frame.extent(*outer)?, frame.extent(*extent)?, frame.extent(*inner)?];
                matrix::sort(self, frame, frame.buffer(*buffer)?, extents)
            }
            Step::CheckExceptions => match self.exception.take() {
                Some(exception) => Err(Error::Trap(exception).into()),
                None => Ok(()),
            },
            Step::Read { value, buffer, index } => {
                let id = frame.buffer(*buffer)?;
                let slot = self.read(frame, (*value, id), *index)?;
                frame.set(*value, slot, &self.heap)
            }
            Step::Write { buffer, index, value } => {
                let id = frame.buffer(*buffer)?;
                let number = self.element(frame, *value, self.heap.dtype(id)?)?;
                self.heap.check_writable(id, &frame.references)?;
                let write = self.heap.new_write();
                self.heap.store(id, frame.index(*index)?, number, write)
            }
            Step::Arith { value, op, args } => {
                let number = self.arith(frame, *value, *op, args)?;
                frame.set(*value, Slot::Number(number), &self.heap)
            }
            Step::Number { value, number } => {
                let slot = match (number, frame.scalar(*value)?) {
                    (Literal::Int(number), _) => Slot::integer(*number),
                    (Literal::Float(bits), Scalar::Float(dtype)) => {
                        Slot::Number(Number::from_bits(*bits, dtype))
                    }
                    (number, kind) => return fault(format!("{number:?} is no {kind:?}")),
                };
                frame.set(*value, slot, &self.heap)
            }
            Step::FailIf { condition, message } => match frame.truth(*condition)? {
                true => Err(Error::Trap(message.clone()).into()),
                false => Ok(()),
            },
            Step::Call { callee, args, results } => self.call_step(frame, callee, args, results),
        }
    }

    // Buffers.

    /// Copies all elements of a buffer, which are so many.
    fn copy(&mut self, frame: &Frame<'r>, from: BufferId, to: BufferId, count: i64) -> Result<(), Stop> {
        self.heap.read(from)?;
        let elements = self.heap.all(from)?;
        let has_count = |length: usize| i64::try_from(length) == Ok(count);
        if !has_count(elements.len()) || !has_count(self.heap.len(to)?) {
            return fault(format!("{count} elements are copied between buffers of others"));
        }
        self.heap.renew(to)?;
        self.heap.check_writable(to, &frame.references)?;
        let write = self.heap.new_write();
        (0..count).zip(elements).try_for_each(|(index, number)| self.heap.store(to, index, number, write))
    }

    /// Sets a buffer of the frame; what it was before nothing can name any more.
    fn set_in_frame(&mut self, frame: &mut Frame<'r>, value: ValueId, id: BufferId) -> Result<(), Stop> {
        if let Some(before) = frame.spills.insert(value, id) {
            self.heap.end_spill(before)?;
        }
        self.set_buffer(frame, value, id)
    }

    fn set_buffer(&self, frame: &mut Frame<'r>, value: ValueId, id: BufferId) -> Result<(), Stop> {
        frame.set(value, Slot::Buffer(id), &self.heap)
    }

    fn allocate(
        &mut self,
        frame: &Frame<'r>,
        buffer: ValueId,
        shape: &[usize],
        lifetime: Lifetime,
    ) -> Result<BufferId, Stop> {
        let count = shape.iter().try_fold(1usize, |all, extent| all.checked_mul(*extent));
        let count = count.ok_or(Error::Limit)?;
        self.heap.allocate((dtype(frame, buffer)?, count), lifetime, frame.origin())
    }

    /// The extents of a result, which the function may be asked for, and was not returned yet.
    fn result_shape(
        &self,
        frame: &Frame<'r>,
        (index, entry): (usize, EntryKind),
        dims: &[Arg],
    ) -> Result<Vec<usize>, Stop> {
        let shape = frame.shape(dims)?;
        if frame.function.entry.row_major() != entry {
            return fault(format!("the step is of a {entry:?} function"));
        }
        match (frame.function.outputs.get(index), self.results.get(index)) {
            (Some(r#type), Some(None)) if has_shape(r#type, &shape) => Ok(shape),
            (Some(r#type), Some(None)) => {
                fault(format!("result {index} is of shape {shape:?}, not {:?}", r#type.dims()))
            }
            (Some(_), Some(Some(_))) => fault(format!("result {index} is made twice")),
            (None, _) | (_, None) => fault(format!("there is no result {index}")),
        }
    }

    fn constant(&mut self, index: u32) -> Result<BufferId, Stop> {
        if let Some(known) = self.constants.get(&index) {
            return Ok(*known);
        }
        let Some(constant) = self.interpreter.program.constants.get(index as usize) else {
            return fault(format!("there is no constant {index}"));
        };
        let elements = constant.elements.iter().map(|bits| Number::from_bits(*bits, constant.dtype));
        let origin = format!("constant {index}");
        let id = self.heap.filled(constant.dtype, elements.map(Some), Lifetime::Constant, origin)?;
        self.constants.insert(index, id);
        Ok(id)
    }

    fn retain(&mut self, frame: &mut Frame<'r>, id: BufferId) -> Result<(), Stop> {
        self.heap.retain(id)?;
        frame.references.add(id);
        Ok(())
    }

    fn release(&mut self, frame: &mut Frame<'r>, id: BufferId) -> Result<(), Stop> {
        if !frame.references.remove(id) {
            return Err(self.heap.fault(id, "is released by who has no reference to it"));
        }
        self.heap.release(id)
    }

    // Numbers.

    fn read(
        &mut self,
        frame: &Frame<'r>,
        (value, id): (ValueId, BufferId),
        index: Arg,
    ) -> Result<Slot, Stop> {
        check_same(frame.scalar(value)?, self.heap.dtype(id)?)?;
        self.heap.read(id)?;
        let number = self.heap.load(id, frame.index(index)?)?;
        Ok(match (number, frame.scalar(value)?) {
            (Number::Int(number), Scalar::Int(width)) => Slot::integer(wrap(number as i64, width)),
            (Number::Int(number), Scalar::Index | Scalar::Float(_)) => Slot::integer(number as i64),
            (number @ (Number::Real(_) | Number::Complex(..)), _) => Slot::Number(number),
        })
    }

    /// A number as an element of a buffer.
    fn element(&self, frame: &Frame<'r>, value: ValueId, dtype: DType) -> Result<Number, Stop> {
        check_same(frame.scalar(value)?, dtype)?;
        Ok(match frame.number(value)? {
            number @ Number::Int(_) => number.fit(dtype),
            number @ (Number::Real(_) | Number::Complex(..)) => number,
        })
    }

    fn arith(&self, frame: &Frame<'r>, value: ValueId, op: Arith, args: &[Arg]) -> Result<Number, Stop> {
        let result = frame.scalar(value)?;
        let stated = args.iter().map(|arg| match arg {
            Arg::Value(value) => frame.scalar(*value).map(Some),
            Arg::Known(_) => Ok(None),
        });
        let stated = stated.collect::<Result<Vec<_>, _>>()?;
        let Some(kinds) = operands(op, &stated, result) else {
            return fault(format!("{op:?} of {stated:?} is no {result:?}"));
        };
        let number = |arg: &Arg| match arg {
            Arg::Value(value) => frame.number(*value),
            Arg::Known(known) => Ok(Number::Int((*known).into())),
        };
        let numbers = args.iter().map(number).collect::<Result<Vec<_>, _>>()?;
        let numbers: Vec<_> = numbers.into_iter().zip(kinds).collect();
        arith::evaluate(op, self.interpreter.program.numerics, &numbers, result)
    }

    fn define(&self, frame: &mut Frame<'r>, values: &[ValueId], slots: &[Slot]) -> Result<(), Stop> {
        if values.len() != slots.len() {
            return fault(format!("there are {} results, not {}", slots.len(), values.len()));
        }
        values.iter().zip(slots).try_for_each(|(value, slot)| frame.set(*value, *slot, &self.heap))
    }

    fn call_step(
        &mut self,
        frame: &mut Frame<'r>,
        callee: &str,
        args: &[Arg],
        results: &[ValueId],
    ) -> Result<(), Stop> {
        let Some(function) = self.interpreter.functions.get(&(callee, EntryKind::Private)) else {
            return fault(format!("there is no private @{callee}"));
        };
        let passed = self.passed(frame, args)?;
        let returned = self.call(function, &passed)?;
        returned.iter().filter_map(Slot::buffer).for_each(|id| frame.references.add(id));
        self.define(frame, results, &returned)
    }
}

/// The dtype of the buffer that a value is to be.
fn dtype(frame: &Frame<'_>, buffer: ValueId) -> Result<DType, Stop> {
    match frame.function.values.get(buffer.0 as usize) {
        Some(ValueKind::Buffer(dtype)) => Ok(dtype.storage()),
        Some(ValueKind::Number(_)) | None => fault(format!("%{} is no buffer", buffer.0)),
    }
}

/// Fails unless numbers of a kind are in memory as elements of a dtype: integers with a sign or without one.
fn check_same(number: Scalar, dtype: DType) -> Result<(), Stop> {
    let stored = Machine::memory_dtype(number)?;
    let is_same = match dtype.kind() {
        Kind::Unsigned | Kind::Signed => stored.kind() == Kind::Signed && stored.bits() == dtype.bits(),
        Kind::Bool | Kind::Float | Kind::Complex => stored == dtype,
    };
    if is_same { Ok(()) } else { fault(format!("a number of {number:?} is no element of {dtype}")) }
}
