//! Programs by hand.

use promote_dialect::extent::{Product, Sum, Symbol};
use promote_lattice::DType;
use promote_lattice::convert::Numerics;
use promote_lower::graph::NodeId;
use promote_lower::kernel::{Access, Code, Expr, ExprId, Form, Kernel, Role, Root};
use promote_lower::program::{
    Arg, Block, BlockId, Edge, End, EntryKind, Function, KernelId, Launch, Place, PlaceId, Program, Step,
    ValueId, ValueKind,
};
use promote_lower::types::{Number, Type};
use promote_reference::{Array, Value};

pub const INDEX: ValueKind = ValueKind::Number(Number::Index);
pub const TRUTH: ValueKind = ValueKind::Number(Number::Int(1));
pub const F32: ValueKind = ValueKind::Buffer(DType::F32);

pub fn tensor(dtype: DType, dims: &[i64]) -> Type {
    Type::Tensor(dtype, dims.iter().map(|extent| (*extent >= 0).then_some(*extent)).collect())
}

pub fn index() -> Type {
    Type::Scalar(Number::Index)
}

pub fn value(id: u32) -> Arg {
    Arg::Value(ValueId(id))
}

pub fn known(extents: &[i64]) -> Vec<Arg> {
    extents.iter().map(|extent| Arg::Known(*extent)).collect()
}

pub fn edge(block: u32, args: &[Arg]) -> Edge {
    Edge { block: BlockId(block), args: args.to_vec() }
}

pub fn block(parameters: &[u32], steps: Vec<Step>, end: End) -> Block {
    let parameters = parameters.iter().map(|id| ValueId(*id)).collect();
    Block { parameters, steps: steps.into_iter().map(|step| (step, PlaceId(0))).collect(), end }
}

pub fn done() -> End {
    End::Return(Vec::new())
}

pub fn function(
    (name, entry): (&str, EntryKind),
    (inputs, outputs): (&[Type], &[Type]),
    values: &[ValueKind],
    blocks: Vec<Block>,
) -> Function {
    let (inputs, outputs, values) = (inputs.to_vec(), outputs.to_vec(), values.to_vec());
    Function { name: name.to_owned(), entry, place: PlaceId(0), inputs, outputs, values, blocks }
}

/// A program of a public `@f` alone.
pub fn program(numerics: Numerics, kernels: Vec<Kernel>, functions: Vec<Function>) -> Program {
    let places = vec![Place { location: None, op: "test.op".to_owned() }];
    Program { numerics, functions, kernels, constants: Vec::new(), places }
}

pub fn allocate(buffer: u32, dims: &[i64]) -> Step {
    Step::Allocate { buffer: ValueId(buffer), dims: known(dims) }
}

pub fn output(buffer: u32, dims: &[i64]) -> Step {
    Step::Output { buffer: ValueId(buffer), index: 0, dims: known(dims) }
}

pub fn release(buffer: u32) -> Step {
    Step::Release(ValueId(buffer))
}

pub fn retain(buffer: u32) -> Step {
    Step::Retain(ValueId(buffer))
}

/// A launch of a kernel whose nodes are these buffers in order.
pub fn launch(kernel: u32, buffers: &[u32], extents: &[Arg]) -> Step {
    Step::Launch(Launch {
        kernel: KernelId(kernel),
        buffers: buffers.iter().map(|id| Some(ValueId(*id))).collect(),
        places: vec![PlaceId(0); buffers.len()],
        extents: extents.to_vec(),
    })
}

// Kernels.

pub fn symbol(symbol: u32) -> Product {
    Product { number: 1, symbols: vec![Symbol(symbol)] }
}

pub fn access(buffer: u32, strides: &[i64]) -> Access {
    let strides = strides.iter().map(|stride| Product::number(*stride)).collect();
    Access { buffer: NodeId(buffer), strides, offset: Sum::default() }
}

pub fn expr(code: Code, dtype: DType, stage: usize) -> Expr {
    Expr { node: NodeId(0), code, dtype, dims: 0, stage }
}

pub fn load(buffer: u32, strides: &[i64], dtype: DType) -> Expr {
    expr(Code::Load(access(buffer, strides)), dtype, 0)
}

pub fn root(expr: u32, role: Role, sinks: &[Access]) -> Root {
    Root { node: NodeId(0), expr: ExprId(expr), role, start: None, sinks: sinks.to_vec() }
}

pub fn kernel(dims: &[i64], form: Form, exprs: Vec<Expr>, roots: Vec<Root>) -> Kernel {
    let dims = dims.iter().map(|extent| Product::number(*extent)).collect();
    Kernel { dims, form, as_one: false, chunk: None, exprs, roots }
}

/// Buffer 1 is `op` of buffers 0 and 0, both of f32 and this many elements.
pub fn twice(op: promote_lattice::Op, count: i64) -> Kernel {
    let exprs =
        vec![load(0, &[1], DType::F32), expr(Code::Map(op, vec![ExprId(0), ExprId(0)]), DType::F32, 0)];
    kernel(&[count], Form::Map, exprs, vec![root(1, Role::Store, &[access(1, &[1])])])
}

/// A public `@f` of one tensor that launches a kernel from it into its only result.
pub fn single(numerics: Numerics, kernel: Kernel, from: (DType, &[i64]), to: (DType, &[i64])) -> Program {
    let steps = vec![output(1, to.1), launch(0, &[0, 1], &[]), Step::CheckExceptions];
    let values = [ValueKind::Buffer(from.0), ValueKind::Buffer(to.0)];
    let types = (&[tensor(from.0, from.1)][..], &[tensor(to.0, to.1)][..]);
    let body = vec![block(&[0], steps, done())];
    program(numerics, vec![kernel], vec![function(("f", EntryKind::Public), types, &values, body)])
}

pub fn reals(shape: &[usize], numbers: &[f64]) -> Value {
    Value::Array(Array::of_reals(DType::F32, shape, numbers))
}

pub fn ints(dtype: DType, shape: &[usize], numbers: &[i128]) -> Value {
    Value::Array(Array::of_ints(dtype, shape, numbers))
}
