//! Whatever the text, it is a lattice or refused with located errors, and a lattice joins its dtypes as the law says.

#![no_main]

use libfuzzer_sys::fuzz_target;
use promote::Semantics;

fuzz_target!(|text: &str| {
    match Semantics::from_toml(text, "fuzzed") {
        Ok(semantics) => assert_eq!(semantics.order().check(), Ok(())),
        Err(errors) => {
            assert!(!errors.errors.is_empty());
            for error in &errors.errors {
                assert!(error.place.span.end <= text.len(), "{error}");
            }
        }
    }
});
