//! Promote in [pliron](https://docs.rs/pliron), without MLIR: the dialect, the passes, and the way from there to code.
//!
//! A front end [builds](dialect) a program in a [`Context`] or [reads](text) one, and
//! [promotes](pass::promote) it. [`import`] copies a module of MLIR.
//!
//! ```
//! # #[cfg(feature = "pliron")] {
//! use pliron::context::Context;
//! use promote::Semantics;
//! use promote::pliron::pass::{Config, promote};
//! use promote::pliron::{self as host, text};
//!
//! let program = r#"builtin.module @m { ^body():
//!   builtin.func @f: builtin.function <(promote.tensor <4xbf16>, promote.tensor <4xf32>) -> (promote.tensor <*x!promote.unknown>)> {
//!     ^entry(x: promote.tensor <4xbf16>, y: promote.tensor <4xf32>):
//!       z = promote.add (x, y) [] []: <(promote.tensor <4xbf16>, promote.tensor <4xf32>) -> (promote.tensor <*x!promote.unknown>)>;
//!       promote_func.return (z) [] []: <(promote.tensor <*x!promote.unknown>) -> ()>
//!   } }"#;
//! let context = &mut Context::new();
//! let module = text::parse(context, program, "m.plir").expect("it is a program");
//! promote(context, module, &Config::new(Semantics::by_name("jax", false).expect("jax is known"))).expect("it is right");
//! assert!(text::print(context, module).contains("promote.convert"));
//! # }
//! ```

use ::pliron::context::{Context, Ptr};
use ::pliron::operation::Operation;
use promote_diagnostics::Diagnostic;
use promote_lattice::Semantics;
use promote_lower::program::Program;
use promote_lower::target::Target;

pub use promote_pliron::*;

/// The outline of a program: text that is the same for the same program in any host's IR.
pub fn outline(context: &mut Context, root: Ptr<Operation>) -> String {
    promote_host::outline::outline(&promote_pliron::host::Host::new(context), root)
}

/// The [program](crate::Program) that a strong module is for a target. Its control flow must be blocks.
///
/// # Errors
/// What no code is made for.
pub fn program(
    context: &mut Context,
    root: Ptr<Operation>,
    semantics: &Semantics,
    target: &dyn Target,
) -> Result<Program, Vec<Diagnostic>> {
    let host = &mut promote_pliron::host::Host::new(context);
    promote_host::strong::program::program(host, root, semantics, target).map(|source| source.program)
}

/// Copies a module of MLIR, before any pass or after it.
///
/// # Errors
/// What pliron has no type, op or name for. All of it is reported.
#[cfg(feature = "mlir")]
pub fn of_mlir(module: &crate::Module<'_>, context: &mut Context) -> Result<Ptr<Operation>, Vec<Diagnostic>> {
    use ::pliron::op::Op;
    use promote_host::strong::{Strong, Visit};

    struct Copy<'a>(&'a mut Context);

    impl Visit for Copy<'_> {
        type Output = Result<Ptr<Operation>, Vec<Diagnostic>>;

        fn visit<I: Strong>(self, ir: &I, root: I::Op) -> Self::Output {
            promote_pliron::import::import(ir, root, self.0).map(|module| module.get_operation())
        }
    }

    module.visit(Copy(context))?
}
