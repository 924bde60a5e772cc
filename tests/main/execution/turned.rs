//! Reductions of operands that lie in memory the other way round: the same bits as of operands that lie in order.
//!
//! A kernel reads where its strides say. Those of a program that was read from a module are exchanged in its text here, and its
//! argument is transposed.

use std::fmt::Write;
use std::sync::Arc;

use promote::{
    CompileOptions, DType, Executable, Function, Kind, Program, RunOptions, Semantics, Source, Target,
    Tensor, Verdict,
};
use promote_lower::program::{EntryKind, KernelId, Step};

use super::support::{Random, function, has_all, is_chosen, known, session};

mod axes;

/// Processors whose programs run here: without masks, with wider vectors, and with masks.
fn targets() -> Vec<Target> {
    let named = |name: &str| Target::named(name).expect("LLVM knows it");
    let mut all = vec![named("x86-64")];
    for (feature, name) in [("avx2", "x86-64-v3"), ("avx512f", "x86-64-v4")] {
        all.extend(Target::host().has(feature).then(|| named(name)));
    }
    all
}

/// The program of a module.
fn program(text: &str, target: &Target) -> Program {
    let session = session("jax", true, false);
    let semantics = Semantics::by_name("jax", true).expect("the semantics exists");
    let mut module = session.parse(Source::Text(&known(text))).expect("it is MLIR");
    let options = CompileOptions::default();
    for pipeline in [options.pipeline, promote::to_blocks()] {
        let verdict = session.run(&mut module, &pipeline, &RunOptions::default());
        assert_eq!(verdict, Ok(Verdict::Done), "{text}");
    }
    promote::read_program(&module, &semantics, target).expect("it is lowered")
}

/// A program whose text was changed.
fn read(text: &str) -> Program {
    let program = Program::parse(text).expect("it is a program");
    program.verify().expect("it is a valid one");
    program
}

fn compiled(program: &Program, target: &Target) -> Executable {
    let semantics = Arc::new(Semantics::by_name("jax", true).expect("the semantics exists"));
    let options = CompileOptions { target: target.clone(), ..CompileOptions::default() };
    let compiled = promote::compile_program(program, &semantics, &options).expect("it is compiled");
    compiled.load().expect("it is loaded")
}

/// A matrix in memory, and the same one transposed.
fn matrices(dtype: DType, [rows, columns]: [usize; 2], random: &mut Random) -> [Vec<u8>; 2] {
    let size = Tensor::zeros(dtype.storage(), &[]).expect("there is memory").element_size();
    let mut straight = vec![0; rows * columns * size];
    for element in straight.chunks_exact_mut(size) {
        let part = size / if dtype.kind() == Kind::Complex { 2 } else { 1 };
        for part in element.chunks_exact_mut(part) {
            let number = 0.75 + random.below(1 << 20) as f64 / f64::from(1 << 21);
            let bits = match dtype {
                DType::F64 => number.to_bits(),
                DType::F32 | DType::C64 => u64::from((number as f32).to_bits()),
                DType::BF16 => u64::from((number as f32).to_bits() >> 16),
                DType::B1 => random.below(2) as u64,
                _ => random.next(),
            };
            part.copy_from_slice(&bits.to_le_bytes()[..part.len()]);
        }
    }
    let mut turned = straight.clone();
    for (index, element) in straight.chunks_exact(size).enumerate() {
        let place = index % columns.max(1) * rows + index / columns.max(1);
        turned[place * size..][..size].copy_from_slice(element);
    }
    [straight, turned]
}

/// The bytes of the results, or how the run ended, as of the greatest element of none.
fn bits(function: &Function, arguments: &[(DType, &[i64], &[u8])]) -> Result<Vec<Vec<u8>>, String> {
    let tensor = |(dtype, shape, bytes): &(DType, &[i64], &[u8])| {
        let mut tensor = Tensor::zeros(dtype.storage(), shape).expect("there is memory");
        tensor.bytes_mut().expect("the tensor is owned").copy_from_slice(bytes);
        tensor
    };
    let arguments: Vec<Tensor<'_>> = arguments.iter().map(tensor).collect();
    let results = function.run(&arguments).map_err(|error| error.to_string())?;
    Ok(results.iter().map(|tensor| tensor.bytes().expect("results are contiguous").to_vec()).collect())
}

/// Ops over an axis, of one dtype: alone and in stages, and, of known extents, two of what is computed from several operands.
fn functions(dtype: DType, axis: usize, extents: [&str; 2]) -> (Vec<String>, String) {
    let ops: &[&str] = match dtype.kind() {
        Kind::Bool => &["any", "all", "sum", "argmax"],
        Kind::Unsigned | Kind::Signed => &["sum", "prod", "max", "min", "argmin"],
        Kind::Float => &["sum", "prod", "max", "argmax", "mean", "var", "logsumexp"],
        Kind::Complex => &["sum", "prod", "max"],
    };
    functions_of(ops, dtype, axis, extents)
}

fn functions_of(
    ops: &[&str],
    dtype: DType,
    axis: usize,
    [rows, columns]: [&str; 2],
) -> (Vec<String>, String) {
    let x = format!("tensor<{rows}x{columns}x{}>", dtype.mlir());
    let (mut names, mut text) = (Vec::new(), String::new());
    for op in ops {
        names.push((*op).to_owned());
        let _ = write!(
            text,
            "func.func @{op}(%x: {x}) -> !u {{
  %0 = \"promote.{op}\"(%x) {{axis = array<i64: {axis}>}} : ({x}) -> !u
  return %0 : !u
}}
"
        );
    }
    if dtype.kind() == Kind::Float && rows != "?" {
        names.push("several".to_owned());
        let (along, across) = match axis {
            1 => (columns.to_owned(), format!("{rows}x1")),
            _ => (format!("{rows}x1"), columns.to_owned()),
        };
        let [along, across] = [along, across].map(|shape| format!("tensor<{shape}x{}>", dtype.mlir()));
        let _ = write!(
            text,
            "func.func @several(%x: {x}, %y: {along}, %z: {across}) -> (!u, !u) {{
  %0 = \"promote.multiply\"(%x, %y) : ({x}, {along}) -> !u
  %1 = \"promote.subtract\"(%0, %z) : (!u, {across}) -> !u
  %2 = \"promote.sum\"(%1) {{axis = array<i64: {axis}>}} : (!u) -> !u
  %3 = \"promote.min\"(%x) {{axis = array<i64: {axis}>}} : ({x}) -> !u
  return %2, %3 : !u, !u
}}
"
        );
    }
    (names, text)
}

/// The shapes of the operands of functions.
fn shapes(name: &str, axis: usize, [rows, columns]: [usize; 2]) -> Vec<[usize; 2]> {
    match (name, axis) {
        ("several", 1) => vec![[rows, columns], [1, columns], [rows, 1]],
        ("several", _) => vec![[rows, columns], [rows, 1], [1, columns]],
        ("centred", _) => vec![[rows, columns], [1, columns]],
        _ => vec![[rows, columns]],
    }
}

/// Compares functions on operands in order with those whose first operand lies the other way round.
fn compare(
    [straight, turned]: [&Executable; 2],
    names: &[String],
    (dtype, axis, shape, what): (DType, usize, [usize; 2], &str),
    random: &mut Random,
) {
    for name in names {
        let operands: Vec<_> = shapes(name, axis, shape)
            .into_iter()
            .map(|shape| (shape, matrices(dtype, shape, random)))
            .collect();
        let of = |executable: &Executable, number: usize| {
            let function = function(executable, name);
            let lengths: Vec<Vec<i64>> = (function.inputs().iter().zip(&operands))
                .map(|(input, (shape, _))| {
                    let skipped = shape.len() - input.shape.len();
                    shape.iter().skip(skipped).map(|extent| *extent as i64).collect()
                })
                .collect();
            let arguments: Vec<_> = (operands.iter().zip(&lengths).enumerate())
                .map(|(place, ((_, bytes), lengths))| {
                    (dtype, lengths.as_slice(), bytes[if place == 0 { number } else { 0 }].as_slice())
                })
                .collect();
            bits(&function, &arguments)
        };
        let [expected, found] = [of(straight, 0), of(turned, 1)];
        let is_some = expected.as_ref().is_ok_and(|results| results.iter().all(|result| !result.is_empty()));
        assert!(is_some || shape.contains(&0), "{name} of {dtype} of {shape:?}: {expected:?}");
        assert!(expected == found, "{name} of {dtype} of {shape:?} over {axis} {what}");
    }
}

/// The program in which what is read of matrices lies the other way round. All kernels of public functions that read so are run as
/// told.
fn turned(program: &Program, target: &Target, strides: &[[&str; 2]], schedule: &str) -> Program {
    let inside = |text: &str| format!("[{text}]");
    let text =
        strides.iter().fold(program.to_string(), |text, [from, to]| text.replace(&inside(from), &inside(to)));
    let (turned, mut count) = (read(&text), 0);
    let public = turned.functions.iter().filter(|function| function.entry == EntryKind::Public);
    let steps = public.flat_map(|function| &function.blocks).flat_map(|block| &block.steps);
    let launched = steps.filter_map(|(step, _)| match step {
        Step::Launch(launch) => Some(launch.kernel),
        _ => None,
    });
    let launched: Vec<KernelId> = launched.collect();
    for (number, kernel) in (0..).zip(promote::program_text(&turned, target).split("\nkernel @").skip(1)) {
        let is_turned = strides.iter().any(|[_, to]| kernel.contains(&inside(to)));
        if is_turned && launched.contains(&KernelId(number)) {
            assert!(kernel.contains(schedule), "{kernel} on {}", target.cpu());
            count += 1;
        }
    }
    assert!(count > 2, "{count} kernels read so");
    turned
}

const DTYPES: [DType; 6] = [DType::F32, DType::F64, DType::BF16, DType::I8, DType::B1, DType::C64];

/// Whether a processor tries a case: each does two of three, and no two leave out the same.
fn is_tried(place: usize, number: usize) -> bool {
    has_all() || !is_chosen(number, 3, place)
}

/// Of extents that a run alone knows: rows that fill vectors and that do not, fewer columns than a row has sums, and more than a
/// block of them.
#[test]
fn rows_that_lie_down_columns_are_reduced_in_the_same_order_whatever_their_number() {
    let mut random = Random::new(21);
    for (place, target) in targets().into_iter().enumerate() {
        for (number, dtype) in DTYPES.into_iter().enumerate() {
            if !is_tried(place, number) {
                continue;
            }
            let (names, text) = functions(dtype, 1, ["?", "?"]);
            let program = program(&text, &target);
            let strides = [["s1*d0 + d1", "d0 + s0*d1"]];
            let turned = turned(&program, &target, &strides, "down their columns");
            let [straight, turned] = [&program, &turned].map(|program| compiled(program, &target));
            for rows in [1, 15, 17, 64] {
                for columns in [0, 1, 63, 65, 257] {
                    let what = (dtype, 1, [rows, columns], target.cpu());
                    compare([&straight, &turned], &names, what, &mut random);
                }
            }
            for shape in [[3, 4095], [1000, 70], [2100, 66], [17, 4097], [5, 8192 + 3]] {
                compare([&straight, &turned], &names, (dtype, 1, shape, target.cpu()), &mut random);
            }
        }
    }
}

/// Of extents that are known: of one tile of rows and of some, and of one block of columns and of some.
#[test]
fn rows_of_known_extents_that_lie_down_columns_are_reduced_in_the_same_order() {
    let mut random = Random::new(22);
    for (place, target) in targets().into_iter().enumerate() {
        for (index, [rows, columns]) in
            [[16, 33], [64, 4096], [33, 4097], [1100, 65], [4099, 40]].into_iter().enumerate()
        {
            for (number, dtype) in [DType::F32, DType::I32, DType::C64].into_iter().enumerate() {
                if !is_tried(place, index + number) {
                    continue;
                }
                let (names, text) = functions(dtype, 1, [&rows.to_string(), &columns.to_string()]);
                let program = program(&text, &target);
                // Long rows are cut into parts, which are d0.
                let [d0, d1] = [format!("{columns}*d0 + d1"), format!("d0 + {rows}*d1")];
                let [cut_d0, cut_d1] = [format!("{columns}*d1 + d2"), format!("d1 + {rows}*d2")];
                let strides: [[&str; 2]; 2] = [[&d0, &d1], [&cut_d0, &cut_d1]];
                let turned = turned(&program, &target, &strides, "down their columns");
                let executables = [&program, &turned].map(|program| compiled(program, &target));
                let what = (dtype, 1, [rows, columns], target.cpu());
                compare(executables.each_ref(), &names, what, &mut random);
            }
        }
    }
}

/// Of extents that a run alone knows: columns that fill vectors and that do not, and rows that fill squares and blocks and that do
/// not.
#[test]
fn columns_that_lie_along_memory_are_reduced_in_the_same_order() {
    let mut random = Random::new(24);
    for (place, target) in targets().into_iter().enumerate() {
        let real = DTYPES.into_iter().filter(|dtype| dtype.kind() != Kind::Complex);
        for (number, dtype) in real.enumerate() {
            if !is_tried(place, number) {
                continue;
            }
            let (names, text) = functions(dtype, 0, ["?", "?"]);
            let program = program(&text, &target);
            let strides = [["s1*d0 + d1", "d0 + s0*d1"]];
            let turned = turned(&program, &target, &strides, "squares of");
            let [straight, turned] = [&program, &turned].map(|program| compiled(program, &target));
            for rows in [0, 1, 15, 16, 65, 150] {
                for columns in [1, 15, 16, 70] {
                    let what = (dtype, 0, [rows, columns], target.cpu());
                    compare([&straight, &turned], &names, what, &mut random);
                }
            }
        }
        for [rows, columns] in [[33, 17], [131, 40]] {
            let (names, text) = functions(DType::F32, 0, [&rows.to_string(), &columns.to_string()]);
            let program = program(&text, &target);
            let [d0, d1] = [format!("{columns}*d0 + d1"), format!("d0 + {rows}*d1")];
            let turned = turned(&program, &target, &[[&d0, &d1]], " along d0");
            let executables = [&program, &turned].map(|program| compiled(program, &target));
            let what = (DType::F32, 0, [rows, columns], target.cpu());
            compare(executables.each_ref(), &names, what, &mut random);
        }
    }
}

/// Of fewer columns than a vector has lanes, and of some more: rows that are less than a block, one, and groups of blocks with and
/// without a rest.
#[test]
fn few_columns_that_lie_along_memory_are_reduced_in_the_same_order() {
    let mut random = Random::new(25);
    for (place, target) in targets().into_iter().enumerate() {
        for (number, dtype) in [DType::F32, DType::F64, DType::BF16, DType::I16].into_iter().enumerate() {
            let ops: &[&str] = match dtype.kind() {
                Kind::Float => &["sum", "mean", "var", "std", "logsumexp"],
                _ => &["sum", "max", "min"],
            };
            for (index, columns) in [2, 3, 7, 17].into_iter().enumerate() {
                if !is_tried(place, index + number) {
                    continue;
                }
                let (names, text) = functions_of(ops, dtype, 0, ["?", &columns.to_string()]);
                let program = program(&text, &target);
                // Rows are cut into parts, which are d0.
                let cut = format!("{columns}*d1 + d2");
                let turned = turned(&program, &target, &[[&cut, "d1 + s1*d2"]], "lengthwise");
                let executables = [&program, &turned].map(|program| compiled(program, &target));
                for rows in [1, 63, 64, 65, 64 * 5 + 3, 1024, 1024 + 64 * 7, 2048 + 64 + 31] {
                    let what = (dtype, 0, [rows, columns], target.cpu());
                    compare(executables.each_ref(), &names, what, &mut random);
                }
                // Each thread has a part of so many rows.
                if dtype == DType::F32 && columns == 3 {
                    let what = (dtype, 0, [300_007, columns], target.cpu());
                    compare(executables.each_ref(), &names, what, &mut random);
                }
            }
        }
    }
}

/// Functions that reduce matrices over their rows, one of them to two results, of differences from a row.
fn centred(dtype: DType, [rows, columns]: [usize; 2]) -> (Vec<String>, String) {
    let [x, y] = [rows, 1].map(|rows| format!("tensor<{rows}x{columns}x{}>", dtype.mlir()));
    let mut text = format!(
        "func.func @centred(%x: {x}, %y: {y}) -> (!u, !u) {{
  %0 = \"promote.subtract\"(%x, %y) : ({x}, {y}) -> !u
  %1 = \"promote.sum\"(%0) {{axis = array<i64: 0>}} : (!u) -> !u
  %2 = \"promote.min\"(%x) {{axis = array<i64: 0>}} : ({x}) -> !u
  return %1, %2 : !u, !u
}}
"
    );
    for op in ["sum", "max"] {
        let _ = write!(
            text,
            "func.func @{op}(%x: {x}) -> !u {{
  %0 = \"promote.{op}\"(%x) {{axis = array<i64: 0>}} : ({x}) -> !u
  return %0 : !u
}}
"
        );
    }
    (["centred", "sum", "max"].map(str::to_owned).to_vec(), text)
}

/// Parts of a block of rows, of some more, and of some blocks: in groups of as many as are transposed at once, and some that are left; a last
/// one with fewer rows; columns in tiles, and some that are left.
#[test]
fn parts_of_columns_that_lie_along_memory_are_reduced_in_the_same_order() {
    let mut random = Random::new(26);
    for target in targets() {
        for (dtype, shape) in [
            (DType::F32, [1024, 1024]),
            (DType::F32, [1540, 1031]),
            (DType::F32, [1700, 1030]),
            (DType::BF16, [2700, 400]),
        ] {
            let (names, text) = centred(dtype, shape);
            let program = program(&text, &target);
            // Rows are cut into parts, which are d0: without masks, whole blocks are read lengthwise.
            let [rows, columns] = shape;
            let schedule = match target.cpu() == "x86-64-v4" || rows % 64 == 0 {
                true => "parts of d1 beside each other",
                false => "squares of",
            };
            let [cut, along] = [format!("{columns}*d1 + d2"), format!("d1 + {rows}*d2")];
            let turned = turned(&program, &target, &[[&cut, &along]], schedule);
            let executables = [&program, &turned].map(|program| compiled(program, &target));
            compare(executables.each_ref(), &names, (dtype, 0, shape, target.cpu()), &mut random);
        }
    }
}
