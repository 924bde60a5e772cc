use super::*;

/// What `ml_dtypes` makes of 1, -1, 0.1, -0, 1e-30, 1e30, infinity, -infinity and NaN.
const SPECIALS: [(DType, [Bits; 9]); 11] = [
    (DType::F4E2M1FN, [0x2, 0xa, 0x0, 0x8, 0x0, 0x7, 0x7, 0xf, 0x8]),
    (DType::F6E2M3FN, [0x08, 0x28, 0x01, 0x20, 0x00, 0x1f, 0x1f, 0x3f, 0x20]),
    (DType::F6E3M2FN, [0x0c, 0x2c, 0x02, 0x20, 0x00, 0x1f, 0x1f, 0x3f, 0x20]),
    (DType::F8E3M4, [0x30, 0xb0, 0x06, 0x80, 0x00, 0x70, 0x70, 0xf0, 0x78]),
    (DType::F8E4M3, [0x38, 0xb8, 0x1d, 0x80, 0x00, 0x78, 0x78, 0xf8, 0x7c]),
    (DType::F8E8M0FNU, [0x7f, 0xff, 0x7c, 0xff, 0x1b, 0xe3, 0xff, 0xff, 0xff]),
    (DType::F8E4M3B11FNUZ, [0x58, 0xd8, 0x3d, 0x00, 0x00, 0x80, 0x80, 0x80, 0x80]),
    (DType::F8E4M3FN, [0x38, 0xb8, 0x1d, 0x80, 0x00, 0x7f, 0x7f, 0xff, 0x7f]),
    (DType::F8E4M3FNUZ, [0x40, 0xc0, 0x25, 0x00, 0x00, 0x80, 0x80, 0x80, 0x80]),
    (DType::F8E5M2, [0x3c, 0xbc, 0x2e, 0x80, 0x00, 0x7c, 0x7c, 0xfc, 0x7e]),
    (DType::F8E5M2FNUZ, [0x40, 0xc0, 0x32, 0x00, 0x00, 0x80, 0x80, 0x80, 0x80]),
];

#[test]
fn specials_are_spelt_as_ml_dtypes_spells_them() {
    let sources = [1.0, -1.0, 0.1, -0.0, 1e-30, 1e30, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    assert!(SPECIALS.iter().map(|(dtype, _)| *dtype).eq(narrow_floats()));
    for (dtype, expected) in SPECIALS {
        for (source, expected) in sources.into_iter().zip(expected) {
            let code = convert(source.to_bits().into(), DType::F32, dtype, Numerics::NumPy);
            assert_eq!(code, expected, "{source} to {dtype}: {code:#x}, not {expected:#x}");
        }
    }
}

/// The nonnegative finite numbers of a float dtype in order, and the one that would follow if there were room.
fn ladder(dtype: DType) -> Vec<(f64, Bits)> {
    let rungs = codes(dtype).map(|code| (number(code, dtype), code));
    let mut ladder: Vec<_> = rungs.filter(|(x, _)| x.is_finite() && x.is_sign_positive()).collect();
    ladder.sort_by(|(x, _), (y, _)| x.total_cmp(y));
    let [.., (below, _), (largest, code)] = ladder[..] else { panic!("{dtype} has two numbers") };
    ladder.push((largest + (largest - below), code + 1));
    ladder
}

/// Between any two neighbours: at the midpoint, and at the `f32` next to it and next to them on either side.
#[test]
fn rounding_is_to_nearest_ties_to_even_at_every_neighbour() {
    for dtype in narrow_floats().filter(|dtype| *dtype != DType::F8E8M0FNU) {
        let to_dtype = |x: f32| convert(x.to_bits().into(), DType::F32, dtype, Numerics::NumPy);
        let overflow = to_dtype(f32::MAX);
        let ladder = ladder(dtype);
        let largest = ladder[ladder.len() - 2].1;
        let spelt = |code| if code > largest { overflow } else { code };
        for neighbours in ladder.windows(2) {
            let [(low, low_code), (high, high_code)] = *neighbours else { panic!("windows of two") };
            let midpoint = ((low + high) / 2.0) as f32;
            let even = if low_code % 2 == 0 { low_code } else { high_code };
            assert_eq!(to_dtype(midpoint), spelt(even), "{dtype}: tie of {low} and {high}");
            for (x, code) in [
                (low as f32, low_code),
                ((low as f32).next_up(), low_code),
                (midpoint.next_down(), low_code),
                (midpoint.next_up(), high_code),
                ((high as f32).next_down(), high_code),
            ] {
                assert_eq!(to_dtype(x), spelt(code), "{dtype}: {x} between {low} and {high}");
            }
        }
    }
}

#[test]
fn exponent_only_rounds_to_powers_of_two() {
    let to_e8m0 = |x: f32| convert(x.to_bits().into(), DType::F32, DType::F8E8M0FNU, Numerics::NumPy);
    assert_eq!([1.0, 1.49, 1.5, 2.0, 3.0, 6.0].map(to_e8m0), [127, 127, 128, 128, 129, 130]);
    let least = f32::MIN_POSITIVE / 2.0;
    assert_eq!([least / 4.0, least, least.next_up()].map(to_e8m0), [0, 0, 1]);
    assert_eq!(convert(0, DType::F8E8M0FNU, DType::F32, Numerics::NumPy), least.to_bits().into());
}

#[test]
fn every_code_survives_the_way_through_f32() {
    for dtype in narrow_floats() {
        for code in codes(dtype) {
            for (_, numerics) in LIBRARIES {
                let wide = convert(code, dtype, DType::F32, numerics);
                let back = convert(wide, DType::F32, dtype, numerics);
                assert_eq!(but_for_nan(back, dtype), but_for_nan(code, dtype), "{dtype} {code:#x}");
            }
        }
    }
}

#[test]
fn narrow_integers_extend_their_sign_and_wrap() {
    assert_eq!(convert(0xf, DType::I4, DType::I32, Numerics::Jax), 0xffff_ffff);
    assert_eq!(convert(0xf, DType::U4, DType::I32, Numerics::Jax), 15);
    assert_eq!(convert(0x1, DType::I1, DType::I8, Numerics::Jax), 0xff);
    assert_eq!(convert(0x17, DType::I8, DType::U4, Numerics::NumPy), 7);
    assert_eq!(convert(0x2, DType::U2, DType::B1, Numerics::Torch), 1);
}
