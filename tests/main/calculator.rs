//! The calculator of the examples computes what the page of the book says, and says what is wrong where it is.

#[allow(dead_code, reason = "its `main` is for the command line")]
#[path = "../../examples/calculator/main.rs"]
mod example;

use example::calculate;

const PAGE: &str = include_str!("../../docs/building.md");

#[test]
fn the_program_of_the_page_is_the_example_and_runs() {
    let program = include_str!("../../examples/calculator/wave.calc");
    assert!(PAGE.contains(&format!("```calc\n{program}```")));
    let result = calculate(program, "wave.calc").expect("it runs");
    assert!(PAGE.contains(&format!("calculator/wave.calc\n{result}\n")), "{result}");
    let numbers = result.strip_prefix("f32[4] = ").expect("it is of f32");
    let numbers: Vec<f64> = numbers.split(", ").map(|number| number.parse().expect("a number")).collect();
    // NumPy's, with the hyperbolic tangent rounded to bf16.
    let expected = [3.583_269_8, 3.141_838_8, 3.123_799_6, 12.100_443];
    assert_eq!(numbers.len(), expected.len());
    for (number, expected) in numbers.iter().zip(expected) {
        assert!((number - expected).abs() < 1e-5, "{numbers:?}");
    }
}

#[test]
fn what_the_passes_refuse_is_shown_in_the_source() {
    let program = "input x: f8e4m3fn[2] = 1, 2;\ninput y: bf16 = 1;\nx + y\n";
    let message = calculate(program, "a.calc").expect_err("there is no common dtype");
    assert!(PAGE.contains(&format!("```text\n{message}\n```")), "{message}");
}

#[test]
fn wrong_programs_are_refused_at_their_places() {
    let cases = [
        ("1 +", "a.calc:1:4: expected a name, found ``\n  1 +\n     ^"),
        ("y", "a.calc:1:1: there is no variable `y`\n  y\n  ^"),
        ("let y = 1;\nfor i in 0..3 { y = zap(y); }\ny", "a.calc:2:21: there is no function `zap`"),
        ("y = 1; y", "a.calc:1:1: there is no variable `y`: write `let`"),
        ("let y = 1; let y = 2; y", "a.calc:1:12: there is a variable `y`: leave out `let`"),
        ("add(1)", "a.calc:1:1: promote.add takes 2 operands, not 1"),
        ("input x: f31 = 1; x", "a.calc:1:10: expected a dtype, as bf16, found `f31`"),
        ("input x: f32[3] = 1; x", "a.calc:1:7: "),
        ("1 2", "a.calc:1:3: expected the end, found `2`"),
        ("input x: i8 = 300; x", "a.calc:1:7: 300 is no number of i8"),
        ("input x: u8 = -1; x", "a.calc:1:7: -1 is no number of u8"),
        ("input x: i32 = 1.5; x", "a.calc:1:7: 1.5 is no number of i32"),
    ];
    for (program, expected) in cases {
        let message = calculate(program, "a.calc").expect_err(program);
        assert!(message.starts_with(expected), "{program}: {message}");
    }
    let long = format!("1{}", " + 1".repeat(100_000));
    assert!(calculate(&long, "a.calc").expect_err("it is long").contains("too long"));
    let deep = "(".repeat(100_000);
    assert!(calculate(&deep, "a.calc").expect_err("it is deep").contains("nested too deeply"));
}

#[test]
fn numbers_are_read_and_shown_as_they_are() {
    for (program, expected) in [
        ("9007199254740993 + 0", "i64[] = 9007199254740993"),
        ("9223372036854775807 + 1", "i64[] = -9223372036854775808"),
        ("input x: i64 = 9007199254740993; x", "i64[] = 9007199254740993"),
        ("input x: u64 = 18446744073709551615; x", "u64[] = 18446744073709551615"),
        ("input x: i8[2] = -128, 127; x", "i8[2] = -128, 127"),
        ("input x: c64 = -4; sqrt(x)", "c64[] = 0 + 2i"),
        ("input x: f32 = 3; x < 4", "b1[] = 1"),
    ] {
        assert_eq!(calculate(program, "a.calc").as_deref(), Ok(expected), "{program}");
    }
}
