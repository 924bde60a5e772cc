//! Scalar conversion against the libraries themselves, and its laws against conversion itself.
//!
//! `data/values.json.gz` is the part of the oracle that concerns conversion: bits that JAX, NumPy and PyTorch gave. What
//! is said of the 8-bit and narrower floats was read off `ml_dtypes`.

use std::error::Error;
use std::io::Read;
use std::ops::Range;

use flate2::read::GzDecoder;
use promote_lattice::convert::{
    Bits, Literal, Numerics, collapses, collapses_but_for_nan, convert, is_exact, literal, loss,
};
use promote_lattice::{DType, Kind};
use proptest::prelude::*;
use serde_json::Value;

const LIBRARIES: [(&str, Numerics); 3] =
    [("jax", Numerics::Jax), ("numpy2", Numerics::NumPy), ("torch", Numerics::Torch)];

/// The dtypes that are their own storage.
fn stored() -> impl Iterator<Item = DType> + Clone {
    DType::ALL.iter().copied().filter(|dtype| !dtype.is_weak())
}

fn narrow_floats() -> impl Iterator<Item = DType> {
    stored().filter(|dtype| dtype.kind() == Kind::Float && dtype.bits() <= 8)
}

fn codes(dtype: DType) -> Range<Bits> {
    0..1 << dtype.bits()
}

/// The value (or its real part) as the nearest `f64`; for all but 64-bit integers, the value itself.
fn number(bits: Bits, dtype: DType) -> f64 {
    f64::from_bits(convert(bits, dtype, DType::F64, Numerics::NumPy) as u64)
}

/// The bits with every NaN replaced by the same one.
fn but_for_nan(bits: Bits, dtype: DType) -> Bits {
    let part = dtype.real_part();
    let one_nan = |bits: Bits| match part.kind() {
        Kind::Float if number(bits, part).is_nan() => {
            convert(f64::NAN.to_bits().into(), DType::F64, part, Numerics::NumPy)
        }
        _ => bits,
    };
    let mask = Bits::MAX >> (Bits::BITS - part.bits());
    if part == dtype {
        one_nan(bits)
    } else {
        one_nan(bits & mask) | one_nan(bits >> part.bits()) << part.bits()
    }
}

mod oracle {
    use super::*;

    type Checked = Result<(), Box<dyn Error>>;

    fn values() -> Result<Value, Box<dyn Error>> {
        let mut text = String::new();
        GzDecoder::new(&include_bytes!("data/values.json.gz")[..]).read_to_string(&mut text)?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Bits as the oracle writes them: big-endian hex, of a complex number `real:imaginary`.
    fn parse_bits(value: &Value, dtype: DType) -> Result<Bits, Box<dyn Error>> {
        let hex = |text| Bits::from_str_radix(text, 16);
        let text = value.as_str().ok_or("bits are a string")?;
        match text.split_once(':') {
            Some((real, imaginary)) => Ok(hex(real)? | hex(imaginary)? << dtype.real_part().bits()),
            None => Ok(hex(text)?),
        }
    }

    fn parse_all(list: &Value, dtype: DType) -> Result<Vec<Bits>, Box<dyn Error>> {
        list.as_array().ok_or("a list of bits")?.iter().map(|bits| parse_bits(bits, dtype)).collect()
    }

    /// NaN counts as NaN: PyTorch makes `ffff` of a `bf16` NaN where its kernel is vectorised and `7fc0` where it is not.
    /// All other NaNs of the oracle agree to the bit.
    #[test]
    fn convert_gives_the_bits_of_each_library() -> Checked {
        let values = values()?;
        let mut checked = 0;
        for (library, numerics) in LIBRARIES {
            for (pair, results) in values["systems"][library]["convert"].as_object().ok_or("convert")? {
                let (from, to) = pair.split_once("->").ok_or("from->to")?;
                let (from, to): (DType, DType) = (from.parse()?, to.parse()?);
                let sources = parse_all(&values["sources"][from.name()], from)?;
                let results = parse_all(results, to)?;
                assert_eq!(sources.len(), results.len(), "{pair}");
                for (source, expected) in sources.into_iter().zip(results) {
                    let result = convert(source, from, to, numerics);
                    let known_nan = (library, to, expected) == ("torch", DType::BF16, 0xffff);
                    let expected = if known_nan { 0x7fc0 } else { expected };
                    assert_eq!(
                        result, expected,
                        "{library}: {pair} of {source:#x}: {result:#x}, not {expected:#x}"
                    );
                    checked += 1;
                }
            }
        }
        assert!(checked > 15_000, "{checked} conversions");
        Ok(())
    }

    /// The literal of an entry, unless it is beyond `i64`.
    fn parse_literal(entry: &Value) -> Option<Literal> {
        let text = entry["scalar"].as_str()?;
        let is_integer = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let float = || text.parse().ok().map(Literal::Float);
        if is_integer { text.parse().ok().map(Literal::Int) } else { float() }
    }

    /// What an operation makes of the integer 1 and a literal.
    fn on_one_and(literal: Bits, dtype: DType, op: &str) -> Option<Bits> {
        let mask = Bits::MAX >> (Bits::BITS - dtype.bits());
        match op {
            "mul" => Some(literal),
            "add" if dtype.is_integer() => Some((literal + 1) & mask),
            "maximum" if dtype.is_integer() => Some(if number(literal, dtype) > 1.0 { literal } else { 1 }),
            _ => None,
        }
    }

    #[test]
    fn literals_have_the_bits_that_operations_saw() -> Checked {
        let values = values()?;
        let mut checked = [0; 3];
        for ((library, numerics), checked) in LIBRARIES.into_iter().zip(&mut checked) {
            for entry in values["systems"][library]["python_scalar"].as_array().ok_or("python_scalar")? {
                let dtype: DType = entry["array"][0].as_str().ok_or("dtype")?.parse()?;
                let op = entry["op"].as_str().ok_or("op")?;
                let Some(value) = parse_literal(entry) else { continue };
                for order in ["array_op_scalar", "scalar_op_array"] {
                    let result = &entry[order];
                    if entry["array"][1] != 1 || result["dtype"] != dtype.name() {
                        continue;
                    }
                    let converted = literal(value, dtype, numerics);
                    let Some(expected) = on_one_and(converted.bits, dtype, op) else { continue };
                    assert_eq!(parse_bits(&result["bits"][0], dtype)?, expected, "{library}: {entry}");
                    *checked += 1;
                }
            }
        }
        assert!(checked.iter().all(|&count| count >= 40), "{checked:?}");
        Ok(())
    }
}

mod narrow {
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
}

mod losses {
    use super::*;

    /// Whether every value of the real dtype `from` is the same number in `to`, and back from there.
    fn keeps_every_value(from: DType, to: DType) -> bool {
        let same = |x: f64, y: f64| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
        codes(from).all(|bits| {
            let there = convert(bits, from, to, Numerics::NumPy);
            let back = convert(there, to, from, Numerics::NumPy);
            same(number(there, to), number(bits, from)) && same(number(back, from), number(bits, from))
        })
    }

    #[test]
    fn is_exact_if_and_only_if_every_value_comes_back() {
        for from in stored().filter(|dtype| dtype.bits() <= 16) {
            for to in stored() {
                assert_eq!(is_exact(from, to), keeps_every_value(from, to), "{from} to {to}");
            }
        }
    }

    #[test]
    fn is_exact_of_wide_dtypes() {
        use DType::{C64, C128, F32, F64, I32, I64, U32, U64, WeakFloat, WeakInt};
        let exact = [(U32, I64), (U32, F64), (I32, F64), (F32, F64), (F32, C64), (C64, C128), (WeakInt, I64)];
        let lossy =
            [(U64, I64), (I64, F64), (U64, F64), (F64, F32), (C64, F64), (I32, U64), (WeakFloat, F32)];
        assert!(exact.into_iter().all(|(from, to)| is_exact(from, to)));
        assert!(!lossy.into_iter().any(|(from, to)| is_exact(from, to)));
        assert!(DType::ALL.iter().all(|&dtype| is_exact(dtype, dtype)));
    }

    #[test]
    fn is_exact_is_transitive() {
        for (from, through) in stored().flat_map(|from| stored().map(move |through| (from, through))) {
            for to in stored().filter(|&to| is_exact(from, through) && is_exact(through, to)) {
                assert!(is_exact(from, to), "{from} to {through} to {to}");
            }
        }
    }

    #[test]
    fn loss_reads_as_a_phrase() {
        use DType::{
            B1, BF16, C64, F4E2M1FN, F8E4M3, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E8M0FNU, F16, F32, F64, I4, I8,
            I32, I64, U8,
        };
        let phrases = [
            (I32, F32, "can lose precision: i32 needs 31 bits, f32 keeps 24"),
            (I64, I32, "can lose magnitude: i64 reaches 9.2e18, i32 2.1e9"),
            (I8, U8, "can lose negative values"),
            (U8, I8, "can lose magnitude: u8 reaches 255, i8 127"),
            (C64, F32, "can lose the imaginary part"),
            (F32, I8, "can lose magnitude, the fraction, infinities and NaN: f32 reaches 3.4e38, i8 127"),
            (F32, F16, "can lose magnitude, precision and small magnitudes: f32 reaches 3.4e38, f16 65504"),
            (F64, F32, "can lose magnitude, precision and small magnitudes: f64 reaches 1.8e308, f32 3.4e38"),
            (
                F8E5M2,
                F8E4M3FN,
                "can lose magnitude, small magnitudes and infinities: f8e5m2 reaches 57344, f8e4m3fn 448",
            ),
            (F8E4M3, F8E4M3FNUZ, "can lose negative zero and infinities"),
            (U8, F8E8M0FNU, "can lose precision and zero: u8 needs 8 bits, f8e8m0fnu keeps 1"),
            (I32, B1, "can lose negative values and magnitude: i32 reaches 2.1e9, b1 1"),
            (I4, F4E2M1FN, "can lose magnitude and precision: i4 reaches 7, f4e2m1fn 6"),
            (
                F32,
                BF16,
                "can lose magnitude, precision and small magnitudes: f32 reaches 3.40e38, bf16 3.39e38",
            ),
        ];
        for (from, to, expected) in phrases {
            assert_eq!(loss(from, to).map(|loss| loss.to_string()).as_deref(), Some(expected));
        }
        assert_eq!(loss(F16, F32), None);
    }

    #[test]
    fn the_magnitudes_of_a_phrase_differ() {
        for (from, to) in stored().flat_map(|from| stored().map(move |to| (from, to))) {
            let Some(loss) = loss(from, to) else { continue };
            let phrase = loss.to_string();
            if let Some((_, numbers)) = phrase.split_once(" reaches ") {
                let (reaches, holds) = numbers.split_once(", ").expect("the target's follows");
                let holds = holds.rsplit(' ').next().expect("a name and a number");
                assert_ne!(reaches, holds, "{phrase}");
            }
        }
    }
}

mod collapse {
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
                    let is_same = result == expected
                        || !to_the_bit && but_for_nan(result, *c) == but_for_nan(expected, *c);
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
        let dtypes: Vec<_> = stored().collect();
        check_all(stored().filter(|dtype| dtype.bits() <= 8), &dtypes);
    }

    /// Complex dtypes are left out: they are converted part by part, as the other tests show.
    #[test]
    fn what_collapses_gives_the_same_bits_from_16_bit_values() {
        let reals: Vec<_> = stored().filter(|dtype| dtype.kind() != Kind::Complex).collect();
        check_all(stored().filter(|dtype| dtype.bits() == 16), &reals);
    }

    #[test]
    fn what_collapses_gives_the_same_bits_from_samples_of_wide_dtypes() {
        let dtypes: Vec<_> = stored().collect();
        check_all(stored().filter(|dtype| dtype.bits() > 16), &dtypes);
    }

    #[test]
    fn collapses_under_all_numerics() {
        use DType::{
            B1, BF16, C64, C128, F16, F32, F64, I8, I16, I32, I64, U8, U16, U32, WeakFloat, WeakInt,
        };
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
}

mod literals {
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
            assert_eq!(
                outcome(Literal::Complex(real, imaginary), to),
                expected,
                "{real} {imaginary} as {to}"
            );
        }
    }
}

fn any_dtype() -> impl Strategy<Value = DType> {
    prop::sample::select(DType::ALL)
}

fn any_numerics() -> impl Strategy<Value = Numerics> {
    prop::sample::select(LIBRARIES.map(|(_, numerics)| numerics).to_vec())
}

proptest! {
    #[test]
    fn convert_takes_any_bits_and_fills_no_more_than_the_dtype(
        bits: u128, from in any_dtype(), to in any_dtype(), numerics in any_numerics()
    ) {
        let result = convert(bits, from, to, numerics);
        prop_assert_eq!(result.checked_shr(to.bits()).unwrap_or(0), 0);
        prop_assert_eq!(result, convert(bits & (Bits::MAX >> (128 - from.bits())), from, to, numerics));
    }

    #[test]
    fn convert_between_machine_floats_is_the_machines(bits: u64) {
        let (double, single) = (f64::from_bits(bits), f32::from_bits(bits as u32));
        let to_single = convert(bits.into(), DType::F64, DType::F32, Numerics::NumPy);
        prop_assert!(double.is_nan() || to_single == (double as f32).to_bits().into());
        let to_double = convert(bits.into(), DType::F32, DType::F64, Numerics::NumPy);
        prop_assert!(single.is_nan() || to_double == f64::from(single).to_bits().into());
    }

    #[test]
    fn convert_of_integers_is_the_machines(value: i64) {
        let bits = Bits::from(value.cast_unsigned());
        prop_assert_eq!(convert(bits, DType::I64, DType::F32, Numerics::Torch), (value as f32).to_bits().into());
        prop_assert_eq!(convert(bits, DType::U64, DType::F64, Numerics::Torch), (value as u64 as f64).to_bits().into());
        prop_assert_eq!(convert(bits, DType::I64, DType::U16, Numerics::Torch), (value as u16).into());
    }

    #[test]
    fn literal_without_loss_comes_back(value: i64, to in any_dtype(), numerics in any_numerics()) {
        let converted = literal(Literal::Int(value), to, numerics);
        prop_assert!(!converted.exact || converted.in_range);
        let back = convert(converted.bits, to, DType::I64, numerics);
        prop_assert!(!converted.exact || back == Bits::from(value.cast_unsigned()));
    }
}
