//! `take` from what does not lie in row-major order: from arguments, and from what the program turned, cut, reversed and stretched,
//! against the interpreter.

use std::fmt::Write;

use promote::{DType, Kind, TensorMut};
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
    let number = |number: usize| match dtype.kind() {
        Kind::Bool => Number::Int(number as i128 % 2),
        Kind::Unsigned | Kind::Signed => Number::Int(number as i128 % 128),
        Kind::Float if dtype.bits() <= 16 => Number::Real((number % 128) as f64),
        Kind::Float | Kind::Complex => Number::Real(number as f64).fit(DType::F64),
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

/// Programs that take so many elements along an axis of some shape, and compute with them.
fn from_short_axes(dtype: DType, shape: &[usize], is_open: bool, (axis, count): (usize, usize)) -> String {
    let extent = |(number, extent): (usize, &usize)| match number {
        0 if is_open => "?".to_owned(),
        _ => extent.to_string(),
    };
    let x: Vec<String> = shape.iter().enumerate().map(extent).collect();
    let (x, ty) = (format!("tensor<{}x{}>", x.join("x"), dtype.mlir()), dtype.mlir());
    let i = format!("tensor<{count}xi32>");
    known(&format!(
        "func.func @taken(%x: {x}, %i: {i}, %y: tensor<1x{ty}>) -> !u {{
  %r = \"promote.take\"(%x, %i) {{axis = {axis} : i64}} : ({x}, {i}) -> !u
  return %r : !u
}}
func.func @reversed(%x: {x}, %i: {i}, %y: tensor<1x{ty}>) -> !u {{
  %v = \"promote.flip\"(%x) {{axis = array<i64: {axis}>}} : ({x}) -> !u
  %j = \"promote.bitwise_invert\"(%i) : ({i}) -> !u
  %t = \"promote.take\"(%v, %j) {{axis = {axis} : i64}} : (!u, !u) -> !u
  %r = \"promote.maximum\"(%t, %y) : (!u, tensor<1x{ty}>) -> !u
  return %r : !u
}}
func.func @reduced(%x: {x}, %i: {i}, %y: tensor<1x{ty}>) -> !u {{
  %t = \"promote.take\"(%x, %i) {{axis = {axis} : i64}} : ({x}, {i}) -> !u
  %r = \"promote.max\"(%t) {{axis = array<i64: -1>}} : (!u) -> !u
  return %r : !u
}}
"
    ))
}

/// Whatever part of a vector, or how many of them, they fill: a processor may choose them in registers. The systems after the first one
/// try a third of the shapes of each dtype, in turn.
#[test]
fn along_axes_that_are_shorter_than_vectors() {
    /// The bytes beside the result that are looked at.
    const BESIDE: usize = 128;
    for (turn, system) in System::all().iter().enumerate() {
        let session = session(system.name, system.x64, false);
        let mut random = Random::new(33);
        let dtypes = [DType::B1, DType::I8, DType::I16, DType::BF16, DType::F16, DType::F32, DType::F64];
        for (number, dtype) in dtypes.into_iter().enumerate().filter(|(_, one)| system.has(*one)) {
            let cases = [
                // Colours; columns more often than there are; rows that fill a register, or several, and of which few are taken.
                (vec![301, 3], 1, 2),
                (vec![9, 67, 4], 2, 4),
                (vec![530, 2], 1, 9),
                (vec![1000, 1], 1, 3),
                (vec![131, 13], 1, 52),
                (vec![70, 64], 1, 33),
                (vec![40, 129], 1, 100),
                (vec![90, 100], 1, 2),
                // With neighbours.
                (vec![203, 7, 4], 1, 5),
                (vec![100, 5, 8], 1, 6),
                (vec![50, 3, 2, 3], 1, 4),
                (vec![3, 5, 7], 0, 40),
                // Of longer rows, and longer ones.
                (vec![60, 301], 1, 77),
                (vec![33, 17, 40], 1, 9),
                // Few rows, or none.
                (vec![2, 5], 1, 3),
                (vec![0, 5], 1, 3),
            ];
            let is_tried = |case: usize| turn == 0 || (case + number + turn).is_multiple_of(3);
            let tried = cases.into_iter().enumerate().filter(|(case, _)| is_tried(*case));
            for (_, (shape, axis, count)) in tried {
                let x = numbers(dtype, &shape);
                let places = indices(shape[axis], count, system.name == "jax", &mut random);
                let arguments = [x, places, numbers(dtype, &[1])];
                let given = arguments.each_ref().map(tensor);
                let arguments = arguments.map(Value::Array);
                for is_open in [false, true] {
                    let text = from_short_axes(dtype, &shape, is_open, (axis, count));
                    let executable = compile(&session, &text);
                    let program = Program::read(&text).expect("the interpreter reads the program");
                    for name in ["taken", "reversed", "reduced"] {
                        let of = format!(
                            "{} {name} {dtype} {shape:?}, {count} along {axis}, open: {is_open}",
                            system.name
                        );
                        let wanted = program.run(&system.semantics, name, &arguments).expect("it runs");
                        let [Value::Array(wanted)] = wanted.results.as_slice() else { panic!("{of}") };
                        let mut found = tensor(wanted);
                        let extents = found.shape().to_vec();
                        let bytes = found.bytes_mut().expect("the tensor is owned");
                        let all = bytes.len();
                        let mut memory = vec![0x55; all + 2 * BESIDE];
                        let target = TensorMut::new(dtype, &extents, &mut memory[BESIDE..][..all]);
                        let mut targets = [target.expect("there is as much memory")];
                        function(&executable, name).run_into(&given, &mut targets).expect("it runs");
                        bytes.copy_from_slice(&memory[BESIDE..][..all]);
                        assert_eq!(&array(&found), wanted, "{of}");
                        let is_beside = |place: &usize| !(BESIDE..BESIDE + all).contains(place);
                        let is_whole = (0..memory.len()).filter(is_beside).all(|place| memory[place] == 0x55);
                        assert!(is_whole, "{of}: wrote beside");
                    }
                }
            }
        }
    }
}

/// As if each were looked up by itself: if there is nothing to take from, nothing is looked up.
#[test]
fn indices_out_of_range_of_short_axes_end_the_call() {
    for system in System::all().iter().filter(|system| ["numpy2", "torch"].contains(&system.name)) {
        let session = session(system.name, system.x64, false);
        let text = from_short_axes(DType::F32, &[1, 5], true, (1, 3));
        let executable = compile(&session, &text);
        for (rows, index, is_fine) in [(100, 4, true), (100, -5, true), (100, 5, false), (1, -6, false)] {
            let places = Array::new(DType::I32, vec![3], [0, index, 1].map(Number::Int));
            let of = [&numbers(DType::F32, &[rows, 5]), &places, &numbers(DType::F32, &[1])];
            let outcome = function(&executable, "taken").run(&of.map(tensor));
            let message = outcome.err().map(|error| error.to_string());
            let is_said =
                message.as_ref().is_some_and(|message| message.contains("an index is out of range"));
            assert_eq!(is_said, !is_fine, "{} {rows} {index}: {message:?}", system.name);
        }
        let places = Array::new(DType::I32, vec![3], [0, 5, 1].map(Number::Int));
        let arguments = [numbers(DType::F32, &[0, 5]), places, numbers(DType::F32, &[1])];
        let program = Program::read(&text).expect("the interpreter reads the program");
        let wanted = program.run(&system.semantics, "taken", &arguments.clone().map(Value::Array));
        let found = function(&executable, "taken").run(&arguments.each_ref().map(tensor));
        assert_eq!(wanted.is_ok(), found.is_ok(), "{} of nothing", system.name);
        // Of rows without elements, none is read.
        for is_open in [false, true] {
            let executable = compile(&session, &from_short_axes(DType::F32, &[1000, 0], is_open, (1, 8)));
            let places = Array::new(DType::I32, vec![8], vec![Number::Int(0); 8]);
            let of = [&numbers(DType::F32, &[1000, 0]), &places, &numbers(DType::F32, &[1])];
            let outcome = function(&executable, "taken").run(&of.map(tensor));
            let message = outcome.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(message.contains("an index is out of range"), "{}: {message}", system.name);
        }
    }
}

/// Runs a program of small integers, and the interpreter.
fn runs_as_the_interpreter(text: &str, shapes: &[(DType, &[usize])]) {
    let jax = System::all().into_iter().find(|system| system.name == "jax").expect("it is one of them");
    let mut random = Random::new(34);
    let mut array = |(dtype, shape): &(DType, &[usize])| {
        let numbers = (0..shape.iter().product()).map(|_| Number::Int(random.below(7) as i128));
        Value::Array(Array::new(*dtype, shape.to_vec(), numbers.collect::<Vec<_>>()))
    };
    let arguments: Vec<Value> = shapes.iter().map(&mut array).collect();
    let text = known(text);
    let executable = compile(&session("jax", true, false), &text);
    let program = Program::read(&text).expect("the interpreter reads the program");
    let wanted = program.run(&jax.semantics, "f", &arguments).expect("it runs").results;
    let found = run(&function(&executable, "f"), &arguments).expect("it runs");
    assert_eq!(found.into_iter().map(Value::Array).collect::<Vec<_>>(), wanted, "{text}");
}

/// Which elements are taken is not known before the rows that the kernel goes through.
#[test]
fn indices_that_wait_for_a_reduction() {
    for [rows, columns] in [[4, 5], [20, 40], [300, 5]] {
        let z = format!("tensor<{rows}x{columns}xi32>");
        let text = format!(
            "func.func @f(%z: {z}, %i: tensor<{columns}xi32>, %x: tensor<{rows}x10xi32>) -> !u {{
  %m = \"promote.max\"(%z) : ({z}) -> !u
  %j = \"promote.add\"(%i, %m) : (tensor<{columns}xi32>, !u) -> !u
  %t = \"promote.take\"(%x, %j) {{axis = 1 : i64}} : (tensor<{rows}x10xi32>, !u) -> !u
  %r = \"promote.add\"(%t, %z) : (!u, {z}) -> !u
  return %r : !u
}}
"
        );
        let shapes: [&[usize]; 3] = [&[rows, columns], &[columns], &[rows, 10]];
        runs_as_the_interpreter(&text, &shapes.map(|shape| (DType::I32, shape)));
    }
}

/// More of what else is read of a block than fits into registers.
#[test]
fn beside_what_is_wide() {
    let [x, i, y, z] =
        ["tensor<80x130xui8>", "tensor<3x300xi32>", "tensor<80x3x300xui8>", "tensor<80x1x300xui8>"];
    let text = format!(
        "func.func @f(%x: {x}, %i: {i}, %y: {y}, %z: {z}) -> !u {{
  %t = \"promote.take\"(%x, %i) {{axis = 1 : i64}} : ({x}, {i}) -> !u
  %a = \"promote.add\"(%t, %y) : (!u, {y}) -> !u
  %r = \"promote.subtract\"(%a, %z) : (!u, {z}) -> !u
  return %r : !u
}}
"
    );
    let bytes = |shape: &'static [usize]| (DType::U8, shape);
    let arguments = [bytes(&[80, 130]), (DType::I32, &[3, 300]), bytes(&[80, 3, 300]), bytes(&[80, 1, 300])];
    runs_as_the_interpreter(&text, &arguments);
}

/// Places are kept on the stack, of which callers need not have much.
#[test]
fn many_takes_of_one_kernel() {
    let (mut text, mut sum) = (String::new(), "%x");
    let names: Vec<String> = (0..40).map(|number| format!("%s{number}")).collect();
    for (number, next) in names.iter().enumerate() {
        let of = if number == 0 { "tensor<9x600xi32>" } else { "!u" };
        writeln!(
            text,
            "  %c{number} = \"promote.constant\"() {{value = dense<{number}> : tensor<i32>}} : () -> tensor<i32>
  %j{number} = \"promote.add\"(%i, %c{number}) : (tensor<600xi32>, tensor<i32>) -> !u
  %t{number} = \"promote.take\"(%x, %j{number}) {{axis = 1 : i64}} : (tensor<9x600xi32>, !u) -> !u
  {next} = \"promote.add\"({sum}, %t{number}) : ({of}, !u) -> !u"
        )
        .expect("text can be written");
        sum = next;
    }
    let text = known(&format!(
        "func.func @f(%x: tensor<9x600xi32>, %i: tensor<600xi32>) -> !u {{\n{text}  return {sum} : !u\n}}\n"
    ));
    let executable = compile(&session("jax", true, false), &text);
    let on_small_stack = || {
        let arguments = [numbers(DType::I32, &[9, 600]), numbers(DType::I32, &[600])].map(Value::Array);
        let found = run(&function(&executable, "f"), &arguments).map_err(|error| error.to_string())?;
        let [Value::Array(x), Value::Array(i)] = &arguments else { unreachable!("they are arrays") };
        let at = |row: usize, index: i128| x.elements[row * 600 + index as usize];
        let wanted = |number: usize| {
            let Number::Int(index) = i.elements[number % 600] else { unreachable!("it is an integer") };
            let taken = (0..40).map(|more| at(number / 600, index + more));
            let all = taken.chain([at(number / 600, (number % 600) as i128)]);
            Number::Int(all.map(|one| if let Number::Int(one) = one { one } else { 0 }).sum())
        };
        assert_eq!(found[0].elements, (0..9 * 600).map(wanted).collect::<Vec<_>>());
        Ok::<(), String>(())
    };
    let outcome = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(192 << 10);
        thread.spawn_scoped(scope, on_small_stack).expect("a thread is made").join()
    });
    assert_eq!(outcome.expect("it ends"), Ok(()));
}
