//! What becomes linalg or StableHLO does so in every other form, and stock MLIR takes that linalg to LLVM.

use std::io::Write as _;

use super::programs::{Bench, Passed, programs, run};
use crate::execution::support::{on_all_cores, reported};
use crate::linalg::stock::Tools;

const LINALG: &str = "promote-to-linalg";
const STABLEHLO: &str = "lift-cf-to-scf,promote-to-stablehlo";

/// Programs that stock MLIR gets at once, in all their forms.
const BATCH: usize = 4;

/// Branches between blocks: the deallocation of stock MLIR takes none but the simplest of them.
const BRANCHES: [&str; 3] = ["\"cf.br\"", "\"cf.cond_br\"", "\"cf.switch\""];

/// What lift-cf-to-scf says of unreachable blocks, which other passes leave behind.
const UNREACHABLE: &str = "does not support unreachable blocks";

/// What a target makes of a program in all its forms.
struct Lowered {
    name: String,
    /// The program in linalg, then its other forms.
    linalg: Vec<(String, String)>,
    /// In how many forms it is StableHLO.
    stablehlo: usize,
    wrong: Vec<String>,
}

impl Lowered {
    fn new(name: &str, passed: &Passed, run: &dyn Fn(&str, &str) -> Result<String, String>) -> Self {
        let (linalg, mut wrong) = forms(passed, LINALG, run);
        let (stablehlo, more) = forms(passed, STABLEHLO, run);
        wrong.extend(more);
        let wrong = wrong.into_iter().map(|wrong| format!("{name}: {wrong}")).collect();
        Self { name: name.to_owned(), linalg, stablehlo: stablehlo.len(), wrong }
    }
}

/// The forms of a program that a target takes as it is, and what is wrong with others.
fn forms(
    passed: &Passed,
    pipeline: &str,
    run: &dyn Fn(&str, &str) -> Result<String, String>,
) -> (Vec<(String, String)>, Vec<String>) {
    let Ok(plain) = run(&passed.plain, pipeline) else { return (Vec::new(), Vec::new()) };
    let (mut lowered, mut wrong) = (vec![("the program".to_owned(), plain)], Vec::new());
    for variant in &passed.variants {
        match run(&variant.strong, pipeline) {
            Ok(text) => lowered.push((variant.how.clone(), text)),
            Err(why) if why.contains(UNREACHABLE) => {}
            Err(why) => wrong.push(format!("{}, {pipeline}: {why}{}", variant.how, variant.strong)),
        }
    }
    (lowered, wrong)
}

/// Whether a module has structured control flow alone.
fn is_structured(text: &str) -> bool {
    BRANCHES.iter().all(|branch| !text.contains(branch))
}

/// The other forms of programs that stock MLIR lowers, as far as it does not lower them.
fn not_lowered(tools: &Tools, lowered: &[Lowered]) -> Vec<String> {
    let forms = lowered.iter().flat_map(|one| one.linalg.iter().enumerate().map(move |form| (one, form)));
    let forms: Vec<_> = forms.filter(|(_, (_, (_, text)))| is_structured(text)).collect();
    let modules: Vec<String> = forms.iter().map(|(_, (_, (_, text)))| text.clone()).collect();
    let refused = tools.refused(&modules);
    // A program that stock MLIR refuses may be refused in other forms.
    let is_refused = |one: &Lowered| {
        refused.iter().any(|(place, _)| forms[*place].1.0 == 0 && std::ptr::eq(forms[*place].0, one))
    };
    let wrong = refused.iter().filter(|(place, _)| !is_refused(forms[*place].0)).map(|(place, why)| {
        let (one, (_, (how, text))) = forms[*place];
        format!("{}, {how}: {why}\n{text}", one.name)
    });
    wrong.collect()
}

#[test]
fn what_upstream_passes_make_of_a_program_is_lowered_as_the_program_is() {
    let programs = programs(2);
    let lowered = on_all_cores(
        programs.len(),
        || Bench::new(&programs),
        |bench, index| {
            let program = &programs[index];
            let passed = bench.passed(program)?;
            let session = bench.session(program);
            Some(Lowered::new(&program.name, &passed, &|text, pipeline| run(session, text, pipeline)))
        },
    );
    let lowered: Vec<Lowered> = lowered.into_iter().flatten().collect();
    let (linalg, stablehlo) = lowered
        .iter()
        .fold((0, 0), |(linalg, stablehlo), one| (linalg + one.linalg.len(), stablehlo + one.stablehlo));
    let mut wrong: Vec<String> = lowered.iter().flat_map(|one| one.wrong.clone()).collect();
    let tools = Tools::find();
    let batches: Vec<&[Lowered]> = lowered.chunks(BATCH).collect();
    let found = on_all_cores(batches.len(), || (), |(), index| not_lowered(&tools, batches[index]));
    wrong.extend(found.into_iter().flatten());
    // Past the test runner's capture.
    let _ = writeln!(std::io::stderr(), "other forms: {linalg} in linalg, {stablehlo} in StableHLO");
    reported("other forms", wrong);
    assert!(linalg > 500 && stablehlo > 300);
}
