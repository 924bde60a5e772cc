//! What is run returns the same numbers: after our passes those of the program, bit for bit; before them those too, or,
//! where types become others, those that the interpreter computes of what inference was given.

use std::io::Write as _;

use promote::{DType, Executable, Kind, Semantics, Target};
use promote_reference::program::Stated;
use promote_reference::{Array, Error, Number, Outcome, Value};

use super::programs::{Bench, Passed, Program, Variant, programs};
use crate::execution::random::ending;
use crate::execution::support::{Random, compile_for, on_all_cores, reported, run};

/// The most variants of a program that are run.
const RUN: usize = if cfg!(debug_assertions) { 1 } else { 3 };

/// How often a function is run, on other arguments each time.
const ROUNDS: u64 = 2;

/// Extents that a type leaves open.
const OPEN: usize = 4;

/// What a function is run on; none if it takes what the interpreter has not.
fn arguments(stated: &[Stated], semantics: &Semantics, round: u64) -> Option<Vec<Value>> {
    let mut random = Random::new(round);
    let value = |stated: &Stated| match stated {
        Stated::Tensor { dtype: Some(dtype), shape: Some(shape) } => {
            let dtype = semantics.strengthen(*dtype);
            let shape: Vec<usize> = shape.iter().map(|extent| extent.unwrap_or(OPEN)).collect();
            let elements: Vec<_> = (0..shape.iter().product()).map(|_| number(&mut random, dtype)).collect();
            Some(Value::Array(Array::new(dtype, shape, elements)))
        }
        Stated::Integer(1) => Some(Value::Integer(round as i64 & 1)),
        Stated::Integer(_) => Some(Value::Integer(3 - 2 * (round as i64 & 1))),
        Stated::Tensor { .. } | Stated::Other(_) => None,
    };
    stated.iter().map(value).collect()
}

fn number(random: &mut Random, dtype: DType) -> Number {
    let mut real = || random.below(24) as f64 / 4.0 - 2.0;
    match dtype.kind() {
        Kind::Bool => Number::truth(real() > 0.0),
        Kind::Unsigned | Kind::Signed => Number::Int(real() as i128),
        Kind::Float => Number::Real(real()),
        Kind::Complex => Number::Complex(real(), real()),
    }
}

/// A public function and what to run it on.
struct Call {
    name: String,
    arguments: Vec<Value>,
}

fn calls(bench: &Bench, program: &Program, strong: &str, semantics: &Semantics) -> Vec<Call> {
    let Ok(read) = bench.reader.read(strong) else { return Vec::new() };
    let mut calls = Vec::new();
    for function in &read.functions {
        let stated: Vec<Stated> =
            function.arguments().iter().map(|argument| function.stated[*argument].clone()).collect();
        let given = program.arguments.iter().filter(|_| function.name == "main").cloned();
        let made = (0..ROUNDS).filter_map(|round| arguments(&stated, semantics, round));
        let sets: Vec<Vec<Value>> =
            if program.arguments.is_some() { given.collect() } else { made.collect() };
        calls.extend(sets.into_iter().map(|arguments| Call { name: function.name.clone(), arguments }));
    }
    calls
}

/// What the interpreter makes of a call.
fn interpreted(bench: &Bench, text: &str, semantics: &Semantics, call: &Call) -> Result<Outcome, Error> {
    bench.reader.read(text)?.run(semantics, &call.name, &call.arguments)
}

/// Whether a call of what the interpreter does not know may run for ever.
fn may_run_long(text: &str) -> bool {
    text.contains("\"scf.while\"") || text.contains("\"cf.")
}

/// What was run, by how it ended.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// As the program, bit for bit.
    same: usize,
    /// As the interpreter.
    interpreted: usize,
    /// Not compared.
    left: usize,
}

struct Check<'a> {
    bench: &'a Bench,
    program: &'a Program,
    semantics: Semantics,
    count: Count,
    wrong: Vec<String>,
}

impl Check<'_> {
    fn compile(&mut self, what: &str, text: &str) -> Option<Executable> {
        let compiled = compile_for(self.bench.session(self.program), text, Target::host());
        compiled.map_err(|why| self.wrong.push(format!("{what}: {why}\n{text}"))).ok()
    }

    fn program(&mut self, passed: &Passed, from: usize) {
        let session = self.bench.session(self.program);
        // A program that the target refuses may be refused in other forms.
        let Ok(plain) = compile_for(session, &passed.plain, Target::host()) else { return };
        let calls = calls(self.bench, self.program, &passed.plain, &self.semantics);
        let step = passed.variants.len().div_ceil(RUN).max(1);
        for variant in passed.variants.iter().skip(from % step).step_by(step) {
            let Some(executable) = self.compile(&variant.how, &variant.strong) else { continue };
            for call in &calls {
                self.call(passed, variant, (&plain, &executable), call);
            }
        }
    }

    fn call(
        &mut self,
        passed: &Passed,
        variant: &Variant,
        (plain, executable): (&Executable, &Executable),
        call: &Call,
    ) {
        let (Some(function), Some(other)) = (plain.function(&call.name), executable.function(&call.name))
        else {
            return;
        };
        let text = if variant.before { &variant.given } else { &passed.plain };
        let expected = interpreted(self.bench, text, &self.semantics, call);
        let unknown = matches!(expected, Err(Error::Unsupported(_) | Error::Arguments(_)));
        if matches!(expected, Err(Error::Limit)) || unknown && (variant.before || may_run_long(text)) {
            self.count.left += 1;
            return;
        }
        let found = run(&other, &call.arguments);
        let plain = run(&function, &call.arguments);
        let same = is_same(&plain, &found);
        let wrong = if variant.before && !same {
            self.count.interpreted += 1;
            ending(&found, &expected, &variant.strong).err()
        } else {
            self.count.same += 1;
            (!same).then(|| format!("found {found:?}\n// of the program {plain:?}"))
        };
        let (how, strong, arguments) = (&variant.how, &variant.strong, &call.arguments);
        self.wrong.extend(wrong.map(|wrong| {
            format!("{how}, @{}: {wrong}\n// arguments {arguments:?}\n{text}\n// strong\n{strong}", call.name)
        }));
    }
}

/// Whether two runs end alike, the same bits in all elements but NaNs.
fn is_same<E>(a: &Result<Vec<Array>, E>, b: &Result<Vec<Array>, E>) -> bool {
    let parts = |number: &Number| number.parts();
    let alike = |x: f64, y: f64| x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan();
    let element = |(x, y): (&Number, &Number)| match (x, y) {
        (Number::Int(x), Number::Int(y)) => x == y,
        (x, y) => alike(parts(x).0, parts(y).0) && alike(parts(x).1, parts(y).1),
    };
    let array = |(a, b): (&Array, &Array)| {
        (a.dtype, &a.shape) == (b.dtype, &b.shape) && a.elements.iter().zip(&b.elements).all(element)
    };
    match (a, b) {
        (Ok(a), Ok(b)) => a.len() == b.len() && a.iter().zip(b).all(array),
        (Err(_), Err(_)) => true,
        _ => false,
    }
}

#[test]
fn what_upstream_passes_make_of_a_program_computes_the_same() {
    let programs = programs(2);
    let found = on_all_cores(
        programs.len(),
        || Bench::new(&programs),
        |bench, index| {
            let program = &programs[index];
            let semantics = Semantics::by_name(program.semantics, program.x64).expect("the semantics exists");
            let (count, wrong) = (Count::default(), Vec::new());
            let mut check = Check { bench, program, semantics, count, wrong };
            if let Some(passed) = bench.passed(program) {
                check.program(&passed, index);
            }
            let wrong: Vec<String> =
                check.wrong.iter().map(|wrong| format!("{}: {wrong}", program.name)).collect();
            (check.count, wrong)
        },
    );
    let sum = |part: fn(&Count) -> usize| found.iter().map(|(count, _)| part(count)).sum::<usize>();
    let (same, interpreted, left) = (sum(|c| c.same), sum(|c| c.interpreted), sum(|c| c.left));
    // Past the test runner's capture.
    let _ = writeln!(
        std::io::stderr(),
        "other forms: {same} runs as the program, {interpreted} as the interpreter, {left} not compared"
    );
    reported("other forms", found.into_iter().flat_map(|(_, wrong)| wrong).collect());
    assert!(same > 300 && interpreted > 10 && 5 * left < same + interpreted);
}
