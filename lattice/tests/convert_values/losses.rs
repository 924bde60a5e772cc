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
    for from in DType::strong().filter(|dtype| dtype.bits() <= 16) {
        for to in DType::strong() {
            assert_eq!(is_exact(from, to), keeps_every_value(from, to), "{from} to {to}");
        }
    }
}

#[test]
fn is_exact_of_wide_dtypes() {
    use DType::{C64, C128, F32, F64, I32, I64, U32, U64, WeakFloat, WeakInt};
    let exact = [(U32, I64), (U32, F64), (I32, F64), (F32, F64), (F32, C64), (C64, C128), (WeakInt, I64)];
    let lossy = [(U64, I64), (I64, F64), (U64, F64), (F64, F32), (C64, F64), (I32, U64), (WeakFloat, F32)];
    assert!(exact.into_iter().all(|(from, to)| is_exact(from, to)));
    assert!(!lossy.into_iter().any(|(from, to)| is_exact(from, to)));
    assert!(DType::ALL.iter().all(|&dtype| is_exact(dtype, dtype)));
}

#[test]
fn is_exact_is_transitive() {
    for (from, through) in
        DType::strong().flat_map(|from| DType::strong().map(move |through| (from, through)))
    {
        for to in DType::strong().filter(|&to| is_exact(from, through) && is_exact(through, to)) {
            assert!(is_exact(from, to), "{from} to {through} to {to}");
        }
    }
}

#[test]
fn loss_reads_as_a_phrase() {
    use DType::{
        B1, BF16, C64, F4E2M1FN, F8E4M3, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E8M0FNU, F16, F32, F64, I4, I8, I32,
        I64, U8,
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
        (F32, BF16, "can lose magnitude, precision and small magnitudes: f32 reaches 3.40e38, bf16 3.39e38"),
    ];
    for (from, to, expected) in phrases {
        assert_eq!(loss(from, to).map(|loss| loss.to_string()).as_deref(), Some(expected));
    }
    assert_eq!(loss(F16, F32), None);
}

#[test]
fn the_magnitudes_of_a_phrase_differ() {
    for (from, to) in DType::strong().flat_map(|from| DType::strong().map(move |to| (from, to))) {
        let Some(loss) = loss(from, to) else { continue };
        let phrase = loss.to_string();
        if let Some((_, numbers)) = phrase.split_once(" reaches ") {
            let (reaches, holds) = numbers.split_once(", ").expect("the target's follows");
            let holds = holds.rsplit(' ').next().expect("a name and a number");
            assert_ne!(reaches, holds, "{phrase}");
        }
    }
}
