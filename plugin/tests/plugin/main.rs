//! The plugin in stock `mlir-opt-22`: the same results and errors as `promote-opt`.

mod hosts;
#[allow(dead_code, reason = "some of it is for the tests of other packages")]
#[path = "../../../tests/support/needed.rs"]
mod needed;
mod options;
mod programs;
mod support;
