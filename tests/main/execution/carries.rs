//! Loops that carry small tensors, which functions hold in their frames: every dtype, and sizes around those of vectors, of what is
//! computed without loops and of what is held, against the interpreter.

use std::fmt::Write;

use promote::{DType, Kind};
use promote_reference::{Array, Program, Value};

use crate::cases::System;

use super::support::{Random, compile, function, run, session};

const SHAPES: [&[usize]; 16] = [
    &[],
    &[0],
    &[1],
    &[2],
    &[3],
    &[5],
    &[7],
    &[16],
    &[31],
    &[64],
    &[65],
    &[200],
    &[700],
    &[2, 3],
    &[5, 9],
    &[3, 1, 5],
];

/// A loop whose carries change places, stay as they are on one path, and are computed anew, element by element and of rows.
fn text(name: &str, shape: &[usize], dtype: DType) -> String {
    let extents: String = shape.iter().map(|extent| format!("{extent}x")).collect();
    let t = format!("tensor<{extents}{}>", dtype.mlir());
    let both = if dtype.kind() == Kind::Bool { "logical_xor" } else { "add" };
    let mut own = "%a".to_owned();
    let mut rows = String::new();
    let has_rows =
        !matches!(dtype.kind(), Kind::Bool | Kind::Complex) && shape.last().is_some_and(|extent| *extent > 0);
    if has_rows {
        let kept: String = shape[..shape.len() - 1].iter().map(|extent| format!("{extent}x")).collect();
        let k = format!("tensor<{kept}1x{}>", dtype.mlir());
        let _ = write!(
            rows,
            r#"
    %most = "promote.max"(%a) {{axis = array<i64: -1>, keepdims = true}} : ({t}) -> {k}
    %less = "promote.subtract"(%a, %most) : ({t}, {k}) -> {t}"#
        );
        own = "%less".to_owned();
    }
    format!(
        r#"func.func @{name}(%x: {t}, %y: {t}, %z: {t}, %n: index, %stays: i1) -> ({t}, {t}, {t}, {t}) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %r:4 = scf.for %i = %zero to %n step %one iter_args(%a = %x, %b = %y, %c = %z, %d = %z) -> ({t}, {t}, {t}, {t}) {{{rows}
    %p = "promote.{both}"({own}, %b) : ({t}, {t}) -> {t}
    %q = scf.if %stays -> {t} {{
      scf.yield %d : {t}
    }} else {{
      %w = "promote.{both}"(%c, %d) : ({t}, {t}) -> {t}
      scf.yield %w : {t}
    }}
    scf.yield %b, %p, %a, %q : {t}, {t}, {t}, {t}
  }}
  return %r#0, %r#1, %r#2, %r#3 : {t}, {t}, {t}, {t}
}}
"#
    )
}

/// Each dtype tries half of the shapes, in turn.
#[test]
fn loops_carry_small_tensors_of_every_dtype() {
    let systems = System::all();
    let mut random = Random::new(31);
    for (turn, dtype) in DType::strong().enumerate() {
        let Some(system) = systems.iter().find(|system| system.has(dtype)) else { continue };
        let session = session(system.name, system.x64, false);
        let mut source = String::new();
        let shapes = || SHAPES.iter().enumerate().filter(|(number, _)| (turn + number).is_multiple_of(2));
        for (number, shape) in shapes() {
            source.push_str(&text(&format!("f{number}"), shape, dtype));
        }
        let executable = compile(&session, &source);
        let program = Program::read(&source).expect("the interpreter reads the program");
        for (number, shape) in shapes() {
            let name = format!("f{number}");
            for trips in [0, 1, 2, 7] {
                for stays in [false, true] {
                    let mut arguments: Vec<Value> = Vec::new();
                    for _ in 0..3 {
                        let count: usize = shape.iter().product();
                        let numbers: Vec<f64> = (0..count).map(|_| random.below(9) as f64 - 4.0).collect();
                        arguments.push(Value::Array(Array::of_reals(dtype, shape, &numbers)));
                    }
                    arguments.push(Value::Integer(trips));
                    arguments.push(Value::Integer(i64::from(stays)));
                    let expected = program.run(&system.semantics, &name, &arguments).expect("it runs");
                    let found = run(&function(&executable, &name), &arguments).expect("it runs");
                    let found: Vec<Value> = found.into_iter().map(Value::Array).collect();
                    assert_eq!(found, expected.results, "{dtype} {shape:?}, {trips} times, stays: {stays}");
                }
            }
        }
    }
}
