//! Ops that are not element-wise, in every dtype that XLA has, in XLA and in the reference interpreter.

use promote::{DType, Kind, Op};
use promote_reference::{Array, Reader};

use super::machine::{Job, run};
use super::pipeline;
use crate::cases::{Case, System, cases};
use crate::execution::support::{known, reported};
use crate::support::{run_in, session};

/// How often each op is run in each dtype.
const ROUNDS: u64 = 1;

/// Cases in a program.
const AT_ONCE: usize = 25;

/// Whether XLA's processors have arrays of a dtype: those of 6 bits it refuses, and one bit is not enough for an integer.
const fn is_xlas(dtype: DType) -> bool {
    let is_integer = matches!(dtype.kind(), Kind::Unsigned | Kind::Signed);
    dtype.bits() != 6 && !(is_integer && dtype.bits() == 1) && !matches!(dtype, DType::C32 | DType::BC32)
}

/// Whether the result depends on the order of the steps, which XLA takes as a tree in long rows: each one is rounded to few bits.
fn is_coarse(case: &Case) -> bool {
    let is_cumulative = matches!(case.op, Op::CumulativeSum | Op::CumulativeProd);
    is_cumulative && case.dtype.kind() == Kind::Float && case.dtype.bits() <= 8
}

/// A case with its arguments and what the interpreter gives.
struct Ready {
    case: Case,
    arguments: Vec<Array>,
    expected: Array,
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

#[test]
fn every_op_of_every_dtype_gives_the_interpreters_numbers() {
    let (systems, reader) = (System::all(), Reader::new().expect("MLIR takes the dialect"));
    let sessions = systems.each_ref().map(|system| session(system.name, system.x64, false));
    let all = cases(&systems, 0..ROUNDS);
    let (mut jobs, mut asked) = (Vec::new(), Vec::new());
    for (number, system) in systems.iter().enumerate() {
        let lowered = |text: &str| run_in(&sessions[number], text, &pipeline()).text;
        let of_system =
            all.iter().filter(|(own, case)| *own == number && is_xlas(case.dtype) && !is_coarse(case));
        let ready = of_system.filter_map(|(_, case)| {
            // XLA compiles a program for each shape.
            let case = Case { is_open: false, ..case.clone() };
            let arguments = case.arguments();
            let expected = case.expected(&reader, system, &arguments).ok()?;
            // What StableHLO lacks is refused, as other tests find.
            let is_there = !lowered(&case.text("f", case.dtype)).is_empty();
            is_there.then_some(Ready { case, arguments, expected })
        });
        let mut ready: Vec<Ready> = ready.collect();
        while !ready.is_empty() {
            let rest = ready.split_off(ready.len().min(AT_ONCE));
            let inputs = ready.iter().flat_map(|ready| ready.arguments.clone()).collect();
            jobs.push(Job { text: lowered(&together(&ready)), inputs });
            asked.push((number, std::mem::replace(&mut ready, rest)));
        }
    }
    let count: usize = asked.iter().map(|(_, ready)| ready.len()).sum();
    assert!(count > 500, "{count} cases");
    let Some(answers) = run(&jobs.iter().collect::<Vec<_>>()) else { return };
    let mut wrong = Vec::new();
    for ((number, ready), answer) in asked.iter().zip(answers) {
        let (name, session) = (systems[*number].name, &sessions[*number]);
        let found = match answer {
            Ok(found) => found,
            // One by one tells which.
            Err(_) => {
                let alone = |ready: &Ready| {
                    let text = ready.case.text("f", ready.case.dtype);
                    let text = run_in(session, &text, &pipeline()).text;
                    let job = Job { text, inputs: ready.arguments.clone() };
                    let answer = run(&[&job]).and_then(|answers| answers.into_iter().next());
                    answer.and_then(|answer| Some(format!("{:?}: {}", ready.case, answer.err()?)))
                };
                wrong.extend(ready.iter().filter_map(alone));
                continue;
            }
        };
        for (Ready { case, expected, .. }, found) in ready.iter().zip(&found) {
            let differs = case.difference(found, expected);
            wrong.extend(differs.map(|differs| format!("{name} {case:?}: {differs}")));
        }
    }
    reported(&format!("{count} cases in XLA"), wrong);
}
