//! Integers: division, powers, divisors.
//!
//! What StableHLO leaves open, a division by zero and the least number divided by -1, is never asked for.

use promote_lattice::convert::{Bits, Numerics};
use promote_lattice::{DType, Kind};

use super::bits::bits_dtype;
use super::builder::{Builder, Direction, Made, Tensor, refuse};
use super::known;

/// A quotient without its fraction, and what it leaves.
struct Division {
    quotient: Tensor,
    /// Of the sign of the dividend; 0 if the divisor is.
    rest: Tensor,
    /// Whether the divisor is zero.
    by_zero: Tensor,
    /// Whether the exact quotient is below the one without its fraction.
    is_below: Tensor,
}

impl Builder<'_> {
    fn divide_integers(&mut self, x: Tensor, y: Tensor) -> Division {
        let (zero, one) = (self.zero(y), self.whole(y, 1));
        let by_zero = self.compare(y, Direction::Eq, zero);
        if x.kind() != Kind::Signed {
            let divisor = self.select(by_zero, one, y);
            let (quotient, rest) = (self.div(x, divisor), self.rem(x, divisor));
            let is_below = self.truth(x, false);
            return Division { quotient, rest, by_zero, is_below };
        }
        let minus_one = self.whole(y, -1);
        let by_minus_one = self.compare(y, Direction::Eq, minus_one);
        let special = self.or(by_zero, by_minus_one);
        let divisor = self.select(special, one, y);
        let (quotient, rest) = (self.div(x, divisor), self.rem(x, divisor));
        let negative = self.neg(x);
        let quotient = self.select(by_minus_one, negative, quotient);
        let leaves = self.compare(rest, Direction::Ne, zero);
        let (rest_is, y_is) = (self.compare(rest, Direction::Lt, zero), self.compare(y, Direction::Lt, zero));
        let apart = self.xor(rest_is, y_is);
        let is_below = self.and(leaves, apart);
        Division { quotient, rest, by_zero, is_below }
    }

    /// The quotient, rounded down.
    pub fn floor_divide_integers(&mut self, x: Tensor, y: Tensor) -> Made {
        self.refuse_zero(y)?;
        let narrow = x.dtype;
        let (x, y) = (self.in_bytes(x), self.in_bytes(y));
        let Division { quotient, by_zero, is_below, .. } = self.divide_integers(x, y);
        let floor = if x.kind() == Kind::Signed {
            let one = self.whole(x, 1);
            let below = self.sub(quotient, one);
            self.select(is_below, below, quotient)
        } else {
            quotient
        };
        // XLA's division by zero gives -1, which JAX then rounds down wherever there is a remainder; NumPy gives 0.
        let of_zero = match (self.numerics(), x.kind()) {
            (Numerics::NumPy | Numerics::Torch, _) => self.zero(x),
            (Numerics::Jax, Kind::Signed) => {
                let zero = self.zero(x);
                let is_zero = self.compare(x, Direction::Eq, zero);
                let (one_less, two_less) = (self.whole(x, -1), self.whole(x, -2));
                self.select(is_zero, one_less, two_less)
            }
            (Numerics::Jax, _) => self.bits(x, Bits::MAX >> (Bits::BITS - x.dtype.bits())),
        };
        let found = self.select(by_zero, of_zero, floor);
        Ok(self.cast(found, narrow))
    }

    /// What the quotient, rounded down, leaves: of the sign of `y`, and 0 if that is 0.
    pub fn remainder_of_integers(&mut self, x: Tensor, y: Tensor) -> Made {
        self.refuse_zero(y)?;
        let Division { rest, is_below, .. } = self.divide_integers(x, y);
        if x.kind() != Kind::Signed {
            return Ok(rest);
        }
        let above = self.add(rest, y);
        Ok(self.select(is_below, above, rest))
    }

    /// What the quotient without its fraction leaves: of the sign of `x`.
    pub fn fmod_of_integers(&mut self, x: Tensor, y: Tensor) -> Made {
        self.refuse_zero(y)?;
        Ok(self.divide_integers(x, y).rest)
    }

    /// PyTorch raises an exception where an integer is divided by zero, which StableHLO has no way to say.
    fn refuse_zero(&self, y: Tensor) -> Made<()> {
        let never = |elements: Vec<Bits>| elements.iter().all(|bits| *bits != 0);
        if self.numerics() != Numerics::Torch || known::elements(y).is_some_and(never) {
            return Ok(());
        }
        refuse(
            "an integer divided by zero raises an exception, and StableHLO has none",
            "divide by a constant, or convert to a float dtype and round",
        )
    }

    /// An integer to the power of an integer.
    ///
    /// JAX looks at the lowest six bits of an exponent that is no literal. Negative powers have no fraction in PyTorch, and
    /// are an exception in NumPy.
    pub fn integer_power(&mut self, x: Tensor, y: Tensor) -> Made {
        let exponents = known::elements(y);
        let is_negative = |bits: &Bits| y.kind() == Kind::Signed && bits >> (y.dtype.bits() - 1) != 0;
        let may_be_negative =
            y.kind() == Kind::Signed && known::range(self, y).is_none_or(|(lowest, _)| lowest < 0);
        if may_be_negative && self.numerics() == Numerics::NumPy {
            return refuse(
                "an integer to a negative power raises an exception, and StableHLO has none",
                "raise to a constant or an unsigned exponent, or convert the base to a float dtype",
            );
        }
        let steps = match (&exponents, self.numerics()) {
            (Some(exponents), _) => {
                let longest = exponents.iter().filter(|bits| !is_negative(bits)).max();
                longest.map_or(0, |bits| Bits::BITS - bits.leading_zeros())
            }
            (None, Numerics::Jax) => y.dtype.bits().min(6),
            (None, Numerics::NumPy | Numerics::Torch) => y.dtype.bits() - u32::from(y.kind() == Kind::Signed),
        };
        let power = self.power_in_steps(x, y, steps);
        let looks_at_sign = exponents.is_some() || self.numerics() != Numerics::Jax;
        Ok(if may_be_negative && looks_at_sign { self.negative_powers(x, y, power) } else { power })
    }

    /// The power by the lowest bits of the exponent, modulo the width.
    fn power_in_steps(&mut self, x: Tensor, y: Tensor, steps: u32) -> Tensor {
        let exponent = self.bitcast(y, bits_dtype(y.dtype));
        let zero = self.zero(exponent);
        let (mut power, mut square) = (self.whole(x, 1), x);
        for step in 0..steps {
            let mask = self.bits(exponent, 1 << step);
            let bit = self.and(exponent, mask);
            let is_set = self.compare(bit, Direction::Ne, zero);
            let product = self.mul(power, square);
            power = self.select(is_set, product, power);
            if step + 1 < steps {
                square = self.mul(square, square);
            }
        }
        power
    }

    /// `power`, but where the exponent is negative the whole part of the true one: 1 and -1 have one.
    fn negative_powers(&mut self, x: Tensor, y: Tensor, power: Tensor) -> Tensor {
        let (zero, one) = (self.zero(x), self.whole(x, 1));
        let no_exponent = self.zero(y);
        let is_negative = self.compare(y, Direction::Lt, no_exponent);
        let is_one = self.compare(x, Direction::Eq, one);
        let mut whole = self.select(is_one, one, zero);
        if x.kind() == Kind::Signed {
            let minus_one = self.whole(x, -1);
            let is_minus_one = self.compare(x, Direction::Eq, minus_one);
            let lowest = self.whole(y, 1);
            let parity = self.and(y, lowest);
            let is_odd = self.compare(parity, Direction::Ne, no_exponent);
            let signed = self.select(is_odd, minus_one, one);
            whole = self.select(is_minus_one, signed, whole);
        }
        self.select(is_negative, whole, power)
    }

    /// The greatest common divisor, by Euclid: a loop until every element is done.
    pub fn gcd(&mut self, x: Tensor, y: Tensor) -> Tensor {
        let (x_size, y_size) = (self.magnitude(x), self.magnitude(y));
        let found = self.while_loop(
            &[x_size, y_size],
            |b, state| {
                let zero = b.zero(state[1]);
                let goes_on = b.compare(state[1], Direction::Ne, zero);
                b.any(goes_on)
            },
            |b, state| {
                let [x, y] = [state[0], state[1]];
                let (zero, one) = (b.zero(y), b.whole(y, 1));
                let done = b.compare(y, Direction::Eq, zero);
                let divisor = b.select(done, one, y);
                let rest = b.rem(x, divisor);
                vec![b.select(done, x, y), rest]
            },
        );
        self.bitcast(found[0], x.dtype)
    }

    /// The least common multiple, modulo the width.
    pub fn lcm(&mut self, x: Tensor, y: Tensor) -> Tensor {
        let divisor = self.gcd(x, y);
        let divisor = self.bitcast(divisor, bits_dtype(x.dtype));
        let (x_size, y_size) = (self.magnitude(x), self.magnitude(y));
        let (zero, one) = (self.zero(divisor), self.whole(divisor, 1));
        let is_zero = self.compare(divisor, Direction::Eq, zero);
        let divisor = self.select(is_zero, one, divisor);
        let quotient = self.div(x_size, divisor);
        let product = self.mul(quotient, y_size);
        self.bitcast(product, x.dtype)
    }

    /// The distance from zero as an unsigned integer, which holds that of the least signed one, too.
    fn magnitude(&mut self, x: Tensor) -> Tensor {
        let distance = self.abs_of_integer(x);
        self.bitcast(distance, bits_dtype(x.dtype))
    }

    /// The distance from zero; the least integer stays itself.
    pub fn abs_of_integer(&mut self, x: Tensor) -> Tensor {
        if x.kind() != Kind::Signed {
            return x;
        }
        let (zero, negative) = (self.zero(x), self.neg(x));
        let is_negative = self.compare(x, Direction::Lt, zero);
        self.select(is_negative, negative, x)
    }

    /// Whether one of all elements is true.
    fn any(&mut self, x: Tensor) -> Tensor {
        let axes: Vec<i64> = (0..x.shape().len() as i64).collect();
        let init = self.splat_bits(DType::B1, &[], 0);
        self.reduce(&[x], &[init], &axes, |b, so_far, next| vec![b.or(so_far[0], next[0])])[0]
    }
}
