//! Index spaces of kernels, and numbers that follow from the indices.

use promote_dialect::extent::{Extent, Product, Sum};

use super::{Stop, fault};

/// The numbers that the symbols of a kernel are.
pub(super) struct Symbols(pub(super) Vec<i64>);

impl Symbols {
    /// The number that an extent is.
    pub(super) fn extent(&self, extent: Extent) -> Result<i64, Stop> {
        self.product(&extent.into())
    }

    /// The number that a product is.
    pub(super) fn product(&self, product: &Product) -> Result<i64, Stop> {
        product.symbols.iter().try_fold(product.number, |all, symbol| match self.0.get(symbol.0 as usize) {
            Some(number) => Ok(all.wrapping_mul(*number)),
            None => fault(format!("the launch has no number for symbol {}", symbol.0)),
        })
    }

    /// The number that a sum is.
    pub(super) fn sum(&self, sum: &Sum) -> Result<i64, Stop> {
        sum.0.iter().try_fold(0i64, |all, product| Ok(all.wrapping_add(self.product(product)?)))
    }

    /// How many indices there are.
    pub(super) fn count(&self, product: &Product) -> Result<i64, Stop> {
        match self.product(product)? {
            count @ 0.. => Ok(count),
            count => fault(format!("a dimension of the kernel has {count} indices")),
        }
    }

    /// The number at each index of a space of so many dimensions.
    pub(super) fn linear(&self, strides: &[Product], offset: &Sum, rank: usize) -> Result<Linear, Stop> {
        if strides.len() != rank {
            return fault(format!("{} strides in a space of {rank} dimensions", strides.len()));
        }
        let strides = strides.iter().map(|stride| self.product(stride)).collect::<Result<_, _>>()?;
        Ok(Linear { strides, offset: self.sum(offset)? })
    }
}

/// `offset`, and for each dimension a stride times its index.
pub(super) struct Linear {
    strides: Vec<i64>,
    offset: i64,
}

impl Linear {
    /// The number at an index.
    pub(super) fn at(&self, point: &Point) -> Result<i64, Stop> {
        let mut sum = self.offset;
        for (dim, stride) in self.strides.iter().enumerate().filter(|(_, stride)| **stride != 0) {
            match point.0[dim] {
                Some(index) => sum = sum.wrapping_add(stride.wrapping_mul(index)),
                None => {
                    return fault(format!("dimension {dim} is asked for outside of the loop over it"));
                }
            }
        }
        Ok(sum)
    }
}

/// The index of each dimension that a loop runs over at the moment.
pub(super) struct Point(pub(super) Vec<Option<i64>>);

impl Point {
    /// Runs over some dimensions, each from a first index to below another, the last one fastest.
    pub(super) fn each(
        &mut self,
        loops: &[(usize, i64, i64)],
        body: &mut dyn FnMut(&mut Self) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let Some(((dim, from, to), inner)) = loops.split_first() else { return body(self) };
        for index in *from..*to {
            self.0[*dim] = Some(index);
            self.each(inner, body)?;
        }
        self.0[*dim] = None;
        Ok(())
    }
}
