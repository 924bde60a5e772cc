//! `check`: is it a lattice, and if not, why not.

use std::cmp::Reverse;

use promote_lattice::DType;
use promote_lattice::lattice::NoJoin;
use promote_lattice::properties::{Properties, Table, spread};
use promote_lattice::semantics::Operand;
use serde::Serialize;

use super::args::Format;
use super::grid;
use super::prose::listed;
use super::system::{DOCUMENTED, Entry, Role, Selection, System};
use super::{Answer, Failure, export};

/// How many counterexamples are shown for each property.
const EXAMPLES: usize = 3;

/// What was found.
#[derive(Debug, Serialize)]
struct Findings {
    semantics: String,
    /// How many dtypes were looked at.
    nodes: usize,
    /// Whether the promotion alone is idempotent, commutative and associative, on these dtypes and all that they are promoted
    /// to, which makes it the join of a lattice, a top standing for what is refused.
    is_lattice: bool,
    /// If results are narrowed to 32 bits, which is not a lattice on 64-bit dtypes: what is one.
    narrowing: Option<Narrowing>,
    /// How many pairs it refuses.
    refused: usize,
    /// In how many cells the table differs from the promotion alone, as it is the table of an op.
    cells_of_op: usize,
    properties: Vec<Property>,
}

/// What a semantics that narrows its results is otherwise.
#[derive(Debug, Serialize)]
struct Narrowing {
    /// The selected dtypes of 64 bits.
    wide: Vec<String>,
    /// Whether the promotion of the other dtypes, if there are any, is the join of a lattice.
    is_lattice_without: Option<bool>,
    /// Whether that of all is one with 64-bit dtypes on.
    is_lattice_with_x64: bool,
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

    /// The same; the first counterexamples are the ones to show.
    fn of_first(name: &'static str, cases: usize, counterexamples: &[String]) -> Self {
        let examples = counterexamples.iter().take(EXAMPLES).cloned().collect();
        Self { examples, ..Self::new(name, cases, counterexamples) }
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
    let order = system.semantics.order();
    let table = grid::cells(system, entries);
    let properties = table.properties();
    let pairs = entries.len() * (entries.len() + 1) / 2;
    let (unbounded, ambiguous) = bounds(system, entries);
    let promotions = promotions(system, entries);
    let ambiguous = Property::of_first("uniqueness", pairs, &ambiguous);
    let joins = Property::new("joins", entries.len().pow(2), &other_than_joins(system, entries));
    let below = |a: &str, b: &str| match (dtype(system, a), dtype(system, b)) {
        (Some(a), Some(b)) => a != b && order.le(a, b),
        (None, _) | (_, None) => false,
    };
    let sets = entries.len() * (entries.len() + 1) * (entries.len() + 2) / 6;
    Findings {
        semantics: system.label.clone(),
        nodes: entries.len(),
        is_lattice: is_lattice(&promotions),
        narrowing: narrowing(system, entries),
        refused: pairs_refused(&promotions),
        cells_of_op: cells_of_op(system, entries),
        properties: vec![
            Property::of_first("existence", pairs, &unbounded),
            ambiguous,
            joins,
            Property::new("idempotence", entries.len(), &idempotence(&properties)),
            Property::new("commutativity", pairs, &properties.not_commutative),
            associativity(&properties),
            Property::new("fold order", sets, &table.fold_orders()),
            Property::new("monotonicity", properties.triples, &table.not_monotone(below)),
        ],
    }
}

/// The table of the promotion alone, every dtype once, with all dtypes that promoting them gives.
fn promotions(system: &System, entries: &[Entry]) -> Table {
    let mut operands: Vec<Operand> = Vec::new();
    let add = |operands: &mut Vec<Operand>, operand: Operand| {
        if operands.iter().all(|other| other.dtype != operand.dtype) {
            operands.push(operand);
        }
    };
    for entry in entries {
        add(&mut operands, entry.operand);
    }
    let promote = |a: Operand, b: Operand| system.semantics.promote(&[a, b]).ok();
    let mut done = 0;
    while done < operands.len() {
        for other in 0..=done {
            let (a, b) = (operands[done], operands[other]);
            for result in [promote(a, b), promote(b, a)].into_iter().flatten() {
                add(&mut operands, Entry::of_dtype(result).operand);
            }
        }
        done += 1;
    }
    let names: Vec<_> = operands.iter().map(|operand| operand.dtype.name()).collect();
    Table::new(&names, |a, b| promote(operands[a], operands[b]).map(DType::name))
}

/// What becomes of a narrowing semantics without the dtypes that it narrows, and if it narrows nothing.
fn narrowing(system: &System, entries: &[Entry]) -> Option<Narrowing> {
    let is_wide = |entry: &Entry| {
        let dtype = entry.operand.dtype;
        !dtype.is_weak() && dtype.real_part().bits() > 32
    };
    let x64 = system.with_x64().filter(|_| system.role() == Role::Narrowed)?;
    let (wide, others): (Vec<_>, Vec<_>) = entries.iter().cloned().partition(is_wide);
    Some(Narrowing {
        wide: wide.into_iter().map(|entry| entry.name).collect(),
        is_lattice_without: (!others.is_empty()).then(|| is_lattice(&promotions(system, &others))),
        is_lattice_with_x64: is_lattice(&promotions(&x64, entries)),
    })
}

fn is_lattice(promotions: &Table) -> bool {
    let properties = promotions.properties();
    properties.not_idempotent.is_empty() && properties.is_commutative() && properties.is_associative()
}

fn pairs_refused(promotions: &Table) -> usize {
    let count = promotions.nodes().len();
    let pairs = (0..count).flat_map(|a| (a..count).map(move |b| (a, b)));
    pairs.filter(|(a, b)| promotions.get(*a, *b).is_none()).count()
}

fn all_pairs(entries: &[Entry]) -> impl Iterator<Item = (&Entry, &Entry)> {
    entries.iter().flat_map(|a| entries.iter().map(move |b| (a, b)))
}

/// The pairs whose promotion is not their join in the order, in words.
fn other_than_joins(system: &System, entries: &[Entry]) -> Vec<String> {
    let semantics = &system.semantics;
    let word = |result: Option<DType>| match result {
        Some(result) => format!("= {}", semantics.show(result)),
        None => "is refused".to_owned(),
    };
    let differs = |(a, b): (&Entry, &Entry)| {
        let promoted = semantics.promote(&[a.operand, b.operand]).ok();
        let joined = semantics.order().join(&[a.operand.dtype, b.operand.dtype]).ok();
        let least = match joined {
            Some(join) => format!("the least upper bound is {}", semantics.show(join)),
            None => "there is no least upper bound".to_owned(),
        };
        (promoted != joined).then(|| format!("{} + {} {}, but {least}", a.name, b.name, word(promoted)))
    };
    all_pairs(entries).filter_map(differs).collect()
}

fn cells_of_op(system: &System, entries: &[Entry]) -> usize {
    let semantics = &system.semantics;
    let differs = |(a, b): &(&Entry, &Entry)| {
        semantics.tabulate(a.operand, b.operand) != semantics.promote(&[a.operand, b.operand]).ok()
    };
    all_pairs(entries).filter(differs).count()
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
    // Those that readers ask for first: of the documents' dtypes, wide ones of one width.
    let documented = |entry: &Entry| DOCUMENTED.contains(&entry.operand.dtype);
    let bits = |entry: &Entry| entry.operand.dtype.bits();
    let mut pairs: Vec<_> =
        entries.iter().enumerate().flat_map(|(i, a)| entries[i..].iter().map(move |b| (a, b))).collect();
    pairs.sort_by_key(|(a, b)| (!(documented(a) && documented(b)), bits(a) != bits(b), Reverse(bits(a))));
    for (a, b) in pairs {
        match order.join(&[a.operand.dtype, b.operand.dtype]) {
            Err(reason @ NoJoin::Ambiguous { .. }) => ambiguous.push(reason.to_string()),
            Err(reason) => unbounded.push(reason.to_string()),
            Ok(_) => {}
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

impl Narrowing {
    fn text(&self) -> String {
        let word = |is: bool| if is { "a lattice" } else { "no lattice" };
        let mut clauses = vec!["results are narrowed to 32 bits".to_owned()];
        if let (Some(is), false) = (self.is_lattice_without, self.wide.is_empty()) {
            clauses.push(format!("without {} it is {}", listed(&self.wide, "and"), word(is)));
        }
        clauses.push(format!("with --x64 it is {}", word(self.is_lattice_with_x64)));
        clauses.join("; ")
    }
}

impl Findings {
    fn text(&self) -> String {
        let verdict = match (self.is_lattice, self.refused) {
            (true, 0) => "a lattice: every two dtypes have a least upper bound".to_owned(),
            (true, refused) => {
                format!("a lattice, completed by a top that joins the {refused} pairs it refuses")
            }
            (false, _) => "no lattice".to_owned(),
        };
        let mut lines = vec![format!("{}: {verdict} ({} dtypes)", self.semantics, self.nodes)];
        if self.cells_of_op > 0 {
            lines.push(format!(
                "  its table is that of an op, `add`, which differs from the promotion alone in {} cells",
                self.cells_of_op
            ));
        }
        if let (Some(narrowing), false) = (&self.narrowing, self.is_lattice) {
            lines.push(format!("  {}", narrowing.text()));
        }
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
