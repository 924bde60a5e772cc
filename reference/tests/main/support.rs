//! What the tests share.

use promote_lattice::{DType, Semantics};
use promote_reference::{Array, Error, Outcome, Program, Value};

/// Runs `@f` of a module, in which `!u` is the unknown type.
pub fn run_under(name: &str, x64: bool, source: &str, arguments: &[Value]) -> Result<Outcome, Error> {
    let semantics = Semantics::by_name(name, x64).expect("the semantics exists");
    let program = Program::read(&source.replace("!u", "tensor<*x!promote.unknown>"))?;
    program.run(&semantics, "f", arguments)
}

/// The results of `@f` under JAX's rules.
pub fn run(source: &str, arguments: &[Value]) -> Vec<Value> {
    run_under("jax", false, source, arguments).expect("the program runs").results
}

/// The result of an op of the dialect on arrays, whose types are written as they are.
pub fn apply(name: &str, op: &str, attributes: &str, operands: &[Array]) -> Result<Array, Error> {
    let text = |array: &Array| {
        let extents: String = array.shape.iter().map(|extent| format!("{extent}x")).collect();
        format!("tensor<{extents}{}>", array.dtype.mlir())
    };
    let types: Vec<_> = operands.iter().map(text).collect();
    let arguments: Vec<_> = types.iter().enumerate().map(|(i, text)| format!("%x{i}: {text}")).collect();
    let names: Vec<_> = (0..operands.len()).map(|i| format!("%x{i}")).collect();
    let (arguments, names, types) = (arguments.join(", "), names.join(", "), types.join(", "));
    let source = format!(
        "func.func @f({arguments}) -> !u {{\n\
           %r = \"promote.{op}\"({names}) {{{attributes}}} : ({types}) -> !u\n  return %r : !u\n}}\n"
    );
    let operands: Vec<Value> = operands.iter().cloned().map(Value::Array).collect();
    match run_under(name, true, &source, &operands)?.results.remove(0) {
        Value::Array(array) => Ok(array),
        Value::Integer(_) => unreachable!("an op of the dialect gives a tensor"),
    }
}

/// A vector of integers.
pub fn ints(dtype: DType, numbers: &[i128]) -> Array {
    Array::of_ints(dtype, &[numbers.len()], numbers)
}

/// A vector of real numbers.
pub fn reals(dtype: DType, numbers: &[f64]) -> Array {
    Array::of_reals(dtype, &[numbers.len()], numbers)
}
