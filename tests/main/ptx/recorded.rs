//! The recorded programs, for each architecture: no kernel needs more registers than there are.

use super::{ARCHITECTURES, assembled, checked, compiled, target};
use crate::execution::support::{on_all_cores, reported, session};
use crate::support::{Program, random_programs, real_programs};

/// Assembles what a system accepts of programs; what is wrong.
fn check(programs: &[Program]) -> Vec<String> {
    let work: Vec<_> = programs
        .iter()
        .filter(|program| program.ran_under("jax"))
        .enumerate()
        .map(|(number, program)| (program, ARCHITECTURES[number % ARCHITECTURES.len()]))
        .collect();
    let found = on_all_cores(
        work.len(),
        || session("jax", false, false),
        |session, index| {
            let (program, architecture) = &work[index];
            let text = program.accepted_part("jax").mlir("jax");
            let kernels = compiled(session, &text, target(architecture))
                .and_then(|code| checked(&code))
                .and_then(|ptx| assembled(&ptx, architecture));
            match kernels {
                Ok(kernels) => kernels
                    .into_iter()
                    .filter(super::Kernel::is_slow)
                    .map(|kernel| format!("{} for {architecture}: {kernel:?}", program.id()))
                    .collect(),
                Err(why) => vec![format!("{} for {architecture}: {why}\n{text}", program.id())],
            }
        },
    );
    found.into_iter().flatten().collect()
}

#[test]
fn real_programs_are_assembled_without_spills() {
    reported("real programs", check(&real_programs()));
}

#[test]
fn random_programs_are_assembled_without_spills() {
    reported("random programs", check(&random_programs()));
}
