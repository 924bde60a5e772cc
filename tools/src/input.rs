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
//! Everything here is linear in the size of the input and refuses rather than panics.

mod nesting;

use std::borrow::Cow;
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use promote::diagnostic::{Code, Diagnostic, Location};

pub use nesting::{NESTING_LIMIT, check_nesting};

/// What diagnostics call standard input; MLIR's own name for it.
pub const STDIN: &str = "<stdin>";

/// The line that separates the parts of a file under `--split-input-file`.
pub const SPLIT_MARKER: &str = "// -----";

/// The byte order mark that some editors put before UTF-8 text. MLIR's parser stumbles over it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The first bytes of MLIR bytecode.
const BYTECODE: &[u8] = b"ML\xefR";

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// What locations call it.
    pub name: String,
    /// All of it.
    pub bytes: Vec<u8>,
}

/// What is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// UTF-8 without NUL bytes.
    Text(&'a str),
    /// MLIR bytecode, not looked into.
    Bytecode(&'a [u8]),
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

    /// Tells bytecode from text, and refuses text that is not UTF-8 or has a NUL byte at its first such byte, or that
    /// begins with a byte order mark.
    pub fn content(&self) -> Result<Content<'_>, Diagnostic> {
        if self.bytes.starts_with(BYTECODE) {
            return Ok(Content::Bytecode(&self.bytes));
        }
        if self.bytes.starts_with(BYTE_ORDER_MARK) {
            let location = locate(&self.name, &self.bytes, 0);
            let message = "the input begins with a byte order mark";
            return Err(Diagnostic::error(Code::Unreadable, Some(location), message)
                .with_remedy("write the file as UTF-8 without one"));
        }
        let nul = memchr::memchr(0, &self.bytes);
        match (std::str::from_utf8(&self.bytes), nul) {
            (Ok(text), None) => Ok(Content::Text(text)),
            (Err(error), nul) if nul.is_none_or(|nul| error.valid_up_to() < nul) => {
                Err(self.not_text(error.valid_up_to(), "is not UTF-8 text"))
            }
            (_, nul) => Err(self.not_text(nul.unwrap_or_default(), "has a NUL byte")),
        }
    }

    /// The content, if it does not nest too deeply for MLIR.
    pub fn screened(&self) -> Result<Content<'_>, Diagnostic> {
        let content = self.content()?;
        if let Content::Text(text) = content {
            check_nesting(&self.name, text, NESTING_LIMIT)?;
        }
        Ok(content)
    }

    /// The error for the byte at an offset.
    fn not_text(&self, offset: usize, problem: &str) -> Diagnostic {
        let location = locate(&self.name, &self.bytes, offset);
        let byte = self.bytes.get(offset).copied().unwrap_or_default();
        Diagnostic::error(Code::Unreadable, Some(location), format!("the input {problem}: byte 0x{byte:02x}"))
            .with_remedy("write the file as UTF-8 text, or as MLIR bytecode")
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

/// The line and column of a byte; columns count bytes, as MLIR's do.
pub fn locate(file: &str, bytes: &[u8], offset: usize) -> Location {
    let before = &bytes[..offset.min(bytes.len())];
    let newlines = memchr::memchr_iter(b'\n', before).count();
    let start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
    Location {
        file: file.to_owned(),
        line: saturate(newlines).saturating_add(1),
        column: saturate(before.len() - start).saturating_add(1),
    }
}

/// A count as locations hold it.
fn saturate(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
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
            (start, first_line) = (end, saturate(index).saturating_add(2));
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
