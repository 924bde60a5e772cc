use super::*;

/// An optimised build goes through all 16-bit values; a debug build, ten times slower, through some that have all
/// exponents and all ends of mantissas.
const STEP_16_BIT: usize = if cfg!(debug_assertions) { 7 } else { 1 };

/// Values of `dtype`: up to 16 bits one by one, else edges of its fields and pseudorandom ones.
fn values(dtype: DType) -> Vec<Bits> {
    let bits = dtype.bits();
    if bits <= 16 {
        return codes(dtype).step_by(if bits == 16 { STEP_16_BIT } else { 1 }).collect();
    }
    let part = dtype.real_part().bits();
    let edges = (0..part).flat_map(|place| {
        let power = 1_u128 << place;
        [power, power - 1, power + 1, power.wrapping_neg(), !power, power | 1 << (part - 2), power * 3]
    });
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let random = std::iter::repeat_with(move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        u128::from(state).wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645)
    });
    let reals: Vec<_> = edges.chain(random.take(1500)).collect();
    let turned = reals.iter().rev().map(|bits| bits << (dtype.bits() - part));
    let mask = Bits::MAX >> (Bits::BITS - bits);
    reals.iter().zip(turned).map(|(real, imaginary)| (real ^ imaginary) & mask).collect()
}

/// Panics if `collapses` or its lenient twin says yes to two conversions that show in the result.
fn check(a: DType, dtypes: &[DType], numerics: Numerics) {
    let sources = values(a);
    let to = |dtype| sources.iter().map(|&bits| convert(bits, a, dtype, numerics)).collect();
    let direct: Vec<(DType, Vec<Bits>)> = dtypes.iter().map(|&dtype| (dtype, to(dtype))).collect();
    for (b, through) in &direct {
        for (c, expected) in &direct {
            let to_the_bit = collapses(a, *b, *c, numerics);
            let but_for_payloads = collapses_but_for_nan(a, *b, *c, numerics);
            assert!(but_for_payloads || !to_the_bit, "{a} to {b} to {c}");
            if !but_for_payloads {
                continue;
            }
            for (&bits, &expected) in through.iter().zip(expected) {
                let result = convert(bits, *b, *c, numerics);
                let is_same =
                    result == expected || !to_the_bit && but_for_nan(result, *c) == but_for_nan(expected, *c);
                assert!(is_same, "{numerics:?}: {a} to {b} to {c} gives {result:#x}, not {expected:#x}");
            }
        }
    }
}

fn check_all(from: impl Iterator<Item = DType> + Clone + Send, dtypes: &[DType]) {
    std::thread::scope(|scope| {
        for (_, numerics) in LIBRARIES {
            let from = from.clone();
            scope.spawn(move || from.for_each(|a| check(a, dtypes, numerics)));
        }
    });
}

#[test]
fn what_collapses_gives_the_same_bits_from_every_value_up_to_8_bits() {
    let dtypes: Vec<_> = DType::strong().collect();
    check_all(DType::strong().filter(|dtype| dtype.bits() <= 8), &dtypes);
}

/// Complex dtypes are left out: they are converted part by part, as the other tests show.
#[test]
fn what_collapses_gives_the_same_bits_from_16_bit_values() {
    let reals: Vec<_> = DType::strong().filter(|dtype| dtype.kind() != Kind::Complex).collect();
    check_all(DType::strong().filter(|dtype| dtype.bits() == 16), &reals);
}

#[test]
fn what_collapses_gives_the_same_bits_from_samples_of_wide_dtypes() {
    let dtypes: Vec<_> = DType::strong().collect();
    check_all(DType::strong().filter(|dtype| dtype.bits() > 16), &dtypes);
}

#[test]
fn collapses_under_all_numerics() {
    use DType::{B1, BF16, C64, C128, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, WeakFloat, WeakInt};
    let chains = [
        (I8, I32, F32),
        (I8, F32, F64),
        (I32, F64, I32),
        (U8, F16, F32),
        (BF16, F32, F64),
        (F16, F32, F64),
        (F16, F64, F32),
        (F64, F32, BF16),
        (I64, F32, BF16),
        (I32, I64, I32),
        (I16, U16, I16),
        (I64, U32, U8),
        (WeakInt, I64, I32),
        (WeakFloat, F64, F32),
        (F32, C64, F32),
        (F32, C64, C128),
        (C64, C64, F16),
        (F64, C64, F32),
        (B1, I32, F32),
        (B1, F16, B1),
        (I64, F32, B1),
        (I32, U32, B1),
    ];
    for (a, b, c) in chains {
        for (library, numerics) in LIBRARIES {
            assert!(collapses(a, b, c, numerics), "{library}: {a} to {b} to {c}");
        }
    }
}

#[test]
fn does_not_collapse_under_any_numerics() {
    use DType::{B1, BF16, C64, F16, F32, F64, I8, I32, I64, U32};
    let chains = [
        (I32, F32, I32),
        (I64, F64, F32),
        (I64, I8, I32),
        (I32, U32, I64),
        (F32, F16, F32),
        (BF16, F16, F32),
        (F32, I32, F32),
        (F32, F16, B1),
        (C64, F32, C64),
        (C64, F32, B1),
        (I32, B1, I32),
        (F64, F32, F64),
    ];
    for (a, b, c) in chains {
        for (library, numerics) in LIBRARIES {
            assert!(!collapses_but_for_nan(a, b, c, numerics), "{library}: {a} to {b} to {c}");
        }
    }
}

#[test]
fn the_way_there_and_back_keeps_all_but_nan_payloads() {
    use DType::{BF16, F8E4M3FN, F8E5M2, F16, F32, F64};
    for (_, numerics) in LIBRARIES {
        for (a, b) in [(F16, F32), (BF16, F32), (F16, F64), (F8E5M2, F16)] {
            assert!(!collapses(a, b, a, numerics) && collapses_but_for_nan(a, b, a, numerics));
        }
        assert!(collapses(F8E4M3FN, F32, F8E4M3FN, numerics));
        let flushes = numerics == Numerics::Jax;
        assert_eq!(collapses_but_for_nan(F32, F64, F32, numerics), !flushes);
    }
}

#[test]
fn f64_to_f16_goes_through_f32_in_torch_alone() {
    let through_f32 = |numerics| collapses(DType::F64, DType::F32, DType::F16, numerics);
    assert_eq!(LIBRARIES.map(|(_, numerics)| through_f32(numerics)), [false, false, true]);
}
