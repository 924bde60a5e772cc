//! Dynamic extents: what is known of them statically, and what is checked at run time.

use std::fmt::Write as _;

use promote::{DType, Pipeline, PrintOptions, RunOptions, Semantics, Source, Verdict};
use promote_reference::{Array, Reader, Value};

use crate::flow_support::{cases, show};
use crate::support::session;

cases! {
    two_dynamic_extents_meet_and_are_checked_once, r#"
func.func @f(%x: tensor<?xf32>, %y: tensor<?xbf16>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<?xf32>, tensor<?xbf16>) -> !u
  %1 = "promote.multiply"(%0, %x) : (!u, tensor<?xf32>) -> !u
  %2 = "promote.multiply"(%x, %1) : (tensor<?xf32>, !u) -> !u
  return %2 : !u
}"#;
    a_dynamic_extent_meets_a_static_one, r#"
func.func @f(%x: tensor<?xf32>, %y: tensor<4xbf16>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<?xf32>, tensor<4xbf16>) -> !u
  return %0 : !u
}"#;
    a_result_states_an_extent_that_its_operands_do_not_give, r#"
func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<4xf32> {
  %0 = "promote.add"(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}"#;
    a_relax_states_an_extent, r#"
func.func @f(%x: tensor<?xf32>) -> tensor<4xf32> {
  %0 = "promote.negative"(%x) : (tensor<?xf32>) -> !u
  %1 = "promote.relax"(%0) : (!u) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}"#;
    jax_takes_nothing_of_an_axis_that_a_run_finds_empty, r#"
func.func @f(%x: tensor<?x3xf32>, %e: tensor<0x3xf32>, %i: tensor<?xi32>, %j: tensor<2xi32>) -> (!u, !u, !u, !u) {
  %0 = "promote.take"(%x, %i) {axis = 0} : (tensor<?x3xf32>, tensor<?xi32>) -> !u
  %1 = "promote.take"(%x, %j) {axis = 0} : (tensor<?x3xf32>, tensor<2xi32>) -> !u
  %2 = "promote.take"(%e, %i) {axis = 0} : (tensor<0x3xf32>, tensor<?xi32>) -> !u
  %3 = "promote.take"(%x, %i) {axis = 1} : (tensor<?x3xf32>, tensor<?xi32>) -> !u
  return %0, %1, %2, %3 : !u, !u, !u, !u
}"#;
    a_minus_one_beside_an_extent_of_0_is_refused_though_no_extent_is_known, r#"
func.func @f(%x: tensor<?xf32>) -> !u {
  %0 = "promote.reshape"(%x) {shape = array<i64: 0, -1>} : (tensor<?xf32>) -> !u
  return %0 : !u
}"#;
    contraction_reshape_squeeze_and_a_maximum_are_checked, r#"
func.func @f(%x: tensor<?x?xf32>, %y: tensor<?x8xf32>) -> !u {
  %0 = "promote.matmul"(%x, %y) : (tensor<?x?xf32>, tensor<?x8xf32>) -> !u
  %1 = "promote.reshape"(%0) {shape = array<i64: -1, 4>} : (!u) -> !u
  %2 = "promote.squeeze"(%x) {axis = array<i64: 0>} : (tensor<?x?xf32>) -> !u
  %3 = "promote.max"(%2) : (!u) -> !u
  %4 = "promote.add"(%1, %3) : (!u, !u) -> !u
  return %4 : !u
}"#;
    a_carry_grows_in_a_run, r#"
func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = "promote.relax"(%x) : (tensor<?xf32>) -> !u
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i) -> (!u) {
    %b = "promote.add"(%a, %y) : (!u, tensor<?xf32>) -> !u
    scf.yield %b : !u
  }
  %s = "promote.add"(%r, %x) : (!u, tensor<?xf32>) -> !u
  return %s : !u
}"#;
    a_carry_keeps_its_extents_and_needs_no_check, r#"
func.func @f(%x: tensor<?xf32>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = "promote.relax"(%x) : (tensor<?xf32>) -> !u
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i) -> (!u) {
    %b = "promote.add"(%a, %a) : (!u, !u) -> !u
    scf.yield %b : !u
  }
  %s = "promote.add"(%r, %x) : (!u, tensor<?xf32>) -> !u
  return %s : !u
}"#;
    branches_with_dynamic_and_static_extents, r#"
func.func @f(%x: tensor<?xf32>, %y: tensor<f32>, %z: tensor<4xf16>, %c: i1) -> (!u, !u) {
  %r:2 = scf.if %c -> (!u, !u) {
    %a = "promote.relax"(%x) : (tensor<?xf32>) -> !u
    scf.yield %a, %a : !u, !u
  } else {
    %b = "promote.relax"(%y) : (tensor<f32>) -> !u
    %d = "promote.relax"(%z) : (tensor<4xf16>) -> !u
    scf.yield %b, %d : !u, !u
  }
  return %r#0, %r#1 : !u, !u
}"#;
    what_is_concatenated_is_equal_in_the_other_dimensions, r#"
func.func @f(%x: tensor<?x?xf32>, %y: tensor<?x3xbf16>) -> !u {
  %0 = "promote.concat"(%x, %y) {axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<?x?xf32>, tensor<?x3xbf16>) -> !u
  return %0 : !u
}"#;
    an_unranked_value_meets_a_stated_rank, r#"
func.func @f(%x: tensor<*xf32>) -> tensor<?x4xf32> {
  %0 = "promote.negative"(%x) : (tensor<*xf32>) -> !u
  %1 = "promote.relax"(%0) : (!u) -> tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}"#;
    an_unranked_operand_might_broadcast, r#"
func.func @f(%x: tensor<*xf32>, %y: tensor<4xf32>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<*xf32>, tensor<4xf32>) -> !u
  return %0 : !u
}"#;
    a_check_in_a_branch_does_not_hold_after_it, r#"
func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>, %c: i1) -> (!u, !u) {
  %r = scf.if %c -> !u {
    %0 = "promote.add"(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> !u
    scf.yield %0 : !u
  } else {
    %a = "promote.relax"(%x) : (tensor<?xf32>) -> !u
    scf.yield %a : !u
  }
  %1 = "promote.multiply"(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> !u
  return %r, %1 : !u, !u
}"#;
    a_check_before_a_branch_holds_in_it, r#"
func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>, %c: i1) -> (!u, !u) {
  %1 = "promote.multiply"(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> !u
  %r = scf.if %c -> !u {
    %0 = "promote.add"(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> !u
    scf.yield %0 : !u
  } else {
    scf.yield %1 : !u
  }
  return %r, %1 : !u, !u
}"#;
    an_extent_of_a_loop_means_another_one_in_each_round, r#"
func.func @f(%x: tensor<?xf32>, %n: index) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %i = "promote.relax"(%x) : (tensor<?xf32>) -> !u
  %r = scf.for %k = %c0 to %n step %c1 iter_args(%a = %i) -> (!u) {
    %b = "promote.slice"(%a) {start = array<i64: 1>, stop = array<i64: 9223372036854775807>, step = array<i64: 1>} : (!u) -> !u
    scf.yield %b : !u
  }
  %s = "promote.add"(%r, %x) : (!u, tensor<?xf32>) -> !u
  return %s : !u
}"#;
    three_operands_with_dynamic_extents, r#"
func.func @f(%c: tensor<?xi1>, %x: tensor<3x?xf32>, %y: tensor<bf16>) -> !u {
  %0 = "promote.where"(%c, %x, %y) : (tensor<?xi1>, tensor<3x?xf32>, tensor<bf16>) -> !u
  return %0 : !u
}"#;
    an_argument_states_less_than_is_passed_and_more, r#"
func.func @f(%x: tensor<?xf32>) -> !u {
  %a = "promote.relax"(%x) : (tensor<?xf32>) -> tensor<4xf32>
  %0 = call @g(%a) : (tensor<4xf32>) -> !u
  return %0 : !u
}
func.func private @g(%x: tensor<4xf32>) -> !u {
  %0 = "promote.exp"(%x) : (tensor<4xf32>) -> !u
  return %0 : !u
}"#;
    a_broadcast_that_the_author_wrote, r#"
func.func @f(%x: tensor<?xf32>, %y: tensor<?x4xf32>) -> (!u, !u) {
  %0 = "promote.broadcast_to"(%x) {shape = array<i64: 2, 4>} : (tensor<?xf32>) -> !u
  %1 = "promote.broadcast_to"(%x, %y) {shape = array<i64: -9223372036854775808, 4>} : (tensor<?xf32>, tensor<?x4xf32>) -> !u
  return %0, %1 : !u, !u
}"#;
    a_batch_that_is_static_in_one_operand_of_matmul, r#"
func.func @mm(%a: tensor<4x?x?xf32>, %b: tensor<?x?x?xf32>) -> !u {
  %r = "promote.matmul"(%a, %b) : (tensor<4x?x?xf32>, tensor<?x?x?xf32>) -> !u
  return %r : !u
}"#;
    a_name_that_a_loop_does_not_keep, r#"
func.func @main(%c: i1, %n: index, %x0: tensor<?x!promote.weak_int>, %x1: tensor<1xi32>) -> !u {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %v14 = "promote.relax"(%x0) : (tensor<?x!promote.weak_int>) -> !u
  %v13 = scf.for %v18 = %c0 to %n step %c1 iter_args(%v17 = %v14) -> (!u) {
    %v19 = scf.if %c -> !u {
      %v21 = "promote.relax"(%x1) : (tensor<1xi32>) -> !u
      scf.yield %v21 : !u
    } else {
      scf.yield %v17 : !u
    }
    scf.yield %v19 : !u
  }
  %v31 = scf.for %v33 = %c0 to %n step %c1 iter_args(%v32 = %v13) -> (!u) {
    %v34 = "promote.negative"(%v32) : (!u) -> !u
    scf.yield %v34 : !u
  }
  %v60 = "promote.multiply"(%v13, %x1) : (!u, tensor<1xi32>) -> !u
  %v68 = "promote.maximum"(%v60, %v31) : (!u, !u) -> !u
  return %v68 : !u
}"#;
    what_is_stated_of_unranked_results, r#"
func.func @ext(%b: tensor<*xf32>) -> tensor<4x?xf32> {
  %n = "promote.relax"(%b) : (tensor<*xf32>) -> tensor<4x?xf32>
  return %n : tensor<4x?xf32>
}
func.func @neg(%b: tensor<*xf32>) -> tensor<4x4xf32> {
  %n = "promote.negative"(%b) : (tensor<*xf32>) -> tensor<4x4xf32>
  return %n : tensor<4x4xf32>
}
func.func @conv(%b: tensor<*xf32>) -> tensor<4xf16> {
  %n = "promote.convert"(%b) : (tensor<*xf32>) -> tensor<4xf16>
  return %n : tensor<4xf16>
}
func.func @conv2(%b: tensor<?xf32>) -> tensor<4xf16> {
  %n = "promote.convert"(%b) : (tensor<?xf32>) -> tensor<4xf16>
  return %n : tensor<4xf16>
}
func.func @chk(%a: tensor<?x?xf32>, %b: tensor<?x?xf32>) -> tensor<?x?xf32> {
  %n = "promote.matmul"(%a, %b) {promote.checked} : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>
  return %n : tensor<?x?xf32>
}"#;
    a_public_result_keeps_its_dynamic_extent, r#"
func.func private @g(%a: !u) -> !u {
  return %a : !u
}
func.func @f(%x: tensor<4xf32>, %c : i1) -> tensor<?xf32> {
  %r = "promote.add"(%x, %x) : (tensor<4xf32>, tensor<4xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}
func.func @caller(%x: tensor<4xf32>, %c: i1) -> tensor<?xf32> {
  %r = func.call @f(%x, %c) : (tensor<4xf32>, i1) -> tensor<?xf32>
  return %r : tensor<?xf32>
}"#;
}

/// An extent has a name for what a few broadcast to. Beyond that nothing is known, and every operand counts.
#[test]
fn more_extents_meet_than_a_name_is_made_of() {
    (14..=18).for_each(many_extents_meet);
}

/// Adds up so many arrays, and chooses between the sum and one more.
fn many_extents_meet(count: usize) {
    let unknown = "tensor<*x!promote.unknown>";
    let arguments: Vec<_> = (0..count).map(|i| format!("%x{i}: tensor<?xf32>")).collect();
    let mut text = format!(
        "func.func @f(%c: tensor<?xi1>, {}, %y: tensor<?xf32>) -> {unknown} {{\n  %s0 = \"promote.negative\"(%x0) : (tensor<?xf32>) -> \
         {unknown}\n",
        arguments.join(", ")
    );
    for i in 1..count {
        let _ = writeln!(
            text,
            "  %s{i} = \"promote.add\"(%s{}, %x{i}) : ({unknown}, tensor<?xf32>) -> {unknown}",
            i - 1
        );
    }
    let _ = writeln!(
        text,
        "  %w = \"promote.where\"(%c, %s{}, %y) : (tensor<?xi1>, {unknown}, tensor<?xf32>) -> {unknown}\n  return %w : {unknown}\n}}",
        count - 1
    );
    let session = session("jax", false, false);
    let mut module = session.parse(Source::Text(&text)).expect("the program is well formed");
    let verdict = session.run(&mut module, &Pipeline::default(), &RunOptions::default());
    assert_eq!(verdict, Ok(Verdict::Done));
    let mut strong = Vec::new();
    module
        .print(&mut strong, PrintOptions { generic: true, debug_info: false })
        .expect("a vector can be written to");
    let strong = String::from_utf8(strong).expect("MLIR prints UTF-8");

    let reader = Reader::new().expect("MLIR takes the dialect");
    let semantics = Semantics::by_name("jax", false).expect("jax is known");
    let one = || Value::Array(Array::of_reals(DType::F32, &[1], &[2.0]));
    // All are 1 long but one, wherever that is.
    for long in [0, 1, count, count + 1] {
        let mut arguments = vec![Value::Array(Array::of_ints(DType::B1, &[1], &[1]))];
        arguments.extend((0..=count).map(|_| one()));
        arguments[long] = match long {
            0 => Value::Array(Array::of_ints(DType::B1, &[3], &[1, 0, 1])),
            _ => Value::Array(Array::of_reals(DType::F32, &[3], &[1.0, 3.0, 5.0])),
        };
        let run = |text: &str| reader.read(text).and_then(|read| read.run(&semantics, "f", &arguments));
        let (before, after) = (run(&text).expect("it runs"), run(&strong).expect("it runs, made explicit"));
        assert_eq!(before.results, after.results, "argument {long} of {count} is 3 long");
        assert_eq!(after.implicit, 0, "argument {long} of {count} is 3 long");
    }
}
