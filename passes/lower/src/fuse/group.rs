//! A kernel in the making: which space its loops go over, and which roots they compute.

use super::super::graph::{Cut, NodeId};
use super::super::kernel::{Access, ExprId, Form, Role};
use super::super::target::Costs;
use super::super::trace::{Coord, Tracer};
use promote_dialect::extent::{Extent, Product, Sum};

/// A kernel in the making.
#[derive(Debug)]
pub struct Group {
    /// The extents of the space that the roots' values have before they are reduced.
    pub space: Vec<Extent>,
    /// The dimension of the kernel that each dimension of the space is.
    pub position: Vec<usize>,
    /// The dimensions of the space that are reduced, if any are.
    pub reduced: Option<Reduction>,
    /// Whether nothing may join.
    pub is_closed: bool,
    pub tracer: Tracer,
    pub members: Vec<Member>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reduction {
    pub axes: Vec<usize>,
    pub cut: Option<Cut>,
}

#[derive(Debug)]
pub struct Member {
    pub node: NodeId,
    pub expr: ExprId,
    /// What a cumulative op goes on from.
    pub start: Option<ExprId>,
    pub role: Role,
    /// Where its values, or its results, are.
    pub at: Vec<Coord>,
    /// Where in the buffer of another node the values go.
    pub into: Option<Access>,
}

/// A root that looks for a group.
#[derive(Debug)]
pub struct Wanted {
    pub node: NodeId,
    /// The node whose values are stored or reduced.
    pub traced: NodeId,
    /// What a cumulative op goes on from, each part from an element.
    pub start: Option<NodeId>,
    pub role: Role,
    pub reduction: Option<Reduction>,
    /// The node in whose buffer the values go, and from which indices on.
    pub into: Option<(NodeId, Vec<Sum>)>,
    /// Whether it is computed in a kernel of its own: it joins no group, and nothing joins the one that it starts.
    pub is_alone: bool,
}

impl Group {
    /// A group for a root to start.
    pub fn new(space: Vec<Extent>, wanted: &Wanted, costs: &Costs) -> Self {
        let shift = usize::from(wanted.reduction.as_ref().is_some_and(|reduction| reduction.cut.is_some()));
        let rank = space.len();
        let order = wanted.reduction.as_ref().map_or_else(
            || (0..rank).collect(),
            |reduction| order(&reduction.axes, rank, goes_last(wanted.role, &reduction.axes, &space, costs)),
        );
        let mut position = vec![0; rank];
        order.iter().enumerate().for_each(|(dim, axis)| position[*axis] = dim + shift);
        Self {
            space,
            position,
            reduced: wanted.reduction.clone(),
            is_closed: wanted.is_alone || matches!(wanted.role, Role::Scan(_)),
            tracer: Tracer::new(rank + shift),
            members: Vec::new(),
        }
    }

    pub fn shift(&self) -> usize {
        usize::from(self.reduced.as_ref().is_some_and(|reduction| reduction.cut.is_some()))
    }

    fn axes(&self) -> &[usize] {
        self.reduced.as_ref().map_or(&[], |reduction| &reduction.axes)
    }

    pub fn form(&self) -> Form {
        let reduced = self.axes().len();
        let dims = self.axes().iter().map(|axis| self.position[*axis]);
        match dims.min() {
            None => Form::Map,
            Some(first) if first + reduced == self.space.len() + self.shift() => Form::Rows { reduced },
            Some(outer) => Form::Columns { outer, reduced },
        }
    }

    /// Where the values of a root are whose traced node has this shape, if the group can take it.
    pub fn coords(&self, shape: &[Extent], wanted: &Wanted, costs: &Costs) -> Option<Vec<Coord>> {
        if self.is_closed && !self.members.is_empty() {
            return None;
        }
        let full = || (0..shape.len()).map(|axis| Coord::same(self.position[axis])).collect();
        let is_full = shape == self.space;
        match wanted.role {
            Role::Store => match self.form() {
                Form::Map => is_full.then(full),
                Form::Rows { .. } if is_full && self.shift() == 0 => Some(full()),
                Form::Rows { .. } | Form::Columns { .. } if self.shift() == 0 => self.kept(shape),
                Form::Rows { .. } | Form::Columns { .. } => None,
            },
            Role::Reduce(_) | Role::Arg(_) | Role::Scan(_) => {
                let fits = match (&self.reduced, &wanted.reduction) {
                    (None, Some(reduction)) => {
                        let first = shape.len() - reduction.axes.len();
                        let is_last = reduction.axes.iter().enumerate().all(|(i, axis)| *axis == first + i);
                        is_last && reduction.cut.is_none() && !matches!(wanted.role, Role::Scan(_))
                    }
                    (own, other) => {
                        own == other && (self.members.is_empty() || !self.is_permuted(wanted.role, costs))
                    }
                };
                (is_full && fits).then(full)
            }
        }
    }

    /// Whether a root of that role would have had its dimensions in another order.
    fn is_permuted(&self, role: Role, costs: &Costs) -> bool {
        let last = goes_last(role, self.axes(), &self.space, costs);
        let order = order(self.axes(), self.space.len(), last);
        order.iter().enumerate().any(|(dim, axis)| self.position[*axis] != dim + self.shift())
    }

    /// Where the results of reductions are.
    pub fn kept_coords(&self) -> Vec<Coord> {
        let kept = (0..self.space.len()).filter(|axis| !self.axes().contains(axis));
        let parts = (0..self.shift()).map(Coord::same);
        parts.chain(kept.map(|axis| Coord::same(self.position[axis]))).collect()
    }

    /// Where values of the shape of the results are, be the reduced dimensions dropped or of extent 1.
    fn kept(&self, shape: &[Extent]) -> Option<Vec<Coord>> {
        let is_kept = |axis: &usize| !self.axes().contains(axis);
        let kept: Vec<usize> = (0..self.space.len()).filter(is_kept).collect();
        if shape.len() == kept.len()
            && kept.iter().zip(shape).all(|(axis, extent)| self.space[*axis] == *extent)
        {
            return Some(self.kept_coords());
        }
        let matches = |(axis, extent): (usize, &Extent)| {
            *extent == if is_kept(&axis) { self.space[axis] } else { Extent::Fixed(1) }
        };
        let alike = shape.len() == self.space.len() && shape.iter().enumerate().all(matches);
        let coord =
            |axis: usize| if is_kept(&axis) { Coord::same(self.position[axis]) } else { Coord::first() };
        alike.then(|| (0..shape.len()).map(coord).collect())
    }
}

/// Whether what goes along an axis in order goes along the last dimension of its kernel, one result at a time: there are too few
/// results beside each other in memory to compute them together.
fn goes_last(role: Role, axes: &[usize], space: &[Extent], costs: &Costs) -> bool {
    let after = axes.last().map_or(space.len(), |last| last + 1);
    let beside = space[after..].iter().fold(Product::number(1), |all, extent| &all * &Product::from(*extent));
    match role {
        Role::Arg(_) | Role::Scan(_) => beside.fixed().is_some_and(|beside| beside < costs.few_columns),
        Role::Store | Role::Reduce(_) => false,
    }
}

/// The axes in the order of a kernel's dimensions: reduced ones last, but before the kept ones at the end, if there are
/// any there; or last in any case.
fn order(axes: &[usize], rank: usize, last: bool) -> Vec<usize> {
    let is_kept = |axis: &usize| !axes.contains(axis);
    let after =
        if last { rank } else { (0..rank).rev().find(|axis| !is_kept(axis)).map_or(0, |axis| axis + 1) };
    let before = (0..after).filter(is_kept);
    before.chain(axes.iter().copied()).chain(after..rank).collect()
}
