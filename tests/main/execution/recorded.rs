//! The recorded programs return the numbers that the libraries returned.
//!
//! Integers and truth values are the same; floats are near: see [`BOUNDS`].

use std::collections::BTreeMap;

use promote::{DType, Kind};
use promote_reference::{Array, Number, Value};

use super::support::{Place, function, on_all_cores, reported, run, session, ulps, unit};
use crate::support::{Program, data, list, random_programs, real_programs, text};

/// How many units in the last place a number may be off: of its own dtype, and, where that is exceeded because terms cancel,
/// of the largest number that it comes from, in the coarsest dtype that it comes through.
///
/// The libraries are a few units off the truth too: NumPy's and PyTorch's vectorised functions up to 4, and XLA's up to 5.
const BOUNDS: &[(DType, f64, f64)] =
    &[(DType::BF16, 1.0, 1.0), (DType::F16, 1.0, 1.0), (DType::F32, 4.0, 1.0), (DType::F64, 4.0, 2.0)];

/// What was recorded of a program: the names of the system and of the rules, and whether there are 64-bit dtypes.
const SYSTEMS: &[(&str, &str, bool)] = &[
    ("jax", "jax", true),
    ("jax-x32", "jax", false),
    ("numpy2", "numpy2", false),
    ("torch", "torch", false),
];

/// Values where a library computes otherwise than its own definition: what the system's name begins with, program, value.
///
/// XLA computes the product of a float and a truth value as a choice: infinity times false is 0 there, and NaN here, as IEEE
/// has it. PyTorch divides complex numbers by zero to NaN, and multiplies the second term of a complex sum by 1 + 0i, which
/// makes NaN of the imaginary part beside an infinity; here as in NumPy and JAX.
const OTHERWISE: &[(&str, &str, &str)] =
    &[("jax", "dev159", "v2"), ("torch", "dev253", "v6"), ("torch", "dev296", "v8")];

/// Functions in a module.
const FUNCTIONS: usize = 12;

fn real(value: &serde_json::Value) -> f64 {
    match value.as_str() {
        Some("inf") => f64::INFINITY,
        Some("-inf") => f64::NEG_INFINITY,
        Some(_) => f64::NAN,
        None => value.as_f64().or(value.as_bool().map(|truth| f64::from(u8::from(truth)))).expect("a number"),
    }
}

fn number(value: &serde_json::Value, dtype: DType) -> Number {
    match (dtype.kind(), value) {
        (Kind::Complex, serde_json::Value::Array(parts)) => Number::Complex(real(&parts[0]), real(&parts[1])),
        (Kind::Complex, single) => Number::Complex(real(single), 0.0),
        (Kind::Float, single) => Number::Real(real(single)),
        (Kind::Bool | Kind::Unsigned | Kind::Signed, single) => match (single.as_i64(), single.as_u64()) {
            (Some(value), _) => Number::Int(value.into()),
            (None, Some(value)) => Number::Int(value.into()),
            (None, None) => Number::Int(real(single) as i128),
        },
    }
    .fit(dtype)
}

fn numbers(value: &serde_json::Value, dtype: DType, count: usize) -> Vec<Number> {
    match value {
        serde_json::Value::Array(items) if items.len() == count && (count != 2 || !items[0].is_null()) => {
            items.iter().map(|item| number(item, dtype)).collect()
        }
        single => vec![number(single, dtype)],
    }
}

/// A value as far as its numbers are traced: what it may be off.
#[derive(Clone, Copy)]
struct Trace {
    largest: f64,
    coarsest: DType,
}

fn coarser(a: DType, b: DType) -> DType {
    let bits =
        |dtype: DType| dtype.real_part().props().format.map_or(u32::MAX, |format| format.mantissa_bits);
    if bits(a) <= bits(b) { a } else { b }
}

fn largest(array: &Array) -> f64 {
    let size = |number: &Number| number.parts().0.abs().max(number.parts().1.abs());
    array.elements.iter().map(size).filter(|size| size.is_finite()).fold(0.0, f64::max)
}

/// What each computed value comes from.
fn traces(
    program: &Program,
    inputs: &BTreeMap<&str, Array>,
    found: &BTreeMap<&str, Array>,
) -> BTreeMap<String, Trace> {
    let mut traces: BTreeMap<String, Trace> = BTreeMap::new();
    for (name, array) in inputs {
        traces.insert((*name).to_owned(), Trace { largest: largest(array), coarsest: array.dtype });
    }
    for op in list(&program.0, "ops") {
        let name = text(op, "name");
        let Some(array) = found.get(name) else {
            let value = op["attrs"]["value"].as_f64().unwrap_or(0.0).abs();
            traces.insert(name.to_owned(), Trace { largest: value, coarsest: DType::I64 });
            continue;
        };
        let mut trace = Trace { largest: largest(array), coarsest: array.dtype };
        for arg in list(op, "args").iter().filter_map(|arg| traces.get(arg.as_str()?)) {
            trace.largest = trace.largest.max(arg.largest);
            trace.coarsest = coarser(trace.coarsest, arg.coarsest);
        }
        traces.insert(name.to_owned(), trace);
    }
    traces
}

fn is_near(found: Number, expected: Number, dtype: DType, trace: Trace) -> bool {
    let part = dtype.real_part();
    let Some((_, own, cancelled)) = BOUNDS.iter().find(|row| row.0 == part) else { return found == expected };
    let near = |x: f64, y: f64| {
        let far = ulps(x, y, part);
        far <= *own
            || far.is_finite()
                && (x - y).abs() <= cancelled * unit(trace.largest, coarser(part, trace.coarsest))
    };
    let ((a, b), (c, d)) = (found.parts(), expected.parts());
    near(a, c) && near(b, d)
}

struct Recorded<'a> {
    program: &'a Program,
    inputs: BTreeMap<&'a str, Array>,
}

impl<'a> Recorded<'a> {
    fn new(program: &'a Program, values: &serde_json::Value, system: &str) -> Option<Self> {
        let dtypes = program.dtypes(system);
        let mut inputs = BTreeMap::new();
        for input in list(&program.0, "inputs") {
            let name = text(input, "name");
            let dtype: DType = dtypes.get(name).copied().unwrap_or(text(input, "dtype")).parse().ok()?;
            let dtype = promote::Semantics::by_name(
                SYSTEMS.iter().find(|row| row.0 == system)?.1,
                system != "jax-x32",
            )
            .ok()?
            .strengthen(dtype);
            let shape: Vec<usize> =
                list(input, "shape").iter().filter_map(|extent| Some(extent.as_u64()? as usize)).collect();
            let data = values["inputs"].get(name)?;
            let elements = numbers(data, dtype, shape.iter().product());
            inputs.insert(name, Array { dtype, shape, elements });
        }
        Some(Self { program, inputs })
    }

    /// Compares all that was recorded; how many numbers there were, or what is wrong.
    fn check(
        &self,
        values: &serde_json::Value,
        system: &str,
        function: &promote::Function,
    ) -> Result<usize, String> {
        let names = list(&self.program.0, "inputs").iter().map(|input| text(input, "name"));
        let arguments: Vec<Value> = names.map(|name| Value::Array(self.inputs[name].clone())).collect();
        let found =
            run(function, &arguments).map_err(|error| format!("{} {system}: {error}", self.program.id()))?;
        let found: BTreeMap<&str, Array> = self.program.computed().into_iter().zip(found).collect();
        let traces = traces(self.program, &self.inputs, &found);
        let mut count = 0;
        let outputs = values["results"][system].as_object().expect("outputs are an object");
        let is_otherwise = |name: &str| {
            let here = |row: &&(&str, &str, &str)| (row.1, row.2) == (self.program.id(), name);
            OTHERWISE.iter().filter(here).any(|row| system.starts_with(row.0))
        };
        for (name, expected) in outputs.iter().filter(|(name, _)| !is_otherwise(name)) {
            let Some(found) = found.get(name.as_str()) else { continue };
            let expected = numbers(expected, found.dtype, found.elements.len());
            for (place, (x, y)) in found.elements.iter().zip(&expected).enumerate() {
                count += 1;
                if !is_near(*x, *y, found.dtype, traces[name]) {
                    return Err(format!(
                        "{} {system} %{name}[{place}] of {}: {x:?}, recorded: {y:?}",
                        self.program.id(),
                        found.dtype
                    ));
                }
            }
        }
        Ok(count)
    }
}

/// Compares all programs that a system ran; how many numbers there were.
pub fn all_agree(place: &(dyn Fn() -> Place + Sync), programs: &[Program], system: &str) -> usize {
    let values = data(include_bytes!("../../data/program_values.json.gz"));
    let (_, name, x64) = SYSTEMS.iter().find(|row| row.0 == system).expect("the system is listed");
    let ran = |program: &&Program| {
        let flags = list(&values[program.id()], "out_of_range");
        !values[program.id()]["results"][system].is_null() && !flags.contains(&system.into())
    };
    let accepted: Vec<Program> =
        programs.iter().filter(ran).map(|program| program.accepted_part(system)).collect();
    let recorded: Vec<Recorded<'_>> =
        accepted.iter().filter_map(|program| Recorded::new(program, &values[program.id()], system)).collect();
    let batches: Vec<&[Recorded<'_>]> = recorded.chunks(FUNCTIONS).collect();
    let work = |(session, place): &(promote::Session, Place), index: usize| -> Vec<Result<usize, String>> {
        let text: String = batches[index].iter().map(|recorded| recorded.program.mlir(system)).collect();
        match place.compile(session, &text) {
            Ok(executable) => batches[index]
                .iter()
                .map(|one| {
                    one.check(&values[one.program.id()], system, &function(&executable, one.program.id()))
                })
                .collect(),
            Err(error) => vec![Err(format!("{error}\n{text}"))],
        }
    };
    let found: Vec<Result<usize, String>> =
        on_all_cores(batches.len(), || (session(name, *x64, false), place()), work)
            .into_iter()
            .flatten()
            .collect();
    let count = found.iter().flatten().sum();
    reported(system, found.into_iter().filter_map(Result::err).collect());
    count
}

#[test]
fn random_programs_give_the_recorded_numbers() {
    let programs = random_programs();
    let counts =
        ["jax", "jax-x32", "numpy2", "torch"].map(|system| all_agree(&Place::host, &programs, system));
    assert_eq!(counts, [8095, 8095, 7981, 6509]);
}

#[test]
fn real_programs_give_the_recorded_numbers() {
    let programs = real_programs();
    let counts =
        ["jax", "jax-x32", "numpy2", "torch"].map(|system| all_agree(&Place::host, &programs, system));
    assert_eq!(counts, [786, 1528, 2620, 2954]);
}
