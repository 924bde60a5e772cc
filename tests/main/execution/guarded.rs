//! Nothing outside of arguments and results is read or written: each lies right beside a page that ends the process when it is touched, and
//! what is on its other side stays as it is.

use std::fmt::Write;

use promote::{DType, Function, Tensor, TensorMut};
use promote_reference::Array;

use super::ragged_rows::targets;
use super::support::{
    Random, compile_for, function, has_all, is_chosen, known, on_all_cores, session, tensor,
};

/// Bytes of a page of any machine, or of several.
const PAGE: usize = 1 << 16;
/// What is in memory that is nothing's.
const UNUSED: u8 = 0x5a;

/// Bytes in whole pages of their own, between two pages that must not be touched.
struct Guarded {
    first: *mut u8,
    /// How many bytes there are between those two.
    whole: usize,
    /// Where what is used of them begins, and how much that is.
    offset: usize,
    length: usize,
}

/// The page that is right beside what is used.
#[derive(Clone, Copy, Debug)]
enum Guard {
    Before,
    After,
}

impl Guarded {
    fn new(bytes: &[u8], guard: Guard) -> Self {
        let length = bytes.len();
        let whole = length.next_multiple_of(PAGE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: this is new memory, wherever the system likes, and both pages lie in it.
        let first = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let mapped = libc::mmap(std::ptr::null_mut(), whole + 2 * PAGE, access, flags, -1, 0);
            assert_ne!(mapped, libc::MAP_FAILED);
            for guard in [mapped, mapped.byte_add(PAGE + whole)] {
                assert_eq!(libc::mprotect(guard, PAGE, libc::PROT_NONE), 0);
            }
            mapped.cast::<u8>().add(PAGE)
        };
        let offset = match guard {
            Guard::Before => 0,
            Guard::After => whole - length,
        };
        let mut guarded = Self { first, whole, offset, length };
        guarded.all().fill(UNUSED);
        guarded.used().copy_from_slice(bytes);
        guarded
    }

    fn all(&mut self) -> &mut [u8] {
        // SAFETY: these bytes are between the two pages, and borrowed as this is.
        unsafe { std::slice::from_raw_parts_mut(self.first, self.whole) }
    }

    fn used(&mut self) -> &mut [u8] {
        let used = self.offset..self.offset + self.length;
        &mut self.all()[used]
    }

    /// Whether nothing was written but what is used.
    fn is_clean(&mut self) -> bool {
        let used = self.offset..self.offset + self.length;
        self.all().iter().enumerate().all(|(place, byte)| used.contains(&place) || *byte == UNUSED)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: nothing borrows the memory any more.
        unsafe { libc::munmap(self.first.sub(PAGE).cast(), self.whole + 2 * PAGE) };
    }
}

/// An op of the dialect on `%x` or `%y`.
fn op(name: &str, operands: &str, attributes: &str) -> String {
    let types: Vec<&str> = operands.split(", ").map(|one| if one == "%x" { "!x" } else { "!u" }).collect();
    format!("\"promote.{name}\"({operands}) {{{attributes}}} : ({}) -> !u", types.join(", "))
}

/// Functions of an argument of three dimensions, the last two of which have so many indices: what `%y` is, and the result.
fn bodies(dtype: DType, [rows, length]: [usize; 2]) -> Vec<[String; 2]> {
    let axis = |axis: usize| format!("axis = array<i64: {axis}>");
    let slice = |first: usize, step: usize| {
        let places = format!("start = array<i64: 0, 0, {first}>, stop = array<i64: 2, {rows}, {length}>");
        op("slice", "%x", &format!("{places}, step = array<i64: 1, 1, {step}>"))
    };
    let turn = |order: &str| op("permute_dims", "%x", &format!("permutation = array<i64: {order}>"));
    let same = op("positive", "%x", "");
    let flip = op("flip", "%x", &axis(2));
    let mut bodies: Vec<[String; 2]> = ["sum", "max", "argmax", "cumulative_sum", "flip", "sort"]
        .into_iter()
        .flat_map(|name| [1, 2].map(|along| [same.clone(), op(name, "%x", &axis(along))]))
        .collect();
    bodies.push([same.clone(), op("sum", "%x", &axis(0))]);
    bodies.push([same.clone(), op("all", "%x", &axis(2))]);
    if dtype.is_inexact() {
        bodies.push([same.clone(), op("softmax", "%x", &axis(2))]);
        bodies.push([same.clone(), op("logsumexp", "%x", &axis(1))]);
    }
    for chosen in [flip, slice(1, 1), slice(0, 2), slice(1, 3)] {
        bodies.push([chosen.clone(), op("positive", "%y", "")]);
        for name in ["sum", "max", "cumulative_sum"] {
            bodies.push([chosen.clone(), op(name, "%y", &axis(2))]);
        }
    }
    for order in ["0, 2, 1", "1, 2, 0", "2, 0, 1", "2, 1, 0"] {
        bodies.push([turn(order), op("positive", "%y", "")]);
    }
    let turned = turn("0, 2, 1");
    bodies.push([turned.clone(), op("matmul", "%x, %y", "")]);
    bodies.push([turned, op("matmul", "%y, %x", "")]);
    let largest = op("max", "%x", &format!("{}, keepdims = true", axis(2)));
    bodies.push([largest, op("subtract", "%x, %y", "")]);
    for (axis, extent) in [(1, rows), (2, length)] {
        let places = format!("value = dense<[{}, 0, {}]> : tensor<3xi64>", extent - 1, extent / 2);
        let places = format!("\"promote.constant\"() {{{places}}} : () -> !u");
        bodies.push([places, op("take", "%x, %y", &format!("axis = {axis} : i64"))]);
    }
    bodies
}

/// Those as functions in the dialect, and how many there are.
fn text(dtype: DType, extents: [usize; 2], is_open: bool) -> (String, usize) {
    let [rows, length] = extents;
    let x = if is_open { format!("?x?x?x{dtype}") } else { format!("2x{rows}x{length}x{dtype}") };
    let (mut text, bodies) = (String::new(), bodies(dtype, extents));
    for (number, [y, result]) in bodies.iter().enumerate() {
        let lines = format!("  %y = {y}\n  %0 = {result}\n  return %0 : !u\n");
        let _ = write!(text, "func.func @f{number}(%x: !x) -> !u {{\n{lines}}}\n");
    }
    (known(&text.replace("!x", &format!("tensor<{x}>"))), bodies.len())
}

/// The result of a function, in memory of its own, for an argument that is row-major or the other way round.
fn between_guards(
    run: &Function,
    argument: &Tensor<'_>,
    (is_row_major, guard): (bool, Guard),
    result: &Tensor<'_>,
) -> Result<Vec<u8>, &'static str> {
    let &[a, b, c] = argument.shape() else { return Err("it has three dimensions") };
    let (size, row_major) = (argument.element_size(), argument.bytes().expect("it is row-major"));
    let strides = if is_row_major { [b * c, c, 1] } else { [1, a, a * b] };
    let mut bytes = vec![0; row_major.len()];
    for (number, element) in (0..).zip(row_major.chunks_exact(size)) {
        let index = [number / (b * c), number / c % b, number % c];
        let place: i64 = index.iter().zip(strides).map(|(index, stride)| index * stride).sum();
        bytes[place as usize * size..][..size].copy_from_slice(element);
    }
    let (mut given, length) = (Guarded::new(&bytes, guard), result.bytes().map_or(0, <[u8]>::len));
    let mut found = Guarded::new(&vec![0; length], guard);
    let argument = Tensor::strided(argument.dtype(), &[a, b, c], &strides, given.used(), 0);
    let output = TensorMut::new(result.dtype(), result.shape(), found.used());
    let (argument, output) = (argument.expect("it lies there"), output.expect("it is as long"));
    run.run_into(&[argument], &mut [output]).expect("it runs");
    let is_clean = given.is_clean() && found.is_clean() && given.used() == bytes;
    if is_clean { Ok(found.used().to_vec()) } else { Err("something else was written") }
}

/// Less than a vector, some vectors, and what is no whole number of vectors, squares, permuted blocks or tiles.
const EXTENTS: [[usize; 2]; 14] = [
    [1, 2],
    [3, 2],
    [37, 3],
    [5, 4],
    [19, 7],
    [17, 11],
    [37, 13],
    [33, 16],
    [33, 19],
    [21, 27],
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
            // Rows that fill vectors of AVX-512 are always tried there.
            let fill_vectors = turn < 2 && (18..=32).contains(&extents[1]);
            let is_widest = |place: usize| place + 1 == targets.len();
            let is_tried = |place: usize| {
                has_all() || fill_vectors && is_widest(place) || is_chosen(index, 3 * targets.len(), place)
            };
            let some = targets.iter().enumerate().filter(|(place, _)| is_tried(*place));
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
            let numbers: Vec<f64> = (0..2 * rows * length).map(|_| random.below(10) as f64).collect();
            let argument = tensor(&Array::of_reals(*dtype, &[2, *rows, *length], &numbers));
            for number in 0..count {
                let run = function(&executable, &format!("f{number}"));
                let wanted = run.run(std::slice::from_ref(&argument)).expect("it runs").remove(0);
                for is_row_major in [true, false] {
                    for guard in [Guard::Before, Guard::After] {
                        let found = between_guards(&run, &argument, (is_row_major, guard), &wanted);
                        let what = format!("f{number} of {dtype} on {}", target.cpu());
                        let where_it_lies = format!("row-major: {is_row_major}, {guard:?}");
                        assert_eq!(
                            found.as_deref(),
                            Ok(wanted.bytes().unwrap_or(&[])),
                            "{what}, {where_it_lies}\n{text}"
                        );
                    }
                }
            }
        },
    );
}
