//! Programs that lowering makes of strong code, against the interpreter of modules.

use promote_dialect::attrs::{Value as Attr, check};
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};
use promote_lower::kernel::Kernel;
use promote_lower::program::{Arg, Arith, Literal, Place, PlaceId, Program, Step, build, fold};
use promote_lower::strong::{Block, Edge, Function, Kind, Module, Operation, Value as Id};
use promote_lower::target::{Costs, Cuts, InFrame, Packing, Product, Target};
use promote_lower::types::{Number, Type};
use promote_reference::steps::{run, shapes};
use promote_reference::{Array, Value};

use super::make::{index, ints, reals, tensor};
use crate::support::apply;

/// A target that cuts long reductions, and multiplies matrices of f32 itself.
struct Parts;

impl Target for Parts {
    fn name(&self) -> &str {
        "steps"
    }

    fn costs(&self) -> Costs {
        let cuts = Cuts {
            length: 16,
            most: 8,
            least_terms: 2,
            many_rows: 4,
            many_columns: 8,
            long_row: 64,
            far: 1 << 23,
            scanned: 16,
            many_scans: 4,
            reread: 32,
            part: 16,
            few: 2,
        };
        Costs { max_roots: 4, cuts: Some(cuts), ..Costs::COMMON }
    }

    fn in_frame(&self) -> InFrame {
        InFrame { bytes: 32, all: 160 }
    }

    fn schedule(&self, _: &Kernel, _: Numerics) -> String {
        "one by one".to_owned()
    }

    fn packing(&self, product: &Product) -> Option<Packing> {
        let packing = if product.rows == Some(1) { Packing::Nothing } else { Packing::Panels(4) };
        (product.dtype == DType::F32).then_some(packing)
    }
}

/// A module in the making: one function after the other, each value with its type.
#[derive(Default)]
struct SourceBuilder {
    types: Vec<Option<Type>>,
    blocks: Vec<Block>,
}

impl SourceBuilder {
    fn value(&mut self, r#type: Type) -> Id {
        self.types.push(Some(r#type));
        Id(self.types.len() as u32 - 1)
    }

    fn block(&mut self, arguments: &[Id]) {
        self.blocks.push(Block { arguments: arguments.to_vec(), operations: Vec::new() });
    }

    fn push(&mut self, kind: Kind, operands: &[Id], results: &[Id]) {
        let operation =
            Operation { kind, operands: operands.to_vec(), results: results.to_vec(), place: PlaceId(0) };
        self.blocks.last_mut().expect("a block is open").operations.push(operation);
    }

    fn op(&mut self, op: Op, attrs: Vec<(&str, Attr)>, operands: &[Id], result: Type) -> Id {
        let attrs = check(op, attrs).expect("the attributes are the op's");
        let result = self.value(result);
        self.push(Kind::Promote(op, attrs), operands, &[result]);
        result
    }

    fn function(self, name: &str, is_public: bool, outputs: &[Type]) -> Function {
        let of = |value: &Id| self.types[value.0 as usize].clone().expect("arguments have a type");
        let inputs = self.blocks[0].arguments.iter().map(of).collect();
        Function {
            name: name.to_owned(),
            place: PlaceId(0),
            is_public,
            inputs,
            outputs: outputs.to_vec(),
            blocks: self.blocks,
            types: self.types,
        }
    }
}

fn built(functions: Vec<Function>, numerics: Numerics) -> Program {
    let places = vec![Place { location: None, op: "test.op".to_owned() }];
    build::build(&Module { functions, places }, numerics, &Parts).expect("the module is lowered")
}

/// The program of `@f`, one op, between tensors of which no extent is known, or all are.
fn single(op: Op, attrs: &[(&str, Attr)], operands: &[Array], result: &Array, is_open: bool) -> Program {
    let typed = |array: &Array| {
        let extents = array.shape.iter().map(|extent| if is_open { -1 } else { *extent as i64 });
        tensor(array.dtype, &extents.collect::<Vec<_>>())
    };
    let mut builder = SourceBuilder::default();
    let arguments: Vec<Id> = operands.iter().map(|operand| builder.value(typed(operand))).collect();
    builder.block(&arguments);
    let made = builder.op(op, attrs.to_vec(), &arguments, typed(result));
    builder.push(Kind::Return, &[made], &[]);
    built(vec![builder.function("f", true, &[typed(result)])], Numerics::Jax)
}

/// An op of the dialect under JAX's rules as steps and as the interpreter of modules has it.
fn compare(op: Op, attrs: &[(&str, Attr)], text: &str, operands: &[Array]) {
    let expected = apply("jax", op.name(), text, operands).expect("the op is computed");
    for is_open in [false, true] {
        let program = single(op, attrs, operands, &expected, is_open);
        let arguments: Vec<Value> = operands.iter().cloned().map(Value::Array).collect();
        let results = run(&program, "f", &arguments).expect("the program runs");
        let [Value::Array(result)] = results.as_slice() else { panic!("there is one result") };
        assert_eq!((result.dtype, &result.shape), (expected.dtype, &expected.shape), "{op}");
        for (own, other) in result.elements.iter().zip(&expected.elements) {
            let (own, other) = (own.real(), other.real());
            let is_close =
                own == other || own.is_nan() && other.is_nan() || (own - other).abs() <= 1e-6 * other.abs();
            assert!(is_close, "{op}: {own} is not {other}, extents known: {}", !is_open);
        }
        assert_eq!(shapes(&program, "f", &arguments), Ok(vec![expected.shape.clone()]), "{op}");
    }
}

fn matrix() -> Array {
    Array::of_reals(DType::F32, &[2, 3], &[0.5, -1.0, 2.0, 4.0, 0.25, -8.0])
}

fn axis(axis: i64) -> Attr {
    Attr::Ints([axis].into())
}

#[test]
fn ops_are_what_they_are_in_modules() {
    let (x, text) = ([matrix()], "axis = array<i64: 1>");
    for op in [Op::Sum, Op::Max, Op::ArgMax, Op::Softmax, Op::LogSumExp, Op::CumulativeSum, Op::Sort] {
        compare(op, &[("axis", axis(1))], text, &x);
    }
    let text = "axis = array<i64: 0>";
    for op in [Op::Sum, Op::Prod, Op::Mean, Op::Var, Op::ArgMin, Op::Softmax, Op::CumulativeProd, Op::Flip] {
        compare(op, &[("axis", axis(0))], text, &x);
    }
    compare(Op::Exp, &[], "", &x);
}

#[test]
fn ops_of_several_tensors_are_what_they_are_in_modules() {
    let indices = Array::of_ints(DType::I32, &[4], &[1, -1, 7, 0]);
    compare(Op::Take, &[("axis", Attr::Int(0))], "axis = 0 : i64", &[matrix(), indices]);
    let other = Array::of_reals(DType::F32, &[3, 5], &(0..15).map(f64::from).collect::<Vec<_>>());
    compare(Op::Matmul, &[], "", &[matrix(), other]);
    compare(
        Op::Concat,
        &[("axis", Attr::Int(0))],
        "axis = 0 : i64, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>",
        &[matrix(), matrix()],
    );
}

#[test]
fn products_convert_the_operands_that_their_dtype_holds() {
    let y = Array::of_reals(DType::BF16, &[3, 5], &(0..15).map(|k| f64::from(k) / 4.0).collect::<Vec<_>>());
    for x in [DType::BF16, DType::F16] {
        let x = Array::of_reals(x, &[2, 3], &[0.5, -1.0, 2.0, 4.0, 0.25, -8.0]);
        compare(Op::Matmul, &[], "", &[x.clone(), y.clone()]);
        let expected = apply("jax", "matmul", "", &[x.clone(), y.clone()]).expect("the op is computed");
        let program = single(Op::Matmul, &[], &[x.clone(), y.clone()], &expected, false);
        let function = &program.functions[0];
        let mut steps = function.blocks.iter().flat_map(|block| &block.steps);
        let operands = steps.find_map(|(step, _)| match step {
            Step::Matmul(matmul) => Some([matmul.left, matmul.right].map(|value| function.dtype(value))),
            _ => None,
        });
        assert_eq!(operands, Some([x.dtype, y.dtype]));
    }
}

#[test]
fn a_long_sum_is_one_of_parts() {
    let count = (1 << 17) + 5;
    let elements = (0..count).map(|index| f64::from(index % 3)).collect::<Vec<_>>();
    let (x, sum) = (reals(&[count as usize], &elements), reals(&[], &[elements.iter().sum()]));
    let (Value::Array(array), Value::Array(result)) = (&x, &sum) else { panic!("both are arrays") };
    let program = single(Op::Sum, &[], std::slice::from_ref(array), result, true);
    assert!(program.kernels.iter().any(|kernel| kernel.chunk.is_some()), "the sum is not cut");
    assert_eq!(run(&program, "f", &[x]), Ok(vec![sum]));
}

#[test]
fn a_long_cumulative_sum_goes_in_parts() {
    let elements = (0..50).map(|index| f64::from(index % 7)).collect::<Vec<_>>();
    let mut all = 0.0;
    let sums: Vec<f64> = elements
        .iter()
        .map(|element| *{
            all += element;
            &all
        })
        .collect();
    let (x, sums) = (reals(&[50], &elements), reals(&[50], &sums));
    let (Value::Array(array), Value::Array(result)) = (&x, &sums) else { panic!("both are arrays") };
    let axis = vec![("axis", Attr::Ints([0].into()))];
    let program = single(Op::CumulativeSum, &axis, std::slice::from_ref(array), result, true);
    let goes_on = |kernel: &Kernel| kernel.roots.iter().any(|root| root.start.is_some());
    assert!(program.kernels.iter().any(goes_on), "the sum goes in one");
    assert_eq!(run(&program, "f", &[x]), Ok(vec![sums]));
}

/// `@f(x, n)`: `@g`, which doubles, n times of x, in a loop of blocks.
fn loop_of_calls() -> Program {
    let pair = || tensor(DType::F32, &[-1]);
    let mut g = SourceBuilder::default();
    let x = g.value(pair());
    g.block(&[x]);
    let sum = g.op(Op::Add, Vec::new(), &[x, x], pair());
    g.push(Kind::Return, &[sum], &[]);
    let mut f = SourceBuilder::default();
    let [x, n] = [pair(), index()].map(|r#type| f.value(r#type));
    let [carry, round] = [pair(), index()].map(|r#type| f.value(r#type));
    let [zero, one, next] = [0; 3].map(|_| f.value(index()));
    let goes_on = f.value(Type::Scalar(Number::Int(1)));
    let doubled = f.value(pair());
    let edge = |block, values: &[Id]| Edge { block, values: values.to_vec() };
    f.block(&[x, n]);
    f.push(Kind::Number(Literal::Int(0)), &[], &[zero]);
    f.push(Kind::Number(Literal::Int(1)), &[], &[one]);
    f.push(Kind::Branch(edge(1, &[x, zero])), &[], &[]);
    f.block(&[carry, round]);
    f.push(Kind::Arith(Arith::LtS), &[round, n], &[goes_on]);
    f.push(Kind::BranchIf(edge(2, &[]), edge(3, &[])), &[goes_on], &[]);
    f.block(&[]);
    f.push(Kind::Call("g".to_owned()), &[carry], &[doubled]);
    f.push(Kind::Arith(Arith::Add), &[round, one], &[next]);
    f.push(Kind::Branch(edge(1, &[doubled, next])), &[], &[]);
    f.block(&[]);
    f.push(Kind::Return, &[carry, round], &[]);
    built(vec![g.function("g", false, &[pair()]), f.function("f", true, &[pair(), index()])], Numerics::NumPy)
}

#[test]
fn a_loop_of_calls_keeps_its_references() {
    let program = loop_of_calls();
    let result = |n| run(&program, "f", &[reals(&[2], &[1.0, -0.5]), Value::Integer(n)]);
    assert_eq!(result(0), Ok(vec![reals(&[2], &[1.0, -0.5]), Value::Integer(0)]));
    assert_eq!(result(5), Ok(vec![reals(&[2], &[32.0, -16.0]), Value::Integer(5)]));
}

#[test]
#[should_panic(expected = "leaks: a reference to it is left when the function returns")]
fn a_release_that_is_left_out_is_found() {
    let mut program = loop_of_calls();
    for block in program.functions.iter_mut().flat_map(|function| &mut function.blocks) {
        block.steps.retain(|(step, _)| !matches!(step, Step::Release(_)));
    }
    let _ = run(&program, "f", &[reals(&[2], &[1.0, -0.5]), Value::Integer(2)]);
}

#[test]
fn arithmetic_on_extents_is_that_of_lowering() {
    // What lowering folds, and what is computed at run time: products of an extent with itself.
    for extent in [0, 1, 3] {
        let known: [Arg; 2] = [Arg::Known(extent); 2];
        assert_eq!(fold(Arith::Mul, &known), Some(Arg::Known(extent * extent)));
        let count = extent as usize;
        let x = Array::of_ints(DType::I32, &[count, count], &vec![1; count * count]);
        let sum = Array::of_ints(DType::I32, &[], &[(extent * extent).into()]);
        let program = single(Op::Sum, &[], std::slice::from_ref(&x), &sum, true);
        let expected = ints(DType::I32, &[], &[(extent * extent).into()]);
        assert_eq!(run(&program, "f", &[Value::Array(x)]), Ok(vec![expected]));
    }
}
