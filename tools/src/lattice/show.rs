//! `show`: what a semantics is.

use promote_lattice::DType;
use serde::Serialize;

use super::args::Format;
use super::export::{self, Object};
use super::prose::listed;
use super::system::{Role, System};

/// A semantics in a few facts.
#[derive(Debug, Serialize)]
struct Description<'s> {
    name: &'s str,
    summary: &'s str,
    /// What its order has to do with its promotions.
    order: Role,
    nodes: Vec<&'s str>,
    /// What weak dtypes become in the end.
    defaults: Object<&'s str>,
    /// The order: every dtype with its immediate successors.
    successors: Object<Vec<&'s str>>,
}

/// Describes a semantics.
pub fn show(system: &System, format: Format) -> String {
    let description = describe(system);
    match format {
        Format::Text => description.text(),
        Format::Json => export::json(&description),
        Format::Csv => description.csv(),
    }
}

fn describe(system: &System) -> Description<'_> {
    let semantics = &system.semantics;
    let order = semantics.order().reduced();
    let shown = |dtype: DType| semantics.show(dtype);
    let successors = |dtype: DType| {
        let mut above: Vec<_> = order.successors(dtype).collect();
        above.sort_by_key(|dtype| order.nodes().iter().position(|node| node == dtype));
        (shown(dtype).to_owned(), above.into_iter().map(shown).collect())
    };
    let is_there = |dtype: &&DType| order.contains(**dtype);
    let weak = [DType::WeakInt, DType::WeakI64, DType::WeakFloat, DType::WeakF64, DType::WeakComplex];
    let default = |dtype: &DType| (shown(*dtype).to_owned(), shown(semantics.strengthen(*dtype)));
    Description {
        name: &system.label,
        summary: &system.summary,
        order: system.role(),
        nodes: semantics.nodes().iter().map(|node| node.name).collect(),
        defaults: Object(weak.iter().filter(is_there).map(default).collect()),
        successors: Object(order.nodes().iter().map(|dtype| successors(*dtype)).collect()),
    }
}

impl Description<'_> {
    fn text(&self) -> String {
        let mut lines = vec![format!("{}: {}", self.name, self.summary), String::new()];
        lines.push(format!("{} dtypes: {}", self.nodes.len(), self.nodes.join(" ")));
        if !self.defaults.0.is_empty() {
            let defaults = self.defaults.0.iter().map(|(weak, strong)| format!("{weak} becomes {strong}"));
            lines.push(format!("in the end: {}", listed(&defaults.collect::<Vec<_>>(), "and")));
        }
        lines.push(String::new());
        lines.push(self.order.sentence().to_owned());
        let edges = self.successors.0.iter().filter(|(_, above)| !above.is_empty());
        let width = self.successors.0.iter().map(|(below, _)| below.len()).max().unwrap_or(0);
        lines.extend(edges.map(|(below, above)| format!("  {below:<width$} → {}", above.join(", "))));
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    /// The edges of the order.
    fn csv(&self) -> String {
        let edges = self.successors.0.iter();
        let edges = edges.flat_map(|(below, above)| above.iter().map(move |above| [below.as_str(), above]));
        export::csv(std::iter::once(["dtype", "successor"]).chain(edges))
    }
}
