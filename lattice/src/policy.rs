//! Policies: promotions that a user wants to hear of, or to have refused.
//!
//! [`Policy::finds`] says whether a conversion is one of them and why, from what the dtypes can hold; nothing lists pairs
//! of dtypes.

use std::fmt;
use std::str::FromStr;

use crate::convert::{Literal, Lost, Numerics, literal, loss};
use crate::dtype::{DType, Kind};

/// A sort of promotion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Numbers may be rounded.
    PrecisionLoss,
    /// Numbers may be too large, or negative, for the new dtype.
    MagnitudeLoss,
    /// A dtype of up to 32 bits becomes one of 64 bits (a complex one: in each part).
    Widening,
    /// Signed and unsigned integers meet.
    MixedSignedness,
    /// The library has a dtype rule for the op and no code for it on a CPU: see
    /// [`Typing::has_kernel`](crate::semantics::Typing). It is about ops, and never finds a conversion.
    NoKernel,
}

impl Policy {
    /// All policies.
    pub const ALL: &'static [Self] =
        &[Self::PrecisionLoss, Self::MagnitudeLoss, Self::Widening, Self::MixedSignedness, Self::NoKernel];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PrecisionLoss => "precision-loss",
            Self::MagnitudeLoss => "magnitude-loss",
            Self::Widening => "widening",
            Self::MixedSignedness => "mixed-signedness",
            Self::NoKernel => "no-kernel",
        }
    }

    /// Why the promotion of a number written in the program is one of these, if it is. Of floats only the range counts:
    /// a decimal fraction is rounded in every dtype.
    pub fn finds_literal(self, number: Literal, to: DType, numerics: Numerics) -> Option<String> {
        let converted = literal(number, to, numerics);
        match (self, number) {
            (Self::MagnitudeLoss, _) if !converted.in_range => {
                Some(format!("loses magnitude: {to} has a smaller range"))
            }
            (Self::PrecisionLoss, Literal::Int(_)) if converted.in_range && !converted.exact => {
                let keeps = to.real_part().props().format.map_or(0, |format| format.mantissa_bits + 1);
                Some(format!("loses precision: {to} keeps {keeps} bits"))
            }
            _ => None,
        }
    }

    /// Why the implicit conversion of an operand is one of these, if it is. `operands` are the dtypes of all operands.
    pub fn finds(self, from: DType, to: DType, operands: &[DType]) -> Option<String> {
        let loses = |aspect: fn(&Lost) -> bool| {
            let mut loss = loss(from, to)?;
            loss.lost.retain(aspect);
            (!loss.lost.is_empty()).then(|| loss.to_string())
        };
        let wide = |dtype: DType| dtype.real_part().bits() == 64;
        match self {
            Self::PrecisionLoss => loses(|lost| matches!(lost, Lost::Precision { .. } | Lost::Fraction)),
            Self::MagnitudeLoss => {
                loses(|lost| matches!(lost, Lost::Magnitude { .. } | Lost::Sign | Lost::Infinities))
            }
            Self::Widening => {
                (!wide(from) && wide(to)).then(|| format!("widens {from} to the 64 bits of {to}"))
            }
            Self::MixedSignedness => {
                let of = |kind| operands.iter().find(|dtype| !dtype.is_weak() && dtype.kind() == kind);
                let (unsigned, signed) = (of(Kind::Unsigned)?, of(Kind::Signed)?);
                Some(format!("mixes unsigned {unsigned} with signed {signed}"))
            }
            Self::NoKernel => None,
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that is no policy's.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "unknown policy `{0}`: the policies are precision-loss, magnitude-loss, widening, mixed-signedness and no-kernel"
)]
pub struct UnknownPolicy(pub String);

impl FromStr for Policy {
    type Err = UnknownPolicy;

    fn from_str(name: &str) -> Result<Self, UnknownPolicy> {
        let found = Self::ALL.iter().copied().find(|policy| policy.name() == name);
        found.ok_or_else(|| UnknownPolicy(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::Policy::{self, MagnitudeLoss, MixedSignedness, PrecisionLoss, Widening};
    use crate::DType::{self, BF16, F16, F32, F64, I16, I32, I64, U8, U32};

    #[test]
    fn findings_follow_from_what_dtypes_hold() {
        for (from, to, operands, found) in [
            (I32, BF16, &[I32, BF16][..], &[PrecisionLoss][..]),
            (I32, F16, &[I32, F16], &[PrecisionLoss, MagnitudeLoss]),
            (U8, I16, &[U8, I16], &[MixedSignedness]),
            (U32, I64, &[U32, I32], &[Widening, MixedSignedness]),
            (F32, F64, &[F32, F64], &[Widening]),
            (U8, F32, &[U8, F32], &[]),
            (BF16, F32, &[BF16, F32], &[]),
        ] as [(DType, DType, &[DType], &[Policy]); 7]
        {
            let all: Vec<_> = Policy::ALL
                .iter()
                .copied()
                .filter(|policy| policy.finds(from, to, operands).is_some())
                .collect();
            assert_eq!(all, found, "{from} to {to}");
        }
    }

    #[test]
    fn names_read_back() {
        assert!(Policy::ALL.iter().all(|policy| policy.name().parse() == Ok(*policy)));
        assert!("loss".parse::<Policy>().is_err());
    }
}
