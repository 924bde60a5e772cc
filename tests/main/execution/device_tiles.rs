//! Maps whose operands lie across memory, which go through shared memory in tiles: the bits of a processor.

use promote::DType;
use promote_reference::{Array, Value};

use super::devices::{array, differs, open, outcome, targets};
use super::support::{Place, Random, known, on_all_cores, reported};

/// The extents of an operand, and how it is permuted. Tiles are of 32 by 32, and not for short extents, which a run may find.
const PERMUTED: [(&[usize], &[usize]); 11] = [
    (&[64, 96], &[1, 0]),
    (&[33, 70], &[1, 0]),
    (&[31, 1000], &[1, 0]),
    (&[16, 17], &[1, 0]),
    (&[15, 40], &[1, 0]),
    (&[3, 50, 40], &[0, 2, 1]),
    (&[5, 40, 33], &[2, 1, 0]),
    (&[20, 3, 45], &[2, 0, 1]),
    (&[2, 17, 3, 35], &[3, 0, 2, 1]),
    (&[3000, 2, 2], &[0, 2, 1]),
    (&[700, 3], &[1, 0]),
];

/// What is done with the permuted operand: it is copied, meets one that is not, or is read both ways; it is a boolean beside it.
const OPS: [&str; 4] = [
    "",
    "%r = \"promote.subtract\"(%t, %y) : (!u, Y) -> !u",
    "%u = \"promote.permute_dims\"(%y) {permutation = array<i64: BACK>} : (Y) -> !u
  %v = \"promote.permute_dims\"(%u) {permutation = array<i64: ORDER>} : (!u) -> !u
  %w = \"promote.add\"(%v, %t) : (!u, !u) -> !u
  %r = \"promote.multiply\"(%w, %y) : (!u, Y) -> !u",
    "%c = \"promote.greater\"(%t, %y) : (!u, Y) -> !u
  %r = \"promote.where\"(%c, %t, %y) : (!u, !u, Y) -> !u",
];

const DTYPES: [DType; 7] =
    [DType::F32, DType::BF16, DType::I8, DType::F64, DType::C64, DType::C128, DType::F16];

fn list(numbers: &[usize]) -> String {
    numbers.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")
}

fn program(index: usize) -> (String, [Array; 2]) {
    let (shape, order) = PERMUTED[index % PERMUTED.len()];
    let (dtype, op) = (DTYPES[index % DTYPES.len()], OPS[index % OPS.len()]);
    let is_open = index % 3 == 1;
    let turned: Vec<usize> = order.iter().map(|axis| shape[*axis]).collect();
    let mut back = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, axis)| back[*axis] = place);
    let r#type = |shape: &[usize]| {
        let extents = shape.iter().map(|extent| if is_open { "?x".to_owned() } else { format!("{extent}x") });
        format!("tensor<{}{}>", extents.collect::<String>(), dtype.mlir())
    };
    let (x, y) = (r#type(shape), r#type(&turned));
    let op = op.replace('Y', &y).replace("BACK", &list(&back)).replace("ORDER", &list(order));
    let result = if op.is_empty() { "%t" } else { "%r" };
    let text = known(&format!(
        "func.func @f(%x: {x}, %y: {y}) -> !u {{
  %t = \"promote.permute_dims\"(%x) {{permutation = array<i64: {}>}} : ({x}) -> !u
  {op}
  return {result} : !u
}}",
        list(order)
    ));
    let mut random = Random::new(index as u64);
    (text, [array(dtype, shape, &mut random), array(dtype, &turned, &mut random)])
}

#[test]
fn permuted_operands_have_the_bits_of_a_processor() {
    for target in targets() {
        let work = |place: &Place, index: usize| {
            let (text, arrays) = program(index);
            let arguments = arrays.map(Value::Array);
            let on = |place: &Place| outcome(place, (&text, "f"), ("jax", true), &arguments);
            let (found, expected) = (on(place), on(&Place::host()));
            assert!(expected.is_ok(), "{expected:?}: {text}");
            (found != expected).then(|| format!("{} on {target}:\n{text}", differs(&found, &expected)))
        };
        let wrong = on_all_cores(77, || open(target), work);
        reported("permuted operands", wrong.into_iter().flatten().collect());
    }
}
