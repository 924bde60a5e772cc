//! Promotion lattices: a partial order of dtypes given by immediate successors, and what follows from it.
//!
//! Build one with [`Lattice::new`] from edges `(dtype, its immediate successors)`; ask for [`join`](Lattice::join)s of
//! sets, for the [`path`](Lattice::path) a dtype is promoted along, and for the proof
//! ([`check`](Lattice::check)) that every set with an upper bound has a least one.
//!
//! ## How it works
//! The edges stand in a `petgraph` graph. The upper bounds of a dtype are what is reachable from it, kept as one
//! bitset a dtype; the upper bounds of a set are the intersection, and the join is the one among them that lies
//! below all others. [`JoinTable`] holds all joins of two for the hot path; a test compares it with the graph.
//!
//! ## Laws
//! `join` is idempotent, commutative and associative wherever it is defined, because it is a property of the set.

use std::collections::VecDeque;
use std::fmt;

use petgraph::Direction;
use petgraph::algo::toposort;
use petgraph::graphmap::DiGraphMap;

use crate::dtype::DType;

/// A set of dtypes, as bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct DTypeSet(u64);

const _: () = assert!(DType::COUNT <= 64, "DTypeSet holds one bit a dtype");

impl DTypeSet {
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// The set with `dtype` added.
    pub const fn with(self, dtype: DType) -> Self {
        Self(self.0 | 1 << dtype as u64)
    }

    /// Whether `dtype` is in the set.
    pub const fn contains(self, dtype: DType) -> bool {
        self.0 >> dtype as u64 & 1 == 1
    }

    /// What both sets have.
    pub const fn intersection(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// Whether nothing is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether every dtype of this set is in `other`.
    pub const fn is_subset_of(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The dtypes in the set, in declaration order.
    pub fn iter(self) -> impl Iterator<Item = DType> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let dtype = DType::from_index(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(dtype)
        })
    }
}

impl FromIterator<DType> for DTypeSet {
    fn from_iter<I: IntoIterator<Item = DType>>(dtypes: I) -> Self {
        dtypes.into_iter().fold(Self::EMPTY, Self::with)
    }
}

/// Dtypes as a reader expects them: `u8, i8 and f16`.
pub(crate) struct Listed<'a, T = DType>(pub &'a [T]);

impl<T: fmt::Display> fmt::Display for Listed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, item) in self.0.iter().enumerate() {
            let separator = match i {
                0 => "",
                _ if i + 1 == self.0.len() => " and ",
                _ => ", ",
            };
            write!(f, "{separator}{item}")?;
        }
        Ok(())
    }
}

/// A number as it is written in a sentence: a word up to ten.
pub(crate) struct Count(pub usize);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const WORDS: [&str; 11] =
            ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"];
        match WORDS.get(self.0) {
            Some(word) => f.write_str(word),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Why a set of dtypes has no join.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoJoin {
    /// Nothing lies above all of them.
    #[error("{} have no upper bound", Listed(.dtypes))]
    NoUpperBound {
        /// The set that was to be joined.
        dtypes: Vec<DType>,
    },
    /// Several upper bounds are minimal: the order is not a lattice.
    #[error("{} have {} least upper bounds: {}", Listed(.dtypes), Count(.bounds.len()), Listed(.bounds))]
    Ambiguous {
        /// The set that was to be joined.
        dtypes: Vec<DType>,
        /// Its minimal upper bounds.
        bounds: Vec<DType>,
    },
    /// The promotion system does not know a dtype.
    #[error("{dtype} is not one of its dtypes")]
    NoNode {
        /// The dtype.
        dtype: DType,
    },
    /// A rule that is not a lattice leaves the promotion undefined.
    #[error("{} are not promoted: {because}", Listed(.dtypes))]
    Undefined {
        /// The dtypes that were to be promoted.
        dtypes: Vec<DType>,
        /// What the rule says.
        because: &'static str,
    },
}

/// The edges lead back to where they began, so they are no order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is promoted to itself along a cycle of edges")]
pub struct Cycle(pub DType);

/// A partial order of dtypes. See the [module](self).
#[derive(Clone, Debug)]
pub struct Lattice {
    graph: DiGraphMap<DType, ()>,
    /// For each dtype, itself and all above it; empty for a dtype that is no node.
    upper: [DTypeSet; DType::COUNT],
    /// The nodes, each after all that lie below it.
    order: Vec<DType>,
}

impl Lattice {
    /// The order that `edges`, pairs of a dtype and its immediate successors, span over `nodes` and the edges' ends.
    ///
    /// # Errors
    /// [`Cycle`] if a dtype would lie above itself.
    pub fn new(nodes: &[DType], edges: &[(DType, &[DType])]) -> Result<Self, Cycle> {
        let mut graph = DiGraphMap::new();
        for &node in nodes {
            graph.add_node(node);
        }
        for &(from, successors) in edges {
            for &to in successors {
                graph.add_edge(from, to, ());
            }
        }
        let order = toposort(&graph, None).map_err(|cycle| Cycle(cycle.node_id()))?;
        let mut upper = [DTypeSet::EMPTY; DType::COUNT];
        for &node in order.iter().rev() {
            let above = graph.neighbors(node).map(|above| upper[above as usize].0).fold(0, |a, b| a | b);
            upper[node as usize] = DTypeSet(above).with(node);
        }
        Ok(Self { graph, upper, order })
    }

    /// The same order, its edges only between immediate neighbours: a transitive reduction.
    pub fn reduced(&self) -> Self {
        let mut reduced = self.clone();
        for (from, to, ()) in self.graph.all_edges() {
            let between = |c: DType| c != from && c != to && self.le(from, c) && self.le(c, to);
            if self.order.iter().any(|c| between(*c)) {
                reduced.graph.remove_edge(from, to);
            }
        }
        reduced
    }

    /// The nodes, each after all that lie below it.
    pub fn nodes(&self) -> &[DType] {
        &self.order
    }

    /// The immediate successors of `dtype`.
    pub fn successors(&self, dtype: DType) -> impl Iterator<Item = DType> + '_ {
        self.graph.neighbors_directed(dtype, Direction::Outgoing)
    }

    /// Whether `dtype` is a node.
    pub const fn contains(&self, dtype: DType) -> bool {
        !self.upper[dtype as usize].is_empty()
    }

    /// `dtype` and everything it can be promoted to; empty if it is no node.
    pub fn upper_bounds(&self, dtype: DType) -> DTypeSet {
        self.upper[dtype as usize]
    }

    /// Whether `a` can be promoted to `b`.
    pub fn le(&self, a: DType, b: DType) -> bool {
        self.upper_bounds(a).contains(b)
    }

    /// The least upper bound of a set of dtypes: an n-ary join, not a fold.
    ///
    /// # Errors
    /// [`NoJoin`] if the set has no upper bound or more than one minimal one, or a dtype is no node. The empty set has
    /// no join.
    pub fn join(&self, dtypes: &[DType]) -> Result<DType, NoJoin> {
        if let Some(&dtype) = dtypes.iter().find(|dtype| !self.contains(**dtype)) {
            return Err(NoJoin::NoNode { dtype });
        }
        let bounds = dtypes
            .iter()
            .map(|d| self.upper_bounds(*d))
            .reduce(DTypeSet::intersection)
            .unwrap_or(DTypeSet::EMPTY);
        if let Some(least) = self.least(bounds) {
            return Ok(least);
        }
        let dtypes = dtypes.to_vec();
        if bounds.is_empty() {
            return Err(NoJoin::NoUpperBound { dtypes });
        }
        Err(NoJoin::Ambiguous { dtypes, bounds: self.minimal(bounds) })
    }

    /// The one of some dtypes that lies below all others.
    fn least(&self, bounds: DTypeSet) -> Option<DType> {
        bounds.iter().find(|d| bounds.is_subset_of(self.upper_bounds(*d)))
    }

    /// Whether two dtypes have a join, or no upper bound at all.
    pub(crate) fn has_join_if_bounded(&self, a: DType, b: DType) -> bool {
        let bounds = self.upper_bounds(a).intersection(self.upper_bounds(b));
        bounds.is_empty() || self.least(bounds).is_some()
    }

    /// The minimal upper bounds of two dtypes: none, one (their join), or several, and then the order is not a lattice.
    pub fn minimal_bounds(&self, a: DType, b: DType) -> Vec<DType> {
        self.minimal(self.upper_bounds(a).intersection(self.upper_bounds(b)))
    }

    fn minimal(&self, bounds: DTypeSet) -> Vec<DType> {
        let minimal = |d: &DType| !bounds.iter().any(|other| other != *d && self.le(other, *d));
        bounds.iter().filter(minimal).collect()
    }

    /// A shortest path of immediate promotions from `from` up to `to`, both included.
    pub fn path(&self, from: DType, to: DType) -> Option<Vec<DType>> {
        let mut came_from = [None; DType::COUNT];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node == to {
                let mut path = vec![to];
                while let Some(previous) = came_from[path[path.len() - 1] as usize] {
                    path.push(previous);
                }
                path.reverse();
                return Some(path);
            }
            for next in self.successors(node) {
                if next != from && came_from[next as usize].is_none() {
                    came_from[next as usize] = Some(node);
                    queue.push_back(next);
                }
            }
        }
        None
    }

    /// Proves that every two dtypes with a common upper bound have a least one, which makes the order, completed by
    /// a top that stands for "refused", a join-semilattice.
    ///
    /// # Errors
    /// The first counterexample, in declaration order.
    pub fn check(&self) -> Result<(), NoJoin> {
        let nodes = || DType::ALL.iter().copied().filter(|node| self.graph.contains_node(*node));
        for a in nodes() {
            for b in nodes() {
                if let Err(counterexample @ NoJoin::Ambiguous { .. }) = self.join(&[a, b]) {
                    return Err(counterexample);
                }
            }
        }
        Ok(())
    }
}

/// All joins of two dtypes, precomputed from a [`Lattice`] for the hot path.
#[derive(Clone, Debug)]
pub struct JoinTable([[u8; DType::COUNT]; DType::COUNT]);

impl JoinTable {
    const NONE: u8 = u8::MAX;

    /// The joins of `lattice`.
    pub fn new(lattice: &Lattice) -> Self {
        let mut table = [[Self::NONE; DType::COUNT]; DType::COUNT];
        for &a in DType::ALL {
            for &b in DType::ALL {
                let bounds = lattice.upper_bounds(a).intersection(lattice.upper_bounds(b));
                if let Some(join) = lattice.least(bounds) {
                    table[a as usize][b as usize] = join as u8;
                }
            }
        }
        Self(table)
    }

    /// The join of two dtypes, if they have one.
    pub const fn join(&self, a: DType, b: DType) -> Option<DType> {
        DType::from_index(self.0[a as usize][b as usize] as usize)
    }
}
