//! Diagnostics and their formats: text, JSON, SARIF, colours, remarks, explanations.

use insta::assert_snapshot;
use promote::diagnostic::Code;
use serde_json::Value;

use crate::support::{BAD, GOOD, PROMOTED, Tool, run, show};

#[test]
fn text() {
    assert_snapshot!(show(&[], &run(BAD, &[]).refused()));
}

#[test]
fn json_is_an_object_a_line() {
    let run = run(BAD, &["--diagnostics-format=json"]);
    assert_eq!(run.status, Some(1));
    let objects: Vec<Value> =
        run.stderr.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    assert_eq!(objects.len(), 2);
    let first = &objects[0];
    assert_eq!(first["severity"], "error");
    assert_eq!(first["code"], "P0007");
    assert_eq!(first["file"], "<stdin>");
    assert_eq!((&first["line"], &first["column"]), (&3.into(), &8.into()));
    assert_eq!(first["notes"].as_array().expect("notes are a list").len(), 2);
    assert_eq!(first["explain"], "promote-opt --explain P0007");
}

#[test]
fn sarif_is_one_document() {
    let parse = |stderr: &str| serde_json::from_str::<Value>(stderr).expect("the document is JSON");
    let failed = run(BAD, &["--diagnostics-format=sarif"]);
    assert_eq!(failed.status, Some(1));
    let document = parse(&failed.stderr);
    assert_eq!(document["version"], "2.1.0");
    let results = document["runs"][0]["results"].as_array().expect("results are a list");
    assert_eq!(results.len(), 2);
    let rules = &document["runs"][0]["tool"]["driver"]["rules"];
    for result in results {
        assert_eq!(rules[result["ruleIndex"].as_u64().expect("an index") as usize]["id"], result["ruleId"]);
    }
    let region = &results[0]["locations"][0]["physicalLocation"]["region"];
    assert_eq!((&region["startLine"], &region["startColumn"]), (&3.into(), &8.into()));
    let done = run(GOOD, &["--diagnostics-format=sarif"]);
    assert_eq!((done.status, done.text()), (Some(0), PROMOTED));
    assert_eq!(parse(&done.stderr)["runs"][0]["results"].as_array().map(Vec::len), Some(0));
}

/// Where MLIR knows the file only, no line is made up.
#[test]
fn errors_about_a_whole_file() {
    let args =
        |format| [format!("--diagnostics-format={format}"), "--pass-pipeline=affine-loop-tile".to_owned()];
    let errors = |format| {
        let args = args(format);
        run(GOOD, &[&args[0], &args[1]]).stderr
    };
    assert!(errors("text").starts_with("<stdin>: error[P0001]: 'builtin.module' op"), "{}", errors("text"));
    let json: Value = serde_json::from_str(&errors("json")).expect("one line of JSON");
    assert_eq!(
        (&json["file"], &json["line"], &json["column"]),
        (&"<stdin>".into(), &Value::Null, &Value::Null)
    );
    let sarif: Value = serde_json::from_str(&errors("sarif")).expect("the document is JSON");
    let place = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
    assert!(place.get("region").is_none(), "{place}");
}

#[test]
fn errors_without_a_place_are_structured_too() {
    for args in [
        &["no-such-file"][..],
        &["--pass-pipeline=no-such-pass"],
        &["--semantics=none"],
        &["-o", "/no/such/file"],
    ] {
        for format in ["json", "sarif"] {
            let run = run(GOOD, &[args, &["--diagnostics-format", format]].concat());
            let value: Value =
                serde_json::from_str(&run.stderr).unwrap_or_else(|e| panic!("{args:?}: {e}: {run}"));
            assert!(value.is_object(), "{run}");
        }
    }
}

#[test]
fn remarks_tell_why_converts_are_there() {
    let args = &["--remarks"];
    let run = run(GOOD, args);
    assert_eq!(run.status, Some(0));
    assert_snapshot!(show(args, &run));
}

#[test]
fn colours_only_when_asked_for() {
    let colored = |tool: Tool, args: &[&str]| tool.run_on(BAD, args).stderr.contains('\x1b');
    assert!(!colored(Tool::new(), &[]), "standard error is no terminal");
    assert!(!colored(Tool::new(), &["--color=auto"]));
    assert!(!colored(Tool::new(), &["--color=never"]));
    assert!(colored(Tool::new(), &["--color=always"]));
    assert!(colored(Tool::new().with_variable("NO_COLOR", "1"), &["--color=always"]));
    assert!(colored(Tool::new().with_variable("CLICOLOR_FORCE", "1"), &[]));
    assert!(!colored(Tool::new().with_variable("CLICOLOR_FORCE", "1"), &["--color=never"]));
    assert!(!colored(Tool::new(), &["--color=always", "--diagnostics-format=json"]));
}

#[test]
fn control_characters_of_the_input_do_not_reach_the_terminal() {
    let evil =
        "\"promote.sum\"() {\"\\1b[31mred\" = 1} : () -> () loc(\"a\\1b]0;title\\07\":1:1) // \x1b[2J\n";
    let run = run(evil, &[]).refused();
    assert!(run.stderr.chars().all(|c| c == '\n' || !c.is_control()), "{:?}", run.stderr);
}

#[test]
fn every_code_is_explained() {
    for code in Code::ALL {
        let run = run("", &["--explain", code.as_str()]).succeeded();
        assert!(run.text().starts_with(&format!("{code}: {}\n\n", code.title())), "{run}");
        assert!(run.text().contains(code.explanation()), "{run}");
        assert_eq!(self::run("", &[&format!("--explain={}", code.as_str().to_lowercase())]), run);
    }
}

#[test]
fn codes_that_do_not_exist_are_wrong_usage() {
    for code in ["P9999", "7", "", "P0007 "] {
        run("", &["--explain", code]).misused();
    }
}

/// JAX's rules have a type for it, and no library has code for it.
#[test]
fn what_is_not_defined_is_refused_before_there_is_a_program() {
    let program = r#"!t = tensor<?xcomplex<f32>>
func.func @f(%x: !t, %y: !t) -> (!t, tensor<?xi1>, !t) {
  %angle = "promote.atan2"(%x, %y) : (!t, !t) -> !t
  %less = "promote.less"(%angle, %y) : (!t, !t) -> tensor<?xi1>
  %other = "promote.atan2"(%y, %angle) : (!t, !t) -> !t
  return %angle, %less, %other : !t, tensor<?xi1>, !t
}
"#;
    let expected = "\
<stdin>:3:12: error[P0038]: promote.atan2 of c64 is not lowered to the CPU: it is not defined
  %angle = \"promote.atan2\"(%x, %y) : (!t, !t) -> !t
           ^
  help: convert the operands with promote.convert
<stdin>:5:12: error[P0038]: promote.atan2 of c64 is not lowered to the CPU: it is not defined
  %other = \"promote.atan2\"(%y, %angle) : (!t, !t) -> !t
           ^
  help: convert the operands with promote.convert
";
    for emit in ["program", "header", "llvm", "llvm-ir", "asm", "obj", "so"] {
        assert_eq!(run(program, &["--emit", emit]).refused().stderr, expected, "{emit}");
    }
}
