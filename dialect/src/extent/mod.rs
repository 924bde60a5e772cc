//! Extents, strides and offsets, which may be known at run time only: one algebra, from inference to launches.
//!
//! An [`Extent`] is a number, or a [`Symbol`] of a table, [`Extents`], that says by which [`Rule`] it is computed of
//! others. Equal rules of equal extents are one symbol, so what is equal by the program's shapes alone is the same
//! [`Extent`] in inference, which then asks for no check, and in lowering, which computes it once.

mod compute;
mod table;

use std::fmt::{self, Display, Formatter};
use std::ops::{Add, Mul};

pub use compute::{Arithmetic, compute, rounded_up, slice_count, slice_start};
pub use table::{Extents, Rule};

/// An extent, or another number of indices, that is known at run time only: a row of a table, [`Extents`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(pub u32);

impl Display for Symbol {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "s{}", self.0)
    }
}

/// How many elements there are along a dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Extent {
    /// As many.
    Fixed(i64),
    /// Known at run time only, as its rule says.
    Of(Symbol),
}

impl Extent {
    /// The number, if it is known now.
    pub const fn fixed(self) -> Option<i64> {
        match self {
            Self::Fixed(extent) => Some(extent),
            Self::Of(_) => None,
        }
    }
}

impl Display for Extent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(extent) => extent.fmt(f),
            Self::Of(symbol) => symbol.fmt(f),
        }
    }
}

/// A product of a number and symbols: what strides are.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Product {
    /// The number.
    pub number: i64,
    /// The symbols, sorted.
    pub symbols: Vec<Symbol>,
}

impl Product {
    /// A number.
    pub const fn number(number: i64) -> Self {
        Self { number, symbols: Vec::new() }
    }

    /// The number, if there are no symbols.
    pub fn fixed(&self) -> Option<i64> {
        (self.symbols.is_empty() || self.number == 0).then_some(self.number)
    }

    /// Whether it is a multiple of a number whatever the symbols are.
    pub const fn is_multiple_of(&self, number: i64) -> bool {
        self.number % number == 0
    }

    /// Whether it is zero whatever the symbols are.
    pub const fn is_zero(&self) -> bool {
        self.number == 0
    }

    /// The product without its sign, as text.
    pub const fn magnitude(&self) -> impl Display {
        Magnitude(self)
    }
}

impl Display for Product {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.number < 0 { "-" } else { "" })?;
        self.magnitude().fmt(f)
    }
}

struct Magnitude<'a>(&'a Product);

impl Display for Magnitude<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(Product { number, symbols }) = self;
        let number = number.unsigned_abs();
        let mut times = "";
        if number != 1 || symbols.is_empty() {
            number.fmt(f)?;
            times = "*";
        }
        for symbol in symbols {
            write!(f, "{times}{symbol}")?;
            times = "*";
        }
        Ok(())
    }
}

impl From<Extent> for Product {
    fn from(extent: Extent) -> Self {
        match extent {
            Extent::Fixed(number) => Self::number(number),
            Extent::Of(symbol) => Self { number: 1, symbols: vec![symbol] },
        }
    }
}

impl Mul for &Product {
    type Output = Product;

    fn mul(self, other: &Product) -> Product {
        let number = self.number.wrapping_mul(other.number);
        if number == 0 {
            return Product::number(0);
        }
        let mut symbols = [self.symbols.as_slice(), &other.symbols].concat();
        symbols.sort_unstable();
        Product { number, symbols }
    }
}

/// A sum of products: what offsets are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sum(pub Vec<Product>);

impl Sum {
    /// The number, if there are no symbols.
    pub fn fixed(&self) -> Option<i64> {
        self.0.iter().try_fold(0i64, |sum, product| Some(sum.wrapping_add(product.fixed()?)))
    }

    /// The sum times a product.
    pub fn times(&self, factor: &Product) -> Self {
        self.0.iter().fold(Self::default(), |sum, product| sum + product * factor)
    }
}

impl Add<Product> for Sum {
    type Output = Self;

    fn add(mut self, product: Product) -> Self {
        if product.is_zero() {
            return self;
        }
        match self.0.iter_mut().find(|own| own.symbols == product.symbols) {
            Some(own) => own.number = own.number.wrapping_add(product.number),
            None => self.0.push(product),
        }
        self.0.retain(|own| !own.is_zero());
        self
    }
}

impl Add for Sum {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        other.0.into_iter().fold(self, Self::add)
    }
}
