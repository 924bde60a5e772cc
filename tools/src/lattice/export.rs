//! JSON and CSV.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::grid::{ERROR, Grid};

/// An object whose keys keep their order.
#[derive(Clone, Debug)]
pub struct Object<V>(pub Vec<(String, V)>);

impl<V: Serialize> Serialize for Object<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

/// A value as JSON, on lines of its own.
pub fn json(value: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(value);
    text.expect("objects with names for keys, numbers and strings can be written") + "\n"
}

/// A table with its marks, as [`marked`] makes it.
#[derive(Clone, Debug, Serialize)]
pub struct Marked {
    table: Object<String>,
    differs: Vec<String>,
}

/// The cells of a table: `"lhs,rhs"`, and the result or [`ERROR`].
pub fn cells(grid: &Grid) -> Object<String> {
    let result = |result: &Option<String>| result.clone().unwrap_or_else(|| ERROR.to_owned());
    Object(keys(grid).zip(grid.cells.iter().flatten().map(|cell| result(&cell.result))).collect())
}

/// The cells of a table, and the keys of those that are marked.
pub fn marked(grid: &Grid) -> Marked {
    let marks = keys(grid).zip(grid.cells.iter().flatten());
    Marked {
        table: cells(grid),
        differs: marks.filter(|(_, cell)| cell.marked).map(|(key, _)| key).collect(),
    }
}

/// How JSON names the cell of two operands.
pub fn key(lhs: &str, rhs: &str) -> String {
    format!("{lhs},{rhs}")
}

fn keys(grid: &Grid) -> impl Iterator<Item = String> {
    grid.rows.iter().flat_map(|row| grid.columns.iter().map(move |column| key(row, column)))
}

/// Rows of comma-separated values.
pub fn csv<R: IntoIterator<Item = impl AsRef<str>>>(rows: impl IntoIterator<Item = R>) -> String {
    let line =
        |row: R| row.into_iter().map(|value| quoted(value.as_ref())).collect::<Vec<_>>().join(",") + "\n";
    rows.into_iter().map(line).collect()
}

/// The table as comma-separated values, the names of rows and columns first.
pub fn grid_csv(grid: &Grid) -> String {
    let head = std::iter::once(String::new()).chain(grid.columns.iter().cloned()).collect::<Vec<_>>();
    let rows = grid.rows.iter().zip(&grid.cells).map(|(row, cells)| {
        let results = cells.iter().map(|cell| match &cell.result {
            Some(result) if cell.marked => format!("[{result}]"),
            None if cell.marked => format!("[{ERROR}]"),
            Some(result) => result.clone(),
            None => ERROR.to_owned(),
        });
        std::iter::once(row.clone()).chain(results).collect()
    });
    csv(std::iter::once(head).chain(rows))
}

/// A value, quoted if it must be.
fn quoted(value: &str) -> String {
    if value.contains([',', '"', '\n']) {
        format!("\"{}\"", value.replace('"', "\"\""))
    } else {
        value.to_owned()
    }
}
