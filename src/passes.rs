//! The passes for a pass manager of [melior](crate::melior), beside upstream's.
//!
//! Each pass is a function of a [`Config`]: whose rules the passes follow, what they report, and who listens. They are
//! known to MLIR by the names that `promote-opt` has for them, and run on a module, on functions, or on any op.
//!
//! ```
//! use std::sync::{Arc, Mutex};
//!
//! use promote::melior::dialect::DialectRegistry;
//! use promote::melior::ir::{Module, operation::OperationLike};
//! use promote::melior::pass::{PassManager, transform};
//! use promote::melior::{Context, utility};
//! use promote::diagnostic::Severity;
//! use promote::{Options, Policies, Policy, Semantics, dialect, passes};
//!
//! // A context that knows upstream's dialects, and ours.
//! let registry = DialectRegistry::new();
//! utility::register_all_dialects(&registry);
//! let context = Context::new_with_registry(&registry, true);
//! context.load_all_available_dialects();
//! dialect::register(&context)?;
//!
//! // JAX's rules, a warning for each conversion that loses precision, and a remark for each conversion.
//! let policies = Policies { warn: vec![Policy::PrecisionLoss], ..Policies::default() };
//! let options = Options { policies, remarks: true, ..Options::new(Semantics::by_name("jax", false)?) };
//! let said = Arc::new(Mutex::new(Vec::new()));
//! let listener = Arc::clone(&said);
//! let config = passes::Config::new(options, move |found| listener.lock().expect("no pass panics").push(found));
//!
//! let manager = PassManager::new(&context);
//! manager.add_pass(passes::infer_types(&config));
//! manager.add_pass(passes::insert_converts(&config));
//! manager.add_pass(passes::fold_converts(&config));
//! manager.add_pass(passes::verify_strong(&config));
//! manager.add_pass(passes::to_linalg(&config));
//! manager.add_pass(transform::create_cse());
//!
//! let source = r#"
//!     func.func @f(%x: tensor<4xi32>, %y: tensor<4xbf16>) -> tensor<*x!promote.unknown> {
//!       %0 = "promote.add"(%x, %y) : (tensor<4xi32>, tensor<4xbf16>) -> tensor<*x!promote.unknown>
//!       %1 = "promote.add"(%x, %y) : (tensor<4xi32>, tensor<4xbf16>) -> tensor<*x!promote.unknown>
//!       %2 = "promote.multiply"(%0, %1) : (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) -> tensor<*x!promote.unknown>
//!       return %2 : tensor<*x!promote.unknown>
//!     }"#;
//! let mut module = Module::parse(&context, source).ok_or("MLIR refuses the source")?;
//! manager.run(&mut module)?;
//!
//! let text = module.as_operation().to_string();
//! assert_eq!(text.matches("arith.sitofp").count(), 1, "i32 is converted once:\n{text}");
//! assert_eq!(text.matches("arith.addf").count(), 1, "the second sum is the first:\n{text}");
//! let said = said.lock().expect("no pass panics");
//! let lost = said.iter().find(|found| found.severity == Severity::Warning).ok_or("i32 to bf16 loses precision")?;
//! assert!(lost.to_string().starts_with("-:3:12: warning["), "{lost}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Pipeline::add_to`](crate::Pipeline::add_to) adds the four passes that promote, or a pipeline in MLIR's textual form.
//! The passes of a pipeline hand on to the next what they have seen of the program, which saves time in large ones:
//! `Pipeline::default().add_to(manager.as_operation_pass_manager(), &config)`.
//!
//! ## Laws
//! - All passes of one program have the same [`Config::semantics`], [`Config::policies`] and [`Config::op_rules`].
//! - A pass fails, and with it the pass manager, exactly if it has told the listener of an error.
//! - With op rules for dialects that MLIR verifies, ops are not valid before [`apply_op_rules`] has run: build them
//!   unverified, and let the pass manager verify afterwards only (`manager.enable_verifier(false)`).

use promote_mlir::melior::pass::Pass;
use promote_mlir::pass::Promotion;

pub use promote_mlir::pass::{Config, Kind, Sink, create};

/// `promote-infer-types`: infers the dtype and shape of every value, and keeps weak types.
///
/// It refuses operands that the semantics does not promote, with a located error for each.
pub fn infer_types(config: &Config) -> Pass {
    create(Kind::Promote(Promotion::InferTypes), config)
}

/// `promote-insert-converts`: makes implicit promotions explicit with `promote.convert`, and implicit broadcasts with
/// `promote.broadcast_to`; weak types become strong. Types that are not inferred yet are inferred first.
///
/// Here [`Config::policies`] are followed and [`Config::remarks`] made.
pub fn insert_converts(config: &Config) -> Pass {
    create(Kind::Promote(Promotion::InsertConverts), config)
}

/// `promote-fold-converts`: removes converts that change no bit of any result.
pub fn fold_converts(config: &Config) -> Pass {
    create(Kind::Promote(Promotion::FoldConverts), config)
}

/// `promote-verify-strong`: refuses weak and unknown types, and promotions that are still implicit. It changes nothing.
pub fn verify_strong(config: &Config) -> Pass {
    create(Kind::Promote(Promotion::VerifyStrong), config)
}

/// `promote-apply-op-rules`: writes the converts and broadcasts of other dialects for their ops, as
/// [`Config::op_rules`] say. It runs after the four passes above.
pub fn apply_op_rules(config: &Config) -> Pass {
    create(Kind::Promote(Promotion::ApplyOpRules), config)
}

/// `promote-to-linalg`: lowers a strong program to linalg on tensors, which upstream's passes take further.
pub fn to_linalg(config: &Config) -> Pass {
    create(Kind::TO_LINALG, config)
}

/// `promote-to-stablehlo`: lowers a strong program to StableHLO. Its control flow must be structured (upstream's
/// `lift-cf-to-scf`); [`Config::targets`] has the options.
pub fn to_stablehlo(config: &Config) -> Pass {
    create(Kind::TO_STABLEHLO, config)
}

/// `promote-to-llvm`: lowers a strong module to the LLVM dialect, for the processor of [`Config::targets`]. Its control
/// flow must be blocks, as [`to_blocks`](crate::to_blocks) makes them; [`lowering`](crate::lowering) is both.
pub fn to_llvm(config: &Config) -> Pass {
    create(Kind::TO_LLVM, config)
}
