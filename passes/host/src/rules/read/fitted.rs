//! Attributes that say of which dtype the operands are.

use promote_lattice::document::{At, Entry, Problem, Problems, shown};

use super::{Reader, group, pattern};
use crate::rules::{Fitted, Group};

impl Reader {
    /// The attributes of an op.
    pub(super) fn fitted(&mut self, entry: &Entry<'_>, problems: &mut Problems) {
        let Some(op) = pattern(&entry.key, problems) else { return };
        if !op.value.attributes.is_empty() {
            let problem = Problem::new(&op.span, "the attributes of all ops of a name are fitted alike");
            return problems.add(problem.remedy(format!("write \"{}\"", op.value.name)));
        }
        for attribute in entry.table("attributes-by-kind.", problems) {
            let kinds = attribute.table("attributes-by-kind.", problems);
            let values = kinds.iter().filter_map(|kind| values(kind, problems)).collect();
            let attribute = attribute.key.value.to_owned();
            self.rules.fitted.push(Fitted { op: op.value.name.clone(), attribute, values });
            self.fitted.push(op.map(()));
        }
    }

    /// Each is of an op that has a rule.
    pub(super) fn check_fitted(&self, problems: &mut Problems) {
        for (fitted, At { span, .. }) in self.rules.fitted.iter().zip(&self.fitted) {
            if !self.rules.ops.iter().any(|rule| rule.pattern.name == fitted.op) {
                let message = format!("no rule names {}", shown(&fitted.op));
                problems.add(Problem::new(span, message).remedy("write one below the line [ops]"));
            }
        }
    }
}

/// The values for a kind: one, or a list of them.
fn values(entry: &Entry<'_>, problems: &mut Problems) -> Option<(Group, Vec<String>)> {
    let group = group(&entry.key.map(entry.key.value), problems);
    let before = problems.count();
    let values: Vec<String> = if entry.is_string() {
        entry.string(problems).into_iter().map(|text| text.value.to_owned()).collect()
    } else {
        entry.strings(problems).into_iter().map(|text| text.value.to_owned()).collect()
    };
    if values.is_empty() && problems.count() == before {
        problems.add(Problem::new(&entry.value.span, "this list is empty: leave the kind out to refuse it"));
    }
    group.filter(|_| !values.is_empty()).map(|group| (group, values))
}
