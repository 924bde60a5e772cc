//! Programs compiled for this machine's processor, and run.

mod elementwise;
mod random;
mod support;
