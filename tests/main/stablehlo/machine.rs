//! XLA, in a Python process of its own.

use std::io::Write as _;
use std::process::{Command, ExitStatus, Stdio};

use promote::DType;
use promote_reference::{Array, Number};
use serde_json::{Value, json};

use super::LACKING;
use crate::needed::python;
use crate::support::{list, text};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tools/run_stablehlo.py");

/// Dtypes that StableHLO has, and XLA's processors have no arrays of.
pub const WITHOUT_ARRAYS: [DType; 2] = [DType::F6E2M3FN, DType::F6E3M2FN];

/// Whether XLA has arrays of a dtype.
pub fn has_arrays(dtype: DType) -> bool {
    !LACKING.contains(&dtype) && !WITHOUT_ARRAYS.contains(&dtype)
}

/// A program and what to run it on.
pub struct Job {
    /// The module.
    pub text: String,
    /// The arguments of its public function.
    pub inputs: Vec<Array>,
}

/// What a program returned, or why it was refused.
pub type Answer = Result<Vec<Array>, String>;

/// Runs programs in XLA, all in one process. If XLA ends the process, smaller batches find the program.
pub fn run(jobs: &[&Job]) -> Vec<Answer> {
    match (run_once(jobs), jobs) {
        (Ok(answers), _) => answers,
        (Err(status), [_]) => vec![Err(format!("the process ends: {status}"))],
        (Err(_), jobs) => {
            let (first, second) = jobs.split_at(jobs.len() / 2);
            [run(first), run(second)].concat()
        }
    }
}

/// What XLA's verifiers say of each module that they refuse.
pub fn refused(modules: &[String]) -> Vec<String> {
    let jobs = modules.iter().map(|text| json!({"text": text})).collect();
    let answers = asked(jobs).unwrap_or_else(|status| panic!("the process ends: {status}"));
    answers.into_iter().filter_map(Result::err).collect()
}

/// Runs programs in one process, and returns how that ended if it failed.
fn run_once(jobs: &[&Job]) -> Result<Vec<Answer>, ExitStatus> {
    let inputs = |job: &Job| job.inputs.iter().map(buffer).collect::<Vec<_>>();
    asked(jobs.iter().map(|job| json!({"text": job.text, "inputs": inputs(job)})).collect())
}

/// What the script answers.
fn asked(jobs: Vec<Value>) -> Result<Vec<Answer>, ExitStatus> {
    let mut child = Command::new(python())
        .arg(SCRIPT)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("Python starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin.write_all(Value::from(jobs).to_string().as_bytes()).expect("the script reads all of it");
    drop(stdin);
    let output = child.wait_with_output().expect("the script ends");
    if !output.status.success() {
        return Err(output.status);
    }
    let Ok(Value::Array(answers)) = serde_json::from_slice(&output.stdout) else {
        panic!("the script writes a list")
    };
    Ok(answers.iter().map(answer).collect())
}

fn answer(answer: &Value) -> Answer {
    if answer["error"].is_string() {
        return Err(text(answer, "error").to_owned());
    }
    Ok(list(answer, "outputs").iter().map(array).collect())
}

/// An array as the script reads it.
fn buffer(array: &Array) -> Value {
    let width = array.dtype.bits().div_ceil(8) as usize;
    let bytes = array.bits().into_iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(width));
    let data: String = bytes.map(|byte| format!("{byte:02x}")).collect();
    json!({"dtype": array.dtype.name(), "shape": array.shape, "data": data})
}

/// An array as the script writes it.
fn array(buffer: &Value) -> Array {
    let dtype: DType = text(buffer, "dtype").parse().expect("the script names dtypes as we do");
    let width = dtype.bits().div_ceil(8) as usize;
    let digits = text(buffer, "data").as_bytes();
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).expect("digits are ASCII");
        u8::from_str_radix(pair, 16).expect("digits are hexadecimal")
    };
    let bytes: Vec<u8> = digits.chunks(2).map(byte).collect();
    let element = |bytes: &[u8]| {
        let bits = bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u128::from(*byte));
        Number::from_bits(bits, dtype)
    };
    let shape = list(buffer, "shape").iter().map(|extent| extent.as_u64().expect("an extent") as usize);
    Array { dtype, shape: shape.collect(), elements: bytes.chunks(width).map(element).collect() }
}

/// How two numbers are compared.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// The dtype whose units of the last place are counted.
    pub dtype: DType,
    /// The least size of a number that a unit is taken of.
    pub scale: f64,
}

impl Measure {
    /// In units of a number's own last place; below the normal numbers, in that of the least of them.
    pub const fn own(dtype: DType) -> Self {
        Self { dtype, scale: 0.0 }
    }

    /// How far a number is from the expected one: 0 if they are equal or both NaN. Parts of a complex number share the unit of
    /// the larger one. Integers are equal or infinitely far apart.
    pub fn distance(&self, found: Number, expected: Number) -> f64 {
        if matches!(expected, Number::Int(_)) {
            return if found == expected { 0.0 } else { f64::INFINITY };
        }
        let ((a, b), (c, d)) = (self.flushed(found), self.flushed(expected));
        let size = [c, d].into_iter().filter(|part| part.is_finite()).fold(self.scale, |x, y| x.max(y.abs()));
        let unit = self.unit(size);
        let apart = |a: f64, b: f64| match a == b || a.is_nan() && b.is_nan() {
            true => 0.0,
            false => (a - b).abs() / unit,
        };
        let apart = apart(a, c).max(apart(b, d));
        if apart.is_nan() { f64::INFINITY } else { apart }
    }

    /// The parts of a number, as XLA takes those that are subnormal in its formats: for zero.
    fn flushed(&self, number: Number) -> (f64, f64) {
        let least = match self.dtype.real_part() {
            DType::F64 => f64::MIN_POSITIVE,
            DType::F16 => 0.0,
            _ => f32::MIN_POSITIVE.into(),
        };
        let flush = |part: f64| if part.abs() < least { 0.0 } else { part };
        let (re, im) = number.parts();
        (flush(re), flush(im))
    }

    /// An array as XLA takes it.
    pub fn flushed_array(&self, array: &Array) -> Array {
        let flush = |number: &Number| match number {
            Number::Int(_) => *number,
            Number::Real(_) => Number::Real(self.flushed(*number).0),
            Number::Complex(..) => {
                let (re, im) = self.flushed(*number);
                Number::Complex(re, im)
            }
        };
        Array { elements: array.elements.iter().map(flush).collect(), ..array.clone() }
    }

    /// The unit of the last place of a number of this size.
    fn unit(&self, size: f64) -> f64 {
        let format = self.dtype.real_part().props().format.expect("the dtype is a float's");
        let least = 2f64.powi(1 - format.bias);
        2f64.powi(size.max(least).log2().floor() as i32 - format.mantissa_bits as i32)
    }

    /// The largest distance of two arrays, infinite if they are of different types, and where it is.
    pub fn largest(&self, found: &Array, expected: &Array) -> (f64, usize) {
        self.largest_but(found, expected, |_| false)
    }

    /// The same, but for elements at places that do not count.
    pub fn largest_but(
        &self,
        found: &Array,
        expected: &Array,
        skipped: impl Fn(usize) -> bool,
    ) -> (f64, usize) {
        if (found.dtype, &found.shape) != (expected.dtype, &expected.shape) {
            return (f64::INFINITY, 0);
        }
        let pairs = found.elements.iter().zip(&expected.elements);
        let distances = pairs.map(|(a, b)| self.distance(*a, *b)).enumerate();
        let distances = distances.filter(|(place, distance)| *distance > 0.0 && !skipped(*place));
        distances.fold((0.0, 0), |most, (place, next)| if next > most.0 { (next, place) } else { most })
    }
}

/// The size of the largest finite number.
pub fn size(array: &Array) -> f64 {
    let parts = array.elements.iter().map(|number| number.parts());
    parts.flat_map(|(re, im)| [re, im]).filter(|part| part.is_finite()).fold(0.0, |most, x| most.max(x.abs()))
}
