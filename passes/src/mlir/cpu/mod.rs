//! `promote-to-llvm`: strong programs as functions of the LLVM dialect, for processors.

mod emit;
mod kernel;
mod llvm;
mod target;
