//! `svg`: the Hasse diagram as a picture. Every colour is chosen in `diagram.css`, for light and for dark pages.

use std::fmt::Write;

use promote_lattice::{DType, Kind};

use super::Failure;
use super::layout::{Drawing, Graph, Line, Rect};
use super::system::{Entry, Role, Selection, System};

/// The colours and fonts.
pub const STYLE: &str = include_str!("diagram.css");

/// The height of the legend.
const LEGEND: f64 = 44.0;

/// The diagram of the selected dtypes as a file of its own.
pub fn svg(system: &System, selection: &Selection) -> Result<String, Failure> {
    let picture = picture(system, &system.select(selection)?);
    let style = format!("<style>\n{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n");
    let at = picture.find("<title>").unwrap_or(0);
    let (open, rest) = picture.split_at(at);
    let file = open.replacen("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 1);
    // Title and description come first, as readers of the screen want them.
    let (words, drawing) = rest.split_at(rest.find("<g").unwrap_or(0));
    Ok(format!("{file}{words}{style}{drawing}"))
}

/// The diagram as part of a page, without style.
pub fn picture(system: &System, entries: &[Entry]) -> String {
    let graph = Graph::new(system, entries);
    let names: Vec<_> = graph.nodes.iter().map(|dtype| system.semantics.show(*dtype)).collect();
    let drawing = Drawing::new(&graph, &names);
    let (legend, legend_width) = legend(&graph, drawing.height);
    let (width, height) = (drawing.width.max(legend_width), drawing.height + LEGEND);
    let inset = (width - drawing.width) / 2.0;
    let mut svg = format!(
        "<svg class=\"diagram\" role=\"img\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\">\n"
    );
    let _ = writeln!(
        svg,
        "<title>{}</title>\n<desc>{}</desc>",
        escaped(&title(system)),
        escaped(&words(&graph, &names))
    );
    let _ = writeln!(svg, "<g transform=\"translate({inset:.1} 0)\">");
    for Rect { x, y, width, height } in &drawing.frames {
        let _ = writeln!(
            svg,
            "<rect class=\"frame\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"10\"/>"
        );
    }
    for line in &drawing.lines {
        svg.push_str(&draw_line(line, &names));
    }
    for ((dtype, name), rect) in graph.nodes.iter().zip(&names).zip(&drawing.boxes) {
        svg.push_str(&draw_node(*dtype, name, *rect));
    }
    svg.push_str("</g>\n");
    svg.push_str(&legend);
    svg.push_str("</svg>\n");
    svg
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
    let sentences = sentences.map(|node| format!("{} to {}", names[node], above(node).join(", ")));
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
