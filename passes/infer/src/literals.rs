//! Literals in the dtypes that use them: the bits, and what to say where a dtype does not hold the number.

use promote_lattice::convert::{Bits, Literal, Numerics, convert, literal};
use promote_lattice::{DType, Kind, Semantics};

use super::plan::Role;
use promote_diagnostics::{Code, Diagnostic, Location, Severity};

/// A literal whose value the dtype that uses it does not hold.
#[derive(Debug)]
pub struct OutOfRange {
    /// The literal, as written.
    written: String,
    /// The dtype that uses it.
    dtype: DType,
    /// What it becomes.
    becomes: String,
    /// What it is used as.
    role: Role,
    /// Whether it is an exponent, and returns the same power.
    same_power: bool,
}

impl OutOfRange {
    /// The finding, at the place of the op that uses the literal, which is written at `definition`: an error if it is an exponent, and another power would
    /// come of what it becomes.
    pub fn diagnostic(self, place: Option<Location>, definition: Option<Location>) -> Diagnostic {
        let Self { written, dtype, becomes, role, same_power } = self;
        let severity = match role {
            Role::Exponent(_) if !same_power && dtype.is_integer() => Severity::Error,
            Role::Exponent(_) | Role::Number | Role::Bound => Severity::Warning,
        };
        let same = if same_power { ", which has the same power" } else { "" };
        let message = format!(
            "the weak literal {written} is outside the range of {dtype}, and becomes {becomes}{same}"
        );
        let remedy = match role {
            Role::Number | Role::Bound => format!(
                "convert {written} to a wider dtype with promote.convert, or write {becomes} if that is intended"
            ),
            Role::Exponent(_) => {
                format!("convert the base with promote.convert to a dtype that can represent {written}")
            }
        };
        Diagnostic::new(severity, Code::LiteralRange, place, message)
            .with_note(definition, "the literal is written here")
            .with_remedy(remedy)
    }
}

/// The weak literal whose storage, of dtype `from`, holds these bits.
const fn as_literal(bits: Bits, from: DType) -> Literal {
    match from.kind() {
        Kind::Float => Literal::Float(f64::from_bits(bits as u64)),
        Kind::Complex => Literal::Complex(f64::from_bits(bits as u64), f64::from_bits((bits >> 64) as u64)),
        Kind::Bool | Kind::Unsigned | Kind::Signed => Literal::Int((bits as u64).cast_signed()),
    }
}

/// The number that a scalar of `dtype` is. An unsigned one that no integer literal holds is a float, as near as it gets:
/// rules only ask whether it is small.
pub fn number(bits: Bits, dtype: DType) -> Literal {
    // Exact whatever the semantics: the wider dtypes hold all numbers of the narrower ones.
    let wide = |to| convert(bits, dtype, to, Numerics::NumPy);
    match dtype.kind() {
        Kind::Bool | Kind::Signed => Literal::Int((wide(DType::I64) as u64).cast_signed()),
        Kind::Unsigned => match i64::try_from(wide(DType::U64)) {
            Ok(number) => Literal::Int(number),
            Err(_) => as_literal(wide(DType::F64), DType::F64),
        },
        Kind::Float => as_literal(wide(DType::F64), DType::F64),
        Kind::Complex => as_literal(wide(DType::C128), DType::C128),
    }
}

/// The elements of the weak literal of dtype `weak` in the dtype that uses it, and what to say of the first that it does
/// not hold.
pub fn in_dtype(
    elements: Vec<Bits>,
    weak: DType,
    (dtype, role): (DType, Role),
    semantics: &Semantics,
) -> (Vec<Bits>, Option<OutOfRange>) {
    let storage = weak.storage();
    let mut out_of_range = None;
    let converted = elements.into_iter().map(|bits| {
        let number = as_literal(bits, storage);
        let mut converted = literal(number, dtype, semantics.numerics());
        let mut same_power = false;
        if let (Role::Exponent(base), false, Literal::Int(exponent)) = (role, converted.in_range, number)
            && let Some(reduced) = other_exponent(exponent, dtype, base)
        {
            converted = literal(Literal::Int(reduced), dtype, semantics.numerics());
            converted.in_range = false;
            same_power = true;
        }
        if let (Role::Bound, false, Literal::Int(bound)) = (role, converted.in_range, number) {
            converted = literal(Literal::Int(dtype.nearest_integer(bound)), dtype, semantics.numerics());
        }
        if !converted.in_range && out_of_range.is_none() {
            out_of_range = Some(OutOfRange {
                written: show(bits, storage, semantics),
                dtype,
                becomes: show(converted.bits, dtype, semantics),
                role,
                same_power,
            });
        }
        converted.bits
    });
    (converted.collect(), out_of_range)
}

/// Another exponent that `dtype` holds, and that gives everything of dtype `base` the same power.
fn other_exponent(exponent: i64, dtype: DType, base: DType) -> Option<i64> {
    match base.kind() {
        Kind::Float => nearest_exponent(exponent, dtype, base),
        Kind::Bool | Kind::Signed | Kind::Unsigned => reduced_exponent(exponent, dtype),
        Kind::Complex => None,
    }
}

/// The nearest exponent of 32 bits or more that is odd if `exponent` is. A float of at most 32 bits, of which the closest to
/// 1 is 2 to the -24 below it, is 0 or infinite to the power of either, or 1.
fn nearest_exponent(exponent: i64, dtype: DType, base: DType) -> Option<i64> {
    let nearest = dtype.nearest_integer(exponent);
    let inwards = if exponent > 0 { nearest.checked_sub(1)? } else { nearest.checked_add(1)? };
    let same_parity = if (nearest - exponent) % 2 == 0 { nearest } else { inwards };
    (base.bits() <= 32 && dtype.bits() >= 32).then_some(same_parity)
}

/// A smaller exponent that gives every integer of `dtype` the same power, computed modulo 2 to the width: even numbers
/// become 0 once the exponent is the width, and the odd ones' powers repeat after 2 to the width less 2. `None` if that
/// does not fit `dtype` either, as in 2 bits.
fn reduced_exponent(exponent: i64, dtype: DType) -> Option<i64> {
    let width = i64::from(dtype.bits());
    let period = 1i64.checked_shl(u32::try_from(width - 2).ok()?)?;
    let reduced = (exponent - width).rem_euclid(period) + width;
    let signed = dtype.kind() == Kind::Signed;
    let largest = if signed { (1i64 << (width - 1)) - 1 } else { (1i64 << width.min(62)) - 1 };
    (exponent >= width && reduced <= largest).then_some(reduced)
}

/// A number of `dtype` as a person writes it.
fn show(bits: Bits, dtype: DType, semantics: &Semantics) -> String {
    let to = |dtype_to| convert(bits, dtype, dtype_to, semantics.numerics());
    match dtype.kind() {
        Kind::Bool => if bits == 0 { "false" } else { "true" }.to_owned(),
        Kind::Unsigned => (to(DType::U64) as u64).to_string(),
        Kind::Signed => (to(DType::I64) as u64).cast_signed().to_string(),
        Kind::Float => format!("{:?}", f64::from_bits(to(DType::F64) as u64)),
        Kind::Complex => {
            let wide = to(DType::C128);
            let part = |bits: u128| f64::from_bits(bits as u64);
            format!("({:?}, {:?})", part(wide), part(wide >> 64))
        }
    }
}

#[cfg(test)]
mod tests {
    use promote_lattice::{DType, Kind};

    use super::{nearest_exponent, reduced_exponent};

    #[test]
    fn the_nearest_exponent_gives_the_floats_next_to_one_the_same_power() {
        for (exponent, nearest) in [(1 << 40, i64::from(i32::MAX - 1)), ((1 << 40) + 1, i64::from(i32::MAX))]
        {
            assert_eq!(nearest_exponent(exponent, DType::I32, DType::F32), Some(nearest));
            for base in [1.0_f32.next_down(), 1.0_f32.next_up(), -1.0, -1.0_f32.next_up(), 0.5, 3.0] {
                let power = |exponent: i64| f64::from(base).powf(exponent as f64) as f32;
                assert_eq!(power(exponent), power(nearest), "{base} to the {exponent}");
            }
        }
        assert_eq!(nearest_exponent(1 << 40, DType::I32, DType::F64), None);
    }

    /// `base` to the power `exponent`, modulo 2 to the `width`.
    fn power(base: u128, exponent: i64, width: u32) -> u128 {
        (0..exponent).fold(1, |power, _| (power * base) & ((1 << width) - 1))
    }

    #[test]
    fn reduced_exponents_give_every_integer_the_same_power() {
        for dtype in [DType::I4, DType::U4, DType::I8, DType::U8] {
            let width = dtype.bits();
            let largest =
                if dtype.kind() == Kind::Signed { (1 << (width - 1)) - 1 } else { (1 << width) - 1 };
            for exponent in largest + 1..1000 {
                let reduced = reduced_exponent(exponent, dtype).expect("wide enough dtypes hold one");
                assert!(reduced <= largest);
                for base in 0..1 << width {
                    assert_eq!(
                        power(base, exponent, width),
                        power(base, reduced, width),
                        "{base}^{exponent} in {dtype}"
                    );
                }
            }
        }
        assert_eq!(reduced_exponent(5, DType::I2), None);
        assert_eq!(reduced_exponent(i64::MAX, DType::I32).map(|reduced| reduced < 1 << 31), Some(true));
    }
}
