//! No file of the corpus makes the tool crash, hang or keep silent.
//!
//! `corpus/malformed` has files of what front ends get wrong, a topic a file, one case between two markers, and files
//! that are damaged as a whole; `corpus/valid` has programs that are accepted.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{CORPUS, Run, Tool, in_parallel, run};

/// How each file is run.
const MODES: &[&[&str]] = &[
    &["--verify-roundtrip"],
    &["--x64", "--remarks", "--diagnostics-format=json"],
    &["--semantics=jax-strict", "--diagnostics-format=sarif"],
    &["--pass-pipeline=promote-infer-types"],
    &["--pass-pipeline=promote-insert-converts"],
    &["--pass-pipeline=promote-fold-converts"],
    &["--pass-pipeline=promote-verify-strong"],
    &["--pass-pipeline=", "--emit=dot"],
    &["--pass-pipeline=canonicalize,promote-infer-types,cse", "--emit=bytecode", "--verify-each"],
];

fn files(directory: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(format!("{CORPUS}/{directory}")).expect("the corpus is there");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    files.sort();
    files
}

/// What is wrong with a run on whatever input.
pub fn complaint(run: &Run, damaged_bytecode: bool) -> Option<&'static str> {
    match run.status {
        None => Some("it was killed, or took too long"),
        // MLIR may crash on damaged bytecode; the tool then says so.
        _ if run.stderr.contains("P0099") && !damaged_bytecode => Some("an internal error"),
        _ if run.stderr.contains("panicked at") => Some("a panic"),
        Some(0) => None,
        Some(1) if !run.stderr.contains("error") => Some("refused without a word"),
        Some(1) => None,
        Some(_) => Some("it is no matter of usage"),
    }
}

/// Runs a file; if it goes wrong, then one case of it after the other, to tell which it is.
fn check(path: &Path, mode: &[&str]) -> Result<(), String> {
    let tool = Tool::new();
    let name = path.to_string_lossy();
    let bytecode = name.ends_with("bc");
    let whole = tool.run([&[&name, "--split-input-file"], mode].concat());
    let Some(what) = complaint(&whole, bytecode) else { return Ok(()) };
    let text = fs::read_to_string(path).unwrap_or_default();
    let cases = text.split("\n// -----\n").map(|case| (case, tool.run_on(case, mode)));
    let (case, run) =
        cases.into_iter().find(|(_, run)| complaint(run, bytecode).is_some()).unwrap_or(("", whole));
    let errors: String = run.stderr.chars().take(1000).collect();
    Err(format!("{what}: promote-opt {name} {}\n{case}\n{errors}", mode.join(" ")))
}

#[test]
fn whatever_the_input_the_tool_keeps_its_manners() {
    let files: Vec<_> = ["malformed", "valid"].into_iter().flat_map(files).collect();
    let tasks: Vec<_> = files.iter().flat_map(|file| MODES.iter().map(move |mode| (file, *mode))).collect();
    let wrong: Vec<String> =
        in_parallel(&tasks, |(file, mode)| check(file, mode).err()).into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} of {}\n\n{}", wrong.len(), tasks.len(), wrong.join("\n\n"));
}

/// What is accepted is strong: the passes have nothing left to do.
#[test]
fn whatever_is_accepted_is_done() {
    let files: Vec<_> = ["malformed", "valid"]
        .into_iter()
        .flat_map(files)
        .filter(|file| file.extension() == Some("mlir".as_ref()))
        .collect();
    in_parallel(&files, |file| {
        let tool = Tool::new();
        let first = tool.run([file.as_os_str(), "--split-input-file".as_ref()]);
        if first.stdout.is_empty() {
            return;
        }
        let signature = |line: &str| line.rsplit(" : (").next().unwrap_or_default().to_owned();
        let ours = String::from_utf8_lossy(&first.stdout);
        for line in ours.lines().filter(|line| line.contains(" = \"promote.")) {
            assert!(!signature(line).contains("!promote."), "{}: {line}", file.display());
        }
        let again = tool.run_on(first.stdout.clone(), ["--split-input-file"]);
        assert_eq!(
            (again.status, String::from_utf8_lossy(&again.stdout)),
            (Some(0), String::from_utf8_lossy(&first.stdout)),
            "{}: {}",
            file.display(),
            again.stderr
        );
    });
}

#[test]
fn valid_programs_are_accepted() {
    for file in files("valid") {
        for mode in [&[][..], &["--x64"], &["--mlir-disable-threading"]] {
            Tool::new().run([&[file.to_string_lossy().as_ref()], mode].concat()).succeeded();
        }
    }
}

#[test]
fn malformed_files_are_refused() {
    // These have what is no error, but odd.
    const ODD: &[&str] = &["empty", "blank", "no_newline", "cr", "aliases_of_aliases", "minus_minus"];
    for file in files("malformed") {
        let odd = ODD.contains(&file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default());
        if !odd && file.extension() == Some("mlir".as_ref()) {
            Tool::new().run([file.as_os_str(), "--split-input-file".as_ref()]).refused();
        }
    }
}

/// Not in the corpus: MLIR itself crashes where it prints such a value, as passes that do not refuse it lead to.
#[test]
fn a_constant_of_no_width_is_refused() {
    let source =
        "%0 = \"promote.constant\"() {value = dense<0> : tensor<i0>} : () -> tensor<!promote.weak_int>\n";
    run(source, &[]).refused();
}
