//! The engine: a graph view in, a solution out. It knows no IR.
//!
//! A host views its program as a [`Graph`](graph::Graph), calls [`solve`](solve::solve) for the types and
//! [`plan`](plan::plan) for the conversions, and applies both to its program.

pub mod dominance;
pub mod dot;
pub mod extents;
pub mod fold;
pub mod foreign;
pub mod forest;
pub mod graph;
pub mod literals;
pub mod plan;
pub mod program;
pub mod report;
pub mod scalars;
pub mod shape;
pub mod solve;
pub mod source;
pub mod specialise;
pub mod strict;
pub mod unit;
pub mod verify;
