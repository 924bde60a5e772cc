//! Reading and screening the input, before MLIR sees it.
//!
//! ```text
//! let input = Input::read(path)?;                    // P0002 names the file
//! match input.content()? {                           // P0002 at the byte that is no text
//!     Content::Bytecode(bytes) => …,
//!     Content::Text(text) => {
//!         check_nesting(&input.name, text, NESTING_LIMIT)?;                  // P0003 at the bracket too many
//!         for chunk in split(text, SPLIT_MARKER) { parse(&chunk.padded(), &input.name) }
//!     }
//! }
//! ```
//!
//! Everything here is linear in the size of the input and refuses rather than panics. What a text may be,
//! [`promote::input`] says.

use std::borrow::Cow;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use promote::diagnostic::{Code, Diagnostic};
pub use promote::input::{Content, NESTING_LIMIT, check_nesting, locate};

/// What diagnostics call standard input; MLIR's own name for it.
pub const STDIN: &str = "<stdin>";

/// The line that separates the parts of a file under `--split-input-file`.
pub const SPLIT_MARKER: &str = "// -----";

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// What locations call it.
    pub name: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

impl Input {
    /// Reads a file, or standard input if the path is `-`.
    pub fn read(path: &Path) -> Result<Self, Diagnostic> {
        let stdin = path == Path::new("-");
        let name = if stdin { STDIN.to_owned() } else { path.to_string_lossy().into_owned() };
        let mut bytes = Vec::new();
        let read = if stdin {
            io::stdin().lock().read_to_end(&mut bytes).map(drop)
        } else {
            fs::read(path).map(|read| bytes = read)
        };
        match read {
            Ok(()) => Ok(Self { name, bytes }),
            Err(error) => Err(unreadable(&name, &error)),
        }
    }

    /// Tells bytecode from text, and refuses what is neither.
    pub fn content(&self) -> Result<Content<'_>, Diagnostic> {
        promote::input::content(&self.name, &self.bytes)
    }

    /// The content, if it does not nest too deeply for MLIR.
    pub fn screened(&self) -> Result<Content<'_>, Diagnostic> {
        promote::input::screened(&self.name, &self.bytes)
    }
}

/// The error for a file that cannot be read.
fn unreadable(name: &str, error: &io::Error) -> Diagnostic {
    let (problem, remedy) = match error.kind() {
        ErrorKind::NotFound => {
            ("there is no such file".into(), "check the path, or use - for standard input")
        }
        ErrorKind::IsADirectory => ("it is a directory".into(), "name a file in it"),
        ErrorKind::PermissionDenied => ("permission denied".into(), "make the file readable"),
        _ => (error.to_string(), "check the path, or use - for standard input"),
    };
    Diagnostic::error(Code::Unreadable, None, format!("cannot read `{name}`: {problem}")).with_remedy(remedy)
}

/// A part of a file that is compiled by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// The line of the file that the text begins on, counted from 1.
    pub first_line: u32,
    /// The text.
    pub text: &'a str,
}

impl<'a> Chunk<'a> {
    /// The whole of a file as one chunk.
    pub fn whole(text: &'a str) -> Self {
        Self { first_line: 1, text }
    }

    /// The text with newlines in front, so that its line numbers are those of the file. Made when it is asked for:
    /// to keep the padding of all chunks of a file at once would take quadratic memory.
    pub fn padded(&self) -> Cow<'a, str> {
        match self.first_line {
            0 | 1 => Cow::Borrowed(self.text),
            line => Cow::Owned("\n".repeat(line as usize - 1) + self.text),
        }
    }
}

/// Splits a text at the lines that hold a marker, which belong to no chunk. The marker may be indented and followed by
/// a comment, but not by more dashes: a longer ruler is no marker. A file that begins or ends with a marker has no
/// empty chunk there; a text without any marker is one chunk, even when it is empty.
pub fn split<'a>(text: &'a str, marker: &str) -> Vec<Chunk<'a>> {
    let mut chunks = Vec::new();
    let (mut start, mut first_line, mut offset) = (0, 1, 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let end = offset + line.len();
        if is_marker(line, marker) {
            chunks.push(Chunk { first_line, text: &text[start..offset] });
            let after = u32::try_from(index).unwrap_or(u32::MAX).saturating_add(2);
            (start, first_line) = (end, after);
        }
        offset = end;
    }
    chunks.push(Chunk { first_line, text: &text[start..] });
    let (last, only) = (chunks.len() - 1, chunks.len() == 1);
    let mut index = 0;
    chunks.retain(|chunk| {
        let edge = index == 0 || index == last;
        index += 1;
        only || !edge || !chunk.text.is_empty()
    });
    chunks
}

/// Whether a line separates chunks.
fn is_marker(line: &str, marker: &str) -> bool {
    line.trim_start().strip_prefix(marker).is_some_and(|rest| !rest.starts_with('-'))
}

#[cfg(test)]
mod tests;
