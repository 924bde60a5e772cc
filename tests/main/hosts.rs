//! The same programs through MLIR and through pliron: the same types, converts, places and messages.
//!
//! Whatever program a test promotes in MLIR is promoted in pliron beside it (see [`agree`]), as long as pliron has its ops.

use std::cell::Cell;

use pliron::context::Context;
use promote::Program;
use promote::diagnostic::{Code, Diagnostic, Severity};
use promote::pliron as host;
use promote::pliron::pass::Promotion;
use promote::{Module, RunOptions, Session, Target, Verdict};
use promote_reference::random::{Dynamic, Options, generate};

use crate::execution::support::seeds;
use crate::support::{DEFAULT, random_programs, real_programs, refused_programs, run_in, session};

thread_local! {
    /// How many programs were compared, and how many pliron has no ops for.
    static COUNTS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

/// How many programs were compared by this thread, and how many pliron has no ops for.
pub fn counts() -> (usize, usize) {
    COUNTS.get()
}

/// A program in pliron, and what it is to be promoted by.
pub struct Beside {
    context: Context,
    module: pliron::context::Ptr<pliron::operation::Operation>,
    passes: Vec<Promotion>,
    config: host::pass::Config,
}

/// The program of a module in pliron, if a pipeline is of passes that every host has.
pub fn beside(session: &Session, module: &Module<'_>, pipeline: &str) -> Option<Beside> {
    let by_name = |name: &str| Promotion::ALL.iter().copied().find(|pass| pass.name() == name);
    let passes: Vec<_> = pipeline.split(',').map(by_name).collect::<Option<_>>()?;
    let options = session.options();
    if !options.op_rules.is_empty() {
        // Ops of other dialects are none of pliron's.
        return None;
    }
    let mut context = Context::new();
    let (compared, left_out) = counts();
    match host::of_mlir(module, &mut context) {
        Ok(module) => {
            COUNTS.set((compared + 1, left_out));
            let config = host::pass::Config {
                semantics: options.semantics,
                remarks: options.remarks,
                policies: options.policies,
                verify: true,
            };
            Some(Beside { context, module, passes, config })
        }
        Err(refused) => {
            COUNTS.set((compared, left_out + 1));
            refused.iter().for_each(|refused| {
                let known = ["pliron has no ", "@"].iter().any(|known| refused.message.starts_with(known));
                assert!(known, "{}", refused.message);
            });
            None
        }
    }
}

impl Beside {
    /// Promotes the program, and compares what becomes of it with what became of the module.
    pub fn agrees(
        mut self,
        session: &Session,
        source: &str,
        module: Option<&mut Module<'_>>,
        found: &[Diagnostic],
    ) {
        let ran = host::pass::run(&mut self.context, self.module, &self.passes, &self.config);
        let (is_refused, mut own) = match ran {
            Ok(said) => (false, said),
            Err(said) => (true, said),
        };
        own.sort_by(|a, b| (a.location.is_none(), &a.location).cmp(&(b.location.is_none(), &b.location)));
        if found.iter().chain(&own).any(|found| found.code == Code::Mlir) {
            // Each IR says in its own words what is wrong with it.
            return;
        }
        assert_eq!(names(&text(&own)), names(&text(found)), "{source}");
        assert_eq!(is_refused, found.iter().any(|found| found.severity == Severity::Error), "{source}");
        if let Some(module) = module {
            let outline = module.outline().expect("the session knows the dialect");
            // A module of MLIR needs no name.
            let body = |outline: &str| names(outline.split_once('\n').map_or("", |(_, body)| body));
            assert_eq!(body(&host::outline(&mut self.context, self.module)), body(&outline), "{source}");
            if self.passes == Promotion::DEFAULT {
                self.compare_programs(session, source, module);
            }
        }
    }
}

impl Beside {
    /// Compares what a processor is to compute: the programs are the same to the letter.
    fn compare_programs(mut self, session: &Session, source: &str, module: &mut Module<'_>) {
        // Upstream has no blocks for some ops, which either host refuses then; MLIR's switches are of 32 bits.
        let ran = session.run(module, &promote::to_blocks(), &RunOptions::default());
        session.take_diagnostics();
        if ran != Ok(Verdict::Done) || source.contains("scf.index_switch") {
            return;
        }
        host::scf_to_cf::scf_to_cf(&mut self.context, self.module);
        let machine = promote::targets::processor(&Target::host());
        let semantics = session.semantics();
        let text = |program: Result<Program, Vec<Diagnostic>>| match program {
            Ok(program) => plain(&names(&program.to_string())),
            Err(refused) => names(&text(&refused)),
        };
        let own = text(host::program(&mut self.context, self.module, semantics, &machine));
        assert_eq!(own, text(module.program(semantics, &machine)), "{source}");
    }
}

/// A program without the names of ops at its places: MLIR folds `tensor.dim` on the way.
fn plain(program: &str) -> String {
    let line = |line: &str| match line.strip_prefix('#').and_then(|line| line.split_once(" at ")) {
        Some((_, place)) => format!("# at {place}\n"),
        None => format!("{line}\n"),
    };
    program.lines().map(line).collect()
}

/// The semantics that programs are promoted under: a recorded system, its name and whether JAX has 64-bit dtypes.
const SYSTEMS: &[(&str, &str, bool)] = &[
    ("jax", "jax", true),
    ("jax-x32", "jax", false),
    ("numpy2", "numpy2", false),
    ("torch-meta", "torch", false),
];

#[test]
fn recorded_programs_are_the_same_in_both_hosts() {
    let (before, mut ran) = (counts(), 0);
    for (system, name, x64) in SYSTEMS {
        let session = session(name, *x64, true);
        let all = random_programs().into_iter().chain(refused_programs()).chain(real_programs());
        for program in all.filter(|program| program.ran_under(system)) {
            run_in(&session, &program.mlir(system), DEFAULT);
            ran += 1;
        }
    }
    assert!(ran > 1000, "{ran}");
    assert_eq!((counts().0 - before.0, counts().1 - before.1), (ran, 0));
}

#[test]
fn random_programs_are_the_same_in_both_hosts() {
    let before = counts();
    let seeds = seeds(300);
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let (_, name, x64) = SYSTEMS[seed as usize % SYSTEMS.len()];
        let options = Options { semantics: name.to_owned(), x64, dynamic: Dynamic::Free };
        let session = session(name, x64, true);
        run_in(&session, &generate(seed, &options).text, DEFAULT);
    }
    assert_eq!((counts().0 - before.0, counts().1 - before.1), (count as usize, 0));
}

/// Symbols are letters, digits and _ in pliron.
pub fn names(text: &str) -> String {
    let mut is_name = false;
    let plain = |character: char| {
        is_name = character == '@' || is_name && (character.is_alphanumeric() || "_.".contains(character));
        if is_name && character == '.' { '_' } else { character }
    };
    text.chars().map(plain).collect()
}

fn text(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(|diagnostic| format!("{diagnostic:#?}\n")).collect()
}
