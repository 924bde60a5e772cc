//! Screening an input, before MLIR sees it: what is no text, and what nests too deeply for MLIR's recursive parser.
//!
//! ```
//! use promote::input::{Content, screened};
//!
//! assert_eq!(screened("a.mlir", b"module {}"), Ok(Content::Text("module {}")));
//! assert!(screened("a.mlir", b"module {}\0").is_err());                  // P0002, at the byte that is no text
//! assert!(screened("a.mlir", "{".repeat(2000).as_bytes()).is_err());      // P0003, at the bracket that is too deep
//! ```
//!
//! Everything here is linear in the size of the input and refuses rather than panics.

mod nesting;

use promote_diagnostics::{Code, Diagnostic, Location};

pub use nesting::{NESTING_LIMIT, check_nesting};

/// The byte order mark that some editors put before UTF-8 text. MLIR's parser stumbles over it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The first bytes of MLIR bytecode.
const BYTECODE: &[u8] = b"ML\xefR";

/// What is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content<'a> {
    /// UTF-8 without NUL bytes.
    Text(&'a str),
    /// MLIR bytecode, not looked into.
    Bytecode(&'a [u8]),
}

/// Tells bytecode from text, and refuses text that is not UTF-8 or has a NUL byte at its first such byte, or that begins
/// with a byte order mark.
///
/// # Errors
/// What is wrong with it, and where; `name` is what the place calls the input.
pub fn content<'a>(name: &str, bytes: &'a [u8]) -> Result<Content<'a>, Diagnostic> {
    if bytes.starts_with(BYTECODE) {
        return Ok(Content::Bytecode(bytes));
    }
    if bytes.starts_with(BYTE_ORDER_MARK) {
        let message = "the input begins with a byte order mark";
        return Err(Diagnostic::error(Code::Unreadable, Some(locate(name, bytes, 0)), message)
            .with_remedy("write the file as UTF-8 without one"));
    }
    let nul = memchr::memchr(0, bytes);
    match (std::str::from_utf8(bytes), nul) {
        (Ok(text), None) => Ok(Content::Text(text)),
        (Err(error), nul) if nul.is_none_or(|nul| error.valid_up_to() < nul) => {
            Err(not_text(name, bytes, error.valid_up_to(), "is not UTF-8 text"))
        }
        (_, nul) => Err(not_text(name, bytes, nul.unwrap_or_default(), "has a NUL byte")),
    }
}

/// The content, if it does not nest too deeply for MLIR.
///
/// # Errors
/// As [`content`], and if brackets nest more than [`NESTING_LIMIT`] deep.
pub fn screened<'a>(name: &str, bytes: &'a [u8]) -> Result<Content<'a>, Diagnostic> {
    let content = content(name, bytes)?;
    if let Content::Text(text) = content {
        check_nesting(name, text, NESTING_LIMIT)?;
    }
    Ok(content)
}

/// The error for the byte at an offset.
fn not_text(name: &str, bytes: &[u8], offset: usize, problem: &str) -> Diagnostic {
    let byte = bytes.get(offset).copied().unwrap_or_default();
    let message = format!("the input {problem}: byte 0x{byte:02x}");
    Diagnostic::error(Code::Unreadable, Some(locate(name, bytes, offset)), message)
        .with_remedy("write the file as UTF-8 text, or as MLIR bytecode")
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
