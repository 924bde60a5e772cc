//! `promote-verify-strong`: fails on anything weak, unknown or still implicit.

use promote_diagnostics::Diagnostic;
use promote_infer::verify::verify;
use promote_lattice::Semantics;

use crate::ir::Ir;
use crate::units;
use crate::view::{View, view};

/// Everything in `root` that is not strong, in program order.
pub fn verify_strong<I: Ir>(ir: &mut I, root: I::Op, semantics: &Semantics) -> Vec<Diagnostic> {
    let roots = units::roots(ir, root);
    let views = ir.map(roots, |ir, unit| view(unit, ir));
    verify_views(ir, views, semantics)
}

/// The same of the units of a root, which are viewed.
pub fn verify_views<I: Ir>(ir: &mut I, views: Vec<View<I>>, semantics: &Semantics) -> Vec<Diagnostic> {
    let found = ir.map(views, |ir, mut view| {
        // The source map is of the handles alone.
        let mut graph = std::mem::take(&mut view.graph);
        verify(&view.unit, &mut graph, &view.seen(ir), semantics)
    });
    found.into_iter().flatten().collect()
}
