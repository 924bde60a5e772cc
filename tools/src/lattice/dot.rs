//! `dot`: the Hasse diagram in Graphviz's language.

use promote_lattice::Kind;

use super::Failure;
use super::layout::Graph;
use super::system::{Selection, System};

/// The diagram of the selected dtypes.
pub fn dot(system: &System, selection: &Selection) -> Result<String, Failure> {
    let graph = Graph::new(system, &system.select(selection)?);
    let mut lines = vec![
        format!("digraph \"{}\" {{", system.label.replace('\\', "\\\\").replace('"', "\\\"")),
        "  rankdir=BT;".to_owned(),
        "  node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\"];".to_owned(),
    ];
    for dtype in &graph.nodes {
        let (fill, weak) = (fill(dtype.kind()), if dtype.is_weak() { ",dashed" } else { "" });
        let name = system.semantics.show(*dtype);
        lines.push(format!("  \"{name}\" [fillcolor=\"{fill}\", style=\"rounded,filled{weak}\"];"));
    }
    for (from, to) in &graph.edges {
        let [from, to] = [from, to].map(|node| system.semantics.show(graph.nodes[*node]));
        lines.push(format!("  \"{from}\" -> \"{to}\";"));
    }
    lines.push("}".to_owned());
    Ok(lines.iter().map(|line| format!("{line}\n")).collect())
}

/// The colour of a kind, as in the drawn diagram on a light page.
fn fill(kind: Kind) -> &'static str {
    match kind {
        Kind::Bool => "#e4e4e4",
        Kind::Unsigned => "#cfe4f7",
        Kind::Signed => "#cdeedd",
        Kind::Float => "#fde6b8",
        Kind::Complex => "#f3d3e6",
    }
}
