//! Lattices in files: their names, and their diagnostics.

use std::path::Path;

use serde_json::Value;

use crate::support::{Run, page_data, run_in};

/// A lattice, after the lines that it says of itself.
fn lattice(text: &str) -> String {
    format!("{text}\n[edges]\nu8 = ['i16']\ni8 = ['i16']\n")
}

/// Runs the tool beside a file with a lattice.
fn run_beside(file: &str, text: &str, args: &[&str]) -> Run {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    std::fs::write(directory.path().join(file), lattice(text)).expect("it can be written");
    run_in(directory.path(), args)
}

fn first_line(run: Run) -> String {
    run.succeeded().lines().next().unwrap_or_default().to_owned()
}

#[test]
fn files_are_described_as_they_say() {
    let text = "name = 'mine'\ndescription = 'for the small chip.'";
    let shown = |args: &[&str]| first_line(run_beside("file.toml", text, args));
    assert_eq!(shown(&["show", "-s", "file.toml"]), "mine: for the small chip");
    assert_eq!(shown(&["table", "-s", "file.toml"]), "mine: for the small chip");
    assert_eq!(
        first_line(run_beside("own.toml", "", &["show", "-s", "own.toml"])),
        "own: a lattice of your own"
    );
    let lines = r#"description = "a\u001b[31m\nb""#;
    assert_eq!(first_line(run_beside("own.toml", lines, &["show", "-s", "own.toml"])), "own: a [31m b");
}

/// A file without a name of its own is not the semantics that comes with Promote.
#[test]
fn files_called_as_a_semantics_are_labelled_by_their_path() {
    let shown = |text: &str| first_line(run_beside("jax.toml", text, &["show", "-s", "jax.toml"]));
    assert_eq!(shown(""), "jax.toml: a lattice of your own");
    assert_eq!(shown("description = 'small'"), "jax.toml: small");
    assert_eq!(shown("name = 'mine'"), "mine: a lattice of your own");
    let compared = first_line(run_beside("jax.toml", "", &["diff", "jax.toml", "--nodes", "u8,i8"]));
    assert_eq!(compared, "jax and jax.toml differ in 0 of 4 cells");
    let checked = run_beside("jax.toml", "", &["check", "jax.toml", "--x64"]);
    assert_eq!(
        first_line(checked),
        "jax.toml: a lattice: every two dtypes have a least upper bound (3 dtypes)"
    );
}

#[test]
fn remedies_name_the_file() {
    let lattice = "name = 'mine'\n[edges]\nu8 = []\ni8 = []\n";
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    std::fs::write(directory.path().join("file.toml"), lattice).expect("it can be written");
    let text = run_in(directory.path(), &["join", "-s", "file.toml", "u8", "i8"]).refused();
    assert!(
        text.contains("mine does not promote u8 and i8") && text.contains("table -s file.toml`"),
        "{text}"
    );
}

#[test]
fn the_page_has_a_file_beside_the_semantics_of_its_name() {
    let page = run_beside("jax.toml", "", &["html", "-s", "jax.toml"]).succeeded();
    let data = page_data(&page);
    assert_eq!(data["first"], "jax.toml");
    let nodes = |label: &str| {
        let systems = data["systems"].as_array().expect("systems are listed");
        let of_label: Vec<&Value> = systems.iter().filter(|system| system["label"] == label).collect();
        assert_eq!(of_label.len(), 1, "{label}");
        of_label[0]["nodes"].as_array().map(Vec::len)
    };
    assert_eq!((nodes("jax.toml"), nodes("jax")), (Some(3), Some(35)));
}

/// Whatever a file says is shown, and none of it is a part of the page's template or of its language.
#[test]
fn no_name_breaks_the_page() {
    let plain = run_beside("own.toml", "", &["html", "-s", "own.toml"]).succeeded();
    for name in ["{{data}}", "{{body}}{{style}}", "}}{{", "</script><b>", "<!--", "&amp;\"'\\\\"] {
        let text = format!("name = \"{}\"\ndescription = '{{{{program}}}} <i>'", name.replace('"', "\\\""));
        let page = run_beside("own.toml", &text, &["html", "-s", "own.toml"]).succeeded();
        let data = page_data(&page);
        let label = name.replace("\\\\", "\\");
        assert_eq!(
            (data["first"].as_str(), data["systems"][0]["label"].as_str()),
            (Some(&*label), Some(&*label))
        );
        assert_eq!(data["systems"][0]["summary"], "{{program}} <i>");
        for part in ["<script", "</script>", "<style>", "<!DOCTYPE", "id=\"data\"", "<b>", "<i>", "<!--"] {
            assert_eq!(page.matches(part).count(), plain.matches(part).count(), "{name}: {part}");
        }
    }
}

#[test]
fn no_name_breaks_graphviz() {
    let dot = run_beside("own.toml", r#"name = 'a\"b\'"#, &["dot", "-s", "own.toml"]);
    assert_eq!(first_line(dot), r#"digraph "a\\\"b\\" {"#);
}

#[test]
fn examples_are_checked() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/lattices");
    for file in std::fs::read_dir(&examples).expect("examples can be listed") {
        let file = file.expect("they can be read").path();
        let checked = first_line(run_in(&examples, &[Path::new("check").as_os_str(), file.as_os_str()]));
        assert!(checked.contains(": a lattice"), "{checked}");
    }
}
