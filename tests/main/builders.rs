//! Programs built op by op in Rust, as an embedding front end does, and promoted in place.

use melior::Context;
use melior::ir::operation::{OperationBuilder, OperationLike};
use melior::ir::{
    Attribute, Block, BlockLike, Location, Module as MlirModule, Region, RegionLike, Type, Value,
};
use melior::pass::PassManager;
use promote::convert::Literal;
use promote::dialect;
use promote::op::Op;
use promote::op_rules::{OpRules, Rules};
use promote::passes::{self, Config};
use promote::{Options, Pipeline, RunOptions, Session, Verdict};
use std::sync::{Arc, Mutex};

use crate::support::session;

/// What a function of two arguments returns.
type Body<'c> = for<'b> fn(&'c Context, &'b Block<'c>, Type<'c>) -> Value<'c, 'b>;

fn arguments<'c, 'b>(block: &'b Block<'c>) -> [Value<'c, 'b>; 2] {
    [0, 1].map(|number| block.argument(number).expect("an argument").into())
}

/// `concat(x * 0.5, y)`, before inference.
fn joined<'c, 'b>(context: &'c Context, block: &'b Block<'c>, unknown: Type<'c>) -> Value<'c, 'b> {
    let (location, [x, y]) = (Location::unknown(context), arguments(block));
    let append = |operation| block.append_operation(operation).result(0).expect("it has a result").into();
    let half: Value<'_, '_> =
        append(dialect::weak_literal(context, Literal::Float(0.5), location).expect("the literal is built"));
    let scaled = dialect::operation(context, Op::Multiply, &[x, half], &[], unknown, location);
    let scaled = append(scaled.expect("the op is built"));
    let axis = [("axis", Attribute::parse(context, "-1 : i64").expect("the attribute is valid"))];
    let joined = dialect::operation(context, Op::Concat, &[scaled, y], &axis, unknown, location);
    append(joined.expect("the op is built"))
}

/// `arith.addf` of the arguments, which MLIR's verifier refuses.
fn sum<'c, 'b>(context: &'c Context, block: &'b Block<'c>, unknown: Type<'c>) -> Value<'c, 'b> {
    let sum = OperationBuilder::new("arith.addf", Location::unknown(context));
    let sum = sum.add_operands(&arguments(block)).add_results(&[unknown]).build().expect("the op is built");
    block.append_operation(sum).result(0).expect("it has a result").into()
}

/// A function of a `bf16` and an `f32`.
fn program<'c>(context: &'c Context, body: Body<'c>) -> MlirModule<'c> {
    for name in ["func", "arith"] {
        context.get_or_load_dialect(name);
    }
    let location = Location::unknown(context);
    let unknown = dialect::unknown(context).expect("the dialect is registered");
    let parse = |text: &str| Type::parse(context, text).expect("the type is valid");

    let block = Block::new(&[(parse("tensor<4xbf16>"), location), (parse("tensor<4xf32>"), location)]);
    let result = body(context, &block, unknown);
    let returned = OperationBuilder::new("func.return", location).add_operands(&[result]).build();
    block.append_operation(returned.expect("the return is built"));

    let region = Region::new();
    region.append_block(block);
    let signature = "(tensor<4xbf16>, tensor<4xf32>) -> tensor<*x!promote.unknown>";
    let attribute = |text: &str| Attribute::parse(context, text).expect("the attribute is valid");
    let function = OperationBuilder::new("func.func", location)
        .add_attributes(&[
            (melior::ir::Identifier::new(context, "sym_name"), attribute("\"f\"")),
            (melior::ir::Identifier::new(context, "function_type"), attribute(signature)),
        ])
        .add_regions([region])
        .build()
        .expect("the function is built");
    let module = MlirModule::new(location);
    module.body().append_operation(function);
    module
}

#[test]
fn a_program_built_in_rust_is_promoted_by_passes_in_a_pass_manager_of_ones_own() {
    let session = session("jax", false, false);
    let mut module = program(session.context(), joined);
    assert!(module.as_operation().verify());
    let diagnostics = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&diagnostics);
    let semantics = promote::Semantics::by_name("jax", false).expect("jax is known");
    let options = Options { remarks: true, ..Options::new(semantics) };
    let config = Config::new(options, move |found| heard.lock().expect("no pass panics").push(found));
    let manager = PassManager::new(session.context());
    manager.add_pass(passes::infer_types(&config));
    manager.add_pass(passes::insert_converts(&config));
    manager.add_pass(passes::fold_converts(&config));
    manager.add_pass(passes::verify_strong(&config));
    manager.run(&mut module).expect("the program is accepted");
    assert_eq!(diagnostics.lock().expect("no pass panics").len(), 1, "one remark for the one convert");
    insta::assert_snapshot!(module.as_operation().to_string());
}

#[test]
fn a_program_built_in_rust_is_adopted_by_the_session_of_its_context() {
    let (session, other) = (session("jax", false, false), crate::support::session("jax", false, false));
    let mut module = session.adopt(program(session.context(), joined)).expect("it is valid");
    let verdict = session.run(&mut module, &Pipeline::default(), &RunOptions::default());
    assert_eq!(verdict, Ok(Verdict::Done), "{:?}", session.take_diagnostics());
    assert_eq!(module.melior().as_operation().to_string().matches("promote.convert").count(), 1);

    assert!(session.adopt(program(other.context(), joined)).is_none());
    let refused = session.take_diagnostics();
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].message.contains("another context"), "{refused:?}");
}

#[test]
fn a_program_built_in_rust_with_ops_that_follow_rules_is_adopted_unverified() {
    let semantics = promote::Semantics::by_name("jax", false).expect("jax is known");
    let rules = Arc::new(Rules::new(vec![OpRules::shipped("linalg").expect("the rules are shipped")]));
    let options = Options { op_rules: Arc::clone(&rules), ..Options::new(semantics) };
    let with_rules = Session::new(&options).expect("MLIR takes the dialect");
    let mut module = with_rules.adopt(program(with_rules.context(), sum)).expect("the rules allow it");
    let pipeline = Pipeline::default().and_op_rules(&rules);
    let verdict = with_rules.run(&mut module, &pipeline, &RunOptions::default());
    assert_eq!(verdict, Ok(Verdict::Done), "{:?}", with_rules.take_diagnostics());
    assert!(module.verify());
    assert!(module.melior().as_operation().to_string().contains("arith.extf"));

    let without = session("jax", false, false);
    assert!(without.adopt(program(without.context(), sum)).is_none());
    assert!(!without.take_diagnostics().is_empty());
}
