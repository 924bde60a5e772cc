//! The machine itself: small kernels, of which each shows one instruction, one fault, or what happens at the same time.

mod blocks;
mod faults;
mod results;
mod support;
