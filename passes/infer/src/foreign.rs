//! Ops of other dialects that follow the rules of ours: what of them differs.

use std::sync::Arc;

use promote_lattice::DType;

use super::graph::{Graph, OpId};

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

/// An op of another dialect that follows the rule of one of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// Its name.
    pub name: Arc<str>,
    /// Which of its operands take part, in the order in which ours takes them.
    pub operands: Arc<[usize]>,
    /// Who broadcasts them.
    pub broadcasts: Broadcasts,
    /// Whether the shape of its result is what the program states: the rule is of dtypes alone.
    pub states_shape: bool,
    /// The dtype that the op is told its result is to be of, if it is.
    pub dtype: Option<DType>,
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

    /// Which operand of an op in the program an operand here is.
    pub fn operand_index(&self, op: OpId, operand: usize) -> usize {
        let position = self.foreign(op).and_then(|foreign| foreign.operands.get(operand));
        position.copied().unwrap_or(operand)
    }

    /// Whether the shapes of an op's operands are its dialect's business.
    pub fn keeps_shapes(&self, op: OpId) -> bool {
        self.foreign(op).is_some_and(Foreign::keeps_shapes)
    }
}
