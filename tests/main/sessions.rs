//! Sessions: whose modules they take, and what of their diagnostics counts for a run.

use promote::{Pipeline, RunOptions, Source, Verdict};

use crate::support::session;

const SUM: &str = r#"
    func.func @f(%x: tensor<4xi32>, %y: tensor<4xf32>) -> tensor<*x!promote.unknown> {
      %0 = "promote.add"(%x, %y) : (tensor<4xi32>, tensor<4xf32>) -> tensor<*x!promote.unknown>
      return %0 : tensor<*x!promote.unknown>
    }"#;

#[test]
fn a_module_of_another_session_is_refused() {
    let (ours, other) = (session("jax", false, false), session("jax", false, false));
    let mut module = other.parse(Source::Text(SUM)).expect("the program is well formed");
    let verdict = ours.run(&mut module, &Pipeline::default(), &RunOptions::default());
    assert_eq!(verdict, Ok(Verdict::Refused));
    let said = ours.take_diagnostics();
    assert_eq!(said.len(), 1);
    assert!(said[0].message.contains("of another context"), "{}", said[0].message);
    assert!(ours.dot(&module).is_err());
    assert_eq!(other.run(&mut module, &Pipeline::default(), &RunOptions::default()), Ok(Verdict::Done));
}

#[test]
fn an_error_that_nobody_has_taken_is_not_one_of_the_next_run() {
    let session = session("jax", false, false);
    assert!(session.parse(Source::Text("func.func @f(")).is_none());
    let mut module = session.parse(Source::Text(SUM)).expect("the program is well formed");
    assert_eq!(session.run(&mut module, &Pipeline::default(), &RunOptions::default()), Ok(Verdict::Done));
    assert!(session.parse(Source::Bytecode(b"MLIR of another version")).is_none());
    assert!(session.take_diagnostics().len() >= 2, "each failure is told");
}
