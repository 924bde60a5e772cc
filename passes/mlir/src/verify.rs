//! `promote-verify-strong`: fails on anything weak, unknown or still implicit.

use mlir_sys::*;

use super::units::{self, Shared};
use super::view::{View, view};
use promote_diagnostics::Diagnostic;
use promote_infer::verify::verify;

/// Everything in `root` that is not strong, in program order.
pub fn verify_strong(root: MlirOperation, shared: Shared<'_>) -> Vec<Diagnostic> {
    verify_views(shared.map(units::roots(root), |unit| view(unit.0, shared.names)), shared)
}

/// The same of the units of a root, which are viewed.
pub fn verify_views(views: Vec<View>, shared: Shared<'_>) -> Vec<Diagnostic> {
    let found = shared.map(views, |mut view| {
        // The source map is of the handles alone.
        let mut graph = std::mem::take(&mut view.graph);
        verify(&view.unit, &mut graph, &view, shared.semantics)
    });
    found.into_iter().flatten().collect()
}
