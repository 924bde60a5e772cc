//! Extents that a run knows: the rules of symbols, computed on indices.

use mlir_sys::*;

use super::Lowering;
use crate::raw;
use promote_lower::extent::{Extent, Product, Symbol};
use promote_lower::graph::Rule;

/// The predicate of `arith.cmpi` that holds of equal numbers.
pub const EQUAL: i64 = 0;
/// The one that holds if the first number is less.
pub const LESS: i64 = 2;

impl Lowering<'_> {
    /// An extent as an index.
    pub fn extent(&mut self, extent: Extent) -> MlirValue {
        match self.graph.resolve(extent) {
            Extent::Fixed(extent) => self.builder.index(extent),
            Extent::Of(symbol) => self.symbol(symbol),
        }
    }

    /// The same of an extent that may be known to equal another one, as it is before that is checked.
    pub fn own_extent(&mut self, extent: Extent) -> MlirValue {
        match extent {
            Extent::Fixed(extent) => self.builder.index(extent),
            Extent::Of(symbol) => self.symbol(symbol),
        }
    }

    /// A product of extents as an index.
    pub fn product(&mut self, product: &Product) -> MlirValue {
        let product = self.graph.simplify(product);
        let mut all = None;
        for symbol in &product.symbols {
            let factor = self.symbol(*symbol);
            all = Some(all.map_or(factor, |all| self.on_indices("arith.muli", all, factor)));
        }
        match all {
            Some(all) if product.number == 1 => all,
            Some(all) => {
                let number = self.builder.index(product.number);
                self.on_indices("arith.muli", all, number)
            }
            None => self.builder.index(product.number),
        }
    }

    /// An op of two indices.
    pub fn on_indices(&self, name: &str, x: MlirValue, y: MlirValue) -> MlirValue {
        self.builder.add(name, &[x, y], self.builder.index_type())
    }

    /// A comparison of two indices, or of two integers.
    pub fn compare(&self, predicate: i64, x: MlirValue, y: MlirValue) -> MlirValue {
        let predicate = self.builder.number_attribute(predicate);
        let truth = self.builder.integer_type(1);
        self.builder.add_with("arith.cmpi", &[x, y], truth, &[("predicate", predicate)])
    }

    /// `x` where `condition`, else `y`.
    pub fn select(&self, condition: MlirValue, x: MlirValue, y: MlirValue) -> MlirValue {
        self.builder.add("arith.select", &[condition, x, y], raw::value_type(x))
    }

    /// A symbol. It is computed where it is needed first, which is never in a region.
    fn symbol(&mut self, symbol: Symbol) -> MlirValue {
        let index = symbol.0 as usize;
        if let Some(known) = self.symbols[index] {
            return known;
        }
        debug_assert_eq!(self.builder.depth(), 0, "extents are computed before the loops");
        let rule = self.graph.symbols[index].clone();
        let made = self.rule(rule);
        self.symbols[index] = Some(made);
        made
    }

    fn rule(&mut self, rule: Rule) -> MlirValue {
        match rule {
            Rule::Source(node, axis) => {
                let axis = self.builder.index(axis as i64);
                let source = self.sources[node.0 as usize].unwrap_or_else(|| unreachable!("it is a source"));
                self.on_indices("tensor.dim", source, axis)
            }
            Rule::Last(extent) => {
                let (extent, one) = (self.extent(extent), self.builder.index(1));
                self.on_indices("arith.subi", extent, one)
            }
            Rule::SliceStart { extent, start, step } => self.bound(extent, start, step),
            Rule::SliceCount { extent, start, stop, step } => self.slice_count(extent, (start, stop), step),
            Rule::Total(extents) => {
                let zero = self.builder.index(0);
                extents.into_iter().fold(zero, |sum, extent| {
                    let extent = self.extent(extent);
                    self.on_indices("arith.addi", sum, extent)
                })
            }
            Rule::Quotient(product, by) => self.quotient(&product, &by),
            Rule::Broadcast(extents) => {
                let one = self.builder.index(1);
                extents.into_iter().rev().fold(one, |rest, extent| {
                    let extent = self.extent(extent);
                    let stretches = self.compare(EQUAL, extent, one);
                    self.select(stretches, rest, extent)
                })
            }
            Rule::Stretch(extent) => {
                let (extent, one, zero) = (self.extent(extent), self.builder.index(1), self.builder.index(0));
                let stretches = self.compare(EQUAL, extent, one);
                self.select(stretches, zero, one)
            }
            Rule::Parts(..) | Rule::PartLength(..) => unreachable!("this lowering cuts no reductions"),
        }
    }

    /// A product divided by another; 0 if that is 0.
    fn quotient(&mut self, product: &Product, by: &Product) -> MlirValue {
        let (product, divisor) = (self.product(product), self.product(by));
        if by.fixed().is_some_and(|by| by != 0) {
            return self.on_indices("arith.divsi", product, divisor);
        }
        let (zero, one) = (self.builder.index(0), self.builder.index(1));
        let is_zero = self.compare(EQUAL, divisor, zero);
        let safe = self.select(is_zero, one, divisor);
        let quotient = self.on_indices("arith.divsi", product, safe);
        self.select(is_zero, zero, quotient)
    }

    /// The place that an end of a Python slice means.
    fn bound(&mut self, extent: Extent, at: i64, step: i64) -> MlirValue {
        let extent = self.extent(extent);
        let (low, high) = if step < 0 {
            let one = self.builder.index(1);
            (self.builder.index(-1), self.on_indices("arith.subi", extent, one))
        } else {
            (self.builder.index(0), extent)
        };
        let at_index = self.builder.index(at);
        let from_start = if at < 0 { self.on_indices("arith.addi", at_index, extent) } else { at_index };
        let from_low = self.on_indices("arith.maxsi", from_start, low);
        self.on_indices("arith.minsi", from_low, high)
    }

    /// How many steps there are from one end to the other: the distance divided by the step, rounded up.
    fn slice_count(&mut self, extent: Extent, (start, stop): (i64, i64), step: i64) -> MlirValue {
        let (first, stop) = (self.bound(extent, start, step), self.bound(extent, stop, step));
        let (from, to) = if step < 0 { (stop, first) } else { (first, stop) };
        let (zero, one) = (self.builder.index(0), self.builder.index(1));
        let distance = self.on_indices("arith.subi", to, from);
        let distance = self.on_indices("arith.maxsi", distance, zero);
        // A step of no length is refused where the program is checked. That of the least integer is right without a sign.
        let step = match step.wrapping_abs() {
            1 => return distance,
            step => self.builder.index(step),
        };
        let whole = self.on_indices("arith.divui", distance, step);
        let rest = self.on_indices("arith.remui", distance, step);
        let is_whole = self.compare(EQUAL, rest, zero);
        let more = self.on_indices("arith.addi", whole, one);
        self.select(is_whole, whole, more)
    }
}
