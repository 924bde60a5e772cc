//! Ops of other dialects that follow rules of ours.

mod attributes;
mod conversions;
mod dialects;
mod dtypes;
mod lists;
mod page;
mod programs;
mod standing;
mod tables;

use std::sync::Arc;

use promote::op_rules::{OpRules, Rules};
use promote::{Options, Pipeline, PrintOptions, RunOptions, Semantics, Session, Source, Verdict};

use crate::support::Outcome;

/// The default passes, what the rules write, and the check that it is strong.
pub const ALL: &str = "promote-infer-types,promote-insert-converts,promote-fold-converts,promote-verify-strong,\
                       promote-apply-op-rules,promote-verify-strong";

/// A session under the semantics and shipped rules of these names.
pub fn session(semantics: &str, rules: &str) -> Session {
    session_with(semantics, vec![OpRules::shipped(rules).expect("the rules are shipped")])
}

/// The same with rules of a test's own.
pub fn session_with(semantics: &str, rules: Vec<OpRules>) -> Session {
    let (name, x64) = semantics.strip_suffix(":x64").map_or((semantics, false), |name| (name, true));
    let semantics = Semantics::by_name(name, x64).expect("the semantics exists");
    let options = Options { op_rules: Arc::new(Rules::new(rules)), ..Options::new(semantics) };
    Session::new(&options).expect("MLIR takes the dialect")
}

/// Runs `pipeline` on `source`; the result must be valid, the IR between passes need not.
pub fn run(session: &Session, source: &str, pipeline: &str) -> Outcome {
    let pipeline = Pipeline::parse(pipeline).expect("the test's pipeline is well formed");
    let mut text = String::new();
    if let Some(mut module) = session.parse(Source::Text(source))
        && session.run(&mut module, &pipeline, &RunOptions::default()) == Ok(Verdict::Done)
        && module.verify()
    {
        let mut out = Vec::new();
        module.print(&mut out, PrintOptions::default()).expect("a vector can be written to");
        text = String::from_utf8(out).expect("MLIR prints UTF-8");
    }
    Outcome { text, diagnostics: session.take_diagnostics() }
}

/// What comes of a program that must be accepted, and be the same when it is run again.
#[track_caller]
pub fn accepted(session: &Session, source: &str) -> String {
    let once = run(session, source, ALL);
    assert!(!once.text.is_empty(), "{}\n{source}", once.diagnostics_text());
    let twice = run(session, &once.text, ALL);
    assert_eq!(twice.text, once.text, "{}", twice.diagnostics_text());
    once.text
}

/// What is said of a program that must be refused.
#[track_caller]
pub fn refused(session: &Session, source: &str) -> String {
    let outcome = run(session, source, ALL);
    assert_eq!(outcome.text, "", "the program is accepted");
    outcome.diagnostics_text()
}
