//! Random and mutated programs through all of Promote.
//!
//! [`Case::of_seed`] and [`Case::of_bytes`] make a program with its arguments, [`Bench::check`] takes it through the passes,
//! every kind of output and a run, and says what is wrong. [`supervisor`] does so in child processes, which crash, hang
//! and grow where that costs nothing; `promote-fuzz --help` is the tool, and the target `structured` of cargo-fuzz makes its
//! bytes by libFuzzer.
//!
//! ## What is held of every program
//! - It is refused with errors that have places, or accepted; no diagnostic is internal (P0099), nothing panics, no
//!   signal ends the process.
//! - What the passes return they leave alone the second time, as text and as bytecode.
//! - It means the same to the reference interpreter before and after the passes.
//! - What is compiled has dtypes, shapes and elements as interpreted, see [`Precision`](promote_reference::random::Precision),
//!   and fails where the interpreter fails.
//! - It takes at most [`limits::SECONDS`] of processor time and [`limits::BYTES`] of memory.

pub mod case;
pub mod check;
pub mod compare;
pub mod limits;
pub mod supervisor;
pub mod worker;

pub use case::Case;
pub use check::{Bench, Ending};
