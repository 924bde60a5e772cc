//! Shared libraries: an object, linked with the run time by the system's compiler.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use promote_abi::Library;

use crate::error::Error;

/// The run time as one relocatable object, compiled for any processor of this kind of machine. It needs the C library,
/// the mathematics library and `libgcc_s`.
pub static RUNTIME_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/promote_runtime.o"));

/// Links an object, made by [`Compiled::object`](crate::Compiled::object), into a shared library at `path`. Programs that
/// load it see the functions named in `exports`, and those that every library has: [`Library`].
///
/// The linker is `cc`, or what the environment's `CC` says. The file appears when it is complete.
///
/// # Errors
/// If files cannot be written, or the linker fails; then there is no file.
pub fn shared_library<S: AsRef<str>>(object: &[u8], exports: &[S], path: &Path) -> Result<(), Error> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let directory = tempfile::Builder::new()
        .prefix(".promote-link")
        .tempdir_in(parent)
        .map_err(|error| Error::File { path: parent.to_owned(), error })?;
    let library = link(object, exports, directory.path(), path.file_name())?;
    std::fs::rename(&library, path).map_err(|error| Error::File { path: path.to_owned(), error })
}

/// As [`shared_library`], but gives the library's bytes.
///
/// # Errors
/// As there.
pub fn shared_library_bytes<S: AsRef<str>>(object: &[u8], exports: &[S]) -> Result<Vec<u8>, Error> {
    let directory = tempfile::tempdir().map_err(|error| Error::File { path: std::env::temp_dir(), error })?;
    shared_library_bytes_in(object, exports, directory.path())
}

/// As [`shared_library_bytes`], with all files of the linker's in a directory, which the caller removes.
///
/// # Errors
/// As there.
pub fn shared_library_bytes_in<S: AsRef<str>>(
    object: &[u8],
    exports: &[S],
    directory: &Path,
) -> Result<Vec<u8>, Error> {
    let library = link(object, exports, directory, None)?;
    std::fs::read(&library).map_err(|error| Error::File { path: library, error })
}

/// Links in a directory, and returns the library's path there.
fn link<S: AsRef<str>>(
    object: &[u8],
    exports: &[S],
    directory: &Path,
    name: Option<&OsStr>,
) -> Result<PathBuf, Error> {
    // A relative path may look like a flag.
    let directory =
        std::path::absolute(directory).map_err(|error| Error::File { path: directory.to_owned(), error })?;
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.join(name);
        std::fs::write(&path, bytes).map_err(|error| Error::File { path: path.clone(), error })?;
        Ok(path)
    };
    let code = write("code.o", object)?;
    let runtime = write("runtime.o", RUNTIME_OBJECT)?;
    let symbols = write("symbols.map", version_script(exports).as_bytes())?;
    let library = directory.join("library.so");
    let mut command = compiler();
    // The compiler's own files go when the directory does.
    command.env("TMPDIR", &directory);
    command.args(["-shared", "-o"]).arg(&library).arg(&code).arg(&runtime);
    // Threads of the library may sleep in its code: it stays in memory when a program closes it.
    let flags = ["--gc-sections", "-s", "-Bsymbolic", "-z", "nodelete", "-z", "defs", "-z", "noexecstack"];
    let soname = name.map(|name| [OsStr::new("-soname"), name]);
    let script = [OsStr::new("--version-script"), symbols.as_os_str()];
    // Not by -Wl, whose values end at a comma.
    for flag in flags.map(OsStr::new).into_iter().chain(soname.into_iter().flatten()).chain(script) {
        command.arg("-Xlinker").arg(flag);
    }
    command.args(["-lm", "-lpthread", "-ldl", "-lgcc_s"]);
    run(command).map(|()| library)
}

/// The system's compiler: `CC` of the environment, which may have arguments, or `cc`.
fn compiler() -> Command {
    let named = std::env::var("CC").unwrap_or_default();
    let mut words = named.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("cc"));
    command.args(words);
    command
}

fn run(mut command: Command) -> Result<(), Error> {
    let failed = |command: &Command, output: String| Error::Link { command: format!("{command:?}"), output };
    let output = command.output().map_err(|error| failed(&command, error.to_string()))?;
    if output.status.success() {
        return Ok(());
    }
    let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
    if text.trim().is_empty() {
        text = output.status.to_string();
    }
    Err(failed(&command, text.trim_end().to_owned()))
}

/// Says which symbols the library shows.
fn version_script<S: AsRef<str>>(exports: &[S]) -> String {
    let mut script = String::from("{\n  global:\n");
    let common = Library::ALL.iter().map(|function| function.name());
    for name in exports.iter().map(AsRef::as_ref).chain(common) {
        // Writing to a string does not fail.
        let _ = writeln!(script, "    \"{name}\";");
    }
    script.push_str("  local: *;\n};\n");
    script
}
