//! The passes on programs of pliron.

use pliron::context::{Context, Ptr};
use pliron::operation::Operation;
use pliron::pass::{AnalysisManager, Pass as _, Passes};
use promote_diagnostics::{Code, Diagnostic};
use promote_lattice::Semantics;
use promote_pliron::pass::{Config, PromotePass, Promotion, collected, promote};
use promote_pliron::text::{parse, print};
use promote_pliron::verify::verify;

fn config() -> Config {
    Config::new(Semantics::by_name("jax", false).expect("there is one of that name"))
}

const UNKNOWN: &str = "promote.tensor <*x!promote.unknown>";

fn read(context: &mut Context, body: &str) -> Ptr<Operation> {
    let text = format!("builtin.module @m {{ ^b(): {body} }}")
        .replace("!u", UNKNOWN)
        .replace("tensor<", "promote.tensor <");
    let module = parse(context, &text, "m.plir").unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    verify(context, module).unwrap_or_else(|error| panic!("{error:?}"));
    module
}

/// A function of `x: tensor<4xbf16>` and `y: tensor<4xf32>` with this body.
fn function(body: &str) -> String {
    format!(
        "builtin.func @f: builtin.function <(tensor<4xbf16>, tensor<4xf32>, promote.index ) -> (!u)> {{
           ^entry(x: tensor<4xbf16>, y: tensor<4xf32>, n: promote.index ): {body} }}"
    )
}

const POWER_SUM: &str = "
    c0 = promote_arith.constant () [] [promote_value: promote.index_value 0]: <() -> (promote.index )>;
    c1 = promote_arith.constant () [] [promote_value: promote.index_value 1]: <() -> (promote.index )>;
    zero = promote.constant () [] [promote_value: promote.elements <i64: 0>]: <() -> (tensor<!promote.weak_int>)>;
    init = promote.relax (zero) [] []: <(tensor<!promote.weak_int>) -> (!u)>;
    sum = promote_scf.for (c0, n, c1, init) [] []: <(promote.index , promote.index , promote.index , !u) -> (!u)> {
      ^body(i: promote.index , acc: !u):
        next = promote.add (acc, x) [] []: <(!u, tensor<4xbf16>) -> (!u)>;
        promote_scf.yield (next) [] []: <(!u) -> ()>
    };
    promote_func.return (sum) [] []: <(!u) -> ()>";

#[test]
fn the_loop_of_the_contract_gets_its_types() {
    let mut context = Context::new();
    let module = read(&mut context, &function(POWER_SUM));
    assert_eq!(promote(&mut context, module, &config()), Ok(vec![]));
    verify(&context, module).unwrap_or_else(|error| panic!("{error:?}"));
    let text = print(&context, module);
    assert!(text.contains("-> (promote.tensor <4xbf16>)>"), "{text}");
    assert!(!text.contains("!promote.") && !text.contains("promote.relax"), "{text}");
    // Running the passes again changes nothing.
    assert_eq!(promote(&mut context, module, &config()), Ok(vec![]));
    assert_eq!(print(&context, module), text);
}

#[test]
fn mixed_operands_get_one_convert_each() {
    let mut context = Context::new();
    let module = read(
        &mut context,
        &function(
            "a = promote.add (x, y) [] []: <(tensor<4xbf16>, tensor<4xf32>) -> (!u)>;
             b = promote.multiply (a, x) [] []: <(!u, tensor<4xbf16>) -> (!u)>;
             promote_func.return (b) [] []: <(!u) -> ()>",
        ),
    );
    assert_eq!(promote(&mut context, module, &config()), Ok(vec![]));
    let text = print(&context, module);
    assert_eq!(text.matches("promote.convert").count(), 1, "{text}");
    assert!(text.contains("promote_implicit: builtin.unit"), "{text}");
}

fn errors(body: &str) -> Vec<Diagnostic> {
    let mut context = Context::new();
    let module = read(&mut context, body);
    promote(&mut context, module, &config()).expect_err("there is something wrong")
}

#[test]
fn errors_are_located_and_speak_of_ops_as_mlir_does() {
    let found = errors(&function(
        "\n  a = promote.bitwise_and (x, y) [] []: <(tensor<4xbf16>, tensor<4xf32>) -> (!u)>;
             promote_func.return (a) [] []: <(!u) -> ()>",
    ));
    let place = found[0].location.as_ref().expect("it has a place");
    assert_eq!(
        (found[0].code, place.file.as_str(), place.line),
        (Code::RefusedDtype, "m.plir", 3),
        "{found:?}"
    );
    assert_eq!(found[0].notes[0].message, "operand 0 is tensor<4xbf16>");
}

#[test]
fn a_generic_function_is_copied_for_each_signature() {
    let mut context = Context::new();
    let module = read(
        &mut context,
        "builtin.func @twice: builtin.function <(!u) -> (!u)> [promote_visibility: builtin.string \"private\"] { ^e(a: !u):
            t = promote.add (a, a) [] []: <(!u, !u) -> (!u)>; promote_func.return (t) [] []: <(!u) -> ()> };
         builtin.func @main: builtin.function <(tensor<4xbf16>, tensor<i8>) -> (!u, !u)> { ^m(x: tensor<4xbf16>, y: tensor<i8>):
            p = promote.relax (x) [] []: <(tensor<4xbf16>) -> (!u)>;
            q = promote.relax (y) [] []: <(tensor<i8>) -> (!u)>;
            r = promote_func.call (p) [] [promote_callee: builtin.identifier twice]: <(!u) -> (!u)>;
            s = promote_func.call (q) [] [promote_callee: builtin.identifier twice]: <(!u) -> (!u)>;
            promote_func.return (r, s) [] []: <(!u, !u) -> ()> }",
    );
    assert_eq!(promote(&mut context, module, &config()), Ok(vec![]));
    verify(&context, module).unwrap_or_else(|error| panic!("{error:?}\n{}", print(&context, module)));
    let text = print(&context, module);
    assert_eq!(text.matches("builtin.func @").count(), 3, "{text}");
    assert!(text.contains("(promote.tensor <4xbf16>) -> (promote.tensor <4xbf16>)"), "{text}");
    assert!(text.contains("(promote.tensor <i8>) -> (promote.tensor <i8>)"), "{text}");
}

#[test]
fn the_passes_are_passes_of_pliron() {
    let mut context = Context::new();
    let module = read(&mut context, &function(POWER_SUM));
    let (sink, said) = collected();
    let mut passes = Passes::default();
    for pass in Promotion::ALL {
        passes.add_pass(PromotePass::new(*pass, config(), sink.clone()));
    }
    passes.run(module, &mut context, &mut AnalysisManager::default()).expect("nothing is wrong with it");
    assert!(said.borrow().is_empty());
    let one_by_one = print(&context, module);
    let mut other = Context::new();
    let module = read(&mut other, &function(POWER_SUM));
    let mut all = PromotePass::all(config(), sink);
    all.run(module, &mut other, &mut AnalysisManager::default()).expect("nothing is wrong with it");
    assert_eq!(print(&other, module).lines().count(), one_by_one.lines().count());
    assert_eq!(all.name(), "promote");
}

#[test]
fn an_error_of_a_pass_is_one_of_pliron_with_its_place() {
    let mut context = Context::new();
    let module = read(
        &mut context,
        &function(
            "a = promote.bitwise_and (x, y) [] []: <(tensor<4xbf16>, tensor<4xf32>) -> (!u)>;
             promote_func.return (a) [] []: <(!u) -> ()>",
        ),
    );
    let (sink, said) = collected();
    let mut pass = PromotePass::new(Promotion::InferTypes, config(), sink);
    let error = pass.run(module, &mut context, &mut AnalysisManager::default()).err().expect("it is refused");
    assert!((*error.err).as_any().is::<promote_pliron::pass::Refused>());
    assert!(error.err.to_string().contains("error[P0008]"), "{}", error.err);
    assert!(!error.loc.is_unknown());
    assert_eq!(said.borrow().len(), 1);
}

#[test]
fn what_is_no_program_is_refused_before_the_passes() {
    let mut context = Context::new();
    let text = "builtin.module @m { ^b(): builtin.func @f: builtin.function <() -> ()> { ^e():
        a = promote.negative (b) [] []: <(promote.tensor <f32>) -> (promote.tensor <f32>)>;
        b = promote.negative (a) [] []: <(promote.tensor <f32>) -> (promote.tensor <f32>)>;
        promote_func.return () [] []: <() -> ()> } }";
    let module = parse(&mut context, text, "m.plir").expect("it can be read");
    let found = promote(&mut context, module, &config()).expect_err("a stands before b");
    let place = found[0].location.as_ref().expect("it has a place");
    assert_eq!((found.len(), found[0].code, place.line), (1, Code::Mlir, 2));
}

/// How the constants of a function with this body are written after promotion: `one` is a weak literal, `x` is bf16, `y` f16.
fn constants(body: &str) -> Vec<String> {
    let body = body.replace('X', "promote.tensor <4xbf16>").replace('Y', "promote.tensor <4xf16>");
    let body = body.replace('W', "promote.tensor <!promote.weak_float>");
    let text = format!(
        "builtin.module @m {{ ^b(): builtin.func @f: builtin.function <(promote.tensor <4xbf16>, promote.tensor <4xf16>) -> ()> {{
           ^entry(x: promote.tensor <4xbf16>, y: promote.tensor <4xf16>):
             one = promote.constant () [] [promote_value: promote.elements <f64: 1.0>]: <() -> (promote.tensor <!promote.weak_float>)>;
             {body} promote_func.return () [] []: <() -> ()> }} }}"
    );
    let mut context = Context::new();
    let module = parse(&mut context, &text, "m.plir").unwrap_or_else(|error| panic!("{error:?}"));
    assert_eq!(promote(&mut context, module, &config()), Ok(vec![]));
    let text = print(&context, module);
    let written = text.lines().filter(|line| line.contains("promote.constant"));
    written.map(|line| line.split(['<', '>']).nth(1).unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_weak_literal_is_a_constant_of_each_dtype_that_uses_it() {
    let add = "s = promote.add (x, one) [] []: <(X, W) -> (X)>;";
    assert_eq!(constants(add), ["bf16: 1.0"]);
    let also = "t = promote.add (y, one) [] []: <(Y, W) -> (Y)>;";
    assert_eq!(
        constants(&format!("{add} {also} u = promote.add (one, x) [] []: <(W, X) -> (X)>;")),
        ["bf16: 1.0", "f16: 1.0"]
    );
}

#[test]
fn what_another_dialects_op_uses_of_a_weak_literal_is_the_default_dtype() {
    let rank = "r = promote_tensor.rank (one) [] []: <(W) -> (promote.index )>;";
    assert_eq!(constants(rank), ["f32: 1.0"]);
    let add = "s = promote.add (x, one) [] []: <(X, W) -> (X)>;";
    assert_eq!(constants(&format!("{add} {rank}")), ["f32: 1.0", "bf16: 1.0"]);
}
