//! The passes keep what programs mean: random programs return the same bits before and after.
//!
//! `PROMOTE_SEEDS=10000..20000` runs other programs than those of the first 5,000 seeds.

use std::fmt::Write as _;
use std::io::Write as _;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use promote::{Pipeline, PrintOptions, RunOptions, Semantics, Session, Source, Verdict};
use promote_reference::random::{Dynamic, Generated, Options, generate};
use promote_reference::{Error, Outcome, Reader};

use crate::execution::support::seeds;
use crate::support::{DEFAULT, INFER, session};

const PROGRAMS: u64 = 5_000;

/// What the arguments' dynamic extents are: some that meet are equal, some are 1, and some make the run fail.
const DYNAMIC: Dynamic = Dynamic::Free;

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

/// What becomes of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The passes refuse it, and so does the interpreter.
    Refused,
    /// The passes alone refuse it.
    RefusedByPasses,
    /// It returns results, the same before and after.
    Same,
    /// The run fails, before and after.
    Trapped,
    /// The run takes too long, before and after.
    Long,
    /// The rules have several fixpoints for its types, and the interpreter found another one than the passes. With the types
    /// that the passes found, the results are the same.
    OtherTypes,
}

/// One of the semantics with all that a thread needs to run programs under it.
struct Bench {
    semantics: Semantics,
    session: Session,
    reader: Reader,
    options: Options,
}

type Run = Result<Outcome, Error>;

/// How two runs compare, if they do not differ.
fn compare(before: &Run, after: &Run) -> Result<Ending, &'static str> {
    match (before, after) {
        (Ok(_), Ok(after)) if after.implicit > 0 => Err("something is still implicit"),
        (Ok(before), Ok(after)) if before.results == after.results => Ok(Ending::Same),
        (Ok(_), Ok(_)) => Err("the results differ"),
        (Err(Error::Trap(_)), Err(Error::Trap(_))) => Ok(Ending::Trapped),
        (Err(Error::Limit), Err(Error::Limit)) => Ok(Ending::Long),
        _ => Err("one of the runs ends otherwise"),
    }
}

impl Bench {
    fn new(name: &str, x64: bool) -> Self {
        Self {
            semantics: Semantics::by_name(name, x64).expect("the semantics exists"),
            session: session(name, x64, false),
            reader: Reader::new().expect("MLIR takes the dialect"),
            options: Options { semantics: name.to_owned(), x64, dynamic: DYNAMIC },
        }
    }

    /// What a pipeline makes of a program, unless it is refused. It is written in generic form: MLIR does not parse what it
    /// prints of a `cf.switch` that passes on one of several results of an op.
    fn pass(&self, text: &str, pipeline: &str) -> Option<String> {
        let pipeline = Pipeline::parse(pipeline).expect("the pipeline is well formed");
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

    fn run(&self, text: &str, program: &Generated) -> Run {
        self.reader.read(text)?.run(&self.semantics, "main", &program.arguments)
    }

    /// Runs the program of a seed before and after the passes.
    fn check(&self, seed: u64) -> Result<Ending, String> {
        let program = generate(seed, &self.options);
        let before = self.run(&program.text, &program);
        let Some(strong) = self.pass(&program.text, DEFAULT) else {
            let refused = matches!(before, Err(Error::Refused(_)));
            return Ok(if refused { Ending::Refused } else { Ending::RefusedByPasses });
        };
        let after = self.run(&strong, &program);
        let wrong = match compare(&before, &after) {
            Ok(verdict) => return Ok(verdict),
            Err(wrong) => wrong,
        };
        // The types that the passes found are a fixpoint too, if the interpreter accepts them.
        let inferred = self.pass(&program.text, INFER).expect("the default pipeline begins with inference");
        let typed = self.run(&inferred, &program);
        if compare(&typed, &after).is_ok() {
            return Ok(Ending::OtherTypes);
        }
        let Options { semantics, x64, .. } = &self.options;
        let mut report = format!("seed {seed} under {semantics}, x64 {x64}: {wrong}\n{}\n", program.text);
        let _ = writeln!(report, "// arguments: {:?}\n// after the passes:\n{strong}", program.arguments);
        let _ = writeln!(report, "// before: {before:?}\n// inferred: {typed:?}\n// after: {after:?}");
        Err(report)
    }
}

/// Runs the programs of all seeds on all cores.
fn check_all(seeds: &Range<u64>) -> Vec<Result<Ending, String>> {
    let next = AtomicU64::new(seeds.start);
    let found = Mutex::new(Vec::new());
    let work = || {
        let benches: Vec<Bench> = SEMANTICS.iter().map(|(name, x64)| Bench::new(name, *x64)).collect();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return;
            }
            let verdict = benches[seed as usize % benches.len()].check(seed);
            found.lock().expect("no thread panics").push(verdict);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let thread = std::thread::Builder::new().stack_size(64 << 20);
            thread.spawn_scoped(scope, work).expect("a thread starts");
        }
    });
    found.into_inner().expect("no thread panics")
}

#[test]
fn random_programs_give_the_same_bits_before_and_after() {
    use Ending::{Long, OtherTypes, Refused, RefusedByPasses, Same, Trapped};
    let seeds = seeds(PROGRAMS);
    let programs = seeds.end - seeds.start;
    let found = check_all(&seeds);
    let count = |verdict| found.iter().filter(|found| **found == Ok(verdict)).count() as u64;
    let differ: Vec<_> = found.iter().filter_map(|found| found.as_ref().err()).collect();
    // Past the test runner's capture: a log shall say which seeds were tried.
    let _ = writeln!(
        std::io::stderr(),
        "random programs of seeds {seeds:?}: {} give the same, {} fail in the run, {} run too long, {} have several types, {} are refused, \
         {} by the passes alone, {} differ",
        count(Same),
        count(Trapped),
        count(Long),
        count(OtherTypes),
        count(Refused),
        count(RefusedByPasses),
        differ.len()
    );
    assert!(differ.is_empty(), "{} programs differ; the first:\n{}", differ.len(), differ[0]);
    assert!((count(Refused) + count(RefusedByPasses)) * 3 < programs, "a third of the programs is refused");
    assert!(count(RefusedByPasses) * 50 < programs, "the passes alone refuse a fiftieth of the programs");
    assert!(count(OtherTypes) * 100 < programs, "the types of a hundredth of the programs are others");
}
