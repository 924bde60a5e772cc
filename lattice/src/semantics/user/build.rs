//! From what a file says to a semantics: the proof that it is a lattice, and the counterexamples if it is none.

use std::ops::Range;
use std::slice;

use petgraph::algo::{astar, tarjan_scc};
use petgraph::graphmap::DiGraphMap;

use super::document::{At, Problem, Problems};
use super::draft::{Draft, Edge, OpDraft};
use crate::convert::Numerics;
use crate::dtype::{DType, Kind};
use crate::lattice::{Lattice, Listed, NoJoin};
use crate::op::Op;
use crate::semantics::operand::Operand;
use crate::semantics::rows::{Compute, OnLattice, Row, Rule};
use crate::semantics::{Defaults, Node, Semantics, jax};

/// How many pairs of dtypes without a least upper bound are told one by one.
const MOST_PAIRS: usize = 10;

/// A step up, without a place in the file.
type Step = (DType, DType);

impl Draft {
    /// The semantics, if the draft is one; else `problems` has something to say.
    pub(super) fn build(self, name: &str, problems: &mut Problems) -> Option<Semantics> {
        let mut steps = self.base_steps(problems);
        steps.1.extend(self.edges.iter().map(|edge| (edge.from.value, edge.to.value)));
        steps.0.extend(self.nodes.iter().map(|node| node.value));
        let (nodes, steps) = steps;
        if self.report_cycles(&steps, problems) || self.incomplete {
            return None;
        }
        if nodes.is_empty() {
            let problem = Problem::new(&(0..0), "the file describes no lattice");
            problems.add(problem.remedy("name a lattice to begin with as `base`, or write [edges]"));
            return None;
        }
        let lattice = lattice(&nodes, &steps)?;
        self.report_ambiguities(&lattice, problems);
        let defaults = self.build_defaults(&lattice, problems);
        let rules = self.build_rules(name, lattice, defaults, problems);
        let numerics = self.numerics.or(self.base.as_ref().map(|base| base.value.numerics()));
        let nodes = DType::ALL.iter().filter(|dtype| rules.lattice.contains(**dtype));
        let nodes = nodes.map(|dtype| Node::of(*dtype)).collect();
        let description = self.description.map(Into::into);
        let semantics = Semantics::on_lattice(rules, nodes, numerics.unwrap_or(Numerics::Jax));
        problems.is_empty().then_some(Semantics { description, ..semantics })
    }

    fn base_rules(&self) -> Option<&OnLattice> {
        self.base.as_ref().and_then(|base| base.value.rules.as_lattice())
    }

    /// The dtypes and steps of the base that are left.
    fn base_steps(&self, problems: &mut Problems) -> (Vec<DType>, Vec<Step>) {
        let Some(base) = self.base_rules() else {
            let without = self.without.first().map(|dtype| (&dtype.span, "without"));
            let remove = self.remove.first().map(|edge| (&edge.to.span, "remove"));
            for (span, key) in [without, remove].into_iter().flatten().filter(|_| !self.incomplete) {
                let problem = Problem::new(span, format!("`{key}` takes from a base, and the file has none"));
                problems.add(problem.remedy("name a `base`, or leave out what is not wanted"));
            }
            return Default::default();
        };
        for dtype in self.without.iter().filter(|dtype| !base.lattice.contains(dtype.value)) {
            problems.add(Problem::new(&dtype.span, format!("{} has no dtype {}", base.name, dtype.value)));
        }
        for (taken, again) in
            self.without.iter().filter_map(|taken| Some((taken, self.mention(taken.value)?)))
        {
            let problem = Problem::new(again, format!("{} is taken away by `without`", taken.value));
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
    fn origin(&self, dtype: DType) -> Range<usize> {
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
            problems.add(problem.remedy("take the edge away: every dtype is itself without one"));
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
            problems.add(problem.remedy("take one of these edges away"));
        }
        any
    }

    /// Names the pairs of dtypes that have several least upper bounds.
    fn report_ambiguities(&self, lattice: &Lattice, problems: &mut Problems) {
        let pairs = ambiguous_pairs(lattice);
        let untold = pairs.len().saturating_sub(MOST_PAIRS);
        for (index, (a, b, reason, bounds)) in pairs.iter().take(MOST_PAIRS).enumerate() {
            let paths: Vec<_> = [a, b]
                .iter()
                .flat_map(|from| bounds.iter().filter_map(|to| lattice.path(**from, *to)))
                .collect();
            let steps: Vec<Step> =
                paths.iter().flat_map(|path| path.windows(2)).map(|step| (step[0], step[1])).collect();
            let edge = self.last_edge_of(&steps).map(|edge| &edge.to.span);
            let taken = self.remove.last().map(|edge| &edge.to.span).or(self.without.last().map(|d| &d.span));
            let span = edge.or(taken).cloned().unwrap_or_else(|| self.origin(*a));
            let mut problem = Problem::new(&span, reason.to_string());
            for from in [*a, *b] {
                let paths: Vec<_> =
                    paths.iter().filter(|path| path[0] == from).map(|path| arrows(path)).collect();
                problem = problem.note(None, format!("{from} has {}", paths.join(" and ")));
            }
            if untold > 0 && index + 1 == MOST_PAIRS {
                let pairs = if untold == 1 { "pair of dtypes has" } else { "pairs of dtypes have" };
                problem = problem.note(None, format!("{untold} more {pairs} several least upper bounds"));
            }
            problems.add(problem.remedy(format!(
                "let one of {} be promoted to the other, take an edge away, or add a dtype between",
                Listed(bounds)
            )));
        }
    }

    fn build_defaults(&self, lattice: &Lattice, problems: &mut Problems) -> Defaults {
        let base = self.base_rules().map(|rules| (rules.name.as_ref(), &rules.defaults));
        let stated = &self.defaults;
        let has = |dtype: &DType| lattice.contains(*dtype);
        let mut given = |key: &str, stated: &Option<At<DType>>| {
            let stated = stated.as_ref()?;
            if !has(&stated.value) {
                let message =
                    format!("the default `{key}` is {}, which is no dtype of this lattice", stated.value);
                problems.add(Problem::new(&stated.span, message));
            }
            Some(stated.value)
        };
        let integer = given("int", &stated.integer);
        let float = given("float", &stated.float);
        let complex = given("complex", &stated.complex);
        let unsigned = given("unsigned", &stated.unsigned);
        let bool_integer = given("bool", &stated.bool_integer);
        let small_float = given("small-float", &stated.small_float);

        let mut decide =
            |weak: DType, key: &str, given: Option<DType>, place: Option<&At<DType>>, base: Option<Step2>| {
                let inherited = base.filter(|(_, dtype)| has(dtype)).map(|(_, dtype)| dtype);
                let kind = [weak.kind()];
                let Some(default) = given.or(inherited) else {
                    let widest = widest(lattice, &kind);
                    if has(&weak) {
                        let message = match base {
                            Some((name, dtype)) => {
                                format!("{weak} becomes {dtype} in {name}, which is no dtype of this lattice")
                            }
                            None => format!("nothing says what {weak} becomes where nothing else decides"),
                        };
                        let example = widest.unwrap_or(fallback(weak));
                        let problem = Problem::new(&self.origin(weak), message);
                        problems.add(problem.remedy(format!("say it: [defaults] {key} = \"{example}\"")));
                    }
                    return widest.unwrap_or(fallback(weak));
                };
                if has(&weak) && has(&default) && !lattice.le(weak, default) {
                    let span = place.map_or_else(|| self.origin(weak), |place| place.span.clone());
                    let problem =
                        Problem::new(&span, format!("{weak} is not promoted to {default}, its default"));
                    problems
                        .add(problem.remedy(format!("add an edge from {weak}, or choose another default")));
                }
                default
            };
        let of_base = |field: fn(&Defaults) -> DType| base.map(|(name, defaults)| (name, field(defaults)));
        let default_integer =
            decide(DType::WeakInt, "int", integer, stated.integer.as_ref(), of_base(|base| base.integer));
        let default_float =
            decide(DType::WeakFloat, "float", float, stated.float.as_ref(), of_base(|base| base.float));
        let default_complex = decide(
            DType::WeakComplex,
            "complex",
            complex,
            stated.complex.as_ref(),
            of_base(|base| base.complex),
        );
        for (weak, strong) in [(DType::WeakI64, DType::I64), (DType::WeakF64, DType::F64)] {
            if has(&weak) && !lattice.le(weak, strong) {
                let message =
                    format!("{weak} becomes {strong} where nothing else decides, and is not promoted to it");
                problems.add(Problem::new(&self.origin(weak), message));
            }
        }
        // What the base says of these goes with what it says of the default integer and float.
        let inherited = |replaced: Option<DType>, field: fn(&Defaults) -> DType| {
            base.filter(|_| replaced.is_none()).map(|(_, base)| field(base)).filter(has)
        };
        let small =
            small_float.or_else(|| inherited(float, |base| base.small_float)).unwrap_or(default_float);
        if let Some(place) = stated.small_float.as_ref().filter(|_| has(&small) && has(&default_float))
            && !lattice.le(small, default_float)
        {
            let message = format!(
                "the default `small-float` is {small}, which is not promoted to `float`, {default_float}"
            );
            problems.add(Problem::new(&place.span, message));
        }
        let same_width = || {
            let is_it =
                |d: &DType| d.kind() == Kind::Unsigned && d.bits() == default_integer.bits() && has(d);
            DType::ALL.iter().copied().find(is_it)
        };
        Defaults {
            integer: default_integer,
            float: default_float,
            complex: default_complex,
            unsigned: unsigned
                .or_else(|| inherited(integer, |base| base.unsigned))
                .or_else(same_width)
                .unwrap_or(default_integer),
            bool_integer: bool_integer
                .or_else(|| inherited(integer, |base| base.bool_integer))
                .unwrap_or(default_integer),
            small_float: small,
        }
    }

    fn build_rules(
        &self,
        name: &str,
        lattice: Lattice,
        defaults: Defaults,
        problems: &mut Problems,
    ) -> OnLattice {
        let name = self.name.as_deref().unwrap_or(name);
        let rules = OnLattice::new(name, lattice, defaults, |join| join, plain_jax);
        let mut rules = OnLattice { closed: true, ..rules };
        if let Some(base) = self.base_rules() {
            rules.rules.clone_from(&base.rules);
        }
        for draft in &self.ops {
            let rule = draft.apply(&rules.rules[draft.op.value as usize], problems);
            let Some(rule) = rule else { continue };
            if let Rule::Together(row) | Rule::Where(row) = rule {
                draft.check(&rules, row, problems);
            }
            rules.rules[draft.op.value as usize] = rule;
        }
        rules
    }
}

/// The default of a base: whose, and which.
type Step2<'a> = (&'a str, DType);

impl OpDraft {
    /// The rule of the op, given the base's.
    fn apply(&self, base: &Rule, problems: &mut Problems) -> Option<Rule> {
        let op = self.op.value;
        let said = [
            self.accepts.as_ref().map(|at| &at.span),
            self.compute.as_ref().map(|at| &at.span),
            self.result.as_ref().map(|at| &at.span),
            self.weak.as_ref().map(|at| &at.span),
        ];
        let said = said.into_iter().flatten().min_by_key(|span| span.start);
        let (Some(said), None) = (said, &self.refuse) else {
            if let Some(said) = said {
                let message = format!("{} is refused, and this says what it does", op.name());
                problems.add(Problem::new(said, message).remedy("take one of the two away"));
            }
            return self.refuse.as_ref().map(|because| Rule::Forbidden(because.as_str().into()));
        };
        let changed = |row: Row| Row {
            accepts: self.accepts.as_ref().map_or(row.accepts, |at| at.value),
            compute: self.compute.as_ref().map_or(row.compute, |at| at.value),
            output: self.result.as_ref().map_or(row.output, |at| at.value),
            weakness: self.weak.as_ref().map_or(row.weakness, |at| at.value),
        };
        match base {
            Rule::Together(row) => Some(Rule::Together(changed(*row))),
            Rule::Where(row) => Some(Rule::Where(changed(*row))),
            Rule::Own(_) | Rule::None(_) | Rule::Forbidden(_) if op == Op::Where => {
                Some(Rule::Where(changed(Row::PLAIN)))
            }
            Rule::Own(_) | Rule::None(_) | Rule::Forbidden(_) => Some(Rule::Together(changed(Row::PLAIN))),
            Rule::Take | Rule::First | Rule::Stated => {
                let message = format!("{} promotes nothing, so it can only be refused", op.name());
                problems.add(Problem::new(said, message).remedy("write `refuse`, or take this away"));
                None
            }
        }
    }

    /// Checks that the row leads to no dtype that the lattice lacks.
    fn check(&self, rules: &OnLattice, row: Row, problems: &mut Problems) {
        let op = self.op.value;
        if let Some(At { value: Compute::With(dtype), span }) = &self.compute
            && !rules.lattice.contains(*dtype)
        {
            let message = format!("{} computes in {dtype}, which is no dtype of this lattice", op.name());
            problems.add(Problem::new(span, message));
            return;
        }
        let nodes = DType::ALL.iter().copied().filter(|dtype| rules.lattice.contains(*dtype));
        let beyond = |dtype: DType| {
            let typing = rules.together(op, row, &[Operand::value(dtype)]).ok()?;
            Some((dtype, rules.beyond(&typing, 1)?))
        };
        let Some((from, to)) = nodes.into_iter().find_map(beyond) else { return };
        let compute = self.compute.as_ref().map(|at| &at.span);
        let span = compute.or(self.result.as_ref().map(|at| &at.span)).unwrap_or(&self.op.span);
        let message = format!("{} of {from} would need {to}, which is no dtype of this lattice", op.name());
        problems.add(Problem::new(span, message).remedy(format!(
            "add {to} to the lattice, change [defaults], or let the op accept dtypes of other kinds only"
        )));
    }
}

/// The rules of a lattice without a base: JAX's, but for its care in `matmul` about how weak arrays are carried.
fn plain_jax(op: Op) -> Rule {
    if op == Op::Matmul { Rule::Together(Row::PLAIN) } else { jax::rule(op) }
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
            Problem::new(&edge.to.span, message).remedy("take away one of these edges")
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

/// Pairs of dtypes with several least upper bounds: first those that no greater pair explains.
fn ambiguous_pairs(lattice: &Lattice) -> Vec<(DType, DType, NoJoin, Vec<DType>)> {
    let nodes: Vec<_> = DType::ALL.iter().copied().filter(|dtype| lattice.contains(*dtype)).collect();
    let mut pairs = Vec::new();
    for (index, &a) in nodes.iter().enumerate() {
        for &b in &nodes[index + 1..] {
            let bounds = lattice.minimal_bounds(a, b);
            if bounds.len() > 1 {
                let reason = NoJoin::Ambiguous { dtypes: vec![a, b], bounds: bounds.clone() };
                pairs.push((a, b, reason, bounds));
            }
        }
    }
    let below = |a, b, c, d| lattice.le(a, c) && lattice.le(b, d) || lattice.le(a, d) && lattice.le(b, c);
    let is_derived: Vec<bool> = pairs
        .iter()
        .map(|(a, b, ..)| pairs.iter().any(|(c, d, ..)| (a, b) != (c, d) && below(*a, *b, *c, *d)))
        .collect();
    let mut derived = is_derived.into_iter();
    let mut ranked: Vec<_> = pairs.into_iter().map(|pair| (derived.next(), pair)).collect();
    ranked.sort_by_key(|(derived, _)| *derived);
    ranked.into_iter().map(|(_, pair)| pair).collect()
}

/// The widest strong dtype of some kinds.
fn widest(lattice: &Lattice, kinds: &[Kind]) -> Option<DType> {
    let nodes = lattice.nodes().iter().copied();
    nodes
        .filter(|dtype| !dtype.is_weak() && kinds.contains(&dtype.kind()))
        .max_by_key(|dtype| (dtype.bits(), *dtype))
}

/// What stands for the default of a lattice that has nothing of that kind, where no rule can lead.
const fn fallback(weak: DType) -> DType {
    Defaults::new(DType::I64, DType::F64, DType::C128).strengthen(weak)
}

/// A path as it is drawn: `u8 → i16 → i32`.
fn arrows(path: &[DType]) -> String {
    path.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(" → ")
}
