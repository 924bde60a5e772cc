//! Remarks: why each convert was inserted, and what it can lose.

use promote_lattice::Semantics;
use promote_lattice::convert::loss;

use super::report::{definition_of, place_of};
use super::view::View;
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::engine::graph::Known;
use crate::engine::plan::{Insert, Make, Plan, Produced, Use};
use crate::engine::solve::Solution;

/// One remark for each convert of `plan`.
pub fn all(view: &View, solution: &Solution, plan: &Plan, semantics: &Semantics) -> Vec<Diagnostic> {
    plan.inserts.iter().filter_map(|insert| remark(view, solution, insert, semantics)).collect()
}

fn remark(view: &View, solution: &Solution, insert: &Insert, semantics: &Semantics) -> Option<Diagnostic> {
    let (Make::Convert(to), Produced::Value(value)) = (insert.make, insert.source) else { return None };
    let weak_or_strong = solution.dtype(value)?;
    let from = semantics.strengthen(weak_or_strong);
    let (place, why) = match insert.serves {
        Use::Operand(op, index) => {
            let dtypes = view.graph.operands(op).iter().filter_map(|operand| solution.dtype(*operand));
            let dtypes: Vec<_> = dtypes.map(|dtype| dtype.name()).collect();
            let name = view.graph.node(op).op;
            let why =
                format!("operand {index} of {name} ({}) is converted from {from} to {to}", dtypes.join(", "));
            (place_of(view.ops[op.0 as usize].0), why)
        }
        Use::Feed(slot, index) => {
            let result = slot.0;
            (place_of(view.returns[index].0), format!("result {result} is converted from {from} to {to}"))
        }
    };
    let path = semantics.lattice().path(weak_or_strong, to).map_or(String::new(), |path| {
        let path: Vec<_> = path.iter().map(|dtype| dtype.name()).collect();
        format!(", along {}", path.join(" → "))
    });
    let loss = loss(from, to).map_or("loses nothing".to_owned(), |loss| loss.to_string());
    let diagnostic =
        Diagnostic::new(Severity::Remark, Code::Converted, place, format!("{why}{path}; {loss}"));
    let shape = view.graph.shapes.get(solution.value(value).shape);
    debug_assert!(matches!(solution.value(value).dtype, Known::DType(_)));
    let definition = definition_of(view.values[value.0 as usize].0);
    Some(diagnostic.with_note(definition, format!("the value converted has shape {shape}")))
}
