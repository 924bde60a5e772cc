//! Conversions to bfloat16 that LLVM calls on processors without them, and that not every compiler's library has.
//!
//! A bfloat16 is returned where a float is, in the low half of the register; so these give a float with its bits there.

/// `float` to `bfloat16`, to nearest, ties to even.
#[unsafe(no_mangle)]
pub extern "C" fn __truncsfbf2(value: f32) -> f32 {
    f32::from_bits(u32::from(nearest(value)))
}

/// `double` to `bfloat16`, to nearest, ties to even, rounded once.
#[unsafe(no_mangle)]
pub extern "C" fn __truncdfbf2(value: f64) -> f32 {
    f32::from_bits(u32::from(nearest(odd(value))))
}

const fn nearest(value: f32) -> u16 {
    let bits = value.to_bits();
    if value.is_nan() {
        // Quiet, and still a NaN if all its payload is in the lower half.
        return (bits >> 16) as u16 | 0x40;
    }
    ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
}

/// Rounds to the neighbour with an odd last bit if inexact: what is lost stays visible to the next rounding.
fn odd(value: f64) -> f32 {
    let rounded = value as f32;
    if value.is_nan() || f64::from(rounded) == value {
        return rounded;
    }
    let away = f64::from(rounded).abs() > value.abs();
    f32::from_bits((rounded.to_bits() - u32::from(away)) | 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widened(bits: u16) -> f64 {
        f64::from(f32::from_bits(u32::from(bits) << 16))
    }

    fn truncated(value: f64) -> u16 {
        __truncdfbf2(value).to_bits() as u16
    }

    #[test]
    fn every_bfloat16_comes_back() {
        for bits in 0..=u16::MAX {
            let value = widened(bits);
            let quiet = if value.is_nan() { bits | 0x40 } else { bits };
            assert_eq!(truncated(value), quiet, "{bits:#x}");
            assert_eq!(
                __truncsfbf2(f32::from_bits(u32::from(bits) << 16)).to_bits(),
                u32::from(quiet),
                "{bits:#x}"
            );
        }
    }

    #[test]
    fn values_between_go_to_the_nearest_and_ties_to_even() {
        for bits in 0..0x7f7fu16 {
            let (low, high) = (widened(bits), widened(bits + 1));
            let tie = low.midpoint(high);
            let even = bits + (bits & 1);
            for sign in [1.0, -1.0] {
                let signed = |bits: u16| if sign < 0.0 { bits | 0x8000 } else { bits };
                assert_eq!(truncated(sign * tie), signed(even), "{bits:#x}");
                assert_eq!(truncated(sign * tie.next_down()), signed(bits), "{bits:#x}");
                assert_eq!(truncated(sign * tie.next_up()), signed(bits + 1), "{bits:#x}");
            }
        }
        assert_eq!(truncated(f64::MAX), 0x7f80);
        assert_eq!(truncated(f64::MIN_POSITIVE), 0);
        assert_eq!(truncated(-f64::INFINITY), 0xff80);
    }
}
