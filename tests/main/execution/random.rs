//! Random programs return what the reference interpreter computes, and fail where it fails.
//!
//! `PROMOTE_SEEDS=1000..9000` runs other programs than those of the first seeds.

use std::fmt::{Debug, Write as _};
use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use promote::Program;
use promote::{DType, Pipeline, PrintOptions, RunOptions, Semantics, Session, Source, Target, Verdict};
use promote_reference::random::{Dynamic, Options, generate};
use promote_reference::steps::Interpreter;
use promote_reference::{Array, Error, Number, Outcome, Reader, Value};

use super::support::{compile_for, farthest, function, on_all_cores, reported, run, seeds, session, unit};
use crate::support::DEFAULT;

/// The programs of a normal run.
const PROGRAMS: u64 = if cfg!(debug_assertions) { 200 } else { 500 };

/// How many units floats may be off, see [`coarsest`]: functions are computed by other formulas than the interpreter's, and a
/// few of them compose.
const NEAR: f64 = 4.0;

/// What the interpreter says where a library raises an exception.
const EXCEPTIONS: &[&str] = &["ZeroDivisionError", "of an extent of", "negative integer powers"];

/// Whose rules the programs are run under: name, and whether JAX has 64-bit dtypes.
const SEMANTICS: &[(&str, bool)] = &[
    ("jax", false),
    ("jax", true),
    ("numpy2", false),
    ("torch", false),
    ("jep9407-option3", false),
    ("numpy1", false),
    ("tensorflow-all", false),
];

/// One of the semantics with all that a thread needs to run programs under it.
struct Bench {
    semantics: Semantics,
    session: Session,
    reader: Reader,
    options: Options,
}

/// What becomes of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The passes refuse it.
    Refused,
    /// It has an op that a dtype rule knows and no library has code for, as `hypot` of integers.
    NotLowered,
    /// It returns the same results.
    Same,
    /// Its floats are up to [`NEAR`] units in the last place off.
    Near,
    /// The run fails, compiled and interpreted.
    Trapped,
    /// The interpreter raises the library's exception for a result that nobody uses, which compiled code does not compute.
    Spared,
    /// The interpreter takes too long.
    Long,
}

impl Bench {
    fn new(name: &str, x64: bool) -> Self {
        Self {
            semantics: Semantics::by_name(name, x64).expect("the semantics exists"),
            session: session(name, x64, false),
            reader: Reader::new().expect("MLIR takes the dialect"),
            options: Options { semantics: name.to_owned(), x64, dynamic: Dynamic::Free },
        }
    }

    /// What the passes make of a program, in generic form, unless it is refused.
    fn strong(&self, text: &str) -> Option<String> {
        let pipeline = Pipeline::parse(DEFAULT).expect("the pipeline is well formed");
        let mut module = self.session.parse(Source::Text(text)).expect("the program is well formed");
        let verdict = self.session.run(&mut module, &pipeline, &RunOptions::default());
        self.session.take_diagnostics();
        (verdict == Ok(Verdict::Done)).then(|| {
            let mut out = Vec::new();
            let options = PrintOptions { generic: true, debug_info: false };
            module.print(&mut out, options).expect("a vector can be written to");
            String::from_utf8(out).expect("MLIR prints UTF-8")
        })
    }

    /// Runs the program of a seed, compiled and interpreted.
    fn check(&self, seed: u64) -> Result<Ending, String> {
        let program = generate(seed, &self.options);
        let Some(strong) = self.strong(&program.text) else { return Ok(Ending::Refused) };
        let expected = self.interpreted(&strong, &program.arguments);
        let report = |wrong: &str| self.report(seed, wrong, &strong);
        let executable = match compile_for(&self.session, &program.text, Target::host()) {
            Ok(executable) => executable,
            Err(refusal) if refusal.contains("is not lowered to the CPU") => return Ok(Ending::NotLowered),
            Err(refusal) => return Err(report(&refusal)),
        };
        if matches!(expected, Err(Error::Limit)) {
            return Ok(Ending::Long);
        }
        let found = run(&function(&executable, "main"), &program.arguments);
        ending(&found, &expected, &strong).map_err(|wrong| report(&wrong))
    }

    fn interpreted(&self, strong: &str, arguments: &[Value]) -> Result<Outcome, Error> {
        self.reader.read(strong)?.run(&self.semantics, "main", arguments)
    }

    fn report(&self, seed: u64, wrong: &str, strong: &str) -> String {
        let Options { semantics, x64, .. } = &self.options;
        let program = generate(seed, &self.options);
        let mut report = format!("seed {seed} under {semantics}, x64 {x64}: {wrong}\n{}\n", program.text);
        let _ = writeln!(report, "// arguments: {:?}\n// after the passes:\n{strong}", program.arguments);
        report
    }

    /// Runs the program of a seed step by step, without a target, beside the interpreter of modules.
    fn check_steps(&self, seed: u64) -> Result<Ending, String> {
        let random = generate(seed, &self.options);
        let Some(strong) = self.strong(&random.text) else { return Ok(Ending::Refused) };
        let expected = self.interpreted(&strong, &random.arguments);
        let report = |wrong: &str| self.report(seed, wrong, &strong);
        let program = match in_steps(&self.session, &self.semantics, &strong) {
            Ok(program) => program,
            Err(why) if why.contains("is not lowered to the CPU") => return Ok(Ending::NotLowered),
            Err(why) => return Err(report(&why)),
        };
        let run = || {
            let interpreter = Interpreter::new(&program);
            let strided: Vec<_> = interpreter.run_strided("main", &random.arguments).collect();
            (interpreter.run("main", &random.arguments), strided)
        };
        let found = catch_unwind(AssertUnwindSafe(run));
        let (found, strided) = found.map_err(|_| report(&format!("a law is broken\n{program}")))?;
        for other in strided {
            let is_long = matches!((&found, &other), (Err(Error::Limit), _) | (_, Err(Error::Limit)));
            if !is_long && format!("{other:?}") != format!("{found:?}") {
                return Err(report(&format!("with strides it is {other:?}, not {found:?}\n{program}")));
            }
        }
        let found = match found {
            Err(Error::Limit) => return Ok(Ending::Long),
            Err(Error::Unsupported(_)) => return Ok(Ending::NotLowered),
            found => found.map(arrays),
        };
        ending(&found, &expected, &strong).map_err(|wrong| report(&format!("{wrong}\n{program}")))
    }
}

/// What a strong program is in steps, and reads back from text as; or why it is refused.
pub fn in_steps(session: &Session, semantics: &Semantics, strong: &str) -> Result<Program, String> {
    let mut module = session.parse(Source::Text(strong)).expect("the program is well formed");
    let verdict = session.run(&mut module, &promote::to_blocks(), &RunOptions::default());
    assert_eq!(verdict, Ok(Verdict::Done), "{:?}", session.take_diagnostics());
    let program = promote::read_program(&module, semantics, &Target::host());
    let program = program.map_err(|refused| refused.to_string())?;
    let read = Program::parse(&program.to_string()).map_err(|error| format!("{error}\n{program}"))?;
    if read == program {
        Ok(program)
    } else {
        Err(format!("reads back as\n{read}\n// instead of\n{program}"))
    }
}

/// Results as compiled functions return them: numbers in arrays without dimensions.
pub fn arrays(values: Vec<Value>) -> Vec<Array> {
    let array = |value| match value {
        Value::Array(array) => array,
        Value::Integer(number) => Array::new(DType::I64, Vec::new(), [Number::Int(number.into())]),
    };
    values.into_iter().map(array).collect()
}

/// How a run compares with what the interpreter returns, of a program that is `strong`; or what is wrong.
pub fn ending(
    found: &Result<Vec<Array>, impl Debug>,
    expected: &Result<Outcome, Error>,
    strong: &str,
) -> Result<Ending, String> {
    let wrong = || Err(format!("found {found:?}\n// expected {expected:?}"));
    match (found, expected) {
        (_, Err(Error::Limit)) => Ok(Ending::Long),
        (Err(_), Err(Error::Trap(_))) => Ok(Ending::Trapped),
        (Ok(_), Err(Error::Trap(why))) if EXCEPTIONS.iter().any(|text| why.contains(text)) => {
            Ok(Ending::Spared)
        }
        (Ok(results), Ok(outcome)) => match farthest_of(results, &outcome.results, coarsest(strong)) {
            0.0 => Ok(Ending::Same),
            far if far <= NEAR => Ok(Ending::Near),
            // Which sign a computed NaN has is the processor's choice.
            far if far.is_finite()
                && strong.contains("copysign")
                && same_but_for_signs(results, &outcome.results) =>
            {
                Ok(Ending::Near)
            }
            far => wrong().map_err(|text| format!("{far} units: {text}")),
        },
        _ => wrong(),
    }
}

/// What a float may be off is measured in units of the coarsest dtype of the program: what comes through it is rounded there.
fn coarsest(strong: &str) -> DType {
    let names = [("bf16>", DType::BF16), ("f16>", DType::F16), ("f32>", DType::F32)];
    names.iter().find(|(name, _)| strong.contains(name)).map_or(DType::F64, |(_, dtype)| *dtype)
}

/// The greatest distance between results, in units of `coarsest`; infinite if they are no nearer than that.
fn farthest_of(found: &[Array], expected: &[Value], coarsest: DType) -> f64 {
    let one = |(found, expected): (&Array, &Value)| match expected {
        Value::Array(expected) => {
            let far = farthest(found, expected);
            let scale = unit(1.0, found.dtype) / unit(1.0, coarsest);
            if found.dtype.is_inexact() { far * scale.min(1.0) } else { far }
        }
        Value::Integer(_) => 0.0,
    };
    found.iter().zip(expected).map(one).fold(0.0, f64::max)
}

fn same_but_for_signs(found: &[Array], expected: &[Value]) -> bool {
    let positive = |number: &Number| match *number {
        Number::Real(value) => Number::Real(value.abs()),
        other => other,
    };
    let one = |(found, expected): (&Array, &Value)| match expected {
        Value::Array(expected) => {
            found.elements.iter().map(positive).eq(expected.elements.iter().map(positive))
        }
        Value::Integer(_) => true,
    };
    found.iter().zip(expected).all(one)
}

/// Runs programs under all semantics; what became of them is printed.
fn check(how: &str, check: impl Fn(&Bench, u64) -> Result<Ending, String> + Sync) {
    let seeds = seeds(PROGRAMS);
    let make = || SEMANTICS.iter().map(|(name, x64)| Bench::new(name, *x64)).collect::<Vec<_>>();
    let found = on_all_cores((seeds.end - seeds.start) as usize, make, |benches, index| {
        let seed = seeds.start + index as u64;
        check(&benches[seed as usize % benches.len()], seed)
    });
    let count = |ending| found.iter().filter(|found| **found == Ok(ending)).count();
    use Ending::{Long, Near, NotLowered, Refused, Same, Spared, Trapped};
    // Past the test runner's capture: a log shall say which seeds were tried.
    let _ = writeln!(
        std::io::stderr(),
        "{how} programs of seeds {seeds:?}: {} give the same, {} nearly, {} fail in the run, {} run too long, {} are refused, {} not \
         lowered, {} spared",
        count(Same),
        count(Near),
        count(Trapped),
        count(Long),
        count(Refused),
        count(NotLowered),
        count(Spared),
    );
    let (programs, rare) = (found.len(), count(NotLowered) + count(Spared));
    reported(
        &format!("{how} programs of seeds {seeds:?}"),
        found.into_iter().filter_map(Result::err).collect(),
    );
    assert!(rare * 20 <= programs, "a twentieth of the programs is not compared");
}

#[test]
fn random_programs_run_as_interpreted() {
    check("compiled", Bench::check);
}

#[test]
fn random_programs_in_steps_keep_their_laws_and_run_as_interpreted() {
    check("stepped", Bench::check_steps);
}
