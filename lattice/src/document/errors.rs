//! What is wrong with a file, and where.

use std::fmt;
use std::ops::Range;

use super::Problem;

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its bytes.
    pub span: Range<usize>,
    /// The line it begins on, counted from 1.
    pub line: usize,
    /// The character of the line it begins at, counted from 1.
    pub column: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Something that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// Where.
    pub place: Place,
    /// What, in one line.
    pub message: String,
    /// Why, perhaps at other places.
    pub notes: Vec<FileNote>,
    /// What to do about it.
    pub remedy: Option<String>,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// More about an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileNote {
    /// Where.
    pub place: Option<Place>,
    /// What.
    pub message: String,
}

/// Everything that is wrong with a file, in the order of its text; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileErrors {
    /// The errors, of which there are at most [`MOST`](Self::MOST).
    pub errors: Vec<FileError>,
    /// How many there are beyond those.
    pub more: usize,
}

impl FileErrors {
    /// How many errors of a file are reported.
    pub const MOST: usize = 100;

    /// What is wrong with a text, in its order.
    pub fn new(text: &str, problems: Vec<Problem>) -> Self {
        let lines = Lines::new(text);
        let more = problems.len().saturating_sub(Self::MOST);
        let errors = problems.into_iter().take(Self::MOST).map(|problem| {
            let note =
                |(span, message): (Option<_>, _)| FileNote { place: span.map(|s| lines.place(s)), message };
            FileError {
                place: lines.place(problem.span),
                message: problem.message,
                notes: problem.notes.into_iter().map(note).collect(),
                remedy: problem.remedy,
            }
        });
        Self { errors: errors.collect(), more }
    }
}

impl fmt::Display for FileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for error in &self.errors {
            write!(f, "{separator}{error}")?;
            separator = "\n";
        }
        if self.more > 0 { write!(f, "{separator}and {} more", self.more) } else { Ok(()) }
    }
}

impl std::error::Error for FileErrors {}

/// Where the lines of a text begin.
pub(super) struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        let starts = text.bytes().enumerate().filter_map(|(i, byte)| (byte == b'\n').then_some(i + 1));
        Self { text, starts: std::iter::once(0).chain(starts).collect() }
    }

    /// The number of the line that a byte is on.
    pub(super) fn number(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }

    /// The text of a line, without blanks around it.
    pub(super) fn text(&self, number: usize) -> &'t str {
        let rest = self.text.get(self.starts[number - 1]..).unwrap_or("");
        rest.lines().next().unwrap_or("").trim()
    }

    fn place(&self, span: Range<usize>) -> Place {
        let line = self.number(span.start);
        let start = self.starts[line - 1];
        let before = self.text.get(start..span.start).unwrap_or("");
        Place { span, line, column: before.chars().count() + 1 }
    }
}
