//! The graph of a program in Graphviz's language: ops, the types of their results, and which operands are converted.

use std::fmt::{self, Write};

use promote_lattice::Semantics;

use super::graph::{Graph, Known, Source, ValueId};
use super::solve::{Solution, typing};

/// Writes the programs of a module as one `digraph`, a cluster each.
pub fn write(out: &mut String, programs: &[(String, Graph, Solution)], semantics: &Semantics) {
    out.push_str(
        "digraph promote {\n  node [shape=box, fontname=\"monospace\"];\n  edge [fontname=\"monospace\"];\n",
    );
    for (index, (name, graph, solution)) in programs.iter().enumerate() {
        let mut picture = Picture { out, index, graph, solution, semantics };
        // Writing to a string does not fail.
        let _ = picture.write(name);
    }
    out.push_str("}\n");
}

struct Picture<'a> {
    out: &'a mut String,
    index: usize,
    graph: &'a Graph,
    solution: &'a Solution,
    semantics: &'a Semantics,
}

impl Picture<'_> {
    fn write(&mut self, name: &str) -> fmt::Result {
        let escaped = name.replace('\\', "\\\\").replace('"', "\\\"");
        writeln!(self.out, "  subgraph cluster_{} {{\n    label=\"{escaped}\";", self.index)?;
        for value in self.graph.value_ids() {
            let (what, style) = match self.graph.value(value).source {
                Source::Op(op) => (self.graph.node(op).op.name(), ""),
                Source::Elsewhere => ("value", ", style=rounded"),
            };
            let r#type = self.type_of(value);
            writeln!(self.out, "    v{}_{} [label=\"{what}\\n{type}\"{style}];", self.index, value.0)?;
        }
        for op in self.graph.ops() {
            let typing =
                typing(self.graph, self.semantics, op, |value| self.solution.value(value)).ok().flatten();
            let result = self.graph.node(op).result;
            for (i, operand) in self.graph.operands(op).iter().enumerate() {
                let target = typing.map(|typing| self.semantics.strengthen(typing.compute(i)));
                let own = self.solution.dtype(*operand).map(|dtype| self.semantics.strengthen(dtype));
                let converted = match target {
                    Some(target) if own != Some(target) => format!(" [color=red, label=\"{target}\"]"),
                    _ => String::new(),
                };
                writeln!(self.out, "    v{0}_{1} -> v{0}_{2}{converted};", self.index, operand.0, result.0)?;
            }
        }
        writeln!(self.out, "  }}")
    }

    fn type_of(&self, value: ValueId) -> String {
        let found = self.solution.value(value);
        match found.dtype {
            Known::DType(dtype) => format!("{dtype} {}", self.graph.shapes.get(found.shape)),
            Known::Unknown => format!("? {}", self.graph.shapes.get(found.shape)),
            Known::Opaque => "-".to_owned(),
            Known::Refused => "refused".to_owned(),
        }
    }
}
