//! What is checked of a program.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use promote::Program;
use promote::diagnostic::{Code, Diagnostic, Severity};
use promote::{
    CompileOptions, Compiled, Module, OptLevel, Options, Pipeline, PrintOptions, RunOptions, Semantics,
    Session, Source, Target, TargetOptions, Verdict,
};
use promote_reference::random::Precision;
use promote_reference::{Error, Outcome, Reader, Value};

use crate::case::Case;
use crate::compare;

/// What becomes of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The passes refuse it.
    Refused,
    /// It has an op that a dtype rule knows and no library has code for, as `hypot` of integers.
    NotLowered,
    /// Its results are those of the interpreter.
    Same,
    /// The run fails, compiled and interpreted.
    Trapped,
    /// The interpreter raises the library's exception for a result that nobody uses, which compiled code does not compute.
    Spared,
    /// The interpreter takes too long, or does not model it: it is compiled, not compared.
    NotCompared,
}

impl Ending {
    /// Whether the passes accept the program.
    pub const fn is_accepted(self) -> bool {
        !matches!(self, Self::Refused)
    }
}

/// What the interpreter says where a library raises an exception.
const EXCEPTIONS: &[&str] = &["ZeroDivisionError", "of an extent of", "negative integer powers"];

/// One of the semantics, with all that programs are checked by.
struct Rules {
    semantics: Arc<Semantics>,
    session: Session,
}

/// Checks programs, one after the other.
pub struct Bench {
    reader: Reader,
    rules: HashMap<(String, bool), Rules>,
}

/// What is wrong.
type Finding = String;

impl Bench {
    /// One that has seen no program yet.
    ///
    /// # Panics
    /// If MLIR does not take the dialect.
    pub fn new() -> Self {
        Self { reader: Reader::new().expect("MLIR takes the dialect"), rules: HashMap::new() }
    }

    /// Takes a program through everything.
    ///
    /// # Errors
    /// What is wrong with what came of it.
    pub fn check(&mut self, case: &Case) -> Result<Ending, Finding> {
        let key = (case.options.semantics.clone(), case.options.x64);
        let rules = self.rules.entry(key).or_insert_with(|| Rules::new(&case.options));
        let passed = rules.passed(&case.text, &Pipeline::default())?;
        let Some(strong) = passed else { return Ok(Ending::Refused) };
        rules.is_stable(&strong)?;
        rules.to_linalg(&case.text)?;
        rules.passed(&case.text, &Pipeline::to_stablehlo())?;
        rules.drawn(&strong)?;
        let expected = rules.interpreted(&self.reader, case, &strong)?;
        let Some(compiled) = rules.compiled(&case.text, level(case.number))? else {
            return Ok(Ending::NotLowered);
        };
        rules.in_steps(&strong)?;
        written(&compiled, case.number)?;
        run(&compiled, case, expected)
    }
}

impl Default for Bench {
    fn default() -> Self {
        Self::new()
    }
}

impl Rules {
    fn new(options: &promote_reference::random::Options) -> Self {
        let semantics =
            Semantics::by_name(&options.semantics, options.x64).expect("the case names a semantics");
        let semantics = Arc::new(semantics);
        let options = Options { threads: false, remarks: true, ..Options::new(Arc::clone(&semantics)) };
        Self { semantics, session: Session::new(&options).expect("MLIR takes the dialect") }
    }

    /// Whether passes accept a module, whose diagnostics are as they should be.
    fn accepts(
        &self,
        module: &mut Module<'_>,
        pipeline: &Pipeline,
        options: &RunOptions,
    ) -> Result<bool, Finding> {
        let verdict = self.session.run(module, pipeline, options).map_err(|error| error.to_string())?;
        let is_accepted = verdict == Verdict::Done;
        let diagnostics = self.session.take_diagnostics();
        match fault(&diagnostics, is_accepted) {
            Some(fault) => Err(format!("{fault} ({pipeline}): {diagnostics:?}")),
            None => Ok(is_accepted),
        }
    }

    fn read(&self, source: Source<'_>, what: &str) -> Result<Module<'_>, Finding> {
        let module = self.session.parse(source);
        module.ok_or_else(|| format!("{what} is not read: {:?}", self.session.take_diagnostics()))
    }

    /// What a pipeline makes of a program, unless it is refused. It is written in generic form: MLIR does not parse what it
    /// prints of a `cf.switch` that passes on one of several results of an op.
    fn passed(&self, text: &str, pipeline: &Pipeline) -> Result<Option<String>, Finding> {
        let mut module = self.read(Source::Text(text), "the program")?;
        let options = RunOptions { verify_each: true, ..RunOptions::default() };
        let is_accepted = self.accepts(&mut module, pipeline, &options)?;
        Ok(is_accepted.then(|| printed(&module)))
    }

    /// A program that the passes accept is lowered to linalg, unless it has an op that no library has code for.
    fn to_linalg(&self, text: &str) -> Result<(), Finding> {
        let mut module = self.read(Source::Text(text), "the program")?;
        let options = RunOptions { verify_each: true, ..RunOptions::default() };
        let verdict = self.session.run(&mut module, &Pipeline::to_linalg(), &options);
        let diagnostics = self.session.take_diagnostics();
        let is_accepted = verdict.map_err(|error| error.to_string())? == Verdict::Done;
        let mut errors = diagnostics.iter().filter(|diagnostics| diagnostics.severity == Severity::Error);
        match fault(&diagnostics, is_accepted) {
            Some(fault) => Err(format!("{fault} (linalg): {diagnostics:?}")),
            None if errors.all(|error| error.code == Code::NotLowered) => Ok(()),
            None => Err(format!("it is not lowered to linalg: {diagnostics:?}")),
        }
    }

    /// What the passes returned they leave alone, read as text and as bytecode.
    fn is_stable(&self, strong: &str) -> Result<(), Finding> {
        let again = self.passed(strong, &Pipeline::default())?;
        if again.as_deref() != Some(strong) {
            return Err(format!("the second run of the passes gives\n{}", again.unwrap_or_default()));
        }
        let mut bytes = Vec::new();
        let module = self.read(Source::Text(strong), "what the passes gave")?;
        module.write_bytecode(&mut bytes).map_err(|error| error.to_string())?;
        let module = self.read(Source::Bytecode(&bytes), "the bytecode")?;
        match printed(&module) == strong {
            true => Ok(()),
            false => Err("the bytecode is another program".to_owned()),
        }
    }

    /// What the run returns that the interpreter does, which must be the same before and after the passes.
    fn interpreted(
        &self,
        reader: &Reader,
        case: &Case,
        strong: &str,
    ) -> Result<Result<Outcome, Error>, Finding> {
        let run = |text: &str| {
            reader.read(text).and_then(|program| program.run(&self.semantics, "main", &case.arguments))
        };
        let after = run(strong);
        let before = run(&case.text);
        if is_same(&before, &after) {
            return Ok(after);
        }
        // The rules may have several fixpoints for its types: those that the passes found are one if the interpreter agrees.
        let infer = Pipeline::parse("promote-infer-types").map_err(|error| error.to_string())?;
        let inferred = self.passed(&case.text, &infer)?.unwrap_or_default();
        if is_same(&run(&inferred), &after) {
            return Ok(after);
        }
        Err(format!("the interpreter gives\n{before:?}\nbefore the passes and\n{after:?}\nafter them"))
    }

    /// Draws the graph of a strong program, and declares its functions.
    fn drawn(&self, strong: &str) -> Result<(), Finding> {
        let module = self.read(Source::Text(strong), "what the passes gave")?;
        self.session.dot(&module)?;
        promote::header(&module).map(drop).map_err(|error| error.to_string())
    }

    /// A strong program that is lowered is one in steps, which keeps its laws and reads back from text.
    fn in_steps(&self, strong: &str) -> Result<(), Finding> {
        let mut module = self.read(Source::Text(strong), "what the passes gave")?;
        let options = RunOptions { verify_each: true, ..RunOptions::default() };
        if !self.accepts(&mut module, &promote::to_blocks(), &options)? {
            return Err("its control flow does not become blocks".to_owned());
        }
        let program = promote::read_program(&module, &self.semantics, &Target::host());
        let program = program.map_err(|error| error.to_string())?;
        match Program::parse(&program.to_string()) {
            Ok(read) if read == program => Ok(()),
            read => Err(format!("the program reads back as {read:?}\n{program}")),
        }
    }

    /// Its code, unless an op is not lowered.
    fn compiled(&self, text: &str, level: OptLevel) -> Result<Option<Compiled>, Finding> {
        let native = CompileOptions { level, ..CompileOptions::default() };
        let mut module = self.read(Source::Text(text), "the program")?;
        let mut pipeline = Pipeline::default();
        pipeline.0.extend(promote::lowering().0);
        let options = RunOptions {
            targets: TargetOptions {
                cpu: promote::targets::processor(&native.target),
                ..TargetOptions::default()
            },
            verify_each: true,
            ..RunOptions::default()
        };
        if !self.accepts(&mut module, &pipeline, &options)? {
            return Ok(None);
        }
        printed(&module);
        promote::translate(&module, &native).map(Some).map_err(|error| error.to_string())
    }
}

fn printed(module: &Module<'_>) -> String {
    let mut out = Vec::new();
    let options = PrintOptions { generic: true, debug_info: false };
    module.print(&mut out, options).expect("a vector can be written to");
    String::from_utf8(out).expect("MLIR prints UTF-8")
}

/// What is wrong with diagnostics.
fn fault(diagnostics: &[Diagnostic], is_accepted: bool) -> Option<&'static str> {
    let errors: Vec<_> =
        diagnostics.iter().filter(|diagnostics| diagnostics.severity == Severity::Error).collect();
    match () {
        () if diagnostics.iter().any(|diagnostics| diagnostics.code == Code::Internal) => {
            Some("an internal error")
        }
        () if is_accepted && !errors.is_empty() => Some("an error of what is accepted"),
        () if !is_accepted && errors.is_empty() => Some("refused without an error"),
        () if errors.iter().any(|diagnostics| diagnostics.location.is_none()) => {
            Some("an error without a place")
        }
        () => None,
    }
}

fn is_same(before: &Result<Outcome, Error>, after: &Result<Outcome, Error>) -> bool {
    match (before, after) {
        (Ok(before), Ok(after)) => after.implicit == 0 && before.results == after.results,
        (Err(Error::Trap(_)), Err(Error::Trap(_))) | (Err(Error::Limit), Err(Error::Limit)) => true,
        (_, Err(Error::Unsupported(_))) | (Err(Error::Unsupported(_)), _) => true,
        _ => false,
    }
}

/// How far LLVM optimises the code of a program: what it does takes most of the time.
const fn level(number: u64) -> OptLevel {
    if number.is_multiple_of(5) { OptLevel::Aggressive } else { OptLevel::None }
}

/// Writes the code as every kind of output; as a library, for which the linker takes longer, of one program in eight.
fn written(compiled: &Compiled, number: u64) -> Result<(), Finding> {
    let diagnostics = |error: promote::CompileError| error.to_string();
    compiled.header();
    compiled.ir_text();
    compiled.assembly().map(drop).map_err(diagnostics)?;
    compiled.object().map(drop).map_err(diagnostics)?;
    match number.is_multiple_of(8) {
        true => compiled.library().map(drop).map_err(diagnostics),
        false => Ok(()),
    }
}

/// Runs compiled code, and compares what it returns.
fn run(compiled: &Compiled, case: &Case, expected: Result<Outcome, Error>) -> Result<Ending, Finding> {
    let executable = compiled.load().map_err(|error| error.to_string())?;
    let function = executable.function("main").ok_or("the code has no @main")?;
    let found = compare::run(&function, &case.arguments);
    if matches!(expected, Err(Error::Limit | Error::Unsupported(_))) {
        return Ok(Ending::NotCompared);
    }
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            let mut wrong = String::new();
            for (index, (found, expected)) in found.iter().zip(&expected.results).enumerate() {
                let precision = case.precision.get(index).copied().unwrap_or(Precision::Loose);
                let Value::Array(expected) = expected else { continue };
                if let Some(difference) = compare::difference(found, expected, precision) {
                    let _ = writeln!(wrong, "result {index}: {difference}");
                }
            }
            if wrong.is_empty() { Ok(Ending::Same) } else { Err(wrong) }
        }
        (Err(_), Err(Error::Trap(_))) => Ok(Ending::Trapped),
        (Ok(_), Err(Error::Trap(why))) if EXCEPTIONS.iter().any(|text| why.contains(text)) => {
            Ok(Ending::Spared)
        }
        (found, expected) => Err(format!("the run gives {found:?}, expected {expected:?}")),
    }
}
