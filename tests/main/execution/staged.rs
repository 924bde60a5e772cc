//! Arguments in other orders that kernels read run by run: the same bits as of row-major ones, whatever the others are.

use promote::DType;

use super::layouts::{Laid, Spread};
use super::support::{Random, compile, function, session};

/// Functions of an f32 and an i8 of three dimensions, of which planes are small.
const BODIES: [&str; 6] = [
    // A map of both.
    "  %r = \"promote.add\"(%x, %y) : (X, Y) -> !u\n",
    // A sum of all in parts, of rows, and over the first dimension.
    "  %p = \"promote.multiply\"(%x, %y) : (X, Y) -> !u
  %r = \"promote.sum\"(%p) : (!u) -> !u\n",
    "  %p = \"promote.multiply\"(%x, %y) : (X, Y) -> !u
  %r = \"promote.sum\"(%p) {axis = array<i64: 2>} : (!u) -> !u\n",
    "  %p = \"promote.multiply\"(%x, %y) : (X, Y) -> !u
  %r = \"promote.sum\"(%p) {axis = array<i64: 0>} : (!u) -> !u\n",
    // Rows that are read three times.
    "  %s = \"promote.softmax\"(%x) {axis = array<i64: 2>} : (X) -> !u
  %r = \"promote.add\"(%s, %y) : (!u, Y) -> !u\n",
    // More kernels read it than it would be staged for.
    "  %a = \"promote.sum\"(%x) : (X) -> !u
  %b = \"promote.max\"(%x) {axis = array<i64: 0>} : (X) -> !u
  %c = \"promote.argmax\"(%x) {axis = array<i64: 1>} : (X) -> !u
  %d = \"promote.cumulative_sum\"(%x) {axis = array<i64: 2>} : (X) -> !u
  %e = \"promote.add\"(%d, %y) : (!u, Y) -> !u
  %f = \"promote.sum\"(%e) {axis = array<i64: 0>} : (!u) -> !u
  %g = \"promote.add\"(%f, %b) : (!u, !u) -> !u
  %h = \"promote.sum\"(%c) : (!u) -> !u
  %i = \"promote.add\"(%a, %h) : (!u, !u) -> !u
  %r = \"promote.add\"(%g, %i) : (!u, !u) -> !u\n",
];

#[test]
fn arguments_in_different_orders_give_the_same_bits() {
    let shape = [70, 96, 67];
    let count = shape.iter().product::<usize>();
    let mut random = Random::new(7);
    let mut float = || random.below(1 << 24) as f32 / 8_388_608.0 - 1.0;
    let numbers: Vec<u8> = (0..count).flat_map(|_| float().to_ne_bytes()).collect();
    let weights: Vec<u8> = (0..count).map(|_| random.below(256) as u8).collect();
    let laid = |order: &[usize], gap: usize| {
        let spread = Spread { gap, step: 1 };
        [
            Laid::new((DType::F32, &numbers), &shape, order, spread),
            Laid::new((DType::I8, &weights), &shape, order, spread),
        ]
    };
    // As they are, with gaps, with planes turned, in reverse order, and with the first two dimensions in the other order.
    let all = [
        laid(&[0, 1, 2], 0),
        laid(&[0, 1, 2], 5),
        laid(&[0, 2, 1], 0),
        laid(&[2, 1, 0], 3),
        laid(&[1, 0, 2], 0),
    ];
    for dims in ["70x96x67", "?x?x?", "?x96x67"] {
        let [x, y] = ["f32", "i8"].map(|dtype| format!("tensor<{dims}x{dtype}>"));
        let functions = BODIES.iter().enumerate().map(|(index, body)| {
            let body = body.replace('X', &x).replace('Y', &y);
            format!("func.func @f{index}(%x: {x}, %y: {y}) -> !u {{\n{body}  return %r : !u\n}}\n")
        });
        let executable = compile(&session("jax", false, false), &functions.collect::<String>());
        for (index, body) in BODIES.iter().enumerate() {
            let run = |[x, y]: [&Laid; 2]| {
                let results = function(&executable, &format!("f{index}")).run(&[x.tensor(), y.tensor()]);
                results.expect("it runs")[0].bytes().expect("results are contiguous").to_vec()
            };
            let expected = run([&all[0][0], &all[0][1]]);
            for (first, [x, _]) in all.iter().enumerate() {
                for (second, [_, y]) in all.iter().enumerate() {
                    assert!(run([x, y]) == expected, "{dims}, orders {first} and {second}: {body}");
                }
            }
        }
    }
}
