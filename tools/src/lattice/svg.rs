//! `svg`: the Hasse diagram as a picture. Every colour is chosen in `diagram.css`, for light and for dark pages.

use std::fmt::Write;

use promote_lattice::{DType, Kind};

use super::Failure;
use super::layout::{Drawing, Graph, Line, Rect};
use super::prose::listed;
use super::system::{Entry, Role, Selection, System};

/// The colours and fonts.
pub const STYLE: &str = include_str!("diagram.css");

/// The height of the legend.
const LEGEND: f64 = 44.0;

/// What a picture is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A file of its own, which brings its style and its paper.
    File,
    /// A page that has [`STYLE`].
    Page,
}

impl Use {
    /// What the element `svg` needs beside its size.
    const fn attributes(self) -> &'static str {
        match self {
            Self::File => "xmlns=\"http://www.w3.org/2000/svg\" class=\"diagram\" role=\"img\"",
            Self::Page => "class=\"diagram\" role=\"img\"",
        }
    }

    /// What is below the drawing.
    fn ground(self) -> String {
        match self {
            Self::File => {
                format!("<style>\n{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n")
            }
            Self::Page => String::new(),
        }
    }
}

/// The diagram of the selected dtypes as a file of its own.
pub fn svg(system: &System, selection: &Selection) -> Result<String, Failure> {
    Ok(picture(system, &system.select(selection)?, Use::File))
}

/// The diagram of some dtypes. Its title and description come first, as readers of the screen want them.
pub fn picture(system: &System, entries: &[Entry], target: Use) -> String {
    let graph = Graph::new(system, entries);
    let names: Vec<_> = graph.nodes.iter().map(|dtype| system.semantics.show(*dtype)).collect();
    let drawing = Drawing::new(&graph, &names);
    let (legend, legend_width) = legend(&graph, drawing.height);
    let (width, height) = (drawing.width.max(legend_width), drawing.height + LEGEND);
    let inset = (width - drawing.width) / 2.0;
    let (attributes, ground) = (target.attributes(), target.ground());
    let (title, words) = (escaped(&title(system)), escaped(&words(&graph, &names)));
    let drawn = draw(&graph, &names, &drawing);
    format!(
        "<svg {attributes} viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\">\n\
         <title>{title}</title>\n<desc>{words}</desc>\n{ground}\
         <g transform=\"translate({inset:.1} 0)\">\n{drawn}</g>\n{legend}</svg>\n"
    )
}

/// Frames below lines below boxes.
fn draw(graph: &Graph, names: &[&str], drawing: &Drawing) -> String {
    let frames = drawing.frames.iter().map(|Rect { x, y, width, height }| {
        format!(
            "<rect class=\"frame\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"10\"/>\n"
        )
    });
    let lines = drawing.lines.iter().map(|line| draw_line(line, names));
    let nodes = graph.nodes.iter().zip(names).zip(&drawing.boxes);
    let nodes = nodes.map(|((dtype, name), rect)| draw_node(*dtype, name, *rect));
    frames.chain(lines).chain(nodes).collect()
}

fn title(system: &System) -> String {
    let what = match system.role() {
        Role::Joins | Role::Narrowed => "Promotion lattice",
        Role::Described => "Order of promotions",
    };
    format!("{what} of {}", system.label)
}

/// The edges in words.
fn words(graph: &Graph, names: &[&str]) -> String {
    let above = |node: usize| {
        let edges = graph.edges.iter().filter(move |(below, _)| *below == node);
        edges.map(|(_, above)| names[*above]).collect::<Vec<_>>()
    };
    let sentences = (0..graph.nodes.len()).filter(|node| !above(*node).is_empty());
    let sentences = sentences.map(|node| format!("{} to {}", names[node], listed(&above(node), "and")));
    format!("Immediate promotions: {}.", sentences.collect::<Vec<_>>().join("; "))
}

/// The class that gives a kind its colour, and its name.
pub fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "bool",
        Kind::Unsigned => "unsigned",
        Kind::Signed => "signed",
        Kind::Float => "float",
        Kind::Complex => "complex",
    }
}

fn draw_node(dtype: DType, name: &str, Rect { x, y, width, height }: Rect) -> String {
    let (kind, weak) = (class(dtype.kind()), if dtype.is_weak() { " weak" } else { "" });
    let (middle, baseline) = (x + width / 2.0, y + height / 2.0 + 5.0);
    let name = escaped(name);
    format!(
        "<g class=\"node {kind}{weak}\" data-node=\"{name}\"><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
         height=\"{height:.1}\" rx=\"7\"/><text x=\"{middle:.1}\" y=\"{baseline:.1}\">{name}</text></g>\n"
    )
}

/// A curve that leaves and arrives upright, with a head.
fn draw_line(line: &Line, names: &[&str]) -> String {
    const HEAD: f64 = 7.0;
    /// How much of its rise a line goes upright at either end.
    const BOW: f64 = 0.35;
    let mut path = String::new();
    let (end_x, end_y) = line.points[line.points.len() - 1];
    let mut points = line.points.clone();
    if let Some(last) = points.last_mut() {
        last.1 += HEAD;
    }
    let _ = write!(path, "M{:.1} {:.1}", points[0].0, points[0].1);
    for pair in points.windows(2) {
        let [(x0, y0), (x1, y1)] = [pair[0], pair[1]];
        if (x0 - x1).abs() < 0.05 {
            let _ = write!(path, " L{x1:.1} {y1:.1}");
        } else {
            let bow = (y1 - y0) * BOW;
            let _ = write!(path, " C{x0:.1} {:.1} {x1:.1} {:.1} {x1:.1} {y1:.1}", y0 + bow, y1 - bow);
        }
    }
    let edges = line.edges.iter().map(|(below, above)| format!("{}>{}", names[*below], names[*above]));
    let edges = escaped(&edges.collect::<Vec<_>>().join(" "));
    let (left, right, foot) = (end_x - 4.0, end_x + 4.0, end_y + HEAD + 1.0);
    format!(
        "<g class=\"edge\" data-edges=\"{edges}\"><path class=\"line\" d=\"{path}\"/>\
         <path class=\"head\" d=\"M{end_x:.1} {end_y:.1} L{left:.1} {foot:.1} L{right:.1} {foot:.1} Z\"/></g>\n"
    )
}

/// What colours, dashes and arrows mean, below the diagram; and how wide that is.
fn legend(graph: &Graph, top: f64) -> (String, f64) {
    let mut legend = "<g class=\"legend\">\n".to_owned();
    let (mut x, y) = (16.0, top + 12.0);
    let kinds = [Kind::Bool, Kind::Unsigned, Kind::Signed, Kind::Float, Kind::Complex];
    let has = |kind: Kind| graph.nodes.iter().any(|dtype| dtype.kind() == kind);
    let mut swatch = |class: &str, name: &str| {
        let text = x + 22.0;
        let _ = writeln!(
            legend,
            "<g class=\"node {class}\"><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"16\" height=\"16\" rx=\"4\"/></g>\
             <text x=\"{text:.1}\" y=\"{:.1}\">{name}</text>",
            y + 13.0
        );
        x += (name.len() as f64).mul_add(6.7, 40.0);
    };
    for kind in kinds.into_iter().filter(|kind| has(*kind)) {
        swatch(class(kind), class(kind));
    }
    if graph.nodes.iter().any(|dtype| dtype.is_weak()) {
        swatch("weak float", "weak");
    }
    let (middle, low) = (x + 8.0, y + 17.0);
    let _ = writeln!(
        legend,
        "<path class=\"line\" d=\"M{middle:.1} {low:.1} L{middle:.1} {:.1}\"/><path class=\"head\" \
         d=\"M{middle:.1} {:.1} l-4 8 l8 0 Z\"/><text x=\"{:.1}\" y=\"{:.1}\">is promoted to</text>",
        y + 6.0,
        y - 1.0,
        x + 22.0,
        y + 13.0
    );
    legend.push_str("</g>\n");
    (legend, x + 130.0)
}

/// Text as XML writes it.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
