//! Programs come back from their text as they were.

use pliron::attribute::AttrObj;
use pliron::builtin::attributes::StringAttr;
use pliron::builtin::types::FunctionType;
use pliron::context::{Context, Ptr};
use pliron::irbuild::cloning::IrMapping;
use pliron::irbuild::equivalence::{EqResult, IGNORE_LOC_NAMES, operation_eq};
use pliron::operation::Operation;
use pliron::r#type::TypeHandle;
use promote_diagnostics::Code;
use promote_infer::shape::{DYNAMIC, Shape};
use promote_lattice::{DType, Op};
use promote_pliron::attributes::{ElementsAttr, IndexAttr, IntsAttr, NumberAttr};
use promote_pliron::dialect::{self, Parts, result_of, tensor, tensor_of, unknown, unranked};
use promote_pliron::text::{parse, print};
use promote_pliron::types::{Element, IndexType, TensorType, scalar};

use pliron::op::Op as _;

use crate::dialect::every_op;
use crate::programs::Program;

/// The program that is read from the text of one.
fn again(program: &mut Program) -> Ptr<Operation> {
    let text = print(&program.context, program.module.get_operation());
    parse(&mut program.context, &text, "again.plir").unwrap_or_else(|error| panic!("{error:?}\n{text}"))
}

fn comes_back(mut program: Program) {
    let (written, read) = (program.module.get_operation(), again(&mut program));
    let context = &program.context;
    pliron::operation::verify_operation(read, context).unwrap_or_else(|error| panic!("{error}"));
    let same = operation_eq(context, &mut IrMapping::new(), written, read, &IGNORE_LOC_NAMES);
    assert_eq!(same, EqResult::Eq, "{}\n{}", print(context, written), print(context, read));
}

#[test]
fn every_op_of_the_dialect_with_every_attribute() {
    comes_back(every_op());
}

#[test]
fn every_type() {
    let types = |context: &Context| {
        let mut types: Vec<TypeHandle> =
            DType::ALL.iter().map(|dtype| tensor(context, *dtype, &[2, DYNAMIC, 0])).collect();
        types.extend(DType::ALL.iter().map(|dtype| scalar(context, *dtype)));
        types.extend([unranked(context, DType::I1), unknown(context), IndexType::get(context).into()]);
        types.push(tensor_of(context, Element::Unknown, &[i64::MAX]));
        types.push(tensor_of(context, Element::Other(IndexType::get(context).into()), &[]));
        types.push(tensor_of(context, Element::Other(*types.last().expect("there are types")), &[7]));
        types.push(FunctionType::get(context, vec![types[0], types[1]], vec![types[2]]).into());
        types
    };
    let mut program = Program::new(|context| (types(context), vec![]));
    program.op("func.return", Parts::default());
    program.verify();
    comes_back(program);
}

/// What an attribute is after it was written and read.
fn reread(context: &mut Context, attribute: AttrObj) -> AttrObj {
    let text = pliron::printable::Printable::disp(&attribute, context).to_string();
    let parser = pliron::irfmt::parsers::attr_parser();
    pliron::parsable::parse_from_str(parser, context, &text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn every_number_of_every_dtype() {
    let mut context = Context::new();
    for dtype in DType::ALL.iter().copied() {
        let width = dtype.bits();
        let patterns: Vec<u128> = if width <= 16 {
            (0..1 << width).collect()
        } else {
            let all = if width == 128 { u128::MAX } else { (1 << width) - 1 };
            let steps =
                (0..500_u128).map(|step| step.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) & all);
            steps.chain([0, 1, all, all >> 1, 1 << (width - 1)]).collect()
        };
        let shape = Shape::ranked([patterns.len() as i64]);
        let of = TensorType::get(&context, Element::DType(dtype), &shape);
        let value = ElementsAttr::new(&context, of, &patterns).expect("as many as there are");
        let read = reread(&mut context, value.into());
        let read = read.downcast_ref::<ElementsAttr>().expect("elements");
        assert_eq!(read.elements().collect::<Vec<_>>(), patterns, "{dtype}");
    }
}

#[test]
fn attributes_of_other_kinds() {
    let mut context = Context::new();
    let number = NumberAttr::new(DType::F8E4M3FN, 0x3c);
    let all: [AttrObj; 5] = [
        IntsAttr([].into()).into(),
        IntsAttr([i64::MIN, 0, i64::MAX].into()).into(),
        IndexAttr(-7).into(),
        number.into(),
        StringAttr::new("a \"message\", {[(<\n".to_owned()).into(),
    ];
    for attribute in all {
        let read = reread(&mut context, attribute.clone());
        assert!(attribute.eq_attr(&*read), "{attribute:?}");
    }
}

#[test]
fn a_splat_stays_one_number() {
    let mut context = Context::new();
    let of = TensorType::get(&context, Element::DType(DType::F32), &Shape::ranked([1000, 1000]));
    let value = ElementsAttr::new(&context, of, &[0]).expect("one stands for all");
    let text = pliron::printable::Printable::disp(&AttrObj::from(value.clone()), &context).to_string();
    assert_eq!(text, "promote.elements <1000x1000xf32: 0.0>");
    let read = reread(&mut context, value.clone().into());
    assert_eq!(read.downcast_ref::<ElementsAttr>(), Some(&value));
}

/// A program with each of the structured and other control flow ops.
pub fn control_flow() -> Program {
    let text = include_str!("control_flow.plir");
    let mut context = Context::new();
    let read = parse(&mut context, text, "control_flow.plir").unwrap_or_else(|error| panic!("{error:?}"));
    let module = Operation::get_op(read, &context).expect("a module");
    let function = {
        let module: &pliron::builtin::ops::ModuleOp = &module;
        let body = pliron::builtin::op_interfaces::SingleBlockRegionInterface::get_body(module, &context, 0);
        body.iter(&context).next().and_then(|first| Operation::get_op(first, &context)).expect("a function")
    };
    let function: pliron::builtin::ops::FuncOp = function;
    let block = function.get_entry_block(&context);
    Program { context, module, function, block }
}

#[test]
fn control_flow_of_all_kinds() {
    let program = control_flow();
    program.verify();
    comes_back(program);
}

#[test]
fn a_declaration_has_no_blocks() {
    let mut program = Program::new(|_| (vec![], vec![]));
    program.op("func.return", Parts::default());
    let of = tensor(&program.context, DType::F32, &[]);
    let declared = dialect::declaration(
        &mut program.context,
        "elsewhere",
        &[of],
        &[of],
        pliron::location::Location::Unknown,
    )
    .expect("the name is an identifier");
    declared.get_operation().insert_after(&program.context, program.function.get_operation());
    program.verify();
    comes_back(program);
}

/// The code, the line and the column of what is wrong with a text, and what it is.
fn refused(text: &str) -> (Code, Option<(u32, u32)>, String) {
    let mut context = Context::new();
    let error = parse(&mut context, text, "wrong.plir").expect_err("the text is wrong");
    (error.code, error.location.map(|place| (place.line, place.column)), error.message)
}

fn with_type(of: &str) -> String {
    format!("builtin.module @m {{\n  ^b():\n    builtin.func @f: builtin.function <({of}) -> ()> {{ }}\n}}")
}

#[test]
fn what_is_wrong_is_found_where_it_is() {
    let (code, place, message) = refused(&with_type("promote.tensor <4xf31>"));
    assert_eq!((code, place), (Code::Mlir, Some((3, 59))), "{message}");
    assert!(message.contains("`f31` is no element type"), "{message}");
    let (_, place, message) = refused(&with_type("promote.tensor <99999999999999999999xf32>"));
    assert_eq!(place, Some((3, 57)), "{message}");
    let (_, place, message) =
        refused("builtin.module @m {\n  ^b():\n    promote.frobnicate () [] []: <() -> ()>\n}");
    assert_eq!(place, Some((3, 5)), "{message}");
    let (_, place, message) = refused("builtin.module @m { ^b(): } and more");
    assert_eq!(place, Some((1, 29)), "{message}");
}

#[test]
fn what_pliron_would_die_of_is_refused() {
    let deep = "(".repeat(100_000);
    assert_eq!(refused(&with_type(&deep)).0, Code::TooDeep);
    let nested = (0..3000).map(|i| format!("builtin.module @m{i} {{ ^b():\n")).collect::<String>();
    assert_eq!(refused(&nested).0, Code::TooDeep);
    assert_eq!(refused("builtin.module @m\u{e9}t\u{e9} { ^b(): }").0, Code::Mlir);
    assert_eq!(refused("\0").0, Code::Unreadable);
    refused("");
    refused("\u{feff}");
    refused("builtin.module @m { ^b(): x = promote.add (x, x) [] []: <() -> ()> }");
    refused(&with_type("promote.tensor <*f32>"));
    refused(&with_type("promote.tensor <4x"));
}

#[test]
fn names_of_values_and_places_come_back() {
    let text = "builtin.module @m { ^b():\n builtin.func @f: builtin.function <() -> ()>{ ^e():\n x = promote.iota () [] [promote_axis: builtin.integer <0: i64>]: <() -> (promote.tensor <2xi32>)>;\n promote_func.return () [] []: <() -> ()> }}";
    let mut context = Context::new();
    let module = parse(&mut context, text, "names.plir").expect("it is right");
    let text = print(&context, module);
    assert!(text.contains("x_v0 = promote.iota"), "{text}");
    assert!(text.contains(r#""names.plir": line: 3, column: 2"#), "{text}");
    let again = parse(&mut context, &text, "again.plir").expect("what was printed is right");
    let again = print(&context, again);
    assert!(again.contains("x_v1 = promote.iota"), "{again}");
    assert!(again.contains(r#""names.plir": line: 3, column: 2"#), "{again}");
    assert!(!again.contains("again.plir"), "{again}");
}

#[test]
fn the_names_of_blocks_do_not_grow() {
    let named = "builtin.module @m { ^b(): builtin.func @f: builtin.function <() -> ()> {
      ^start(): promote_cf.br () [^block_end] []: <() -> ()>
      ^block_end(): promote_func.return () [] []: <() -> ()> } }";
    let reprinted = |text: &str| {
        let mut context = Context::new();
        let module =
            parse(&mut context, text, "again.plir").unwrap_or_else(|error| panic!("{error:?}\n{text}"));
        print(&context, module)
    };
    let first = reprinted(named);
    assert!(first.contains("^start_block") && first.contains("^block_end_block"), "{first}");
    for text in [named, include_str!("control_flow.plir")] {
        let first = reprinted(text);
        assert_eq!(reprinted(&first), first);
    }
    // Blocks that the passes make have no names.
    let mut program = control_flow();
    let module = program.module.get_operation();
    promote_pliron::scf_to_cf::scf_to_cf(&mut program.context, module);
    let first = reprinted(&print(&program.context, module));
    assert!(first.contains("^block") && !first.contains("^_"), "{first}");
    assert_eq!(reprinted(&first), first);
}

#[test]
fn a_weak_literal_of_python() {
    let mut program = Program::new(|_| (vec![], vec![]));
    use promote_lattice::convert::Literal;
    for literal in [Literal::Int(-3), Literal::Float(0.5), Literal::Complex(1.0, f64::NAN)] {
        let made = dialect::weak_literal(&mut program.context, literal, pliron::location::Location::Unknown);
        program.put(made);
        let value = result_of(&program.context, made);
        let result = unknown(&program.context);
        program.promote(Op::Negative, &[value], result);
    }
    program.op("func.return", Parts::default());
    program.verify();
    let text = print(&program.context, program.module.get_operation());
    assert!(text.contains("promote.elements <i64: -3>"), "{text}");
    assert!(text.contains("promote.elements <complex<f64>: (1.0, 0x7ff8000000000000)>"), "{text}");
    comes_back(program);
}
