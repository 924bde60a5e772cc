//! The machine itself: small kernels, of which each shows one instruction or one fault.

mod faults;
mod results;
mod support;
