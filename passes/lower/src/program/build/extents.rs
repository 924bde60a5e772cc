//! Extents as numbers of the program.

use super::Builder;
use crate::extent::{Extent, Product, Symbol};
use crate::graph::{NodeId, Prim, Rule};
use crate::program::{Arg, Arith, Step, ValueId, ValueKind};

impl Builder<'_, '_> {
    /// A new value.
    pub(super) fn new_value(&mut self, kind: ValueKind) -> ValueId {
        self.function.values.push(kind);
        ValueId((self.function.values.len() - 1) as u32)
    }

    /// What arithmetic gives, computed now if all is known.
    pub(super) fn arith(&mut self, op: Arith, args: &[Arg]) -> Arg {
        if let Some(known) = folded(op, args) {
            return known;
        }
        let (_, kind) = op.signature();
        let value = self.new_value(kind);
        self.push(Step::Arith { value, op, args: args.to_vec() });
        Arg::Value(value)
    }

    /// The number that an extent is.
    pub(super) fn extent(&mut self, extent: Extent) -> Arg {
        match self.segment.graph.resolve(extent) {
            Extent::Fixed(extent) => Arg::Known(extent),
            Extent::Of(symbol) => self.symbol(symbol),
        }
    }

    /// The extents of a node.
    pub(super) fn dims(&mut self, node: NodeId) -> Vec<Arg> {
        let shape = self.segment.graph.shape(node);
        shape.into_iter().map(|extent| self.extent(extent)).collect()
    }

    /// The product of numbers.
    pub(super) fn product_of(&mut self, numbers: &[Arg]) -> Arg {
        numbers.iter().fold(Arg::Known(1), |all, extent| self.arith(Arith::Mul, &[all, *extent]))
    }

    /// `number / by`, rounded up.
    pub(super) fn rounded_up(&mut self, number: Arg, by: Arg) -> Arg {
        let less = self.arith(Arith::Sub, &[by, Arg::Known(1)]);
        let sum = self.arith(Arith::Add, &[number, less]);
        self.arith(Arith::DivS, &[sum, by])
    }

    fn symbol(&mut self, symbol: Symbol) -> Arg {
        if let Some(known) = self.segment.symbols.get(&symbol) {
            return *known;
        }
        let value = match self.segment.graph.symbols[symbol.0 as usize].clone() {
            Rule::Source(node, axis) => match self.segment.graph.node(node).prim {
                Prim::Source(number) => self.segment.sources[number as usize].dims[axis],
                _ => unreachable!("a source's extents are a source's"),
            },
            Rule::Last(extent) => {
                let extent = self.extent(extent);
                self.arith(Arith::Sub, &[extent, Arg::Known(1)])
            }
            Rule::SliceStart { extent, start, step } => {
                let extent = self.extent(extent);
                self.bound(extent, start, step)
            }
            Rule::SliceCount { extent, start, stop, step } => {
                let extent = self.extent(extent);
                let (first, last) = (self.bound(extent, start, step), self.bound(extent, stop, step));
                let (from, to) = if step < 0 { (last, first) } else { (first, last) };
                let size = step.saturating_abs();
                let distance = self.arith(Arith::Sub, &[to, from]);
                let distance = self.arith(Arith::MaxS, &[distance, Arg::Known(0)]);
                let rounded = self.arith(Arith::Add, &[distance, Arg::Known(size - 1)]);
                self.arith(Arith::DivU, &[rounded, Arg::Known(size)])
            }
            Rule::Total(extents) => extents.into_iter().fold(Arg::Known(0), |sum, extent| {
                let extent = self.extent(extent);
                self.arith(Arith::Add, &[sum, extent])
            }),
            Rule::Quotient(product, by) => {
                let (product, by) = (self.product(&product), self.product(&by));
                // Where the divisor is zero, so is the dividend.
                let by = self.arith(Arith::MaxU, &[by, Arg::Known(1)]);
                self.arith(Arith::DivU, &[product, by])
            }
            Rule::Broadcast(extents) => extents.into_iter().rev().fold(Arg::Known(1), |rest, extent| {
                let extent = self.extent(extent);
                let is_one = self.arith(Arith::Eq, &[extent, Arg::Known(1)]);
                self.arith(Arith::Select, &[is_one, rest, extent])
            }),
            Rule::Stretch(extent) => {
                let extent = self.extent(extent);
                let is_one = self.arith(Arith::Eq, &[extent, Arg::Known(1)]);
                self.arith(Arith::Select, &[is_one, Arg::Known(0), Arg::Known(1)])
            }
            Rule::Parts(count, cuts) => {
                let count = self.product(&count);
                let parts = self.arith(Arith::DivS, &[count, Arg::Known(cuts.length)]);
                let parts = self.arith(Arith::MaxS, &[parts, Arg::Known(1)]);
                self.arith(Arith::MinS, &[parts, Arg::Known(cuts.most)])
            }
            Rule::PartLength(extent, parts) => {
                let (extent, parts) = (self.extent(extent), self.extent(parts));
                self.rounded_up(extent, parts)
            }
        };
        self.segment.symbols.insert(symbol, value);
        value
    }

    /// Where a bound of a Python slice lies.
    fn bound(&mut self, extent: Arg, at: i64, step: i64) -> Arg {
        let (low, high) = if step < 0 {
            (Arg::Known(-1), self.arith(Arith::Sub, &[extent, Arg::Known(1)]))
        } else {
            (Arg::Known(0), extent)
        };
        let place = match at < 0 {
            true => self.arith(Arith::Add, &[Arg::Known(at), extent]),
            false => Arg::Known(at),
        };
        let place = self.arith(Arith::MaxS, &[place, low]);
        self.arith(Arith::MinS, &[place, high])
    }

    fn product(&mut self, product: &Product) -> Arg {
        let product = self.segment.graph.simplify(product);
        product.symbols.iter().fold(Arg::Known(product.number), |all, symbol| {
            let factor = self.extent(Extent::Of(*symbol));
            self.arith(Arith::Mul, &[all, factor])
        })
    }
}

/// What is known of the result.
fn folded(op: Arith, args: &[Arg]) -> Option<Arg> {
    if let (Arith::Select, [condition, then, otherwise]) = (op, args) {
        return match condition {
            Arg::Known(0) => Some(*otherwise),
            Arg::Known(_) => Some(*then),
            Arg::Value(_) => (then == otherwise).then_some(*then),
        };
    }
    match (op, args) {
        (Arith::Add | Arith::Sub, [x, Arg::Known(0)]) | (Arith::Add, [Arg::Known(0), x]) => return Some(*x),
        (Arith::Mul | Arith::DivS | Arith::DivU, [x, Arg::Known(1)])
        | (Arith::Mul | Arith::And, [Arg::Known(1), x])
        | (Arith::And, [x, Arg::Known(1)]) => return Some(*x),
        (Arith::Mul, [_, Arg::Known(0)] | [Arg::Known(0), _]) => return Some(Arg::Known(0)),
        (Arith::Eq, [x, y]) if x == y => return Some(Arg::Known(1)),
        (Arith::Ne, [x, y]) if x == y => return Some(Arg::Known(0)),
        _ => {}
    }
    let known: Vec<i64> = args.iter().map(|arg| arg.fixed()).collect::<Option<_>>()?;
    op.evaluate(&known).map(Arg::Known)
}
