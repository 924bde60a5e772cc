//! Nothing outside of arguments and results is read or written: each lies between pages that end the process when they are touched.

use std::fmt::Write;

use promote::{DType, Function, Tensor, TensorMut};

use super::ragged_rows::targets;
use super::support::{Random, compile_for, function, has_all, is_chosen, known, on_all_cores, session};

/// Bytes of a page of any machine, or of several.
const PAGE: usize = 1 << 16;

/// Memory between two pages that must not be touched.
struct Guarded {
    first: *mut u8,
    /// Of it and of both pages.
    mapped: usize,
    /// Where the bytes begin that are asked for, and how many those are.
    offset: usize,
    length: usize,
}

/// The page that begins where the bytes end, or ends where they begin.
#[derive(Clone, Copy, Debug)]
enum Beside {
    Before,
    After,
}

impl Guarded {
    fn new(bytes: &[u8], beside: Beside) -> Self {
        let length = bytes.len();
        let whole = length.next_multiple_of(PAGE);
        let (mapped, start) = (whole + 2 * PAGE, std::ptr::null_mut());
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: new memory, wherever the system likes; no one has it but this.
        let first = unsafe {
            let first = libc::mmap(start, mapped, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            assert_ne!(first, libc::MAP_FAILED);
            for guard in [first, first.byte_add(PAGE + whole)] {
                assert_eq!(libc::mprotect(guard, PAGE, libc::PROT_NONE), 0);
            }
            first.cast::<u8>()
        };
        let offset = match beside {
            Beside::Before => PAGE,
            Beside::After => PAGE + whole - length,
        };
        let mut guarded = Self { first, mapped, offset, length };
        guarded.bytes_mut().copy_from_slice(bytes);
        guarded
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: these bytes are between the pages, and borrowed as this is.
        unsafe { std::slice::from_raw_parts_mut(self.first.add(self.offset), self.length) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: nothing borrows the memory any more.
        unsafe { libc::munmap(self.first.cast(), self.mapped) };
    }
}

/// Ops on an argument of three dimensions, the last two of which have so many indices.
fn ops(dtype: DType, [rows, length]: [usize; 2]) -> Vec<String> {
    let along = |op: &str, axis: usize| format!("{op}\"(%x) {{axis = array<i64: {axis}>}}");
    let mut ops: Vec<String> = ["sum", "max", "argmax", "cumulative_sum", "flip", "sort"]
        .into_iter()
        .flat_map(|op| [1, 2].map(|axis| along(op, axis)))
        .collect();
    ops.extend([along("sum", 0), along("all", 2)]);
    if dtype.is_inexact() {
        ops.extend([along("softmax", 2), along("logsumexp", 1)]);
    }
    for order in ["0, 2, 1", "1, 2, 0", "2, 0, 1", "2, 1, 0"] {
        ops.push(format!("permute_dims\"(%x) {{permutation = array<i64: {order}>}}"));
    }
    for [first, step] in [[1, 1], [0, 2], [1, 3]] {
        ops.push(format!(
            "slice\"(%x) {{start = array<i64: 0, 0, {first}>, stop = array<i64: 2, {rows}, {length}>, step = array<i64: 1, 1, {step}>}}"
        ));
    }
    ops
}

/// A function for each op, and functions that take elements, multiply matrices and add rows to each other.
fn text(dtype: DType, extents: [usize; 2], is_open: bool) -> (String, usize) {
    let [rows, length] = extents;
    let x = if is_open { format!("?x?x?x{dtype}") } else { format!("2x{rows}x{length}x{dtype}") };
    let bodies =
        ops(dtype, extents).into_iter().map(|op| format!("  %0 = \"promote.{op} : (tensor<{x}>) -> !u\n"));
    let taken = [(1, rows), (2, length)].map(|(axis, extent)| {
        format!(
            "  %i = \"promote.constant\"() {{value = dense<[{}, 0, {}]> : tensor<3xi64>}} : () -> tensor<3xi64>
  %0 = \"promote.take\"(%x, %i) {{axis = {axis} : i64}} : (tensor<{x}>, tensor<3xi64>) -> !u\n",
            extent - 1,
            extent / 2
        )
    });
    let turned = "  %t = \"promote.permute_dims\"(%x) {permutation = array<i64: 0, 2, 1>}";
    let both = ["matmul\"(%x, %t)", "matmul\"(%t, %x)"]
        .map(|op| format!("{turned} : (tensor<{x}>) -> !u\n  %0 = \"promote.{op} : (TYPES) -> !u\n"));
    let both = both.map(|body| {
        let types =
            if body.contains("(%x, %t)") { format!("tensor<{x}>, !u") } else { format!("!u, tensor<{x}>") };
        body.replace("TYPES", &types)
    });
    let mean = format!(
        "  %m = \"promote.max\"(%x) {{axis = array<i64: 2>, keepdims = true}} : (tensor<{x}>) -> !u
  %0 = \"promote.subtract\"(%x, %m) : (tensor<{x}>, !u) -> !u\n"
    );
    let (mut text, mut count) = (String::new(), 0);
    for body in bodies.chain(taken).chain(both).chain([mean]) {
        let _ = write!(text, "func.func @f{count}(%x: tensor<{x}>) -> !u {{\n{body}  return %0 : !u\n}}\n");
        count += 1;
    }
    (known(&text), count)
}

/// The result of a function for an argument between guards, itself between guards: the argument is row-major, or the other way round.
fn between_guards(
    run: &Function,
    (dtype, shape): (DType, [usize; 3]),
    row_major: &[u8],
    (is_row_major, beside): (bool, Beside),
    result: &Tensor<'_>,
) -> Vec<u8> {
    let [a, b, c] = shape;
    let size = row_major.len() / (a * b * c);
    let strides = if is_row_major { [b * c, c, 1] } else { [1, a, a * b] };
    let mut bytes = vec![0; row_major.len()];
    for (number, element) in row_major.chunks_exact(size).enumerate() {
        let index = [number / (b * c), number / c % b, number % c];
        let place: usize = index.iter().zip(strides).map(|(index, stride)| index * stride).sum();
        bytes[place * size..][..size].copy_from_slice(element);
    }
    let mut memory = Guarded::new(&bytes, beside);
    let [shape, strides] = [shape, strides].map(|numbers| numbers.map(|number| number as i64));
    let argument =
        Tensor::strided(dtype, &shape, &strides, memory.bytes_mut(), 0).expect("there is such a tensor");
    let mut found = Guarded::new(&vec![0xa5; result.bytes().expect("it is contiguous").len()], beside);
    let output =
        TensorMut::new(result.dtype(), result.shape(), found.bytes_mut()).expect("it is of that size");
    run.run_into(&[argument], &mut [output]).expect("it runs");
    found.bytes_mut().to_vec()
}

/// Rows and columns of less than a vector, of some, and of squares, permuted blocks and tiles that are not whole.
const EXTENTS: [[usize; 2]; 12] = [
    [1, 1],
    [3, 2],
    [37, 3],
    [5, 4],
    [19, 7],
    [17, 11],
    [33, 16],
    [18, 23],
    [16, 31],
    [40, 32],
    [7, 65],
    [70, 41],
];

#[test]
fn nothing_beside_arguments_and_results_is_touched() {
    let dtypes = [DType::F32, DType::F64, DType::I8, DType::I16, DType::BF16, DType::I32];
    let (targets, mut cases) = (targets(), Vec::new());
    for (number, extents) in EXTENTS.into_iter().enumerate() {
        for (turn, dtype) in dtypes.into_iter().enumerate() {
            let index = number * dtypes.len() + turn;
            let some = targets.iter().enumerate();
            let some = some.filter(|(place, _)| has_all() || is_chosen(index, 2 * targets.len(), *place));
            cases.extend(some.map(|(_, target)| (dtype, extents, target)));
        }
    }
    assert!(cases.len() >= EXTENTS.len());
    on_all_cores(
        cases.len(),
        || session("jax", true, false),
        |session, index| {
            let (dtype, [rows, length], target) = &cases[index];
            let mut random = Random::new(index as u64);
            let (text, count) = text(*dtype, [*rows, *length], random.below(3) == 0);
            let executable = compile_for(session, &text, (*target).clone()).expect("it is compiled");
            let shape = [2, *rows, *length];
            let mut argument =
                Tensor::zeros(*dtype, &shape.map(|extent| extent as i64)).expect("there is memory");
            let size = argument.element_size();
            // Small numbers of any dtype: none is NaN or infinite.
            let numbers = argument.bytes_mut().expect("it is owned").chunks_exact_mut(size);
            numbers.for_each(|element| element[0] = random.below(100) as u8);
            for number in 0..count {
                let run = function(&executable, &format!("f{number}"));
                let wanted = run.run(std::slice::from_ref(&argument)).expect("it runs").remove(0);
                for is_row_major in [true, false] {
                    for beside in [Beside::Before, Beside::After] {
                        let row_major = argument.bytes().expect("it is contiguous");
                        let found =
                            between_guards(&run, (*dtype, shape), row_major, (is_row_major, beside), &wanted);
                        let is_same = wanted.bytes().is_some_and(|wanted| found == wanted);
                        assert!(is_same, "f{number} of {dtype} {shape:?} on {}: {text}", target.cpu());
                    }
                }
            }
        },
    );
}
