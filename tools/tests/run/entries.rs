//! Which function is run.

use crate::run;

fn function(name: &str, visibility: &str, value: u8) -> String {
    format!(
        "func.func {visibility} @{name}() -> tensor<i32> {{
  %0 = \"promote.constant\"() {{value = dense<{value}> : tensor<i32>}} : () -> tensor<i32>
  return %0 : tensor<i32>
}}
"
    )
}

#[test]
fn the_only_public_one_or_main() {
    let (f, main, private) = (function("f", "", 1), function("main", "", 2), function("p", "private", 3));
    assert_eq!(run(&[&*f, &private].concat(), &[]).succeeded().text(), "f.0: int32[]\n1\n");
    assert_eq!(run(&[&*f, &main, &private].concat(), &[]).succeeded().text(), "main.0: int32[]\n2\n");
    assert_eq!(run(&[f, main].concat(), &["--entry", "f"]).succeeded().text(), "f.0: int32[]\n1\n");
}

#[test]
fn others_are_listed() {
    let two = [function("f", "", 1), function("g", "", 2)].concat();
    let private = function("p", "private", 3);
    for (program, args, message) in [
        (&two, &[][..], "error[P0050]: which function is to run? the public functions are f, g"),
        (&two, &["--entry", "h"], "there is no public function `h`: the public functions are f, g"),
        (&private, &[], "the module has no public function with a body"),
        (&private, &["--entry", "p"], "there is no public function `p`: the module has no public function"),
    ] {
        let run = run(program, args).misused();
        assert!(run.stderr.contains(message), "{run}");
    }
}

#[test]
fn names_may_be_any_text() {
    let odd = function("\"a b.c\"", "", 7);
    assert_eq!(run(&odd, &[]).succeeded().text(), "\"a b.c\".0: int32[]\n7\n");
    assert_eq!(run(&odd, &["--entry", "a b.c"]).succeeded().text(), "\"a b.c\".0: int32[]\n7\n");
}
