//! The laws of the passes, on random programs.

use std::collections::BTreeSet;

use promote::op::ShapeRule;
use promote::semantics::Operand;
use promote::{DType, Op, PrintOptions, Semantics, Session, Source, Verdict};
use proptest::prelude::*;
use proptest::sample::select;

use crate::support::{DEFAULT, INFER, INSERT, run_in, session};

/// One op of a random program, by numbers that choose its parts modulo what there is.
#[derive(Clone, Debug)]
enum Step {
    Literal { float: bool, value: i8 },
    Unary { op: &'static str, x: usize },
    Binary { op: &'static str, x: usize, y: usize },
    Where { c: usize, x: usize, y: usize },
    Reduce { op: &'static str, x: usize },
    Convert { x: usize, element: &'static str },
    InRegion { x: usize, y: usize },
}

/// Whether JAX promotes operands of a dtype with those of every kind: it refuses to with floats and integers of less than 16
/// and 8 bits, and a program with one of them would be refused more often than not.
fn promotes(semantics: &Semantics, dtype: DType) -> bool {
    let sum = |other| semantics.infer(Op::Add, &[dtype, other].map(Operand::value));
    [DType::B1, DType::U8, DType::I32, DType::F32, DType::C64].into_iter().all(|other| sum(other).is_ok())
}

/// Whether an op takes operands of every kind of real numbers, so that few programs with it are refused.
fn takes_all_kinds(semantics: &Semantics, op: Op) -> bool {
    let operands = |dtype| vec![Operand::value(dtype); op.info().arity.required];
    [DType::B1, DType::I32, DType::F32].into_iter().all(|dtype| semantics.infer(op, &operands(dtype)).is_ok())
}

/// What random programs are made of.
struct Choices {
    elements: Vec<&'static str>,
    unary: Vec<&'static str>,
    binary: Vec<&'static str>,
    reductions: Vec<&'static str>,
}

impl Choices {
    fn of_jax() -> Self {
        let semantics = Semantics::by_name("jax", true).expect("jax is known");
        let ops = |shape: ShapeRule, arity: usize| {
            let fits = |op: &Op| op.info().shape == shape && op.info().arity.required == arity;
            let ops = Op::ALL.iter().copied().filter(fits).filter(|op| takes_all_kinds(&semantics, *op));
            ops.map(Op::name).collect()
        };
        Self {
            elements: DType::strong().filter(|dtype| promotes(&semantics, *dtype)).map(DType::mlir).collect(),
            unary: ops(ShapeRule::Broadcast, 1),
            binary: ops(ShapeRule::Broadcast, 2),
            reductions: ops(ShapeRule::Reduce, 1),
        }
    }
}

/// Shapes that broadcast with each other.
const SHAPES: &[&str] = &["", "4x", "3x1x", "3x4x", "?x4x", "1x"];

fn step(choices: &Choices) -> impl Strategy<Value = Step> + use<> {
    let Choices { elements, unary, binary, reductions } = choices;
    let [elements, unary, binary, reductions] =
        [elements, unary, binary, reductions].map(|names| select(names.clone()));
    let at = 0usize..64;
    prop_oneof![
        2 => (any::<bool>(), any::<i8>()).prop_map(|(float, value)| Step::Literal { float, value }),
        3 => (unary, at.clone()).prop_map(|(op, x)| Step::Unary { op, x }),
        6 => (binary, at.clone(), at.clone()).prop_map(|(op, x, y)| Step::Binary { op, x, y }),
        1 => (at.clone(), at.clone(), at.clone()).prop_map(|(c, x, y)| Step::Where { c, x, y }),
        1 => (reductions, at.clone()).prop_map(|(op, x)| Step::Reduce { op, x }),
        1 => (at.clone(), elements).prop_map(|(x, element)| Step::Convert { x, element }),
        1 => (at.clone(), at).prop_map(|(x, y)| Step::InRegion { x, y }),
    ]
}

fn program() -> impl Strategy<Value = String> {
    let choices = Choices::of_jax();
    let arguments = prop::collection::vec((select(choices.elements.clone()), select(SHAPES)), 1..5);
    (arguments, prop::collection::vec(step(&choices), 1..16))
        .prop_map(|(arguments, steps)| render(&arguments, &steps))
}

const UNKNOWN: &str = "tensor<*x!promote.unknown>";

fn render(arguments: &[(&str, &str)], steps: &[Step]) -> String {
    let mut values: Vec<(String, String)> = Vec::new();
    for (i, (element, shape)) in arguments.iter().enumerate() {
        values.push((format!("%a{i}"), format!("tensor<{shape}{element}>")));
    }
    let signature: Vec<_> = values.iter().map(|(name, r#type)| format!("{name}: {type}")).collect();
    let mut body = String::new();
    for (i, step) in steps.iter().enumerate() {
        let pick = |at: &usize| values[*at % values.len()].clone();
        let name = format!("%v{i}");
        let (line, r#type) = match step {
            Step::Literal { float, value } => {
                let (element, weak) = if *float { ("f64", "weak_float") } else { ("i64", "weak_int") };
                let number = if *float { format!("{value}.5") } else { value.to_string() };
                let r#type = format!("tensor<!promote.{weak}>");
                (
                    format!(
                        "\"promote.constant\"() {{value = dense<{number}> : tensor<{element}>}} : () -> {type}"
                    ),
                    r#type,
                )
            }
            Step::Unary { op, x } | Step::Reduce { op, x } => {
                let (x, t) = pick(x);
                (format!("\"promote.{op}\"({x}) : ({t}) -> {UNKNOWN}"), UNKNOWN.to_owned())
            }
            Step::Binary { op, x, y } => {
                let ((x, t), (y, u)) = (pick(x), pick(y));
                (format!("\"promote.{op}\"({x}, {y}) : ({t}, {u}) -> {UNKNOWN}"), UNKNOWN.to_owned())
            }
            Step::Where { c, x, y } => {
                let ((c, s), (x, t), (y, u)) = (pick(c), pick(x), pick(y));
                (
                    format!("\"promote.where\"({c}, {x}, {y}) : ({s}, {t}, {u}) -> {UNKNOWN}"),
                    UNKNOWN.to_owned(),
                )
            }
            Step::Convert { x, element } => {
                let (x, t) = pick(x);
                let r#type = format!("tensor<*x{element}>");
                (format!("\"promote.convert\"({x}) : ({t}) -> {type}"), r#type)
            }
            Step::InRegion { x, y } => {
                let ((x, t), (y, u)) = (pick(x), pick(y));
                body.push_str(&format!(
                    "  scf.if %go {{\n    %r{i} = \"promote.add\"({x}, {y}) : ({t}, {u}) -> {UNKNOWN}\n  }}\n"
                ));
                continue;
            }
        };
        body.push_str(&format!("  {name} = {line}\n"));
        values.push((name, r#type));
    }
    let (names, types): (Vec<_>, Vec<_>) = values.into_iter().unzip();
    let (names, types) = (names.join(", "), types.join(", "));
    format!(
        "func.func @f({}, %go: i1) -> ({types}) {{\n{body}  return {names} : {types}\n}}\n",
        signature.join(", ")
    )
}

/// The lines of a module that insert a convert implicitly: operand and types, without the name of the result.
fn implicit_converts(module: &str) -> Vec<String> {
    let lines = module.lines().filter(|line| line.contains("{promote.implicit}"));
    lines.map(|line| line.split_once(" = ").map_or("", |(_, op)| op).to_owned()).collect()
}

/// The converts outside regions: operand and types, without attributes and the name of the result.
fn converts_in_block(module: &str) -> Vec<String> {
    let lines =
        module.lines().filter(|line| line.starts_with("    %") && line.contains("\"promote.convert\""));
    let op = |line: &str| line.split_once(" = ").map_or("", |(_, op)| op).replace(" {promote.implicit}", "");
    lines.map(op).collect()
}

/// A module in which the messages of checks do not say where.
fn unplaced(module: &str) -> String {
    let place = |message: &str| message.split_once(": ").map_or("", |(_, rest)| rest).to_owned();
    let line = |line: &str| match line.split_once(", \"") {
        Some((assert, message)) if assert.contains("cf.assert") => format!("{assert}, {}", place(message)),
        _ => line.to_owned(),
    };
    module.lines().map(line).collect::<Vec<_>>().join("\n")
}

fn argument_types(module: &str) -> &str {
    let line = module.lines().find(|line| line.contains("func.func")).expect("there is a function");
    line.split_once(") -> ").expect("the function has results").0
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn passes_are_idempotent_deterministic_and_minimal(source in program()) {
        let session = session("jax", true, false);
        let inferred = run_in(&session, &source, INFER);
        // A program that JAX refuses says nothing about these laws.
        prop_assume!(!inferred.text.is_empty());

        let twice = run_in(&session, &inferred.text, INFER);
        prop_assert_eq!(&twice.text, &inferred.text, "inferring twice changes nothing");

        let inserted = run_in(&session, &source, INSERT);
        prop_assert!(!inserted.text.is_empty(), "what is inferred can be made explicit: {}", inserted.diagnostics_text());
        let again = run_in(&session, &inserted.text, INSERT);
        prop_assert_eq!(&again.text, &inserted.text, "inserting twice changes nothing: {}", again.diagnostics_text());
        let apart = run_in(&session, &inferred.text, "promote-insert-converts");
        prop_assert_eq!(unplaced(&apart.text), unplaced(&inserted.text), "the passes may run apart");
        let nested = run_in(&session, &source, "func.func(promote-infer-types,promote-insert-converts)");
        prop_assert_eq!(&nested.text, &inserted.text, "the passes may run on functions");

        let converts = implicit_converts(&inserted.text);
        let distinct: BTreeSet<_> = converts.iter().collect();
        prop_assert_eq!(converts.len(), distinct.len(), "one convert a value and dtype:\n{}", inserted.text);
        prop_assert_eq!(argument_types(&inserted.text), argument_types(&inferred.text), "strong arguments keep their types");

        let strong = run_in(&session, &source, DEFAULT);
        prop_assert!(!strong.text.is_empty(), "the result is strong: {}", strong.diagnostics_text());
        let once_more = run_in(&session, &strong.text, DEFAULT);
        prop_assert_eq!(&once_more.text, &strong.text, "a strong program stays as it is");
        let folded = converts_in_block(&strong.text);
        let distinct: BTreeSet<_> = folded.iter().collect();
        prop_assert_eq!(folded.len(), distinct.len(), "folding makes no two converts equal:\n{}", strong.text);
        let beside = run_in(&session, &source, &format!("canonicalize,{DEFAULT},cse,canonicalize,promote-verify-strong"));
        prop_assert!(!beside.text.is_empty(), "upstream passes stand beside ours: {}", beside.diagnostics_text());
    }

    #[test]
    fn threads_do_not_change_the_result(sources in prop::collection::vec(program(), 2..6)) {
        let functions = sources.iter().enumerate().map(|(i, source)| source.replace("@f(", &format!("@f{i}(")));
        let module: String = functions.collect();
        let texts = [true, false].map(|threads| {
            let semantics = Semantics::by_name("jax", false).expect("jax is known");
            let options = promote::Options { threads, remarks: true, ..promote::Options::new(semantics) };
            let session = Session::new(&options).expect("MLIR takes the dialect");
            let outcome = run_in(&session, &module, DEFAULT);
            (outcome.text.clone(), outcome.diagnostics_text())
        });
        prop_assert_eq!(&texts[0], &texts[1]);
    }
}

#[test]
fn inserted_ops_carry_the_location_of_the_op_they_serve() {
    let session = session("jax", false, false);
    let source = r#"
        func.func @f(%x: tensor<4xbf16>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
          %0 = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<3x4xf32>) -> tensor<3x4xf32> loc("model.py":7:3)
          return %0 : tensor<3x4xf32>
        }"#;
    let mut module = session.parse(Source::Text(source)).expect("the source is valid");
    let verdict = session.run(&mut module, &Default::default(), &Default::default());
    assert_eq!(verdict, Ok(Verdict::Done));
    let mut text = Vec::new();
    module
        .print(&mut text, PrintOptions { generic: false, debug_info: true })
        .expect("a vector can be written to");
    let text = String::from_utf8(text).expect("MLIR prints UTF-8");
    let location =
        text.lines().find_map(|line| line.strip_suffix(" = loc(\"model.py\":7:3)")).expect("it is kept");
    assert_eq!(text.matches(&format!("loc({location})")).count(), 3, "convert, broadcast and add:\n{text}");
}

#[test]
fn foreign_ops_attributes_and_symbols_survive() {
    let session = session("jax", false, false);
    let source = r#"module @kept attributes {my.version = 3 : i64} {
  "other.global"() {sym_name = "g"} : () -> ()
  func.func @f(%arg0: tensor<4xbf16> {my.arg = "x"}, %arg1: memref<4xf32>) -> (tensor<4xf32> {my.result}) attributes {my.inline} {
    %0 = "other.make"() {config = {a = 1 : i32}} : () -> tensor<4xf32>
    %1 = "promote.add"(%arg0, %0) {my.note = [1, 2]} : (tensor<4xbf16>, tensor<4xf32>) -> tensor<*x!promote.unknown>
    "other.take"(%1) ({
    ^bb0(%arg2: index):
      "other.yield"(%arg2) : (index) -> ()
    }) : (tensor<*x!promote.unknown>) -> ()
    %2 = "promote.exp"(%0) : (tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}
"#;
    let outcome = run_in(&session, source, DEFAULT);
    for kept in [
        "module @kept attributes {my.version = 3 : i64}",
        r#""other.global"() {sym_name = "g"}"#,
        r#"%arg0: tensor<4xbf16> {my.arg = "x"}, %arg1: memref<4xf32>) -> (tensor<4xf32> {my.result}) attributes {my.inline}"#,
        "config = {a = 1 : i32}",
        "my.note = [1, 2]",
        "^bb0(%arg2: index)",
        r#""other.take"(%2)"#,
    ] {
        assert!(
            outcome.text.contains(kept),
            "{kept} is lost:\n{}\n{}",
            outcome.text,
            outcome.diagnostics_text()
        );
    }
}
