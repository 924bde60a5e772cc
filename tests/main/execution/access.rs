//! What is read across rows, in steps, and for short rows: permuted, sliced and broadcast operands of every dtype, against the interpreter.

use std::collections::HashSet;
use std::fmt::Write;

use promote::{DType, Kind};
use promote_reference::{Array, Number, Program, Value};

use crate::cases::System;

use super::support::{Random, compile, function, known, run, session};

/// Extents of matrices around those of the squares that are transposed in registers.
const MATRICES: [[usize; 2]; 6] = [[16, 16], [17, 33], [64, 48], [100, 31], [15, 70], [3, 260]];

/// Batches of planes, and the elements of each: around those of vectors, and fewer.
const PLANES: [[usize; 3]; 9] = [
    [1, 3, 1],
    [2, 2, 16],
    [1, 3, 64],
    [2, 3, 65],
    [1, 4, 200],
    [3, 5, 33],
    [1, 7, 130],
    [2, 8, 47],
    [1, 16, 70],
];

const STEPS: [i64; 8] = [2, 3, 4, 5, 8, 16, 17, 33];

fn random(dtype: DType, shape: &[usize], random: &mut Random) -> Array {
    let numbers = (0..shape.iter().product()).map(|_| random.below(100) as i128 - 50);
    let numbers: Vec<Number> = numbers.map(|number| Number::Int(number).fit(DType::I64)).collect();
    let fit = |number: Number| Number::Real(number.real()).fit(DType::F64);
    let elements = numbers.into_iter().map(|number| if dtype.is_integer() { number } else { fit(number) });
    Array::new(dtype, shape.to_vec(), elements)
}

fn tensor(shape: &[usize], dtype: DType, is_open: bool) -> String {
    let extents: String =
        shape.iter().map(|extent| if is_open { "?x".to_owned() } else { format!("{extent}x") }).collect();
    format!("tensor<{extents}{}>", dtype.mlir())
}

/// A function, and what it takes.
struct Case {
    text: String,
    name: String,
    arguments: Vec<Value>,
}

/// `where(mask, x.T, y)`.
fn turned(dtype: DType, [rows, columns]: [usize; 2], is_open: bool, random_numbers: &mut Random) -> Case {
    let name = format!("turned_{rows}_{columns}_{is_open}");
    let [x, y, mask] = [[columns, rows], [rows, columns], [rows, columns]];
    let [from, to, masks] =
        [tensor(&x, dtype, is_open), tensor(&y, dtype, is_open), tensor(&mask, DType::B1, is_open)];
    let text = format!(
        r#"func.func @{name}(%m: {masks}, %x: {from}, %y: {to}) -> ({to}, {to}) {{
  %t = "promote.permute_dims"(%x) {{permutation = array<i64: 1, 0>}} : ({from}) -> {to}
  %r = "promote.where"(%m, %t, %y) : ({masks}, {to}, {to}) -> {to}
  return %r, %t : {to}, {to}
}}
"#
    );
    let arrays = [
        random(DType::B1, &mask, random_numbers),
        random(dtype, &x, random_numbers),
        random(dtype, &y, random_numbers),
    ];
    Case { text, name, arguments: arrays.into_iter().map(Value::Array).collect() }
}

/// Planes of elements that are interleaved, with others that lie so already, and with one for each plane.
fn interleaved(
    dtype: DType,
    [batch, planes, rows]: [usize; 3],
    is_open: bool,
    random_numbers: &mut Random,
) -> Case {
    let name = format!("interleaved_{batch}_{planes}_{rows}_{is_open}");
    let [x, y, z] = [vec![batch, planes, rows], vec![batch, rows, planes], vec![planes]];
    // How many planes there are is always known.
    let t = |shape: [String; 3], dtype: DType| format!("tensor<{}{}>", shape.concat(), dtype.mlir());
    let of = |extent: usize| if is_open { "?x".to_owned() } else { format!("{extent}x") };
    let [from, to, masks] = [
        t([of(batch), format!("{planes}x"), of(rows)], dtype),
        t([of(batch), of(rows), format!("{planes}x")], dtype),
        t([of(batch), of(rows), format!("{planes}x")], DType::B1),
    ];
    let each = tensor(&z, dtype, false);
    let text = format!(
        r#"func.func @{name}(%m: {masks}, %x: {from}, %y: {to}, %z: {each}) -> ({to}, {to}, {to}) {{
  %t = "promote.permute_dims"(%x) {{permutation = array<i64: 0, 2, 1>}} : ({from}) -> {to}
  %r = "promote.where"(%m, %t, %y) : ({masks}, {to}, {to}) -> {to}
  %s = "promote.where"(%m, %z, %t) : ({masks}, {each}, {to}) -> {to}
  return %r, %t, %s : {to}, {to}, {to}
}}
"#
    );
    let arrays = [
        random(DType::B1, &y, random_numbers),
        random(dtype, &x, random_numbers),
        random(dtype, &y, random_numbers),
        random(dtype, &z, random_numbers),
    ];
    Case { text, name, arguments: arrays.into_iter().map(Value::Array).collect() }
}

/// Short rows with one element for each row, of all of the batch or the same for it: of numbers and of masks; and with
/// a row of them all, if there is one.
fn beside_rows(
    dtype: DType,
    [batch, width, rows]: [usize; 3],
    (is_open, has_row): (bool, bool),
    random_numbers: &mut Random,
) -> Case {
    let name = format!("beside_rows_{batch}_{width}_{rows}_{is_open}_{has_row}");
    let of = |extent: usize| if is_open { "?x".to_owned() } else { format!("{extent}x") };
    let t = |shape: &[String], dtype: DType| format!("tensor<{}{}>", shape.concat(), dtype.mlir());
    let (all, each, shared) = ([batch, rows, width], [batch, rows, 1], [rows, 1]);
    // How long a row is is always known.
    let [of_all, of_each] = [width, 1].map(|last| [of(batch), of(rows), format!("{last}x")]);
    let (to, masks, ones) = (t(&of_all, dtype), t(&of_all, DType::B1), t(&of_each, dtype));
    let (each_mask, row) = (t(&of_each[1..], DType::B1), tensor(&[width], dtype, false));
    let (last, third) = match has_row {
        true => ("%v, %z", format!("({each_mask}, {ones}, {row})")),
        false => ("%v, %y", format!("({each_mask}, {ones}, {to})")),
    };
    let text = format!(
        r#"func.func @{name}(%m: {masks}, %y: {to}, %v: {ones}, %p: {each_mask}, %z: {row}) -> ({to}, {to}, {to}) {{
  %r = "promote.where"(%m, %y, %v) : ({masks}, {to}, {ones}) -> {to}
  %s = "promote.where"(%p, %y, %v) : ({each_mask}, {to}, {ones}) -> {to}
  %t = "promote.where"(%p, {last}) : {third} -> {to}
  return %r, %s, %t : {to}, {to}, {to}
}}
"#
    );
    let arrays = [
        random(DType::B1, &all, random_numbers),
        random(dtype, &all, random_numbers),
        random(dtype, &each, random_numbers),
        random(DType::B1, &shared, random_numbers),
        random(dtype, &[width], random_numbers),
    ];
    Case { text, name, arguments: arrays.into_iter().map(Value::Array).collect() }
}

/// A permutation of three dimensions, none of which stays where it is.
fn rolled(dtype: DType, random_numbers: &mut Random) -> Case {
    let [from, to] = [[5, 19, 35], [35, 5, 19]];
    let [source, target] = [tensor(&from, dtype, false), tensor(&to, dtype, false)];
    let text = format!(
        r#"func.func @rolled(%x: {source}) -> {target} {{
  %t = "promote.permute_dims"(%x) {{permutation = array<i64: 2, 0, 1>}} : ({source}) -> {target}
  return %t : {target}
}}
"#
    );
    Case {
        text,
        name: "rolled".to_owned(),
        arguments: vec![Value::Array(random(dtype, &from, random_numbers))],
    }
}

/// Every so many elements of a vector, and of the rows of a matrix.
fn stepped(dtype: DType, step: i64, random_numbers: &mut Random) -> Case {
    let name = format!("stepped_{step}");
    let count = 1000_usize;
    let length = (count - 1).div_ceil(step as usize);
    let (source, target) = (tensor(&[count], dtype, false), tensor(&[length], dtype, false));
    let text = format!(
        r#"func.func @{name}(%x: {source}) -> {target} {{
  %t = "promote.slice"(%x) {{start = array<i64: 1>, stop = array<i64: {count}>, step = array<i64: {step}>}} : ({source}) -> {target}
  return %t : {target}
}}
"#
    );
    Case { text, name, arguments: vec![Value::Array(random(dtype, &[count], random_numbers))] }
}

/// Dtypes of as many bits, whose elements are moved alike unless they are complex, are tried with a fifth of the cases each, but for the
/// first of them.
#[test]
fn permuted_sliced_and_broadcast_operands_of_every_dtype() {
    let (systems, mut moved) = (System::all(), HashSet::new());
    for (number, dtype) in DType::strong().enumerate() {
        let Some(system) = systems.iter().find(|system| system.has(dtype)) else { continue };
        let session = session(system.name, system.x64, false);
        let mut numbers = Random::new(number as u64);
        let mut cases = vec![rolled(dtype, &mut numbers)];
        for extents in MATRICES {
            cases.extend([false, true].map(|is_open| turned(dtype, extents, is_open, &mut numbers)));
        }
        for extents in PLANES {
            cases.extend([false, true].map(|is_open| interleaved(dtype, extents, is_open, &mut numbers)));
            for is in [(false, true), (true, true), (true, false)] {
                cases.push(beside_rows(dtype, extents, is, &mut numbers));
            }
        }
        cases.extend(STEPS.map(|step| stepped(dtype, step, &mut numbers)));
        if !moved.insert((dtype.kind() == Kind::Complex, dtype.bits())) {
            let mut of_dtype = (number..).map(|case| case % 5 == 0);
            cases.retain(|_| of_dtype.next() == Some(true));
        }
        let mut text = String::new();
        cases.iter().for_each(|case| write!(text, "{}", case.text).expect("text can be written"));
        let executable = compile(&session, &text);
        let program = Program::read(&text).expect("the interpreter reads the program");
        for case in &cases {
            let expected = program.run(&system.semantics, &case.name, &case.arguments).expect("it runs");
            let found = run(&function(&executable, &case.name), &case.arguments).expect("it runs");
            let found: Vec<Value> = found.into_iter().map(Value::Array).collect();
            assert_eq!(found, expected.results, "{dtype} {}", case.name);
        }
    }
}

/// Reductions of the first rows, of the first columns, and of both: of nothing else that the operand has.
#[test]
fn reductions_of_the_first_rows_and_columns() {
    const SHAPE: [usize; 2] = [18, 40];
    const OPS: [&str; 9] = ["sum", "prod", "max", "min", "mean", "var", "std", "logsumexp", "any"];
    let session = session("jax", false, false);
    let x = random(DType::F32, &SHAPE, &mut Random::new(7));
    for is_open in [false, true] {
        for stop in [[5, 40], [18, 7], [4, 33], [1, 40]] {
            let rows = (0..stop[0]).flat_map(|row| (0..stop[1]).map(move |column| row * SHAPE[1] + column));
            let first = Array::new(DType::F32, stop.to_vec(), rows.map(|place| x.elements[place]));
            // What types leave open may be reduced in another order.
            let [whole, part] = [SHAPE, stop].map(|shape| tensor(&shape, DType::F32, is_open));
            for op in OPS {
                // Over both axes together the terms of rows that lie apart are added up in another order.
                for axis in ["0", "1"] {
                    let reduced =
                        |of: &str| format!("%r = \"promote.{op}\"({of}) {{axis = array<i64: {axis}>}}");
                    let text = known(&format!(
                        "func.func @sliced(%x: {whole}) -> !u {{
  %s = \"promote.slice\"(%x) {{start = array<i64: 0, 0>, stop = array<i64: {}, {}>, step = array<i64: 1, 1>}} : ({whole}) -> !u
  {} : (!u) -> !u
  return %r : !u
}}
func.func @packed(%x: {part}) -> !u {{
  {} : ({part}) -> !u
  return %r : !u
}}
",
                        stop[0],
                        stop[1],
                        reduced("%s"),
                        reduced("%x")
                    ));
                    let executable = compile(&session, &text);
                    let results = [("sliced", &x), ("packed", &first)]
                        .map(|(name, x)| run(&function(&executable, name), &[Value::Array(x.clone())]));
                    let [sliced, packed] = results
                        .map(|results| results.expect("it runs"))
                        .map(|results| (results[0].shape.clone(), results[0].bits()));
                    assert_eq!(sliced, packed, "{op} over {axis} of {stop:?} of {SHAPE:?}, open: {is_open}");
                }
            }
        }
    }
}
