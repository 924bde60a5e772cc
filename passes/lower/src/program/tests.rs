//! The text of programs, and what the verifier says of them.

mod built;
mod cells;
mod kernels;
mod laws;
mod registers;
mod text;

use super::Program;

/// Kernels and other things that the programs of tests name.
const PRELUDE: &str = r#"
// Copies b0 to b1.
kernel @k0 {
  dims [s0]
  form map
  e0 = load b0[d0] : f32 over [d0] stage 0 node 0
  r0 = store e0 to b1[d0] node 1
}

// Fills b0 with zeros.
kernel @k1 {
  dims [s0]
  form map
  e0 = splat 0x0 : f32 over [] stage 0 node 0
  r0 = store e0 to b0[d0] node 0
}

constant @c0 = f32 [0x3f800000, 0x40000000]

#0 = "test.op"
"#;

/// A program of these functions, in which every step is from place 0.
fn program(functions: &str) -> Program {
    let is_step = |line: &str| {
        let line = line.trim_start();
        let others = ["", "func", "^", "}", "return", "jump", "branch", "switch", "unused"];
        !line.is_empty() && !line.contains("loc(") && !others[1..].iter().any(|other| line.starts_with(other))
    };
    let mut text = "numerics jax\n".to_owned();
    for line in functions.lines() {
        text.push_str(line);
        text.push_str(if is_step(line) { " loc(#0)\n" } else { "\n" });
    }
    text.push_str(PRELUDE);
    match Program::parse(&text) {
        Ok(program) => program,
        Err(error) => panic!("{error} in\n{text}"),
    }
}

/// A private function of these blocks, which takes a tensor of an extent that is not known, and returns nothing.
fn body(blocks: &str) -> Program {
    program(&format!(
        "func private @f(tensor<?xf32>) -> () loc(#0) {{\n^bb0(%0: buffer<f32>, %1: index):\n{blocks}\n}}"
    ))
}

/// What is wrong with a program.
fn problems(program: &Program) -> Vec<String> {
    match program.verify() {
        Ok(()) => Vec::new(),
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    }
}

/// That a program has these problems, one a line, and no other.
#[track_caller]
fn has(program: &Program, expected: &str) {
    assert_eq!(problems(program), expected.lines().collect::<Vec<_>>(), "{program}");
}

/// That a program has none.
#[track_caller]
fn is_valid(program: &Program) {
    assert_eq!(problems(program), [""; 0], "{program}");
}
