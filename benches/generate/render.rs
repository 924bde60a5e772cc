//! A generated program as text.

use std::fmt::Write as _;

use super::{Argument, CONVERTS, Function, Id, Literal, Node};

/// The language of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Promote ops, with all result types unknown that a front end need not state.
    Promote,
    /// For each op one of arith or math, on tensors of f32.
    Arith,
    /// A Python function over `jax.numpy` and the list `arguments` of its arguments' shapes and dtypes.
    Python,
}

/// The text of a module with these functions.
pub fn text(functions: &[Function], dialect: Dialect) -> String {
    let mut out = String::new();
    for (index, function) in functions.iter().enumerate() {
        match dialect {
            Dialect::Promote => promote(&mut out, index, function),
            Dialect::Arith => arith(&mut out, index, function),
            Dialect::Python => python(&mut out, function),
        }
    }
    out
}

/// Writes to a string, which cannot fail.
macro_rules! put {
    ($out:expr, $($arg:tt)*) => {{ let _ = write!($out, $($arg)*); }};
}

fn tensor(shape: &[u32], element: &str) -> String {
    let dims: String = shape.iter().map(|extent| format!("{extent}x")).collect();
    format!("tensor<{dims}{element}>")
}

const UNKNOWN: &str = "tensor<*x!promote.unknown>";

fn promote(out: &mut String, index: usize, function: &Function) {
    let mut types: Vec<String> = function.arguments.iter().map(|a| tensor(a.shape, a.element)).collect();
    types.extend(function.nodes.iter().map(result_type));
    put!(out, "func.func @f{index}(");
    for (id, r#type) in types[..function.arguments.len()].iter().enumerate() {
        put!(out, "{}%{id}: {type}", if id == 0 { "" } else { ", " });
    }
    let last = types.len() - 1;
    put!(out, ") -> {} {{\n", types[last]);
    for (i, node) in function.nodes.iter().enumerate() {
        let id = function.arguments.len() + i;
        put!(out, "  %{id} = ");
        promote_op(out, node, &types);
        put!(out, " -> {}\n", types[id]);
    }
    put!(out, "  return %{last} : {}\n}}\n", types[last]);
}

fn result_type(node: &Node) -> String {
    match node {
        Node::Literal(Literal::Int(_)) => tensor(&[], "!promote.weak_int"),
        Node::Literal(Literal::Float(_)) => tensor(&[], "!promote.weak_float"),
        Node::Convert(_, to) => format!("tensor<*x{}>", CONVERTS[*to].0),
        Node::Unary(..) | Node::Binary(..) | Node::Less(..) | Node::Where(..) => UNKNOWN.to_owned(),
    }
}

/// An op up to its result type.
fn promote_op(out: &mut String, node: &Node, types: &[String]) {
    let of = |id: &Id| &types[*id as usize];
    match node {
        Node::Literal(Literal::Int(n)) => {
            put!(out, "\"promote.constant\"() {{value = dense<{n}> : tensor<i64>}} : ()");
        }
        Node::Literal(Literal::Float(n)) => {
            let value = f64::from(*n) / 4.0;
            put!(out, "\"promote.constant\"() {{value = dense<{value:?}> : tensor<f64>}} : ()");
        }
        Node::Convert(x, _) => put!(out, "\"promote.convert\"(%{x}) : ({})", of(x)),
        Node::Unary(op, x) => put!(out, "\"promote.{}\"(%{x}) : ({})", op.promote, of(x)),
        Node::Binary(op, x, y) => {
            put!(out, "\"promote.{}\"(%{x}, %{y}) : ({}, {})", op.promote, of(x), of(y));
        }
        Node::Less(x, y) => put!(out, "\"promote.less\"(%{x}, %{y}) : ({}, {})", of(x), of(y)),
        Node::Where(c, x, y) => {
            put!(out, "\"promote.where\"(%{c}, %{x}, %{y}) : ({}, {}, {})", of(c), of(x), of(y));
        }
    }
}

const F32: &str = "tensor<8x16xf32>";
const I1: &str = "tensor<8x16xi1>";

fn arith(out: &mut String, index: usize, function: &Function) {
    let first = function.arguments.len();
    let arguments: Vec<String> = (0..first).map(|id| format!("%{id}: {F32}")).collect();
    // A truncated function may end with a comparison.
    let result = if matches!(function.nodes.last(), Some(Node::Less(..))) { I1 } else { F32 };
    put!(out, "func.func @f{index}({}) -> {result} {{\n", arguments.join(", "));
    for (i, node) in function.nodes.iter().enumerate() {
        put!(out, "  %{} = ", first + i);
        match node {
            Node::Literal(Literal::Int(n)) => put!(out, "arith.constant dense<{n}.0> : {F32}"),
            Node::Literal(Literal::Float(n)) => {
                put!(out, "arith.constant dense<{:?}> : {F32}", f64::from(*n) / 4.0);
            }
            Node::Convert(x, _) => put!(out, "math.ceil %{x} : {F32}"),
            Node::Unary(op, x) => put!(out, "{} %{x} : {F32}", op.arith),
            Node::Binary(op, x, y) => put!(out, "{} %{x}, %{y} : {F32}", op.arith),
            Node::Less(x, y) => put!(out, "arith.cmpf olt, %{x}, %{y} : {F32}"),
            Node::Where(c, x, y) => put!(out, "arith.select %{c}, %{x}, %{y} : {I1}, {F32}"),
        }
        out.push('\n');
    }
    put!(out, "  return %{} : {result}\n}}\n", first + function.nodes.len() - 1);
}

fn python(out: &mut String, function: &Function) {
    let first = function.arguments.len();
    let shape = |a: &Argument| a.shape.iter().map(|extent| format!("{extent},")).collect::<String>();
    let arguments = function.arguments.iter();
    let arguments: Vec<_> =
        arguments.map(|a| format!("jax.ShapeDtypeStruct(({}), jnp.{})", shape(a), a.numpy)).collect();
    put!(out, "arguments = [{}]\n", arguments.join(", "));
    let names: Vec<String> = (0..first).map(|id| format!("v{id}")).collect();
    put!(out, "def f({}):\n", names.join(", "));
    for (i, node) in function.nodes.iter().enumerate() {
        put!(out, "  v{} = ", first + i);
        match node {
            Node::Literal(Literal::Int(n)) => put!(out, "{n}"),
            Node::Literal(Literal::Float(n)) => put!(out, "{:?}", f64::from(*n) / 4.0),
            Node::Convert(x, to) => put!(out, "v{x}.astype(jnp.{})", CONVERTS[*to].1),
            Node::Unary(op, x) => put!(out, "jnp.{}(v{x})", op.numpy),
            Node::Binary(op, x, y) => put!(out, "jnp.{}(v{x}, v{y})", op.numpy),
            Node::Less(x, y) => put!(out, "jnp.less(v{x}, v{y})"),
            Node::Where(c, x, y) => put!(out, "jnp.where(v{c}, v{x}, v{y})"),
        }
        out.push('\n');
    }
    put!(out, "  return v{}\n", first + function.nodes.len() - 1);
}
