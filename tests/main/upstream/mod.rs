//! Upstream's passes beside ours: what they make of a program that is accepted goes on everywhere, before our passes,
//! after them, and on both sides.
//!
//! `PROMOTE_UPSTREAM=all` takes every recorded and more random programs.

mod accepted;
mod executed;

mod lowered;
mod programs;
