//! `diff`: where two semantics differ.

use serde::{Serialize, Serializer};

use super::args::{Args, Diff, Format};
use super::grid::{ERROR, Grid, cell};
use super::style::Palette;
use super::system::{Catalogue, Entry, Selection, System};
use super::{Failure, export};

/// What differs.
#[derive(Debug, Serialize)]
struct Differences {
    semantics: [String; 2],
    /// How many cells were compared.
    cells: usize,
    #[serde(serialize_with = "by_key")]
    differs: Vec<Difference>,
}

/// A cell that differs.
#[derive(Debug)]
struct Difference {
    lhs: String,
    rhs: String,
    /// What the two make of it.
    results: [String; 2],
}

/// The results of each cell by its key.
fn by_key<S: Serializer>(differs: &[Difference], serializer: S) -> Result<S::Ok, S::Error> {
    let results = |cell: &Difference| (export::key(&cell.lhs, &cell.rhs), cell.results.clone());
    export::Object(differs.iter().map(results).collect()).serialize(serializer)
}

/// Compares two semantics.
pub fn diff(
    catalogue: &Catalogue,
    args: &Args,
    options: &Diff,
    palette: &Palette,
) -> Result<String, Failure> {
    let (one, other) = match options.systems.as_slice() {
        [one, other] => (catalogue.load(one)?, catalogue.load(other)?),
        [other] => (catalogue.load(args.semantics())?, catalogue.load(other)?),
        _ => return Err(Failure::Usage("diff compares two semantics".to_owned())),
    };
    let entries = common(&one, &other, &options.nodes)?;
    if options.table {
        return Ok(table(&one, &other, &entries, options.format, palette));
    }
    let differences = compare(&one, &other, &entries);
    Ok(match options.format {
        Format::Text => differences.text(palette),
        Format::Json => export::json(&differences),
        Format::Csv => differences.csv(),
    })
}

/// The selected entries that both have; listed ones must be had by both.
fn common(one: &System, other: &System, selection: &Selection) -> Result<Vec<Entry>, Failure> {
    let mut entries = one.select(selection)?;
    match selection {
        Selection::Listed(names) => {
            for name in names {
                other.entry(name)?;
            }
        }
        Selection::Core | Selection::All => entries.retain(|entry| other.entry(&entry.name).is_ok()),
    }
    Ok(entries)
}

fn result(system: &System, row: &Entry, column: &Entry) -> String {
    cell(&system.semantics, row, column).unwrap_or(ERROR).to_owned()
}

fn compare(one: &System, other: &System, entries: &[Entry]) -> Differences {
    let mut differs = Vec::new();
    for row in entries {
        for column in entries {
            let results = [one, other].map(|system| result(system, row, column));
            if results[0] != results[1] {
                differs.push(Difference { lhs: row.name.clone(), rhs: column.name.clone(), results });
            }
        }
    }
    Differences { semantics: [one.label.clone(), other.label.clone()], cells: entries.len().pow(2), differs }
}

fn table(one: &System, other: &System, entries: &[Entry], format: Format, palette: &Palette) -> String {
    let mut grid = Grid::new(one, entries, entries);
    grid.mark(|row, column, result| cell(&other.semantics, &entries[row], &entries[column]) != result);
    grid.title = format!("{}; {} cells differ from {}", grid.title, grid.marks(), other.label);
    match format {
        Format::Text => grid.text(palette),
        Format::Json => export::json(&export::marked(&grid)),
        Format::Csv => export::grid_csv(&grid),
    }
}

impl Differences {
    /// The rows of the list: the operands and the two results.
    fn rows(&self) -> impl Iterator<Item = [&str; 4]> {
        self.differs.iter().map(|Difference { lhs, rhs, results: [one, other] }| {
            [lhs.as_str(), rhs.as_str(), one.as_str(), other.as_str()]
        })
    }

    fn head(&self) -> [&str; 4] {
        ["lhs", "rhs", &self.semantics[0], &self.semantics[1]]
    }

    fn text(&self, palette: &Palette) -> String {
        let [one, other] = &self.semantics;
        let count = self.differs.len();
        let mut text = format!("{one} and {other} differ in {count} of {} cells\n", self.cells);
        if count == 0 {
            return text;
        }
        let width = |column: usize| {
            let cells = self.rows().chain([self.head()]).map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let widths = [0, 1, 2, 3].map(width);
        let line = |row: [&str; 4]| {
            let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        text.push_str(&palette.heading.paint(line(self.head())).to_string());
        text.extend(self.rows().map(line));
        text
    }

    fn csv(&self) -> String {
        export::csv(std::iter::once(self.head()).chain(self.rows()))
    }
}
