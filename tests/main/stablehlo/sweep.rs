//! Ops that are not element-wise, in every dtype that XLA has, in XLA and in the reference interpreter.

use std::collections::BTreeSet;

use promote::{DType, Kind, Op};
use promote_reference::{Array, Error, Reader};

use super::machine::{Job, Measure, WITHOUT_ARRAYS, has_arrays, run};
use super::{LACKING, pipeline, raises};
use crate::cases::{Case, Sums, System, cases, pairs};
use crate::execution::support::{known, on_all_cores, reported};
use crate::support::{run_in, session};

/// How often each op is run in each dtype.
const ROUNDS: u64 = 1;

/// Cases in a program.
const AT_ONCE: usize = 25;

/// The longest row that XLA adds up in order; a longer one it adds up as a tree.
const LONGEST_IN_ORDER: usize = 16;

/// Whether XLA runs an op of a system.
fn is_run(system: &System, op: Op, dtype: DType) -> bool {
    has_arrays(dtype) && !raises(system.semantics.numerics(), op, dtype)
}

/// A case as XLA gets it: with extents that the program states, and in short rows where each step is rounded to few bits, or
/// the order counts otherwise: JAX forgets the largest complex number so far when it meets a NaN.
fn asked(case: &Case) -> Case {
    let is_cumulative = matches!(case.op, Op::CumulativeSum | Op::CumulativeProd);
    let is_coarse = is_cumulative && case.dtype.kind() == Kind::Float && case.dtype.bits() <= 8;
    let is_short =
        |case: &Case| case.shapes.iter().flatten().all(|extent| (2..=LONGEST_IN_ORDER).contains(extent));
    let short = || (0..100).filter_map(|seed| Case::new(case.op, case.dtype, seed)).find(is_short);
    let forgets = matches!(case.op, Op::Max | Op::Min) && case.dtype.kind() == Kind::Complex;
    let case = if is_coarse || forgets { short().expect("some shapes are small") } else { case.clone() };
    Case { is_open: false, ..case }
}

/// A case with its arguments and what the interpreter returns.
struct Ready {
    case: Case,
    arguments: Vec<Array>,
    expected: Array,
}

impl Ready {
    /// `None` if the library raises an exception.
    fn new(case: &Case, reader: &Reader, system: &System) -> Option<Self> {
        let case = asked(case);
        let arguments = case.arguments();
        match case.expected(reader, system, &arguments) {
            Ok(expected) => Some(Self { case, arguments, expected }),
            Err(Error::Trap(_)) => None,
            Err(error) => panic!("{case:?}: {error}"),
        }
    }

    /// What is wrong with a result. XLA takes subnormal numbers for zero.
    fn difference(&self, found: &Array) -> Option<String> {
        let measure = Measure::own(self.expected.dtype);
        let [found, expected] = [found, &self.expected].map(|array| measure.flushed_array(array));
        self.case.difference(&found, &expected, Sums::InOrder)
    }
}

/// Cases as one function, whose arguments and results are theirs in a row.
fn together(ready: &[Ready]) -> String {
    let (mut parameters, mut bodies, mut names, mut types) =
        (Vec::new(), String::new(), Vec::new(), Vec::new());
    for (number, Ready { case, .. }) in ready.iter().enumerate() {
        let prefix = format!("%x{number}_");
        let operands = case.types(case.dtype);
        parameters
            .extend(operands.iter().enumerate().map(|(index, text)| format!("{prefix}{index}: {text}")));
        bodies += &format!("  %r{number} = {}\n", case.body(&prefix, case.dtype));
        names.push(format!("%r{number}"));
        types.push(case.result(case.dtype));
    }
    let (parameters, names, types) = (parameters.join(", "), names.join(", "), types.join(", "));
    known(&format!("func.func @f({parameters}) -> ({types}) {{\n{bodies}  return {names} : {types}\n}}\n"))
}

/// What is wrong with the cases of a system, and how many there are.
fn check(system: &System, cases: &[&Case]) -> (usize, Vec<String>) {
    let (reader, session) =
        (Reader::new().expect("MLIR takes the dialect"), session(system.name, system.x64, false));
    let ready: Vec<Ready> = cases.iter().filter_map(|case| Ready::new(case, &reader, system)).collect();
    let job = |ready: &[Ready]| {
        let source = together(ready);
        let lowered = run_in(&session, &source, &pipeline());
        assert!(!lowered.text.is_empty(), "{}\n{source}", lowered.diagnostics_text());
        let inputs = ready.iter().flat_map(|ready| ready.arguments.clone()).collect();
        Job { text: lowered.text, inputs }
    };
    let parts: Vec<&[Ready]> = ready.chunks(AT_ONCE).collect();
    let jobs: Vec<Job> = parts.iter().map(|part| job(part)).collect();
    let mut wrong = Vec::new();
    for (part, answer) in parts.into_iter().zip(run(&jobs.iter().collect::<Vec<_>>())) {
        match answer {
            Ok(found) => wrong.extend(part.iter().zip(&found).filter_map(|(ready, found)| {
                Some(format!("{} {:?}: {}", system.name, ready.case, ready.difference(found)?))
            })),
            // Checking them one by one finds which.
            Err(_) => {
                let jobs: Vec<Job> = part.iter().map(|ready| job(std::slice::from_ref(ready))).collect();
                let answers = run(&jobs.iter().collect::<Vec<_>>());
                let refused = part.iter().zip(answers).filter_map(|(ready, answer)| {
                    Some(format!("{} {:?}: {}", system.name, ready.case, answer.err()?))
                });
                wrong.extend(refused);
            }
        }
    }
    (ready.len(), wrong)
}

#[test]
fn every_op_of_every_dtype_gives_the_interpreters_numbers() {
    let systems = System::all();
    let all = cases(&systems, 0..ROUNDS, is_run);
    let of = |number: usize| all.iter().filter(move |(own, _)| *own == number).map(|(_, case)| case);
    let found = on_all_cores(
        systems.len(),
        || (),
        |(), number| check(&systems[number], &of(number).collect::<Vec<_>>()),
    );
    let count: usize = found.iter().map(|(count, _)| count).sum();
    reported(&format!("{count} cases in XLA"), found.into_iter().flat_map(|(_, wrong)| wrong).collect());
    assert!(count > 700, "{count} cases");
}

#[test]
fn only_dtypes_that_xla_lacks_are_not_run() {
    let systems = System::all();
    let is_left_out = |(op, dtype): &(Op, DType)| {
        let mut takers = systems.iter().filter(|system| system.runs(*op, *dtype)).peekable();
        takers.peek().is_some() && !takers.any(|system| is_run(system, *op, *dtype))
    };
    let left_out: BTreeSet<DType> = pairs().filter(is_left_out).map(|(_, dtype)| dtype).collect();
    assert_eq!(left_out, LACKING.into_iter().chain(WITHOUT_ARRAYS).collect());
}

#[test]
fn xla_has_arrays_of_all_dtypes_but_some() {
    let asked: Vec<DType> = DType::strong().filter(|dtype| !LACKING.contains(dtype)).collect();
    let session = session("jax", true, false);
    let job = |dtype: &DType| {
        let from = if dtype.kind() == Kind::Complex { DType::C128 } else { DType::F64 };
        let (from, to) = (from, format!("tensor<2x{}>", dtype.mlir()));
        let from_text = format!("tensor<2x{}>", from.mlir());
        let source = format!(
            "func.func @f(%x: {from_text}) -> {to} {{\n  %0 = \"promote.convert\"(%x) : ({from_text}) -> {to}\n  \
             return %0 : {to}\n}}\n"
        );
        let text = run_in(&session, &source, &pipeline()).text;
        assert!(!text.is_empty(), "StableHLO has {dtype}");
        Job { text, inputs: vec![Array::of_reals(from, &[2], &[1.0, 2.0])] }
    };
    let jobs: Vec<Job> = asked.iter().map(job).collect();
    let answers = run(&jobs.iter().collect::<Vec<_>>());
    let refused = asked.into_iter().zip(answers).filter_map(|(dtype, answer)| Some((dtype, answer.err()?)));
    let refused: Vec<(DType, String)> = refused.collect();
    let dtypes: Vec<DType> = refused.iter().map(|(dtype, _)| *dtype).collect();
    assert_eq!(dtypes, WITHOUT_ARRAYS, "{refused:?}");
}
