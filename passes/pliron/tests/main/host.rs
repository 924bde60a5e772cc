//! The host, method by method.

use pliron::attribute::AttrObj;
use pliron::builtin::attributes::{BoolAttr, StringAttr};
use pliron::combine::stream::position::SourcePosition;
use pliron::context::{Context, Ptr};
use pliron::location::{Location, Source};
use pliron::op::Op as _;
use pliron::operation::Operation;
use pliron::value::Value;
use promote_dialect::attrs::Value as Attribute;
use promote_host::ir::{Element, Flow, Ir, Kind, Mark, New, Signature, ValueIds, Visibility};
use promote_infer::graph::ValueId;
use promote_infer::shape::{DYNAMIC, Shape};
use promote_infer::strict;
use promote_lattice::{DType, Op};
use promote_pliron::attributes::{IntsAttr, VISIBILITY, integer};
use promote_pliron::dialect::{self, Parts, tensor, unknown};
use promote_pliron::host::{Host, Ids};

use crate::dialect::every_op;
use crate::programs::Program;
use crate::text::control_flow;

/// `main(x, y)` with `first = x + y`, `second = first * x` and `third = -first`.
fn arithmetic() -> (Program, [Ptr<Operation>; 3]) {
    let mut program = Program::new(|context| {
        let of = tensor(context, DType::F32, &[2, DYNAMIC]);
        (vec![of, of], vec![])
    });
    let (x, y) = (program.argument(0), program.argument(1));
    let result = unknown(&program.context);
    let first = program.promote(Op::Add, &[x, y], result);
    let second = program.promote(Op::Multiply, &[first, x], result);
    let third = program.promote(Op::Negative, &[first], result);
    program.op("func.return", Parts::default());
    let ops = [first, second, third].map(|value| value.defining_op().expect("an op defines it"));
    (program, ops)
}

fn order(host: &Host<'_>, first: Ptr<Operation>) -> Vec<String> {
    let block = host.block(first);
    host.operations(block).map(|op| host.name_text(host.name(op))).collect()
}

#[test]
fn how_ops_blocks_and_regions_stand_to_each_other() {
    let (mut program, [first, second, third]) = arithmetic();
    let (function, module, block) =
        (program.function.get_operation(), program.module.get_operation(), program.block);
    let host = Host::new(&mut program.context);
    assert_eq!(host.parent(first), Some(function));
    assert_eq!(host.parent(function), Some(module));
    assert_eq!(host.parent(module), None);
    assert_eq!(host.block(first), block);
    assert_eq!([host.next(first), host.next(second)], [Some(second), Some(third)]);
    assert_eq!(host.parent_of_block(block), function);
    assert!(host.is_alone(block));
    assert!(host.has_regions(function) && !host.has_regions(first));
    assert_eq!(host.regions(function).collect::<Vec<_>>(), [host.region(block)]);
    assert_eq!(host.blocks(host.region(block)).collect::<Vec<_>>(), [block]);
    let last = host.last(block).expect("the block has ops");
    assert_eq!(host.name_text(host.name(last)), "func.return");
    assert_eq!(host.next(last), None);
    assert_eq!(order(&host, first), ["promote.add", "promote.multiply", "promote.negative", "func.return"]);
}

#[test]
fn which_of_two_ops_comes_first() {
    let (mut program, [first, second, third]) = arithmetic();
    let function = program.function.get_operation();
    let mut host = Host::new(&mut program.context);
    assert!(host.is_same_or_after(second, second) && host.is_same_or_after(third, first));
    assert!(!host.is_same_or_after(first, third) && !host.is_same_or_after(function, first));
    host.move_before(third, first);
    assert!(host.is_same_or_after(first, third) && !host.is_same_or_after(third, first));
}

#[test]
fn operands_results_and_users() {
    let (mut program, [first, second, third]) = arithmetic();
    let (x, y) = (program.argument(0), program.argument(1));
    let mut host = Host::new(&mut program.context);
    let value = host.result(first);
    assert_eq!(host.operands(second).collect::<Vec<_>>(), [value, x]);
    assert_eq!((host.operands(second).len(), host.results(second).len()), (2, 1));
    assert_eq!(host.operand(second, 1), x);
    assert_eq!([host.defining_op(value), host.defining_op(x)], [Some(first), None]);
    assert_eq!([host.argument_number(x), host.argument_number(y)], [0, 1]);
    assert_eq!(host.argument_block(y), host.block(first));
    // In the order in which the uses were made, once a use.
    assert_eq!(host.users(value).collect::<Vec<_>>(), [second, third]);
    host.set_operand(third, 0, x);
    assert_eq!(host.users(value).collect::<Vec<_>>(), [second]);
    host.set_operand(second, 1, value);
    assert_eq!(host.users(value).collect::<Vec<_>>(), [second, second]);
    host.replace_all_uses(value, y);
    assert!(!host.is_used(value));
    assert_eq!(host.operands(second).collect::<Vec<_>>(), [y, y]);
    assert!(host.is_used(y));
}

#[test]
fn types_are_as_mlir_writes_them() {
    let (mut program, [first, ..]) = arithmetic();
    let (x, function) = (program.argument(0), program.function.get_operation());
    let mut host = Host::new(&mut program.context);
    assert_eq!(host.type_text(host.value_type(x)), "tensor<2x?xf32>");
    assert_eq!(host.type_text(host.value_type(host.result(first))), "tensor<*x!promote.unknown>");
    assert_eq!(host.signature_text(function), "(tensor<2x?xf32>, tensor<2x?xf32>) -> ()");
    assert_eq!(host.signature_text(first), "");
    let weak = host.tensor_type(DType::WeakInt, &Shape::ranked([]));
    assert_eq!(host.type_text(weak), "tensor<!promote.weak_int>");
    let signature = Signature { inputs: vec![weak], results: vec![host.value_type(host.result(first))] };
    host.set_signature(function, &signature);
    assert_eq!(host.signature(function), Some(signature));
    assert_eq!(host.signature_text(function), "(tensor<!promote.weak_int>) -> tensor<*x!promote.unknown>");
    let found = host.tensor(host.value_type(x)).expect("a tensor");
    assert_eq!(found.element, Element::DType(DType::F32));
    assert_eq!(found.shape, Shape::ranked([2, DYNAMIC]));
    host.set_type(x, weak);
    assert_eq!(host.value_type(x), weak);
    // Names of extents are not kept.
    let named = host.tensor_type(DType::F32, &Shape::ranked([2, -7]));
    assert_eq!(host.type_text(named), "tensor<2x?xf32>");
}

#[test]
fn scalars_functions_and_other_types_are_written_too() {
    let mut context = Context::new();
    let texts: Vec<String> = {
        use pliron::builtin::types::{FunctionType, UnitType};
        let scalars = DType::ALL
            .iter()
            .map(|dtype| promote_pliron::types::scalar(&context, *dtype))
            .collect::<Vec<_>>();
        let inner = FunctionType::get(&context, vec![], vec![]).into();
        let outer = FunctionType::get(&context, vec![scalars[0]], vec![inner]).into();
        let pair = FunctionType::get(&context, vec![inner], vec![scalars[0], scalars[1]]).into();
        let unit = UnitType::get(&context).into();
        let host = Host::new(&mut context);
        assert!(host.mentions_promote(scalars[DType::WeakFloat as usize]));
        assert!(!host.mentions_promote(scalars[DType::F8E5M2 as usize]) && !host.mentions_unknown(outer));
        scalars.into_iter().chain([outer, pair, unit]).map(|of| host.type_text(of)).collect()
    };
    let expected: Vec<&str> = DType::ALL.iter().map(|dtype| dtype.mlir()).collect();
    assert_eq!(texts[..DType::COUNT], expected);
    assert_eq!(texts[DType::COUNT..], ["(i1) -> (() -> ())", "(() -> ()) -> (i1, ui8)", "none"]);
}

#[test]
fn types_of_the_dialect_are_found_in_others() {
    let mut context = Context::new();
    let unknown = unknown(&context);
    let weak = tensor(&context, DType::WeakInt, &[]);
    let strong = tensor(&context, DType::I8, &[]);
    let of =
        |inside| pliron::builtin::types::FunctionType::get(&context, vec![], vec![strong, inside]).into();
    let [of_unknown, of_weak, of_strong] = [of(unknown), of(weak), of(strong)];
    let host = Host::new(&mut context);
    assert_eq!([of_unknown, of_weak, of_strong].map(|of| host.mentions_promote(of)), [true, true, false]);
    assert_eq!([of_unknown, of_weak, of_strong].map(|of| host.mentions_unknown(of)), [true, false, false]);
}

#[test]
fn ops_are_put_moved_copied_and_erased() {
    let (mut program, [first, second, third]) = arithmetic();
    let x = program.argument(0);
    let mut host = Host::new(&mut program.context);
    let of = host.value_type(x);
    let convert = host.create(New::Convert, &[x], Some(of), second);
    host.insert_before(convert, second);
    assert!(host.is_marked(convert, Mark::Implicit));
    let copy = host.copy(third);
    assert_eq!(host.operands(copy).collect::<Vec<_>>(), host.operands(third).collect::<Vec<_>>());
    host.insert_after(copy, first);
    assert_eq!(
        order(&host, first),
        [
            "promote.add",
            "promote.negative",
            "promote.convert",
            "promote.multiply",
            "promote.negative",
            "func.return"
        ]
    );
    host.move_before(third, convert);
    host.move_before(third, third);
    host.erase(copy);
    host.erase(second);
    assert_eq!(order(&host, first), ["promote.add", "promote.negative", "promote.convert", "func.return"]);
    assert_eq!(host.users(host.result(first)).collect::<Vec<_>>(), [third]);
}

#[test]
fn a_copy_of_a_function_has_all_that_is_in_it() {
    let mut program = control_flow();
    let function = program.function.get_operation();
    let mut host = Host::new(&mut program.context);
    let copy = host.copy(function);
    host.insert_before(copy, function);
    host.set_symbol(copy, &host.symbol_like("main.f32".to_owned()));
    assert_eq!(host.symbol(copy).as_deref(), Some("main_f32"));
    let blocks = |host: &Host<'_>, of| {
        host.regions(of).flat_map(|region| host.blocks(region).collect::<Vec<_>>()).count()
    };
    assert_eq!(blocks(&host, copy), blocks(&host, function));
    program.verify();
}

/// The ops in a block and in what is in it.
fn all(host: &Host<'_>, block: Ptr<pliron::basic_block::BasicBlock>, found: &mut Vec<Ptr<Operation>>) {
    for op in host.operations(block) {
        found.push(op);
        for region in host.regions(op) {
            host.blocks(region).for_each(|block| all(host, block, found));
        }
    }
}

#[test]
fn kinds_and_names_are_those_of_mlir() {
    let mut program = control_flow();
    let (function, module) = (program.function.get_operation(), program.module.get_operation());
    let host = Host::new(&mut program.context);
    let mut ops = Vec::new();
    host.regions(function)
        .for_each(|region| host.blocks(region).for_each(|block| all(&host, block, &mut ops)));
    let kind = |name: &str| {
        let found = ops.iter().find(|op| host.name_text(host.name(**op)) == name);
        host.kind(*found.unwrap_or_else(|| panic!("there is no {name}")))
    };
    for (name, expected) in promote_host::ir::KINDS.iter().filter(|(name, _)| !name.starts_with("affine.")) {
        if !["builtin.module", "func.func", "arith.select"].contains(name) {
            assert_eq!(kind(name), *expected, "{name}");
        }
    }
    assert_eq!(kind("promote.add"), Kind::Promote(Op::Add));
    assert_eq!(kind("scf.if"), Kind::Flow(Flow::Condition(strict::Kind::If)));
    assert_eq!([kind("cf.assert"), kind("index.constant"), kind("scf.forall.in_parallel")], [Kind::Other; 3]);
    assert_eq!(
        (host.kind(function), host.name_text(host.name(function))),
        (Kind::Function, "func.func".to_owned())
    );
    assert_eq!(
        (host.kind(module), host.name_text(host.name(module))),
        (Kind::Module, "builtin.module".to_owned())
    );
    let part = ops.iter().find(|op| host.kind(**op) == Kind::Flow(Flow::Part)).expect("there is one");
    assert_eq!(host.name_text(host.name(host.outside_of_combining(*part))), "scf.forall.in_parallel");
}

#[test]
fn attributes_are_those_of_the_row() {
    let mut program = every_op();
    let block = program.block;
    let mut host = Host::new(&mut program.context);
    let ops: Vec<_> = host.operations(block).collect();
    let of = |host: &Host<'_>, op: Op| host.attributes(ops[op as usize]);
    assert_eq!(of(&host, Op::Constant), [("value".to_owned(), Attribute::Elements)]);
    assert_eq!(
        of(&host, Op::Sum),
        [("axis".to_owned(), Attribute::Ints([0].into())), ("keepdims".to_owned(), Attribute::Flag(true))]
    );
    assert_eq!(of(&host, Op::Take), [("axis".to_owned(), Attribute::Int(0))]);
    assert!(!host.has_attributes(ops[Op::Add as usize]) && host.has_attributes(ops[Op::Sum as usize]));
    host.mark(ops[Op::Add as usize], Mark::Checked);
    assert_eq!(of(&host, Op::Add), [("promote.checked".to_owned(), Attribute::Other)]);
    assert!(host.is_marked(ops[Op::Add as usize], Mark::Checked));
    assert!(!host.is_marked(ops[Op::Add as usize], Mark::Implicit));
    // The marks do not offend verification.
    program.verify();
}

#[test]
fn constants_are_read_and_made() {
    let mut program = every_op();
    let block = program.block;
    let mut host = Host::new(&mut program.context);
    let constant = host.operations(block).next().expect("the first op is a constant");
    let written = host.written_type(constant).expect("it is written in a type");
    assert_eq!(host.type_text(written), "tensor<2xf32>");
    assert_eq!(host.elements(constant, DType::F32), Some(vec![0x3f80_0000, 0x7fc0_0001]));
    assert_eq!(host.elements(constant, DType::F64), None);
    host.mark(constant, Mark::Implicit);
    let of = host.tensor_type(DType::B1, &Shape::ranked([3]));
    let made = host.create_constant((&[1, 0, 1], DType::B1), of, of, constant);
    host.insert_after(made, constant);
    assert_eq!(host.elements(made, DType::B1), Some(vec![1, 0, 1]));
    assert!(host.is_marked(made, Mark::Implicit));
    let splat = host.create_constant((&[1], DType::B1), of, of, constant);
    host.insert_after(splat, constant);
    assert_eq!(host.elements(splat, DType::B1), Some(vec![1]));
}

#[test]
fn what_passes_make_verifies() {
    let (mut program, [first, ..]) = arithmetic();
    let (x, block) = (program.argument(0), program.block);
    let mut host = Host::new(&mut program.context);
    let put = |host: &mut Host<'_>, new: New<'_>, operands: &[Value], result| {
        let made = host.create(new, operands, result, first);
        host.insert_before(made, first);
        host.results(made).next()
    };
    let of = host.value_type(x);
    let zero = put(&mut host, New::Index(0), &[], None).expect("a result");
    let rank = put(&mut host, New::Rank, &[x], None).expect("a result");
    let dim = put(&mut host, New::Dim, &[x, zero], None).expect("a result");
    let product = put(&mut host, New::Multiply, &[dim, rank], None).expect("a result");
    let rest = put(&mut host, New::Remainder, &[product, rank], None).expect("a result");
    let equal = put(&mut host, New::Equal, &[rest, zero], None).expect("a result");
    let differs = put(&mut host, New::NotEqual, &[rest, zero], None).expect("a result");
    let either = put(&mut host, New::Or, &[equal, differs], None).expect("a result");
    put(&mut host, New::Assert("it holds"), &[either], None);
    put(&mut host, New::Poison, &[], Some(of));
    put(&mut host, New::Cast, &[x], Some(of));
    let broadcast = New::Broadcast { shape: &[3, 2, 2], is_implicit: false, is_checked: true };
    let broadcast = put(&mut host, broadcast, &[x], Some(of)).and_then(|value| host.defining_op(value));
    let broadcast = broadcast.expect("an op defines it");
    assert!(host.is_marked(broadcast, Mark::Checked) && !host.is_marked(broadcast, Mark::Implicit));
    assert_eq!(host.attributes(broadcast)[0], ("shape".to_owned(), Attribute::Ints([3, 2, 2].into())));
    let texts: Vec<String> = [rank, either].map(|value| host.type_text(host.value_type(value))).into();
    assert_eq!(texts, ["index", "i1"]);
    let names: Vec<String> = host.operations(block).map(|op| host.name_text(host.name(op))).collect();
    assert_eq!(names[..4], ["arith.constant", "tensor.rank", "tensor.dim", "arith.muli"]);
    program.verify();
}

#[test]
fn places_lead_through_names_calls_and_fusions() {
    let (mut program, [first, second, third]) = arithmetic();
    let context = &program.context;
    let at = |file: &str, line| Location::SrcPos {
        src: Source::new_from_file(context, file),
        pos: SourcePosition { line, column: 4 },
    };
    let named = Location::Named { name: "n".to_owned(), child_loc: Box::new(at("a.py", 1)) };
    let called = Location::CallSite { callee: Box::new(at("b.py", 2)), caller: Box::new(at("c.py", 3)) };
    let fused =
        Location::Fused { metadata: None, locations: vec![Location::Unknown, called.clone(), named.clone()] };
    let argument = at("d.py", 5);
    for (op, location) in [(first, named), (second, called), (third, fused)] {
        op.deref_mut(context).set_loc(location);
    }
    program.block.deref_mut(context).set_loc(at("block.py", 9));
    dialect::set_argument_locations(context, program.block, vec![Location::Unknown, argument]);
    let (x, y, function) = (program.argument(0), program.argument(1), program.function.get_operation());
    let host = Host::new(&mut program.context);
    let text = |place: Option<promote_diagnostics::Location>| place.map(|place| place.to_string());
    let places: Vec<_> = [first, second, third, function].map(|op| text(host.location(op))).into();
    assert_eq!(
        places,
        [Some("a.py:1:4".to_owned()), Some("b.py:2:4".to_owned()), Some("b.py:2:4".to_owned()), None]
    );
    assert_eq!(text(host.location_of_argument(y)).as_deref(), Some("d.py:5:4"));
    assert_eq!(text(host.location_of_argument(x)).as_deref(), Some("block.py:9:4"));
}

#[test]
fn functions_say_who_sees_them_and_calls_whom_they_call() {
    let mut program = control_flow();
    let function = program.function.get_operation();
    let mut host = Host::new(&mut program.context);
    assert_eq!(host.visibility(function), Visibility::Private);
    let mut ops = Vec::new();
    host.regions(function)
        .for_each(|region| host.blocks(region).for_each(|block| all(&host, block, &mut ops)));
    let call = ops.into_iter().find(|op| host.kind(*op) == Kind::Call).expect("there is a call");
    assert_eq!(host.callee(call).as_deref(), Some("main"));
    assert!(host.symbols_named(call).is_empty(), "the callee does not count");
    host.set_callee(call, "other");
    assert_eq!(host.callee(call).as_deref(), Some("other"));
    assert_eq!(host.symbol_like("main".to_owned()), "main");
    assert_eq!(host.symbol_like("8 ü".to_owned()), "_8__");
    assert_eq!(host.symbol_like(String::new()), "_");
    for (text, expected) in [("public", Visibility::Public), ("nested", Visibility::Other)] {
        function.deref_mut(&program.context).attributes.set(VISIBILITY, StringAttr::new(text.to_owned()));
        assert_eq!(Host::new(&mut program.context).visibility(function), expected);
    }
}

#[test]
fn branches_have_successors() {
    let mut program = control_flow();
    let function = program.function.get_operation();
    let host = Host::new(&mut program.context);
    let region = host.regions(function).next().expect("a function has a region");
    let blocks: Vec<_> = host.blocks(region).collect();
    let switch = host.last(blocks[0]).expect("the block has an end");
    assert_eq!(host.successors(switch).collect::<Vec<_>>(), blocks[1..]);
    assert!(!host.is_alone(blocks[0]) && !host.is_alone(blocks[2]));
}

#[test]
fn thousands_of_arguments_and_results_are_told_apart() {
    const COUNT: usize = 3000;
    let mut program = Program::new(|context| {
        let types = |dtype| vec![tensor(context, dtype, &[1]); COUNT / 2];
        ([types(DType::F32), types(DType::I8)].concat(), vec![])
    });
    let results: Vec<_> =
        [DType::U8, DType::F64].map(|dtype| tensor(&program.context, dtype, &[2])).repeat(COUNT / 2);
    let call = program.op("func.call", Parts { results: &results, ..Parts::default() });
    let block = program.block;
    let mut host = Host::new(&mut program.context);
    let arguments: Vec<_> = host.arguments(block).collect();
    assert_eq!(arguments.len(), COUNT);
    assert!(arguments.iter().enumerate().all(|(index, value)| host.argument_number(*value) == index));
    assert_eq!(host.type_text(host.value_type(arguments[COUNT - 1])), "tensor<1xi8>");
    let weak = host.tensor_type(DType::WeakInt, &Shape::ranked([]));
    host.set_type(arguments[COUNT - 1], weak);
    assert_eq!(host.value_type(arguments[COUNT - 1]), weak);
    let types: Vec<_> = host.results(call).map(|value| host.value_type(value)).collect();
    assert_eq!(types, results);
}

#[test]
fn ids_are_of_one_value_each() {
    let (program, _) = arithmetic();
    let mut values = vec![program.argument(0), program.argument(1)];
    values.extend(
        program
            .block
            .iter(&program.context)
            .flat_map(|op: Ptr<Operation>| op.deref(&program.context).results().collect::<Vec<_>>()),
    );
    let mut ids = Ids::default();
    for (index, value) in values.iter().enumerate() {
        assert_eq!(ids.get(*value), None);
        ids.insert(*value, ValueId(index as u32));
    }
    assert!(values.iter().enumerate().all(|(index, value)| ids.get(*value) == Some(ValueId(index as u32))));
}

#[test]
fn keys_without_the_prefix_are_somebody_elses() {
    let (mut program, [first, ..]) = arithmetic();
    let others: [(&str, AttrObj); 3] = [
        ("axis", integer(&program.context, 0)),
        ("cube_note", BoolAttr::new(true).into()),
        ("promote_axes", IntsAttr([1].into()).into()),
    ];
    for (key, value) in others {
        first.deref_mut(&program.context).attributes.0.insert(key.try_into().expect("an identifier"), value);
    }
    let host = Host::new(&mut program.context);
    assert_eq!(host.attributes(first), [("axes".to_owned(), Attribute::Ints([1].into()))]);
}
