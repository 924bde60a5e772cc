//! Kernels that need each other's results in turn, and how the code for them grows.

use std::fmt::Write;

use promote::{CompileOptions, DType, OptLevel, Source};
use promote_reference::{Array, Value};

use super::support::{compile, function, known, run, session};

fn ints(numbers: &[i128]) -> Value {
    Value::Array(Array::of_ints(DType::I32, &[numbers.len()], numbers))
}

/// `%d` could be computed beside `%b`, and `%e` beside `%c`, but not both: `%d` needs all of `%c`, and `%e` all of `%b`.
#[test]
fn sums_over_one_dimension_are_used_over_the_other_in_turn() {
    const TEXT: &str = r#"
func.func @f(%x: tensor<?xi32>, %y: tensor<?xi32>) -> (!u, !u, !u, !u) {
  %b = "promote.negative"(%x) : (tensor<?xi32>) -> !u
  %m = "promote.matmul"(%b, %b) : (!u, !u) -> !u
  %c = "promote.square"(%y) : (tensor<?xi32>) -> !u
  %s = "promote.sum"(%c) : (!u) -> !u
  %d = "promote.add"(%b, %s) : (!u, !u) -> !u
  %e = "promote.multiply"(%c, %m) : (!u, !u) -> !u
  return %b, %c, %d, %e : !u, !u, !u, !u
}
"#;
    // The extents of the arguments, and of what is computed of each.
    let with = |x: &str, y: &str| {
        [x, y, x, y]
            .iter()
            .fold(TEXT.to_owned(), |text, extent| text.replacen("<?x", &format!("<{extent}x"), 1))
    };
    for text in [TEXT.to_owned(), with("3", "2")] {
        let executable = compile(&session("jax", false, false), &text);
        let results = run(&function(&executable, "f"), &[ints(&[1, 2, 3]), ints(&[4, 5])]).expect("it runs");
        let expected = [&[-1, -2, -3][..], &[16, 25], &[40, 39, 38], &[16 * 14, 25 * 14]];
        let expected = expected.map(|numbers| Array::of_ints(DType::I32, &[numbers.len()], numbers));
        assert_eq!(results, expected, "{text}");
    }
}

/// The sum of so many dynamic arguments.
fn sum_of(count: usize) -> String {
    let arguments: Vec<_> = (0..count).map(|index| format!("%x{index}: tensor<?xi32>")).collect();
    let mut text = format!(
        "func.func @f({}) -> !u {{\n  %v0 = \"promote.add\"(%x0, %x1) : \
         (tensor<?xi32>, tensor<?xi32>) -> !u\n",
        arguments.join(", ")
    );
    for index in 1..count - 1 {
        let (last, next) = (index - 1, index + 1);
        let _ =
            writeln!(text, "  %v{index} = \"promote.add\"(%v{last}, %x{next}) : (!u, tensor<?xi32>) -> !u");
    }
    let _ = write!(text, "  return %v{} : !u\n}}\n", count - 2);
    text
}

#[test]
fn many_dynamic_arguments_are_stretched_to_the_longest() {
    const COUNT: usize = 60;
    let executable = compile(&session("jax", false, false), &sum_of(COUNT));
    let f = function(&executable, "f");
    for longest in [0, 1, 30, COUNT - 1] {
        let arguments: Vec<Value> = (0..COUNT as i128)
            .map(|number| {
                if number as usize == longest {
                    ints(&[number, number + 1, number + 2])
                } else {
                    ints(&[number])
                }
            })
            .collect();
        let results = run(&f, &arguments).expect("it runs");
        let sum = (COUNT * (COUNT - 1) / 2) as i128;
        assert_eq!(results, [Array::of_ints(DType::I32, &[3], &[sum, sum + 1, sum + 2])]);
    }
}

/// What is computed of extents grows with the number of arguments: a fourfold number makes at most about fourfold text.
#[test]
fn the_code_for_dynamic_arguments_grows_linearly() {
    let session = session("jax", false, false);
    let length = |count: usize| {
        let mut module = session.parse(Source::Text(&known(&sum_of(count)))).expect("it is MLIR");
        let options = CompileOptions { level: OptLevel::None, ..CompileOptions::default() };
        let compiled = promote::compile(&session, &mut module, &options).expect("it is lowered");
        compiled.ir_text().len()
    };
    let (few, many) = (length(40), length(160));
    assert!(many < 5 * few, "{few} bytes for 40 arguments, {many} for 160");
}
