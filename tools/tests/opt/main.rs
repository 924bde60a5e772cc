//! `promote-opt` from outside: what it reads, writes, says and exits with. One module a concern.

mod support;

mod bytecode;
mod corpus;
mod cycles;
mod diagnostics;
mod foreign_ops;
mod help;
mod inputs;
mod interruptions;
mod mutations;
mod op_rules;
mod outputs;
mod pipelines;
mod printing;
mod semantics;
mod splitting;
mod usage;
