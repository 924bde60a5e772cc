//! Lattices of the user's own: what the examples promise, the diagnostics of invalid files, and that no file, however
//! damaged, does harm.

mod a_file_may;
mod examples_keep_their_promises;
mod no_file_does_harm;
mod what_is_wrong_is_reported;

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::slice;

use insta::assert_snapshot;
use promote_lattice::DType::{self, *};
use promote_lattice::lattice::JoinTable;
use promote_lattice::semantics::{FileErrors, Operand};
use promote_lattice::{Op, Semantics};

/// The examples by name, with their text.
fn examples() -> Vec<(String, String)> {
    let directory = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/lattices"));
    let entries = fs::read_dir(directory).expect("the examples are there");
    let paths = entries.map(|entry| entry.expect("the directory can be listed").path());
    let mut examples: Vec<_> = paths
        .map(|path| {
            let name = path.file_stem().expect("it is a file").to_string_lossy().into_owned();
            (name, fs::read_to_string(&path).expect("it is text"))
        })
        .collect();
    examples.sort();
    examples
}

fn load(text: &str) -> Semantics {
    Semantics::from_toml(text, "mine").unwrap_or_else(|errors| panic!("{}", show(&errors)))
}

fn example(name: &str) -> Semantics {
    let found = examples().into_iter().find(|(example, _)| example == name);
    let (name, text) = found.unwrap_or_else(|| panic!("there is no example {name}"));
    Semantics::from_toml(&text, &name).unwrap_or_else(|errors| panic!("{name}: {}", show(&errors)))
}

/// The errors as a tool may show them.
fn show(errors: &FileErrors) -> String {
    let mut text = String::new();
    for error in &errors.errors {
        writeln!(text, "{error}").expect("a string takes anything");
        for note in &error.notes {
            let place = note.place.as_ref().map_or(String::new(), |place| format!("{place}: "));
            writeln!(text, "    {place}{}", note.message).expect("a string takes anything");
        }
        if let Some(remedy) = &error.remedy {
            writeln!(text, "    help: {remedy}").expect("a string takes anything");
        }
    }
    text
}

/// Invalid files, each followed by its diagnostics.
fn refused(files: &[&str]) -> String {
    let mut text = String::new();
    for file in files {
        let file = file.trim_start_matches('\n');
        let errors =
            Semantics::from_toml(file, "mine").err().unwrap_or_else(|| panic!("this is a lattice:\n{file}"));
        write!(text, "{}\n{}\n", file.trim_end(), show(&errors)).expect("a string takes anything");
    }
    text
}

/// What an op makes of arrays: the dtype they compute in and the result's.
fn infer(semantics: &Semantics, op: Op, dtypes: &[DType]) -> Result<(DType, DType), String> {
    let operands: Vec<_> = dtypes.iter().copied().map(Operand::value).collect();
    let typing = semantics.infer(op, &operands).map_err(|refusal| refusal.to_string())?;
    let typing = typing.expect("the op's type does not say its dtype");
    Ok((typing.compute(0), typing.result))
}
