//! Finding the semantics that `--semantics` names: one that comes with Promote, or a lattice in a file.
//!
//! ```text
//! match semantics::load("lattices/mine.toml", x64) {
//!     Ok(semantics) => …,
//!     Err(Missing::Unknown(error)) => …,                      // a name that is none: wrong usage
//!     Err(Missing::Refused { input, diagnostics }) => …,      // P0025: what is wrong with the file, and where
//! }
//! ```

use std::fs;
use std::path::Path;

use promote::diagnostic::{Code, Diagnostic, Location};
use promote_lattice::Semantics;
use promote_lattice::document::{is_file, stem};
use promote_lattice::semantics::{FileError, FileErrors, Place};

use crate::input::{Content, Input, locate};

/// Why there is no such semantics.
#[derive(Debug)]
pub enum Missing {
    /// The name is none.
    Unknown(Diagnostic),
    /// The file cannot be read, or describes no lattice.
    Refused {
        /// The file, for source lines; empty if it cannot be read.
        input: Input,
        /// What is wrong with it.
        diagnostics: Vec<Diagnostic>,
    },
}

/// The semantics of a name or in a file. 64-bit dtypes are a question to JAX's: a file says itself what it has.
pub fn load(name: &str, x64: bool) -> Result<Semantics, Missing> {
    if is_file(name) { read(name) } else { by_name(name, x64) }
}

/// The largest file that is read for a lattice, in bytes: a hundred times what all dtypes and ops need.
const LARGEST: u64 = 1 << 20;

/// What after a name asks for 64-bit dtypes, as `promote-lattice` writes it.
const X64: &str = ":x64";

fn by_name(name: &str, x64: bool) -> Result<Semantics, Missing> {
    let (plain, x64) = match name.strip_suffix(X64) {
        Some(plain) => (plain, true),
        None => (name, x64),
    };
    Semantics::by_name(plain, x64).map_err(|error| {
        let diagnostic = Diagnostic::error(Code::SemanticsFile, None, error.to_string());
        let file = format!("{name}.toml");
        Missing::Unknown(match name {
            "" => diagnostic,
            _ if Path::new(&file).is_file() => diagnostic.with_remedy(format!("write {file} for the file")),
            _ => diagnostic.with_remedy("the name of a lattice in a file ends in .toml"),
        })
    })
}

fn read(path: &str) -> Result<Semantics, Missing> {
    read_file(
        path,
        &File { code: Code::SemanticsFile, flag: "--semantics", what: "a lattice" },
        Semantics::from_toml,
    )
}

/// What a file is to be.
pub struct File {
    /// The code of what is wrong with one.
    pub code: Code,
    /// The flag that asks for it.
    pub flag: &'static str,
    /// What it describes.
    pub what: &'static str,
}

/// Reads a TOML file that a flag names.
pub fn read_file<T>(
    path: &str,
    of: &File,
    parse: impl Fn(&str, &str) -> Result<T, FileErrors>,
) -> Result<T, Missing> {
    let code = of.code;
    let unread = |error: Diagnostic| {
        let error = Diagnostic { code, ..error };
        let diagnostics = vec![error.with_remedy(format!("give {} a TOML file that can be read", of.flag))];
        Missing::Refused { input: Input { name: path.to_owned(), bytes: Vec::new() }, diagnostics }
    };
    if let Ok(about) = fs::metadata(path)
        && (!about.is_file() && !about.is_dir() || about.len() > LARGEST)
    {
        let what = if about.is_file() { format!("too large for {}", of.what) } else { "no file".to_owned() };
        let message = format!("cannot read `{path}`: it is {what}");
        return Err(unread(Diagnostic::error(code, None, message)));
    }
    let input = Input::read(Path::new(path)).map_err(unread)?;
    let diagnostics = match input.content() {
        Ok(Content::Text(text)) => match parse(text, stem(path)) {
            Ok(found) => return Ok(found),
            Err(errors) => {
                let more = (errors.more > 0).then(|| {
                    let message = format!("{} more errors in {path} are not shown", errors.more);
                    Diagnostic::error(code, None, message)
                });
                errors.errors.into_iter().map(|error| diagnostic(&input, code, error)).chain(more).collect()
            }
        },
        Ok(Content::Bytecode(_)) => {
            let location = locate(path, &input.bytes, 0);
            vec![Diagnostic::error(code, Some(location), "this is MLIR bytecode, not TOML")]
        }
        Err(error) => {
            let remedy = "write the file as UTF-8 text, without a byte order mark".to_owned();
            vec![Diagnostic { code, remedy: Some(remedy), ..error }]
        }
    };
    Err(Missing::Refused { input, diagnostics })
}

fn diagnostic(input: &Input, code: Code, error: FileError) -> Diagnostic {
    let at = |place: &Place| -> Location { locate(&input.name, &input.bytes, place.span.start) };
    let diagnostic = Diagnostic::error(code, Some(at(&error.place)), error.message);
    let diagnostic = Diagnostic { remedy: error.remedy, ..diagnostic };
    let notes = error.notes.into_iter();
    notes.fold(diagnostic, |diagnostic, note| diagnostic.with_note(note.place.as_ref().map(at), note.message))
}
