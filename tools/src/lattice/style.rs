//! The colours of text; none where they are not wanted.

use std::fmt;

use anstyle::{AnsiColor, Style};

/// The styles of the parts of a text; all plain by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Palette {
    /// The names of rows and columns, and headings.
    pub heading: Brush,
    /// Cells that differ.
    pub marked: Brush,
    /// Cells that are refused.
    pub refused: Brush,
    /// The word error.
    pub error: Brush,
    /// The word help.
    pub help: Brush,
}

impl Palette {
    /// A palette with colours, or without.
    pub fn new(colored: bool) -> Self {
        if !colored {
            return Self::default();
        }
        let color = |color: AnsiColor| Style::new().fg_color(Some(color.into()));
        Self {
            heading: Brush(Style::new().bold()),
            marked: Brush(color(AnsiColor::BrightYellow).bold()),
            refused: Brush(Style::new().dimmed()),
            error: Brush(color(AnsiColor::BrightRed).bold()),
            help: Brush(color(AnsiColor::BrightCyan).bold()),
        }
    }
}

/// A style that paints.
#[derive(Clone, Copy, Debug, Default)]
pub struct Brush(Style);

impl Brush {
    /// `text` in this style.
    pub fn paint<T: fmt::Display>(self, text: T) -> impl fmt::Display {
        let Self(style) = self;
        format!("{style}{text}{style:#}")
    }
}
