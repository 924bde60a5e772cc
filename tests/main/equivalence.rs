//! The passes keep what programs mean: random programs give the same bits before and after.

use std::fmt::Write as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use promote::{Semantics, Session};
use promote_reference::random::{Dynamic, Options, generate};
use promote_reference::{Error, Outcome, Reader};

use crate::support::{DEFAULT, run_in, session};

const PROGRAMS: u64 = 10_000;

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

/// What is counted over all programs.
#[derive(Debug, Default)]
struct Counts {
    refused: AtomicU64,
    trapped: AtomicU64,
    long: AtomicU64,
    converts_before: AtomicU64,
    converts_after: AtomicU64,
}

fn count(counter: &AtomicU64, by: u64) {
    counter.fetch_add(by, Ordering::Relaxed);
}

/// One of the semantics with all that a thread needs to run programs under it.
struct Bench {
    semantics: Semantics,
    session: Session,
    reader: Reader,
    options: Options,
}

impl Bench {
    fn new(name: &str, x64: bool) -> Self {
        Self {
            semantics: Semantics::by_name(name, x64).expect("the semantics exists"),
            session: session(name, x64, false),
            reader: Reader::new().expect("MLIR takes the dialect"),
            options: Options { semantics: name.to_owned(), x64, dynamic: Dynamic::Equal },
        }
    }

    /// Runs the program of a seed before and after the passes; what differs, if something does.
    fn compare(&self, seed: u64, counts: &Counts) -> Result<(), String> {
        let program = generate(seed, &self.options);
        let passed = run_in(&self.session, &program.text, DEFAULT);
        if passed.text.is_empty() {
            count(&counts.refused, 1);
            return Ok(());
        }
        let run = |text: &str| -> Result<Outcome, Error> {
            self.reader.read(text)?.run(&self.semantics, "main", &program.arguments)
        };
        let (before, after) = (run(&program.text), run(&passed.text));
        let wrong = match (&before, &after) {
            (Ok(before), Ok(after)) => {
                count(&counts.converts_before, before.converts);
                count(&counts.converts_after, after.converts);
                match before.results == after.results {
                    true if after.implicit == 0 => return Ok(()),
                    true => "something is still implicit",
                    false => "the results differ",
                }
            }
            (Err(Error::Trap(_)), Err(Error::Trap(_))) => {
                count(&counts.trapped, 1);
                return Ok(());
            }
            (Err(Error::Limit), Err(Error::Limit)) => {
                count(&counts.long, 1);
                return Ok(());
            }
            _ => "one of the runs ends otherwise",
        };
        let Options { semantics, x64, .. } = &self.options;
        let mut report = format!("seed {seed} under {semantics}, x64 {x64}: {wrong}\n");
        let _ = writeln!(report, "{}", program.text);
        let _ = writeln!(report, "// arguments: {:?}\n// after the passes:\n{}", program.arguments, passed.text);
        let _ = writeln!(report, "// before: {before:?}\n// after: {after:?}");
        Err(report)
    }
}

/// Runs the programs of all seeds below `programs` on all cores, and gives the first few that differ.
fn differing(programs: u64, counts: &Counts) -> Vec<String> {
    let next = AtomicU64::new(0);
    let found = Mutex::new(Vec::new());
    let work = || {
        let benches: Vec<Bench> = SEMANTICS.iter().map(|(name, x64)| Bench::new(name, *x64)).collect();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= programs {
                return;
            }
            if let Err(report) = benches[seed as usize % benches.len()].compare(seed, counts) {
                found.lock().expect("no thread panics").push(report);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            std::thread::Builder::new().stack_size(64 << 20).spawn_scoped(scope, work).expect("a thread starts");
        }
    });
    found.into_inner().expect("no thread panics")
}

#[test]
fn random_programs_give_the_same_bits_before_and_after() {
    let counts = Counts::default();
    let programs = std::env::var("PROMOTE_PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(PROGRAMS);
    let differing = differing(programs, &counts);
    let refused = counts.refused.load(Ordering::Relaxed);
    println!("{programs} programs, {} differ: {counts:?}", differing.len());
    assert!(differing.is_empty(), "{} programs differ; the first:\n{}", differing.len(), differing[0]);
    assert!(refused * 3 < programs, "{refused} of {programs} programs are refused");
}
