//! Columns that take turns in memory, a few of them: `max`, `min`, `any` and `all` of them, against the interpreter.

use std::fmt::Write;

use promote::{DType, Target, set_threads, threads};
use promote_reference::{Array, Number, Program, Value};

use crate::cases::System;

use super::ragged_rows::targets;
use super::support::{Random, compile_for, function, run, session};

const DTYPES: [DType; 6] = [DType::B1, DType::U8, DType::I32, DType::BF16, DType::F32, DType::F64];

/// How many columns there are: more than are reduced in vectors of all of them at the end.
const WIDTHS: [usize; 5] = [2, 3, 5, 16, 17];

/// How many rows: around as many as vectors have lanes, and rounds of several.
const ROWS: [usize; 11] = [1, 2, 15, 16, 17, 33, 64, 65, 128, 131, 301];

/// Numbers of which few are other than the rest: signed zeros and NaNs among floats, and truth values that settle a column.
fn array(dtype: DType, shape: &[usize], random: &mut Random) -> Array {
    let is_rare = |random: &mut Random| random.below(150) == 0;
    let rare = random.below(2) == 0;
    let one = |random: &mut Random| match dtype {
        DType::B1 => Number::Int(i128::from(is_rare(random) == rare)),
        _ if dtype.is_integer() => Number::Int(random.below(100) as i128).fit(dtype),
        _ if is_rare(random) => Number::Real(f64::NAN),
        _ if is_rare(random) => Number::Real(-0.0),
        _ => Number::Real(random.below(100) as f64 - 80.0).fit(dtype),
    };
    let elements: Vec<Number> = (0..shape.iter().product()).map(|_| one(random)).collect();
    Array::new(dtype, shape.to_vec(), elements)
}

/// Functions of a tensor of rows of so many columns in a batch, and of one of each of that: the reductions, alone and of sums.
fn text(dtype: DType, name: &str, [batch, rows]: [&str; 2], width: usize) -> (String, Vec<String>) {
    let (x, y) = (
        format!("tensor<{batch}x{rows}x{width}x{}>", dtype.mlir()),
        format!("tensor<{batch}x1x1x{}>", dtype.mlir()),
    );
    let (mut text, mut names) = (String::new(), Vec::new());
    for op in ["max", "min", "any", "all"] {
        if dtype == DType::B1 && matches!(op, "max" | "min") {
            continue;
        }
        let result = if matches!(op, "any" | "all") { DType::B1 } else { dtype };
        let result = format!("tensor<{batch}x{width}x{}>", result.mlir());
        let own = format!("{op}_{name}_{width}");
        let _ = write!(
            text,
            r#"func.func @{own}(%x: {x}, %y: {y}) -> ({result}, {result}) {{
  %r = "promote.{op}"(%x) {{axis = array<i64: 1>}} : ({x}) -> {result}
  %m = "promote.maximum"(%x, %y) : ({x}, {y}) -> {x}
  %s = "promote.{op}"(%m) {{axis = array<i64: 1>}} : ({x}) -> {result}
  return %r, %s : {result}, {result}
}}
"#
        );
        names.push(own);
    }
    (text, names)
}

/// Each processor and dtype tries two widths, in turn.
#[test]
fn a_few_columns_have_the_extremes_of_any_number_of_rows() {
    let systems = System::all();
    for (number, dtype) in DTYPES.into_iter().enumerate() {
        let system = systems.iter().find(|system| system.has(dtype)).expect("one has it");
        let session = session(system.name, system.x64, false);
        let (mut texts, mut cases) = (Vec::new(), Vec::new());
        for (index, width) in WIDTHS.into_iter().enumerate() {
            let (open, names) = text(dtype, "open", ["?", "?"], width);
            cases
                .extend(names.into_iter().flat_map(|name| ROWS.map(|rows| (name.clone(), [2, rows, width]))));
            let rows = ROWS[(index * 5 + number) % ROWS.len()];
            let (stated, names) = text(dtype, "stated", ["3", &rows.to_string()], width);
            cases.extend(names.into_iter().map(|name| (name, [3, rows, width])));
            texts.push(open + &stated);
        }
        let all = texts.concat();
        let program = Program::read(&all).expect("the interpreter reads the program");
        let mut random = Random::new(number as u64);
        let runs: Vec<_> = (cases.iter())
            .map(|(name, shape)| {
                let arguments = [*shape, [shape[0], 1, 1]].map(|shape| array(dtype, &shape, &mut random));
                let arguments = arguments.map(Value::Array);
                let expected = program.run(&system.semantics, name, &arguments).expect("it runs").results;
                (name, shape, arguments, expected)
            })
            .collect();
        for (place, target) in targets().into_iter().enumerate() {
            let tried = [0, 1].map(|index| (number + place + index) % WIDTHS.len());
            let text: String = tried.map(|index| texts[index].as_str()).concat();
            let executable = compile_for(&session, &text, target.clone()).expect("it is compiled");
            let is_tried = |[.., width]: [usize; 3]| tried.iter().any(|index| WIDTHS[*index] == width);
            for (name, shape, arguments, expected) in runs.iter().filter(|(_, shape, ..)| is_tried(**shape)) {
                let found = run(&function(&executable, name), arguments).expect("it runs");
                let found: Vec<Value> = found.into_iter().map(Value::Array).collect();
                assert_eq!(found, *expected, "{dtype} {name} of {shape:?} on {}", target.cpu());
            }
        }
    }
}

#[test]
fn a_few_long_columns_have_the_same_extremes_in_parts_and_on_threads() {
    let systems = System::all();
    let system = systems.iter().find(|system| system.name == "jax").expect("there is JAX");
    let session = session(system.name, system.x64, false);
    let before = threads();
    for dtype in [DType::U8, DType::F32] {
        for (rows, width) in [(70_001, 3), (66_000, 7)] {
            let (text, names) = text(dtype, "long", ["1", &rows.to_string()], width);
            let program = Program::read(&text).expect("the interpreter reads the program");
            let executable = compile_for(&session, &text, Target::host()).expect("it is compiled");
            let mut random = Random::new(rows as u64);
            let arguments = [[1, rows, width], [1, 1, 1]].map(|shape| array(dtype, &shape, &mut random));
            let arguments = arguments.map(Value::Array);
            for name in names {
                let expected = program.run(&system.semantics, &name, &arguments).expect("it runs").results;
                for number in [1, 2, 3] {
                    set_threads(number);
                    let found = run(&function(&executable, &name), &arguments).expect("it runs");
                    let found: Vec<Value> = found.into_iter().map(Value::Array).collect();
                    assert_eq!(found, expected, "{dtype} {name} on {number} threads");
                }
            }
        }
    }
    set_threads(before);
}
