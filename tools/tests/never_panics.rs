//! Whatever the bytes are, the tools' own parts refuse or accept them; none panics.

use promote::diagnostic::{Code, Diagnostic, Location};
use promote_tools::expect::{Expectations, Mode};
use promote_tools::input::{Content, Input, SPLIT_MARKER, check_nesting, locate, split};
use promote_tools::render::{Format, Renderer};
use promote_tools::sources::Sources;
use proptest::prelude::*;

/// What the scanners look for.
#[rustfmt::skip]
const PIECES: &[&str] = &[
    "{", "}", "(", ")", "[", "]", "<", ">", "->", ">=", "<=", "\"", "\\", "/", "//", "\n", "\r\n", "\t",
    " ", "x", "中", "\u{301}", "\u{202e}", "\x1b", "\u{feff}", "// -----\n", "// ------",
    "// expected-error", "expected-note-re", "@+1", "@-9", "@below", "@above", "@unknown", "{{", "}}",
    "{{a}}\n", "[[", "+",
];

/// Text made of it.
fn program() -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(PIECES), 0..80).prop_map(|pieces| pieces.concat())
}

fn at(file: &str, line: u32, column: u32) -> Option<Location> {
    Some(Location { file: file.into(), line, column })
}

proptest! {
    #[test]
    fn any_bytes_are_text_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let input = Input { name: "a".into(), bytes };
        match input.content() {
            Ok(Content::Text(text)) => prop_assert_eq!(text.as_bytes(), &input.bytes),
            Ok(Content::Bytecode(bytes)) => prop_assert_eq!(bytes, &input.bytes),
            Err(error) => prop_assert!(error.location.is_some()),
        }
    }

    #[test]
    fn nesting_is_checked(text in program(), limit in 0_usize..10) {
        let deep = check_nesting("a", &text, limit);
        let openers = text.matches(['{', '(', '[', '<']).count();
        prop_assert!(deep.is_ok() || openers > limit);
    }

    #[test]
    fn chunks_keep_their_lines(text in program()) {
        let lines: Vec<&str> = text.split('\n').collect();
        for chunk in split(&text, SPLIT_MARKER) {
            for (number, line) in chunk.padded().split('\n').enumerate().skip(chunk.first_line as usize - 1) {
                prop_assert!(lines[number].starts_with(line));
            }
        }
    }

    #[test]
    fn expectations_are_read(text in program(), line in 0_u32..20) {
        let diagnostic = Diagnostic::error(Code::Mlir, at("a", line, 1), "a").with_note(None, "a");
        for chunk in split(&text, SPLIT_MARKER) {
            Expectations::parse("a", &chunk).check(std::slice::from_ref(&diagnostic), Mode::All);
        }
    }

    #[test]
    fn any_place_is_shown(text in program(), line in 0_u32..20, column in prop_oneof![0_u32..99, Just(u32::MAX)]) {
        let mut sources = Sources::new();
        sources.insert("a", text.as_bytes());
        let diagnostic = Diagnostic::error(Code::Mlir, at("a", line, column), text.as_str()).with_note(None, "");
        for format in [Format::Text, Format::Json, Format::Sarif] {
            let (mut renderer, mut out) = (Renderer::new(format, false), Vec::new());
            renderer.emit(&diagnostic, &sources, &mut out).unwrap();
            renderer.finish(&mut out).unwrap();
            let shown = String::from_utf8(out).unwrap();
            prop_assert!(!shown.contains('\x1b'), "control characters are never shown");
        }
    }

    #[test]
    fn every_byte_has_a_place(text in program(), offset in 0_usize..400) {
        let Location { line, column, .. } = locate("a", text.as_bytes(), offset);
        prop_assert!(line >= 1 && column >= 1);
    }
}
