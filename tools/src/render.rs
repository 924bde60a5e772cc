//! Showing diagnostics as text, as lines of JSON, or as one SARIF document.
//!
//! ```text
//! let mut renderer = Renderer::new(args.diagnostics_format, cli::colored(args.color, &stderr));
//! renderer.emit(&diagnostic, &sources, &mut stderr)?;       // once for every diagnostic, in order
//! renderer.finish(&mut stderr)?;                            // once, also when there was none
//! ```
//!
//! Text and JSON are written as the diagnostics come; SARIF is one document for the whole run and is written at the
//! end. The snippets of text are our own: annotate-snippets puts the source line below a ` --> file:line:col` of its
//! own and into a gutter, where editors and mlir-opt's users look for `file:line:col: error: …` and a caret below.

mod json;
mod sarif;
mod snippet;
mod text;

use std::io::{self, Write};

use promote::diagnostic::Diagnostic;

use crate::sources::Sources;

/// What the tool calls itself where a diagnostic has no place in a file.
pub const TOOL: &str = "promote-opt";

/// How diagnostics are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// `file:line:col: error[P0007]: …`, with the source line and a caret
    #[default]
    Text,
    /// One JSON object a line
    Json,
    /// One SARIF 2.1.0 document, at the end
    Sarif,
}

/// Writes diagnostics in one format.
#[derive(Debug)]
pub struct Renderer {
    format: Format,
    palette: text::Palette,
    log: sarif::Log,
}

impl Renderer {
    /// A renderer for a format; `color` matters to text only.
    pub fn new(format: Format, color: bool) -> Self {
        let palette = if color { text::Palette::colored() } else { text::Palette::default() };
        Self { format, palette: palette.of_tool(TOOL), log: sarif::Log::default() }
    }

    /// The same for text of another tool.
    pub fn of_tool(self, tool: &'static str) -> Self {
        Self { palette: self.palette.of_tool(tool), ..self }
    }

    /// Shows a diagnostic, with source lines from the files that are known.
    pub fn emit(
        &mut self,
        diagnostic: &Diagnostic,
        sources: &Sources<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self.format {
            Format::Text => text::write(diagnostic, sources, &self.palette, out),
            Format::Json => json::write(diagnostic, out),
            Format::Sarif => self.log.add(diagnostic, sources),
        }
    }

    /// Writes what is only written at the end: the SARIF document.
    pub fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            Format::Text | Format::Json => {}
            Format::Sarif => self.log.write(out)?,
        }
        out.flush()
    }
}

#[cfg(test)]
mod tests;
