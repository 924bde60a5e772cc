//! Finding the op rules that `--op-rules` names: those that come with Promote, or a file's.

use std::sync::Arc;

use promote::diagnostic::{Code, Diagnostic};
use promote::op_rules::{OpRules, Rules};
use promote_lattice::document::is_file;

use crate::semantics::{File, Missing, read_file};

/// The rules of these names and files, in that order.
pub fn load(names: &[String]) -> Result<Arc<Rules>, Missing> {
    let files = names.iter().map(|name| if is_file(name) { read(name) } else { by_name(name) });
    Ok(Arc::new(Rules::new(files.collect::<Result<_, _>>()?)))
}

fn read(path: &str) -> Result<OpRules, Missing> {
    read_file(path, &File { code: Code::OpRules, flag: "--op-rules", what: "op rules" }, OpRules::from_toml)
}

fn by_name(name: &str) -> Result<OpRules, Missing> {
    OpRules::shipped(name).map_err(|error| {
        let error = Diagnostic::error(Code::OpRules, None, error.to_string());
        Missing::Unknown(error.with_remedy("the path of a file ends in .toml"))
    })
}

/// The rules that come with Promote, a line each.
pub fn list() -> String {
    let files = OpRules::shipped_names().filter_map(|name| OpRules::shipped(name).ok());
    let line = |file: OpRules| format!("{:<12}{}\n", file.name, file.description.unwrap_or_default());
    files.map(line).collect()
}

/// The help of `--op-rules`.
pub fn help() -> String {
    let names: Vec<_> = OpRules::shipped_names().collect();
    format!(
        "Ops of other dialects that follow promotion rules: a shipped rule file, or a TOML file; may be repeated\n\nNames: {}. \
         A value that ends in .toml or contains a / is the path of a file; docs/op_rules.md describes the format. Operands \
         are converted and broadcast by ops of the dialect, as the file says. --list-op-rules describes the shipped ones.",
        names.join(", ")
    )
}
