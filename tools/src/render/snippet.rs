//! One line of source, made fit for a terminal, and where the caret goes below it.
//!
//! Columns of locations count bytes; the caret counts what the terminal shows: tabs reach to the next multiple of 8,
//! wide characters take two columns, combining ones none. A line of any length costs the same: only the bytes near the
//! caret are looked at.

use unicode_width::UnicodeWidthChar;

/// How many columns of a line are shown.
const WIDTH: usize = 200;

/// How many bytes on either side of the caret are looked at: at four bytes a character, more than can be shown.
const REACH: usize = 8 * WIDTH;

/// How far tabs reach.
const TAB: usize = 8;

/// What stands for the parts of a line that are not shown.
const ELLIPSIS: Cell = Cell { offset: 0, glyph: '…', width: 1 };

/// A line ready to print.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Snippet {
    /// The line, or the part of it around the caret.
    pub(super) text: String,
    /// The columns in front of the caret; none if the location has no column.
    pub(super) caret: Option<usize>,
}

/// A character on the terminal.
#[derive(Clone, Copy)]
struct Cell {
    offset: usize,
    glyph: char,
    width: usize,
}

impl Snippet {
    /// The line with the caret under a column, which counts bytes from 1; a column beyond the line is its end.
    pub(super) fn of(line: &[u8], column: u32) -> Self {
        let at = (column.saturating_sub(1) as usize).min(line.len());
        let (from, to) = (at.saturating_sub(REACH), line.len().min(at + REACH));
        let cells = cells(line, from, to);
        let split = match cells.partition_point(|cell| cell.offset <= at) {
            count if at < line.len() => count.saturating_sub(1),
            count => count,
        };
        let (before, after) = cells.split_at(split);
        let (left, right) =
            room(width(before) + usize::from(from > 0), width(after) + usize::from(to < line.len()));
        let before = keep(before.iter().rev(), left, from > 0);
        let after = keep(after.iter(), right, to < line.len());
        let caret = width(&before);
        let text = before.iter().rev().chain(&after).map(Cell::text).collect();
        Self { text, caret: (column > 0).then_some(caret) }
    }
}

impl Cell {
    /// The character, or the blanks of a tab.
    fn text(&self) -> String {
        if self.glyph == '\t' { " ".repeat(self.width) } else { self.glyph.to_string() }
    }
}

/// The characters of a part of a line; what is not UTF-8 becomes one replacement character a sequence.
fn cells(line: &[u8], from: usize, to: usize) -> Vec<Cell> {
    let (mut cells, mut offset, mut column) = (Vec::new(), from, 0);
    for chunk in line[from..to].utf8_chunks() {
        let valid = chunk.valid().char_indices().map(|(index, char)| (offset + index, char));
        let invalid_at = offset + chunk.valid().len();
        let invalid = (!chunk.invalid().is_empty()).then_some((invalid_at, char::REPLACEMENT_CHARACTER));
        for (offset, char) in valid.chain(invalid) {
            let (glyph, width) = match char {
                '\t' => ('\t', TAB - column % TAB),
                _ => (shown(char), shown(char).width().unwrap_or(0)),
            };
            cells.push(Cell { offset, glyph, width });
            column += width;
        }
        offset = invalid_at + chunk.invalid().len();
    }
    cells
}

/// How many columns to give to what is before and after the caret.
fn room(before: usize, after: usize) -> (usize, usize) {
    let right = after.min((WIDTH / 2).max(WIDTH.saturating_sub(before)));
    (before.min(WIDTH - right), right)
}

/// The cells nearest to the caret that fit into a number of columns, with an ellipsis at the far end if some do not.
fn keep<'c>(cells: impl Iterator<Item = &'c Cell> + Clone, room: usize, cut: bool) -> Vec<Cell> {
    let fits = !cut && cells.clone().map(|cell| cell.width).sum::<usize>() <= room;
    if fits {
        return cells.copied().collect();
    }
    let mut used = ELLIPSIS.width;
    let near = cells.take_while(|cell| {
        used += cell.width;
        used <= room
    });
    near.copied().chain([ELLIPSIS]).collect()
}

/// The columns that cells take.
fn width(cells: &[Cell]) -> usize {
    cells.iter().map(|cell| cell.width).sum()
}

/// A character as it may be shown: control characters have pictures, and what turns the direction of text is replaced,
/// so that no source can act on the terminal or look like what it is not.
pub(super) fn shown(char: char) -> char {
    match char {
        '\0'..='\x1f' => char::from_u32(0x2400 + u32::from(char)).unwrap_or(char::REPLACEMENT_CHARACTER),
        '\x7f' => '␡',
        '\u{80}'..='\u{9f}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            char::REPLACEMENT_CHARACTER
        }
        _ => char,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line and the caret below it.
    fn show(line: impl AsRef<[u8]>, column: u32) -> String {
        let Snippet { text, caret } = Snippet::of(line.as_ref(), column);
        format!("{text}\n{}^", " ".repeat(caret.unwrap_or_default()))
    }

    #[test]
    fn tabs_reach_to_the_next_stop() {
        assert_eq!(show("\tx\ty", 2), "        x       y\n        ^");
        assert_eq!(show("\tx\ty", 4), "        x       y\n                ^");
    }

    #[test]
    fn wide_and_combining_characters_count_as_shown() {
        assert_eq!(show("\"中文\" x", 10), "\"中文\" x\n       ^");
        assert_eq!(show("e\u{301}x", 4), "e\u{301}x\n ^");
        assert_eq!(show("中x", 2), "中x\n^");
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        assert_eq!(show(b"ab\xffc", 3), "ab\u{fffd}c\n  ^");
        assert_eq!(show(b"\xe4\xb8x", 3), "\u{fffd}x\n ^");
        assert_eq!(show("\x1b[31m", 2), "␛[31m\n ^");
    }

    #[test]
    fn columns_outside_the_line_are_fine() {
        assert_eq!(show("ab", 3), "ab\n  ^");
        assert_eq!(show("ab", u32::MAX), "ab\n  ^");
        assert_eq!(show("", 1), "\n^");
        assert_eq!(Snippet::of(b"ab", 0), Snippet { text: "ab".into(), caret: None });
    }

    #[test]
    fn long_lines_are_trimmed_around_the_caret() {
        let line = (0..1_000_000).map(|index| char::from(b'a' + (index % 26) as u8)).collect::<String>();
        for (column, starts, ends) in [(1, 'a', '…'), (500_001, '…', '…'), (1_000_000, '…', 'n')] {
            let Snippet { text, caret } = Snippet::of(line.as_bytes(), column);
            let shown: Vec<char> = text.chars().collect();
            assert_eq!(shown.len(), WIDTH, "{column}");
            assert_eq!((shown[0], shown[WIDTH - 1]), (starts, ends), "{column}");
            let under = shown[caret.unwrap()];
            assert_eq!(under, char::from(line.as_bytes()[column as usize - 1]), "{column}");
        }
    }

    #[test]
    fn lines_of_exactly_the_width_are_whole() {
        for column in [1, 100, 200, 201] {
            assert_eq!(Snippet::of(&[b'x'; WIDTH], column).text.len(), WIDTH);
            let longer = Snippet::of(&[b'x'; WIDTH + 1], column);
            assert_eq!(longer.text.chars().count(), WIDTH);
        }
    }

    #[test]
    fn long_lines_of_wide_characters_stay_within_the_width() {
        let line = "中".repeat(1000);
        let Snippet { text, caret } = Snippet::of(line.as_bytes(), 1501);
        assert!(text.chars().map(|char| char.width().unwrap()).sum::<usize>() <= WIDTH);
        assert!(caret.unwrap() < WIDTH);
    }
}
