//! What is accepted stays so.

use std::io::Write as _;

use super::programs::{Bench, programs};
use crate::execution::support::{on_all_cores, reported};

/// What a literal becomes where a call is inlined: an argument of a function is an array, and PyTorch's functions of one
/// array take no Python scalar.
fn is_inlined_literal(why: &str) -> bool {
    why.contains("inline") && why.contains("must be an array in torch, but is a Python scalar")
}

/// Where the only way out of a recursion was inlined, what is left of it has none.
fn is_endless(why: &str) -> bool {
    why.contains("inline") && why.contains("depend only on this call itself")
}

#[test]
fn what_upstream_passes_make_of_a_program_is_accepted_as_the_program_is() {
    let programs = programs(1);
    let found = on_all_cores(
        programs.len(),
        || Bench::new(&programs),
        |bench, index| {
            let passed = bench.passed(&programs[index])?;
            let refused =
                passed.refused.into_iter().filter(|why| !is_inlined_literal(why) && !is_endless(why));
            let name = &programs[index].name;
            Some((passed.variants.len(), refused.map(|why| format!("{name}: {why}")).collect::<Vec<_>>()))
        },
    );
    let accepted: Vec<_> = found.into_iter().flatten().collect();
    let variants: usize = accepted.iter().map(|(variants, _)| variants).sum();
    // Past the test runner's capture.
    let _ = writeln!(std::io::stderr(), "{} programs in {variants} other forms", accepted.len());
    reported("other forms", accepted.iter().flat_map(|(_, refused)| refused.clone()).collect());
    assert!(accepted.len() > 100 && variants > 4 * accepted.len());
}
