//! One broken kernel for each law of kernels.

use super::problems;
use crate::program::Program;

/// A sum of the rows of a matrix, and each element times the sum of its row.
const KERNEL: &str = "\
numerics jax

kernel @k0 {
  dims [s0, s1]
  form rows reduced 1
  e0 = load b0[s1*d0 + d1] : f32 over [d0, d1] stage 0 node 0
  e1 = reduced r0 : f32 over [d0] stage 1 node 1
  e2 = promote.multiply e0, e1 : f32 over [d0, d1] stage 1 node 2
  r0 = reduce sum e0 to b1[d0] node 1
  r1 = store e2 to b2[s1*d0 + d1] node 2
}
";

/// The same kernel with a text replaced.
fn with(from: &str, to: &str) -> Vec<String> {
    assert!(KERNEL.contains(from), "{from}");
    let text = KERNEL.replacen(from, to, 1);
    match Program::parse(&text) {
        Ok(program) => problems(&program),
        Err(error) => panic!("{error} in\n{text}"),
    }
}

#[track_caller]
fn has(from: &str, to: &str, expected: &str) {
    let expected: Vec<String> = expected.lines().map(|line| format!("kernel @k0: {line}")).collect();
    assert_eq!(with(from, to), expected, "{to}");
}

#[test]
fn a_kernel_that_keeps_the_laws_is_valid() {
    assert_eq!(with("s0", "s0"), [""; 0]);
}

#[test]
fn the_form_fits_the_dimensions() {
    has("rows reduced 1", "rows reduced 3", "the form is rows reduced 3, and there are 2 dimensions");
    has("rows reduced 1", "rows reduced 0", "the form is rows reduced 0, and there are 2 dimensions");
    has(
        "rows reduced 1",
        "columns outer 1 reduced 18446744073709551615",
        "the form is columns outer 1 reduced 18446744073709551615, and there are 2 dimensions",
    );
    has(
        "rows reduced 1",
        "rows reduced 1 chunk d0 by d0 length 1",
        "d0 is cut into parts, and is no reduced dimension",
    );
    has(
        "rows reduced 1",
        "rows reduced 1 chunk d1 by d1 length 1",
        "d1 counts parts, and is no parallel dimension",
    );
    has(
        "rows reduced 1",
        "rows reduced 1 chunk d1 by d9 length 1",
        "d9 counts parts, and is no parallel dimension",
    );
}

#[test]
fn several_whole_dimensions_of_a_row_count_as_one() {
    let problem = "the dimensions of a row count as one, and are not several whole ones";
    has("rows reduced 1", "rows reduced 1 as one", problem);
    has("rows reduced 1", "columns outer 0 reduced 1 as one", problem);
    let text =
        KERNEL.replacen("rows reduced 1", "rows reduced 2 as one", 1).replace("d0] stage 1", "] stage 1");
    let text = text.replace("to b1[d0]", "to b1[0]");
    let program = Program::parse(&text).expect("it is a program");
    assert_eq!(problems(&program), [""; 0]);
    assert_eq!(program.to_string(), text);
    let cut = "[s0, s1, s2]\n  form rows reduced 2 as one\n  chunk d1 by d0 length 8";
    has("[s0, s1]\n  form rows reduced 1", cut, problem);
}

#[test]
fn expressions_follow_their_operands() {
    has(
        "multiply e0, e1",
        "multiply e0, e2",
        "e2 needs e2, which does not stand before it\ne2 is over [d0, d1] in stage 0, and another is stated",
    );
    has(
        "multiply e0, e1",
        "multiply e0",
        "e2: promote.multiply does not take 1 operands\ne2 is over [d0, d1] in stage 0, and another is stated",
    );
    has(
        "reduced r0",
        "reduced r7",
        "e1 needs r7, which is not there\ne1 is over [] in stage 0, and another is stated\ne2 is over [d0, d1] in stage 0, and another is stated",
    );
    has("store e2", "store e9", "r1 needs e9, which is not there");
    has(": f32 over [d0] ", ": i32 over [d0] ", "e1: r0 is no i32");
    has(
        "e2 = promote.multiply e0, e1 : f32 over [d0, d1] stage 1",
        "e2 = promote.multiply e0, e1 : f32 over [d0] stage 1",
        "e2 is over [d0, d1] in stage 1, and another is stated",
    );
    has(
        "over [d0, d1] stage 1",
        "over [d0, d1] stage 0",
        "e2 is over [d0, d1] in stage 1, and another is stated",
    );
    let swapped = "  r0 = store e2 to b2[s1*d0 + d1] node 2\n  r1 = reduce sum e0 to b1[d0] node 1\n";
    let roots = "  r0 = reduce sum e0 to b1[d0] node 1\n  r1 = store e2 to b2[s1*d0 + d1] node 2\n";
    assert_eq!(
        with(roots, swapped).first().map(String::as_str),
        Some("kernel @k0: e1: r0 has no one result")
    );
    let text = KERNEL.replace("reduced r0", "reduced r1").replace(roots, swapped);
    let program = Program::parse(&text).expect("the text is a program");
    assert_eq!(problems(&program), ["kernel @k0: r0 needs r1, which does not stand before it"]);
}

#[test]
fn dtypes_are_those_of_buffers_and_indices() {
    has(
        "e1 = reduced r0 : f32 over [d0] stage 1 node 1",
        "e1 = size s0 : f32 over [] stage 0 node 1",
        "e1 computes an i64, not f32\ne2 is over [d0, d1] in stage 0, and another is stated",
    );
    has(
        "e1 = reduced r0 : f32 over [d0] stage 1 node 1",
        "e1 = load b0[d0] : i32 over [d0] stage 0 node 1",
        "e1 reads i32 of b0, of which f32 is read elsewhere\ne2 is over [d0, d1] in stage 0, and another is stated",
    );
    has(
        "e1 = reduced r0 : f32 over [d0] stage 1 node 1",
        "e1 = take b0[0] at e0 stride 1 extent s0 : f32 over [d0, d1] stage 0 node 1",
        "e1: the index e0 is no integer\ne2 is over [d0, d1] in stage 0, and another is stated",
    );
}

/// Whatever a program is made by: no target is asked for code that there is none of.
#[test]
fn ops_are_defined_for_their_dtypes() {
    has("promote.multiply e0", "promote.gcd e0", "e2: promote.gcd of f32, f32 is not defined");
    has("promote.multiply e0", "promote.matmul e0", "e2: promote.matmul of f32, f32 is not defined");
}

#[test]
fn roots_write_each_place_once() {
    has("to b2[s1*d0 + d1]", "to b0[s1*d0 + d1]", "r1 writes b0, which the kernel reads");
    has("to b1[d0]", "to b1[0]", "r0 writes to one place of b1 for all indices of [d0]");
    has("to b1[d0]", "to b1[d0 + d1]", "r0 has one result for all indices of the reduced dimensions");
}

#[test]
fn what_is_cumulative_goes_on_from_part_to_part() {
    const PARTS: &str = "rows reduced 1 chunk d1 by d0 length 4
  e0 = load b0[d1] : f32 over [d1] stage 0 node 0
  e1 = load b1[d0] : f32 over [d0] stage 0 node 1
  r0 = scan cumulative_sum e0 from e1 to b2[d1] node 2
}
";
    let has = |from: &str, to: &str, expected: &str| {
        assert!(PARTS.contains(from), "{from}");
        let (head, _) = KERNEL.split_once("rows").expect("the kernel has rows");
        let text = format!("{head}{}", PARTS.replacen(from, to, 1));
        let problems = problems(&Program::parse(&text).expect("it is a program"));
        let expected: Vec<String> = expected.lines().map(|line| format!("kernel @k0: {line}")).collect();
        assert_eq!(problems, expected, "{to}");
    };
    has("rows", "rows", "");
    has(" from e1", "", "r0 goes on from part to part, and does not say from what");
    has("from e1", "from e2", "r0 needs e2, which is not there");
    has("from e1", "from e0", "r0 goes on from e0, which depends on [d1]");
    has("b1[d0] : f32", "b1[d0] : f64", "r0 goes on from e1, a f64");
    has("d1 by d0", "d1 before d0", "r0 writes to one place of b2 for all indices of [d0]");
    has(
        "scan cumulative_sum e0 from e1 to b2[d1]",
        "reduce sum e0 from e1 to b2[d0]",
        "r0 goes on from e1, and is not cumulative",
    );
}

#[test]
fn roots_reduce_by_ops_that_reduce() {
    has("reduce sum", "reduce mean", "r0 does not reduce mean over 1 reduced dimensions");
    has("reduce sum", "arg max", "e1: r0 is no f32\nr0 does not arg max over 1 reduced dimensions");
}

#[test]
fn extents_are_in_normal_form_and_numbered() {
    has(
        "to b1[d0]",
        "to b1[d0 + 0*s1]",
        "0*s1 is not in normal form\nan offset has terms that are zero or alike",
    );
    has("to b1[d0]", "to b1[d0 + s1*s0]", "s1*s0 is not in normal form");
    has("to b1[d0]", "to b1[d0 + s1 - s1]", "an offset has terms that are zero or alike");
    has("to b1[d0]", "to b1[d0 + s3]", "its extents are not numbered from s0 on");
    has("to b1[d0]", "to b9[d0]", "its nodes are not numbered from 0 on");
}
