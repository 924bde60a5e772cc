//! `promote-verify-strong`: fails on anything weak, unknown or still implicit.

use promote_diagnostics::Diagnostic;
use promote_infer::plan::Plan;
use promote_infer::solve::Solution;
use promote_infer::verify::{verify, verify_planned};
use promote_lattice::Semantics;

use crate::ir::Ir;
use crate::units;
use crate::view::{View, view_about};

/// A unit with its solution, in which nothing is refused, and with what insertion would do.
pub struct Planned<I: Ir> {
    /// The unit.
    pub view: View<I>,
    /// Its solution.
    pub solution: Solution,
    /// What insertion would do.
    pub plan: Plan,
}

/// Everything in `root` that is not strong, in program order. What is known of its units may be handed over in their order.
pub fn verify_strong<I: Ir>(
    ir: &mut I,
    root: I::Op,
    known: Vec<Option<Planned<I>>>,
    semantics: &Semantics,
) -> Vec<Diagnostic> {
    let known = known.into_iter().chain(std::iter::repeat_with(|| None));
    let units: Vec<_> = units::sized(ir, root).into_iter().zip(known).collect();
    let found = ir.map(units, |ir, ((unit, ops), known)| match known {
        Some(Planned { view, solution, plan }) => {
            verify_planned(&view.unit, (&view.graph, &solution, &plan), &view.seen(ir))
        }
        None => {
            let mut view = view_about(unit, ir, ops);
            // The source map is of the handles alone.
            let mut graph = std::mem::take(&mut view.graph);
            verify(&view.unit, &mut graph, &view.seen(ir), semantics)
        }
    });
    found.into_iter().flatten().collect()
}
