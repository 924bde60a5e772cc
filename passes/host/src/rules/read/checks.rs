//! What a rule may say of an op.

use promote_lattice::Op;
use promote_lattice::document::{At, Entry, Problem, Problems, shown};
use promote_lattice::op::{AttrKind, Class};

use crate::ir::KINDS;
use crate::rules::{Held, OpRule, Pattern};

/// The greatest number of an operand that a rule may name.
const LAST_OPERAND: usize = 255;

/// The dialects whose ops have rules of their own, or are what programs are made of.
const OWN_DIALECTS: &[&str] = &["promote", "builtin", "func", "cf", "scf"];

/// Whether an op is not one that the passes know themselves: a rule for such an op would never be asked.
pub(super) fn is_of_another_dialect(text: &At<&str>, pattern: &Pattern, problems: &mut Problems) -> bool {
    let name = &pattern.name;
    let dialect = name.split('.').next().unwrap_or_default();
    let is_own = OWN_DIALECTS.contains(&dialect) || KINDS.iter().any(|(known, _)| known == name);
    if is_own {
        let message = format!("the passes know {name} themselves: no rule can say what it does");
        problems.add(Problem::new(&text.span, message).remedy("remove the rule"));
    }
    !is_own
}

/// Operands are as many as the op takes, each of them once.
pub(super) fn check_operands(entry: &Entry<'_>, op: Op, taken: &[At<usize>], problems: &mut Problems) {
    for (place, At { value, span }) in taken.iter().enumerate() {
        if *value > LAST_OPERAND {
            let message = format!("a rule may name operands up to {LAST_OPERAND}, not {value}");
            problems.add(Problem::new(span, message));
        }
        // One bound may be both.
        let is_bound = op == Op::Clip && place == 2 && taken[1].value == *value;
        if !is_bound && taken[..place].iter().any(|before| before.value == *value) {
            problems.add(Problem::new(span, format!("operand {value} takes part twice")));
        }
    }
    if !is_arity(op, taken.len()) {
        let message = format!(
            "{} operands take part in `{}`, but {op} has {}",
            taken.len(),
            shown(entry.key.value),
            op.info().arity.required
        );
        problems.add(Problem::new(&entry.key.span, message));
    }
}

/// What is joined takes no other part, and the op is not told what it is joined to.
pub(super) fn check_joins(entry: &Entry<'_>, rule: &OpRule, joins: &[At<usize>], problems: &mut Problems) {
    for (place, At { value, span }) in joins.iter().enumerate() {
        if *value > LAST_OPERAND {
            let message = format!("a rule may name operands up to {LAST_OPERAND}, not {value}");
            problems.add(Problem::new(span, message));
        }
        let takes_part = rule.operands.as_ref().is_none_or(|operands| operands.contains(value));
        if takes_part || joins[..place].iter().any(|before| before.value == *value) {
            problems.add(
                Problem::new(span, format!("operand {value} takes part twice"))
                    .remedy("say which operands are those of ours: operands = [0, 1]"),
            );
        }
    }
    if rule.dtype.is_some() {
        let message = format!("`{}` joins operands, and is told a dtype", shown(entry.key.value));
        problems.add(Problem::new(&entry.key.span, message).remedy("remove `joins` or `dtype`"));
    }
}

/// There is a rank for each operand that takes part; what they are.
pub(super) fn check_ranks(
    entry: &Entry<'_>,
    op: Op,
    ranks: &[At<usize>],
    problems: &mut Problems,
) -> Vec<usize> {
    if !is_arity(op, ranks.len()) {
        let (key, required) = (shown(entry.key.value), op.info().arity.required);
        let message = format!("`{key}` has {} ranks, but {op} has {required} operands", ranks.len());
        problems.add(Problem::new(&entry.key.span, message));
    }
    ranks.iter().map(|rank| rank.value).collect()
}

/// Whether an op may have that many operands.
fn is_arity(op: Op, count: usize) -> bool {
    let arity = op.info().arity;
    (arity.required..=arity.required + arity.optional).contains(&count)
}

/// The dtype is told to an op that may be told one, by an operand that takes no part.
pub(super) fn check_dtype(entry: &Entry<'_>, op: Op, rule: &OpRule, problems: &mut Problems) {
    let Some(index) = rule.dtype else { return };
    let key = shown(entry.key.value);
    let is_told = op.class() == Class::Accumulation || matches!(op, Op::Mean | Op::Softmax);
    let problem = match &rule.operands {
        _ if !is_told => Some(format!("no operand of `{key}` says a dtype: {op} has the one of its rule")),
        _ if index > LAST_OPERAND => {
            Some(format!("a rule may name operands up to {LAST_OPERAND}, not {index}"))
        }
        Some(operands) if !operands.contains(&index) => None,
        Some(_) | None => Some(format!("operand {index} of `{key}` takes part, and says a dtype")),
    };
    if let Some(message) = problem {
        let problem = Problem::new(&entry.key.span, message);
        problems.add(match is_told {
            true => problem.remedy("say which operands take part: operands = [0]"),
            false => problem.remedy("sums, products, means and softmax may be told a dtype"),
        });
    }
}

/// The attributes are ours.
pub(super) fn check_attributes(entry: &Entry<'_>, op: Op, rule: &OpRule, problems: &mut Problems) {
    for (name, held) in &rule.attributes {
        if let Held::Operand(index) = held {
            check_constant(entry, (op, name), (rule, *index), problems);
        }
        if !op.info().attrs.iter().any(|spec| spec.name == name) {
            let known: Vec<_> = op.info().attrs.iter().map(|spec| spec.name).collect();
            let message = format!("{op} has no attribute `{}`", shown(name));
            let problem = Problem::new(&entry.key.span, message);
            problems.add(match known.is_empty() {
                true => problem,
                false => problem.remedy(format!("its attributes are {}", known.join(", "))),
            });
        }
    }
}

/// An integer that an operand is takes no other part.
fn check_constant(
    entry: &Entry<'_>,
    (op, name): (Op, &str),
    (rule, index): (&OpRule, usize),
    problems: &mut Problems,
) {
    let key = shown(entry.key.value);
    let takes_part = rule.operands.as_ref().is_none_or(|operands| operands.contains(&index));
    let kind = op.info().attrs.iter().find(|spec| spec.name == name).map(|spec| spec.kind);
    let problem = match kind {
        _ if takes_part => {
            let problem = format!("operand {index} of `{key}` takes part, and is the attribute `{name}`");
            Problem::new(&entry.key.span, problem).remedy("say which operands take part: operands = [0]")
        }
        _ if index > LAST_OPERAND => {
            let problem = format!("a rule may name operands up to {LAST_OPERAND}, not {index}");
            Problem::new(&entry.key.span, problem)
        }
        Some(AttrKind::Flag | AttrKind::Number | AttrKind::Elements) => {
            let problem = format!("`{name}` of {op} is no integer, so no operand of `{key}` can be it");
            Problem::new(&entry.key.span, problem).remedy("name an attribute of the dialect")
        }
        Some(AttrKind::Int | AttrKind::Ints) | None => return,
    };
    problems.add(problem);
}
