//! MLIR's messages as diagnostics of ours: named, located, and with what to do about them.
//!
//! The likeliest mistake of a front end is to pass a value of a known type on to a place of unknown type, as a loop's
//! carry, without `promote.relax`. MLIR refuses that before any pass runs, in many wordings: [`MISMATCHES`].

use std::fmt::Write;

use melior::diagnostic::{Diagnostic as MlirDiagnostic, DiagnosticSeverity};
use promote_lattice::Op;
use promote_lattice::op::Arity;

use super::places;
use promote_diagnostics::{Code, Diagnostic, Severity};

/// A message of MLIR's own.
pub fn translate(diagnostic: &MlirDiagnostic<'_>) -> Diagnostic {
    let severity = match diagnostic.severity() {
        DiagnosticSeverity::Error => Severity::Error,
        DiagnosticSeverity::Warning => Severity::Warning,
        DiagnosticSeverity::Note | DiagnosticSeverity::Remark => Severity::Remark,
    };
    let place = places::location(diagnostic.location().to_raw());
    let notes = (0..diagnostic.note_count()).filter_map(|i| diagnostic.note(i).ok());
    let notes = notes.map(|note| (places::location(note.location().to_raw()), text(&note)));
    // "see current operation" repeats in generic form what the source line shows; only the op's name is missing there.
    let (current, notes): (Vec<_>, Vec<_>) =
        notes.partition(|(_, note)| note.starts_with("see current operation:"));
    let current = current.into_iter().next().map(|(_, note)| note).unwrap_or_default();
    let message = named(text(diagnostic), &current);
    let texts: Vec<&str> =
        std::iter::once(message.as_str()).chain(notes.iter().map(|(_, note)| note.as_str())).collect();
    let remedy = relaxed(&texts, &current).or_else(|| remedy_of_op(&current));
    let translated = Diagnostic { remedy, ..Diagnostic::new(severity, Code::Mlir, place, message) };
    notes.into_iter().fold(translated, |translated, (place, note)| translated.with_note(place, note))
}

/// The text of a message, up to what is not UTF-8: names in bytecode may be any bytes.
fn text(diagnostic: &MlirDiagnostic<'_>) -> String {
    let mut text = String::new();
    // What was written before an error stays.
    let _ = write!(text, "{diagnostic}");
    text
}

/// The name of the op that MLIR shows in generic form.
fn name_in(current: &str) -> Option<&str> {
    current.split('"').nth(1).filter(|name| name.contains('.'))
}

/// A message with the name of the op that it is about.
fn named(message: String, current: &str) -> String {
    match name_in(current) {
        Some(name) if message.starts_with("op ") => format!("'{name}' {message}"),
        _ => message,
    }
}

/// What to do about an op of the dialect, or about a name close to one.
fn remedy_of_op(current: &str) -> Option<String> {
    let name = name_in(current)?.strip_prefix("promote.")?;
    Some(match Op::by_name(name) {
        Some(op) => {
            let Arity { required, optional } = op.info().arity;
            let operands = if optional == 0 {
                required.to_string()
            } else {
                format!("{required} to {}", required + optional)
            };
            let needs = op.info().attrs.iter().filter(|spec| spec.required);
            let needs: Vec<_> =
                needs.map(|spec| format!(" and `{} = {}`", spec.name, spec.kind.example())).collect();
            format!("{op} takes {operands} operand(s){}", needs.concat())
        }
        None => format!("did you mean {}?", promote_dialect::attrs::closest_op(name)),
    })
}

/// Which of the two types in a message is the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    First,
    Second,
    /// Either, or the message has no types.
    Any,
    /// The second, of a result: what is to be passed on is not there yet.
    OfResult,
}

/// MLIR's wordings for a value that is passed on to a place of another type.
const MISMATCHES: &[(&str, Asked)] = &[
    ("expects different type than prior uses", Asked::First),
    ("expected operand type", Asked::First),
    ("region iter_arg and", Asked::First),
    ("of each region to be", Asked::First),
    ("should match successor input type", Asked::Second),
    ("doesn't match function result type", Asked::Second),
    ("region iter_arg have different type", Asked::Second),
    ("type mismatch for bb argument", Asked::Any),
    ("all of {true_value, false_value, result} have same type", Asked::Any),
    ("result type mismatch", Asked::OfResult),
];

/// What to do where a value is passed on to a place of unknown type, or a value of unknown type to one of another.
fn relaxed(texts: &[&str], current: &str) -> Option<String> {
    let (_, asked) = MISMATCHES.iter().find(|(words, _)| texts[0].contains(words))?;
    let found: Vec<&str> = texts.iter().flat_map(|text| quoted(text, "tensor<")).collect();
    let value = quoted(texts[0], "%").next().unwrap_or("…");
    match (asked, &found[..]) {
        (Asked::First, [to, from, ..]) | (Asked::Second, [from, to, ..]) if is_unknown(to) => {
            Some(relax(value, from, to))
        }
        (Asked::First, [to, from, ..]) | (Asked::Second, [from, to, ..]) if is_unknown(from) => {
            Some(format!("write {from} instead of {to}: inference finds the type"))
        }
        (Asked::OfResult, [from, to, ..]) if is_unknown(to) => {
            Some(format!("write {to} instead of {from}: inference finds the type"))
        }
        (Asked::First | Asked::Second | Asked::OfResult, _) => None,
        // MLIR does not print the types of blocks' arguments.
        (Asked::Any, _) => {
            let from = types(current).find(|found| !is_unknown(found)).unwrap_or("tensor<4xf32>");
            let remedy = relax(value, from, "tensor<*x!promote.unknown>");
            Some(format!("if the other type is unknown, {remedy}"))
        }
    }
}

fn is_unknown(r#type: &str) -> bool {
    r#type.strip_suffix('>').is_some_and(|rest| rest.ends_with("!promote.unknown"))
}

fn relax(value: &str, from: &str, to: &str) -> String {
    format!("pass the value through promote.relax: \"promote.relax\"({value}) : ({from}) -> {to}")
}

/// What a text has in quotes and begins so.
fn quoted<'t>(text: &'t str, start: &'t str) -> impl Iterator<Item = &'t str> {
    text.split('\'').filter(move |part| part.starts_with(start))
}

/// The tensor types in the text of an op.
fn types(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices("tensor<").filter_map(|(at, _)| Some(&text[at..=at + text[at..].find('>')?]))
}
