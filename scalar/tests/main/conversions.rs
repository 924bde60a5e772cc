//! Conversion and storage, against `promote_lattice::convert`.

use promote_lattice::convert::{Bits, convert as expected};
use promote_lattice::{DType, Kind};
use promote_scalar::eval::Value;
use promote_scalar::{Element, convert, round_to};

use crate::support::{NUMERICS, bits, element, machine, same, samples};

/// How many samples of a wide dtype there are.
const COUNT: usize = if cfg!(debug_assertions) { 300 } else { 5000 };

fn check(from: DType, to: DType, has_f16: bool) {
    let e = &mut machine(has_f16);
    for source in samples(from, COUNT) {
        for numerics in NUMERICS {
            let x = element(e, from, source);
            let result = convert(e, from, to, numerics, x);
            let result = bits(e, to, result);
            let expected = expected(source, from, to, numerics);
            assert!(
                same(result, expected, to),
                "{numerics:?}: {from} {source:#x} to {to}: {result:#x}, not {expected:#x}"
            );
        }
    }
}

#[test]
fn conversion_is_what_the_lattice_says() {
    for from in DType::strong() {
        // From the wider ones all ways; 16-bit numbers and their pairs convert as exhaustively as time allows.
        DType::strong().for_each(|to| check(from, to, true));
    }
}

#[test]
fn conversion_without_half_precision_is_the_same() {
    let has_halves = |dtype: &DType| dtype.real_part() == DType::F16;
    for from in DType::strong() {
        DType::strong()
            .filter(|to| has_halves(to) || has_halves(&from))
            .for_each(|to| check(from, to, false));
    }
}

#[test]
fn what_was_loaded_is_stored_bit_for_bit() {
    for has_f16 in [true, false] {
        let e = &mut machine(has_f16);
        for dtype in DType::strong() {
            for source in samples(dtype, COUNT) {
                let x = element(e, dtype, source);
                let back = bits(e, dtype, x);
                let quiets = has_f16 && dtype.real_part() == DType::F16;
                assert!(back == source || quiets && same(back, source, dtype), "{dtype}: {source:#x}");
            }
        }
    }
}

#[test]
fn rounding_is_conversion_from_f32() {
    for has_f16 in [true, false] {
        let e = &mut machine(has_f16);
        for dtype in DType::strong().filter(|dtype| dtype.kind() == Kind::Float && dtype.bits() <= 32) {
            for source in samples(DType::F32, 10 * COUNT) {
                let rounded = round_to(e, dtype, Value::new(promote_scalar::Ty::F32, source as u64));
                let result = bits(e, dtype, Element::Real(rounded));
                let expected: Bits = expected(source, DType::F32, dtype, NUMERICS[0]);
                assert!(
                    same(result, expected, dtype),
                    "{source:#x} to {dtype}: {result:#x}, not {expected:#x}"
                );
                let again = round_to(e, dtype, rounded);
                assert!(
                    same(again.bits.into(), rounded.bits.into(), DType::F32),
                    "{source:#x} to {dtype} again"
                );
            }
        }
    }
}
