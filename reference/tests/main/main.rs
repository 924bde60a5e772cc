//! The interpreter against known answers: one binary, because each one links MLIR.

mod arithmetic;
mod arrangement;
mod control_flow;
mod conversions;
mod generator;
mod steps;
mod strong;
mod support;
mod weak_values;
