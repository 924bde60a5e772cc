//! The outline of a program: the same text for the same program in any IR.
//!
//! It shows every op with its operands, results, types, attributes that the passes know, and place, so that what two hosts make of
//! a program can be compared. Symbols are those of the IR.

use std::fmt::Write;

use promote_diagnostics::Location;
use promote_dialect::attrs::Value as Attribute;
use rustc_hash::FxHashMap;

use crate::ir::{Element, Ir, Kind, Mark, Tensor};

/// The outline of an op and what is in it.
pub fn outline<I: Ir>(ir: &I, root: I::Op) -> String {
    let mut outliner =
        Outliner { ir, values: FxHashMap::default(), blocks: FxHashMap::default(), out: String::new() };
    outliner.number(root);
    outliner.op(root, 0);
    outliner.out
}

struct Outliner<'a, I: Ir> {
    ir: &'a I,
    values: FxHashMap<I::Value, usize>,
    blocks: FxHashMap<I::Block, usize>,
    out: String,
}

impl<I: Ir> Outliner<'_, I> {
    /// Numbers values and blocks in the order in which the program defines them.
    fn number(&mut self, op: I::Op) {
        let ir = self.ir;
        for result in ir.results(op) {
            self.values.insert(result, self.values.len());
        }
        for block in ir.regions(op).flat_map(|region| ir.blocks(region)) {
            self.blocks.insert(block, self.blocks.len());
            for argument in ir.arguments(block) {
                self.values.insert(argument, self.values.len());
            }
            ir.operations(block).for_each(|op| self.number(op));
        }
    }

    fn line(&mut self, depth: usize, text: &str, place: Option<Location>) {
        let place = place.map_or_else(String::new, |place| format!(" @ {place}"));
        // Writing to a string does not fail.
        let _ = writeln!(self.out, "{:1$}{text}{place}", "", 2 * depth);
    }

    fn op(&mut self, op: I::Op, depth: usize) {
        let ir = self.ir;
        let mut text = ir.name_text(ir.name(op));
        if let Some(symbol) = ir.symbol(op).filter(|_| ir.kind(op) == Kind::Function) {
            let _ = write!(text, " @{symbol} {:?} {}", ir.visibility(op), ir.signature_text(op));
        }
        if let Some(callee) = ir.callee(op).filter(|_| ir.kind(op) == Kind::Call) {
            let _ = write!(text, " @{callee}");
        }
        let _ = write!(text, "({})", self.list(ir.operands(op)));
        for successor in ir.successors(op) {
            let _ = write!(text, " ^{}", self.blocks[&successor]);
        }
        if let Kind::Promote(_) = ir.kind(op) {
            text.push_str(&self.attributes(op));
        }
        if ir.results(op).len() > 0 {
            let _ = write!(text, " -> {}", self.list(ir.results(op)));
        }
        self.line(depth, &text, ir.location(op));
        for block in ir.regions(op).flat_map(|region| ir.blocks(region)) {
            let header = format!("^{}({})", self.blocks[&block], self.list(ir.arguments(block)));
            self.line(depth, &header, None);
            ir.operations(block).for_each(|op| self.op(op, depth + 1));
        }
    }

    /// Values with their types.
    fn list(&self, values: impl Iterator<Item = I::Value>) -> String {
        let value = |value: I::Value| {
            format!("%{}: {}", self.values[&value], self.ir.type_text(self.ir.value_type(value)))
        };
        values.map(value).collect::<Vec<_>>().join(", ")
    }

    fn attributes(&self, op: I::Op) -> String {
        let mut named: Vec<String> = Vec::new();
        for (name, value) in self.ir.attributes(op) {
            match value {
                Attribute::Elements => named.push(format!("{name} = {}", self.elements(op))),
                // Those of other dialects are nothing to the passes; the operands say which an op has.
                _ if name.contains('.') && !name.starts_with("promote.") || name == "operandSegmentSizes" => {
                }
                Attribute::Other
                    if [Mark::Implicit, Mark::Checked].iter().any(|mark| mark.name() == name) =>
                {
                    named.push(name);
                }
                Attribute::Int(_)
                | Attribute::Flag(_)
                | Attribute::Float(_)
                | Attribute::Ints(_)
                | Attribute::Other => named.push(format!("{name} = {value:?}")),
            }
        }
        named.sort();
        if named.is_empty() { String::new() } else { format!(" {{{}}}", named.join(", ")) }
    }

    fn elements(&self, op: I::Op) -> String {
        let Some(written) = self.ir.written_type(op) else { return "?".to_owned() };
        let elements = match self.ir.tensor(written) {
            Some(Tensor { element: Element::DType(dtype), .. }) => self.ir.elements(op, dtype),
            Some(Tensor { element: Element::Unknown | Element::Other, .. }) | None => None,
        };
        let elements = elements.map(|mut elements| {
            if elements.iter().all(|element| *element == elements[0]) {
                elements.truncate(1);
            }
            elements
        });
        format!("{elements:x?}: {}", self.ir.type_text(written))
    }
}
