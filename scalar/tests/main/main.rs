//! Definitions, computed on numbers, against what the libraries gave and what the other crates say.

mod conversions;
mod operations;
mod support;
