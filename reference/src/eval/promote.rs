//! Ops of the dialect: operands in the dtypes that they are computed in, results of the types that inference gave.

use promote_lattice::op::ShapeRule;
use promote_lattice::semantics::Typing;
use promote_lattice::{DType, Kind, Op};

use super::{Frame, Machine, has_shape};
use crate::Error;
use crate::number::Number;
use crate::ops::{self, Call};
use crate::program::{Attributes, Operation};
use crate::types::Type;
use crate::value::{Array, indices};

impl<'a> Machine<'a> {
    /// The result of an op of the dialect.
    pub(super) fn promote(
        &mut self,
        frame: &Frame<'a>,
        operation: &Operation,
        op: Op,
        attributes: &Attributes,
    ) -> Result<Array, Error> {
        let numerics = self.semantics.numerics();
        let known = frame.known(operation.results[0])?;
        let result = self.semantics.strengthen(known.dtype);
        let first = operation.operands.first().copied();
        let array = match (op, first, frame.instance.typings[operation.id]) {
            (Op::Relax, Some(source), _) => frame.array(source)?.clone(),
            (Op::Convert, Some(source), _) => {
                self.converts += u64::from(!frame.function.constants[source]);
                frame.array(source)?.converted(result, numerics)
            }
            (Op::Iota, ..) => iota(attributes, known, result)?,
            (_, _, Some(typing)) => {
                let mut operands = Vec::new();
                for (index, value) in operation.operands.iter().enumerate() {
                    operands.push(self.operand(op, index, frame.array(*value)?, &typing));
                }
                if op.info().shape == ShapeRule::Broadcast {
                    self.implicit += u64::from(operands.iter().any(|other| other.shape != operands[0].shape));
                }
                ops::evaluate(Call { op, attributes, result, numerics }, &operands)?
            }
            (_, _, None) => return Err(Error::Refused(format!("the types of {op} are never known"))),
        };
        if has_shape(&array, known) {
            Ok(array)
        } else {
            Err(Error::Trap(format!("{op} gives {:?}, not {:?}", array.shape, known.shape)))
        }
    }

    /// An operand in the dtype that the op computes in. The number of a weak constant is converted as it is written, but an
    /// exponent stays itself, and a bound beyond the range becomes the end of the range.
    fn operand(&mut self, op: Op, index: usize, array: &Array, typing: &Typing) -> Array {
        let dtype = self.semantics.strengthen(typing.compute(index));
        self.note_promotion(array, dtype);
        let as_written = array.dtype == DType::WeakInt && dtype.is_integer();
        let exact = |change: &dyn Fn(i128) -> i128| Array {
            dtype,
            shape: array.shape.clone(),
            elements: array.elements.iter().map(|number| Number::Int(change(number.int()))).collect(),
        };
        match (typing.saturates, op, index) {
            (true, ..) if as_written => exact(&|bound| nearest(bound, dtype)),
            (_, Op::Pow, 1) if as_written => exact(&|exponent| exponent),
            _ => array.converted(dtype, self.semantics.numerics()),
        }
    }
}

/// The integer of `dtype` that is nearest.
fn nearest(number: i128, dtype: DType) -> i128 {
    let bits = dtype.bits();
    match dtype.kind() {
        Kind::Signed => number.clamp(-1 << (bits - 1), (1 << (bits - 1)) - 1),
        _ => number.clamp(0, (1 << bits) - 1),
    }
}

fn iota(attributes: &Attributes, known: &Type, dtype: DType) -> Result<Array, Error> {
    let shape: Vec<usize> = known.shape.iter().copied().flatten().collect();
    let axis = attributes.axis.as_deref().unwrap_or(&[0])[0];
    let axis = crate::shape::axis(axis, shape.len()).map_err(Error::Trap)?;
    let elements = indices(&shape).map(|index| Number::Int(index[axis] as i128));
    Ok(Array::new(dtype, shape.clone(), elements))
}
