//! Functions of complex numbers, against CPython's `cmath`, which keeps to annex G of C99 at zeros, infinities and cuts.

use std::error::Error;

use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};
use promote_scalar::eval::{Eval, Value};
use promote_scalar::{Element, elementwise};

use crate::libraries::data;

/// The part that a file writes in hex.
fn part(value: &serde_json::Value) -> Option<f64> {
    Some(f64::from_bits(u64::from_str_radix(value.as_str()?, 16).ok()?))
}

fn pair(value: &serde_json::Value) -> Option<[f64; 2]> {
    Some([part(&value[0])?, part(&value[1])?])
}

/// How to compute with parts of a dtype.
struct Precision {
    dtype: DType,
    /// The distance of 1 to the next number.
    epsilon: f64,
    /// The magnitudes that it holds with all bits.
    range: std::ops::Range<f64>,
    value: fn(f64) -> Value,
    number: fn(Value) -> f64,
}

const DOUBLE: Precision = Precision {
    dtype: DType::C128,
    epsilon: f64::EPSILON,
    range: f64::MIN_POSITIVE..f64::MAX,
    value: Value::f64,
    number: Value::to_f64,
};

const SINGLE: Precision = Precision {
    dtype: DType::C64,
    epsilon: f32::EPSILON as f64,
    range: f32::MIN_POSITIVE as f64..f32::MAX as f64,
    value: |x| Value::f32(x as f32),
    number: |x| x.to_f32().into(),
};

impl Precision {
    fn holds(&self, x: f64) -> bool {
        x == 0.0 || !x.is_finite() || self.range.contains(&x.abs()) && (self.number)((self.value)(x)) == x
    }

    /// How far a part is off, relative to its size; a sign of zero and an infinity count as much as can be.
    fn error(&self, found: f64, expected: f64) -> f64 {
        match () {
            () if expected.is_nan() && found.is_nan() || found == expected && expected != 0.0 => 0.0,
            () if found == 0.0 && expected == 0.0 => {
                if found.is_sign_negative() == expected.is_sign_negative() { 0.0 } else { f64::INFINITY }
            }
            () if !expected.is_finite() || !found.is_finite() || expected == 0.0 => f64::INFINITY,
            () => ((found - expected) / expected).abs() / self.epsilon,
        }
    }
}

/// Whether the standard leaves signs open: of infinities and zeros that come of infinities and NaN.
fn has_no_sign([re, im]: [f64; 2]) -> bool {
    !re.is_finite() || !im.is_finite()
}

#[test]
fn functions_keep_to_the_standard() -> Result<(), Box<dyn Error>> {
    let facts = data(include_bytes!("../data/complex.json.gz"))?;
    let points = facts["points"].as_array().ok_or("points")?;
    let (mut wrong, mut checked) = (Vec::new(), 0);
    for precision in [&DOUBLE, &SINGLE] {
        for (name, results) in facts["results"].as_object().ok_or("results")? {
            let op = Op::by_name(name).ok_or("an op")?;
            for (point, result) in points.iter().zip(results.as_array().ok_or("a list")?) {
                let (Some(point), Some(expected)) = (pair(point), pair(result)) else { continue };
                if !point.iter().all(|x| precision.holds(*x)) {
                    continue;
                }
                let e = &mut Eval::default();
                let z = Element::Complex((precision.value)(point[0]), (precision.value)(point[1]));
                let found = elementwise(e, op, Numerics::NumPy, &[precision.dtype], precision.dtype, &[z]);
                let Some(Element::Complex(re, im)) = found else { return Err(format!("{op}").into()) };
                let found = [(precision.number)(re), (precision.number)(im)];
                for index in 0..2 {
                    let in_range = expected[index] == 0.0
                        || !expected[index].is_finite()
                        || precision.range.contains(&expected[index].abs());
                    if !in_range {
                        continue;
                    }
                    checked += 1;
                    let error = precision.error(found[index], expected[index]);
                    let is_same = found[index].abs() == expected[index].abs() && has_no_sign(point);
                    if error > 16.0 && !is_same {
                        wrong.push(format!(
                            "{} {op} {point:?}: {found:?}, not {expected:?}: part {index}, {error:.1}",
                            precision.dtype
                        ));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {checked} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(checked > 20_000, "{checked} parts");
    Ok(())
}

#[test]
fn sinc_on_the_real_line_is_that_of_real_numbers() {
    for precision in [&DOUBLE, &SINGLE] {
        // The side that the imaginary part is on, above the line, where the function falls and where it rises.
        for (x, side) in
            [(0.5, -0.0), (1.0, -0.0), (1.25, -0.0), (1.5, 0.0), (2.0, 0.0), (7.0, -0.0), (64.0, 0.0)]
        {
            for (x, y) in [(x, 0.0), (x, -0.0), (-x, 0.0), (-x, -0.0)] {
                let sinc = |op_dtype: DType, operand: Element<Value>| {
                    elementwise(
                        &mut Eval::default(),
                        Op::Sinc,
                        Numerics::Jax,
                        &[op_dtype],
                        op_dtype,
                        &[operand],
                    )
                    .expect("it is defined")
                };
                let [re, im] = [x, y].map(precision.value);
                let (along, on_plane) = (
                    sinc(precision.dtype.real_part(), Element::Real(re)),
                    sinc(precision.dtype, Element::Complex(re, im)),
                );
                let Element::Complex(real, imaginary) = on_plane else { panic!("{on_plane:?} is complex") };
                assert_eq!(real, along.real(), "{} {x}", precision.dtype);
                let side = if (x < 0.0) == f64::is_sign_negative(y) { side } else { -side };
                assert_eq!(imaginary, (precision.value)(side), "{} {x} {y}", precision.dtype);
                assert!(x.fract() != 0.0 || real == (precision.value)(0.0), "{x}: {real:?}");
            }
        }
    }
}
