//! Shapes: what is known of them, broadcasting, and the shape of every op's result.
//!
//! [`infer`] gives the shape of an op's result from its operands' shapes and its attributes. A shape may be unranked
//! (nothing known), and a dimension may be dynamic (known at run time); what is static is checked, what is not is
//! carried on.

mod rules;

use std::fmt;

use promote_dialect::attrs::Attrs;
use promote_lattice::op::{Op, ShapeRule};

pub use self::rules::{batch_dims, takes_of_something};

/// The extent of a dimension that is known at run time only; MLIR writes it `?`. Other negative numbers are names of
/// such extents: where names are equal, so are the extents.
pub const DYNAMIC: i64 = i64::MIN;

/// Whether an extent is known at run time only.
pub const fn is_dynamic(extent: i64) -> bool {
    extent < 0
}

/// The shape of a tensor: its dimensions, or nothing if not even their number is known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Shape(pub Option<Box<[i64]>>);

impl Shape {
    /// A shape of which nothing is known.
    pub const UNRANKED: Self = Self(None);

    /// The shape with these extents.
    pub fn ranked(dims: impl Into<Box<[i64]>>) -> Self {
        Self(Some(dims.into()))
    }

    /// The extents, if the rank is known.
    pub fn dims(&self) -> Option<&[i64]> {
        self.0.as_deref()
    }

    /// What both shapes say of one value, or `None` if they contradict each other.
    pub fn meet(&self, other: &Self) -> Option<Self> {
        let (Some(a), Some(b)) = (self.dims(), other.dims()) else {
            return Some(if self.0.is_none() { other.clone() } else { self.clone() });
        };
        let extent = |(a, b): (&i64, &i64)| match (*a, *b) {
            (a, known) if is_dynamic(a) => Some(known),
            (known, b) if is_dynamic(b) => Some(known),
            (a, b) => (a == b).then_some(a),
        };
        let dims: Option<Box<[i64]>> = a.iter().zip(b).map(extent).collect();
        dims.filter(|_| a.len() == b.len()).map(Self::ranked)
    }
}

impl fmt::Display for Shape {
    /// As in MLIR's types: `2x?x4`, `*` if unranked, `()` for a scalar.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(dims) = self.dims() else { return f.write_str("*") };
        if dims.is_empty() {
            return f.write_str("()");
        }
        for (i, dim) in dims.iter().enumerate() {
            let separator = if i == 0 { "" } else { "x" };
            match *dim {
                extent if is_dynamic(extent) => write!(f, "{separator}?")?,
                extent => write!(f, "{separator}{extent}")?,
            }
        }
        Ok(())
    }
}

/// Why an op cannot have operands of these shapes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// Two operands do not broadcast.
    #[error("shapes {0} and {1} do not broadcast: each dimension must be equal in both, or 1 in one of them")]
    Broadcast(Shape, Shape),
    /// An axis the operand does not have.
    #[error("axis {axis} is out of range for shape {shape}: a rank of {rank} has axes {}", Axes(*.rank))]
    Axis {
        /// The axis, as written.
        axis: i64,
        /// The shape it is to index.
        shape: Shape,
        /// The rank it is counted in.
        rank: usize,
    },
    /// More dimensions than are supported.
    #[error("the result has {rank} dimensions, but at most {most} are supported")]
    Rank {
        /// How many.
        rank: usize,
        /// How many there may be.
        most: usize,
    },
    /// Anything else, with its remedy.
    #[error("{message}")]
    Other {
        /// What is wrong.
        message: String,
        /// What to do.
        remedy: String,
    },
}

struct Axes(usize);

impl fmt::Display for Axes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("none"),
            rank => write!(f, "-{rank} to {}", rank - 1),
        }
    }
}

impl ShapeError {
    fn other(message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Other { message: message.into(), remedy: remedy.into() }
    }

    /// What the writer of the program can do about it.
    pub fn remedy(&self) -> String {
        match self {
            Self::Broadcast(..) => {
                "align the dimensions with promote.expand_dims, promote.reshape or promote.permute_dims"
                    .to_owned()
            }
            Self::Axis { .. } => "negative axes count from the end: -1 is the last".to_owned(),
            Self::Rank { .. } => "reshape an operand; in a loop, state the type of the carry".to_owned(),
            Self::Other { remedy, .. } => remedy.clone(),
        }
    }
}

/// A shape, or why there is none.
pub type Result<T> = std::result::Result<T, ShapeError>;

/// The extent that two dimensions broadcast to. A dynamic one is assumed to be compatible, which is checked at run time.
fn broadcast_extent(a: i64, b: i64) -> Option<i64> {
    match (a, b) {
        (a, b) if a == b => Some(a),
        (1, other) | (other, 1) => Some(other),
        (a, b) if is_dynamic(a) && is_dynamic(b) => Some(DYNAMIC),
        (a, b) if is_dynamic(a) || is_dynamic(b) => Some(a.max(b)),
        _ => None,
    }
}

/// The shape that two shapes broadcast to, as in NumPy.
///
/// # Errors
/// [`ShapeError::Broadcast`] if they do not.
pub fn broadcast(a: &Shape, b: &Shape) -> Result<Shape> {
    let (Some(x), Some(y)) = (a.dims(), b.dims()) else { return Ok(Shape::UNRANKED) };
    broadcast_dims(x, y).map(Shape::ranked).ok_or_else(|| ShapeError::Broadcast(a.clone(), b.clone()))
}

fn broadcast_dims(x: &[i64], y: &[i64]) -> Option<Vec<i64>> {
    let (long, short) = if x.len() >= y.len() { (x, y) } else { (y, x) };
    let missing = long.len() - short.len();
    let aligned =
        long.iter().enumerate().map(|(i, dim)| (*dim, if i < missing { 1 } else { short[i - missing] }));
    aligned.map(|(a, b)| broadcast_extent(a, b)).collect()
}

/// `axis` counted from the front, in a shape (for the message) counted as having `rank` axes.
///
/// # Errors
/// [`ShapeError::Axis`] if there is no such axis.
pub fn normalise(axis: i64, rank: usize, shape: &Shape) -> Result<usize> {
    let from_front = if axis < 0 { axis.checked_add(rank as i64) } else { Some(axis) };
    match from_front.map(usize::try_from) {
        Some(Ok(axis)) if axis < rank => Ok(axis),
        _ => Err(ShapeError::Axis { axis, shape: shape.clone(), rank }),
    }
}

/// The shape of `op`'s result. `None` where the op's type says it ([`ShapeRule::Stated`]).
///
/// # Errors
/// [`ShapeError`], where no array of that shape can come of these operands.
pub fn infer(op: Op, attrs: &Attrs, operands: &[&Shape]) -> Result<Option<Shape>> {
    let first = operands.first().copied().unwrap_or(&Shape::UNRANKED);
    Ok(Some(match op.info().shape {
        ShapeRule::Stated => return Ok(None),
        ShapeRule::Broadcast => match operands {
            [] => Shape::UNRANKED,
            [x] => (*x).clone(),
            [x, rest @ ..] => {
                rest.iter().try_fold((*x).clone(), |shape, operand| broadcast(&shape, operand))?
            }
        },
        ShapeRule::Same => first.clone(),
        ShapeRule::Reduce => rules::reduce(op, attrs, first)?,
        ShapeRule::Along => rules::along(op, attrs, first)?,
        ShapeRule::Scan => rules::scan(op, attrs, first)?,
        ShapeRule::Matmul => rules::matmul(first, operands.get(1).copied().unwrap_or(&Shape::UNRANKED))?,
        ShapeRule::Concat => rules::concat(attrs, operands)?,
        ShapeRule::Stack => rules::stack(attrs, operands)?,
        ShapeRule::Reshape => rules::reshape(attrs.list("shape"), first)?,
        ShapeRule::Permute => rules::permute(attrs.list("permutation"), first)?,
        ShapeRule::BroadcastTo => rules::broadcast_to(attrs.list("shape"), operands)?,
        ShapeRule::ExpandDims => rules::expand_dims(attrs.list("axis"), first)?,
        ShapeRule::Squeeze => rules::squeeze(attrs.list("axis"), first)?,
        ShapeRule::Slice => rules::slice(attrs, first)?,
        ShapeRule::Take => rules::take(attrs, first, operands.get(1).copied().unwrap_or(&Shape::UNRANKED))?,
    }))
}

#[cfg(test)]
mod tests {
    use super::{DYNAMIC, Shape, broadcast};

    fn shape(dims: &[i64]) -> Shape {
        Shape::ranked(dims)
    }

    #[test]
    fn broadcasting_aligns_from_the_right_and_stretches_ones() {
        assert_eq!(broadcast(&shape(&[3, 1]), &shape(&[4])), Ok(shape(&[3, 4])));
        assert_eq!(broadcast(&shape(&[]), &shape(&[2, 0])), Ok(shape(&[2, 0])));
        assert_eq!(broadcast(&shape(&[DYNAMIC, 1]), &shape(&[4])), Ok(shape(&[DYNAMIC, 4])));
        assert_eq!(broadcast(&shape(&[DYNAMIC]), &shape(&[4])), Ok(shape(&[4])));
        assert!(broadcast(&shape(&[3]), &shape(&[4])).is_err());
        assert_eq!(broadcast(&Shape::UNRANKED, &shape(&[4])), Ok(Shape::UNRANKED));
    }
}
