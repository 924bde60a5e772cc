//! Programs of steps.

mod built;
mod faults;
mod flow;
mod kernels;
mod make;
