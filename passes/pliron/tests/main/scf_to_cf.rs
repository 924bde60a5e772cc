//! Structured control flow becomes blocks, as upstream's `convert-scf-to-cf` writes them.

use pliron::builtin::op_interfaces::OneRegionInterface;
use pliron::builtin::ops::FuncOp;
use pliron::context::{Context, Ptr};
use pliron::linked_list::ContainsLinkedList;
use pliron::op::Op as _;
use pliron::operation::Operation;
use pliron::region::Region;
use promote_host::ir::Ir;
use promote_pliron::host::Host;
use promote_pliron::scf_to_cf::scf_to_cf;
use promote_pliron::text::{parse, print};
use promote_pliron::verify::verify;

use crate::text::control_flow;

const TENSOR: &str = "promote.tensor <4xf32>";

/// The blocks of a function with this body after the pass, each as its ops and where they go on to.
fn lowered(body: &str) -> Vec<String> {
    let body = body.replace("T", TENSOR).replace("I1", "builtin.integer i1").replace("IX", "promote.index ");
    let text = format!(
        "builtin.module @m {{ ^b(): builtin.func @f: builtin.function <({TENSOR}, builtin.integer i1, promote.index ) -> ({TENSOR})> {{
           ^entry(x: {TENSOR}, c: builtin.integer i1, n: promote.index ): {body} }} }}"
    );
    let mut context = Context::new();
    let module = parse(&mut context, &text, "scf.plir").unwrap_or_else(|error| panic!("{error:?}\n{text}"));
    verify(&context, module).unwrap_or_else(|error| panic!("{error:?}"));
    assert!(scf_to_cf(&mut context, module));
    verify(&context, module).unwrap_or_else(|error| panic!("{error:?}\n{}", print(&context, module)));
    assert!(!scf_to_cf(&mut context, module), "nothing is left");
    let region = region_of(&context, module);
    shape(&mut context, region)
}

fn region_of(context: &Context, module: Ptr<Operation>) -> Ptr<Region> {
    let body = module.deref(context).get_region(0).deref(context).get_head().expect("a body");
    let function = body.deref(context).get_head().expect("a function");
    Operation::get_op::<FuncOp>(function, context).expect("a function").get_region(context)
}

fn shape(context: &mut Context, region: Ptr<Region>) -> Vec<String> {
    let blocks: Vec<_> = region.deref(context).iter(context).collect();
    let host = Host::new(context);
    let of = |block: &Ptr<pliron::basic_block::BasicBlock>| {
        let number =
            |block| blocks.iter().position(|known| *known == block).expect("a block of the function");
        let op = |op: Ptr<Operation>| {
            let to: Vec<_> = host.successors(op).map(|to| format!(" ^{}", number(to))).collect();
            let operands =
                if to.is_empty() { String::new() } else { format!(" {}", host.operands(op).len()) };
            format!("{}{operands}{}", host.name_text(host.name(op)), to.concat())
        };
        let ops: Vec<_> = host.operations(*block).map(op).collect();
        format!("({}) {}", host.arguments(*block).len(), ops.join("; "))
    };
    blocks.iter().map(of).collect()
}

#[test]
fn a_condition_with_results() {
    let blocks = lowered(
        "r = promote_scf.if (c) [] []: <(I1) -> (T)> { ^t(): promote_scf.yield (x) [] []: <(T) -> ()> }
           { ^e(): y = promote.negative (x) [] []: <(T) -> (T)>; promote_scf.yield (y) [] []: <(T) -> ()> };
         promote_func.return (r) [] []: <(T) -> ()>",
    );
    assert_eq!(
        blocks,
        [
            "(3) cf.cond_br 1 ^1 ^2",
            "(0) cf.br 1 ^3",
            "(0) promote.negative; cf.br 1 ^3",
            "(1) cf.br 0 ^4",
            "(0) func.return"
        ]
    );
}

#[test]
fn a_condition_without_results_or_another_branch() {
    let blocks = lowered(
        "promote_scf.if (c) [] []: <(I1) -> ()> { ^t(): promote_scf.yield () [] []: <() -> ()> } { };
         promote_func.return (x) [] []: <(T) -> ()>",
    );
    assert_eq!(blocks, ["(3) cf.cond_br 1 ^1 ^2", "(0) cf.br 0 ^2", "(0) func.return"]);
}

#[test]
fn a_loop_in_a_loop() {
    let blocks = lowered(
        "r = promote_scf.for (n, n, n, x) [] []: <(IX, IX, IX, T) -> (T)> {
           ^o(i: IX, a: T):
             s = promote_scf.for (n, i, n, a) [] []: <(IX, IX, IX, T) -> (T)> {
               ^i(j: IX, b: T):
                 d = promote.add (b, b) [] []: <(T, T) -> (T)>;
                 promote_scf.yield (d) [] []: <(T) -> ()>
             };
             promote_scf.yield (s) [] []: <(T) -> ()>
         };
         promote_func.return (r) [] []: <(T) -> ()>",
    );
    assert_eq!(
        blocks,
        [
            "(3) cf.br 2 ^1",
            "(2) arith.cmpi; cf.cond_br 1 ^2 ^6",
            "(0) cf.br 2 ^3",
            "(2) arith.cmpi; cf.cond_br 1 ^4 ^5",
            "(0) promote.add; arith.addi; cf.br 2 ^3",
            "(0) arith.addi; cf.br 2 ^1",
            "(0) func.return"
        ]
    );
}

#[test]
fn a_loop_that_tests_first() {
    let blocks = lowered(
        "r = promote_scf.while (x) [] []: <(T) -> (T)> {
           ^t(a: T): promote_scf.condition (c, a) [] []: <(I1, T) -> ()> }
           { ^b(d: T): e = promote.negative (d) [] []: <(T) -> (T)>; promote_scf.yield (e) [] []: <(T) -> ()> };
         promote_func.return (r) [] []: <(T) -> ()>",
    );
    assert_eq!(
        blocks,
        ["(3) cf.br 1 ^1", "(1) cf.cond_br 2 ^2 ^3", "(1) promote.negative; cf.br 1 ^1", "(0) func.return"]
    );
}

#[test]
fn a_loop_that_tests_last_needs_no_body() {
    let blocks = lowered(
        "r = promote_scf.while (x) [] []: <(T) -> (T)> {
           ^t(a: T): e = promote.negative (a) [] []: <(T) -> (T)>; promote_scf.condition (c, e) [] []: <(I1, T) -> ()> }
           { ^b(d: T): promote_scf.yield (d) [] []: <(T) -> ()> };
         promote_func.return (r) [] []: <(T) -> ()>",
    );
    assert_eq!(blocks, ["(3) cf.br 1 ^1", "(1) promote.negative; cf.cond_br 2 ^1 ^2", "(0) func.return"]);
}

#[test]
fn a_switch_and_a_region_of_several_blocks() {
    let blocks = lowered(
        "r = promote_scf.index_switch (n) [] [promote_cases: promote.ints [5, -2]]: <(IX) -> (T)>
           { ^d(): promote_scf.yield (x) [] []: <(T) -> ()> }
           { ^f(): g = promote.negative (x) [] []: <(T) -> (T)>; promote_scf.yield (g) [] []: <(T) -> ()> }
           { ^h(): k = promote_scf.execute_region () [] []: <() -> (T)> {
               ^l(): promote_cf.br (x) [^m] []: <(T) -> ()>
               ^m(o: T): promote_scf.yield (o) [] []: <(T) -> ()> };
             promote_scf.yield (k) [] []: <(T) -> ()> };
         promote_func.return (r) [] []: <(T) -> ()>",
    );
    assert_eq!(
        blocks,
        [
            "(3) arith.index_cast; cf.switch 1 ^6 ^1 ^2",
            "(0) promote.negative; cf.br 1 ^7",
            "(0) cf.br 0 ^3",
            "(0) cf.br 1 ^4",
            "(1) cf.br 1 ^5",
            "(1) cf.br 1 ^7",
            "(0) cf.br 1 ^7",
            "(1) func.return"
        ]
    );
}

#[test]
fn what_wants_single_blocks_stays() {
    let mut program = control_flow();
    let module = program.module.get_operation();
    assert!(scf_to_cf(&mut program.context, module));
    verify(&program.context, module).unwrap_or_else(|error| panic!("{error:?}"));
    let text = print(&program.context, module);
    for gone in ["if", "for ", "while", "index_switch", "execute_region", "parallel", "reduce"] {
        assert!(!text.contains(&format!("promote_scf.{gone}")), "{gone}");
    }
    for kept in ["promote_scf.forall", "promote_tensor.generate"] {
        assert!(text.contains(kept), "{kept}");
    }
}

#[test]
fn a_loop_over_two_dimensions_carries_its_reduction_through_both() {
    let blocks = lowered(
        "r = promote_scf.parallel (n, n, n, n, n, n, x) [] []: <(IX, IX, IX, IX, IX, IX, T) -> (T)> {
           ^p(i: IX, j: IX):
             d = promote.negative (x) [] []: <(T) -> (T)>;
             k = promote_scf.if (c) [] []: <(I1) -> (T)> { ^t(): promote_scf.yield (d) [] []: <(T) -> ()> }
               { ^e(): promote_scf.yield (x) [] []: <(T) -> ()> };
             promote_scf.reduce (k) [] []: <(T) -> ()> {
               ^two(a: T, b: T): s = promote.add (a, b) [] []: <(T, T) -> (T)>;
                 promote_scf.reduce_return (s) [] []: <(T) -> ()> }
         };
         promote_scf.parallel (n, n, n) [] []: <(IX, IX, IX) -> ()> {
           ^q(o: IX): g = promote.negative (r) [] []: <(T) -> (T)>; promote_scf.reduce () [] []: <() -> ()>
         };
         promote_func.return (r) [] []: <(T) -> ()>",
    );
    assert_eq!(
        blocks,
        [
            "(3) cf.br 2 ^1",
            "(2) arith.cmpi; cf.cond_br 1 ^2 ^10",
            "(0) cf.br 2 ^3",
            "(2) arith.cmpi; cf.cond_br 1 ^4 ^9",
            "(0) promote.negative; cf.cond_br 1 ^5 ^6",
            "(0) cf.br 1 ^7",
            "(0) cf.br 1 ^7",
            "(1) cf.br 0 ^8",
            "(0) promote.add; arith.addi; cf.br 2 ^3",
            "(0) arith.addi; cf.br 2 ^1",
            "(0) cf.br 1 ^11",
            "(1) arith.cmpi; cf.cond_br 1 ^12 ^13",
            "(0) promote.negative; arith.addi; cf.br 1 ^11",
            "(0) func.return"
        ]
    );
}

#[test]
fn branches_out_of_regions_are_placed_as_upstream_places_them() {
    let text = "builtin.module @m { ^b(): builtin.func @f: builtin.function <(builtin.integer i1, promote.index ) -> ()> {
      ^entry(c: builtin.integer i1, n: promote.index ):
        promote_scf.while () [] []: <() -> ()> {
          ^t():
            promote_scf.condition (c) [] []: <(builtin.integer i1) -> ()> } {
          ^b():
            nothing = promote_ub.poison () [] []: <() -> (promote.index )>;
            promote_scf.yield () [] []: <() -> ()> };
        promote_scf.index_switch (n) [] [promote_cases: promote.ints []]: <(promote.index ) -> ()> {
          ^d():
            promote_scf.yield () [] []: <() -> ()> };
        promote_scf.if (c) [] []: <(builtin.integer i1) -> ()> {
          ^y():
            promote_scf.yield () [] []: <() -> ()> } { };
        promote_func.return () [] []: <() -> ()> } }";
    let mut context = Context::new();
    let module = parse(&mut context, text, "scf.plir").unwrap_or_else(|error| panic!("{error:?}"));
    assert!(scf_to_cf(&mut context, module));
    let region = region_of(&context, module);
    let blocks: Vec<_> = region.deref(&context).iter(&context).collect();
    let host = Host::new(&mut context);
    let line = |block: &_| {
        let end = host.last(*block).expect("a block has an end");
        let line = host.location(end).expect("what is read has a place").line;
        format!("{} {line}", host.name_text(host.name(end)))
    };
    let ends: Vec<_> = blocks.iter().map(line).collect();
    assert_eq!(
        ends,
        [
            "cf.br 3",
            "cf.cond_br 5",
            "cf.br 8",
            "cf.switch 9",
            "cf.br 11",
            "cf.cond_br 12",
            "cf.br 12",
            "func.return 15"
        ]
    );
}

#[test]
fn many_ops_in_one_block_are_moved_once_each() {
    let one = |i: usize| {
        format!("r{i} = promote_scf.if (c) [] []: <(I1) -> (T)> {{ ^t{i}(): promote_scf.yield (x) [] []: <(T) -> ()> }}
           {{ ^e{i}(): promote_scf.yield (x) [] []: <(T) -> ()> }};")
    };
    let body: String = (0..3000).map(one).collect();
    let blocks = lowered(&format!("{body} promote_func.return (r2999) [] []: <(T) -> ()>"));
    assert_eq!(blocks.len(), 1 + 4 * 3000);
}
