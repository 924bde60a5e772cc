//! What a conversion can lose, derived from what the two dtypes can hold.
//!
//! [`Values`] describes the set of values of a real dtype so closely that one set lies within another if and only if no
//! aspect is lost; [`lost`] goes through the aspects.

use std::fmt;

use super::number::{Magnitude, decode, lowest_normal, max_code};
use crate::dtype::{DType, FloatFormat, Kind, Props, Specials};

/// Whether every value of `from` is a value of `to` and comes back from there: nothing that [`Lost`] names is lost.
/// Infinities, NaN and negative zero count as values, the payload of a NaN does not.
///
/// ```
/// use promote_lattice::DType::{BF16, F16, F32, I16, I32};
/// use promote_lattice::convert::is_exact;
///
/// assert!(is_exact(I16, F32) && is_exact(BF16, F32));
/// assert!(!is_exact(I32, F32) && !is_exact(BF16, F16));
/// ```
pub fn is_exact(from: DType, to: DType) -> bool {
    lost(from, to).next().is_none()
}

/// What converting from `from` to `to` can lose; `None` if the conversion [is exact](is_exact).
///
/// ```
/// use promote_lattice::DType::{F32, I32};
/// use promote_lattice::convert::loss;
///
/// let text = loss(I32, F32).map(|loss| loss.to_string());
/// assert_eq!(text.as_deref(), Some("can lose precision: i32 needs 31 bits, f32 keeps 24"));
/// ```
pub fn loss(from: DType, to: DType) -> Option<Loss> {
    let lost: Vec<_> = lost(from, to).collect();
    (!lost.is_empty()).then_some(Loss { from, to, lost })
}

/// What a conversion can lose. Displayed, it is an English phrase that names every aspect and has the numbers of the
/// gravest that has any.
#[derive(Clone, Debug, PartialEq)]
pub struct Loss {
    /// The dtype converted from.
    pub from: DType,
    /// The dtype converted to.
    pub to: DType,
    /// The aspects, the gravest first; there is at least one.
    pub lost: Vec<Lost>,
}

/// One aspect of a value that a conversion can lose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Lost {
    /// Complex to real: the imaginary part.
    ImaginaryPart,
    /// Signed to unsigned: negative values.
    Sign,
    /// The largest magnitudes do not fit, of positive numbers or else of negative ones.
    Magnitude {
        /// The largest magnitude of that sign in the source, to the nearest `f64`.
        reaches: f64,
        /// The largest magnitude of that sign in the target.
        holds: f64,
    },
    /// Float to integer: what follows the point.
    Fraction,
    /// Numbers are rounded.
    Precision {
        /// How many significant bits the source has.
        needs: u32,
        /// How many significant bits the target has.
        keeps: u32,
    },
    /// The smallest magnitudes become zero or are rounded more coarsely, as powers of two.
    SmallMagnitude {
        /// The finest step of the source is `2^reaches`.
        reaches: i32,
        /// The finest step of the target is `2^holds`.
        holds: i32,
    },
    /// The target has no zero.
    Zero,
    /// Float to float: the target has no negative zero.
    NegativeZero,
    /// The target has no infinities.
    Infinities,
    /// The target has no NaN.
    Nan,
}

/// The aspects that are lost, the gravest first.
fn lost(from: DType, to: DType) -> impl Iterator<Item = Lost> {
    let imaginary_part = from.kind() == Kind::Complex && to.kind() != Kind::Complex;
    let (source, target) = (Values::of(from), Values::of(to));
    let sign = source.most_negative > Magnitude::ZERO && target.most_negative == Magnitude::ZERO;
    let negative_zero = source.negative_zero && !target.negative_zero && target.is_float;
    let aspects = [
        imaginary_part.then_some(Lost::ImaginaryPart),
        sign.then_some(Lost::Sign),
        source.magnitude_lost(&target),
        source.steps_lost(&target),
        source.small_magnitude_lost(&target),
        (source.zero && !target.zero).then_some(Lost::Zero),
        negative_zero.then_some(Lost::NegativeZero),
        (source.infinities && !target.infinities).then_some(Lost::Infinities),
        (source.nan && !target.nan).then_some(Lost::Nan),
    ];
    aspects.into_iter().flatten()
}

/// The values of a real dtype, or of a part of a complex one: all numbers of at most `precision` significant bits whose
/// last bit is worth at least `2^lowest`, from `-most_negative` to `most_positive`; and the specials.
pub(super) struct Values {
    is_float: bool,
    precision: u32,
    pub(super) lowest: i32,
    most_positive: Magnitude,
    most_negative: Magnitude,
    pub(super) zero: bool,
    negative_zero: bool,
    infinities: bool,
    pub(super) nan: bool,
}

impl Values {
    pub(super) fn of(dtype: DType) -> Self {
        let part = dtype.storage().real_part();
        let Props { kind, bits, format } = part.props();
        match format {
            Some(format) => Self::of_float(part, format),
            None => Self::of_integer(bits, kind == Kind::Signed),
        }
    }

    fn of_integer(width: u32, signed: bool) -> Self {
        let positive_bits = if signed { width - 1 } else { width };
        let most_positive = 1_u64.checked_shl(positive_bits).unwrap_or(0).wrapping_sub(1);
        Self {
            is_float: false,
            precision: positive_bits.max(1),
            lowest: 0,
            most_positive: Magnitude::new(most_positive, 0),
            most_negative: if signed { Magnitude::new(1, positive_bits as i32) } else { Magnitude::ZERO },
            zero: true,
            negative_zero: false,
            infinities: false,
            nan: false,
        }
    }

    fn of_float(dtype: DType, format: FloatFormat) -> Self {
        let FloatFormat { mantissa_bits, specials, .. } = format;
        let exponent_only = specials == Specials::ExponentOnly;
        let most_positive = decode(max_code(format).into(), dtype).magnitude();
        Self {
            is_float: true,
            precision: mantissa_bits + 1,
            lowest: lowest_normal(format) - mantissa_bits as i32 - i32::from(exponent_only),
            most_positive,
            most_negative: if exponent_only { Magnitude::ZERO } else { most_positive },
            zero: !exponent_only,
            negative_zero: format.has_negative_zero(),
            infinities: specials == Specials::Ieee,
            nan: specials != Specials::FiniteOnly,
        }
    }

    fn magnitude_lost(&self, target: &Self) -> Option<Lost> {
        let is_signed = |values: &Self| values.most_negative > Magnitude::ZERO;
        let (reaches, holds) = if self.most_positive > target.most_positive {
            (self.most_positive, target.most_positive)
        } else if is_signed(target) && self.most_negative > target.most_negative {
            (self.most_negative, target.most_negative)
        } else {
            return None;
        };
        Some(Lost::Magnitude { reaches: reaches.approximate(), holds: holds.approximate() })
    }

    /// What comes of the steps between the numbers of the target; those of an integer are whole throughout its range.
    fn steps_lost(&self, target: &Self) -> Option<Lost> {
        let (needs, keeps) = (self.precision, target.precision);
        match target.is_float {
            true => (needs > keeps).then_some(Lost::Precision { needs, keeps }),
            false => (self.lowest < target.lowest).then_some(Lost::Fraction),
        }
    }

    fn small_magnitude_lost(&self, target: &Self) -> Option<Lost> {
        (target.is_float && self.lowest < target.lowest)
            .then_some(Lost::SmallMagnitude { reaches: self.lowest, holds: target.lowest })
    }
}

impl Lost {
    /// The aspect as an object of "can lose".
    fn name(self) -> &'static str {
        match self {
            Self::ImaginaryPart => "the imaginary part",
            Self::Sign => "negative values",
            Self::Magnitude { .. } => "magnitude",
            Self::Fraction => "the fraction",
            Self::Precision { .. } => "precision",
            Self::SmallMagnitude { .. } => "small magnitudes",
            Self::Zero => "zero",
            Self::NegativeZero => "negative zero",
            Self::Infinities => "infinities",
            Self::Nan => "NaN",
        }
    }

    /// The numbers that explain the aspect, if any do.
    fn detail(self, from: DType, to: DType) -> Option<String> {
        match self {
            Self::Magnitude { reaches, holds } => {
                let [reaches, holds] = apart(reaches, holds);
                Some(format!("{from} reaches {reaches}, {to} {holds}"))
            }
            Self::Precision { needs, keeps } => {
                Some(format!("{from} needs {needs} bits, {to} keeps {keeps}"))
            }
            Self::SmallMagnitude { reaches, holds } => {
                Some(format!("{from} goes down to 2^{reaches}, {to} to 2^{holds}"))
            }
            Self::ImaginaryPart
            | Self::Sign
            | Self::Fraction
            | Self::Zero
            | Self::NegativeZero
            | Self::Infinities
            | Self::Nan => None,
        }
    }
}

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.lost.iter().map(|lost| lost.name()).collect();
        match names.split_last() {
            Some((last, [])) => write!(f, "can lose {last}")?,
            Some((last, others)) => write!(f, "can lose {} and {last}", others.join(", "))?,
            None => f.write_str("loses nothing")?,
        }
        let detail = self.lost.iter().find_map(|lost| lost.detail(self.from, self.to));
        detail.map_or(Ok(()), |detail| write!(f, ": {detail}"))
    }
}

/// Two magnitudes as people like to read them: whole up to six digits, else with two significant digits, or as many as it
/// takes to tell them apart.
fn apart(a: f64, b: f64) -> [String; 2] {
    let written =
        |digits: usize| [a, b].map(|n| if n < 1e6 { n.to_string() } else { format!("{n:.digits$e}") });
    let mut written = (1..f64::DIGITS as usize).map(written);
    written.find(|[a, b]| a != b).unwrap_or_else(|| [a, b].map(|n| n.to_string()))
}
