use super::*;

fn outcome(value: Literal, to: DType) -> (bool, bool) {
    let converted = literal(value, to, Numerics::Jax);
    (converted.in_range, converted.exact)
}

#[test]
fn integers_fit_or_wrap() {
    use DType::{B1, F8E4M3FN, F16, F32, I8, U8, U64, WeakInt};
    assert_eq!(literal(Literal::Int(300), U8, Numerics::Jax).bits, 44);
    assert_eq!(literal(Literal::Int(-1), U64, Numerics::Jax).bits, u64::MAX.into());
    for (value, to, expected) in [
        (127, I8, (true, true)),
        (128, I8, (false, false)),
        (-1, U64, (false, false)),
        (i64::MIN, WeakInt, (true, true)),
        (1, B1, (true, true)),
        (2, B1, (true, false)),
        (65504, F16, (true, true)),
        (65519, F16, (true, false)),
        (65520, F16, (false, false)),
        (464, F8E4M3FN, (true, false)),
        (465, F8E4M3FN, (false, false)),
        (16_777_217, F32, (true, false)),
    ] {
        assert_eq!(outcome(Literal::Int(value), to), expected, "{value} as {to}");
    }
}

#[test]
fn floats_round_or_overflow() {
    use DType::{BF16, C64, F4E2M1FN, F8E4M3FN, F8E8M0FNU, F16, F32, I32, U8};
    for (value, to, expected) in [
        (0.5, F16, (true, true)),
        (0.1, F32, (true, false)),
        (1e39, F32, (false, false)),
        (1e39, BF16, (false, false)),
        (1e-46, F32, (false, false)),
        (1e-12, F16, (false, false)),
        (1e-7, F16, (true, false)),
        (-0.0, F32, (true, true)),
        (f64::NAN, F16, (true, true)),
        (f64::INFINITY, F16, (true, true)),
        (f64::INFINITY, F8E4M3FN, (false, false)),
        (6.9, F4E2M1FN, (true, false)),
        (7.0, F4E2M1FN, (false, false)),
        (0.0, F8E8M0FNU, (false, false)),
        (1e39, C64, (false, false)),
        (2.0, I32, (true, true)),
        (2.5, I32, (true, false)),
        (-1.0, U8, (false, false)),
        (f64::NAN, I32, (false, false)),
    ] {
        assert_eq!(outcome(Literal::Float(value), to), expected, "{value} as {to}");
    }
}

#[test]
fn complex_numbers_count_both_parts() {
    use DType::{C64, C128, F32};
    let expected = f32::to_bits(1.5) as Bits | (f32::to_bits(-2.5) as Bits) << 32;
    assert_eq!(literal(Literal::Complex(1.5, -2.5), C64, Numerics::Jax).bits, expected);
    for (real, imaginary, to, expected) in [
        (1.5, -2.5, C64, (true, true)),
        (1.5, 0.1, C64, (true, false)),
        (1.5, 1e39, C64, (false, false)),
        (1.5, 1e39, C128, (true, true)),
        (1.5, 0.0, F32, (true, true)),
        (1.5, 1.0, F32, (true, false)),
    ] {
        assert_eq!(outcome(Literal::Complex(real, imaginary), to), expected, "{real} {imaginary} as {to}");
    }
}
