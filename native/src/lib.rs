//! The LLVM back end: LLVM dialect to objects, and to code in memory.
