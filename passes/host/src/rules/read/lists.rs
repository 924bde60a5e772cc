//! How lists are made, and written.

use promote_lattice::document::{Entry, Problem, Problems, shown};

use super::{Reader, pattern};
use crate::rules::Lists;

const LIST_KEYS: &[&str] = &["op", "type"];

/// What stands for the type of the elements.
const TENSOR: &str = "{tensor}";

impl Reader {
    pub(super) fn lists(&mut self, entry: &Entry<'_>, problems: &mut Problems) {
        let before = problems.count();
        let (mut op, mut r#type) = (None, None);
        for entry in entry.table("", problems) {
            match entry.key.value {
                "op" => {
                    let text = entry.string(problems).and_then(|text| pattern(&text, problems));
                    op = text.map(|pattern| pattern.value.name);
                }
                "type" => r#type = entry.string(problems),
                _ => entry.unknown("of lists", LIST_KEYS, problems),
            }
        }
        match (op, r#type) {
            (Some(op), Some(text)) if text.value.starts_with('!') => {
                let parts = text.value.split_once(TENSOR);
                let r#type = parts.map_or((text.value.to_owned(), None), |(before, after)| {
                    (before.to_owned(), Some(after.to_owned()))
                });
                self.rules.lists = Some(Lists { op, r#type });
            }
            (_, Some(text)) if !text.value.starts_with('!') => {
                let message = format!("`{}` is no type of a dialect", shown(text.value));
                let remedy = "write it as MLIR does, with {tensor} for the type of the elements: \"!my.list<{tensor}>\"";
                problems.add(Problem::new(&text.span, message).remedy(remedy));
            }
            _ if problems.count() > before => {}
            _ => {
                let message = "lists must have both `op` and `type`";
                problems.add(Problem::new(&entry.key.span, message));
            }
        }
    }
}
