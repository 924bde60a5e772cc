//! Values: what a program computes with.

use promote_lattice::DType;
use promote_lattice::convert::{Bits, Numerics};

use crate::number::{self, Number};

/// A value of the program at run time. Equal by bits.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A tensor.
    Array(Array),
    /// A scalar of another dialect: an index, or an integer, sign-extended; `true` of `i1` is 1.
    Integer(i64),
}

/// A tensor: its dtype, its extents, and its elements, the last axis fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Its dtype. Weak for a weak constant alone, which keeps its number as written.
    pub dtype: DType,
    /// Its extents.
    pub shape: Vec<usize>,
    /// Its elements.
    pub elements: Vec<Number>,
}

impl Array {
    /// An array of these elements, computed as they are, which are fitted into `dtype`.
    ///
    /// # Panics
    /// If there are more or fewer elements than the shape has.
    pub fn new(dtype: DType, shape: Vec<usize>, elements: impl IntoIterator<Item = Number>) -> Self {
        let elements: Vec<Number> = elements.into_iter().map(|number| number.fit(dtype)).collect();
        assert_eq!(elements.len(), shape.iter().product::<usize>(), "an element for each place");
        Self { dtype, shape, elements }
    }

    /// An array of these numbers, rounded to `dtype`.
    pub fn of_reals(dtype: DType, shape: &[usize], numbers: &[f64]) -> Self {
        Self::new(dtype, shape.to_vec(), numbers.iter().map(|number| Number::Real(*number)))
    }

    /// An array of these integers, as `dtype` holds them.
    pub fn of_ints(dtype: DType, shape: &[usize], numbers: &[i128]) -> Self {
        Self::new(dtype, shape.to_vec(), numbers.iter().map(|number| Number::Int(*number)))
    }

    /// The bits of each element.
    pub fn bits(&self) -> Vec<Bits> {
        self.elements.iter().map(|number| number.bits(self.dtype)).collect()
    }

    /// The array in another dtype.
    pub fn converted(&self, dtype: DType, numerics: Numerics) -> Self {
        let convert = |element: &Number| number::convert(*element, self.dtype, dtype, numerics);
        Self { dtype, shape: self.shape.clone(), elements: self.elements.iter().map(convert).collect() }
    }

    /// The array of shape `shape` whose element at each index is the one that `source` names of this array.
    pub fn gather(&self, shape: Vec<usize>, source: impl Fn(&[usize]) -> Vec<usize>) -> Self {
        let elements = indices(&shape).map(|index| self.at(&source(&index))).collect();
        Self { dtype: self.dtype, shape, elements }
    }

    /// The array stretched to `shape`, which it must broadcast to.
    pub fn broadcast(&self, shape: &[usize]) -> Self {
        let missing = shape.len() - self.shape.len();
        self.gather(shape.to_vec(), |index| {
            let own = index[missing..].iter().zip(&self.shape);
            own.map(|(i, extent)| if *extent == 1 { 0 } else { *i }).collect()
        })
    }

    /// The element at an index.
    pub fn at(&self, index: &[usize]) -> Number {
        let flat = index.iter().zip(&self.shape).fold(0, |flat, (i, extent)| flat * extent + i);
        self.elements[flat]
    }
}

/// Every index into a shape, the last axis fastest.
pub fn indices(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + use<> {
    let shape = shape.to_vec();
    let count: usize = shape.iter().product();
    (0..count).map(move |flat| {
        let mut rest = flat;
        let mut index: Vec<usize> = shape
            .iter()
            .rev()
            .map(|extent| {
                let i = rest % extent;
                rest /= extent;
                i
            })
            .collect();
        index.reverse();
        index
    })
}
