//! The recorded programs in XLA: the numbers are those that the libraries returned.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use promote::{DType, Op, Semantics, Session};
use promote_reference::{Array, Number};
use serde_json::Value;

use super::machine::{Job, Measure, run, size};
use super::pipeline;
use crate::bounds::{self, Applied, Machine};
use crate::support::{Program, list, random_programs, real_programs, recorded_values, run_in, session, text};

/// A recorded array: a list of its numbers, or the one it has.
fn array(dtype: DType, shape: &[Value], data: &Value) -> Array {
    let shape: Vec<usize> = shape.iter().map(|n| n.as_u64().expect("an extent") as usize).collect();
    let is_pair = |data: &Value| dtype.kind() == promote::Kind::Complex && !data[0].is_array();
    let numbers = match data {
        Value::Array(numbers) if !(shape.is_empty() && is_pair(data) && numbers.len() == 2) => {
            numbers.clone()
        }
        one => vec![one.clone()],
    };
    Array::new(dtype, shape, numbers.iter().map(number))
}

fn number(value: &Value) -> Number {
    let real = |value: &Value| match value.as_str() {
        Some(text) => text.parse().expect("inf, -inf or nan"),
        None => value.as_f64().expect("a number"),
    };
    match value {
        Value::Bool(truth) => Number::truth(*truth),
        Value::Array(parts) => Number::Complex(real(&parts[0]), real(&parts[1])),
        Value::Number(number) if number.is_i64() || number.is_u64() => {
            let signed = number.as_i64().map(i128::from);
            Number::Int(signed.or(number.as_u64().map(i128::from)).expect("one of both"))
        }
        other => Number::Real(real(other)),
    }
}

/// A program, and what it must return.
struct Case {
    id: String,
    job: Job,
    /// The arguments with their names.
    inputs: Vec<(String, Array)>,
    /// By the place among the results: the name and the array.
    expected: BTreeMap<usize, (String, Array)>,
    /// By the name of a result: what it is computed of.
    paths: BTreeMap<String, Path>,
}

/// A recorded system with what its programs are made with.
struct System {
    name: &'static str,
    session: Session,
    semantics: Semantics,
    values: BTreeMap<String, Value>,
}

impl System {
    fn new(name: &'static str) -> Self {
        let (rules, x64) = (name.trim_end_matches("-x32"), name == "jax");
        let semantics = Semantics::by_name(rules, x64).expect("the semantics exists");
        Self { name, session: session(rules, x64, false), semantics, values: recorded_values() }
    }

    /// What a dtype of the records is in an array.
    fn strong(&self, name: &str) -> DType {
        let dtype =
            if name == "b*" { DType::B1 } else { name.parse().expect("the data name dtypes as we do") };
        self.semantics.strengthen(dtype)
    }

    /// A program as StableHLO; or why it is refused.
    fn case(&self, program: &Program) -> Result<Case, String> {
        let (recorded, dtypes) = (&self.values[program.id()], program.dtypes(self.name));
        let accepted = program.accepted_part(self.name);
        let lowered = run_in(&self.session, &accepted.mlir(self.name), &pipeline());
        if lowered.text.is_empty() {
            return Err(format!("{}: {}", program.id(), lowered.diagnostics_text()));
        }
        let inputs = list(&program.0, "inputs").iter().map(|input| {
            let name = text(input, "name");
            let dtype = dtypes.get(name).copied().unwrap_or(text(input, "dtype"));
            (name.to_owned(), array(self.strong(dtype), list(input, "shape"), &recorded["inputs"][name]))
        });
        let inputs: Vec<(String, Array)> = inputs.collect();
        let outputs = recorded["outputs"][self.name].as_object().expect("outputs are recorded");
        let names = accepted.computed();
        let expected = outputs.iter().filter_map(|(name, output)| {
            let place = names.iter().position(|known| known == name)?;
            let dtype = self.strong(text(output, "dtype"));
            Some((place, (name.clone(), array(dtype, list(output, "shape"), &output["data"]))))
        });
        Ok(Case {
            id: program.id().to_owned(),
            job: Job { text: lowered.text, inputs: inputs.iter().map(|(_, array)| array.clone()).collect() },
            inputs,
            expected: expected.collect(),
            paths: self.paths(&accepted),
        })
    }
}

/// What a value is computed of.
#[derive(Clone, Default)]
struct Path {
    /// The ops, by their places in the program.
    ops: BTreeMap<usize, Applied>,
    /// The names of the inputs and results, its own among them.
    names: BTreeSet<String>,
}

impl System {
    /// What each computed value of a program is computed of.
    fn paths(&self, program: &Program) -> BTreeMap<String, Path> {
        let dtypes = program.dtypes(self.name);
        let dtype = |name: &str| self.strong(dtypes.get(name).copied().unwrap_or("f64"));
        let mut paths: BTreeMap<String, Path> = BTreeMap::new();
        for (place, op) in list(&program.0, "ops").iter().enumerate() {
            let name = text(op, "name");
            let arguments: Vec<&str> = list(op, "args").iter().filter_map(Value::as_str).collect();
            let mut path = Path { names: BTreeSet::from([name.to_owned()]), ..Path::default() };
            for argument in &arguments {
                let before = paths.get(*argument).cloned().unwrap_or_default();
                path.ops.extend(before.ops);
                path.names.extend(before.names);
                path.names.insert((*argument).to_owned());
            }
            let first = arguments.first().copied();
            let extents = first.map_or(&[][..], |name| list(&program.0["shapes"], name));
            let applied = Applied {
                op: Op::by_name_or_alias(text(op, "op")).expect("the data name ops as we do"),
                operand: dtype(first.unwrap_or(name)),
                dtype: dtype(name),
                terms: extents.iter().filter_map(Value::as_u64).product::<u64>() as usize,
            };
            path.ops.insert(place, applied);
            paths.insert(name.to_owned(), path);
        }
        paths
    }
}

/// What came of the programs of a system.
#[derive(Default)]
struct Count {
    programs: usize,
    refused: Vec<String>,
    arrays: usize,
    /// Arrays of which no element is farther than [`CLOSE`] units of its own last place from the recorded one.
    close: usize,
    wrong: Vec<String>,
}

/// Units of a number's own last place.
const CLOSE: f64 = 4.0;

impl Case {
    /// How a result is compared, and how many units it may be off: what the bounds of the ops that it is computed of add up to,
    /// of the largest number among what it is computed of.
    fn tolerated(&self, name: &str, expected: &Array) -> (Measure, f64) {
        let path = &self.paths[name];
        let named = self.inputs.iter().map(|(name, array)| (name, array));
        let outputs = self.expected.values().map(|(name, array)| (name, array));
        let own = named.chain(outputs).filter(|(name, _)| path.names.contains(*name));
        let scale = own.map(|(_, array)| size(array)).fold(0.0, f64::max);
        let ops: Vec<Applied> = path.ops.values().copied().collect();
        let relative = bounds::relative_of(&ops, &[Machine::Xla, Machine::Library]);
        // The unit of a number is at least half an epsilon of it.
        (Measure { dtype: expected.dtype, scale }, 2.0 * relative / bounds::epsilon(expected.dtype))
    }
}

impl Count {
    fn note(&mut self, case: &Case, found: &[Array]) {
        for (place, (name, expected)) in &case.expected {
            let found = &found[*place];
            self.arrays += 1;
            self.close += usize::from(Measure::own(expected.dtype).largest(found, expected).0 <= CLOSE);
            let (measure, units) = case.tolerated(name, expected);
            let (distance, at) = measure.largest(found, expected);
            if distance > 0.0 && distance > units {
                let (found, expected) = (found.elements.get(at), expected.elements.get(at));
                self.wrong.push(format!(
                    "{} %{name}: {found:?}, recorded: {expected:?}, {distance} units instead of {units}",
                    case.id
                ));
            }
        }
    }
}

/// Runs the programs of a system in XLA.
fn count(programs: &[Program], system: &'static str) -> Count {
    let system = System::new(system);
    let mut count = Count::default();
    let mut cases = Vec::new();
    for program in programs.iter().filter(|program| program.ran_under(system.name)) {
        let recorded = &system.values[program.id()];
        if list(recorded, "out_of_range_float_to_int_cast").contains(&system.name.into()) {
            continue;
        }
        match system.case(program) {
            Ok(case) => cases.push(case),
            Err(refused) => count.refused.push(refused),
        }
    }
    let jobs: Vec<_> = cases.iter().map(|case| &case.job).collect();
    for (case, answer) in cases.iter().zip(run(&jobs)) {
        count.programs += 1;
        match answer {
            Ok(found) => count.note(case, &found),
            Err(error) => count.wrong.push(format!("{}: {error}", case.id)),
        }
    }
    count
}

/// Checks the programs of a system, of which `refused` raise exceptions that StableHLO has none of.
fn check(programs: &[Program], system: &'static str, refused: &[&str]) {
    let count = count(programs, system);
    let Count { programs, arrays, close, .. } = count;
    let _ = writeln!(
        std::io::stderr(),
        "{system}: {programs} programs, {arrays} arrays, {close} within {CLOSE} units of the last place, {} refused",
        count.refused.len()
    );
    assert_eq!(count.wrong, Vec::<String>::new());
    assert!(close * 100 >= arrays * 98, "{close} of {arrays} arrays are close");
    let ids: Vec<_> = count.refused.iter().filter_map(|why| why.split(':').next()).collect();
    assert_eq!(ids, refused, "{}", count.refused.join("\n"));
}

/// Half of the random programs.
fn even_programs() -> Vec<Program> {
    random_programs().into_iter().step_by(2).collect()
}

/// The other half.
fn odd_programs() -> Vec<Program> {
    random_programs().into_iter().skip(1).step_by(2).collect()
}

macro_rules! checks {
    ($($name:ident $programs:ident $system:literal $(refused $($id:literal)*)?;)*) => { $(
        #[test]
        fn $name() {
            check(&$programs(), $system, &[$($($id),*)?]);
        }
    )* };
}

checks! {
    the_random_programs_give_jax_numbers even_programs "jax";
    the_random_programs_give_jax_numbers_without_x64 odd_programs "jax-x32";
    the_random_programs_give_numpys_numbers even_programs "numpy2";
    the_recorded_programs_give_jax_numbers real_programs "jax";
    the_recorded_programs_give_jax_numbers_without_x64 real_programs "jax-x32";
    the_recorded_programs_give_numpys_numbers real_programs "numpy2" refused "real_np_070";
}
