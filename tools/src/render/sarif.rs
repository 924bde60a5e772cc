//! Diagnostics for code scanning: a SARIF 2.1.0 log with one run.
//!
//! A result is a line, so that long logs can be read and searched like text. SARIF counts columns in characters, so the
//! byte columns of locations are recounted where the source is known. A remark is a result of level `note`; notes become
//! related locations, and the remedy is a second line of the message.

use std::fmt::Write as _;
use std::io::{self, Write};

use promote::diagnostic::{Code, Diagnostic, Location, Note, Severity};
use serde_json::{Value, json};

use super::TOOL;
use crate::sources::Sources;

/// Where the schema of SARIF 2.1.0 is.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// What stands before the rules.
const START: &str = r#"{
  "$schema": "SCHEMA",
  "version": "2.1.0",
  "runs": [{
    "columnKind": "unicodeCodePoints",
    "tool": "#;

/// The results of a run, in order.
///
/// They are kept as the text that they become: a tenth of what a tree of JSON values takes, and written at once.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// The results, one a line, with commas between.
    results: Vec<u8>,
    /// What they are about, in the order in which it came up: a result's rule is an index into this.
    codes: Vec<Code>,
}

impl Log {
    /// Adds a diagnostic as a result.
    pub(super) fn add(&mut self, diagnostic: &Diagnostic, sources: &Sources<'_>) -> io::Result<()> {
        let Diagnostic { severity, code, message, location, notes, remedy } = diagnostic;
        let level = match severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Remark => "note",
        };
        let text = match remedy {
            Some(remedy) => format!("{message}\nhelp: {remedy}"),
            None => message.clone(),
        };
        let locations: Vec<Value> =
            location.iter().map(|at| json!({ "physicalLocation": physical(at, sources) })).collect();
        let mut result = json!({
            "ruleId": code.as_str(),
            "ruleIndex": self.rule_index(*code),
            "level": level,
            "message": { "text": text },
            "locations": locations,
        });
        if !notes.is_empty() {
            result["relatedLocations"] = notes.iter().map(|note| related(note, sources)).collect();
        }
        self.results.extend_from_slice(if self.results.is_empty() { b"\n" } else { b",\n" });
        serde_json::to_writer(&mut self.results, &result)?;
        Ok(())
    }

    /// The place of a code among the rules.
    fn rule_index(&mut self, code: Code) -> usize {
        self.codes.iter().position(|known| *known == code).unwrap_or_else(|| {
            self.codes.push(code);
            self.codes.len() - 1
        })
    }

    /// Writes the whole document, in few pieces: standard error has no buffer.
    pub(super) fn write(self, out: &mut dyn Write) -> io::Result<()> {
        let tool = json!({ "driver": {
            "name": TOOL,
            "version": env!("CARGO_PKG_VERSION"),
            "rules": self.codes.iter().map(|code| rule(*code)).collect::<Vec<_>>(),
        } });
        let start = format!("{}{tool},\n    \"results\": [", START.replace("SCHEMA", SCHEMA));
        out.write_all(start.as_bytes())?;
        out.write_all(&self.results)?;
        out.write_all(b"\n    ]\n  }]\n}\n")
    }
}

/// What a code is about.
fn rule(code: Code) -> Value {
    json!({
        "id": code.as_str(),
        "name": format!("{code:?}"),
        "shortDescription": { "text": code.title() },
        "help": { "text": code.explanation() },
    })
}

/// A note as a related location; without a place it is only a message.
fn related(note: &Note, sources: &Sources<'_>) -> Value {
    let mut related = json!({ "message": { "text": note.message } });
    if let Some(at) = &note.location {
        related["physicalLocation"] = physical(at, sources);
    }
    related
}

/// A place in a file; lines and columns that are not known (0 in MLIR) are left out.
fn physical(location: &Location, sources: &Sources<'_>) -> Value {
    let mut physical = json!({ "artifactLocation": { "uri": uri(&location.file) } });
    if location.line > 0 {
        physical["region"] = json!({ "startLine": location.line });
        if location.column > 0 {
            physical["region"]["startColumn"] = characters(location, sources).into();
        }
    }
    physical
}

/// The column of a location in characters, if its line is known, and as it is otherwise.
fn characters(location: &Location, sources: &Sources<'_>) -> usize {
    let bytes = location.column.saturating_sub(1) as usize;
    match sources.line(location) {
        Some(line) => String::from_utf8_lossy(&line[..bytes.min(line.len())]).chars().count() + 1,
        None => bytes + 1,
    }
}

/// A file name as a URI reference, absolute only if the name is.
fn uri(file: &str) -> String {
    let mut uri = String::from(if file.starts_with('/') { "file://" } else { "" });
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                uri.push(byte.into())
            }
            _ => write!(uri, "%{byte:02X}").expect("writing to a String does not fail"),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_become_uri_references() {
        assert_eq!(uri("dir/a b.mlir"), "dir/a%20b.mlir");
        assert_eq!(uri("/tmp/ü:.mlir"), "file:///tmp/%C3%BC%3A.mlir");
        assert_eq!(uri("<stdin>"), "%3Cstdin%3E");
    }

    #[test]
    fn columns_count_characters_where_the_source_is_known() {
        let at = |column| Location { file: "a.mlir".into(), line: 1, column };
        let mut sources = Sources::new();
        assert_eq!(characters(&at(7), &sources), 7);
        sources.insert("a.mlir", "中文x".as_bytes());
        assert_eq!(characters(&at(7), &sources), 3);
        assert_eq!(characters(&at(u32::MAX), &sources), 4);
    }
}
