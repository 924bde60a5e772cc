//! The programs with control flow, and what upstream's passes make of them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use promote::diagnostic::Severity;
use promote::{Pipeline, PrintOptions, RunOptions, Session, Source, Verdict};
use promote_reference::random::{Dynamic, Options, generate};
use promote_reference::{Reader, Value};

use crate::linalg::stock::Tools;
use crate::support::{DEFAULT, jax_control_flow, session, text};

/// Upstream's passes.
pub const PASSES: &[&str] = &[
    "canonicalize",
    "canonicalize{region-simplify=aggressive}",
    "cse",
    "sccp",
    "loop-invariant-code-motion",
    "control-flow-sink",
    "symbol-dce",
    "inline",
    "scf-for-loop-canonicalization",
    "func.func(scf-for-loop-peeling)",
    "scf-for-to-while",
    "lower-affine",
    "convert-scf-to-cf",
    "convert-scf-to-cf,canonicalize",
    "lift-cf-to-scf",
    "convert-scf-to-cf,lift-cf-to-scf,canonicalize",
    "inline,canonicalize,cse,sccp,loop-invariant-code-motion,canonicalize,convert-scf-to-cf,canonicalize",
];

/// Those that have a process of their own, and are run on a few programs: the one of LLVM 22 makes invalid modules of
/// some valid ones, and crashes on others.
const APART: &[&str] = &["remove-dead-values", "inline,canonicalize,remove-dead-values,canonicalize"];

/// Of how many programs one goes through them.
const FEW: usize = 6;

/// A program that may be refused.
#[derive(Clone, Debug)]
pub struct Program {
    pub name: String,
    pub semantics: &'static str,
    pub x64: bool,
    pub text: String,
    /// What `@main` is run on, if the program comes with that.
    pub arguments: Option<Vec<Value>>,
    /// Whether it goes through all passes.
    pub is_one_of_few: bool,
}

/// Whether all programs are asked for.
pub fn all() -> bool {
    std::env::var("PROMOTE_UPSTREAM").is_ok_and(|which| which == "all")
}

/// Of how many recorded programs, and random ones, one is taken.
const STRIDE: usize = if cfg!(debug_assertions) { 48 } else { 12 };

/// The control-flow programs of the tests, and some of those that JAX was asked about and of random ones: so many times
/// fewer.
pub fn programs(fewer: usize) -> Vec<Program> {
    let stride = if all() { 1 } else { fewer * STRIDE };
    let mut programs = written();
    let recorded = jax_control_flow();
    programs.extend(recorded.iter().step_by(stride).map(|entry| Program {
        name: format!("{} of jax", text(entry, "name")),
        semantics: "jax",
        x64: entry["x64"] == true,
        text: text(entry, "source").to_owned(),
        arguments: None,
        is_one_of_few: false,
    }));
    for (semantics, x64) in [("jax", false), ("jax", true), ("numpy2", false), ("torch", false)] {
        let options = Options { semantics: semantics.to_owned(), x64, dynamic: Dynamic::Free };
        programs.extend((0..240).step_by(stride).map(|seed| {
            let generated = generate(seed, &options);
            Program {
                name: format!("seed {seed}"),
                semantics,
                x64,
                text: generated.text,
                arguments: Some(generated.arguments),
                is_one_of_few: false,
            }
        }));
    }
    programs.iter_mut().step_by(FEW).for_each(|program| program.is_one_of_few = true);
    programs
}

fn written() -> Vec<Program> {
    let lists = [
        crate::branches::PROGRAMS,
        crate::calls::PROGRAMS,
        crate::calls_in_loops::PROGRAMS,
        crate::control_flow::PROGRAMS,
        crate::dynamic_shapes::PROGRAMS,
        crate::fixpoints::PROGRAMS,
        crate::loops::PROGRAMS,
        crate::placement::PROGRAMS,
        crate::refusals::PROGRAMS,
    ];
    let program = |(name, semantics, text): &(&str, &'static str, &str)| Program {
        name: (*name).to_owned(),
        semantics: if semantics.is_empty() { "jax" } else { semantics },
        x64: false,
        text: text.replace("!u", "tensor<*x!promote.unknown>"),
        arguments: None,
        is_one_of_few: false,
    };
    lists.into_iter().flatten().map(program).collect()
}

/// What a thread needs to run passes.
pub struct Bench {
    sessions: BTreeMap<(&'static str, bool), OnceLock<Session>>,
    pub reader: Reader,
    tools: Tools,
}

impl Bench {
    pub fn new(programs: &[Program]) -> Self {
        let kinds = programs.iter().map(|program| ((program.semantics, program.x64), OnceLock::new()));
        let reader = Reader::new().expect("MLIR takes the dialect");
        Self { sessions: kinds.collect(), reader, tools: Tools::find() }
    }

    pub fn session(&self, program: &Program) -> &Session {
        let (semantics, x64) = (program.semantics, program.x64);
        self.sessions[&(semantics, x64)].get_or_init(|| session(semantics, x64, false))
    }

    /// The strong program in generic form, if it is accepted, and every other one that comes of it.
    pub fn passed(&self, program: &Program) -> Option<Passed> {
        let session = self.session(program);
        let plain = run(session, &program.text, DEFAULT).ok()?;
        let source = run(session, &program.text, "").expect("what is accepted is valid");
        let mut passed = Passed { source, plain, variants: Vec::new(), refused: Vec::new() };
        for pass in PASSES {
            passed.add(pass, &|text, pipeline| run(session, text, pipeline));
        }
        for pass in APART.iter().filter(|_| program.is_one_of_few) {
            let own = |text: &str| self.tools.passed(text, pass).ok_or_else(String::new);
            passed.add(pass, &|text, pipeline| match pipeline == *pass {
                true => own(text).and_then(|made| run(session, &made, "")),
                false => run(session, text, pipeline),
            });
        }
        Some(passed)
    }
}

/// Runs passes on a module; the text in generic form, or the errors.
pub fn run(session: &Session, text: &str, pipeline: &str) -> Result<String, String> {
    let errors = || {
        let diagnostics = session.take_diagnostics();
        let errors = diagnostics.iter().filter(|found| found.severity == Severity::Error);
        errors.map(|error| format!("{}: {}\n", error.code, error.message)).collect::<String>()
    };
    let pipeline = Pipeline::parse(pipeline).expect("the pipeline is well formed");
    let mut module = session.parse(Source::Text(text)).ok_or_else(errors)?;
    let options = RunOptions { verify_each: true, ..RunOptions::default() };
    if session.run(&mut module, &pipeline, &options) != Ok(Verdict::Done) {
        return Err(errors());
    }
    session.take_diagnostics();
    let mut out = Vec::new();
    let options = PrintOptions { generic: true, debug_info: false };
    module.print(&mut out, options).expect("a vector can be written to");
    Ok(String::from_utf8(out).expect("MLIR prints UTF-8"))
}

/// A program that upstream's passes have made something else of, and that is accepted.
#[derive(Debug)]
pub struct Variant {
    /// Which passes, and where.
    pub how: String,
    /// What inference was given.
    pub given: String,
    /// What our passes made of it, and upstream's of that if they ran after.
    pub strong: String,
    /// Whether upstream's passes ran before ours: types may be others then.
    pub before: bool,
}

/// What upstream's passes make of a program.
pub struct Passed {
    /// The program.
    pub source: String,
    /// What our passes make of it.
    pub plain: String,
    /// The others, each once.
    pub variants: Vec<Variant>,
    /// What was refused, and why.
    pub refused: Vec<String>,
}

type Run<'a> = &'a dyn Fn(&str, &str) -> Result<String, String>;

impl Passed {
    /// Runs passes before ours, after them, and on both sides. Where upstream refuses the program, there is nothing.
    fn add(&mut self, pass: &str, run: Run<'_>) {
        let before = run(&self.source, pass).ok().filter(|before| *before != self.source);
        self.add_after(pass, self.plain.clone(), &self.source.clone(), false, run);
        if let Some(given) = before
            && let Some(strong) = self.promoted(&format!("{pass}, then ours"), &given, run)
        {
            self.add_after(pass, strong.clone(), &given, true, run);
            self.push(format!("{pass}, then ours"), given, strong, true);
        }
    }

    fn add_after(&mut self, pass: &str, strong: String, given: &str, before: bool, run: Run<'_>) {
        let Ok(behind) = run(&strong, pass) else { return };
        if behind != strong {
            let how =
                format!("{}ours, then {pass}", if before { format!("{pass}, ") } else { String::new() });
            if self.promoted(&how, &behind, run).is_some() {
                self.push(how, given.to_owned(), behind, before);
            }
        }
    }

    /// What our passes make of it.
    fn promoted(&mut self, how: &str, given: &str, run: Run<'_>) -> Option<String> {
        match run(given, DEFAULT) {
            Ok(strong) => Some(strong),
            Err(why) => {
                self.refused.push(format!("{how}: {why}{given}"));
                None
            }
        }
    }

    fn push(&mut self, how: String, given: String, strong: String, before: bool) {
        let is_new = strong != self.plain && self.variants.iter().all(|other| other.strong != strong);
        if is_new {
            self.variants.push(Variant { how, given, strong, before });
        }
    }
}
