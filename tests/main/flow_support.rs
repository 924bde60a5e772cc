//! What the tests of control flow and of calls share.

use crate::support::{DEFAULT, INFER, run_in, session};

/// What the default pipeline makes of a function. Inference alone gives a valid module on the way, and a second run
/// changes nothing.
pub fn show(semantics: &str, source: &str) -> String {
    let source = source.replace("!u", "tensor<*x!promote.unknown>");
    let session = session(semantics, false, false);
    let outcome = run_in(&session, &source, DEFAULT);
    if !outcome.text.is_empty() {
        let inferred = run_in(&session, &source, INFER);
        assert!(!inferred.text.is_empty(), "{}", inferred.diagnostics_text());
        assert!(!inferred.text.contains("promote.unknown") && !inferred.text.contains("\"promote.relax\""));
        let again = run_in(&session, &inferred.text, INFER);
        assert_eq!(again.text, inferred.text, "{}", again.diagnostics_text());
        let again = run_in(&session, &outcome.text, DEFAULT);
        assert_eq!(again.text, outcome.text, "{}", again.diagnostics_text());
    }
    format!("{}{}", outcome.text, outcome.diagnostics_text())
}

macro_rules! cases {
    ($($name:ident $(under $semantics:literal)?, $source:literal;)*) => {
        /// The programs: their names, the semantics if it is not JAX's, and the text.
        pub const PROGRAMS: &[(&str, &str, &str)] =
            &[$((stringify!($name), concat!($($semantics)?), $source)),*];

        $(
        #[test]
        fn $name() {
            let semantics = None$(.or(Some($semantics)))?.unwrap_or("jax");
            insta::assert_snapshot!(show(semantics, $source));
        }
    )* };
}

pub(crate) use cases;
