//! Fusion: partitions a graph into kernels, so that little goes through memory.
//!
//! [`fuse`] takes the nodes that are needed and returns [`Step`]s in the order in which they run.
//!
//! ## Algorithm
//! 1. Some nodes are *roots*: reductions, what is needed in memory, and expressions that are too expensive to be computed
//!    twice. All others are computed where they are used.
//! 2. In topological order a root joins a kernel that computes something it needs, or a recent one over the same space,
//!    if that makes no circle and it needs results of that kernel's reductions at its own index only; else it starts one.
//!    A kernel over `P × R` takes element-wise roots over `P × R`, reductions over `R`, and roots over `P`: softmax
//!    and normalisations are one kernel, and their rows stay in the cache.
//! 3. A root that another kernel needs is stored.
//! 4. Where a kernel reads across rows that it writes, what turns them is a root of a kernel of its own, and all is planned
//!    again (`turned.rs`).

mod group;
mod lookups;
mod order;
mod product;
#[cfg(test)]
mod tests;
mod turned;

use rustc_hash::FxHashSet;

use self::group::{Group, Member, Reduction, Wanted};
use self::lookups::looked_up;
use self::order::{Order, UnitId};
pub use self::product::matmul;
pub use self::turned::fuse;
use super::graph::{Cut, Graph, NodeId, Prim};
use super::kernel::{Chunk, Code, Kernel, Role, Root, cost};
use super::order::combines_in_any_order;
use super::target::Costs;
use super::trace::{Coord, Elsewhere, Found};
use promote_dialect::extent::{Product, Sum};

/// One step of a program.
#[derive(Clone, Debug)]
pub enum Step {
    /// Runs a kernel; which dimensions of its operands each of its own is, those that it goes through as through one together.
    Kernel(Kernel, Vec<Vec<usize>>),
    /// Sorts the buffer of a node, into which its operand was written, along a dimension.
    Sort(NodeId, usize),
    /// Multiplies matrices.
    Matmul(NodeId),
}

impl Step {
    /// The nodes whose buffers it reads.
    pub fn reads(&self, graph: &Graph) -> Vec<NodeId> {
        match self {
            Self::Sort(..) => Vec::new(),
            Self::Matmul(node) => graph.node(*node).args.iter().map(|arg| graph.base(*arg)).collect(),
            Self::Kernel(kernel, _) => {
                let buffers = kernel.exprs.iter().filter_map(|expr| expr.code.buffer());
                buffers.map(|node| graph.base(node)).collect()
            }
        }
    }

    /// The nodes whose buffers it writes.
    pub fn writes(&self) -> Vec<NodeId> {
        match self {
            Self::Sort(node, _) | Self::Matmul(node) => vec![*node],
            Self::Kernel(kernel, _) => {
                kernel.roots.iter().flat_map(|root| &root.sinks).map(|sink| sink.buffer).collect()
            }
        }
    }
}

/// What a run does.
#[derive(Debug, Default)]
pub struct Plan {
    /// In order.
    pub steps: Vec<Step>,
    /// The nodes that are given a buffer, which some step writes, sorted. Not among them are sources, constants, and other
    /// shapes of a buffer.
    pub buffers: Vec<NodeId>,
}

/// How many of the kernels made last are looked through for one over the same space.
const NEIGHBOURS: usize = 4;

/// What becomes of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// It is computed where it is used.
    Inline,
    /// Kernels find it in memory.
    Memory,
    /// A root of a group, which is the unit of this number.
    Root(UnitId),
}

/// What becomes a step.
#[derive(Debug)]
enum Unit {
    Group(Box<Group>),
    Sort(NodeId, usize),
    Matmul(NodeId),
}

struct Fusion<'g> {
    graph: &'g Graph,
    costs: &'g Costs,
    /// What is computed by kernels of its own.
    apart: &'g FxHashSet<NodeId>,
    live: Vec<bool>,
    uses: Vec<u32>,
    /// Whether the node must be in memory.
    stored: Vec<bool>,
    cost: Vec<u32>,
    places: Vec<Place>,
    /// The units that write what is in memory.
    writers: Vec<Vec<UnitId>>,
    units: Vec<Unit>,
    /// Which units must run before which.
    order: Order,
}

impl<'g> Fusion<'g> {
    fn new(graph: &'g Graph, needed: &[NodeId], apart: &'g FxHashSet<NodeId>, costs: &'g Costs) -> Self {
        let count = graph.nodes.len();
        let (mut live, mut uses, mut stored) = (vec![false; count], vec![0; count], vec![false; count]);
        for node in needed {
            live[node.0 as usize] = true;
            stored[node.0 as usize] = true;
        }
        for index in (0..count).rev() {
            if !live[index] {
                continue;
            }
            let node = &graph.nodes[index];
            for arg in &node.args {
                live[arg.0 as usize] = true;
                uses[arg.0 as usize] += 1;
            }
            let taken_from;
            let in_memory = match node.prim {
                Prim::Reshape | Prim::Matmul => node.args.as_slice(),
                Prim::Take(axis) => {
                    taken_from = [looked_up(graph, node, axis, costs.lookups).unwrap_or(node.args[0])];
                    &taken_from
                }
                Prim::Source(_)
                | Prim::Dense(_)
                | Prim::Splat(_)
                | Prim::Size(_)
                | Prim::Iota(_)
                | Prim::Map(_)
                | Prim::Convert
                | Prim::View(_)
                | Prim::Split(..)
                | Prim::Concat(_)
                | Prim::Sort(_)
                | Prim::Reduce(..)
                | Prim::Partial(..)
                | Prim::Arg(..) => &[],
                // Its first operand is computed as it goes.
                Prim::Scan(..) => &node.args[1..],
            };
            in_memory.iter().for_each(|arg| stored[arg.0 as usize] = true);
        }
        Self {
            graph,
            costs,
            apart,
            live,
            uses,
            stored,
            cost: vec![0; count],
            places: vec![Place::Inline; count],
            writers: vec![Vec::new(); count],
            units: Vec::new(),
            order: Order::default(),
        }
    }

    /// Decides where a node is computed; its operands are placed already.
    fn place(&mut self, id: NodeId) {
        let node = self.graph.node(id);
        let along = |axis: usize| Some(Reduction { axes: vec![axis], cut: None });
        match &node.prim {
            Prim::Source(_) | Prim::Dense(_) => self.in_memory(id, Vec::new()),
            Prim::Reshape => {
                let writers = self.needs_of(node.args[0]).0;
                self.in_memory(id, writers);
            }
            Prim::Sort(axis) => {
                let copied = self.copy_into(id, node.args[0], Vec::new());
                let unit = self.unit(Unit::Sort(id, *axis), &[copied]);
                self.in_memory(id, vec![unit]);
            }
            Prim::Matmul => {
                let needs: Vec<_> = node.args.iter().flat_map(|arg| self.needs_of(*arg).0).collect();
                let unit = self.unit(Unit::Matmul(id), &needs);
                self.in_memory(id, vec![unit]);
            }
            Prim::Concat(axis) => self.concat(id, *axis),
            Prim::Reduce(op, axes) => {
                self.root(id, Role::Reduce(*op), Some(Reduction { axes: axes.clone(), cut: None }));
            }
            Prim::Partial(op, axes, cut) => {
                self.root(id, Role::Reduce(*op), Some(Reduction { axes: axes.clone(), cut: Some(*cut) }));
            }
            Prim::Arg(op, axis) => self.root(id, Role::Arg(*op), along(*axis)),
            Prim::Scan(op, axis, cut) => {
                self.stored[id.0 as usize] = true;
                self.root(id, Role::Scan(*op), Some(Reduction { axes: vec![*axis], cut: *cut }));
            }
            Prim::Splat(_)
            | Prim::Size(_)
            | Prim::Iota(_)
            | Prim::Map(_)
            | Prim::Convert
            | Prim::View(_)
            | Prim::Split(..)
            | Prim::Take(_) => self.expression(id),
        }
    }

    fn expression(&mut self, id: NodeId) {
        let (node, index) = (self.graph.node(id), id.0 as usize);
        let of_args = node.args.iter().map(|arg| self.cost[arg.0 as usize]).fold(0, u32::saturating_add);
        self.cost[index] = of_args.saturating_add(instructions(&node.prim));
        let is_expensive = self.uses[index] > 1 && self.cost[index] >= self.costs.expensive
            || self.cost[index] >= self.costs.too_long;
        if self.stored[index] || is_expensive || self.apart.contains(&id) {
            self.root(id, Role::Store, None);
        }
    }

    fn in_memory(&mut self, id: NodeId, mut writers: Vec<UnitId>) {
        writers.sort_unstable();
        writers.dedup();
        self.places[id.0 as usize] = Place::Memory;
        self.writers[id.0 as usize] = writers;
    }

    fn unit(&mut self, unit: Unit, needs: &[UnitId]) -> UnitId {
        self.units.push(unit);
        self.order.push(needs)
    }

    /// Each piece is written into its part of the result.
    fn concat(&mut self, id: NodeId, axis: usize) {
        let node = self.graph.node(id);
        let mut start = Sum::default();
        let mut writers = Vec::new();
        for arg in &node.args {
            let mut starts = vec![Sum::default(); node.shape.len()];
            starts[axis] = start.clone();
            writers.push(self.copy_into(id, *arg, starts));
            start = start + Product::from(self.graph.shape(*arg)[axis]);
        }
        self.in_memory(id, writers);
    }

    /// Adds a root that writes a node into the buffer of another, from these indices on; its unit.
    fn copy_into(&mut self, target: NodeId, source: NodeId, starts: Vec<Sum>) -> UnitId {
        let into = Some((target, starts));
        self.join(&Wanted {
            node: source,
            traced: source,
            start: None,
            role: Role::Store,
            reduction: None,
            into,
            is_alone: false,
        })
    }

    fn root(&mut self, node: NodeId, role: Role, reduction: Option<Reduction>) {
        let args = self.graph.node(node).args.as_slice();
        let traced = if role == Role::Store { node } else { args[0] };
        let start = if matches!(role, Role::Scan(_)) { args.get(1).copied() } else { None };
        let is_alone = self.apart.contains(&node);
        let unit = self.join(&Wanted { node, traced, start, role, reduction, into: None, is_alone });
        self.places[node.0 as usize] = Place::Root(unit);
        self.cost[node.0 as usize] = 1;
    }

    /// Adds a root to the group that suits it best, or to a new one; its unit.
    fn join(&mut self, wanted: &Wanted) -> UnitId {
        let (mut needs, mut in_memory) = self.needs_of(wanted.traced);
        if let Some(start) = wanted.start {
            let (others, others_in_memory) = self.needs_of(start);
            needs.extend(others);
            in_memory.extend(others_in_memory);
        }
        let recent = self.units.len().saturating_sub(NEIGHBOURS)..self.units.len();
        let candidates = needs.iter().copied().chain(recent).filter(|_| !wanted.is_alone);
        let mut candidates: Vec<UnitId> = candidates.collect();
        candidates.sort_unstable();
        candidates.dedup();
        for unit in candidates.into_iter().rev() {
            let others = || needs.iter().copied().filter(|need| *need != unit);
            let makes_circle = || self.order.reaches(others(), unit);
            if !in_memory.contains(&unit) && !makes_circle() && self.enter(unit, wanted) {
                self.order.add_needs(unit, others());
                return unit;
            }
        }
        let group = Group::new(self.graph.shape(wanted.traced), wanted, self.costs);
        let unit = self.unit(Unit::Group(Box::new(group)), &needs);
        let entered = self.enter(unit, wanted);
        assert!(
            entered,
            "a group takes the root that it is made for: it has no results that could be needed elsewhere"
        );
        unit
    }

    /// The units that must run before a node can be read, and those of them that it finds in memory.
    fn needs_of(&self, node: NodeId) -> (Vec<UnitId>, Vec<UnitId>) {
        let (mut seen, mut rest) = (FxHashSet::default(), vec![node]);
        let (mut needs, mut in_memory) = (Vec::new(), Vec::new());
        while let Some(node) = rest.pop() {
            if !seen.insert(node) {
                continue;
            }
            match self.places[node.0 as usize] {
                Place::Inline => {
                    let args = &self.graph.node(node).args;
                    if let (Prim::Take(_), [taken_from, ..]) = (&self.graph.node(node).prim, args.as_slice())
                        && let Place::Root(unit) = self.places[self.viewed(*taken_from).0 as usize]
                    {
                        in_memory.push(unit);
                    }
                    rest.extend(args);
                }
                Place::Memory => in_memory.extend(&self.writers[node.0 as usize]),
                Place::Root(unit) => needs.push(unit),
            }
        }
        needs.extend(&in_memory);
        needs.sort_unstable();
        needs.dedup();
        (needs, in_memory)
    }

    /// What a node is a view of, as far as views are made where they are needed.
    fn viewed(&self, node: NodeId) -> NodeId {
        match (self.places[node.0 as usize], &self.graph.node(node).prim) {
            (Place::Inline, Prim::View(_)) => self.viewed(self.graph.node(node).args[0]),
            (Place::Inline | Place::Memory | Place::Root(_), _) => node,
        }
    }

    /// Adds a root to a group, if that can take it.
    fn enter(&mut self, unit: UnitId, wanted: &Wanted) -> bool {
        let Unit::Group(group) = &mut self.units[unit] else { return false };
        let shape = self.graph.shape(wanted.traced);
        let Some(at) = group.coords(&shape, wanted, self.costs) else { return false };
        let stages: Vec<usize> = group.members.iter().map(|member| group.tracer.stage(member.expr)).collect();
        let mut tracer = std::mem::take(&mut group.tracer);
        let mark = tracer.mark();
        let (places, members) = (&self.places, &group.members);
        let mut find = |node: NodeId| match places[node.0 as usize] {
            Place::Inline => Found::Inline,
            Place::Root(own) if own == unit => {
                let number = members.iter().position(|member| member.node == node && member.into.is_none());
                let Some(number) = number else { unreachable!("a root is a member of its group") };
                let member = &members[number];
                match member.role {
                    Role::Store => Found::Here(member.expr, member.at.clone()),
                    Role::Scan(_) => Found::Later,
                    Role::Reduce(_) | Role::Arg(_) => Found::Reduced(number, member.at.clone()),
                }
            }
            Place::Root(_) | Place::Memory => Found::Stored,
        };
        let traced = tracer.trace(self.graph, wanted.traced, at.clone(), &mut find, &stages);
        let is_long = tracer.exprs.len() > self.costs.max_exprs && !members.is_empty();
        let is_full = is_long || members.len() >= self.costs.max_roots;
        let expr = traced.ok().filter(|_| !is_full);
        let kept = group.kept_coords();
        let start = wanted.start.map(|start| tracer.trace(self.graph, start, kept, &mut find, &stages));
        match (expr, start.transpose()) {
            (None, _) | (_, Err(Elsewhere)) => tracer.undo(mark),
            (Some(expr), Ok(start)) => {
                let into = wanted.into.as_ref().map(|(target, starts)| {
                    let moved = at.iter().enumerate().map(|(axis, coord)| {
                        let start = starts.get(axis).cloned().unwrap_or_default();
                        Coord { start: coord.start.clone() + start, ..coord.clone() }
                    });
                    tracer.access(self.graph, *target, &moved.collect::<Vec<_>>())
                });
                if group.reduced.is_none() {
                    group.reduced.clone_from(&wanted.reduction);
                }
                let at = match wanted.role {
                    Role::Store | Role::Scan(_) => at,
                    Role::Reduce(_) | Role::Arg(_) => group.kept_coords(),
                };
                group.members.push(Member { node: wanted.node, expr, start, role: wanted.role, at, into });
            }
        }
        group.tracer = tracer;
        expr.is_some()
    }

    /// Finds what must be stored, and makes the steps.
    fn finish(mut self) -> Plan {
        for unit in &self.units {
            let Unit::Group(group) = unit else { continue };
            for expr in &group.tracer.exprs {
                if let Code::Load(access) | Code::Take { access, .. } = &expr.code {
                    self.stored[access.buffer.0 as usize] = true;
                }
            }
        }
        let owns = |index: &usize| match self.places[*index] {
            Place::Inline => false,
            Place::Memory => {
                !self.writers[*index].is_empty() && self.graph.nodes[*index].prim != Prim::Reshape
            }
            Place::Root(_) => self.stored[*index],
        };
        let buffers = (0..self.graph.nodes.len()).filter(owns).map(|index| NodeId(index as u32)).collect();
        let order = std::mem::take(&mut self.order).into_order();
        let mut units: Vec<Option<Unit>> = std::mem::take(&mut self.units).into_iter().map(Some).collect();
        let steps = order.into_iter().filter_map(|unit| units[unit].take()).map(|unit| match unit {
            Unit::Sort(node, axis) => Step::Sort(node, axis),
            Unit::Matmul(node) => Step::Matmul(node),
            Unit::Group(group) => self.kernel(*group),
        });
        Plan { steps: steps.collect(), buffers }
    }

    fn kernel(&self, group: Group) -> Step {
        let shift = group.shift();
        let mut dims = vec![Product::number(1); group.space.len() + shift];
        for (axis, extent) in group.space.iter().enumerate() {
            dims[group.position[axis]] = self.graph.extents.resolve(*extent).into();
        }
        let cut = group.reduced.as_ref().and_then(|reduction| reduction.cut);
        let chunk = cut.map(|Cut { axis, parts: _, length, taken }| Chunk {
            dim: group.position[axis],
            by: 0,
            length,
            taken,
        });
        if let Some(cut) = cut {
            dims[0] = cut.parts.into();
        }
        let form = group.form();
        let roots = group.members.iter().map(|member| {
            let is_stored = self.stored[member.node.0 as usize] && member.into.is_none();
            let own = is_stored.then(|| group.tracer.access(self.graph, member.node, &member.at));
            let sinks = own.into_iter().chain(member.into.clone()).collect();
            Root { node: member.node, expr: member.expr, role: member.role, start: member.start, sinks }
        });
        let roots = roots.collect();
        let mut kernel = Kernel { dims, form, as_one: false, chunk, exprs: group.tracer.exprs, roots };
        // Where arguments have strides, sums go through them in the order in which they go through contiguous ones.
        let keeps_order = !self.graph.strided.is_empty() && !combines_in_any_order(&kernel);
        let order = kernel.interchange(keeps_order);
        let merged = kernel.collapse().into_iter();
        let merged: Vec<Vec<usize>> =
            merged.map(|dims| dims.into_iter().map(|dim| order[dim]).collect()).collect();
        let axes = group.reduced.as_ref().map_or(&[][..], |reduction| &reduction.axes);
        if keeps_order && axes.windows(2).all(|pair| pair[0] + 1 == pair[1]) {
            kernel.join_rows(|node| self.graph.strided.contains_key(&node));
        }
        Step::Kernel(kernel, merged)
    }
}

/// About how many instructions an expression takes beyond its operands'.
fn instructions(prim: &Prim) -> u32 {
    match prim {
        Prim::Map(op) => cost(*op),
        Prim::Convert | Prim::Iota(_) => 1,
        // What is in memory, or is read from there.
        Prim::Source(_)
        | Prim::Dense(_)
        | Prim::Splat(_)
        | Prim::Size(_)
        | Prim::View(_)
        | Prim::Split(..)
        | Prim::Reshape
        | Prim::Reduce(..)
        | Prim::Partial(..)
        | Prim::Arg(..)
        | Prim::Scan(..)
        | Prim::Sort(_)
        | Prim::Take(_)
        | Prim::Concat(_)
        | Prim::Matmul => 0,
    }
}
