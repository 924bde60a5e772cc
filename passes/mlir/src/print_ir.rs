//! Printing the IR before and after passes, as `mlir-opt` does.
//!
//! MLIR prints before and after all passes itself; for named ones, a pass that prints is put before or after them.

use std::io::{self, Write};

use melior::ir::operation::OperationPrintingFlags;
use melior::ir::r#type::TypeId;
use melior::pass::{Pass, PassIrPrintingOptions, PassManager};
use mlir_sys::MlirOperation;

use super::external::{self, External};
use super::pipeline::Moment;
use super::raw;

/// When the IR is printed to standard error.
#[derive(Clone, Debug, Default)]
pub struct PrintIr {
    /// Before each pass.
    pub before_all: bool,
    /// After each pass.
    pub after_all: bool,
    /// After a pass only if it changed the IR.
    pub after_change: bool,
    /// After a pass only if it failed.
    pub after_failure: bool,
    /// The whole module each time.
    pub module_scope: bool,
    /// Before these passes.
    pub before: Vec<String>,
    /// After these passes.
    pub after: Vec<String>,
}

impl PrintIr {
    /// Whether MLIR itself prints before and after passes.
    pub const fn prints_all(&self) -> bool {
        self.before_all || self.after_all || self.after_change || self.after_failure
    }

    /// Lets MLIR print before and after the passes of `manager`. The context must be single-threaded.
    pub(crate) fn enable(&self, manager: &PassManager<'_>) {
        manager.enable_ir_printing(&PassIrPrintingOptions {
            before_all: self.before_all,
            after_all: self.after_all || self.after_change || self.after_failure,
            module_scope: self.module_scope,
            on_change: self.after_change,
            on_failure: self.after_failure,
            flags: OperationPrintingFlags::new(),
            tree_printing_path: Default::default(),
        });
    }
}

#[repr(align(8))]
struct Id(#[expect(dead_code, reason = "only its address matters")] u8);

static ID: Id = Id(0);

/// A pass that prints.
#[derive(Clone)]
struct Printer {
    header: String,
    module_scope: bool,
}

impl External for Printer {
    fn run(&mut self, operation: MlirOperation) -> bool {
        let mut top = operation;
        while let (true, Some(parent)) = (self.module_scope, raw::parent(top)) {
            top = parent;
        }
        // SAFETY: the op is alive. Where the whole module is printed, the context is single-threaded.
        let text =
            raw::printed(|callback, data| unsafe { mlir_sys::mlirOperationPrint(top, callback, data) });
        // There is nowhere to report that standard error cannot be written to.
        let _ = writeln!(io::stderr(), "{}\n{text}\n", self.header);
        true
    }
}

/// A pass that prints the IR, if `options` ask for it at this `moment` of the pass called `name`.
pub(crate) fn printer(options: &PrintIr, name: &str, moment: Moment) -> Option<Pass> {
    let (names, when) = match moment {
        Moment::Before => (&options.before, "Before"),
        Moment::After => (&options.after, "After"),
    };
    if !names.iter().any(|named| named == name) {
        return None;
    }
    let header = format!("// -----// IR Dump {when} {name} //----- //");
    let printer = Printer { header, module_scope: options.module_scope };
    Some(external::create(printer, TypeId::create(&ID), "print-ir", "print the IR", &[]))
}
