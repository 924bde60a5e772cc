//! `promote-lattice` from outside: what it prints, draws, says and exits with. One module a concern.

mod support;

mod checks;
mod diagrams;
mod diffs;
mod documents;
mod files;
mod help;
mod joins;
mod outputs;
mod page;
mod tables;
mod usage;
