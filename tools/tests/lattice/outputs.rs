//! Where results go.

use crate::support::{run, run_in};

#[test]
fn to_a_file_only_on_success() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let file = directory.path().join("out");
    assert_eq!(run_in(directory.path(), &["table", "-o", "out"]).succeeded(), "");
    assert_eq!(std::fs::read_to_string(&file).expect("it is written"), run(&["table"]).succeeded());
    run_in(directory.path(), &["join", "f8e4m3fn", "f8e5m2", "-o", "out"]).refused();
    assert_eq!(std::fs::read_to_string(&file).expect("it is kept"), run(&["table"]).succeeded());
    let files = std::fs::read_dir(directory.path()).expect("it can be listed").count();
    assert_eq!(files, 1, "nothing is left behind");
}

#[test]
fn to_standard_output() {
    assert_eq!(run(&["table", "-o", "-"]), run(&["table", "-o", "-"]));
    assert_eq!(run(&["show", "-o", "-"]).succeeded(), run(&["show"]).succeeded());
}

#[test]
fn files_that_cannot_be_written() {
    let output = run(&["table", "-o", "/no/such/directory/out"]).refused();
    assert_eq!(
        output,
        "promote-lattice: error: cannot write `/no/such/directory/out`: there is no such directory\n"
    );
}

#[test]
fn a_file_gets_no_colours_unless_asked_for() {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    run_in(directory.path(), &["table", "-o", "out"]).succeeded();
    let text = std::fs::read_to_string(directory.path().join("out")).expect("it is written");
    assert!(!text.contains('\x1b'));
}
