//! Extents that are known at run time only, as indices.

use mlir_sys::*;
use promote_dialect::extent::{Arithmetic, Extent, Product, Symbol, compute};
use promote_lower::program::{Arg, Arith, fold};

use super::Lowering;
use crate::raw;

/// The predicate of `arith.cmpi` that holds of equal numbers.
pub const EQUAL: i64 = 0;
/// The one that holds if the first number is less.
pub const LESS: i64 = 2;

/// An index of the program, by its number in [`Lowering::indices`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexId(u32);

/// An index, or a number.
pub type Number = Arg<IndexId>;

impl Lowering<'_> {
    /// An extent as an index.
    pub fn extent(&mut self, extent: Extent) -> MlirValue {
        let number = Arithmetic::extent(self, extent);
        self.index(number)
    }

    /// The same of an extent that may be known to equal another one, as it is before that is checked.
    pub fn own_extent(&mut self, extent: Extent) -> MlirValue {
        let number = match extent {
            Extent::Fixed(extent) => Arg::Known(extent),
            Extent::Of(symbol) => self.symbol(symbol),
        };
        self.index(number)
    }

    /// A product of extents as an index.
    pub fn product(&mut self, product: &Product) -> MlirValue {
        let product = self.graph.extents.simplify(product);
        let number = Arithmetic::product(self, &product);
        self.index(number)
    }

    fn index(&mut self, number: Number) -> MlirValue {
        match number {
            Arg::Known(number) => self.builder.index(number),
            Arg::Value(IndexId(index)) => self.indices[index as usize],
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
    fn symbol(&mut self, symbol: Symbol) -> Number {
        let index = symbol.0 as usize;
        if let Some(known) = self.symbols[index] {
            return known;
        }
        debug_assert_eq!(self.builder.depth(), 0, "extents are computed before the loops");
        let rule = self.graph.extents.rule(symbol).clone();
        let number = compute(self, &rule);
        self.symbols[index] = Some(number);
        number
    }

    fn number(&mut self, index: MlirValue) -> Number {
        self.indices.push(index);
        Arg::Value(IndexId((self.indices.len() - 1) as u32))
    }

    fn binary(&mut self, op: Arith, name: &str, x: Number, y: Number) -> Number {
        if let Some(known) = fold(op, &[x, y]) {
            return known;
        }
        let (x, y) = (self.index(x), self.index(y));
        let made = self.on_indices(name, x, y);
        self.number(made)
    }
}

impl Arithmetic for Lowering<'_> {
    type Number = Number;

    fn constant(&mut self, number: i64) -> Number {
        Arg::Known(number)
    }

    fn extent(&mut self, extent: Extent) -> Number {
        match self.graph.extents.resolve(extent) {
            Extent::Fixed(extent) => Arg::Known(extent),
            Extent::Of(symbol) => self.symbol(symbol),
        }
    }

    fn axis(&mut self, of: u32, axis: usize) -> Number {
        let axis = self.builder.index(axis as i64);
        let source = self.sources[of as usize].unwrap_or_else(|| unreachable!("it is a source"));
        let made = self.on_indices("tensor.dim", source, axis);
        self.number(made)
    }

    fn add(&mut self, x: Number, y: Number) -> Number {
        self.binary(Arith::Add, "arith.addi", x, y)
    }

    fn sub(&mut self, x: Number, y: Number) -> Number {
        self.binary(Arith::Sub, "arith.subi", x, y)
    }

    fn mul(&mut self, x: Number, y: Number) -> Number {
        self.binary(Arith::Mul, "arith.muli", x, y)
    }

    fn div(&mut self, x: Number, y: Number) -> Number {
        self.binary(Arith::DivU, "arith.divui", x, y)
    }

    fn max(&mut self, x: Number, y: Number) -> Number {
        self.binary(Arith::MaxS, "arith.maxsi", x, y)
    }

    fn min(&mut self, x: Number, y: Number) -> Number {
        self.binary(Arith::MinS, "arith.minsi", x, y)
    }

    fn if_one(&mut self, x: Number, then: Number, otherwise: Number) -> Number {
        if let Arg::Known(number) = x {
            return if number == 1 { then } else { otherwise };
        }
        let (x, one) = (self.index(x), self.builder.index(1));
        let is_one = self.compare(EQUAL, x, one);
        let (then, otherwise) = (self.index(then), self.index(otherwise));
        let made = self.select(is_one, then, otherwise);
        self.number(made)
    }
}
