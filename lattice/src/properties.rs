//! What holds of a promotion table: is it commutative, is it associative, and if not, why not.
//!
//! Make a [`Table`] of any rule, with [`Table::of`] of a semantics, and ask for its [`Properties`]. They go through all
//! pairs and all triples of nodes, so their counts are exact, and name every counterexample in the order of the nodes.
//!
//! ## How it counts
//! Refusing is an answer like any other, and one that spreads: what is refused is refused in any further promotion. So
//! a regrouping can change the result from one dtype to another, which is grave, or turn it into a refusal. A result that
//! is no node of the table, as `f*` is none of a table of strong dtypes, cannot be promoted further: such triples are
//! [open](Properties::open) and prove nothing.

use std::fmt;

use crate::semantics::{Node, Semantics};

/// A promotion table over named nodes. See the [module](self).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// The nodes' names, then the names of results that are no nodes.
    names: Vec<Box<str>>,
    nodes: usize,
    /// Row by row, the index of the result's name.
    cells: Vec<Option<usize>>,
}

impl Table {
    /// The table over `nodes` whose cell for two of them, by index, is the name of the result, or `None` if they are
    /// refused.
    pub fn new<S: AsRef<str>>(nodes: &[&str], mut cell: impl FnMut(usize, usize) -> Option<S>) -> Self {
        let mut names: Vec<Box<str>> = nodes.iter().map(|name| (*name).into()).collect();
        let mut cells = Vec::with_capacity(nodes.len() * nodes.len());
        for a in 0..nodes.len() {
            for b in 0..nodes.len() {
                cells.push(cell(a, b).map(|result| index_of(&mut names, result.as_ref())));
            }
        }
        Self { names, nodes: nodes.len(), cells }
    }

    /// The table that `semantics` has over some of its nodes.
    pub fn of(semantics: &Semantics, nodes: &[Node]) -> Self {
        let names: Vec<_> = nodes.iter().map(|node| node.name).collect();
        let cell = |a: usize, b: usize| semantics.tabulate(nodes[a].operand, nodes[b].operand);
        Self::new(&names, |a, b| cell(a, b).map(|result| semantics.show(result)))
    }

    /// The nodes' names.
    pub fn nodes(&self) -> &[Box<str>] {
        &self.names[..self.nodes]
    }

    /// The result for two nodes, by index, if they are not refused.
    pub fn get(&self, a: usize, b: usize) -> Option<&str> {
        self.shown(self.cell(a, b))
    }

    /// What holds of the table.
    pub fn properties(&self) -> Properties<'_> {
        let mut properties = Properties { nodes: self.nodes, ..Properties::default() };
        for a in 0..self.nodes {
            let square = self.cell(a, a);
            if square != Some(a) {
                properties.not_idempotent.push((self.name(a), square.map(|square| self.name(square))));
            }
            for b in 0..self.nodes {
                if a < b && self.cell(a, b) != self.cell(b, a) {
                    properties.not_commutative.push(self.swapped(a, b));
                }
                for c in 0..self.nodes {
                    self.regroup([a, b, c], &mut properties);
                }
            }
        }
        properties
    }

    /// The sets of three nodes whose result depends on the order in which they are folded, from the left.
    pub fn fold_orders(&self) -> Vec<FoldOrder<'_>> {
        let mut found = Vec::new();
        for a in 0..self.nodes {
            for b in a..self.nodes {
                for c in b..self.nodes {
                    found.extend(self.fold_order([a, b, c]));
                }
            }
        }
        found
    }

    /// Where raising an operand does not raise the result: `a` lies below `b`, but `a + c` not below `b + c`, or is
    /// refused while the latter is not. `below` says which node, by index, lies below which name.
    pub fn not_monotone(&self, below: impl Fn(&str, &str) -> bool) -> Vec<Lowered<'_>> {
        let mut found = Vec::new();
        for a in 0..self.nodes {
            for b in (0..self.nodes).filter(|b| *b != a && below(self.name(a), self.name(*b))) {
                for c in 0..self.nodes {
                    let (Some(with_lower), Some(with_higher)) = (self.cell(a, c), self.cell(b, c)) else {
                        continue;
                    };
                    let results = [self.name(with_lower), self.name(with_higher)];
                    if results[0] != results[1] && !below(results[0], results[1]) {
                        found.push(Lowered {
                            raised: [self.name(a), self.name(b)],
                            other: self.name(c),
                            results,
                        });
                    }
                }
            }
        }
        found
    }

    fn name(&self, index: usize) -> &str {
        &self.names[index]
    }

    fn shown(&self, result: Option<usize>) -> Option<&str> {
        result.map(|result| self.name(result))
    }

    fn cell(&self, a: usize, b: usize) -> Option<usize> {
        self.cells[a * self.nodes + b]
    }

    /// The result of promoting the result of a promotion further; `Err` if it is no node.
    fn further(
        &self,
        first: Option<usize>,
        then: impl Fn(usize) -> Option<usize>,
    ) -> Result<Option<usize>, Open> {
        match first {
            None => Ok(None),
            Some(first) if first < self.nodes => Ok(then(first)),
            Some(_) => Err(Open),
        }
    }

    fn swapped(&self, a: usize, b: usize) -> Swapped<'_> {
        let results = [self.shown(self.cell(a, b)), self.shown(self.cell(b, a))];
        Swapped { operands: [self.name(a), self.name(b)], results }
    }

    fn regroup<'t>(&'t self, [a, b, c]: [usize; 3], properties: &mut Properties<'t>) {
        properties.triples += 1;
        let left = self.further(self.cell(a, b), |ab| self.cell(ab, c));
        let right = self.further(self.cell(b, c), |bc| self.cell(a, bc));
        let (Ok(left), Ok(right)) = (left, right) else {
            properties.open += 1;
            return;
        };
        if left == right {
            return;
        }
        let found = Regrouped {
            operands: [a, b, c].map(|node| self.name(node)),
            results: [self.shown(left), self.shown(right)],
        };
        if left.is_some() && right.is_some() {
            properties.not_associative.push(found);
        } else {
            properties.refused_in_one_grouping.push(found);
        }
    }

    fn fold_order(&self, nodes: [usize; 3]) -> Option<FoldOrder<'_>> {
        let [a, b, c] = nodes;
        let orders = [[a, b, c], [a, c, b], [b, a, c], [b, c, a], [c, a, b], [c, b, a]];
        let fold = |[a, b, c]: [usize; 3]| self.further(self.cell(a, b), |ab| self.cell(ab, c)).ok();
        let mut folds = orders.into_iter().filter_map(|order| Some((order, fold(order)?)));
        let (order, result) = folds.next()?;
        let (other_order, other) = folds.find(|(_, other)| *other != result)?;
        Some(FoldOrder {
            orders: [order, other_order].map(|order| order.map(|node| self.name(node))),
            results: [self.shown(result), self.shown(other)],
        })
    }
}

/// The result of a promotion is no node of the table.
struct Open;

/// The index of a name, which is added if it is new.
fn index_of(names: &mut Vec<Box<str>>, name: &str) -> usize {
    names.iter().position(|known| **known == *name).unwrap_or_else(|| {
        names.push(name.into());
        names.len() - 1
    })
}

/// What holds of a [`Table`], with every counterexample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Properties<'t> {
    /// How many nodes there are.
    pub nodes: usize,
    /// How many triples: the third power of it.
    pub triples: usize,
    /// How many triples could not be judged, as an intermediate result is no node.
    pub open: usize,
    /// The nodes that are not promoted to themselves when they meet themselves, with what they are promoted to.
    pub not_idempotent: Vec<(&'t str, Option<&'t str>)>,
    /// The pairs, each once, whose result depends on which comes first.
    pub not_commutative: Vec<Swapped<'t>>,
    /// The triples whose two groupings give different dtypes.
    pub not_associative: Vec<Regrouped<'t>>,
    /// The triples of which one grouping gives a dtype while the other is refused.
    pub refused_in_one_grouping: Vec<Regrouped<'t>>,
}

impl Properties<'_> {
    /// Whether the order of two operands never matters.
    pub const fn is_commutative(&self) -> bool {
        self.not_commutative.is_empty()
    }

    /// Whether grouping never matters, neither for the dtype nor for whether the operands are refused.
    pub const fn is_associative(&self) -> bool {
        self.is_associative_where_defined() && self.refused_in_one_grouping.is_empty()
    }

    /// Whether grouping never matters where neither grouping is refused.
    pub const fn is_associative_where_defined(&self) -> bool {
        self.not_associative.is_empty()
    }
}

/// Up to `count` of the counterexamples, spread evenly over all of them.
pub fn spread<T>(counterexamples: &[T], count: usize) -> impl Iterator<Item = &T> {
    let step = counterexamples.len().checked_div(count).unwrap_or(0).max(1);
    counterexamples.iter().step_by(step).take(count)
}

/// Two nodes whose result depends on which comes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Swapped<'t> {
    /// The nodes.
    pub operands: [&'t str; 2],
    /// The results in this order and in the other.
    pub results: [Option<&'t str>; 2],
}

/// Three nodes whose result depends on which two meet first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regrouped<'t> {
    /// The nodes.
    pub operands: [&'t str; 3],
    /// The result if the first two meet first, and if the last two do.
    pub results: [Option<&'t str>; 2],
}

/// Three nodes whose fold from the left depends on their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoldOrder<'t> {
    /// Two orders.
    pub orders: [[&'t str; 3]; 2],
    /// What they return.
    pub results: [Option<&'t str>; 2],
}

/// An operand whose raising lowers the result, or moves it aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lowered<'t> {
    /// The operand before and after it is raised.
    pub raised: [&'t str; 2],
    /// The other operand.
    pub other: &'t str,
    /// The results before and after.
    pub results: [&'t str; 2],
}

/// A result in a sentence: `= f32`, or `is refused`.
struct Answer<'t>(Option<&'t str>);

impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(result) => write!(f, "= {result}"),
            None => f.write_str("is refused"),
        }
    }
}

impl fmt::Display for Swapped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([a, b], [one, other]) = (self.operands, self.results.map(Answer));
        write!(f, "{a} + {b} {one}, but {b} + {a} {other}")
    }
}

impl fmt::Display for Regrouped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([a, b, c], [left, right]) = (self.operands, self.results.map(Answer));
        write!(f, "({a} + {b}) + {c} {left}, but {a} + ({b} + {c}) {right}")
    }
}

impl fmt::Display for FoldOrder<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, other] = self.orders.map(|order| order.join(" + "));
        let [result, changed] = self.results.map(Answer);
        write!(f, "{one} {result}, but {other} {changed}")
    }
}

impl fmt::Display for Lowered<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([a, b], c, [low, high]) = (self.raised, self.other, self.results);
        write!(f, "{a} lies below {b}, but {a} + {c} = {low} not below {b} + {c} = {high}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Table, spread};

    /// Rock, paper, scissors: commutative, idempotent, and no order at all.
    fn game() -> Table {
        let nodes = ["rock", "paper", "scissors"];
        Table::new(&nodes, |a, b| Some(nodes[if (a + 1) % 3 == b { b } else { a }]))
    }

    #[test]
    fn counterexamples_are_sentences() {
        let table = game();
        let properties = table.properties();
        assert!(properties.is_commutative() && properties.not_idempotent.is_empty());
        assert!(!properties.is_associative() && !properties.is_associative_where_defined());
        assert_eq!(
            properties.not_associative[0].to_string(),
            "(rock + paper) + scissors = scissors, but rock + (paper + scissors) = rock",
        );
    }

    #[test]
    fn refusals_spread_and_results_outside_are_open() {
        let table = Table::new(&["a", "b"], |a, b| match (a, b) {
            (0, 0) => Some("a"),
            (0, 1) => Some("top"),
            _ => None,
        });
        let properties = table.properties();
        assert_eq!((properties.triples, properties.open), (8, 4));
        assert_eq!(properties.not_idempotent, [("b", None)]);
        assert_eq!(properties.not_commutative[0].to_string(), "a + b = top, but b + a is refused");
        assert!(properties.is_associative_where_defined());
    }

    #[test]
    fn folds_and_raises() {
        let table = game();
        let folds: Vec<_> = table.fold_orders().iter().map(ToString::to_string).collect();
        assert_eq!(folds, ["rock + paper + scissors = scissors, but rock + scissors + paper = paper"]);
        let lowered = table.not_monotone(|a, b| a == "rock" && b == "paper");
        assert_eq!(
            lowered[0].to_string(),
            "rock lies below paper, but rock + scissors = rock not below paper + scissors = scissors",
        );
    }

    #[test]
    fn examples_are_spread() {
        let numbers: Vec<_> = (0..80).collect();
        assert_eq!(spread(&numbers, 6).copied().collect::<Vec<_>>(), [0, 13, 26, 39, 52, 65]);
        assert_eq!(spread(&numbers[..2], 6).count(), 2);
        assert_eq!(spread(&numbers, 0).count(), 0);
    }
}
