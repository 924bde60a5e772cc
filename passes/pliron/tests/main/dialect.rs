//! The ops are those of the table, and refuse what they must.

use std::collections::HashSet;

use pliron::attribute::AttrObj;
use pliron::builtin::attributes::BoolAttr;
use pliron::context::Context;
use pliron::location::Location;
use pliron::op::Op as _;
use pliron::operation::{Operation, verify_operation};
use promote_host::ir::KINDS;
use promote_lattice::op::AttrKind;
use promote_lattice::{DType, Op};
use promote_pliron::attributes::{ElementsAttr, IntsAttr, integer};
use promote_pliron::dialect::{self, Parts, function, r#return, tensor, tensor_of, unknown};
use promote_pliron::types::{Element, TensorType};

use crate::programs::Program;

/// A value that an attribute of a kind may have.
pub fn attribute(context: &Context, kind: AttrKind) -> AttrObj {
    match kind {
        AttrKind::Ints => IntsAttr([0].into()).into(),
        AttrKind::Int | AttrKind::Number => integer(context, 0),
        AttrKind::Flag => BoolAttr::new(true).into(),
        AttrKind::Elements => {
            let shape = promote_infer::shape::Shape::ranked([2]);
            let of = TensorType::get(context, Element::DType(DType::F32), &shape);
            ElementsAttr::new(context, of, &[0x3f80_0000, 0x7fc0_0001]).expect("there are two").into()
        }
    }
}

/// A function with every op of the dialect, with all its attributes and the most operands.
pub fn every_op() -> Program {
    let mut program = Program::new(|context| (vec![tensor(context, DType::BF16, &[4])], vec![]));
    let x = program.argument(0);
    for op in Op::ALL.iter().copied() {
        let info = op.info();
        let operands = vec![x; info.arity.required + info.arity.optional];
        let attributes =
            info.attrs.iter().map(|spec| (spec.name, attribute(&program.context, spec.kind))).collect();
        let result = unknown(&program.context);
        let made = dialect::op(&mut program.context, op, &operands, attributes, result, Location::Unknown);
        program.put(made);
    }
    program.op("func.return", Parts::default());
    program
}

#[test]
fn every_op_of_the_table_is_one_of_pliron_and_verifies() {
    let program = every_op();
    program.verify();
    let names: Vec<String> =
        program.block.iter(&program.context).map(|op| name(&program.context, op)).collect();
    let table: Vec<String> =
        Op::ALL.iter().map(Op::to_string).chain(["promote_func.return".to_owned()]).collect();
    assert_eq!(names, table);
}

fn name(context: &Context, op: pliron::context::Ptr<Operation>) -> String {
    Operation::get_opid(op, context).to_string()
}

#[test]
fn the_ops_that_the_passes_know_are_there_but_for_those_of_affine() {
    let mut context = Context::new();
    let missing: Vec<_> = KINDS
        .iter()
        .map(|(name, _)| *name)
        .filter(|name| dialect::operation(&mut context, name, Parts::default(), Location::Unknown).is_none())
        .collect();
    assert_eq!(
        missing,
        ["builtin.module", "func.func", "affine.if", "affine.for", "affine.yield", "affine.parallel"]
    );
}

/// Of a function with one op: whether verification takes it.
fn verifies(op: Op, operands: usize, attributes: &[(&'static str, AttrKind)]) -> Result<(), String> {
    let mut context = Context::new();
    let x = tensor(&context, DType::F32, &[2]);
    let (function, entry) =
        function(&mut context, "f", &[x], &[], Location::Unknown).map_err(|error| error.to_string())?;
    let x = entry.deref(&context).get_argument(0);
    let attributes = attributes.iter().map(|(name, kind)| (*name, attribute(&context, *kind))).collect();
    let result = unknown(&context);
    let made = dialect::op(&mut context, op, &vec![x; operands], attributes, result, Location::Unknown);
    made.insert_at_back(entry, &context);
    r#return(&mut context, &[], Location::Unknown).insert_at_back(entry, &context);
    verify_operation(function.get_operation(), &context).map_err(|error| error.to_string())
}

#[test]
fn too_few_and_too_many_operands_are_refused() {
    let refused: HashSet<_> = [(Op::Add, 1), (Op::Add, 3), (Op::Concat, 0), (Op::Concat, 9), (Op::Where, 2)]
        .into_iter()
        .filter(|(op, operands)| {
            let attributes: &[_] = if *op == Op::Concat { &[("axis", AttrKind::Int)] } else { &[] };
            verifies(*op, *operands, attributes).is_err()
        })
        .collect();
    assert_eq!(refused.len(), 5);
    assert_eq!(verifies(Op::Concat, 8, &[("axis", AttrKind::Int)]), Ok(()));
}

#[test]
fn attributes_that_are_unknown_missing_or_of_another_kind_are_refused() {
    let unknown = verifies(Op::Sum, 1, &[("axes", AttrKind::Ints)]).expect_err("sum has no `axes`");
    assert!(unknown.contains("promote.sum has no attribute `axes`"), "{unknown}");
    assert!(unknown.contains("did you mean"), "{unknown}");
    let missing = verifies(Op::Reshape, 1, &[]).expect_err("reshape needs a shape");
    assert!(missing.contains("`shape`"), "{missing}");
    let other = verifies(Op::Sum, 1, &[("axis", AttrKind::Int)]).expect_err("a reduction takes a list");
    assert!(other.contains("must be written like"), "{other}");
    assert_eq!(verifies(Op::Sum, 1, &[("axis", AttrKind::Ints), ("keepdims", AttrKind::Flag)]), Ok(()));
}

#[test]
fn a_call_names_a_function_of_its_type() {
    let called = |callee: &str, result_dtype: DType| {
        let mut program = Program::new(|context| {
            let of = tensor(context, DType::F32, &[2]);
            (vec![of], vec![of])
        });
        let x = program.argument(0);
        let result = tensor(&program.context, result_dtype, &[2]);
        let name =
            pliron::builtin::attributes::IdentifierAttr::new(callee.try_into().expect("an identifier"));
        let attributes = vec![("callee", name.into())];
        program.op("func.call", Parts { operands: &[x], results: &[result], attributes, ..Parts::default() });
        program.op("func.return", Parts { operands: &[x], ..Parts::default() });
        verify_operation(program.module.get_operation(), &program.context).map_err(|error| error.to_string())
    };
    assert_eq!(called("main", DType::F32), Ok(()));
    assert!(called("nobody", DType::F32).is_err_and(|error| error.contains("no function is called nobody")));
    assert!(called("main", DType::I8).is_err_and(|error| error.contains("not of the type")));
}

#[test]
fn tensors_of_other_types_are_types_too() {
    let context = Context::new();
    let index = promote_pliron::types::IndexType::get(&context).into();
    let of = tensor_of(&context, Element::Other(index), &[3]);
    assert_eq!(
        of.deref(&context).downcast_ref::<TensorType>().expect("a tensor").element(),
        Element::Other(index)
    );
}
