//! `--verify-diagnostics`: comments in the input announce the diagnostics, as in mlir-opt.
//!
//! ```text
//! // expected-error@+1 {{no common dtype}}
//! %0 = "promote.add"(%x, %y) : …      // expected-remark {{on the same line}}
//! // expected-note@above {{…}}   @below, @-2, @unknown (a diagnostic without place)
//! // expected-error-re@below {{of {{[0-9]+}} operands}}
//! ```
//!
//! [`Expectations::parse`] reads the comments of a chunk and [`Expectations::check`] compares them with the diagnostics
//! about it; an empty list of [`Mismatch`]es is success. The rules are mlir-opt's:
//!
//! - a comment must be the last thing on its line; its text must be contained in the message of a diagnostic of that
//!   severity on that line of that file. Beyond mlir-opt, the text may begin with the code: `{{P0007}}` or
//!   `{{P0007: no common}}`;
//! - each note of a diagnostic is compared as a diagnostic of its own;
//! - a diagnostic meets the first comment that fits; one comment may be met by any number of diagnostics, so the same
//!   comment written twice is never met the second time;
//! - `@above` and `@below` mean the nearest line that has no such comment itself.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use promote::diagnostic::{Code, Diagnostic, Location, Severity};
use regex::Regex;

use crate::input::Chunk;

/// The form of an expectation at the end of a line.
static DESIGNATOR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"expected-(error|note|remark|warning)(-re)? *(?:@([+-][0-9]+|above|below|unknown))? *\{\{(.*)\}\}$",
    )
    .expect("the pattern is valid")
});

/// What `--verify-diagnostics` checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Mode {
    /// Every diagnostic must be expected, and every expectation met
    All,
    /// Every expectation must be met; other diagnostics are ignored
    OnlyExpected,
}

/// A diagnostic that was not expected, an expectation that was not met, or one that is malformed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Where: the place of the diagnostic, or of the comment.
    pub location: Option<Location>,
    /// What differs.
    pub message: String,
}

impl Mismatch {
    /// The mismatch as an error to be shown, under a code of the caller's.
    pub fn into_diagnostic(self, code: Code) -> Diagnostic {
        Diagnostic::error(code, self.location, self.message)
    }
}

/// The expectations of a chunk.
#[derive(Debug, Default)]
pub struct Expectations {
    file: String,
    /// By the line they are for; no line for diagnostics without place.
    by_line: BTreeMap<Option<u32>, Vec<Expectation>>,
    malformed: Vec<Mismatch>,
}

/// One expectation.
#[derive(Debug)]
struct Expectation {
    kind: Kind,
    text: String,
    /// The text as a pattern, for `-re`.
    pattern: Option<Regex>,
    comment: Location,
    met: bool,
}

/// The severities of MLIR, which has notes as diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Error,
    Warning,
    Remark,
    Note,
}

impl Kind {
    /// The name as in `expected-error`.
    fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Remark => "remark",
            Self::Note => "note",
        }
    }

    /// The kind with a name; the designator's pattern has no others.
    fn of(name: &str) -> Self {
        match name {
            "error" => Self::Error,
            "warning" => Self::Warning,
            "remark" => Self::Remark,
            _ => Self::Note,
        }
    }
}

impl From<Severity> for Kind {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Error => Self::Error,
            Severity::Warning => Self::Warning,
            Severity::Remark => Self::Remark,
        }
    }
}

/// Which line an expectation is for.
enum Target {
    Line(i64),
    Above,
    Below,
    Unknown,
}

impl Target {
    /// The target that a designator (`+1`, `above`, …) on a line means.
    fn of(designator: Option<&str>, line: u32) -> Self {
        match designator {
            None => Self::Line(line.into()),
            Some("above") => Self::Above,
            Some("below") => Self::Below,
            Some("unknown") => Self::Unknown,
            Some(offset) => {
                let furthest = if offset.starts_with('-') { i64::MIN } else { i64::MAX };
                Self::Line(i64::from(line).saturating_add(offset.parse().unwrap_or(furthest)))
            }
        }
    }
}

impl Expectations {
    /// Reads the expectations of a chunk of a file.
    pub fn parse(file: &str, chunk: &Chunk<'_>) -> Self {
        let mut all = Self { file: file.to_owned(), ..Self::default() };
        let (mut number, mut above, mut for_below) = (chunk.first_line, chunk.first_line, Vec::new());
        for (index, line) in chunk.text.split('\n').enumerate() {
            number = chunk.first_line.saturating_add(u32::try_from(index).unwrap_or(u32::MAX));
            let Some((target, expectation)) = all.read(line.trim_end(), number) else {
                above = number;
                all.expect(Some(number), for_below.drain(..));
                continue;
            };
            let Some(expectation) = expectation else { continue };
            match target {
                Target::Below => for_below.push(expectation),
                Target::Above => all.expect(Some(above), [expectation]),
                Target::Unknown => all.expect(None, [expectation]),
                Target::Line(line) => all.expect(Some(u32::try_from(line).unwrap_or(0)), [expectation]),
            }
        }
        all.expect(Some(number), for_below);
        all
    }

    /// The expectation on a line, if it is one; without it if it is malformed, which is remembered.
    fn read(&mut self, line: &str, number: u32) -> Option<(Target, Option<Expectation>)> {
        let found = DESIGNATOR.captures(line)?;
        let (all, text) = (found.get(0)?, found.get(4)?.as_str().to_owned());
        let column = u32::try_from(all.start()).unwrap_or(u32::MAX).saturating_add(1);
        let comment = Location { file: self.file.clone(), line: number, column };
        let target = Target::of(found.get(3).map(|target| target.as_str()), number);
        let pattern = match found.get(2).map(|_| pattern(&text)).transpose() {
            Ok(pattern) => pattern,
            Err(message) => {
                self.malformed.push(Mismatch { location: Some(comment), message });
                return Some((target, None));
            }
        };
        let kind = Kind::of(&found[1]);
        Some((target, Some(Expectation { kind, text, pattern, comment, met: false })))
    }

    /// Adds expectations for a line.
    fn expect(&mut self, line: Option<u32>, expectations: impl IntoIterator<Item = Expectation>) {
        let mut expectations = expectations.into_iter().peekable();
        if expectations.peek().is_some() {
            self.by_line.entry(line).or_default().extend(expectations);
        }
    }

    /// Compares the diagnostics of the chunk: first the unexpected ones, in their order, then the missing ones, in
    /// the order of the file.
    pub fn check(mut self, diagnostics: &[Diagnostic], mode: Mode) -> Vec<Mismatch> {
        let mut unexpected = Vec::new();
        for diagnostic in diagnostics {
            let Diagnostic { severity, code, message, location, notes, remedy: _ } = diagnostic;
            unexpected.extend(self.meet((*severity).into(), Some(*code), message, location.as_ref()));
            for note in notes {
                unexpected.extend(self.meet(Kind::Note, None, &note.message, note.location.as_ref()));
            }
        }
        let mut mismatches = std::mem::take(&mut self.malformed);
        match mode {
            Mode::All => mismatches.append(&mut unexpected),
            Mode::OnlyExpected => {}
        }
        let mut unmet: Vec<_> =
            self.by_line.into_values().flatten().filter(|expected| !expected.met).collect();
        unmet.sort_by_key(|expected| (expected.comment.line, expected.comment.column));
        mismatches.extend(unmet.into_iter().map(Expectation::unmet));
        mismatches
    }

    /// Marks the expectation that a diagnostic matches, or returns the mismatch.
    fn meet(
        &mut self,
        kind: Kind,
        code: Option<Code>,
        message: &str,
        location: Option<&Location>,
    ) -> Option<Mismatch> {
        let here = location.is_none_or(|location| location.file == self.file);
        let line = location.map(|location| location.line);
        let expected = self.by_line.get_mut(&line).filter(|_| here).map_or(&mut [][..], Vec::as_mut_slice);
        let coded = code.map(|code| format!("{code}: {message}"));
        let fits =
            |text: &Expectation| text.fits(message) || coded.as_ref().is_some_and(|coded| text.fits(coded));
        let mut near_miss = None;
        for expected in expected {
            match fits(expected) {
                true if expected.kind == kind => {
                    expected.met = true;
                    return None;
                }
                true => near_miss = Some(&*expected),
                false => {}
            }
        }
        Some(match near_miss {
            Some(expected) => Mismatch {
                location: Some(expected.comment.clone()),
                message: format!(
                    "expected {} \"{}\" came as {}",
                    expected.kind.name(),
                    expected.text,
                    kind.name()
                ),
            },
            None => Mismatch {
                location: location.cloned(),
                message: format!("unexpected {}: {}", kind.name(), coded.as_deref().unwrap_or(message)),
            },
        })
    }
}

impl Expectation {
    /// Whether a message is what is expected.
    fn fits(&self, message: &str) -> bool {
        match &self.pattern {
            Some(pattern) => pattern.is_match(message),
            None => message.contains(&self.text),
        }
    }

    /// The mismatch if nothing met it.
    fn unmet(self) -> Mismatch {
        let message = format!("expected {} \"{}\" was not produced", self.kind.name(), self.text);
        Mismatch { location: Some(self.comment), message }
    }
}

/// The pattern of a text in which `{{…}}` are regular expressions; the error is its message.
fn pattern(text: &str) -> Result<Regex, String> {
    let (mut pattern, mut rest) = (String::new(), text);
    while let Some((literal, begun)) = rest.split_once("{{") {
        let (expression, after) =
            begun.split_once("}}").ok_or_else(|| "found start of regex with no end '}}'".to_owned())?;
        Regex::new(expression).map_err(|error| invalid(&error))?;
        write!(pattern, "{}(?:{expression})", regex::escape(literal))
            .expect("writing to a String does not fail");
        rest = after;
    }
    pattern.push_str(&regex::escape(rest));
    Regex::new(&pattern).map_err(|error| invalid(&error))
}

/// The message for a regular expression that is none: the last line of what the crate says.
fn invalid(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default().trim();
    format!("invalid regex: {}", last.strip_prefix("error: ").unwrap_or(last))
}

#[cfg(test)]
mod tests;
