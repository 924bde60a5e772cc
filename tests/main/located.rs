//! What a semantics or a target refuses, of all ops and dtypes that there are, it refuses at its place.

use promote::convert::Numerics;
use promote::diagnostic::{Code, Diagnostic, Severity};
use promote::op::ShapeRule;
use promote::semantics::{Operand, Typing};
use promote::{DType, Op, Pipeline};
use promote_scalar::eval::{Eval, Value};
use promote_scalar::{Element, elementwise, register};

use crate::cases::{Case, System};
use crate::stablehlo;
use crate::support::{DEFAULT, run_in, session};

/// Lines of a function.
const LINES: u64 = 4;

/// Ops whose types say what they are: there is nothing to infer, or to lower.
fn is_stated(op: Op) -> bool {
    op.info().shape == ShapeRule::Stated
}

/// Ops whose operands are not promoted.
const fn is_passed_on(op: Op) -> bool {
    matches!(op, Op::Convert | Op::Relax)
}

fn pairs() -> impl Iterator<Item = (Op, DType)> {
    let ops = Op::ALL.iter().copied().filter(|op| !is_stated(*op));
    ops.flat_map(|op| DType::strong().map(move |dtype| (op, dtype)))
}

/// The errors that a pipeline reports for each of some ops, one in each function: at the op, or at the function, whose
/// arguments are of the dtype.
fn diagnostics(system: &System, asked: &[(Op, DType)], pipeline: &str) -> Vec<Vec<Diagnostic>> {
    let texts = asked.iter().enumerate();
    let texts: Vec<String> = texts
        .map(|(index, (op, dtype))| Case::first(*op, *dtype).text(&format!("f{index}"), *dtype))
        .collect();
    assert!(texts.iter().all(|text| text.lines().count() as u64 == LINES), "each function has as many lines");
    let outcome = run_in(&session(system.name, system.x64, false), &texts.concat(), pipeline);
    let mut found = vec![Vec::new(); asked.len()];
    for diagnostic in outcome.diagnostics.into_iter().filter(|found| found.severity == Severity::Error) {
        let Some(location) = &diagnostic.location else { panic!("{}: nowhere", diagnostic.message) };
        let line = location.line as u64 % LINES;
        assert!(line == 1 || line == 2, "{}: at line {line}", diagnostic.message);
        found[(location.line as u64 / LINES) as usize].push(diagnostic);
    }
    found
}

#[test]
fn what_a_semantics_refuses_is_refused_at_the_op() {
    let mut count = 0;
    for system in System::all() {
        let is_refused = |(op, dtype): &(Op, DType)| !is_passed_on(*op) && !system.accepts(*op, *dtype);
        let refused: Vec<_> = pairs().filter(is_refused).collect();
        let found = diagnostics(&system, &refused, DEFAULT);
        for ((op, dtype), diagnostics) in refused.iter().zip(found) {
            let [error] = &diagnostics[..] else {
                panic!("{} {op} of {dtype}: {diagnostics:?}", system.name)
            };
            assert!(error.remedy.is_some(), "{} {op} of {dtype}: {error:?}", system.name);
            assert!(error.code != Code::Internal, "{} {op} of {dtype}: {error:?}", system.name);
        }
        count += refused.len();
    }
    assert!(count > 1000, "{count} are refused");
}

/// The typing of an op's first case under a system.
fn typing(system: &System, op: Op, dtype: DType) -> Option<Typing> {
    let case = Case::first(op, dtype);
    let operands = (0..case.shapes.len()).map(|index| Operand::value(case.operand(index, dtype)));
    system.semantics.infer(op, &operands.collect::<Vec<_>>()).ok().flatten()
}

/// Whether the scalar definitions define an op of elements of one dtype, as a semantics computes it.
fn is_defined(system: &System, op: Op, dtype: DType) -> bool {
    let case = Case::first(op, dtype);
    let operands: Vec<_> = (0..case.shapes.len()).map(|index| case.operand(index, dtype)).collect();
    let Some(typing) = typing(system, op, dtype) else { return false };
    let computed = (0..operands.len()).map(|index| system.semantics.strengthen(typing.compute(index)));
    let computed: Vec<DType> = computed.collect();
    let numerics: Numerics = system.semantics.numerics();
    let one = |dtype: &DType| {
        let part = Value::new(register(dtype.real_part()), 0);
        if dtype.real_part() == *dtype { Element::Real(part) } else { Element::Complex(part, part) }
    };
    let args: Vec<_> = computed.iter().map(one).collect();
    let result = system.semantics.strengthen(typing.result);
    elementwise(&mut Eval::default(), op, numerics, &computed, result, &args).is_some()
}

/// Where a refusal stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// At the function, of whose arguments or results there is no such type; one for each type.
    Function,
    /// At the op.
    Op,
}

impl Place {
    /// The line of a function of [`LINES`] lines.
    const fn line(self) -> u64 {
        match self {
            Self::Function => 1,
            Self::Op => 2,
        }
    }

    /// Whether errors are such a refusal.
    fn is_of(self, diagnostics: &[Diagnostic]) -> bool {
        let stands = |error: &Diagnostic| {
            error.location.as_ref().is_some_and(|place| place.line as u64 % LINES == self.line())
        };
        let is_alone = match self {
            Self::Function => {
                diagnostics.iter().enumerate().all(|(number, error)| !diagnostics[..number].contains(error))
            }
            Self::Op => diagnostics.len() == 1,
        };
        !diagnostics.is_empty() && diagnostics.iter().all(stands) && is_alone
    }
}

/// Every op of every dtype that a semantics takes is lowered, but for those that `refused` names, which are refused there. What
/// the library itself cannot run may be one or the other.
fn check(pipeline: &Pipeline, refused: impl Fn(&System, Op, DType) -> Option<Place>) {
    for system in System::all() {
        let accepted: Vec<_> = pairs().filter(|(op, dtype)| system.accepts(*op, *dtype)).collect();
        let found = diagnostics(&system, &accepted, &pipeline.to_string());
        let mut wrong = Vec::new();
        for ((op, dtype), diagnostics) in accepted.iter().zip(found) {
            let has_kernel = typing(&system, *op, *dtype).is_none_or(|typing| typing.has_kernel);
            let is_whole =
                diagnostics.iter().all(|error| error.code != Code::Internal && error.remedy.is_some());
            let is_expected = match refused(&system, *op, *dtype) {
                _ if !has_kernel => {
                    diagnostics.is_empty()
                        || [Place::Function, Place::Op].iter().any(|place| place.is_of(&diagnostics))
                }
                Some(place) => place.is_of(&diagnostics),
                None => diagnostics.is_empty(),
            };
            if !is_whole || !is_expected {
                let errors: Vec<_> =
                    diagnostics.iter().map(|error| format!("{}: {}", error.code, error.message)).collect();
                wrong.push(format!("{op} of {dtype}: {errors:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}: {} wrong\n{}", system.name, wrong.len(), wrong.join("\n"));
    }
}

/// Whether an op is one of elements that is not defined for them.
fn is_undefined(system: &System, op: Op, dtype: DType) -> bool {
    op.info().shape == ShapeRule::Broadcast && !is_defined(system, op, dtype)
}

#[test]
fn a_processor_has_all_that_is_defined() {
    let mut pipeline = Pipeline::default();
    pipeline.0.extend(promote::lowering().0);
    check(&pipeline, |system, op, dtype| is_undefined(system, op, dtype).then_some(Place::Op));
}

#[test]
fn linalg_has_all_that_is_defined() {
    check(&Pipeline::to_linalg(), |system, op, dtype| is_undefined(system, op, dtype).then_some(Place::Op));
}

#[test]
fn stablehlo_has_all_that_is_defined_and_raises_no_exception() {
    check(&Pipeline::to_stablehlo(), |system, op, dtype| {
        let raises = stablehlo::raises(system.semantics.numerics(), op, dtype);
        match stablehlo::LACKING.contains(&dtype) {
            true => Some(Place::Function),
            false => (raises || is_undefined(system, op, dtype)).then_some(Place::Op),
        }
    });
}
