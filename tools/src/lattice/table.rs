//! `table`: promotion tables, with marks where another semantics differs.

use super::args::{Args, Format, Table, ZeroDim};
use super::grid::{self, Grid};
use super::style::Palette;
use super::system::{Catalogue, Entry, Selection};
use super::{Failure, export};

/// The table that is asked for.
pub fn table(
    catalogue: &Catalogue,
    args: &Args,
    options: &Table,
    palette: &Palette,
) -> Result<String, Failure> {
    let other = options.mark.as_deref().map(|other| catalogue.load(other)).transpose()?;
    let mut grids = match options.like {
        Some(document) => document.grids(catalogue, args)?,
        None => vec![("table".to_owned(), plain(catalogue, args, options)?)],
    };
    if let Some(other) = &other {
        for (_, grid) in &mut grids {
            mark(grid, other)?;
        }
    }
    let is_marked = other.is_some() || options.like.is_some_and(|document| document.has_marks());
    let grids = grids.into_iter().map(|(key, grid)| {
        let grid = match options.like {
            Some(document) => grid.spelled(|name| document.spell(name)),
            None => grid,
        };
        (key, grid)
    });
    Ok(write(grids.collect(), options.format, is_marked, palette))
}

fn plain(catalogue: &Catalogue, args: &Args, options: &Table) -> Result<Grid, Failure> {
    let system = catalogue.load(args.semantics())?;
    let default = if options.format == Format::Text { Selection::Core } else { Selection::All };
    let entries = system.select(options.nodes.as_ref().unwrap_or(&default))?;
    let without: Vec<_> = entries.iter().cloned().map(Entry::zero_dim).collect();
    let (rows, columns) = match options.zero_dim {
        None => (&entries, &entries),
        Some(ZeroDim::Lhs) => (&without, &entries),
        Some(ZeroDim::Rhs) => (&entries, &without),
        Some(ZeroDim::Both) => (&without, &without),
    };
    Ok(Grid::new(&system, rows, columns))
}

/// Marks what another semantics has otherwise; all of what it does not have.
fn mark(grid: &mut Grid, other: &super::system::System) -> Result<(), Failure> {
    let entries = |names: &[String]| names.iter().map(|name| other.entry(name).ok()).collect::<Vec<_>>();
    let (rows, columns) = (entries(&grid.rows), entries(&grid.columns));
    grid.mark(|row, column, result| match (&rows[row], &columns[column]) {
        (Some(row), Some(column)) => grid::cell(&other.semantics, row, column) != result,
        (None, _) | (_, None) => result.is_some(),
    });
    grid.title = format!("{}; {} cells differ from {}", grid.title, grid.marks(), other.label);
    Ok(())
}

/// Writes tables; several in JSON as one object, by their keys.
fn write(grids: Vec<(String, Grid)>, format: Format, is_marked: bool, palette: &Palette) -> String {
    match format {
        Format::Text => grids.iter().map(|(_, grid)| grid.text(palette)).collect::<Vec<_>>().join("\n"),
        Format::Csv => grids.iter().map(|(_, grid)| export::grid_csv(grid)).collect::<Vec<_>>().join("\n"),
        Format::Json => match grids.as_slice() {
            [(_, grid)] if is_marked => export::json(&export::marked(grid)),
            [(_, grid)] => export::json(&export::cells(grid)),
            several if is_marked => export::json(&keyed(several, export::marked)),
            several => export::json(&keyed(several, export::cells)),
        },
    }
}

fn keyed<V>(grids: &[(String, Grid)], value: fn(&Grid) -> V) -> export::Object<V> {
    export::Object(grids.iter().map(|(key, grid)| (key.clone(), value(grid))).collect())
}
