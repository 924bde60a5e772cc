//! Definitions, computed on numbers, against what the libraries returned and what the other crates say.

mod complex;
mod conversions;
mod cost;
mod exact;
mod libraries;
mod operations;
mod reductions;
mod support;
