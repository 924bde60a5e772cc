//! Reductions of three axes, of which the first one lies side by side.

use promote::{DType, Program};

use super::{bits, compiled, matrices, read, targets};
use crate::execution::support::{Random, function};

/// A program of one kernel.
fn of_kernel(reduced: usize, result: &str, sink: &str, load: &str) -> Program {
    read(&text_of_kernel(reduced, result, sink, load))
}

fn text_of_kernel(reduced: usize, result: &str, sink: &str, load: &str) -> String {
    format!(
        "numerics jax

func public @f(tensor<?x?x?xf32>) -> (tensor<{result}xf32>) loc(#0) {{
^bb0(%0: buffer<f32>, %1: index, %2: index, %3: index):
  %4 = output 0 [{}] : buffer<f32> loc(#0)
  launch @k0(%0, %4)[%1, %2, %3] at(#0, #0) loc(#0)
  return
}}

func shapes @f(tensor<?x?x?xf32>) -> (tensor<{result}xf32>) loc(#0) {{
^bb0(%0: buffer<f32>, %1: index, %2: index, %3: index):
  shape 0 [{}] loc(#0)
  return
  unused %4: buffer<f32>
}}

kernel @k0 {{
  dims [s0, s1, s2]
  form rows reduced {reduced}
  e0 = load b0[{load}] : f32 over [d0, d1, d2] stage 0 node 0
  r0 = reduce sum e0 to b1[{sink}] node 1
}}

#0 = \"func.func\" at \"-\":1:1
",
        if reduced == 2 { "%1" } else { "%1, %2" },
        if reduced == 2 { "%1" } else { "%1, %2" },
    )
}

/// Numbers of three axes in memory, and the same with the axes in reverse order.
fn turned_axes([a, b, c]: [usize; 3], random: &mut Random) -> [Vec<u8>; 2] {
    let [straight, _] = matrices(DType::F32, [a, b * c], random);
    let mut turned = straight.clone();
    for (index, element) in straight.chunks_exact(4).enumerate() {
        let (first, second, third) = (index / (b * c), index / c % b, index % c);
        turned[(first + a * (second + b * third)) * 4..][..4].copy_from_slice(element);
    }
    [straight, turned]
}

/// Of three axes, of which the first one lies side by side: the last one is reduced, or the last two.
#[test]
fn several_axes_are_reduced_in_the_same_order_down_the_first_one() {
    const SHAPE: [usize; 3] = [37, 19, 70];
    const LENGTHS: [i64; 3] = [37, 19, 70];
    let mut random = Random::new(23);
    let [straight, turned] = turned_axes(SHAPE, &mut random);
    for target in targets() {
        for (reduced, result, sink) in [(1, "?x?", "s1*d0 + d1"), (2, "?", "d0")] {
            let loads = ["s1*s2*d0 + s2*d1 + d2", "d0 + s0*d1 + s0*s1*d2"];
            let programs = loads.map(|load| of_kernel(reduced, result, sink, load));
            let text = promote::program_text(&programs[1], &target);
            assert!(text.contains("of d0 down their columns"), "{text}");
            let [expected, found] =
                [(&programs[0], &straight), (&programs[1], &turned)].map(|(program, x)| {
                    let executable = compiled(program, &target);
                    bits(&function(&executable, "f"), &[(DType::F32, &LENGTHS, x)]).expect("it runs")
                });
            assert!(expected == found, "{reduced} axes on {}", target.cpu());
        }
    }
}

/// The same of two axes that are one where they lie in order: few columns and many, of extents that types state and that a run
/// alone knows.
#[test]
fn axes_that_count_as_one_are_reduced_in_the_same_order_down_the_first_one() {
    let mut random = Random::new(27);
    for target in targets() {
        for shape in [[37, 19, 70], [48, 6, 50], [130, 3, 11], [64, 9, 512], [5, 7, 9]] {
            for is_open in [false, true] {
                let [a, b, c] = shape;
                let [straight, turned] = turned_axes(shape, &mut random);
                let of = |number: usize, symbol: &str| {
                    if is_open { symbol.to_owned() } else { number.to_string() }
                };
                let [rows, row] = [of(a, "s0"), of(b * c, "s1*s2")];
                let [outer, inner, far] = [of(b, "s1"), of(c, "s2"), of(a * b, "s0*s1")];
                let kernels = [
                    (
                        format!("dims [{rows}, {row}]\n  form rows reduced 1"),
                        format!("{row}*d0 + d1"),
                        "d0, d1",
                    ),
                    (
                        format!("dims [{rows}, {outer}, {inner}]\n  form rows reduced 2 as one"),
                        format!("d0 + {rows}*d1 + {far}*d2"),
                        "d0, d1, d2",
                    ),
                ];
                let found = kernels.map(|(form, load, over)| {
                    let text = text_of_kernel(2, "?", "d0", &load);
                    let text = if is_open { text } else { text.replace("[%1, %2, %3]", "[]") };
                    let text = text.replace("dims [s0, s1, s2]\n  form rows reduced 2", &form);
                    let program = read(&text.replace("[d0, d1, d2]", &format!("[{over}]")));
                    let is_down =
                        promote::program_text(&program, &target).contains("of d0 down their columns");
                    assert!(over == "d0, d1" || a < 16 || is_down, "{program}");
                    let x = if over == "d0, d1" { &straight } else { &turned };
                    let lengths = shape.map(|extent| extent as i64);
                    let executable = compiled(&program, &target);
                    (
                        is_down,
                        bits(&function(&executable, "f"), &[(DType::F32, &lengths, x)]).expect("it runs"),
                    )
                });
                assert!(!found[1].0 || found[0].1 == found[1].1, "{shape:?} on {}", target.cpu());
            }
        }
    }
}
