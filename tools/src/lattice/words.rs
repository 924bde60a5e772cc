//! `join`: what operands are promoted to, in words: the way there, and what may be lost on it.

use promote_lattice::DType;
use promote_lattice::convert::loss;
use promote_lattice::semantics::Operand;
use serde::Serialize;

use super::args::Format;
use super::prose::listed;
use super::system::{Entry, Role, System};
use super::{Failure, export};

/// The answer to `join`.
#[derive(Debug, Serialize)]
struct Join {
    semantics: String,
    operands: Vec<Conversion>,
    result: &'static str,
    /// Whether the result is the least upper bound of the operands in the order that the paths go along.
    is_least_upper_bound: bool,
    /// Additional information.
    notes: Vec<String>,
}

/// An operand on its way to the result.
#[derive(Debug, Serialize)]
struct Conversion {
    dtype: String,
    /// The dtypes from the operand's to the result, if the order has a way.
    path: Option<Vec<&'static str>>,
    /// What the conversion may lose.
    loss: Option<String>,
}

/// Joins the dtypes that the user names.
pub fn join(system: &System, names: &[String], format: Format) -> Result<String, Failure> {
    let entries = names.iter().map(|name| system.entry(name)).collect::<Result<Vec<_>, _>>()?;
    let operands: Vec<_> = entries.iter().map(|entry| entry.operand).collect();
    let semantics = &system.semantics;
    let result = semantics.promote(&operands).map_err(|reason| {
        Failure::refused(format!(
            "{} does not promote {} to one dtype: {reason}",
            system.label,
            listed(names, "and")
        ))
        .with_remedy(format!("`promote-lattice table -s {}` shows what is promoted", system.spec()))
    })?;
    let join = Join {
        semantics: system.label.clone(),
        operands: entries.iter().map(|entry| conversion(system, entry, result)).collect(),
        result: semantics.show(result),
        is_least_upper_bound: is_least_upper_bound(system, &operands, result),
        notes: notes(system, &operands, result),
    };
    Ok(match format {
        Format::Text => join.text(system.role() != Role::Described),
        Format::Json => export::json(&join),
        Format::Csv => join.csv(),
    })
}

fn conversion(system: &System, entry: &Entry, result: DType) -> Conversion {
    let from = entry.operand.dtype;
    // Only where promotions are joins does a dtype go along the order.
    let path = system.semantics.order().path(from, result).filter(|_| system.role() != Role::Described);
    Conversion {
        dtype: entry.name.clone(),
        path: path.map(|path| path.into_iter().map(|dtype| system.semantics.show(dtype)).collect()),
        loss: loss(from, result).map(|loss| loss.to_string()),
    }
}

fn dtypes(operands: &[Operand]) -> Vec<DType> {
    operands.iter().map(|operand| operand.dtype).collect()
}

fn is_least_upper_bound(system: &System, operands: &[Operand], result: DType) -> bool {
    system.semantics.order().join(&dtypes(operands)) == Ok(result)
}

/// What the paths do not show: rules that are no lattice, results that are narrowed, folds that differ.
fn notes(system: &System, operands: &[Operand], result: DType) -> Vec<String> {
    let semantics = &system.semantics;
    let shown = semantics.show(result);
    let least = semantics.order().join(&dtypes(operands));
    let mut notes = Vec::new();
    match (system.role(), least) {
        (Role::Narrowed, Ok(least)) if least != result => notes.push(format!(
            "the least upper bound is {}, which {} narrows to {shown}",
            semantics.show(least),
            system.label,
        )),
        (Role::Joins | Role::Narrowed, _) => {}
        (Role::Described, least) => {
            notes.push(format!("{} is not a lattice; this is its rule: {}", system.label, system.summary));
            match least {
                Ok(least) if least == result => {}
                Ok(least) => {
                    notes.push(format!(
                        "the least upper bound in its order would be {}",
                        semantics.show(least)
                    ));
                }
                Err(reason) => notes.push(format!("in its order, {reason}")),
            }
        }
    }
    if let Some(note) = fold_note(system, operands, result) {
        notes.push(note);
    }
    notes
}

/// What a fold from the left returns, if it is something else.
fn fold_note(system: &System, operands: &[Operand], result: DType) -> Option<String> {
    let semantics = &system.semantics;
    let (first, rest) = operands.split_first()?;
    let fold = rest.iter().try_fold(*first, |left, right| {
        semantics.promote(&[left, *right]).map(|dtype| Entry::of_dtype(dtype).operand)
    });
    match fold {
        Ok(fold) if fold.dtype == result || rest.len() < 2 => None,
        Ok(fold) => Some(format!("two at a time from the left, it would be {}", semantics.show(fold.dtype))),
        Err(reason) => Some(format!("two at a time from the left, it would be refused: {reason}")),
    }
}

impl Join {
    /// For people: `i16 ∨ u16 = i32: i16 → i32; u16 → i32`, then what may be lost, then notes.
    fn text(&self, is_lattice: bool) -> String {
        let sign = if is_lattice { " ∨ " } else { " + " };
        let operands: Vec<_> = self.operands.iter().map(|operand| operand.dtype.as_str()).collect();
        let mut lines = vec![format!("{} = {}: {}", operands.join(sign), self.result, self.paths())];
        for Conversion { dtype, loss, .. } in &self.operands {
            let line = loss.as_ref().map(|loss| format!("  {dtype} to {} {loss}", self.result));
            lines.extend(line.filter(|line| !lines.contains(line)));
        }
        lines.extend(self.notes.iter().map(|note| format!("  {note}")));
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn paths(&self) -> String {
        let mut paths: Vec<String> = Vec::new();
        for operand in &self.operands {
            let path = match operand.path.as_deref() {
                Some([only]) => format!("{only} stays"),
                Some(path) => path.join(" → "),
                None if operand.dtype == self.result => format!("{} stays", operand.dtype),
                None => format!("{} ⇒ {}", operand.dtype, self.result),
            };
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths.join("; ")
    }

    fn csv(&self) -> String {
        let head = ["dtype", "result", "path", "loss"].map(str::to_owned);
        let rows = self.operands.iter().map(|operand| {
            let path = operand.path.as_ref().map(|path| path.join(" ")).unwrap_or_default();
            [operand.dtype.clone(), self.result.to_owned(), path, operand.loss.clone().unwrap_or_default()]
        });
        export::csv(std::iter::once(head).chain(rows))
    }
}
