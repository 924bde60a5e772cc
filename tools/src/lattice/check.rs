//! `check`: is it a lattice, and if not, why not.

use promote_lattice::DType;
use promote_lattice::lattice::NoJoin;
use promote_lattice::properties::{Properties, spread};
use serde::Serialize;

use super::args::Format;
use super::grid;
use super::system::{Entry, Selection, System};
use super::{Answer, Failure, export};

/// How many counterexamples are told of each property.
const EXAMPLES: usize = 3;

/// What was found.
#[derive(Debug, Serialize)]
struct Findings {
    semantics: String,
    /// How many dtypes were looked at.
    nodes: usize,
    /// Whether promotions are joins in a lattice, completed by a top that stands for what is refused.
    is_lattice: bool,
    properties: Vec<Property>,
}

/// One property of the table.
#[derive(Debug, Serialize)]
struct Property {
    name: &'static str,
    /// Whether it holds; existence need not for a lattice, as refused operands are joined by the top.
    holds: bool,
    /// How many cases were looked at.
    cases: usize,
    /// How many of them are counterexamples.
    counterexamples: usize,
    /// Some of them, in words.
    examples: Vec<String>,
}

impl Property {
    fn new<T: ToString>(name: &'static str, cases: usize, counterexamples: &[T]) -> Self {
        Self {
            name,
            holds: counterexamples.is_empty(),
            cases,
            counterexamples: counterexamples.len(),
            examples: spread(counterexamples, EXAMPLES).map(ToString::to_string).collect(),
        }
    }
}

/// Checks a semantics over the selected dtypes.
pub fn check(system: &System, nodes: &Selection, format: Format) -> Result<Answer, Failure> {
    let entries = system.select(nodes)?;
    let findings = find(system, &entries);
    let text = match format {
        Format::Text => findings.text(),
        Format::Json => export::json(&findings),
        Format::Csv => findings.csv(),
    };
    Ok(Answer { text, is_yes: findings.is_lattice })
}

fn find(system: &System, entries: &[Entry]) -> Findings {
    let semantics = &system.semantics;
    let table = grid::cells(system, entries);
    let properties = table.properties();
    let pairs = entries.len() * (entries.len() + 1) / 2;
    let (unbounded, ambiguous) = bounds(system, entries);
    let ambiguous = Property::new("uniqueness", pairs, &ambiguous);
    let below = |a: &str, b: &str| match (dtype(system, a), dtype(system, b)) {
        (Some(a), Some(b)) => a != b && semantics.order().le(a, b),
        (None, _) | (_, None) => false,
    };
    let sets = entries.len() * (entries.len() + 1) * (entries.len() + 2) / 6;
    let is_lattice = semantics.is_on_lattice()
        && ambiguous.holds
        && properties.is_commutative()
        && properties.is_associative();
    Findings {
        semantics: system.label.clone(),
        nodes: entries.len(),
        is_lattice,
        properties: vec![
            Property::new("existence", pairs, &unbounded),
            ambiguous,
            Property::new("idempotence", entries.len(), &idempotence(&properties)),
            Property::new("commutativity", pairs, &properties.not_commutative),
            associativity(&properties),
            Property::new("fold order", sets, &table.fold_orders()),
            Property::new("monotonicity", properties.triples, &table.not_monotone(below)),
        ],
    }
}

/// The dtype that a table writes as `name`.
fn dtype(system: &System, name: &str) -> Option<DType> {
    let node = system.semantics.nodes().iter().find(|node| node.name == name);
    node.map(|node| node.operand.dtype).or_else(|| name.parse().ok())
}

/// The pairs without an upper bound in the order, and those with several least ones, in words.
fn bounds(system: &System, entries: &[Entry]) -> (Vec<String>, Vec<String>) {
    let order = system.semantics.order();
    let (mut unbounded, mut ambiguous) = (Vec::new(), Vec::new());
    for (i, a) in entries.iter().enumerate() {
        for b in &entries[i..] {
            match order.join(&[a.operand.dtype, b.operand.dtype]) {
                Err(reason @ NoJoin::Ambiguous { .. }) => ambiguous.push(reason.to_string()),
                Err(reason) => unbounded.push(reason.to_string()),
                Ok(_) => {}
            }
        }
    }
    (unbounded, ambiguous)
}

fn idempotence(properties: &Properties<'_>) -> Vec<String> {
    let word = |(node, square): &(&str, Option<&str>)| match square {
        Some(square) => format!("{node} + {node} = {square}"),
        None => format!("{node} + {node} is refused"),
    };
    properties.not_idempotent.iter().map(word).collect()
}

fn associativity(properties: &Properties<'_>) -> Property {
    let (hard, soft) = (&properties.not_associative, &properties.refused_in_one_grouping);
    let all: Vec<_> = hard.iter().chain(soft).collect();
    let mut property = Property::new("associativity", properties.triples - properties.open, &all);
    // The grave ones first.
    if !hard.is_empty() {
        property.examples = spread(hard, EXAMPLES).map(ToString::to_string).collect();
    }
    property
}

impl Findings {
    fn text(&self) -> String {
        let refused = self.properties[0].counterexamples;
        let verdict = match (self.is_lattice, refused) {
            (true, 0) => "a lattice: every two dtypes have a least upper bound".to_owned(),
            (true, refused) => {
                format!("a lattice, completed by a top that joins the {refused} pairs it refuses")
            }
            (false, _) => "no lattice".to_owned(),
        };
        let mut lines = vec![format!("{}: {verdict} ({} dtypes)", self.semantics, self.nodes)];
        for property in &self.properties {
            let Property { name, holds, cases, counterexamples, examples } = property;
            let answer = match holds {
                true => "yes".to_owned(),
                false => format!("no: {counterexamples} of {cases}"),
            };
            lines.push(format!("  {name:<14} {answer}"));
            lines.extend(examples.iter().map(|example| format!("{:17}{example}", "")));
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }

    fn csv(&self) -> String {
        let head = ["property", "holds", "cases", "counterexamples", "example"].map(str::to_owned);
        let rows = self.properties.iter().map(|property| {
            let example = property.examples.first().cloned().unwrap_or_default();
            let counts = [property.cases, property.counterexamples].map(|count| count.to_string());
            let [cases, counterexamples] = counts;
            [property.name.to_owned(), property.holds.to_string(), cases, counterexamples, example]
        });
        export::csv(std::iter::once(head).chain(rows))
    }
}
