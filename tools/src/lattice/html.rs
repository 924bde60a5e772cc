//! `html`: one page with the diagrams and tables of all semantics.
//!
//! The page is `page.html` with its parts filled in: the style (`diagram.css`, `page.css`), the program (`page.js`), the
//! data as JSON, and, for readers without JavaScript, the diagram and the table of the semantics that is shown first.

use std::fmt::Write;

use promote_lattice::DType;
use promote_lattice::convert::loss;
use serde::Serialize;

use super::export::Object;
use super::grid::{Grid, cell};
use super::svg::{self, Use, class, escaped, picture};
use super::system::{Catalogue, Entry, Role, Selection, System};

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const PROGRAM: &str = include_str!("page.js");

/// What the page knows.
#[derive(Debug, Serialize)]
struct Data {
    /// The label of what is shown first.
    first: String,
    systems: Vec<Described>,
    /// What conversions may lose, by `from>to`.
    losses: Object<String>,
}

/// What the page knows of a semantics.
#[derive(Debug, Serialize)]
struct Described {
    label: String,
    summary: String,
    role: Role,
    /// What the role is, in a sentence.
    about_order: &'static str,
    nodes: Vec<Named>,
    /// Row by row, the results; none where it refuses.
    table: Vec<Vec<Option<&'static str>>>,
    /// The order: every dtype with its immediate successors.
    successors: Object<Vec<&'static str>>,
    /// The diagram of all dtypes, and that of the core.
    all: String,
    core: String,
}

/// A row or column.
#[derive(Debug, Serialize)]
struct Named {
    name: String,
    kind: &'static str,
    is_core: bool,
}

/// The page; `first` is what it shows first.
pub fn html(first: System) -> String {
    let mut systems: Vec<_> = Catalogue::all().collect();
    let body = body(&first);
    let label = first.label.clone();
    if !systems.iter().any(|system| system.label == label) {
        systems.insert(0, first);
    }
    let data =
        Data { first: label, systems: systems.iter().map(describe).collect(), losses: losses(&systems) };
    let data =
        serde_json::to_string(&data).expect("text, lists and objects with names for keys can be written");
    // No text of the data can end the element that holds it.
    let data = data.replace('<', "\\u003c");
    let style = [svg::STYLE, STYLE].concat();
    filled(PAGE, |slot| match slot {
        "style" => &style,
        "body" => &body,
        "data" => &data,
        "program" => PROGRAM,
        _ => unreachable!("page.html has no slot `{slot}`"),
    })
}

/// A template with its `{{slots}}` replaced by their parts. What the parts say is no slot.
fn filled<'p>(template: &str, part: impl Fn(&str) -> &'p str) -> String {
    let mut pieces = template.split("{{");
    let mut page = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (slot, text) = piece.split_once("}}").expect("every slot of the template is closed");
        page.push_str(part(slot));
        page.push_str(text);
    }
    page
}

/// All entries of a system.
fn entries(system: &System, selection: &Selection) -> Vec<Entry> {
    // Only names that a user writes can be unknown.
    system.select(selection).unwrap_or_default()
}

fn describe(system: &System) -> Described {
    let semantics = &system.semantics;
    let (all, core) = (entries(system, &Selection::All), entries(system, &Selection::Core));
    let (order, role) = (semantics.order().reduced(), system.role());
    let named = |entry: &Entry| Named {
        name: entry.name.clone(),
        kind: class(entry.operand.dtype.kind()),
        is_core: core.contains(entry),
    };
    let shown = |dtype: DType| semantics.show(dtype);
    let successors =
        |dtype: &DType| (shown(*dtype).to_owned(), order.successors(*dtype).map(shown).collect());
    Described {
        label: system.label.clone(),
        summary: system.summary.clone(),
        role,
        about_order: role.sentence(),
        nodes: all.iter().map(named).collect(),
        table: all
            .iter()
            .map(|row| all.iter().map(|column| cell(semantics, row, column)).collect())
            .collect(),
        successors: Object(order.nodes().iter().map(successors).collect()),
        all: picture(system, &all, Use::Page),
        core: picture(system, &core, Use::Page),
    }
}

/// What the conversions of the tables may lose.
fn losses(systems: &[System]) -> Object<String> {
    let mut losses: Vec<(String, String)> = Vec::new();
    for system in systems {
        let semantics = &system.semantics;
        let entries = entries(system, &Selection::All);
        for row in &entries {
            for column in &entries {
                let Some(result) = semantics.tabulate(row.operand, column.operand) else { continue };
                let key = format!("{}>{}", row.name, semantics.show(result));
                if losses.iter().any(|(known, _)| *known == key) {
                    continue;
                }
                losses.extend(loss(row.operand.dtype, result).map(|loss| (key, loss.to_string())));
            }
        }
    }
    Object(losses)
}

/// What the page shows without JavaScript.
fn body(system: &System) -> String {
    let core = entries(system, &Selection::Core);
    let grid = Grid::new(system, &core, &core);
    let mut body = format!(
        "<p>{}</p>\n<div class=\"scroll\">{}</div>\n<div class=\"scroll\">\n<table>\n<tr><td></td>",
        escaped(&grid.title),
        picture(system, &core, Use::Page),
    );
    for column in &grid.columns {
        let _ = write!(body, "<th scope=\"col\">{}</th>", escaped(column));
    }
    body.push_str("</tr>\n");
    for (row, cells) in grid.rows.iter().zip(&grid.cells) {
        let _ = write!(body, "<tr><th scope=\"row\">{}</th>", escaped(row));
        for cell in cells {
            let _ = write!(body, "<td>{}</td>", escaped(cell.result.as_deref().unwrap_or("-")));
        }
        body.push_str("</tr>\n");
    }
    body.push_str("</table>\n</div>");
    body
}
