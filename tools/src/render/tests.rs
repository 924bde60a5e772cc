//! Every format, on the same diagnostics.

use insta::assert_snapshot;
use promote::diagnostic::{Code, Location, Severity};
use serde_json::Value;

use super::*;

const SOURCE: &str = "func.func @f(%x: tensor<4xf8E4M3FN>, %y: tensor<4xbf16>) {
\t%0 = \"promote.add\"(%x, %y) {my.note = \"中文\"} : (tensor<4xf8E4M3FN>, tensor<4xbf16>) -> tensor<4xbf16>
  return
}
";

fn at(line: u32, column: u32) -> Option<Location> {
    Some(Location { file: "a.mlir".into(), line, column })
}

/// One diagnostic of each kind of severity and place.
fn diagnostics() -> Vec<Diagnostic> {
    vec![
        Diagnostic::error(Code::NoCommonDtype, at(2, 7), "f8E4M3FN and bf16 have no common dtype")
            .with_note(at(1, 14), "this operand is f8E4M3FN")
            .with_note(at(1, 38), "this operand is bf16")
            .with_note(at(1, 38), "it is an argument")
            .with_note(None, "the semantics is jax")
            .with_remedy("convert one of them with promote.convert"),
        Diagnostic::new(Severity::Warning, Code::LiteralRange, at(2, 63), "300 becomes 44"),
        Diagnostic::new(Severity::Remark, Code::Converted, at(99, 1), "no such line"),
        Diagnostic::error(Code::Pipeline, None, "there is no pass `foo`").with_remedy("see --list-passes"),
        Diagnostic::error(Code::Mlir, at(3, 3), "two\nlines \x1b[31m\nsee current operation"),
    ]
}

fn render(format: Format, color: bool, diagnostics: &[Diagnostic]) -> String {
    let mut sources = Sources::new();
    sources.insert("a.mlir", SOURCE.as_bytes());
    let (mut renderer, mut out) = (Renderer::new(format, color), Vec::new());
    for diagnostic in diagnostics {
        renderer.emit(diagnostic, &sources, &mut out).unwrap();
    }
    renderer.finish(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn text() {
    assert_snapshot!(render(Format::Text, false, &diagnostics()));
}

#[test]
fn text_in_color() {
    let rendered = render(Format::Text, true, &diagnostics()[..1]);
    assert_snapshot!(rendered.replace('\x1b', "ESC"));
}

#[test]
fn json_lines() {
    let rendered = render(Format::Json, true, &diagnostics());
    for line in rendered.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
    assert_snapshot!(rendered);
}

#[test]
fn sarif_document() {
    let mut document: Value = serde_json::from_str(&render(Format::Sarif, true, &diagnostics())).unwrap();
    let driver = &mut document["runs"][0]["tool"]["driver"];
    assert_eq!(driver["version"].take(), env!("CARGO_PKG_VERSION"));
    for rule in driver["rules"].as_array_mut().unwrap() {
        let code: Code = rule["id"].as_str().unwrap().parse().unwrap();
        assert_eq!(rule["shortDescription"]["text"].take(), code.title());
        assert_eq!(rule["help"]["text"].take(), code.explanation());
    }
    assert_snapshot!(serde_json::to_string_pretty(&document).unwrap());
}

#[test]
fn sarif_without_results() {
    let document = render(Format::Sarif, false, &[]);
    assert_snapshot!(document.replace(env!("CARGO_PKG_VERSION"), "VERSION"));
}

/// Counts how often it is written to: each is a system call where there is no buffer.
#[derive(Default)]
struct Counter {
    writes: usize,
    bytes: usize,
}

impl Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writes += 1;
        self.bytes += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_long_sarif_document_is_written_in_few_pieces() {
    let written = |times: usize| {
        let (mut renderer, mut out) = (Renderer::new(Format::Sarif, false), Counter::default());
        for diagnostic in diagnostics().iter().cycle().take(times) {
            renderer.emit(diagnostic, &Sources::new(), &mut out).unwrap();
        }
        renderer.finish(&mut out).unwrap();
        out
    };
    let (few, many) = (written(500), written(50_000));
    assert_eq!((few.writes, many.writes), (3, 3));
    assert!(many.bytes < 100 * few.bytes, "{} {}", few.bytes, many.bytes);
}

#[test]
fn the_first_line_has_its_exact_form() {
    let rendered = render(Format::Text, false, &diagnostics());
    assert!(rendered.starts_with("a.mlir:2:7: error[P0007]: f8E4M3FN and bf16 have no common dtype\n"));
    assert!(
        rendered.contains("\npromote-opt: error[P0022]: there is no pass `foo`\n  help: see --list-passes\n")
    );
}
