//! The conditions of an op on dynamic extents.
//!
//! Each rule of [`shape`](super::super::shape) that compares extents asks, of dynamic ones, that the run compares them.
//! What names show to hold, and what was asked before on every way to the op, is not asked again.

use std::fmt;

use promote_lattice::convert::Numerics;
use promote_lattice::op::{Op, ShapeRule};

use super::super::graph::{OpId, ValueId};
use super::super::shape::{self, DYNAMIC, Shape, is_dynamic};
use super::Planner;

/// An extent that a condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Extent {
    /// That of an operand along an axis.
    Of {
        /// Which operand.
        operand: usize,
        /// The axis.
        axis: usize,
    },
    /// A static one.
    Known(i64),
}

/// What must hold of extents.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Condition<E = Extent> {
    /// They are equal, or one of them is 1.
    Broadcast(E, E),
    /// They are equal.
    Equal(E, E),
    /// It is not 0.
    NotEmpty(E),
    /// The first is not 0, or one of the others is: elements are taken of something, or none are.
    Takes(E, Vec<E>),
    /// The extents of the first operand multiply to those of this shape, in which one may be computed.
    Elements(Vec<i64>),
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Of { operand, axis } => write!(f, "dimension {axis} of operand {operand}"),
            Self::Known(extent) => write!(f, "{extent}"),
        }
    }
}

impl fmt::Display for Condition {
    /// What it asks, in words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broadcast(a @ Extent::Of { .. }, Extent::Known(n))
            | Self::Broadcast(Extent::Known(n), a) => write!(f, "{a} must be {n} or 1"),
            Self::Broadcast(a, b) => write!(f, "{a} and {b} must be equal, or one of them 1"),
            Self::Equal(a @ Extent::Of { .. }, Extent::Known(n)) | Self::Equal(Extent::Known(n), a) => {
                write!(f, "{a} must be {n}")
            }
            Self::Equal(a, b) => write!(f, "{a} and {b} must be equal"),
            Self::NotEmpty(a) => write!(f, "{a} must not be 0"),
            Self::Takes(Extent::Known(_), _) => f.write_str("operand 0 has no elements to take"),
            Self::Takes(a, _) => write!(f, "{a} must not be 0 if elements are taken"),
            Self::Elements(shape) => {
                let known = shape.iter().filter(|extent| **extent != -1).product::<i64>();
                let whole = if shape.contains(&-1) && known > 0 { "a multiple of " } else { "" };
                write!(f, "operand 0 must have {whole}{known} elements")
            }
        }
    }
}

/// A condition of an op.
#[derive(Clone, Debug)]
pub struct Check {
    /// The op.
    pub op: OpId,
    /// What must hold.
    pub condition: Condition,
}

impl Planner<'_> {
    /// Plans what must be checked before `op` is run.
    pub(super) fn check(&mut self, op: OpId) {
        let shape_of = |value| self.solution.value(value).shape;
        if self.extents.is_empty()
            || self.graph.checked.contains(&op)
            || self.graph.keeps_shapes(op, shape_of)
        {
            return;
        }
        let asked = self.conditions(op);
        let values = self.graph.operands(op);
        let open = values.iter().any(|value| self.dims(*value).iter().copied().any(is_dynamic));
        // What names show today they might not show after other passes, so an op that broadcasts is marked all the same.
        if open && (!asked.is_empty() || values.len() > 1) {
            self.plan.checked.push(op);
        }
        for condition in asked {
            if !self.is_known(op, &condition) {
                self.plan.checks.push(Check { op, condition });
            }
        }
    }

    /// Whether a condition has been checked on every way to `op`; from now on it has.
    fn is_known(&mut self, op: OpId, condition: &Condition) -> bool {
        let values = self.graph.operands(op);
        let extent = |extent: &Extent| match *extent {
            Extent::Known(extent) => extent,
            Extent::Of { operand, axis } => self.dims(values[operand])[axis],
        };
        let sorted = |a: &Extent, b: &Extent| {
            let (a, b) = (extent(a), extent(b));
            (Extent::Known(a.min(b)), Extent::Known(a.max(b)))
        };
        let fact = match condition {
            Condition::Broadcast(a, b) => {
                let (a, b) = sorted(a, b);
                Condition::Broadcast(a, b)
            }
            Condition::Equal(a, b) => {
                let (a, b) = sorted(a, b);
                Condition::Equal(a, b)
            }
            Condition::NotEmpty(a) => Condition::NotEmpty(Extent::Known(extent(a))),
            Condition::Takes(..) | Condition::Elements(_) => return false,
        };
        let stronger = match &fact {
            Condition::Broadcast(a, b) => Some(Condition::Equal(*a, *b)),
            Condition::Equal(..) | Condition::NotEmpty(_) | Condition::Takes(..) | Condition::Elements(_) => {
                None
            }
        };
        let block = self.graph.node(op).block;
        let before =
            [Some(&fact), stronger.as_ref()].into_iter().flatten().filter_map(|fact| self.facts.get(fact));
        if before.flatten().any(|checked| self.places.dominates(*checked, block)) {
            return true;
        }
        self.facts.entry(fact).or_default().push(block);
        false
    }

    /// The named extents of a value; none if its rank is not known.
    fn dims(&self, value: ValueId) -> &[i64] {
        self.graph.shapes.get(self.extents.shape(self.solution, value)).dims().unwrap_or_default()
    }

    /// What `op` asks that names do not show.
    fn conditions(&self, op: OpId) -> Vec<Condition> {
        let node = self.graph.node(op);
        let attrs = self.graph.attrs(op);
        let values = self.graph.operands(op);
        let first = values.first().map_or(&[][..], |value| self.dims(*value));
        let mut asked = Vec::new();
        match node.op.info().shape {
            ShapeRule::Broadcast => self.operands_broadcast(values, &mut asked),
            ShapeRule::Matmul => self.operands_contract(values, &mut asked),
            ShapeRule::Concat | ShapeRule::Stack => {
                let stack = node.op.info().shape == ShapeRule::Stack;
                let own = if stack { Vec::new() } else { axes(&[attrs.int("axis")], first.len()) };
                let others = (0..first.len()).filter(|axis| !own.contains(axis));
                for axis in others {
                    for operand in 1..values.len() {
                        self.equal(values, (0, axis), (operand, axis), &mut asked);
                    }
                }
            }
            ShapeRule::Reshape if first.iter().copied().any(is_dynamic) => {
                let whole = attrs.list("shape");
                let same =
                    whole.contains(&-1) && whole.iter().filter(|extent| **extent != -1).product::<i64>() == 1;
                asked.extend((!same).then(|| Condition::Elements(whole.to_vec())));
            }
            ShapeRule::Squeeze => {
                let axes = axes(attrs.list("axis"), first.len());
                let dynamic = axes.into_iter().filter(|axis| is_dynamic(first[*axis]));
                let is_one = |axis| Condition::Equal(Extent::Of { operand: 0, axis }, Extent::Known(1));
                asked.extend(dynamic.map(is_one));
            }
            ShapeRule::Reduce if matches!(node.op, Op::Max | Op::Min | Op::ArgMax | Op::ArgMin) => {
                let named = attrs.axes().map(|named| axes(named, first.len()));
                let axes = named.unwrap_or_else(|| (0..first.len()).collect());
                let dynamic = axes.into_iter().filter(|axis| is_dynamic(first[*axis]));
                asked.extend(dynamic.map(|axis| Condition::NotEmpty(Extent::Of { operand: 0, axis })));
            }
            ShapeRule::Take if self.semantics.numerics() == Numerics::Jax => {
                let axis = axes(&[attrs.int("axis")], first.len()).first().copied();
                let (Some(axis), Some(indices)) = (axis, values.get(1)) else { return asked };
                let of = |operand: usize, (axis, extent): (usize, &i64)| self::extent(*extent, operand, axis);
                let along = first[axis];
                let indices = self.dims(*indices);
                if (is_dynamic(along) || along == 0) && !indices.contains(&0) {
                    let open = indices.iter().enumerate().filter(|(_, extent)| is_dynamic(**extent));
                    let open = open.map(|index| of(1, index)).collect();
                    asked.push(Condition::Takes(of(0, (axis, &along)), open));
                }
            }
            ShapeRule::BroadcastTo => self.broadcasts_to(values, attrs.list("shape"), &mut asked),
            ShapeRule::Stated
            | ShapeRule::Same
            | ShapeRule::Reduce
            | ShapeRule::Along
            | ShapeRule::Scan
            | ShapeRule::Reshape
            | ShapeRule::Permute
            | ShapeRule::ExpandDims
            | ShapeRule::Slice
            | ShapeRule::Take => {}
        }
        asked
    }

    fn operands_broadcast(&self, values: &[ValueId], asked: &mut Vec<Condition>) {
        let rank = values.iter().map(|value| self.dims(*value).len()).max().unwrap_or(0);
        for from_end in (1..=rank).rev() {
            for second in 1..values.len() {
                for first in 0..second {
                    self.meet(values, (first, from_end), (second, from_end), asked);
                }
            }
        }
    }

    /// The axis of an operand that is so far from its end.
    fn axis_from_end(&self, value: ValueId, from_end: usize) -> Option<usize> {
        self.dims(value).len().checked_sub(from_end)
    }

    /// Asks that two extents, counted from the end, broadcast.
    fn meet(
        &self,
        values: &[ValueId],
        (a, from_end_a): (usize, usize),
        (b, from_end_b): (usize, usize),
        asked: &mut Vec<Condition>,
    ) {
        let axes = (self.axis_from_end(values[a], from_end_a), self.axis_from_end(values[b], from_end_b));
        let (Some(axis_a), Some(axis_b)) = axes else { return };
        let (own, other) = (self.dims(values[a])[axis_a], self.dims(values[b])[axis_b]);
        let unclear = (is_dynamic(own) || is_dynamic(other)) && own != 1 && other != 1;
        if unclear && !self.extents.fits(own, other) {
            asked.push(Condition::Broadcast(extent(own, a, axis_a), extent(other, b, axis_b)));
        }
    }

    fn equal(
        &self,
        values: &[ValueId],
        (a, axis_a): (usize, usize),
        (b, axis_b): (usize, usize),
        asked: &mut Vec<Condition>,
    ) {
        let (Some(own), Some(other)) =
            (self.dims(values[a]).get(axis_a).copied(), self.dims(values[b]).get(axis_b).copied())
        else {
            return;
        };
        if own != other && (is_dynamic(own) || is_dynamic(other)) {
            asked.push(Condition::Equal(extent(own, a, axis_a), extent(other, b, axis_b)));
        }
    }

    /// The contracted dimensions are equal, and those of batches broadcast.
    fn operands_contract(&self, values: &[ValueId], asked: &mut Vec<Condition>) {
        let [x, y] = values else { return };
        let (a, b) = (self.dims(*x), self.dims(*y));
        if a.is_empty() || b.is_empty() {
            return;
        }
        self.equal(values, (0, a.len() - 1), (1, b.len().saturating_sub(2)), asked);
        // Where both have a batch, the rows and columns of both are the last two dimensions.
        let batches = shape::batch_dims(a).len().min(shape::batch_dims(b).len());
        for from_end in 3..batches + 3 {
            self.meet(values, (0, from_end), (1, from_end), asked);
        }
    }

    fn broadcasts_to(&self, values: &[ValueId], target: &[i64], asked: &mut Vec<Condition>) {
        let Some(first) = values.first() else { return };
        for (axis, own) in self.dims(*first).iter().enumerate().filter(|(_, own)| is_dynamic(**own)) {
            let from_end = self.dims(*first).len() - axis;
            match target.len().checked_sub(from_end).map(|axis| target[axis]) {
                Some(DYNAMIC) if values.len() > 1 => self.meet(values, (0, from_end), (1, from_end), asked),
                Some(1) => {
                    asked.push(Condition::Equal(extent(*own, 0, axis), Extent::Known(1)));
                }
                Some(DYNAMIC) | None => {}
                Some(to) => asked.push(Condition::Broadcast(extent(*own, 0, axis), Extent::Known(to))),
            }
        }
    }
}

/// Axes counted from the front; inference has refused those that are not there.
fn axes(named: &[i64], rank: usize) -> Vec<usize> {
    named.iter().filter_map(|axis| shape::normalise(*axis, rank, &Shape::UNRANKED).ok()).collect()
}

fn extent(extent: i64, operand: usize, axis: usize) -> Extent {
    if is_dynamic(extent) { Extent::Of { operand, axis } } else { Extent::Known(extent) }
}
