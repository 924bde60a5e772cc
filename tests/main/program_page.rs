//! The page of the docs on programs shows what the compiler makes of its examples.

use promote::{RunOptions, Semantics, Source, Target, Verdict};

use crate::support::{DEFAULT, run_in, session};

/// The blocks of code of a page: their languages, and the code.
fn blocks(page: &str) -> Vec<(&str, &str)> {
    let fenced = page.split("```").skip(1).step_by(2);
    fenced.filter_map(|block| block.split_once('\n')).collect()
}

#[test]
fn what_the_page_shows_is_what_the_compiler_makes() {
    let page = include_str!("../../docs/program.md");
    let semantics = Semantics::by_name("jax", false).expect("the semantics exists");
    let session = session("jax", false, false);
    // How wide panels are depends on the processor.
    let target = Target::new(Some("x86_64-linux-gnu"), Some("x86-64-v4"), "").expect("LLVM knows it");
    let (mut program, mut excerpts) = (String::new(), 0);
    for (kind, code) in blocks(page) {
        match kind {
            "mlir" => {
                let strong = run_in(&session, code, DEFAULT);
                let mut module = session.parse(Source::Text(&strong.text)).expect("the passes give a module");
                let verdict = session.run(&mut module, &promote::to_blocks(), &RunOptions::default());
                assert_eq!(verdict, Ok(Verdict::Done));
                let made = promote::read_program(&module, &semantics, &target);
                program = promote::program_text(&made.expect("it is lowered"), &target);
            }
            "program" => {
                assert!(without_places(&program).contains(&without_places(code)), "{code}\n\n{program}");
                excerpts += 1;
            }
            other => panic!("the page has a block of {other}"),
        }
    }
    assert_eq!(excerpts, 8);
}

/// A program without the numbers of places, which the checks of extents that passes write depend on.
fn without_places(text: &str) -> String {
    let line = |line: &str| line.split(" loc(#").next().unwrap_or_default().to_owned();
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}
