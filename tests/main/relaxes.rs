//! A value that is passed on to a place of unknown type without `promote.relax`: the message names it, and what it says
//! to write is accepted.

use crate::support::{DEFAULT, run_in, session};

/// A program in which `[[value]]`, of `[[type]]`, is passed on where `!u` is expected, and the line that is blamed.
struct Case {
    name: &'static str,
    line: u32,
    source: &'static str,
}

const CASES: &[Case] = &[
    Case {
        name: "the initial value of a loop",
        line: 5,
        source: r#"
  %c0 = arith.constant 0 : index
  %r = scf.for %i = %c0 to %n step %n iter_args(%acc = [[value]]) -> (!u) {
    %next = "promote.add"(%acc, %y) : (!u, tensor<8xbf16>) -> !u
    scf.yield %next : !u
  }"#,
    },
    Case {
        name: "the initial value of a loop in generic form",
        line: 5,
        source: r#"
  %c0 = arith.constant 0 : index
  %r = "scf.for"(%c0, %n, %n, [[value]]) ({
  ^bb0(%i: index, %acc: !u):
    "scf.yield"(%acc) : (!u) -> ()
  }) : (index, index, index, [[type]]) -> !u"#,
    },
    Case {
        name: "what a loop carries on",
        line: 6,
        source: r#"
  %c0 = arith.constant 0 : index
  %init = "promote.relax"(%y) : (tensor<8xbf16>) -> !u
  %r = scf.for %i = %c0 to %n step %n iter_args(%acc = %init) -> (!u) {
    scf.yield [[value]] : [[type]]
  }"#,
    },
    Case {
        name: "the initial value of a while loop",
        line: 4,
        source: r#"
  %r = "scf.while"([[value]]) ({
  ^bb0(%a: !u):
    "scf.condition"(%c, %a) : (i1, !u) -> ()
  }, {
  ^bb0(%a: !u):
    "scf.yield"(%a) : (!u) -> ()
  }) : ([[type]]) -> !u"#,
    },
    Case {
        name: "what a while loop's condition passes on",
        line: 5,
        source: r#"
  %init = "promote.relax"(%y) : (tensor<8xbf16>) -> !u
  %r = scf.while (%a = %init) : (!u) -> !u {
    scf.condition(%c) [[value]] : [[type]]
  } do {
  ^bb0(%b: !u):
    scf.yield %b : !u
  }"#,
    },
    Case {
        name: "the initial value of an affine loop",
        line: 4,
        source: r#"
  %r = affine.for %i = 0 to 8 iter_args(%acc = [[value]]) -> (!u) {
    affine.yield %acc : !u
  }"#,
    },
    Case {
        name: "the result of a branch",
        line: 4,
        source: r#"
  %r = scf.if %c -> (!u) {
    scf.yield [[value]] : [[type]]
  } else {
    scf.yield [[value]] : [[type]]
  }"#,
    },
    Case {
        name: "the result of a branch that is written as unknown",
        line: 5,
        source: r#"
  %r = scf.if %c -> (!u) {
    scf.yield [[value]] : !u
  } else {
    scf.yield [[value]] : !u
  }"#,
    },
    Case {
        name: "the result of a case",
        line: 4,
        source: r#"
  %r = scf.index_switch %n -> !u
  case 2 {
    scf.yield [[value]] : [[type]]
  }
  default {
    scf.yield [[value]] : [[type]]
  }"#,
    },
    Case {
        name: "the result of a region",
        line: 4,
        source: r#"
  %r = scf.execute_region -> !u {
    scf.yield [[value]] : [[type]]
  }"#,
    },
    Case {
        name: "what a branch passes to a block",
        line: 4,
        source: r#"
  cf.br ^end([[value]] : [[type]])
^end(%r: !u):"#,
    },
    Case {
        name: "what a conditional branch passes to a block",
        line: 5,
        source: r#"
  %a = "promote.relax"(%y) : (tensor<8xbf16>) -> !u
  cf.cond_br %c, ^end(%a : !u), ^end([[value]] : [[type]])
^end(%r: !u):"#,
    },
    Case {
        name: "what a switch passes to a block",
        line: 5,
        source: r#"
  %f = arith.constant 1 : i32
  cf.switch %f : i32, [default: ^end([[value]] : [[type]])]
^end(%r: !u):"#,
    },
    Case {
        name: "the argument of a call",
        line: 4,
        source: "\n  %r = func.call @g([[value]]) : ([[type]]) -> !u",
    },
    Case {
        name: "what a choice is between",
        line: 5,
        source: r#"
  %a = "promote.relax"(%y) : (tensor<8xbf16>) -> !u
  %r = arith.select %c, %a, [[value]] : !u"#,
    },
    Case {
        name: "what a choice is between in generic form",
        line: 5,
        source: r#"
  %a = "promote.relax"(%y) : (tensor<8xbf16>) -> !u
  %r = "arith.select"(%c, %a, [[value]]) : (i1, !u, [[type]]) -> !u"#,
    },
    Case {
        name: "the result of a function",
        line: 4,
        source: "\n  return [[value]] : [[type]]\n^unreached:\n  %r = \"promote.relax\"(%y) : (tensor<8xbf16>) -> !u",
    },
];

/// The program with a value of that name and type in the place, after a line of its own.
fn program(case: &Case, line: &str, value: &str, r#type: &str) -> String {
    let body = case.source.replace("[[value]]", value).replace("[[type]]", r#type);
    format!(
        "func.func @f(%x: tensor<4x8xi16>, %y: tensor<8xbf16>, %n: index, %c: i1) -> !u {{\n  {line}{body}\n  \
         return %r : !u\n}}\nfunc.func private @g(%x: !u) -> !u {{\n  return %x : !u\n}}\n"
    )
    .replace("!u", "tensor<*x!promote.unknown>")
}

#[test]
fn a_forgotten_relax_is_named_where_it_is_forgotten_and_writing_it_helps() {
    let session = session("jax", false, false);
    for case in CASES {
        let outcome = run_in(&session, &program(case, "", "%x", "tensor<4x8xi16>"), DEFAULT);
        let diagnostics = outcome.diagnostics_text();
        let [refused] = &outcome.diagnostics[..] else { panic!("{}: {diagnostics}", case.name) };
        assert_eq!(refused.code.as_str(), "P0001", "{}: {diagnostics}", case.name);
        assert_eq!(
            refused.location.as_ref().map(|place| place.line),
            Some(case.line - 1),
            "{}: {diagnostics}",
            case.name
        );
        let remedy = refused.remedy.as_deref().unwrap_or_default();
        let relax = remedy.split_once("\"promote.relax\"").and_then(|(_, rest)| rest.split_once(") : "));
        let (_, types) = relax.unwrap_or_else(|| panic!("{}: {diagnostics}", case.name));
        assert!(types.starts_with("(tensor<4x8xi16>)"), "{}: {diagnostics}", case.name);
        let line = format!("%relaxed = \"promote.relax\"(%x) : {types}");
        let outcome = run_in(&session, &program(case, &line, "%relaxed", "!u"), DEFAULT);
        assert!(!outcome.text.is_empty(), "{}: {}", case.name, outcome.diagnostics_text());
    }
}

#[test]
fn where_the_place_is_of_a_known_type_no_relax_is_advised() {
    let session = session("jax", false, false);
    for source in [
        "func.func @f(%x: tensor<4xf32>) -> tensor<4xi32> {\n  return %x : tensor<4xf32>\n}",
        "func.func private @g(tensor<4xi32>)\nfunc.func @f(%x: tensor<4xf32>) {\n  call @g(%x) : (tensor<4xf32>) -> ()\n  return\n}",
    ] {
        let outcome = run_in(&session, source, DEFAULT);
        assert!(outcome.text.is_empty());
        assert!(!outcome.diagnostics_text().contains("relax"), "{}", outcome.diagnostics_text());
    }
}

#[test]
fn a_value_of_unknown_type_that_is_written_as_another_is_to_be_written_as_unknown() {
    let session = session("jax", false, false);
    let source = |result: &str| {
        format!(
            "func.func @f(%x: tensor<4xf32>) -> {result} {{\n  %0 = \"promote.exp\"(%x) : (tensor<4xf32>) -> \
             tensor<*x!promote.unknown>\n  return %0 : {result}\n}}"
        )
    };
    let outcome = run_in(&session, &source("tensor<4xf32>"), DEFAULT);
    let remedy = outcome.diagnostics[0].remedy.clone().unwrap_or_default();
    assert_eq!(remedy, "write tensor<*x!promote.unknown> instead of tensor<4xf32>: inference finds the type");
    assert!(!run_in(&session, &source("tensor<*x!promote.unknown>"), DEFAULT).text.is_empty());
}
