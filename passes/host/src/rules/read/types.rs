//! Forms of types, and scalars.

use promote_lattice::DType;
use promote_lattice::document::{At, Entry, Problem, Problems, dtype, shown};

use super::Reader;
use crate::rules::forms::TensorForm;

const FORM_KEYS: &[&str] = &["ranked", "unranked", "bare", "separator", "dynamic", "unknown", "elements"];

impl Reader {
    pub(super) fn form(&mut self, entry: &Entry<'_>, problems: &mut Problems) {
        let before = problems.count();
        let (mut ranked, mut unranked, mut bare) = (None, None, None);
        let (mut separator, mut dynamic, mut unknown) = (None, None, None);
        let mut elements = Vec::new();
        let whole = |entry: &Entry<'_>, problems: &mut Problems| {
            entry.string(problems).map(|text| text.value.to_owned())
        };
        for entry in entry.table("types.", problems) {
            match entry.key.value {
                "ranked" => ranked = template(&entry, ["{shape}", "{element}"], problems),
                "unranked" => unranked = template(&entry, ["{element}"], problems),
                "bare" => bare = whole(&entry, problems),
                "separator" => separator = whole(&entry, problems).filter(|text| !text.is_empty()),
                "dynamic" => dynamic = whole(&entry, problems),
                "unknown" => unknown = whole(&entry, problems),
                "elements" => elements = read_elements(&entry, problems),
                _ => entry.unknown("of a form of types", FORM_KEYS, problems),
            }
        }
        let parts = |texts: Vec<String>| -> Option<[String; 3]> { texts.try_into().ok() };
        let (ranked, unranked) = (ranked.and_then(parts), unranked.and_then(|texts| texts.try_into().ok()));
        match (ranked, unranked) {
            (Some(ranked), Some(unranked)) => self.rules.forms.tensors.push(TensorForm {
                ranked,
                unranked,
                bare,
                separator: separator.unwrap_or_else(|| ",".to_owned()),
                dynamic: dynamic.unwrap_or_else(|| "?".to_owned()),
                unknown: unknown.unwrap_or_else(|| "!promote.unknown".to_owned()),
                elements,
            }),
            _ if problems.count() > before => {}
            _ => {
                let message =
                    format!("the form `{}` must have both `ranked` and `unranked`", shown(entry.key.value));
                problems.add(Problem::new(&entry.key.span, message));
            }
        }
    }

    pub(super) fn scalar(&mut self, entry: &Entry<'_>, problems: &mut Problems) {
        let Some(found) = entry.string(problems).and_then(|word| dtype(&word, problems)) else { return };
        let name = entry.key.value.trim();
        if ["tensor<", "vector<", "memref<"].iter().any(|of| name.starts_with(of)) {
            let message = format!("`{}` is no scalar of a language: MLIR has it", shown(name));
            return problems.add(Problem::new(&entry.key.span, message));
        }
        if found.value.is_weak() || found.value == DType::B1 {
            self.rules.forms.scalars.push((entry.key.value.to_owned(), found.value));
        } else {
            let message =
                format!("a scalar of the language counts as i*, f*, c* or b1, not as {}", found.value);
            problems.add(Problem::new(&found.span, message));
        }
    }
}

/// What stands around the words of a template, which it has each once and in that order.
fn template<const N: usize>(
    entry: &Entry<'_>,
    words: [&str; N],
    problems: &mut Problems,
) -> Option<Vec<String>> {
    let text = entry.string(problems)?;
    let mut parts = Vec::new();
    let mut rest = text.value;
    for word in words {
        let Some((before, after)) = rest.split_once(word) else {
            let message = format!("`{}` must have {} in that order", entry.key.value, words.join(" and "));
            problems.add(Problem::new(&text.span, message));
            return None;
        };
        parts.push(before.to_owned());
        rest = after;
    }
    parts.push(rest.to_owned());
    if parts[0].is_empty() || words.len() > 1 && parts[1].is_empty() {
        let message = format!("nothing stands before or between the parts of `{}`", entry.key.value);
        problems.add(Problem::new(&text.span, message));
        return None;
    }
    Some(parts)
}

fn read_elements(entry: &Entry<'_>, problems: &mut Problems) -> Vec<(DType, String)> {
    let entries = entry.table("types.", problems);
    let elements = entries.iter().filter_map(|entry| {
        let dtype = dtype(&entry.key, problems);
        let text = entry.string(problems);
        Some((dtype?.value, text?))
    });
    let elements: Vec<(DType, At<&str>)> = elements.collect();
    for (dtype, text) in &elements {
        let written = |of: DType| elements.iter().find(|(known, _)| *known == of).map(|(_, text)| text.value);
        let is_same = |of: &DType| of != dtype && written(*of).unwrap_or_else(|| of.mlir()) == text.value;
        if let Some(other) = DType::ALL.iter().copied().find(is_same) {
            let message = format!("`{}` would be {dtype} and {other}", shown(text.value));
            let problem = Problem::new(&text.span, message);
            problems.add(problem.remedy("write each dtype otherwise, as its type is read, too"));
        }
    }
    elements.into_iter().map(|(dtype, text)| (dtype, text.value.to_owned())).collect()
}
