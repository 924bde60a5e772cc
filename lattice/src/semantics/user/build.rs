//! From what a file says to a semantics: the order, the defaults, and a rule for each op.

use super::defaults::Sources;
use super::draft::{Draft, OpDraft, is_taken};
use crate::convert::Numerics;
use crate::document::{At, Problem, Problems};
use crate::dtype::DType;
use crate::lattice::{Lattice, Listed};
use crate::op::Op;
use crate::semantics::operand::Operand;
use crate::semantics::rows::{Compute, OnLattice, Row, Rule};
use crate::semantics::{Defaults, Node, Rules, Semantics, jax};

impl Draft {
    /// The semantics, if the draft is one; else `problems` has something to say.
    pub(super) fn build(self, name: &str, problems: &mut Problems) -> Option<Semantics> {
        let lattice = self.build_order(problems)?;
        let defaults = Sources { draft: &self, base: self.base_rules(), lattice: &lattice }.build(problems);
        let rules = self.build_rules(name, lattice, defaults, problems);
        let numerics = self.numerics.or(self.base.as_ref().map(|base| base.value.numerics()));
        let nodes = DType::ALL.iter().filter(|dtype| rules.lattice.contains(**dtype));
        let nodes = nodes.map(|dtype| Node::of(*dtype)).collect();
        let description = self.description.map(Into::into);
        let semantics = Semantics::on_lattice(rules, nodes, numerics.unwrap_or(Numerics::Jax));
        problems.is_empty().then_some(Semantics { description, ..semantics })
    }

    pub(super) fn base_rules(&self) -> Option<&OnLattice> {
        self.base.as_ref().and_then(|base| base.value.rules.as_lattice())
    }

    fn build_rules(
        &self,
        name: &str,
        lattice: Lattice,
        defaults: Defaults,
        problems: &mut Problems,
    ) -> OnLattice {
        let name = self.name.clone().unwrap_or_else(|| name_of_file(name));
        let rules = OnLattice::new(&name, lattice, defaults, |join| join, plain_jax);
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
        self.check_own(&rules, problems);
        rules
    }

    /// Checks that functions of the base's own, such as Python's `floor`, return the same of a default as of what is weak:
    /// they may have the base's defaults in them. Functions of several operands have none.
    fn check_own(&self, rules: &OnLattice, problems: &mut Problems) {
        let Some(base) = self.base_rules() else { return };
        let weak: Vec<_> = rules.lattice.nodes().iter().copied().filter(|dtype| dtype.is_weak()).collect();
        let result = |op, dtype| {
            let typing = rules.infer(op, &[Operand::value(dtype)]).ok().flatten();
            typing.map(|typing| rules.defaults.strengthen(typing.result))
        };
        let agrees = |op, weak| match result(op, weak) {
            Some(of_weak) => result(op, rules.defaults.strengthen(weak)) == Some(of_weak),
            None => true,
        };
        let is_own = |op: &Op| matches!(rules.rules[*op as usize], Rule::Own(_));
        let unary = Op::ALL.iter().copied().filter(|op| is_own(op) && op.info().arity.required == 1);
        let differing: Vec<_> = unary.filter(|op| weak.iter().any(|weak| !agrees(*op, *weak))).collect();
        if differing.is_empty() {
            return;
        }
        let names: Vec<_> = differing.iter().map(|op| op.name()).collect();
        let (integer, of_base) = (rules.defaults.integer, base.defaults.integer);
        let message = format!(
            "the default `int` is {integer}, but {} of {} are defined for {of_base} only",
            Listed(&names),
            base.name
        );
        let stated = self.defaults.integer.as_ref();
        let span = stated.map_or_else(|| self.origin(DType::WeakInt), |at| at.span.clone());
        let say = "define these ops below [ops]";
        problems.add(Problem::new(&span, message).remedy(match rules.lattice.contains(of_base) {
            true => format!("write int = \"{of_base}\" below [defaults], or {say}"),
            false => say.to_owned(),
        }));
    }
}

impl OpDraft {
    /// The rule of the op, given the base's.
    fn apply(&self, base: &Rule, problems: &mut Problems) -> Option<Rule> {
        let op = self.op.value;
        let stated = [
            self.accepts.as_ref().map(|at| &at.span),
            self.compute.as_ref().map(|at| &at.span),
            self.result.as_ref().map(|at| &at.span),
            self.weak.as_ref().map(|at| &at.span),
        ];
        let stated = stated.into_iter().flatten().min_by_key(|span| span.start);
        let (Some(stated), None) = (stated, &self.refuse) else {
            if let Some(stated) = stated {
                let message = format!("{} is refused, but this entry defines it", op.name());
                problems.add(Problem::new(stated, message).remedy("remove one of the two"));
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
                problems.add(Problem::new(stated, message).remedy("write `refuse`, or remove this entry"));
                None
            }
        }
    }

    /// Checks that the row leads to no dtype that the lattice lacks, nor to one that the op does not accept.
    fn check(&self, rules: &OnLattice, row: Row, problems: &mut Problems) {
        let op = self.op.value;
        if let Some(At { value: Compute::With(dtype), span }) = &self.compute
            && !rules.lattice.contains(*dtype)
        {
            let message = format!("{} computes in {dtype}, which is not a dtype of this lattice", op.name());
            problems.add(Problem::new(span, message));
            return;
        }
        let nodes = DType::ALL.iter().copied().filter(|dtype| rules.lattice.contains(*dtype));
        let beyond = |dtype: DType| {
            let typing = rules.together(op, row, &[Operand::value(dtype)]).ok()?;
            Some((dtype, rules.beyond(&typing, 1)?))
        };
        let Some((from, to)) = nodes.into_iter().find_map(beyond) else {
            self.check_accepted(rules, row, problems);
            return;
        };
        let compute = self.compute.as_ref().map(|at| &at.span);
        let span = compute.or(self.result.as_ref().map(|at| &at.span)).unwrap_or(&self.op.span);
        let message =
            format!("{} of {from} would need {to}, which is not a dtype of this lattice", op.name());
        problems.add(Problem::new(span, message).remedy(format!(
            "add {to} to the lattice, change [defaults], or let the op accept dtypes of other kinds only"
        )));
    }

    /// Checks that the op accepts the dtypes that it computes in: its operands have them once they are promoted.
    fn check_accepted(&self, rules: &OnLattice, row: Row, problems: &mut Problems) {
        let refused = |from: DType| {
            let to = rules.compute(self.op.value, row, from).ok()?;
            (!row.accepts.has(to.kind())).then_some((from, to))
        };
        let Some((from, to)) = rules.lattice.nodes().iter().copied().find_map(refused) else { return };
        let compute = self.compute.as_ref().map(|at| &at.span);
        let span = compute.or(self.accepts.as_ref().map(|at| &at.span)).unwrap_or(&self.op.span);
        let op = self.op.value.name();
        let problem =
            Problem::new(span, format!("{op} of {from} would compute in {to}, which it does not accept"));
        problems.add(problem.remedy("add the kind of that dtype to `accepts`"));
    }
}

/// The name of a semantics whose file states none: the file's, or with its ending that of a file called as a semantics
/// that comes with Promote is.
fn name_of_file(stem: &str) -> String {
    if is_taken(stem) { format!("{stem}.toml") } else { stem.to_owned() }
}

/// The rules of a lattice without a base: JAX's, but for its care in `matmul` about how weak arrays are carried.
fn plain_jax(op: Op) -> Rule {
    if op == Op::Matmul { Rule::Together(Row::PLAIN) } else { jax::rule(op) }
}
