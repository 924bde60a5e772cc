//! Loops run in constant memory, whatever the blocks pass to each other: each iteration makes 4 MB, a thousand rounds may
//! take 1.5 GB of data.

use crate::PROMOTE_RUN;
use crate::support::{Run, Tool};

/// Runs @f for this many rounds on `tensor<1000000xf32>`, with so much memory for data.
fn run_for(rounds: usize, program: &str) -> Run {
    let tool =
        Tool::new().with("f.mlir", program).with("x.npy", crate::npy("<f4", "(1000000,)", &[0; 4_000_000]));
    let script =
        format!("ulimit -d 1500000; exec '{PROMOTE_RUN}' f.mlir --threads 1 -i x.npy -i {rounds} -o r.npy");
    tool.command("sh", "", ["-c", &script])
}

/// A loop of blocks; `branch` goes on or leaves, having made `%y` and `%z` of the carried `%a`.
fn program(branch: &str) -> String {
    format!(
        r#"!t = tensor<1000000xf32>
func.func private @next(%x: !t) -> !t {{
  %0 = "promote.add"(%x, %x) : (!t, !t) -> !t
  return %0 : !t
}}
func.func @f(%x: !t, %n: index) -> !t {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  cf.br ^head(%c0, %x : index, !t)
^head(%i: index, %a: !t):
  %y = "promote.negative"(%a) : (!t) -> !t
  %z = func.call @next(%y) : (!t) -> !t
  %j = arith.addi %i, %c1 : index
  %more = arith.cmpi slt, %j, %n : index
  {branch}
}}
"#
    )
}

#[test]
fn of_what_both_ways_are_passed_one_is_dropped() {
    let branch = "cf.cond_br %more, ^head(%j, %z : index, !t), ^done(%y : !t)
^done(%r: !t):
  return %r : !t";
    run_for(1000, &program(branch)).succeeded();
}

#[test]
fn the_same_tensor_is_passed_twice_and_used_after_the_branch() {
    let branch = "cf.cond_br %more, ^more(%z, %z : !t, !t), ^done(%z : !t)
^more(%p: !t, %q: !t):
  %s = \"promote.add\"(%p, %y) : (!t, !t) -> !t
  %t = \"promote.subtract\"(%s, %q) : (!t, !t) -> !t
  cf.br ^head(%j, %t : index, !t)
^done(%r: !t):
  return %r : !t";
    run_for(1000, &program(branch)).succeeded();
}

#[test]
fn cases_of_a_switch_are_passed_different_tensors() {
    let branch = "%case = arith.extui %more : i1 to i32
  cf.switch %case : i32, [
    default: ^head(%j, %y : index, !t),
    0: ^done(%a : !t),
    1: ^head(%j, %z : index, !t)
  ]
^done(%r: !t):
  return %r : !t";
    run_for(1000, &program(branch)).succeeded();
}
