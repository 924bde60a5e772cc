//! `promote-run` and compiled code from outside: what is run, read, written and refused; libraries called from C and Python.

#[allow(dead_code, reason = "some of it is for the tests of promote-opt only")]
#[path = "../opt/support.rs"]
mod support;

mod arguments;
mod code;
mod entries;
mod failures;
mod help;
mod languages;
mod loops;
mod machines;
mod memory;
mod names;
#[allow(dead_code, reason = "some of it is for the tests of the library only")]
#[path = "../../../tests/support/needed.rs"]
mod needed;
mod processes;
mod results;
mod tvm;

use support::{Run, Tool};

/// The tool under test.
const PROMOTE_RUN: &str = env!("CARGO_BIN_EXE_promote-run");

/// What most tests run: rows of integers and floats.
const ROWS: &str = r#"!u = tensor<*x!promote.unknown>
func.func @rows(%x: tensor<?x3xf32>, %y: tensor<3xi32>) -> (!u, !u) {
  %0 = "promote.add"(%x, %y) : (tensor<?x3xf32>, tensor<3xi32>) -> !u
  %1 = "promote.sum"(%0) {axis = array<i64: 0>} : (!u) -> !u
  return %0, %1 : !u, !u
}
"#;

/// A function that returns its argument of a type.
fn identity(r#type: &str) -> String {
    format!(
        "func.func @same(%x: {type}) -> tensor<*x!promote.unknown> {{
  %0 = \"promote.positive\"(%x) : ({type}) -> tensor<*x!promote.unknown>
  return %0 : tensor<*x!promote.unknown>
}}
"
    )
}

/// Runs promote-run on a program.
fn run(program: &str, args: &[&str]) -> Run {
    run_in(&Tool::new(), program, args)
}

/// Runs promote-run on a program in a directory with files.
fn run_in(tool: &Tool, program: &str, args: &[&str]) -> Run {
    std::fs::write(tool.path("f.mlir"), program).expect("the directory can be written to");
    tool.command(PROMOTE_RUN, "", std::iter::once(&"f.mlir").chain(args))
}

/// A file as NumPy saves an array.
fn npy(descr: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let header = format!("{header}{}\n", " ".repeat(63 - (10 + header.len()) % 64));
    let length = u16::try_from(header.len()).expect("the header is short").to_le_bytes();
    [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), bytes].concat()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}
