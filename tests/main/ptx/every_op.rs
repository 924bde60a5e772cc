//! Every op of every dtype, and every conversion, is assembled.
//!
//! A normal run tries one in five, for one architecture each; `PROMOTE_SEEDS=0..15` tries all, for all of them.

use std::fmt::Debug;

use promote::{Semantics, Session};

use super::{ARCHITECTURES, Kernel, assembled, checked, compiled, target};
use crate::cases::{SYSTEMS, System, cases};
use crate::execution::elementwise::{conversions, ops};
use crate::execution::support::{is_chosen, known, on_all_cores, reported, seeds, session};

/// Functions in a module.
const FUNCTIONS: usize = 40;

/// Which part of the functions a round tries.
const SHARE: usize = 5;

/// Elements that are computed in vectors, and some one by one.
const COUNT: usize = 1003;

/// A function of a module.
#[derive(Clone)]
struct Function {
    /// The number of the system that it is for.
    system: usize,
    /// Its definition, under the name `@name`.
    text: String,
    case: String,
}

impl Function {
    fn new(system: usize, text: String, case: &impl Debug) -> Self {
        Self { system, text, case: format!("{} {case:?}", SYSTEMS[system].0) }
    }
}

/// A session of each system.
struct Bench([Session; 3]);

impl Bench {
    fn new() -> Self {
        Self(SYSTEMS.map(|(name, x64)| session(name, x64, false)))
    }

    /// Assembles functions of a system; what is wrong.
    fn check(&self, functions: &[Function], architecture: &str) -> Vec<String> {
        let numbered = functions.iter().enumerate();
        let text: String =
            numbered.map(|(index, function)| function.text.replace("@name", &format!("@f{index}"))).collect();
        let made = compiled(&self.0[functions[0].system], &known(&text), target(architecture))
            .and_then(|code| checked(&code))
            .and_then(|ptx| assembled(&ptx, architecture));
        let wrong = match made.map(|kernels| kernels.into_iter().find(Kernel::is_slow)) {
            Ok(None) => return Vec::new(),
            Ok(Some(kernel)) => format!("{kernel:?}"),
            Err(why) => why,
        };
        match functions {
            [one] => vec![format!("{} for {architecture}: {wrong}\n{text}", one.case)],
            // Checking them one by one finds which.
            _ => functions
                .iter()
                .flat_map(|function| self.check(std::slice::from_ref(function), architecture))
                .collect(),
        }
    }
}

fn check_all(functions: &[Function]) {
    let mut batches: Vec<(Vec<Function>, &str)> = Vec::new();
    for round in seeds(1) {
        let some = functions.iter().enumerate().filter(|(index, _)| is_chosen(*index, SHARE, round as usize));
        let some: Vec<_> = some.map(|(_, function)| function.clone()).collect();
        let of_systems = some.chunk_by(|one, other| one.system == other.system);
        for (number, batch) in of_systems.flat_map(|own| own.chunks(FUNCTIONS)).enumerate() {
            let architecture = ARCHITECTURES[(number + round as usize / SHARE) % ARCHITECTURES.len()];
            batches.push((batch.to_vec(), architecture));
        }
    }
    let found = on_all_cores(batches.len(), Bench::new, |bench, index| {
        let (batch, architecture) = &batches[index];
        bench.check(batch, architecture)
    });
    reported(&format!("{} functions", functions.len()), found.into_iter().flatten().collect());
}

#[test]
fn ops_that_are_not_element_wise_on_odd_shapes() {
    let cases = cases(&System::all(), 0..1, |_, _, _| true);
    let functions =
        cases.iter().map(|(system, case)| Function::new(*system, case.text("name", case.dtype), case));
    check_all(&functions.collect::<Vec<_>>());
}

#[test]
fn ops_of_elements_and_conversions() {
    let mut functions = Vec::new();
    for (number, (name, x64)) in SYSTEMS.into_iter().enumerate() {
        let semantics = Semantics::by_name(name, x64).expect("the semantics exists");
        let cases = [ops(&semantics), conversions(&semantics)].concat();
        let defined = cases.iter().filter(|case| case.is_defined(semantics.numerics()));
        functions.extend(defined.map(|case| Function::new(number, case.text("name", COUNT), case)));
    }
    assert!(functions.len() > 4000, "{}", functions.len());
    check_all(&functions);
}
