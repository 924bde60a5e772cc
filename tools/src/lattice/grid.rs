//! Tables as text: rows, columns, and cells of which some are marked.

use std::fmt::Write;

use promote_lattice::Semantics;
use promote_lattice::properties::Table as Cells;

use super::style::Palette;
use super::system::{Entry, System};

/// How JSON and CSV write a cell that is refused.
pub const ERROR: &str = "error";

/// How text writes it.
const DASH: &str = "-";

/// A table. Names are as they are to be written.
#[derive(Clone, Debug)]
pub struct Grid {
    /// What it shows.
    pub title: String,
    /// First operands.
    pub rows: Vec<String>,
    /// Second operands.
    pub columns: Vec<String>,
    /// Row by row.
    pub cells: Vec<Vec<Cell>>,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// The result, if it is not refused.
    pub result: Option<String>,
    /// Whether it is marked.
    pub marked: bool,
}

/// What a semantics promotes two operands to, as its tables write it.
pub fn cell(semantics: &Semantics, row: &Entry, column: &Entry) -> Option<&'static str> {
    semantics.tabulate(row.operand, column.operand).map(|result| semantics.show(result))
}

/// The properties' view of a system's table over some entries.
pub fn cells(system: &System, entries: &[Entry]) -> Cells {
    let names: Vec<_> = entries.iter().map(|entry| entry.name.as_str()).collect();
    Cells::new(&names, |row, column| cell(&system.semantics, &entries[row], &entries[column]))
}

impl Grid {
    /// The table of a system over rows and columns, without marks.
    pub fn new(system: &System, rows: &[Entry], columns: &[Entry]) -> Self {
        let names = |entries: &[Entry]| entries.iter().map(|entry| entry.name.clone()).collect();
        let result = |row, column| cell(&system.semantics, row, column).map(str::to_owned);
        let cell = |row, column| Cell { result: result(row, column), marked: false };
        Self {
            title: format!("{}: {}", system.label, system.summary),
            rows: names(rows),
            columns: names(columns),
            cells: rows.iter().map(|row| columns.iter().map(|column| cell(row, column)).collect()).collect(),
        }
    }

    /// Marks the cells for whose row and column, by index, and result `differs` holds.
    pub fn mark(&mut self, differs: impl Fn(usize, usize, Option<&str>) -> bool) {
        for (i, row) in self.cells.iter_mut().enumerate() {
            for (j, cell) in row.iter_mut().enumerate() {
                cell.marked = differs(i, j, cell.result.as_deref());
            }
        }
    }

    /// Shows the cells as refused for whose row and column, by index, `refused` holds.
    pub fn refuse(&mut self, refused: impl Fn(usize, usize) -> bool) {
        for (i, row) in self.cells.iter_mut().enumerate() {
            for (_, cell) in row.iter_mut().enumerate().filter(|(j, _)| refused(i, *j)) {
                cell.result = None;
            }
        }
    }

    /// How many cells are marked.
    pub fn marks(&self) -> usize {
        self.cells.iter().flatten().filter(|cell| cell.marked).count()
    }

    /// The names of its rows, columns and results, spelled otherwise.
    pub fn spelled(mut self, spell: impl Fn(&str) -> String) -> Self {
        let results = self.cells.iter_mut().flatten().filter_map(|cell| cell.result.as_mut());
        for name in self.rows.iter_mut().chain(&mut self.columns).chain(results) {
            *name = spell(name);
        }
        self
    }

    /// The table as text, columns aligned.
    pub fn text(&self, palette: &Palette) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        let stub = self.rows.iter().map(|row| row.chars().count()).max().unwrap_or(0);
        let mut lines = vec![palette.heading.paint(&self.title).to_string()];
        let mut head = " ".repeat(stub);
        for (column, width) in self.columns.iter().zip(&widths) {
            let _ = write!(head, " {}", palette.heading.paint(format_args!(" {column:<width$}")));
        }
        lines.push(head);
        for (row, cells) in self.rows.iter().zip(&self.cells) {
            let mut line = palette.heading.paint(format_args!("{row:<stub$}")).to_string();
            for (cell, width) in cells.iter().zip(&widths) {
                let _ = write!(line, " {}", cell.text(*width, palette));
            }
            lines.push(line);
        }
        lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
    }

    /// The width of a column's widest cell, its marker not counted.
    fn width(&self, column: usize) -> usize {
        let cells = self.cells.iter().map(|row| row[column].shown().len());
        let marked = self.cells.iter().map(|row| usize::from(row[column].marked)).max().unwrap_or(0);
        cells.chain([self.columns[column].chars().count()]).max().unwrap_or(0) + marked
    }
}

impl Cell {
    fn shown(&self) -> &str {
        self.result.as_deref().unwrap_or(DASH)
    }

    /// The cell, `width` wide and a column for the bracket that opens.
    fn text(&self, width: usize, palette: &Palette) -> String {
        let shown = self.shown();
        match (self.marked, &self.result) {
            (true, _) => {
                let width = width + 1;
                palette.marked.paint(format_args!("{:<width$}", format!("[{shown}]"))).to_string()
            }
            (false, Some(_)) => format!(" {shown:<width$}"),
            (false, None) => palette.refused.paint(format_args!(" {shown:<width$}")).to_string(),
        }
    }
}
