//! Random programs give what the reference interpreter computes.

use std::fmt::Write as _;

use promote::{Pipeline, PrintOptions, RunOptions, Semantics, Session, Source, Target, Verdict};
use promote_reference::random::{Dynamic, Generated, Options, generate};
use promote_reference::{Error, Reader, Value};

use super::support::{compile_for, distance, function, on_all_cores, run, session};
use crate::support::DEFAULT;

const PROGRAMS: u64 = 300;

const SEMANTICS: &[(&str, bool)] = &[
    ("jax", false),
    ("jax", true),
    ("numpy2", false),
    ("torch", false),
    ("jep9407-option3", false),
    ("numpy1", false),
    ("tensorflow-all", false),
];

struct Bench {
    semantics: Semantics,
    session: Session,
    reader: Reader,
    options: Options,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Refused,
    Same,
    Near,
    Trapped,
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

    fn check(&self, seed: u64) -> Result<Ending, String> {
        let program = generate(seed, &self.options);
        let Some(strong) = self.strong(&program.text) else { return Ok(Ending::Refused) };
        let expected =
            self.reader.read(&strong).and_then(|p| p.run(&self.semantics, "main", &program.arguments));
        let report = |wrong: &str| {
            let Options { semantics, x64, .. } = &self.options;
            let mut report = format!("seed {seed} under {semantics}, x64 {x64}: {wrong}\n{}\n", program.text);
            let _ = writeln!(report, "// arguments: {:?}\n// after the passes:\n{strong}", program.arguments);
            report
        };
        let executable = compile_for(&self.session, &program.text, Target::host()).map_err(|e| report(&e))?;
        if matches!(expected, Err(Error::Limit)) {
            return Ok(Ending::Long);
        }
        let found = run(&function(&executable, "main"), &program.arguments);
        match (&found, &expected) {
            (Err(_), Err(Error::Trap(_))) => Ok(Ending::Trapped),
            (Ok(found), Ok(expected)) => {
                let mut worst = 0f64;
                for (found, expected) in found.iter().zip(&expected.results) {
                    if let Value::Array(expected) = expected {
                        if found.dtype != expected.dtype || found.shape != expected.shape {
                            return Err(report(&format!("{found:?} {expected:?}")));
                        }
                        for (x, y) in found.elements.iter().zip(&expected.elements) {
                            worst = worst.max(distance(*x, *y, found.dtype));
                        }
                    }
                }
                if worst == 0.0 {
                    Ok(Ending::Same)
                } else if worst <= 4.0 {
                    Ok(Ending::Near)
                } else {
                    Err(report(&format!("{worst} ulp\n found {found:?}\n expected {expected:?}")))
                }
            }
            _ => Err(report(&format!("found {found:?}, expected {expected:?}"))),
        }
    }
}

#[test]
fn random_programs_run_as_interpreted() {
    let (from, to) = match std::env::var("PROMOTE_SEEDS") {
        Ok(given) => {
            let (a, b) = given.split_once("..").unwrap();
            (a.parse::<u64>().unwrap(), b.parse::<u64>().unwrap())
        }
        Err(_) => (0, PROGRAMS),
    };
    let make = || SEMANTICS.iter().map(|(name, x64)| Bench::new(name, *x64)).collect::<Vec<_>>();
    let found = on_all_cores((to - from) as usize, make, |benches, index| {
        let seed = from + index as u64;
        let r = benches[seed as usize % benches.len()].check(seed);
        if let Err(e) = &r {
            eprintln!("==== {}", e);
        }
        r
    });
    let count = |verdict| found.iter().filter(|found| **found == Ok(verdict)).count() as u64;
    eprintln!(
        "same {} near {} trapped {} refused {} long {} wrong {}",
        count(Ending::Same),
        count(Ending::Near),
        count(Ending::Trapped),
        count(Ending::Refused),
        count(Ending::Long),
        found.iter().filter(|x| x.is_err()).count()
    );
    assert!(found.iter().all(Result::is_ok));
}
