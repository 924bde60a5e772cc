//! Reductions element by element, and in another order.

use promote_lattice::convert::{Bits, Numerics};
use promote_lattice::{DType, Kind, Op};
use promote_scalar::eval::{Eval, Value};
use promote_scalar::{Element, Ranks, Ty, accumulator, combine, combine_arg, identity};

use crate::support::{bits, element, machine, same, samples};

/// Some elements of a dtype.
fn some(dtype: DType) -> Vec<Bits> {
    let all = samples(dtype, 60);
    let step = (all.len() / 97).max(1);
    all.into_iter().step_by(step).collect()
}

#[test]
fn the_identity_changes_nothing() {
    for dtype in DType::strong() {
        for op in [Op::Sum, Op::Prod, Op::Max, Op::Min] {
            let has_no_zero = dtype == DType::F8E8M0FNU && op == Op::Sum;
            if has_no_zero {
                continue;
            }
            let e = &mut machine(true);
            let start = identity(e, op, Numerics::NumPy, dtype).unwrap();
            for source in some(dtype) {
                let x = element(e, dtype, source);
                let Some(found) = combine(e, op, Numerics::NumPy, dtype, start, x) else { continue };
                let found = bits(e, dtype, found);
                let is_zero = !promote_scalar::is_nonzero(e, dtype, x).to_bool();
                let is_right = same(found, source, dtype)
                    || dtype.kind() == Kind::Complex
                    || is_zero && op == Op::Sum
                    || is_nan(x);
                assert!(is_right, "{op} {dtype}: {source:x} became {found:x}");
            }
        }
    }
}

#[test]
fn extremes_of_zeros_do_not_depend_on_the_order() {
    for dtype in DType::strong().filter(|dtype| dtype.kind() == Kind::Float) {
        let e = &mut machine(true);
        let [plus, minus] = [0.0_f64, -0.0].map(|zero| {
            promote_lattice::convert::convert(Bits::from(zero.to_bits()), DType::F64, dtype, Numerics::NumPy)
        });
        for (op, x, y, expected) in [
            (Op::Max, plus, minus, plus),
            (Op::Max, minus, plus, plus),
            (Op::Max, minus, minus, minus),
            (Op::Min, plus, minus, minus),
            (Op::Min, minus, plus, minus),
            (Op::Min, plus, plus, plus),
        ] {
            let (x, y) = (element(e, dtype, x), element(e, dtype, y));
            let both = combine(e, op, Numerics::NumPy, dtype, x, y).unwrap();
            assert_eq!(bits(e, dtype, both), expected, "{op} of {dtype}");
        }
    }
}

fn is_nan(x: Element<Value>) -> bool {
    let is_nan = |x: Value| match x.ty {
        Ty::F32 => x.to_f32().is_nan(),
        Ty::F64 => x.to_f64().is_nan(),
        _ => false,
    };
    match x {
        Element::Real(x) => is_nan(x),
        Element::Complex(re, im) => is_nan(re) || is_nan(im),
    }
}

#[test]
fn truth_is_combined_of_any_dtype() {
    for dtype in DType::strong() {
        for (op, start) in [(Op::Any, false), (Op::All, true)] {
            let e = &mut machine(true);
            let identity = identity(e, op, Numerics::NumPy, DType::B1).unwrap();
            assert_eq!(identity.real().to_bool(), start);
            for source in some(dtype) {
                let x = element(e, dtype, source);
                let is_true = promote_scalar::is_nonzero(e, dtype, x).to_bool();
                let both = combine(e, op, Numerics::NumPy, dtype, x, x).unwrap();
                assert_eq!(both.real().to_bool(), is_true, "{dtype} {source:x}");
            }
        }
    }
}

/// The place that going through all elements in order finds.
fn expected_place(op: Op, dtype: DType, sources: &[Bits], e: &mut Eval) -> usize {
    let mut found = 0;
    for place in 1..sources.len() {
        let (best, x) = (element(e, dtype, sources[found]), element(e, dtype, sources[place]));
        if is_nan(best) {
            continue;
        }
        let better = if op == Op::ArgMax { Op::Greater } else { Op::Less };
        let is_better =
            promote_scalar::elementwise(e, better, Numerics::NumPy, &[dtype, dtype], DType::B1, &[x, best]);
        if is_nan(x) || is_better.unwrap().real().to_bool() {
            found = place;
        }
    }
    found
}

#[test]
fn the_place_of_the_extreme_is_the_first_in_any_order() {
    for dtype in DType::strong() {
        for (op, reverse) in
            [(Op::ArgMax, false), (Op::ArgMax, true), (Op::ArgMin, false), (Op::ArgMin, true)]
        {
            let e = &mut machine(true);
            let sources = some(dtype);
            for sources in sources.chunks(7) {
                let pairs: Vec<_> = sources
                    .iter()
                    .chain(sources)
                    .enumerate()
                    .map(|(place, bits)| (element(e, dtype, *bits), Value::new(Ty::I64, place as u64)))
                    .collect();
                let mut order = pairs.clone();
                if reverse {
                    order.reverse();
                }
                let all = order.into_iter().reduce(|a, b| combine_arg(e, op, dtype, a, b).unwrap());
                let place = all.unwrap().1.to_unsigned() as usize;
                assert_eq!(place, expected_place(op, dtype, sources, e), "{op} {dtype} {sources:x?}");
            }
        }
    }
}

#[test]
fn narrow_floats_add_up_in_f32() {
    assert_eq!(accumulator(Op::Sum, DType::F16), DType::F32);
    assert_eq!(accumulator(Op::Prod, DType::BC32), DType::C64);
    assert_eq!(accumulator(Op::Max, DType::BF16), DType::BF16);
    assert_eq!(accumulator(Op::Sum, DType::WeakInt), DType::I64);
}

/// Whoever reduces need not ask whether a reduction is defined.
#[test]
fn elements_of_every_dtype_are_combined() {
    use Op::{All, Any, CountNonzero, CumulativeProd, CumulativeSum, Max, Min, Prod, Sum};
    for dtype in DType::strong() {
        let e = &mut machine(true);
        let x = element(e, dtype, some(dtype)[0]);
        for op in [Sum, Prod, Max, Min, Any, All, CountNonzero, CumulativeSum, CumulativeProd] {
            assert!(combine(e, op, Numerics::Jax, dtype, x, x).is_some(), "{op} of {dtype}");
        }
        let place = Value::new(Ty::I64, 0);
        for op in [Op::ArgMax, Op::ArgMin] {
            assert!(combine_arg(e, op, dtype, (x, place), (x, place)).is_some(), "{op} of {dtype}");
        }
    }
}

/// Some elements of a floating dtype, and more of its NaNs, of both signs.
fn with_nans(dtype: DType) -> Vec<Bits> {
    let mut all = some(dtype);
    all.extend(
        samples(dtype, 400).into_iter().filter(|source| is_nan(element(&mut machine(true), dtype, *source))),
    );
    all
}

#[test]
fn ranks_choose_the_float_that_is_chosen_of_two_elements() {
    for dtype in DType::strong().filter(|dtype| dtype.kind() == Kind::Float) {
        let e = &mut machine(true);
        let all = with_nans(dtype);
        for op in [Op::Max, Op::Min] {
            let ranks = Ranks::of(op, dtype).unwrap();
            for (x, y) in all.iter().flat_map(|x| all.iter().map(move |y| (*x, *y))) {
                let [a, b] = [x, y].map(|source| element(e, dtype, source));
                let [first, second] = [a, b].map(|element| ranks.rank(e, element.real()));
                let both = ranks.combine(e, first, second);
                let turned = ranks.combine(e, second, first);
                assert_eq!(both.bits, turned.bits, "{op} of {dtype}: {x:x} and {y:x} in another order");
                let found = Element::Real(ranks.float(e, both));
                let expected = combine(e, op, Numerics::NumPy, dtype, a, b).unwrap();
                let is_right =
                    is_nan(found) && is_nan(expected) || bits(e, dtype, found) == bits(e, dtype, expected);
                assert!(is_right, "{op} of {dtype}: {x:x} and {y:x}");
            }
        }
    }
}

#[test]
fn a_float_is_that_of_its_rank_and_goes_before_none_that_a_reduction_begins_with() {
    for dtype in DType::strong().filter(|dtype| dtype.kind() == Kind::Float) {
        let e = &mut machine(true);
        for op in [Op::Max, Op::Min] {
            let ranks = Ranks::of(op, dtype).unwrap();
            for source in with_nans(dtype) {
                let x = element(e, dtype, source).real();
                let rank = ranks.rank(e, x);
                assert_eq!(ranks.float(e, rank).bits, x.bits, "{op} of {dtype}: {source:x}");
                let start = identity(e, op, Numerics::NumPy, dtype).unwrap().real();
                let start = ranks.rank(e, start);
                assert_eq!(ranks.combine(e, start, rank).bits, rank.bits, "{op} of {dtype}: {source:x}");
            }
        }
    }
}

#[test]
fn only_extremes_of_real_floats_have_ranks() {
    for dtype in DType::strong() {
        for op in [Op::Max, Op::Min, Op::Sum, Op::Maximum, Op::Minimum, Op::Any] {
            let expected = matches!(op, Op::Max | Op::Min) && dtype.kind() == Kind::Float;
            assert_eq!(Ranks::of(op, dtype).is_some(), expected, "{op} of {dtype}");
        }
    }
}
