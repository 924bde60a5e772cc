//! libpromote as programs in C see it: the programs of `tests/c` and of the page, compiled, linked and run.

mod devices;
mod header;
mod installed;
#[allow(dead_code, reason = "some of it is for the tests of other packages")]
#[path = "../../../tests/support/needed.rs"]
mod needed;
mod programs;
mod support;
