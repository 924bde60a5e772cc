//! `take` from what does not lie in row-major order: from arguments, and from what the program turned, cut, reversed and stretched,
//! against the interpreter.

use std::fmt::Write;

use promote::DType;
use promote_lower::program::{EntryKind, Step};
use promote_reference::{Array, Number, Program, Value};

use super::layouts::{Laid, Spread};
use super::random::in_steps;
use super::support::{Random, array, compile, function, known, orders, run, session, tensor};
use crate::cases::System;

/// What a program does with an operand first, and what that has as its shape.
struct Viewed {
    op: &'static str,
    attributes: String,
    shape: Vec<usize>,
}

const SHAPE: [usize; 3] = [18, 5, 33];

fn listed<T: ToString>(numbers: impl IntoIterator<Item = T>) -> String {
    let numbers: Vec<String> = numbers.into_iter().map(|number| number.to_string()).collect();
    format!("array<i64: {}>", numbers.join(", "))
}

fn views() -> Vec<Viewed> {
    let mut views: Vec<Viewed> = orders(3)
        .into_iter()
        .map(|order| Viewed {
            op: "permute_dims",
            attributes: format!("permutation = {}", listed(&order)),
            shape: order.iter().map(|axis| SHAPE[*axis]).collect(),
        })
        .collect();
    for axis in 0..3 {
        views.push(Viewed {
            op: "flip",
            attributes: format!("axis = {}", listed([axis])),
            shape: SHAPE.to_vec(),
        });
        let mut step = [1, 1, 1];
        step[axis] = 2;
        let stop = SHAPE.map(|extent| extent - 1);
        let shape = (0..3).map(|axis| (stop[axis] - 1_usize).div_ceil(step[axis])).collect();
        let attributes =
            format!("start = {}, stop = {}, step = {}", listed([1, 1, 1]), listed(stop), listed(step));
        views.push(Viewed { op: "slice", attributes, shape });
    }
    let wide = [3, 18, 5, 33];
    views.push(Viewed {
        op: "broadcast_to",
        attributes: format!("shape = {}", listed(wide)),
        shape: wide.to_vec(),
    });
    views
}

/// Numbers that each occur once, as far as the dtype has as many.
fn numbers(dtype: DType, shape: &[usize]) -> Array {
    let number = |number: usize| match dtype.is_integer() {
        true => Number::Int(number as i128 % 128),
        false => Number::Real(number as f64).fit(DType::F64),
    };
    Array::new(dtype, shape.to_vec(), (0..shape.iter().product()).map(number))
}

/// Indices in range, some of them negative, and, if they may be, some that are not in range.
fn indices(extent: usize, count: usize, has_others: bool, random: &mut Random) -> Array {
    let others = if has_others { 3 } else { 0 };
    let extent = extent as i128;
    let index = |_| random.below(2 * extent as usize + 2 * others) as i128 - extent - others as i128;
    Array::new(DType::I32, vec![count], (0..count).map(index).map(Number::Int).collect::<Vec<_>>())
}

/// The function that takes from what `viewed` makes of its first argument.
fn taking(dtype: DType, viewed: &Viewed, (axis, count, name): (usize, usize, &str)) -> String {
    let Viewed { op, attributes, .. } = viewed;
    let x = format!("tensor<{}x{}>", SHAPE.map(|extent| extent.to_string()).join("x"), dtype.mlir());
    format!(
        "func.func @{name}(%x: {x}, %i: tensor<{count}xi32>) -> !u {{
  %v = \"promote.{op}\"(%x) {{{attributes}}} : ({x}) -> !u
  %r = \"promote.take\"(%v, %i) {{axis = {axis} : i64}} : (!u, tensor<{count}xi32>) -> !u
  return %r : !u
}}
"
    )
}

/// Few indices, which are looked up where they are, and so many that what is taken from is made first where its rows lie across.
#[test]
fn what_the_program_turned_cut_reversed_and_stretched() {
    for system in System::all().iter().filter(|system| ["jax", "numpy2", "torch"].contains(&system.name)) {
        let session = session(system.name, system.x64, false);
        let mut random = Random::new(31);
        for dtype in
            [DType::F32, DType::I8, DType::F64, DType::C64].into_iter().filter(|one| system.has(*one))
        {
            let (mut text, mut cases) = (String::new(), Vec::new());
            for (number, viewed) in views().iter().enumerate() {
                for axis in 0..viewed.shape.len() {
                    for count in [0, 2, 40] {
                        let name = format!("f{number}_{axis}_{count}");
                        write!(text, "{}", taking(dtype, viewed, (axis, count, &name)))
                            .expect("text can be written");
                        let places = indices(viewed.shape[axis], count, system.name == "jax", &mut random);
                        cases.push((name, [numbers(dtype, &SHAPE), places].map(Value::Array)));
                    }
                }
            }
            let text = known(&text);
            let executable = compile(&session, &text);
            let program = Program::read(&text).expect("the interpreter reads the program");
            for (name, arguments) in &cases {
                let expected = program.run(&system.semantics, name, arguments).expect("it runs");
                let found = run(&function(&executable, name), arguments).expect("it runs");
                let found: Vec<Value> = found.into_iter().map(Value::Array).collect();
                assert_eq!(found, expected.results, "{} {dtype} {name}", system.name);
            }
        }
    }
}

/// The function that takes from its first argument, whose extents are known or not.
fn taking_from(dtype: DType, shape: &[usize], is_open: bool, (axis, count): (usize, usize)) -> String {
    let extents = shape.iter().map(|extent| if is_open { "?x".to_owned() } else { format!("{extent}x") });
    let x = format!("tensor<{}{}>", extents.collect::<String>(), dtype.mlir());
    known(&format!(
        "func.func @f(%x: {x}, %i: tensor<{count}xi32>) -> !u {{
  %r = \"promote.take\"(%x, %i) {{axis = {axis} : i64}} : ({x}, tensor<{count}xi32>) -> !u
  return %r : !u
}}
"
    ))
}

/// Large enough to be read where they are, in all orders, in rows that are a gap apart and in steps, forward and backward.
#[test]
fn arguments_in_every_order() {
    const SPREADS: [Spread; 4] = [
        Spread { gap: 0, step: 1 },
        Spread { gap: 3, step: 1 },
        Spread { gap: 0, step: 2 },
        Spread { gap: 2, step: -3 },
    ];
    let jax = System::all().into_iter().find(|system| system.name == "jax").expect("it is one of them");
    let session = session("jax", true, false);
    let mut random = Random::new(32);
    for (dtype, shape) in [
        (DType::F32, vec![80_000]),
        (DType::F64, vec![1030, 37]),
        (DType::F32, vec![64, 1040]),
        (DType::I16, vec![90, 41, 40]),
        (DType::C64, vec![20, 128, 17]),
    ] {
        for axis in 0..shape.len() {
            for (count, is_open) in [(2, false), (2, true), (300, false), (300, true)] {
                let text = taking_from(dtype, &shape, is_open, (axis, count));
                let executable = compile(&session, &text);
                let x = numbers(dtype, &shape);
                let packed = tensor(&x);
                let places = indices(shape[axis], count, true, &mut random);
                let program = Program::read(&text).expect("the interpreter reads the program");
                let expected =
                    program.run(&jax.semantics, "f", &[Value::Array(x), Value::Array(places.clone())]);
                let expected = expected.expect("it runs").results;
                for order in orders(shape.len()) {
                    for spread in SPREADS {
                        let elements = packed.bytes().expect("it is contiguous");
                        let laid = Laid::new((dtype, elements), &shape, &order, spread);
                        let found = function(&executable, "f").run(&[laid.tensor(), tensor(&places)]);
                        let found = found.expect("it runs");
                        assert_eq!(
                            [Value::Array(array(&found[0]))],
                            expected.as_slice(),
                            "{dtype} {shape:?} over {axis}, {count} of open: {is_open}, in {order:?}, {spread:?}"
                        );
                    }
                }
            }
        }
    }
}

/// How many buffers each of the functions for arguments in other orders allocates for itself.
fn copies(of: &str, indices: &str, axis: usize, result: &str) -> Vec<usize> {
    let jax = System::all().into_iter().find(|system| system.name == "jax").expect("it is one of them");
    let text = format!(
        "func.func @f(%x: {of}, %i: {indices}) -> {result} {{
  %r = \"promote.take\"(%x, %i) {{axis = {axis} : i64}} : ({of}, {indices}) -> {result}
  return %r : {result}
}}
"
    );
    let program = in_steps(&session("jax", false, false), &jax.semantics, &text).expect("it is lowered");
    let strided = program.functions.iter().filter(|function| matches!(function.entry, EntryKind::Strided(_)));
    let steps = strided.map(|function| function.blocks.iter().flat_map(|block| &block.steps));
    steps.map(|steps| steps.filter(|(step, _)| matches!(step, Step::Allocate { .. })).count()).collect()
}

#[test]
fn rows_and_what_is_little_are_taken_without_a_copy() {
    let [few, many] = [100, 10_000].map(|count| format!("tensor<{count}xi32>"));
    // There are functions for elements side by side along the last dimension and the first, and for elements apart.
    assert_eq!(copies("tensor<5000x64xf32>", &few, 0, "tensor<100x64xf32>"), [0, 0, 0]);
    assert_eq!(copies("tensor<64x5000xf32>", &few, 1, "tensor<64x100xf32>"), [0, 0, 0]);
    // Where they are as few as that, there is one for any strides, too, and none but that where they are not read along memory.
    assert_eq!(copies("tensor<320000xi8>", &few, 0, "tensor<100xi8>"), [0]);
    assert_eq!(copies("tensor<3200xi8>", &few, 0, "tensor<100xi8>"), [0; 0]);
    // Of rows there may be any number. Many elements across them would be looked up in a copy: such an argument is packed, and has no
    // function.
    assert_eq!(copies("tensor<5000x64xf32>", &many, 0, "tensor<10000x64xf32>"), [0]);
}

/// Of what is computed no more than what the program cut from it.
#[test]
fn what_is_computed_is_not_computed_whole_to_take_from_its_first_rows() {
    let jax = System::all().into_iter().find(|system| system.name == "jax").expect("it is one of them");
    let [whole, first, taken] = ["5000x64", "100x64", "7x64"].map(|extents| format!("tensor<{extents}xf32>"));
    let text = format!(
        "func.func @f(%x: {whole}, %i: tensor<7xi32>) -> {taken} {{
  %e = \"promote.exp\"(%x) : ({whole}) -> {whole}
  %v = \"promote.slice\"(%e) {{start = array<i64: 0, 0>, stop = array<i64: 100, 64>, step = array<i64: 1, 1>}} : ({whole}) -> {first}
  %r = \"promote.take\"(%v, %i) {{axis = 0 : i64}} : ({first}, tensor<7xi32>) -> {taken}
  return %r : {taken}
}}
"
    );
    let program = in_steps(&session("jax", false, false), &jax.semantics, &text).expect("it is lowered");
    assert!(!program.to_string().contains("allocate [5000, 64]"), "{program}");
}
