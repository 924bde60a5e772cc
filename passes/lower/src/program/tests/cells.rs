//! Small tensors are held in the frame of a function.

use super::{has, is_valid, program};
use crate::program::cells::Cells;
use crate::program::{Arg, End, Program, Step};
use crate::target::InFrame;

const LIMITS: InFrame = InFrame { bytes: 64, all: 256 };

/// A program whose functions hold small tensors in their frames, and how many steps of some kinds it has: allocations, cells, copies.
fn held(text: &str, limits: InFrame) -> (Program, [usize; 3]) {
    let mut program = program(text);
    is_valid(&program);
    let constants = program.constants.clone();
    program.functions.iter_mut().for_each(|function| Cells::hold(function, &constants, limits));
    is_valid(&program);
    let mut counts = [0; 3];
    for (step, _) in
        program.functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.steps)
    {
        match step {
            Step::Allocate { .. } => counts[0] += 1,
            Step::Cell { .. } => counts[1] += 1,
            Step::Copy { .. } => counts[2] += 1,
            _ => {}
        }
    }
    (program, counts)
}

/// A loop that carries tensors of these many elements, which its steps make anew as `%7` and `%8` and pass on as the last line says.
fn round(count: i64, body: &str, next: &str) -> String {
    format!(
        "func private @f(tensor<{count}xf32>, tensor<{count}xf32>, i1) -> (tensor<{count}xf32>) loc(#0) {{
^bb0(%0: buffer<f32>, %1: buffer<f32>, %2: i1):
  retain %0
  retain %1
  jump ^bb1(%0, %1)
^bb1(%3: buffer<f32>, %4: buffer<f32>):
{body}
  branch %2, ^bb1({next}), ^bb2({next})
^bb2(%5: buffer<f32>, %6: buffer<f32>):
  release %6
  return %5
}}"
    )
}

/// A body that copies both carries.
fn copies(count: i64) -> String {
    format!(
        "  %7 = allocate [{count}] : buffer<f32>
  launch @k0(%3, %7)[{count}] at(#0, #0)
  %8 = allocate [{count}] : buffer<f32>
  launch @k0(%4, %8)[{count}] at(#0, #0)
  release %3
  release %4"
    )
}

#[test]
fn a_loop_carries_a_few_elements_and_allocates_nothing() {
    let (program, counts) = held(&round(4, &copies(4), "%7, %8"), LIMITS);
    // Four variables and two cells; copies on three edges and of what is returned, which has memory of its own.
    assert_eq!(counts, [1, 6, 7], "{program}");
    let function = &program.functions[0];
    assert!(function.blocks[1..].iter().all(|block| block.parameters.is_empty()), "{program}");
    let counted = function.blocks[0].steps.iter();
    let counted = counted.filter(|(step, _)| matches!(step, Step::Retain(_) | Step::Release(_))).count();
    assert_eq!(counted, 0, "{program}");
}

#[test]
fn what_is_large_stays_in_memory_with_references() {
    let (program, counts) = held(&round(17, &copies(17), "%7, %8"), LIMITS);
    assert_eq!(counts, [2, 0, 0], "{program}");
}

#[test]
fn what_is_left_over_when_the_frame_is_full_stays_in_memory_with_references() {
    // Four variables fill it, with room for what is kept of one: what the loop makes is allocated.
    let (program, counts) = held(&round(16, &copies(16), "%7, %8"), InFrame { bytes: 64, all: 320 });
    assert_eq!(counts, [3, 4, 7], "{program}");
    let (program, counts) = held(&round(16, &copies(16), "%7, %8"), InFrame { bytes: 64, all: 63 });
    assert_eq!(counts, [2, 0, 0], "{program}");
}

#[test]
fn carries_that_change_places_are_copied_before_they_are_overwritten() {
    let (program, _) = held(&round(2, "", "%4, %3"), LIMITS);
    // One is kept, then the other one overwrites it.
    let back = program.functions[0].blocks[1..].iter().find(|block| {
        let is_back = matches!(&block.end, End::Jump(edge) if edge.block.0 == 1);
        is_back && !block.steps.is_empty()
    });
    let steps = &back.expect("there is one").steps;
    let steps: Vec<String> = steps.iter().map(|(step, _)| step.to_string()).collect();
    assert_eq!(steps, ["copy %3 to %7 [2]", "copy %4 to %3 [2]", "copy %7 to %4 [2]"], "{program}");
}

#[test]
fn all_that_change_places_are_kept_in_one_cell() {
    let mut text = round(2, "", "%4, %3");
    text = text.replace(
        "branch %2, ^bb1(%4, %3), ^bb2(%4, %3)",
        "switch %0 [0: ^bb1(%4, %3), 1: ^bb1(%4, %3), 2: ^bb1(%4, %3)] default ^bb2(%4, %3)",
    );
    text = text
        .replace("switch %0", "switch %7")
        .replace("i1) ->", "i1, index) ->")
        .replace("%2: i1)", "%2: i1, %7: index)");
    let (program, counts) = held(&text, LIMITS);
    // Four variables, and the one that is kept.
    assert_eq!(counts[1], 5, "{program}");
}

#[test]
fn a_carry_that_stays_is_not_copied_and_one_that_moves_on_is_copied_first() {
    let (program, counts) = held(&round(2, "  retain %3\n  release %4", "%3, %3"), LIMITS);
    // On the way back, `%4` alone is overwritten.
    assert_eq!(counts, [1, 4, 6], "{program}");
    let body = "  %7 = allocate [2] : buffer<f32>\n  launch @k0(%4, %7)[2] at(#0, #0)\n  release %4";
    let (program, _) = held(&round(2, body, "%7, %3"), LIMITS);
    let text = program.to_string();
    let [first, second] =
        ["copy %3 to %4 [2]", "copy %7 to %3 [2]"].map(|copy| text.find(copy).expect("it is there"));
    assert!(first < second, "{program}");
}

#[test]
fn what_is_called_gets_a_buffer_that_it_may_keep() {
    let g = "func private @g(tensor<4xf32>) -> (tensor<4xf32>) loc(#0) {
^bb0(%0: buffer<f32>):
  retain %0
  return %0
}
";
    let body = "  %7 = call @g(%3) : buffer<f32>\n  release %7";
    let (program, counts) = held(&(g.to_owned() + &round(4, body, "%3, %4")), LIMITS);
    // `%3` stays a buffer; `%4` and what comes after the loop are variables.
    assert_eq!(counts, [1, 3, 4], "{program}");
    let edges = program.functions[1].blocks.iter().flat_map(|block| block.end.edges());
    assert!(
        edges.filter(|edge| edge.block.0 == 1).all(|edge| matches!(edge.args[..], [Arg::Value(_)])),
        "{program}"
    );
}

#[test]
fn cells_are_of_their_size_and_are_copied_after_they_are_written() {
    let f = |steps: &str| {
        let text = format!(
            "func private @f(tensor<2xf32>) -> () loc(#0) {{\n^bb0(%0: buffer<f32>):\n{steps}\n  return\n}}"
        );
        program(&text)
    };
    is_valid(&f(
        "  %1 = cell [2] : buffer<f32>\n  copy %0 to %1 [2]\n  %2 = read %1[0] : f32\n  copy %0 to %1 [2]",
    ));
    has(
        &f("  %1 = cell [2] : buffer<f32>\n  %2 = cell [2] : buffer<f32>\n  copy %1 to %2 [2]"),
        "func private @f: ^bb0, step 2: %1 is read before it is written",
    );
    has(
        &f("  %1 = cell [2] : buffer<f32>\n  copy %1 to %1 [2]"),
        "func private @f: ^bb0, step 1: %1 is copied to itself",
    );
    has(&f("  copy %0 to %0 [2]"), "func private @f: ^bb0, step 0: %0 is copied to itself");
    has(
        &f("  %1 = constant @c0 : buffer<f32>\n  copy %0 to %1 [2]"),
        "func private @f: ^bb0, step 1: %1 is written, and is no memory that a step makes",
    );
    has(
        &f("  %1 = cell [65537] : buffer<f32>"),
        "func private @f: ^bb0, step 0: 65537 elements are not held in a frame",
    );
    has(
        &f("  %1 = cell [2] : buffer<f64>\n  copy %0 to %1 [2]"),
        "func private @f: ^bb0, step 1: %1 is buffer<f64>, not buffer<f32>",
    );
    // As many as there are.
    has(
        &f("  %1 = cell [3] : buffer<f32>\n  copy %0 to %1 [3]"),
        "func private @f: ^bb0, step 1: %0 is not known to have 3 elements",
    );
    has(
        &f("  %1 = cell [1] : buffer<f32>\n  copy %0 to %1 [2]"),
        "func private @f: ^bb0, step 1: %1 is not known to have 2 elements",
    );
    // Only a cell is written again.
    has(
        &f(
            "  %1 = allocate [2] : buffer<f32>\n  copy %0 to %1 [2]\n  %2 = read %1[0] : f32\n  copy %0 to %1 [2]\n  release %1",
        ),
        "func private @f: ^bb0, step 3: %1 is written after it was read",
    );
}
