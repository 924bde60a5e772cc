//! Ops of other dialects that follow the rules of ours: what of them differs.

use std::fmt;
use std::sync::Arc;

use promote_lattice::DType;
use promote_lattice::op::ShapeRule;

use super::graph::{Graph, OpId, ShapeId, ValueId};
use super::shape::is_dynamic;

/// Who broadcasts the operands of an op of another dialect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Broadcasts {
    /// Nobody: operands must have the shape of the result.
    #[default]
    Explicit,
    /// The op, operands of one rank: others need leading dimensions of 1.
    Ranked,
    /// The op, as NumPy does.
    Itself,
}

/// What an operand is in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Taken {
    /// An operand of the op.
    Operand(usize),
    /// An element of a list that is one.
    Element {
        /// Which element.
        index: usize,
        /// Which operand the list is.
        list: usize,
    },
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operand(index) => write!(f, "operand {index}"),
            Self::Element { index, list } => write!(f, "element {index} of operand {list}"),
        }
    }
}

/// An op of another dialect that follows the rule of one of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Its name.
    pub name: Arc<str>,
    /// Which of its operands take part, in the order in which ours takes them.
    pub operands: Arc<[Taken]>,
    /// Whether all of them are joined, whatever ours makes of dtypes; and how many of them, from the first on, are ours.
    pub joins: Option<usize>,
    /// Who broadcasts them.
    pub broadcasts: Broadcasts,
    /// Whether the shape of its result is what the program states: the rule is of dtypes alone.
    pub states_shape: bool,
    /// The dtype that the op is told its result is to be of, if it is.
    pub dtype: Option<DType>,
    /// Whether its result may be stated to be of a dtype that the one inferred promotes to, as that of an accumulator.
    pub accumulates: bool,
    /// How many dimensions its operands must have; any, if it is not said.
    pub ranks: Option<Arc<[usize]>>,
}

impl Foreign {
    /// Whether nothing of its shapes is anyone's business but its dialect's.
    pub const fn keeps_shapes(&self) -> bool {
        self.states_shape || !matches!(self.broadcasts, Broadcasts::Explicit)
    }
}

impl Graph {
    /// What an op is if it is of another dialect.
    pub fn foreign(&self, op: OpId) -> Option<&Foreign> {
        if self.foreign.is_empty() { None } else { self.foreign.get(&op) }
    }

    /// The name of an op, as in `promote.add`.
    pub fn name(&self, op: OpId) -> String {
        self.foreign(op).map_or_else(|| self.node(op).op.to_string(), |foreign| foreign.name.to_string())
    }

    /// What an operand of an op is in the program.
    pub fn taken(&self, op: OpId, operand: usize) -> Taken {
        let taken = self.foreign(op).and_then(|foreign| foreign.operands.get(operand));
        taken.copied().unwrap_or(Taken::Operand(operand))
    }

    /// The operands whose shapes those of the result follow.
    pub fn shaping(&self, op: OpId) -> &[ValueId] {
        let operands = self.operands(op);
        let ours = self.foreign(op).and_then(|foreign| foreign.joins);
        &operands[..ours.unwrap_or(operands.len()).min(operands.len())]
    }

    /// Whether the shapes of an op's operands, which `shape_of` gives, are its dialect's business.
    pub fn keeps_shapes(&self, op: OpId, shape_of: impl Fn(ValueId) -> ShapeId) -> bool {
        self.foreign(op).is_some_and(|foreign| foreign.keeps_shapes() || self.is_of_one_shape(op, shape_of))
    }

    /// Whether the operands of an op that does not broadcast, and whose rule does, need not be broadcast: along each axis they
    /// have one extent, or extents that are known at run time only, which its dialect takes to be equal.
    pub fn is_of_one_shape(&self, op: OpId, shape_of: impl Fn(ValueId) -> ShapeId) -> bool {
        let is_asked = self.foreign(op).is_some_and(|foreign| foreign.broadcasts == Broadcasts::Explicit)
            && self.node(op).op.info().shape == ShapeRule::Broadcast;
        let all: Option<Vec<&[i64]>> = match is_asked {
            true => self.shaping(op).iter().map(|value| self.shapes.get(shape_of(*value)).dims()).collect(),
            false => None,
        };
        let Some((first, others)) = all.as_deref().and_then(<[_]>::split_first) else { return false };
        let fits = |a: i64, b: i64| match (is_dynamic(a), is_dynamic(b)) {
            (true, true) => true,
            (true, false) => b != 1,
            (false, true) => a != 1,
            (false, false) => a == b,
        };
        let pairs = |dims: &[i64]| std::iter::zip(*first, dims).all(|(a, b)| fits(*a, *b));
        others.iter().all(|dims| dims.len() == first.len() && pairs(dims))
    }
}
