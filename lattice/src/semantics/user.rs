//! Lattices of the user's own: semantics read from a TOML file.
//!
//! [`Semantics::from_toml`] reads one, and either it is a lattice that any program can be promoted on, or
//! [`FileErrors`] says everything that is wrong with it, and where.
//!
//! ```toml
//! base = "jax"                       # the lattice, defaults and ops of a semantics that is a lattice
//!
//! [remove]                           # immediate successors in the base that are none here
//! u64 = ["f*"]
//!
//! [ops.gcd]                          # an op that differs from the base
//! refuse = "the accelerator has none"
//! ```
//!
//! `docs/lattices.md` describes the format.
//!
//! ## What is checked
//! - The order has no cycle, and two dtypes with an upper bound have a least one. Two without any are allowed: programs
//!   that mix them are refused. That is the one way to forbid a promotion: a list of forbidden pairs would make the
//!   result depend on the order of operands, as `(i64 + f32) + u64` would be a promotion and `(i64 + u64) + f32` none.
//! - Weak dtypes are promoted to their defaults, which are strong dtypes of their kind. The default of `c*` has parts of
//!   the default float, as `c*` has parts `f*`.
//! - What the file says of an op leads to no dtype that the lattice lacks or the op does not accept. An op that the file
//!   leaves alone may lead to one that the lattice lacks; then [`infer`](Semantics::infer) refuses it for those operands.
//!
//! So a program that was promoted is promoted to itself: strong operands of the dtypes that an op computes in give its
//! result again.
//!
//! ## How it works
//! [`document`] walks the TOML and locates what is wrong with its words, and [`draft`] is what the file says. Of that,
//! [`order`] makes a lattice or finds counterexamples, [`defaults`] the defaults, and [`build`] the semantics.

mod build;
mod defaults;
mod document;
mod draft;
mod order;

use std::fmt;
use std::ops::Range;

use super::Semantics;
use document::{Problem, Problems};
use draft::Draft;

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

/// Something that is wrong with a semantics file.
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

/// Everything that is wrong with a semantics file, in the order of its text; never empty.
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

    fn new(text: &str, problems: Vec<Problem>) -> Self {
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
struct Lines<'t> {
    text: &'t str,
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    fn new(text: &'t str) -> Self {
        let starts = text.bytes().enumerate().filter_map(|(i, byte)| (byte == b'\n').then_some(i + 1));
        Self { text, starts: std::iter::once(0).chain(starts).collect() }
    }

    /// The number of the line that a byte is on.
    fn number(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset)
    }

    /// The text of a line, without blanks around it.
    fn text(&self, number: usize) -> &'t str {
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

impl Semantics {
    /// The semantics that a TOML file describes: see `examples/lattices` for some, and `docs/lattices.md` for the format.
    /// `name` is that of the file without its ending. So is the semantics called unless the file states a name; if one that
    /// comes with Promote is called so, as `jax`, this one is called `jax.toml`.
    ///
    /// ```
    /// use promote_lattice::{DType, Semantics};
    ///
    /// let strict = "base = 'jax'\n[remove]\nu64 = ['f*']";
    /// let semantics = Semantics::from_toml(strict, "strict").unwrap();
    /// assert_eq!(semantics.join(DType::I64, DType::U64), None);
    ///
    /// let two_ways = "[edges]\nu8 = ['i16', 'f16']\ni8 = ['i16', 'f16']";
    /// let errors = Semantics::from_toml(two_ways, "two-ways").unwrap_err();
    /// assert_eq!(errors.to_string(), "3:14: u8 and i8 have two least upper bounds: i16 and f16");
    /// ```
    ///
    /// # Errors
    /// Everything that is wrong with the file.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, FileErrors> {
        let mut problems = Problems::default();
        let draft = Draft::read(text, &mut problems);
        let built = draft.and_then(|draft| draft.build(name, &mut problems));
        match (built, problems.in_order()) {
            (Some(semantics), problems) if problems.is_empty() => Ok(semantics),
            (_, problems) => Err(FileErrors::new(text, problems)),
        }
    }
}
