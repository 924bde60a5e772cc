//! Comments and diagnostics, and what differs between them.

use super::*;

fn diagnostics(severity: Severity, line: u32, message: &str) -> Diagnostic {
    let location = (line > 0).then(|| Location { file: "a.mlir".into(), line, column: 1 });
    Diagnostic::new(severity, Code::Shape, location, message)
}

fn error(line: u32, message: &str) -> Diagnostic {
    diagnostics(Severity::Error, line, message)
}

/// The mismatches as `line:column: message`, lines 0 for those without place.
fn check(text: &str, diagnostics: &[Diagnostic]) -> Vec<String> {
    check_chunk(&Chunk::whole(text), diagnostics, Mode::All)
}

fn check_chunk(chunk: &Chunk<'_>, diagnostics: &[Diagnostic], mode: Mode) -> Vec<String> {
    let show = |Mismatch { location, message }| {
        let (line, column) = location.map_or((0, 0), |at: Location| (at.line, at.column));
        format!("{line}:{column}: {message}")
    };
    Expectations::parse("a.mlir", chunk).check(diagnostics, mode).into_iter().map(show).collect()
}

const MET: [String; 0] = [];

#[test]
fn every_designator_finds_its_line() {
    assert_eq!(check("op // expected-error {{bad}}", &[error(1, "a bad op")]), MET);
    assert_eq!(check("// expected-error@+2 {{bad}}\n\nop", &[error(3, "bad")]), MET);
    assert_eq!(check("op\n\n// expected-error@-2 {{bad}}", &[error(1, "bad")]), MET);
    assert_eq!(check("// expected-error @below {{bad}}\r\nop", &[error(2, "bad")]), MET);
    assert_eq!(check("op\n// expected-error@above{{bad}}", &[error(1, "bad")]), MET);
    assert_eq!(check("// expected-error@unknown {{bad}}", &[error(0, "bad")]), MET);
}

#[test]
fn above_and_below_skip_other_comments() {
    let text = "op\n// expected-error@above {{a}}\n// expected-error@above {{b}}\n\
                // expected-error@below {{c}}\n// expected-error@below {{d}}\nop";
    assert_eq!(check(text, &[error(1, "a"), error(1, "b"), error(6, "c"), error(6, "d")]), MET);
}

#[test]
fn a_dangling_below_means_the_last_line() {
    assert_eq!(check("\n// expected-error@below {{a}}", &[error(2, "a")]), MET);
}

#[test]
fn offsets_may_lead_anywhere() {
    for offset in ["-5", "+99999999999", "-99999999999999999999", "+99999999999999999999999"] {
        let text = format!("// expected-error@{offset} {{{{a}}}}");
        assert_eq!(check(&text, &[]), ["1:4: expected error \"a\" was not produced"]);
    }
}

#[test]
fn severities_are_told_apart() {
    let text = "// expected-warning@+3 {{w}}\n// expected-remark@+2 {{r}}\n// expected-note@+1 {{n}}\nop";
    let warning = diagnostics(Severity::Warning, 4, "w")
        .with_note(Some(Location { file: "a.mlir".into(), line: 4, column: 9 }), "n");
    assert_eq!(check(text, &[warning, diagnostics(Severity::Remark, 4, "r")]), MET);
}

#[test]
fn a_diagnostic_of_another_severity_is_a_near_miss() {
    let met = check("// expected-warning@+1 {{w}}\nop", &[error(2, "w")]);
    let near = "1:4: expected warning \"w\" came as error";
    assert_eq!(met, [near, "1:4: expected warning \"w\" was not produced"]);
}

#[test]
fn what_is_unexpected_and_what_is_missing_is_located() {
    let text = "// expected-error@below {{z}}\nop // expected-error {{y}}\nop";
    let elsewhere = Location { file: "b.mlir".into(), line: 2, column: 1 };
    let diagnostics = [error(3, "x"), Diagnostic::error(Code::Shape, Some(elsewhere), "y"), error(0, "y")];
    assert_eq!(
        check(text, &diagnostics),
        [
            "3:1: unexpected error: P0010: x",
            "2:1: unexpected error: P0010: y",
            "0:0: unexpected error: P0010: y",
            "1:4: expected error \"z\" was not produced",
            "2:7: expected error \"y\" was not produced",
        ]
    );
}

#[test]
fn unexpected_notes_are_reported() {
    let with_note = error(1, "a").with_note(None, "more");
    assert_eq!(check("op // expected-error {{a}}", &[with_note]), ["0:0: unexpected note: more"]);
}

#[test]
fn one_comment_is_met_by_many_and_a_second_never() {
    let comment = "// expected-error@3 {{}}\n// expected-error@+1 {{a}}";
    assert_eq!(check(&format!("{comment}\nop"), &[error(3, "a"), error(3, "ab")]), MET);
    let twice = "// expected-error@+2 {{a}}\n// expected-error@+1 {{a}}\nop";
    let missing = check(twice, &[error(3, "a"), error(3, "a")]);
    assert_eq!(missing, ["2:4: expected error \"a\" was not produced"]);
}

#[test]
fn patterns_match_between_literal_text() {
    let text = "op // expected-error-re {{(of) {{[0-9]+|no}} operands}}";
    assert_eq!(check(text, &[error(1, "one (of) 12 operands")]), MET);
    assert_eq!(check(text, &[error(1, "one (of) no operands")]), MET);
    assert_eq!(check(text, &[error(1, "one of 12 operands")]).len(), 2);
    assert_eq!(check("// expected-error-re {{{{^}}a}}", &[error(1, "a")]), MET);
}

#[test]
fn malformed_patterns_are_located() {
    assert_eq!(
        check("// expected-error-re {{a {{[}} b}}", &[]),
        ["1:4: invalid regex: unclosed character class"]
    );
    assert_eq!(check(" // expected-error-re {{a {{b}}", &[]), ["1:5: found start of regex with no end '}}'"]);
    assert_eq!(check("// expected-error-re {{{{x{999999999}}}", &[]).len(), 1);
}

#[test]
fn the_code_may_be_expected() {
    assert_eq!(check("op // expected-error {{P0010}}", &[error(1, "a")]), MET);
    assert_eq!(check("op // expected-error {{P0010: a}}", &[error(1, "a")]), MET);
    assert_eq!(check("op // expected-error {{P0007}}", &[error(1, "a")]).len(), 2);
}

#[test]
fn lines_of_a_later_chunk_are_those_of_the_file() {
    let chunk =
        Chunk { first_line: 10, text: "// expected-error@below {{a}}\nop // expected-error@above {{b}}" };
    // Both lines have a comment, so there is no line above and the last one is below.
    assert_eq!(check_chunk(&chunk, &[error(11, "a"), error(10, "b")], Mode::All), MET);
}

#[test]
fn only_what_is_expected_counts_on_request() {
    let chunk = Chunk::whole("op // expected-error {{a}}");
    assert_eq!(check_chunk(&chunk, &[error(1, "a"), error(1, "b")], Mode::OnlyExpected), MET);
    assert_eq!(check_chunk(&chunk, &[error(1, "b")], Mode::OnlyExpected).len(), 1);
}
