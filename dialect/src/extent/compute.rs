//! How extents are computed: each rule once, over the arithmetic of whoever computes them.

use super::{Extent, Product, Rule};

/// Numbers that rules are computed of: constants, or values of a program that computes them at run time.
pub trait Arithmetic {
    /// A number.
    type Number: Clone;

    /// A constant.
    fn constant(&mut self, number: i64) -> Self::Number;
    /// An extent.
    fn extent(&mut self, extent: Extent) -> Self::Number;
    /// The extent of a value along an axis: what [`Rule::Axis`] names.
    fn axis(&mut self, of: u32, axis: usize) -> Self::Number;
    /// `x + y`, modulo 2⁶⁴.
    fn add(&mut self, x: Self::Number, y: Self::Number) -> Self::Number;
    /// `x - y`, modulo 2⁶⁴.
    fn sub(&mut self, x: Self::Number, y: Self::Number) -> Self::Number;
    /// `x * y`, modulo 2⁶⁴.
    fn mul(&mut self, x: Self::Number, y: Self::Number) -> Self::Number;
    /// `x / y` of unsigned numbers, rounded down; `y` is not 0.
    fn div(&mut self, x: Self::Number, y: Self::Number) -> Self::Number;
    /// The greater of two signed numbers.
    fn max(&mut self, x: Self::Number, y: Self::Number) -> Self::Number;
    /// The lesser of two signed numbers.
    fn min(&mut self, x: Self::Number, y: Self::Number) -> Self::Number;
    /// `then` where `x` is 1, else `otherwise`.
    fn if_one(&mut self, x: Self::Number, then: Self::Number, otherwise: Self::Number) -> Self::Number;

    /// A product of extents.
    fn product(&mut self, product: &Product) -> Self::Number {
        let number = self.constant(product.number);
        product.symbols.iter().fold(number, |all, symbol| {
            let factor = self.extent(Extent::Of(*symbol));
            self.mul(all, factor)
        })
    }
}

/// What a rule returns.
pub fn compute<A: Arithmetic>(on: &mut A, rule: &Rule) -> A::Number {
    let (zero, one) = (on.constant(0), on.constant(1));
    match rule {
        Rule::Axis(of, axis) => on.axis(*of, *axis),
        Rule::Last(extent) => {
            let extent = on.extent(*extent);
            on.sub(extent, one)
        }
        Rule::SliceStart { extent, start, step } => bound(on, *extent, *start, *step),
        Rule::SliceCount { extent, start, stop, step } => {
            let (first, last) = (bound(on, *extent, *start, *step), bound(on, *extent, *stop, *step));
            let (from, to) = if *step < 0 { (last, first) } else { (first, last) };
            let distance = on.sub(to, from);
            let distance = on.max(distance, zero);
            let step = on.constant(step.saturating_abs());
            rounded_up(on, distance, step)
        }
        Rule::Total(extents) => extents.iter().fold(zero, |sum, extent| {
            let extent = on.extent(*extent);
            on.add(sum, extent)
        }),
        Rule::Quotient(product, by) => {
            let (product, by) = (on.product(product), on.product(by));
            // Where the divisor is zero, so is the dividend.
            let by = on.max(by, one);
            on.div(product, by)
        }
        Rule::Broadcast(extents) => extents.iter().rev().fold(one, |rest, extent| {
            let extent = on.extent(*extent);
            on.if_one(extent.clone(), rest, extent)
        }),
        Rule::Stretch(extent) => {
            let extent = on.extent(*extent);
            on.if_one(extent, zero, one)
        }
        Rule::Parts { count, length, most } => {
            let (count, length, most) = (on.product(count), on.constant(*length), on.constant(*most));
            let parts = on.div(count, length);
            let parts = on.max(parts, one);
            on.min(parts, most)
        }
        Rule::PartLength { extent, parts } => {
            let (extent, parts) = (on.extent(*extent), on.extent(*parts));
            rounded_up(on, extent, parts)
        }
    }
}

/// `x / y` of numbers that are not negative, rounded up; `y` is not 0.
pub fn rounded_up<A: Arithmetic>(on: &mut A, x: A::Number, y: A::Number) -> A::Number {
    let one = on.constant(1);
    let rest = on.sub(y.clone(), one);
    let sum = on.add(x, rest);
    on.div(sum, y)
}

/// Where a bound of a Python slice lies.
fn bound<A: Arithmetic>(on: &mut A, extent: Extent, at: i64, step: i64) -> A::Number {
    // No extent is less.
    if at == 0 && step > 0 {
        return on.constant(0);
    }
    let extent = on.extent(extent);
    let (low, high) = if step < 0 {
        let one = on.constant(1);
        (on.constant(-1), on.sub(extent.clone(), one))
    } else {
        (on.constant(0), extent.clone())
    };
    let at_constant = on.constant(at);
    let from_start = if at < 0 { on.add(at_constant, extent) } else { at_constant };
    let from_low = on.max(from_start, low);
    on.min(from_low, high)
}

/// Numbers that are known, or not.
struct Constants;

impl Constants {
    fn both(x: Option<i64>, y: Option<i64>, op: impl Fn(i64, i64) -> i64) -> Option<i64> {
        Some(op(x?, y?))
    }
}

impl Arithmetic for Constants {
    type Number = Option<i64>;

    fn constant(&mut self, number: i64) -> Option<i64> {
        Some(number)
    }

    fn extent(&mut self, extent: Extent) -> Option<i64> {
        extent.fixed()
    }

    fn axis(&mut self, _of: u32, _axis: usize) -> Option<i64> {
        None
    }

    fn add(&mut self, x: Option<i64>, y: Option<i64>) -> Option<i64> {
        Self::both(x, y, i64::wrapping_add)
    }

    fn sub(&mut self, x: Option<i64>, y: Option<i64>) -> Option<i64> {
        Self::both(x, y, i64::wrapping_sub)
    }

    fn mul(&mut self, x: Option<i64>, y: Option<i64>) -> Option<i64> {
        match (x, y) {
            (Some(0), _) | (_, Some(0)) => Some(0),
            _ => Self::both(x, y, i64::wrapping_mul),
        }
    }

    fn div(&mut self, x: Option<i64>, y: Option<i64>) -> Option<i64> {
        Self::both(x, y, |x, y| (x as u64 / y as u64) as i64)
    }

    fn max(&mut self, x: Option<i64>, y: Option<i64>) -> Option<i64> {
        Self::both(x, y, i64::max)
    }

    fn min(&mut self, x: Option<i64>, y: Option<i64>) -> Option<i64> {
        Self::both(x, y, i64::min)
    }

    fn if_one(&mut self, x: Option<i64>, then: Option<i64>, otherwise: Option<i64>) -> Option<i64> {
        if x? == 1 { then } else { otherwise }
    }
}

/// What a rule returns if all that it needs is known.
pub(super) fn known(rule: &Rule) -> Option<i64> {
    compute(&mut Constants, rule)
}

/// Where a Python slice of `extent` elements starts.
pub fn slice_start(extent: i64, start: i64, step: i64) -> i64 {
    let rule = Rule::SliceStart { extent: Extent::Fixed(extent), start, step };
    known(&rule).unwrap_or_else(|| unreachable!("the extent is known"))
}

/// How many elements the Python slice `start:stop:step` of `extent` elements has; `step` is not 0.
pub fn slice_count(extent: i64, start: i64, stop: i64, step: i64) -> i64 {
    let rule = Rule::SliceCount { extent: Extent::Fixed(extent), start, stop, step };
    known(&rule).unwrap_or_else(|| unreachable!("the extent is known"))
}

#[cfg(test)]
mod tests {
    use super::slice_count;

    #[test]
    fn slices_count_as_in_python() {
        for (extent, start, stop, step, count) in [
            (10, 0, 10, 1, 10),
            (10, 2, 9, 3, 3),
            (10, -3, 10, 1, 3),
            (10, 9, -11, -1, 10),
            (10, 9, -1, -1, 0),
            (10, 5, 2, 1, 0),
            (10, i64::MIN, i64::MAX, 1, 10),
            (10, 0, 10, i64::MAX, 1),
            (10, 9, i64::MIN, i64::MIN, 1),
            (i64::MAX, 0, i64::MAX, i64::MAX, 1),
            (i64::MAX, 0, i64::MAX, 2, i64::MAX / 2 + 1),
            (0, 0, 5, 1, 0),
            (0, 5, 0, -1, 0),
        ] {
            assert_eq!(slice_count(extent, start, stop, step), count, "{extent}[{start}:{stop}:{step}]");
        }
    }
}
