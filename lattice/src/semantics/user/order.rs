//! The order that a file spans: what is left of its base, its own edges, and the counterexamples if it is not a lattice.

use std::ops::Range;
use std::slice;

use petgraph::algo::{astar, tarjan_scc};
use petgraph::graphmap::DiGraphMap;

use super::draft::{Draft, Edge};
use crate::document::{Problem, Problems};
use crate::dtype::DType;
use crate::lattice::{Lattice, Listed, NoJoin};

/// How many pairs of dtypes without a least upper bound are shown one by one.
const MOST_PAIRS: usize = 10;

/// How many paths up from a dtype are shown.
const MOST_PATHS: usize = 3;

/// A step up, without a place in the file.
type Step = (DType, DType);

impl Draft {
    /// The order, which has a least upper bound of any two dtypes that have one, if nothing is added to `problems`. `None`
    /// if there is no order at all.
    pub(super) fn build_order(&self, problems: &mut Problems) -> Option<Lattice> {
        let (mut nodes, mut steps) = self.base_steps(problems);
        if self.incomplete {
            // What could not be read may be an edge of the base that was to be removed.
            steps.clear();
        }
        nodes.extend(self.nodes.iter().map(|node| node.value));
        steps.extend(self.edges.iter().map(|edge| (edge.from.value, edge.to.value)));
        if self.report_cycles(&steps, problems) || self.incomplete {
            return None;
        }
        if nodes.is_empty() {
            let problem = Problem::new(&(0..0), "the file describes no lattice");
            problems.add(problem.remedy("name a lattice to start from as `base`, or write [edges]"));
            return None;
        }
        let lattice = lattice(&nodes, &steps)?;
        self.report_ambiguities(&lattice, problems);
        Some(lattice)
    }

    /// The dtypes and steps of the base that are left.
    fn base_steps(&self, problems: &mut Problems) -> (Vec<DType>, Vec<Step>) {
        let Some(base) = self.base_rules() else {
            let without = self.without.first().map(|dtype| (&dtype.span, "without"));
            let remove = self.remove.first().map(|edge| (&edge.to.span, "remove"));
            for (span, key) in [without, remove].into_iter().flatten().filter(|_| !self.incomplete) {
                let problem =
                    Problem::new(span, format!("`{key}` removes from a base, but the file has none"));
                problems.add(problem.remedy("name a `base`, or list only what the lattice is to have"));
            }
            return Default::default();
        };
        for dtype in self.without.iter().filter(|dtype| !base.lattice.contains(dtype.value)) {
            problems.add(Problem::new(&dtype.span, format!("{} has no dtype {}", base.name, dtype.value)));
        }
        for (taken, again) in
            self.without.iter().filter_map(|taken| Some((taken, self.mention(taken.value)?)))
        {
            let problem = Problem::new(again, format!("{} is removed by `without`", taken.value));
            problems.add(problem.note(Some(&taken.span), "here"));
        }
        let is_kept = |dtype: &DType| !self.without.iter().any(|taken| taken.value == *dtype);
        let nodes: Vec<DType> = base.lattice.nodes().iter().copied().filter(is_kept).collect();
        let above = |a: DType| {
            nodes.iter().filter(move |b| a != **b && base.lattice.le(a, **b)).map(move |b| (a, *b))
        };
        let steps: Vec<Step> = nodes.iter().flat_map(|a| above(*a)).collect();
        let Some(order) = lattice(&nodes, &steps) else { return Default::default() };
        let order = order.reduced();
        let mut steps: Vec<Step> = steps_of(&order);
        for edge in &self.remove {
            let step = (edge.from.value, edge.to.value);
            match steps.iter().position(|other| *other == step) {
                Some(index) => drop(steps.remove(index)),
                None => problems.add(no_such_step(&base.name, &order, edge)),
            }
        }
        (nodes, steps)
    }

    /// Where `[edges]` first mentions a dtype.
    fn mention(&self, dtype: DType) -> Option<&Range<usize>> {
        let successors = self.edges.iter().map(|edge| &edge.to);
        let mentions = self.nodes.iter().chain(successors).filter(|node| node.value == dtype);
        mentions.map(|node| &node.span).min_by_key(|span| span.start)
    }

    /// Where the file mentions a dtype or, for one that comes with the base, where it names the base.
    pub(super) fn origin(&self, dtype: DType) -> Range<usize> {
        let base = || self.base.as_ref().map(|base| &base.span);
        self.mention(dtype).or_else(base).cloned().unwrap_or_default()
    }

    /// The last of the file's edges that is one of some steps.
    fn last_edge_of(&self, steps: &[Step]) -> Option<&Edge> {
        let edges = self.edges.iter().filter(|edge| steps.contains(&(edge.from.value, edge.to.value)));
        edges.max_by_key(|edge| edge.to.span.start)
    }

    /// Names one whole cycle of each set of dtypes that are promoted to each other; whether there is any.
    fn report_cycles(&self, steps: &[Step], problems: &mut Problems) -> bool {
        let (loops, steps): (Vec<Step>, Vec<Step>) = steps.iter().partition(|(from, to)| from == to);
        for edge in self.edges.iter().filter(|edge| edge.from.value == edge.to.value) {
            let problem = Problem::new(&edge.to.span, format!("{} is promoted to itself", edge.to.value));
            problems.add(problem.remedy("remove the edge: every dtype is promoted to itself without one"));
        }
        let graph: DiGraphMap<DType, ()> = steps.iter().map(|(a, b)| (*a, *b, ())).collect();
        let mut any = !loops.is_empty();
        for mutual in tarjan_scc(&graph) {
            let inside = |(a, b): &&Step| mutual.contains(a) && mutual.contains(b);
            let inside: Vec<Step> = steps.iter().filter(inside).copied().collect();
            let Some(closing) = self.last_edge_of(&inside) else { continue };
            let (from, to) = (closing.from.value, closing.to.value);
            let Some((_, back)) = astar(&graph, to, |node| node == from, |_| 1, |_| 0) else { continue };
            any = true;
            let cycle = [&[from], &back[..]].concat();
            let message = format!("{from} is promoted to itself: {}", arrows(&cycle));
            let mut problem = Problem::new(&closing.to.span, message);
            for step in back.windows(2) {
                if let Some(edge) = self.last_edge_of(&[(step[0], step[1])]) {
                    problem = problem.note(Some(&edge.to.span), format!("here is {}", arrows(step)));
                }
            }
            problems.add(problem.remedy("remove one of these edges"));
        }
        any
    }

    /// Names the pairs of dtypes that have several least upper bounds.
    fn report_ambiguities(&self, lattice: &Lattice, problems: &mut Problems) {
        let pairs = Ambiguity::all(lattice);
        let mut untold = pairs.len().saturating_sub(MOST_PAIRS);
        for pair in pairs.into_iter().take(MOST_PAIRS) {
            let [a, b] = pair.of;
            let paths = |from| pair.bounds.iter().filter_map(move |to| lattice.path(from, *to));
            let steps: Vec<Step> = paths(a)
                .chain(paths(b))
                .flat_map(|path| path.windows(2).map(|s| (s[0], s[1])).collect::<Vec<_>>())
                .collect();
            let edge = self.last_edge_of(&steps).map(|edge| &edge.to.span);
            let taken =
                self.remove.last().map(|edge| &edge.to).or(self.without.last()).map(|dtype| &dtype.span);
            let span = edge.or(taken).cloned().unwrap_or_else(|| self.origin(a));
            let reason = NoJoin::Ambiguous { dtypes: pair.of.to_vec(), bounds: pair.bounds.clone() };
            let mut problem = Problem::new(&span, reason.to_string());
            if let Some(cause) = pair.cause {
                problems.add(problem.note(None, format!("because {} above them have", Listed(&cause))));
                continue;
            }
            for from in pair.of {
                let paths: Vec<_> = paths(from).take(MOST_PATHS).map(|path| arrows(&path)).collect();
                problem = problem.note(None, format!("{from} is promoted along {}", Listed(&paths)));
            }
            if untold > 0 {
                let pairs = if untold == 1 { "pair of dtypes has" } else { "pairs of dtypes have" };
                problem = problem.note(None, format!("{untold} more {pairs} several least upper bounds"));
                untold = 0;
            }
            let remedy = match pair.bounds[..] {
                [c, d] => format!("add an edge from {c} to {d}, or from {d} to {c}"),
                _ => "add edges from one of them to the others".to_owned(),
            };
            problems.add(problem.remedy(format!("{remedy}; or remove an edge; or add a dtype between them")));
        }
    }
}

fn lattice(nodes: &[DType], steps: &[Step]) -> Option<Lattice> {
    let edges: Vec<_> = steps.iter().map(|(from, to)| (*from, slice::from_ref(to))).collect();
    Lattice::new(nodes, &edges).ok()
}

fn steps_of(lattice: &Lattice) -> Vec<Step> {
    let steps = |from: DType| lattice.successors(from).map(move |to| (from, to));
    lattice.nodes().iter().flat_map(|from| steps(*from)).collect()
}

/// Why an edge that is to be removed is none.
fn no_such_step(base: &str, order: &Lattice, edge: &Edge) -> Problem {
    let (from, to) = (edge.from.value, edge.to.value);
    match order.path(from, to) {
        Some(path) if path.len() > 2 => {
            let message = format!("{base} has no edge {from} → {to}: it promotes {}", arrows(&path));
            Problem::new(&edge.to.span, message).remedy("remove one of these edges")
        }
        _ => {
            let successors: Vec<_> = order.successors(from).collect();
            let problem = Problem::new(&edge.to.span, format!("{base} has no edge {from} → {to}"));
            if successors.is_empty() {
                problem
            } else {
                problem.remedy(format!("its edges from {from} lead to {}", Listed(&successors)))
            }
        }
    }
}

/// Two dtypes with several least upper bounds.
struct Ambiguity {
    of: [DType; 2],
    bounds: Vec<DType>,
    /// Two dtypes above them that have several already.
    cause: Option<[DType; 2]>,
}

impl Ambiguity {
    /// All there are: first those without a cause above them.
    fn all(lattice: &Lattice) -> Vec<Self> {
        let nodes: Vec<_> = DType::ALL.iter().copied().filter(|dtype| lattice.contains(*dtype)).collect();
        let mut all = Vec::new();
        for (index, &a) in nodes.iter().enumerate() {
            for &b in &nodes[index + 1..] {
                if !lattice.has_join_if_bounded(a, b) {
                    all.push(Self { of: [a, b], bounds: lattice.minimal_bounds(a, b), cause: None });
                }
            }
        }
        let le = |[a, b]: [DType; 2], [c, d]: [DType; 2]| lattice.le(a, c) && lattice.le(b, d);
        let is_below =
            |low: [DType; 2], high: [DType; 2]| low != high && (le(low, high) || le(low, [high[1], high[0]]));
        let pairs: Vec<_> = all.iter().map(|pair| pair.of).collect();
        let greatest: Vec<_> =
            pairs.iter().copied().filter(|pair| !pairs.iter().any(|other| is_below(*pair, *other))).collect();
        for pair in &mut all {
            pair.cause = greatest.iter().copied().find(|cause| is_below(pair.of, *cause));
        }
        all.sort_by_key(|pair| pair.cause.is_some());
        all
    }
}

/// A path as it is drawn: `u8 → i16 → i32`.
fn arrows(path: &[DType]) -> String {
    path.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(" → ")
}
