//! Promote gives an array compiler its type promotion.
//!
//! A front end writes tensor programs as NumPy users think them: mixed dtypes, Python scalars, no casts. Promote infers
//! every dtype under the rules of the library whose users wrote the program, and makes every implicit conversion an
//! explicit `promote.convert`, in place, in the same MLIR module.
//!
//! ```
//! # #[cfg(feature = "mlir")] {
//! use promote::{Options, Pipeline, RunOptions, Semantics, Session, Source, Verdict};
//!
//! let semantics = Semantics::by_name("jax", false).expect("jax is known");
//! let session = Session::new(&Options::new(semantics)).expect("MLIR takes the dialect");
//! let source = r#"
//!     func.func @f(%x: tensor<4xbf16>, %y: tensor<4xf32>) -> tensor<*x!promote.unknown> {
//!       %0 = "promote.add"(%x, %y) : (tensor<4xbf16>, tensor<4xf32>) -> tensor<*x!promote.unknown>
//!       return %0 : tensor<*x!promote.unknown>
//!     }"#;
//! let mut module = session.parse(Source::Text(source)).expect("the source is valid");
//! assert_eq!(session.run(&mut module, &Pipeline::default(), &RunOptions::default()), Ok(Verdict::Done));
//! let mut text = Vec::new();
//! module.print(&mut text, Default::default()).expect("a vector can be written to");
//! assert!(String::from_utf8_lossy(&text).contains(r#""promote.convert"(%arg0) {promote.implicit}"#));
//! # }
//! ```
//!
//! Or it goes on to code, in this process or ahead of time. [`Executable::compile`] promotes, lowers and compiles a module;
//! its [`Function`]s take and return [`Tensor`]s, from any thread, as often as you like:
//!
//! ```
//! # #[cfg(feature = "mlir")] {
//! use promote::{CompileOptions, Executable, Options, Semantics, Session, Source, Tensor};
//!
//! # fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let semantics = Semantics::by_name("jax", false)?;
//! let session = Session::new(&Options::new(semantics))?;
//! let source = r#"
//!     func.func @f(%x: tensor<?xi32>, %y: tensor<?xf32>) -> tensor<*x!promote.unknown> {
//!       %0 = "promote.add"(%x, %y) : (tensor<?xi32>, tensor<?xf32>) -> tensor<*x!promote.unknown>
//!       return %0 : tensor<*x!promote.unknown>
//!     }"#;
//! let module = session.parse(Source::Text(source)).ok_or("MLIR refuses the source")?;
//! let executable = Executable::compile(&session, module, &CompileOptions::default())?;
//! let f = executable.function("f").ok_or("the function is public")?;
//!
//! let results = f.run(&[Tensor::of(&[1i32, 2, 3], &[3])?, Tensor::of(&[0.5f32, 1.5, 2.5], &[3])?])?;
//! assert_eq!(results[0].elements(), Some(&[1.5f32, 3.5, 5.5][..]));
//! # Ok(())
//! # }
//! # run().expect("it compiles and runs");
//! # }
//! ```
//!
//! [`Function::run_into`] writes to memory of the caller; [`compile()`] gives LLVM IR, objects, shared libraries and C headers;
//! [`symbols`] says by which names others find functions in those; [`npy`] reads and writes NumPy's files.
//!
//! A front end in Rust need not write text: a [`Builder`](builder::Builder) has values with Rust's operators, and loops and
//! branches as closures. Its programs go to MLIR as text, and to pliron. A compiler with a pass manager of its own adds the
//! [`passes`] to it.
//!
//! Without the feature `mlir`, the lattices, the rules and the builder of programs remain, and build without LLVM.

pub use promote_builder as builder;
pub use promote_diagnostics as diagnostic;
pub use promote_host::rules as op_rules;
pub use promote_infer::report::Policies;
pub use promote_lattice::policy::UnknownPolicy;
pub use promote_lattice::{DType, Kind, Lattice, Op, Policy, Semantics, convert, op, semantics};
pub use promote_lower::interface::Interface;
pub use promote_lower::program::Program;
pub use promote_lower::symbols;

/// The code of the book's page on the library.
#[cfg(all(doctest, feature = "mlir"))]
#[doc = include_str!("../docs/rust.md")]
mod rust_page {}

/// The code of the book's page on building programs.
#[cfg(all(doctest, feature = "mlir"))]
#[doc = include_str!("../docs/building.md")]
mod building_page {}

#[cfg(feature = "mlir")]
mod compile;
#[cfg(feature = "mlir")]
pub mod device;
#[cfg(feature = "mlir")]
pub mod dlpack;
pub mod input;
#[cfg(feature = "mlir")]
pub mod npy;
#[cfg(feature = "mlir")]
pub mod passes;
#[cfg(feature = "pliron")]
pub mod pliron;
#[cfg(feature = "mlir")]
mod run;
#[cfg(feature = "mlir")]
mod tensor;

#[cfg(feature = "mlir")]
pub use compile::{
    CompileError, CompileOptions, Compiled, Denormals, OptLevel, RUNTIME_OBJECT, Target, TargetError,
    compile, compile_program, header, lower, lowering, program_text, read_program, to_blocks, translate,
};
#[cfg(feature = "mlir")]
pub use run::{Executable, Function, TensorType, set_threads, threads};
#[cfg(feature = "mlir")]
pub use tensor::{Element, RunError, Status, Tensor, TensorError, TensorMut};

/// The dialect in a context of melior: registration, types, and builders of ops.
#[cfg(feature = "mlir")]
pub mod dialect {
    pub use promote_dialect::mlir::{operation, register, unknown, weak_literal};
}
/// What strong programs are lowered to for other compilers, as `promote-opt --emit` lists it.
#[cfg(feature = "mlir")]
pub mod targets {
    pub use crate::compile::processor;
    pub use promote_mlir::targets::cpu::Machine;
    pub use promote_mlir::targets::{ALL, Emitted, TargetPass};
}
#[cfg(feature = "mlir")]
pub use promote_mlir::melior;
#[cfg(feature = "mlir")]
pub use promote_mlir::{
    pipeline::{self, Pipeline, PipelineError},
    print_ir::PrintIr,
    session::{Module, NotLoaded, Options, PrintOptions, RunOptions, Session, Source, Verdict},
    targets::{Options as TargetOptions, StableHloOptions},
};
