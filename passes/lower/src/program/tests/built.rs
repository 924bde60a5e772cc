//! The programs that are made of strong code keep the laws, and are printed and parsed without loss.

use promote_dialect::attrs::{self, Attrs};
use promote_lattice::convert::Numerics;
use promote_lattice::{DType, Op};

use super::is_valid;
use crate::kernel::Kernel;
use crate::program::build::build;
use crate::program::{Place, PlaceId, Program, Step};
use crate::strong::{Block, Edge, Function, Kind, Module, Operation, Value};
use crate::target::{Costs, Cuts, Packing, Product, Target};
use crate::types::{Number, Type};

struct Machine;

impl Target for Machine {
    fn name(&self) -> &str {
        "the machine of tests"
    }

    fn costs(&self) -> Costs {
        let cuts = Cuts {
            length: 16,
            most: 8,
            least_terms: 4,
            many_rows: 4,
            many_columns: 8,
            long_row: 64,
            far: 1 << 23,
            scanned: 16,
            many_scans: 4,
            reread: 1 << 10,
            part: 1 << 6,
            few: 3,
        };
        Costs { cuts: Some(cuts), ..Costs::COMMON }
    }

    fn schedule(&self, _: &Kernel, _: Numerics) -> String {
        "one by one".to_owned()
    }

    fn packing(&self, product: &Product) -> Option<Packing> {
        let Product { operands: _, dtype: _, rows, usual_rows: _, inner, columns } = *product;
        let is_large = [rows, inner, columns].iter().all(|extent| extent.is_none_or(|extent| extent > 4));
        is_large.then_some(if rows.is_some() { Packing::Nothing } else { Packing::Panels(8) })
    }
}

/// A function in the making.
struct Source(Function);

impl Source {
    fn new(name: &str, is_public: bool, outputs: Vec<Type>) -> Self {
        Self(Function {
            name: name.to_owned(),
            place: PlaceId(0),
            is_public,
            inputs: Vec::new(),
            outputs,
            blocks: Vec::new(),
            types: Vec::new(),
        })
    }

    fn value(&mut self, r#type: Type) -> Value {
        self.0.types.push(Some(r#type));
        Value(self.0.types.len() as u32 - 1)
    }

    fn block(&mut self, arguments: &[Type]) -> Vec<Value> {
        let arguments: Vec<Value> = arguments.iter().map(|r#type| self.value(r#type.clone())).collect();
        if self.0.blocks.is_empty() {
            self.0.inputs = self.0.types.iter().flatten().cloned().collect();
        }
        self.0.blocks.push(Block { arguments: arguments.clone(), operations: Vec::new() });
        arguments
    }

    fn end(&mut self, kind: Kind, operands: &[Value]) {
        self.push(kind, operands, Vec::new());
    }

    fn push(&mut self, kind: Kind, operands: &[Value], results: Vec<Value>) {
        let operation = Operation { kind, operands: operands.to_vec(), results, place: PlaceId(0) };
        self.0.blocks.last_mut().expect("a block was added").operations.push(operation);
    }

    fn op(&mut self, kind: Kind, operands: &[Value], r#type: Type) -> Value {
        let result = self.value(r#type);
        self.push(kind, operands, vec![result]);
        result
    }

    fn map(&mut self, op: Op, operands: &[Value], r#type: Type) -> Value {
        self.op(Kind::Promote(op, Attrs::default()), operands, r#type)
    }
}

fn tensor(dims: &[Option<i64>]) -> Type {
    Type::Tensor(DType::F32, dims.to_vec())
}

/// An op along an axis.
fn along(op: Op, axis: attrs::Value) -> Kind {
    Kind::Promote(op, attrs::check(op, [("axis", axis)]).expect("the op takes an axis"))
}

/// The program of these functions, which is valid and printed without loss.
#[track_caller]
fn built(functions: Vec<Source>, numerics: Numerics) -> Program {
    let functions = functions.into_iter().map(|source| source.0).collect();
    let places = vec![Place { location: None, op: "test.op".to_owned() }];
    let program = match build(&Module { functions, places }, numerics, &Machine) {
        Ok(program) => program,
        Err(diagnostics) => panic!("{diagnostics:?}"),
    };
    is_valid(&program);
    let text = program.to_string();
    assert_eq!(Program::parse(&text).as_ref(), Ok(&program), "{text}");
    refuses_less(&program);
    program
}

/// That each step is needed that makes a buffer or changes how many references there are.
#[track_caller]
fn refuses_less(program: &Program) {
    let mut less = program.clone();
    for (index, function) in program.functions.iter().enumerate() {
        for (number, block) in function.blocks.iter().enumerate() {
            for (place, (step, _)) in block.steps.iter().enumerate() {
                let counts = matches!(
                    step,
                    Step::Allocate { .. }
                        | Step::Output { .. }
                        | Step::Shape { .. }
                        | Step::Choose { .. }
                        | Step::Retain(_)
                        | Step::Release(_)
                        | Step::Call { .. }
                );
                if !counts {
                    continue;
                }
                let steps = &mut less.functions[index].blocks[number].steps;
                let removed = steps.remove(place);
                let is_refused = less.verify().is_err();
                less.functions[index].blocks[number].steps.insert(place, removed);
                assert!(is_refused, "without `{step}`:\n{program}");
            }
        }
    }
}

const ALL: [Numerics; 3] = [Numerics::Jax, Numerics::NumPy, Numerics::Torch];

#[test]
fn elementwise_code_of_extents_that_a_run_knows() {
    for numerics in ALL {
        let open = tensor(&[None, None]);
        let mut f = Source::new("f", true, vec![open.clone(), open.clone(), tensor(&[None])]);
        let arguments = f.block(&[open.clone(), tensor(&[None])]);
        let sum = f.map(Op::Add, &arguments, open.clone());
        let quotient = f.map(Op::FloorDivide, &[sum, arguments[1]], open.clone());
        f.end(Kind::Return, &[quotient, sum, arguments[1]]);
        let program = built(vec![f], numerics);
        assert_eq!(program.functions.len(), 2, "there is one that computes the shapes");
    }
}

#[test]
fn reductions_products_and_sorted_tensors() {
    for dims in [[None, None], [Some(300), Some(700)], [Some(2), Some(3)], [Some(0), Some(3)]] {
        let square = tensor(&[dims[0], dims[0]]);
        let whole = tensor(&dims);
        let transposed = tensor(&[dims[1], dims[0]]);
        let mut f = Source::new("f", true, vec![tensor(&[]), whole.clone(), square.clone(), square.clone()]);
        let arguments = f.block(&[whole.clone(), transposed]);
        let sum = f.map(Op::Sum, &arguments[..1], tensor(&[]));
        let axis = attrs::Value::Ints([1].into());
        let soft = f.op(along(Op::Softmax, axis.clone()), &arguments[..1], whole);
        let product = f.map(Op::Matmul, &[soft, arguments[1]], square.clone());
        let sorted = f.op(along(Op::Sort, axis), &[product], square);
        f.end(Kind::Return, &[sum, soft, product, sorted]);
        let program = built(vec![f], Numerics::Jax);
        assert!(program.to_string().contains("sort"));
    }
}

/// A part has 4 elements of each of 7 columns, and there are two parts at least where types state the extents.
#[test]
fn reductions_are_cut_where_their_parts_are_worth_it() {
    for (rows, is_cut) in [(Some(7), false), (Some(8), true), (Some(300), true), (None, true)] {
        let whole = tensor(&[rows, Some(7)]);
        let mut f = Source::new("f", true, vec![tensor(&[Some(7)])]);
        let arguments = f.block(&[whole]);
        let axis = attrs::Value::Ints([0].into());
        let sum = f.op(along(Op::Sum, axis), &arguments, tensor(&[Some(7)]));
        f.end(Kind::Return, &[sum]);
        let program = built(vec![f], Numerics::Jax);
        assert_eq!(program.kernels.len(), if is_cut { 2 } else { 1 }, "{rows:?} rows:\n{program}");
    }
}

#[test]
fn what_one_op_alone_reads_of_much_is_reduced_in_two_passes() {
    let (much, rows) = (tensor(&[Some(65), Some(400), Some(400)]), tensor(&[Some(65)]));
    let kernels = |others: &[Op]| {
        let mut source = Source::new("f", true, vec![rows.clone(); others.len() + 1]);
        let x = source.block(std::slice::from_ref(&much))[0];
        let squares = source.map(Op::Square, &[x], much.clone());
        let over = || attrs::Value::Ints([1, 2].into());
        let mut results = vec![source.op(along(Op::Sum, over()), &[squares], rows.clone())];
        for other in others {
            results.push(source.op(along(*other, over()), &[x], rows.clone()));
        }
        source.end(Kind::Return, &results);
        built(vec![source], Numerics::Jax).kernels.len()
    };
    assert_eq!(kernels(&[]), 2);
    // With another op that reads it, both are made at once.
    assert_eq!(kernels(&[Op::Max]), 1);
}

/// Of everything, the last dimension is reduced first, or, where it is short, as many of the last ones as have long rows together.
#[test]
fn everything_of_much_is_reduced_in_two_passes() {
    for (dims, rows) in [([65, 400, 400], 400), ([400, 800, 33], 33), ([400, 800, 32], 800 * 32)] {
        let mut source = Source::new("f", true, vec![tensor(&[])]);
        let arguments = source.block(&[tensor(&dims.map(Some))]);
        let sum = source.map(Op::Sum, &arguments, tensor(&[]));
        source.end(Kind::Return, &[sum]);
        // The sums of rows are those of parts and these, where they are many.
        let program = built(vec![source], Numerics::Jax);
        let [first, ..] = program.kernels.as_slice() else { panic!("there are kernels: {program}") };
        assert_eq!(first.length().fixed(), Some(rows), "{program}");
    }
}

/// A loop that carries a tensor and stops by a number, with a call and a choice in it.
#[test]
fn loops_calls_and_choices() {
    for extent in [None, Some(5)] {
        let (vector, truth) = (tensor(&[extent]), Type::Scalar(Number::Int(1)));
        let mut f = Source::new("f", true, vec![vector.clone(), truth.clone()]);
        let arguments = f.block(&[vector.clone(), vector.clone(), truth.clone()]);
        f.end(Kind::Branch(Edge { block: 1, values: vec![arguments[0]] }), &[]);
        let carried = f.block(std::slice::from_ref(&vector));
        let doubled = f.map(Op::Add, &[carried[0], carried[0]], vector.clone());
        let called = f.op(Kind::Call("g".to_owned()), &[doubled], vector.clone());
        let chosen = f.op(Kind::Select, &[arguments[2], called, arguments[1]], vector.clone());
        let back = Edge { block: 1, values: vec![chosen] };
        let out = Edge { block: 2, values: vec![called, carried[0]] };
        f.end(Kind::BranchIf(back, out), &[arguments[2]]);
        let left = f.block(&[vector.clone(), vector.clone()]);
        let sum = f.map(Op::Add, &[left[0], doubled], vector.clone());
        let sum = f.map(Op::Add, &[sum, left[1]], vector.clone());
        f.end(Kind::Return, &[sum, arguments[2]]);
        let mut g = Source::new("g", false, vec![vector.clone()]);
        let arguments = g.block(&[vector]);
        g.end(Kind::Return, &[arguments[0]]);
        let program = built(vec![f, g], Numerics::Jax);
        let text = program.to_string();
        assert!(["call @g", "choose", "retain", "release"].iter().all(|step| text.contains(step)), "{text}");
    }
}

#[test]
fn indices_that_may_be_out_of_range_and_results_that_are_asked_for_twice() {
    for numerics in ALL {
        let vector = tensor(&[None]);
        let number = Type::Scalar(Number::Float(DType::F32));
        let mut f = Source::new("f", true, vec![vector.clone(), vector.clone(), number.clone()]);
        let indices = Type::Tensor(DType::I64, vec![None]);
        let arguments = f.block(&[vector.clone(), indices, Type::Scalar(Number::Index)]);
        let taken = f.op(along(Op::Take, attrs::Value::Int(0)), &arguments[..2], vector);
        let element = f.op(Kind::Extract, &[taken, arguments[2]], number);
        f.end(Kind::Return, &[taken, taken, element]);
        built(vec![f], numerics);
    }
}
