//! Buffers of one element become numbers, and nothing is allocated for them.

use super::{has, is_valid, program};
use crate::program::cells::Cells;
use crate::program::registers::Registers;
use crate::program::{Program, Step, ValueKind};
use crate::target::InFrame;

/// A program after its functions carry numbers, and how many steps of some kinds it has: allocations, cells, reads.
fn promoted(text: &str) -> (Program, [usize; 3]) {
    let mut program = program(text);
    is_valid(&program);
    let constants = program.constants.clone();
    for function in &mut program.functions {
        Registers::promote(function, &constants);
        Cells::hold(function, &constants, InFrame { bytes: 0, all: 0 });
    }
    is_valid(&program);
    let mut counts = [0; 3];
    for (step, _) in
        program.functions.iter().flat_map(|function| &function.blocks).flat_map(|block| &block.steps)
    {
        match step {
            Step::Allocate { .. } => counts[0] += 1,
            Step::Cell { .. } => counts[1] += 1,
            Step::Read { .. } => counts[2] += 1,
            _ => {}
        }
    }
    (program, counts)
}

/// A loop that copies its carry, of this type, in each iteration, and what is done after it.
fn round(carry: &str, after: &str) -> String {
    let extents = if carry == "tensor<f32>" { "" } else { "1, 2" };
    format!(
        "func private @f({carry}, i1) -> ({carry}) loc(#0) {{
^bb0(%0: buffer<f32>, %1: i1):
  retain %0
  jump ^bb1(%0)
^bb1(%2: buffer<f32>):
  %3 = allocate [{extents}] : buffer<f32>
  launch @k0(%2, %3)[1] at(#0, #0)
  release %2
  branch %1, ^bb1(%3), ^bb2(%3)
^bb2(%4: buffer<f32>):
{after}
}}"
    )
}

#[test]
fn a_loop_carries_a_number_and_allocates_nothing() {
    let (program, counts) = promoted(&round("tensor<f32>", "  return %4"));
    // What is returned has memory of its own, made once.
    assert_eq!(counts, [1, 1, 3], "{program}");
    let function = &program.functions[0];
    for block in &function.blocks[1..] {
        let is_number = |value| matches!(function.kind(value), ValueKind::Number(_));
        assert!(block.parameters.iter().all(|value| is_number(*value)), "{program}");
    }
}

#[test]
fn what_has_several_elements_stays_in_memory() {
    let (program, counts) = promoted(&round("tensor<1x2xf32>", "  return %4"));
    assert_eq!(counts, [1, 0, 0], "{program}");
}

#[test]
fn what_is_called_gets_a_buffer_that_it_may_keep() {
    let g = "func private @g(tensor<f32>) -> (tensor<f32>) loc(#0) {
^bb0(%0: buffer<f32>):
  retain %0
  return %0
}
";
    let after = "  %5 = call @g(%4) : buffer<f32>\n  release %4\n  return %5";
    let (program, counts) = promoted(&(g.to_owned() + &round("tensor<f32>", after)));
    assert_eq!(counts, [1, 1, 3], "{program}");
}

#[test]
fn a_parameter_that_may_have_more_elements_stays_a_buffer() {
    let text = "func private @f(tensor<f32>, tensor<?xf32>, i1) -> () loc(#0) {
^bb0(%0: buffer<f32>, %1: buffer<f32>, %2: index, %3: i1):
  retain %0
  retain %1
  branch %3, ^bb1(%0), ^bb2
^bb1(%4: buffer<f32>):
  jump ^bb3(%4)
^bb2:
  release %0
  jump ^bb3(%1)
^bb3(%5: buffer<f32>):
  release %5
  return
}";
    // On the other way the reference to `%1` would be left over.
    let text = text.replace("^bb1(%4: buffer<f32>):\n", "^bb1(%4: buffer<f32>):\n  release %1\n");
    let (program, counts) = promoted(&text);
    // `%4` is a number, for which memory is made where `%5` takes it.
    assert_eq!(counts, [1, 0, 1], "{program}");
}

#[test]
fn cells_are_written_before_they_are_read_and_have_no_references() {
    let f = |steps: &str| {
        program(&format!("func private @f(i1) -> () loc(#0) {{\n^bb0(%0: i1):\n{steps}\n  return\n}}"))
    };
    is_valid(&f("  %1 = cell [1] : buffer<b1>\n  write %0, %1[0]\n  %2 = read %1[0] : i1"));
    has(
        &f("  %1 = cell [1] : buffer<b1>\n  %2 = read %1[0] : i1"),
        "func private @f: ^bb0, step 1: %1 is read before it is written",
    );
    has(
        &f("  %1 = cell [1] : buffer<b1>\n  write %0, %1[0]\n  retain %1"),
        "func private @f: ^bb0, step 2: %1 is in the frame of the function, and has no references",
    );
    has(
        &f("  %1 = cell [1] : buffer<b1>\n  write %0, %1[0]\n  release %1"),
        "func private @f: ^bb0, step 2: there is no reference to %1 to drop",
    );
}
