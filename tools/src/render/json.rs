//! Diagnostics for programs: one JSON object a line, every field always there.

use std::io::{self, Write};

use promote::diagnostic::{Diagnostic, Location};
use serde::Serialize;

use super::TOOL;

/// A diagnostic; the names of the fields are a contract with those who read them.
#[derive(Serialize)]
struct Object<'a> {
    severity: String,
    code: &'static str,
    message: &'a str,
    #[serde(flatten)]
    place: Place<'a>,
    notes: Vec<Note<'a>>,
    help: Option<&'a str>,
    explain: String,
}

/// A note of a diagnostic.
#[derive(Serialize)]
struct Note<'a> {
    message: &'a str,
    #[serde(flatten)]
    place: Place<'a>,
}

/// A location; what is not known of it is null.
#[derive(Default, Serialize)]
struct Place<'a> {
    file: Option<&'a str>,
    line: Option<u32>,
    column: Option<u32>,
}

impl<'a> From<&'a Option<Location>> for Place<'a> {
    fn from(location: &'a Option<Location>) -> Self {
        let Some(Location { file, line, column }) = location else { return Self::default() };
        // MLIR says 0 where it knows no line or column.
        let known = |number: u32| (number > 0).then_some(number);
        Self { file: Some(file), line: known(*line), column: known(*line).and_then(|_| known(*column)) }
    }
}

/// Writes a diagnostic on a line.
pub(super) fn write(diagnostic: &Diagnostic, out: &mut dyn Write) -> io::Result<()> {
    let Diagnostic { severity, code, message, location, notes, remedy } = diagnostic;
    let object = Object {
        severity: severity.to_string(),
        code: code.as_str(),
        message,
        place: location.into(),
        notes: notes
            .iter()
            .map(|note| Note { message: &note.message, place: (&note.location).into() })
            .collect(),
        help: remedy.as_deref(),
        explain: format!("{TOOL} --explain {code}"),
    };
    serde_json::to_writer(&mut *out, &object)?;
    out.write_all(b"\n")
}
