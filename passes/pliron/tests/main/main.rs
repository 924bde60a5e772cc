//! Tests of the dialect in pliron and of the host.

mod built;
mod dialect;
mod foreign;
mod fuzz;
mod host;
mod passes;
mod programs;
mod scf_to_cf;
mod strong;
mod text;
mod verify;
