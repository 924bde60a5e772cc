//! Programs are printed and parsed without loss, and no text makes the parser panic.

use proptest::prelude::*;

use crate::program::{Arith, Program};
use promote_dialect::extent::{Product, Sum, Symbol};

/// A program with every kind of step, end, expression and type, as it is printed.
const EVERYTHING: &str = include_str!("everything.txt");

#[track_caller]
fn parsed(text: &str) -> Program {
    match Program::parse(text) {
        Ok(program) => program,
        Err(error) => panic!("{error} in\n{text}"),
    }
}

/// Where the parser stops, and why.
#[track_caller]
fn error(text: &str) -> String {
    match Program::parse(text) {
        Ok(program) => panic!("a program:\n{program}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_program_of_everything_is_valid_and_is_printed_as_it_is_read() {
    let program = parsed(EVERYTHING);
    assert_eq!(program.to_string(), EVERYTHING);
    assert_eq!(program.verify(), Ok(()));
}

#[test]
fn white_space_and_comments_do_not_matter() {
    let text: String = EVERYTHING.lines().map(|line| format!("\t{line}  // a comment\r\n\n")).collect();
    assert_eq!(parsed(&text), parsed(EVERYTHING));
}

#[test]
fn strings_and_names_of_any_characters_are_kept() {
    let mut program = parsed("numerics jax");
    let names =
        ["", "plain", "two words", "\"\\\n\t\r\u{0}\u{7f}\u{85}\u{2028}é😀", "1st", "a-b", "k0", "a.b_c"];
    for name in names {
        let text = "numerics jax func public @f() -> () loc(#0) { ^bb0: return }\n#0 = \"x\" at \"f\":1:1";
        let mut next = parsed(text);
        next.functions[0].name = name.to_owned();
        next.places[0].op = name.to_owned();
        next.places[0].location.as_mut().expect("the place has one").file = name.to_owned();
        program.functions.append(&mut next.functions);
        program.places.append(&mut next.places);
    }
    assert_eq!(parsed(&program.to_string()), program);
}

#[test]
fn numbers_of_all_sizes_are_kept() {
    let mut program = parsed(EVERYTHING);
    let numbers = [i64::MIN, -2, -1, 0, 1, 2, i64::MAX];
    let symbols = [vec![], vec![Symbol(0)], vec![Symbol(0), Symbol(0), Symbol(u32::MAX)]];
    for (kernel, number) in program.kernels.iter_mut().zip(numbers.into_iter().cycle()) {
        for (extent, symbols) in kernel.dims.iter_mut().zip(symbols.iter().cycle()) {
            *extent = Product { number, symbols: symbols.clone() };
        }
        for sink in kernel.roots.iter_mut().flat_map(|root| &mut root.sinks) {
            for (stride, symbols) in sink.strides.iter_mut().zip(&symbols) {
                *stride = Product { number, symbols: symbols.clone() };
            }
            let terms = symbols.iter().map(|symbols| Product { number, symbols: symbols.clone() });
            sink.offset = Sum(terms.filter(|term| !term.is_zero()).collect());
        }
    }
    assert_eq!(parsed(&program.to_string()), program);
}

#[test]
fn every_arithmetic_has_a_name_of_its_own() {
    for (index, op) in Arith::ALL.iter().enumerate() {
        assert!(Arith::ALL[..index].iter().all(|other| other.name() != op.name()), "{op:?}");
    }
}

#[test]
fn errors_say_where_and_what_was_expected() {
    let step = |step: &str| {
        error(&format!("numerics jax\nfunc public @f() -> () loc(#0) {{\n^bb0:\n  {step}\n  return\n}}"))
    };
    let kernel =
        |line: &str| error(&format!("numerics jax\nkernel @k0 {{\n  dims [s0]\n  form map\n  {line}\n}}"));
    let cases = [
        (error(""), "1:1: expected `numerics`, found the end of the text"),
        (error("numerics fortran"), "1:10: expected `jax`, `numpy` or `torch`, found `fortran`"),
        (error("numerics jax\n  é"), "2:3: unexpected character 'é'"),
        (error("numerics jax ;"), "1:14: unexpected character ';'"),
        (error("numerics jax\n#1 = \"x\""), "2:1: expected #0, which is next, found #1"),
        (error("numerics jax\n#0 = \"x"), "2:6: the string has no closing quote"),
        (error("numerics jax\n#0 = \"é\\q\""), "2:8: expected one of the escapes \\\" \\\\ \\n \\t \\u{…}"),
        (
            error("numerics jax\n#0 = \"\\u{110000}\""),
            "2:7: expected one of the escapes \\\" \\\\ \\n \\t \\u{…}",
        ),
        (
            error("numerics jax\n#0 = \"x\" at \"f\":1:99999999999"),
            "2:19: expected a column in range, found `99999999999`",
        ),
        (error("numerics jax constant @c0 = f31 []"), "1:29: expected a dtype, such as `f32`, found `f31`"),
        (
            error("numerics jax constant @c0 = f32 [0x]"),
            "1:34: expected the bits of an element, such as `0x3f800000`, found `0x`",
        ),
        (
            error("numerics jax func public @f(tensor<99999999999999999999xf32>)"),
            "1:36: the extent does not fit 64 bits",
        ),
        (
            error("numerics jax func public @f(tensor<4f32>)"),
            "1:36: expected a dtype, such as `f32`, found `4f32`",
        ),
        (
            error("numerics jax func public @f(u8)"),
            "1:29: expected the type of a number, such as `index`, found `u8`",
        ),
        (
            error("numerics jax func public @f() -> () loc(#0) {"),
            "1:46: expected a block, such as `^bb0:`, or `}`, found the end of the text",
        ),
        (step("frobnicate %1 loc(#0)"), "4:3: expected a step, or what ends a block, found `frobnicate`"),
        (step("math.matmul 1, 2"), "4:3: expected a step, or what ends a block, found `math.matmul`"),
        (step("arith.pow 1, 2"), "4:3: expected a step, or what ends a block, found `arith.pow`"),
        (step("release %x loc(#0)"), "4:11: expected a value, such as `%0`, found `%x`"),
        (step("release %4294967296 loc(#0)"), "4:11: expected a value, such as `%0`, found `%4294967296`"),
        (step("%0 = release %1 loc(#0)"), "4:3: `release` defines no value"),
        (step("allocate [] loc(#0)"), "4:3: `allocate` defines one value, and 0 stand before it"),
        (step("%0, %1 = allocate [] loc(#0)"), "4:3: `allocate` defines one value, and 2 stand before it"),
        (step("%0 = allocate [] : buffer<f32>"), "5:3: expected `loc`, found `return`"),
        (step("%0 = allocate [4 5] : buffer<f32>"), "4:20: expected `,` or `]`, found `5`"),
        (step("%0 = allocate [9223372036854775808]"), "4:18: the number does not fit 64 bits"),
        (step("%0 = call @g() : index, index loc(#0)"), "4:20: expected 1 types, found 2"),
        (step("%1 = allocate [] : buffer<f32> loc(#0)"), "4:3: %1 is defined, but not %0"),
        (step("%4294967295 = allocate [] : buffer<f32> loc(#0)"), "4:3: %4294967295 is defined, but not %0"),
        (
            step("%0 = allocate [] : buffer<f32> loc(#0)\n  %0 = arith.add 1, 2 : index loc(#0)"),
            "5:3: %0 is buffer<f32> elsewhere, and index here",
        ),
        (step("switch %0 [0: ^b1] default ^bb1"), "4:17: expected a block, such as `^bb1`, found `^b1`"),
        (kernel("e1 = splat 0x0"), "5:3: expected e0, which is next, found e1"),
        (
            kernel("e0 = promote.frobnicate e0"),
            "5:8: expected what an expression computes, found `promote.frobnicate`",
        ),
        (kernel("e0 = load b0[d1]"), "5:16: there are 1 dimensions"),
        (kernel("e0 = load b0[d0 + 2*d0]"), "5:21: there is a stride of d0 already"),
        (kernel("e0 = load b0[d0*d0]"), "5:19: expected a number or an extent, such as `s0`, found `d0`"),
        (
            kernel("r0 = reduce frobnicate e0"),
            "5:15: expected the name of an op, such as `sum`, found `frobnicate`",
        ),
        (
            error(&format!("numerics jax kernel @k0 {{ dims [{}1] ", "1, ".repeat(64))),
            "1:32: a kernel has at most 64 dimensions",
        ),
    ];
    for (found, expected) in cases {
        assert_eq!(found, expected);
    }
}

#[test]
fn long_texts_take_time_in_proportion_to_their_length() {
    let mut text = "numerics jax\n\nfunc public @f() -> () loc(#0) {\n^bb0:\n".to_owned();
    for index in 0..100_000 {
        text.push_str(&format!("  %{index} = arith.add {index}, 1 : index loc(#0)\n"));
    }
    text.push_str("  return\n}\n\n#0 = \"x\"\n");
    let program = parsed(&text);
    assert_eq!(program.functions[0].values.len(), 100_000);
    assert!(program.to_string() == text, "the program is printed as it is read");
    assert_eq!(program.verify(), Ok(()));
    let deep = "(".repeat(1_000_000);
    assert_eq!(error(&format!("numerics jax {deep}")).split(':').next(), Some("1"));
    assert!(
        Program::parse(&format!("numerics jax constant @c0 = f32 [{}", "0, ".repeat(1_000_000))).is_err()
    );
}

/// Pieces of the text, and pieces that break it.
fn pieces() -> Vec<String> {
    let mut pieces: Vec<String> =
        EVERYTHING.split_inclusive([' ', '\n', ',', '(', '[', '*']).map(Into::into).collect();
    let odd = [
        "",
        "%0",
        "%4294967295",
        "%99999999999",
        "^bb0",
        "^bb7",
        "@k9",
        "@c9",
        "#9",
        "-",
        "->",
        "\"",
        "\\",
        "\n",
        "0",
        "-1",
        "9223372036854775808",
        "0x",
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "<",
        ">",
        "*",
        "é",
        "//",
        "_",
        "?x",
        "-0x",
        "s0",
        "d63",
        "e4294967295",
        "b4294967295",
        "node 4294967295",
        "tensor<",
        "f32",
        "i*",
        "unused",
        "return",
    ];
    pieces.extend(odd.map(Into::into));
    pieces
}

/// The text of everything with some pieces replaced, removed or doubled.
fn mutated() -> impl Strategy<Value = String> {
    let change = (0usize..100_000, 0usize..100_000, 0u8..4);
    proptest::collection::vec(change, 1..4).prop_map(|changes| {
        let all = pieces();
        let mut text: Vec<&str> = EVERYTHING.split_inclusive([' ', '\n', ',', '(', '[', '*']).collect();
        for (place, piece, how) in changes {
            let (place, piece) = (place % text.len(), &all[piece % all.len()]);
            match how {
                0 => text[place] = piece,
                1 => text.insert(place, piece),
                2 => text.insert(place, text[place]),
                _ => {
                    text.remove(place);
                }
            }
        }
        text.concat()
    })
}

/// That a text that is a program is printed and parsed without loss, and verified without a panic.
fn check(text: &str) -> Result<(), TestCaseError> {
    if let Ok(program) = Program::parse(text) {
        let _ = program.verify();
        let printed = program.to_string();
        let again = Program::parse(&printed);
        prop_assert_eq!(again.as_ref(), Ok(&program), "{}", printed);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn texts_that_are_changed_a_little_make_nothing_panic(text in mutated()) {
        check(&text)?;
    }

    #[test]
    fn texts_that_end_anywhere_make_nothing_panic(end in 0..EVERYTHING.len()) {
        if EVERYTHING.is_char_boundary(end) {
            check(&EVERYTHING[..end])?;
        }
    }

    #[test]
    fn any_characters_make_nothing_panic(start in "(numerics jax )?", text in "\\PC{0,60}") {
        check(&(start + &text))?;
    }
}

/// Programs that are changed a little are parsed often enough for the test above to mean something.
#[test]
fn many_changed_texts_are_programs() {
    let lines: Vec<&str> = EVERYTHING.lines().collect();
    let without =
        |gone: usize| lines.iter().enumerate().filter(move |(line, _)| *line != gone).map(|(_, line)| *line);
    let count = (0..lines.len())
        .filter(|gone| {
            let text: String = without(*gone).flat_map(|line| [line, "\n"]).collect();
            check(&text).expect("what is parsed is printed and parsed again");
            Program::parse(&text).is_ok_and(|program| program.verify().is_err())
        })
        .count();
    assert!(count >= 20, "{count} of {} programs without a line are parsed, and refused", lines.len());
}
