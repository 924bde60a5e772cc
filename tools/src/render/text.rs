//! Diagnostics for people.
//!
//! ```text
//! a.mlir:2:8: error[P0007]: the operands are not promoted to one dtype
//!   %0 = "promote.add"(%x, %y) : …
//!        ^
//! a.mlir:1:12: note: this operand is f8E4M3FN
//! func.func @f(%x: tensor<4xf8E4M3FN>, …
//!              ^
//!   help: convert one of them with promote.convert
//! ```

use std::borrow::Cow;
use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use promote::diagnostic::{Diagnostic, Location, Severity};

use super::snippet::{self, Snippet};
use crate::sources::Sources;

/// The styles of the parts of a diagnostic; all plain by default.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Palette {
    /// What the tool calls itself, where a diagnostic has no place in a file.
    tool: &'static str,
    location: Style,
    error: Style,
    warning: Style,
    remark: Style,
    note: Style,
    help: Style,
    message: Style,
    caret: Style,
}

impl Palette {
    /// The colours that compilers use.
    pub(super) fn colored() -> Self {
        let bold = Style::new().bold();
        let color = |color: AnsiColor| bold.fg_color(Some(color.into()));
        Self {
            tool: "",
            location: bold,
            error: color(AnsiColor::BrightRed),
            warning: color(AnsiColor::BrightYellow),
            remark: color(AnsiColor::BrightBlue),
            note: color(AnsiColor::BrightCyan),
            help: color(AnsiColor::BrightCyan),
            message: bold,
            caret: color(AnsiColor::BrightGreen),
        }
    }

    /// The same in another tool.
    pub(super) fn of_tool(self, tool: &'static str) -> Self {
        Self { tool, ..self }
    }

    /// The style of a severity's name.
    fn severity(&self, severity: Severity) -> Style {
        match severity {
            Severity::Error => self.error,
            Severity::Warning => self.warning,
            Severity::Remark => self.remark,
        }
    }
}

/// Writes a diagnostic, its notes and its remedy. A note on the line and column that was just shown does not show the
/// source line again.
pub(super) fn write(
    diagnostic: &Diagnostic,
    sources: &Sources<'_>,
    palette: &Palette,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Diagnostic { severity, code, message, location, notes, remedy } = diagnostic;
    let (style, bold) = (palette.severity(*severity), palette.message);
    write_place(location.as_ref(), palette, out)?;
    writeln!(out, "{style}{severity}[{code}]:{style:#} {bold}{}{bold:#}", printable(message))?;
    write_snippet(location.as_ref(), sources, palette, out)?;
    let (style, mut shown) = (palette.note, location.as_ref());
    for note in notes {
        match &note.location {
            Some(place) => write_place(Some(place), palette, out)?,
            None => write!(out, "  ")?,
        }
        writeln!(out, "{style}note:{style:#} {}", printable(&note.message))?;
        if note.location.as_ref() != shown {
            write_snippet(note.location.as_ref(), sources, palette, out)?;
        }
        shown = note.location.as_ref().or(shown);
    }
    let style = palette.help;
    match remedy {
        Some(remedy) => writeln!(out, "  {style}help:{style:#} {}", printable(remedy)),
        None => Ok(()),
    }
}

/// Writes `file:line:column: ` as far as it is known, or the tool's name.
fn write_place(location: Option<&Location>, palette: &Palette, out: &mut dyn Write) -> io::Result<()> {
    let style = palette.location;
    let Some(Location { file, line, column }) = location else {
        return write!(out, "{style}{}:{style:#} ", palette.tool);
    };
    write!(out, "{style}{}:", printable(file))?;
    // MLIR says 0 where it knows no line or column.
    for number in [line, column].into_iter().take_while(|number| **number > 0) {
        write!(out, "{number}:")?;
    }
    write!(out, "{style:#} ")
}

/// Writes the source line and a caret below the column, if the line is known.
fn write_snippet(
    location: Option<&Location>,
    sources: &Sources<'_>,
    palette: &Palette,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some((location, line)) = location.and_then(|at| Some((at, sources.line(at)?))) else { return Ok(()) };
    let Snippet { text, caret } = Snippet::of(line, location.column);
    writeln!(out, "{}", text.trim_end())?;
    let style = palette.caret;
    match caret {
        Some(caret) => writeln!(out, "{:caret$}{style}^{style:#}", ""),
        None => Ok(()),
    }
}

/// A message without characters that could act on the terminal; later lines of it are indented, so that they are never
/// taken for another diagnostic.
fn printable(message: &str) -> Cow<'_, str> {
    if !message.chars().any(|char| snippet::shown(char) != char) {
        return Cow::Borrowed(message);
    }
    let lines: Vec<String> =
        message.trim_end().lines().map(|line| line.chars().map(snippet::shown).collect()).collect();
    Cow::Owned(lines.join("\n    "))
}
