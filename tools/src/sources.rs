//! The texts that diagnostics point into.
//!
//! Fill a [`Sources`] with every file the tool has read and give it to the renderer. The start of every line is
//! looked up once per file, when the first diagnostic asks for one, so a million diagnostics in one file stay linear.

use std::collections::HashMap;
use std::sync::OnceLock;

use promote::diagnostic::Location;

/// Files by the name that locations use.
#[derive(Debug, Default)]
pub struct Sources<'a> {
    files: HashMap<String, Source<'a>>,
}

/// One file and where its lines start.
#[derive(Debug)]
struct Source<'a> {
    bytes: &'a [u8],
    starts: OnceLock<Vec<usize>>,
}

impl<'a> Sources<'a> {
    /// No files: diagnostics are shown without source lines.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file. Bytes, not text: a file that is not UTF-8 has diagnostics too.
    pub fn insert(&mut self, name: impl Into<String>, bytes: &'a [u8]) {
        self.files.insert(name.into(), Source { bytes, starts: OnceLock::new() });
    }

    /// The line a location is on, without its end, if the file is known and has that line.
    pub fn line(&self, location: &Location) -> Option<&'a [u8]> {
        self.files.get(&location.file)?.line(location.line)
    }
}

impl<'a> Source<'a> {
    /// The line with a number that counts from 1.
    fn line(&self, number: u32) -> Option<&'a [u8]> {
        let starts = self.starts.get_or_init(|| line_starts(self.bytes));
        let index = usize::try_from(number.checked_sub(1)?).ok()?;
        let start = *starts.get(index)?;
        let end = starts.get(index + 1).map_or(self.bytes.len(), |next| next - 1);
        let line = &self.bytes[start..end];
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// The offset of the first byte of every line.
fn line_starts(bytes: &[u8]) -> Vec<usize> {
    std::iter::once(0).chain(memchr::memchr_iter(b'\n', bytes).map(|newline| newline + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line<'a>(sources: &Sources<'a>, number: u32) -> Option<&'a [u8]> {
        sources.line(&Location { file: "a.mlir".into(), line: number, column: 1 })
    }

    #[test]
    fn lines_lose_their_ends() {
        let mut sources = Sources::new();
        sources.insert("a.mlir", b"one\r\ntwo\n\nfour");
        let lines: Vec<_> = (0..6).map(|number| line(&sources, number)).collect();
        let expected: [Option<&[u8]>; 6] = [None, Some(b"one"), Some(b"two"), Some(b""), Some(b"four"), None];
        assert_eq!(lines, expected);
    }

    #[test]
    fn unknown_files_have_no_lines() {
        assert_eq!(line(&Sources::new(), 1), None);
    }
}
