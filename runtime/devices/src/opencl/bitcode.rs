//! LLVM bitcode of SPIR-V, for a PoCL that takes no SPIR-V, by the command `llvm-spirv`.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

/// The environment variable that names the command.
const VARIABLE: &str = "PROMOTE_LLVM_SPIRV";

/// Why there is no bitcode.
#[derive(Debug)]
pub(super) enum Failure {
    /// There is no converter: what to install.
    NoConverter(String),
    /// The converter does not take the module: what it says.
    Refused(String),
}

/// Converts a module to bitcode that LLVM of this version reads.
pub(super) fn convert(words: &[u32], llvm: &str) -> Result<Vec<u8>, Failure> {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let commands = match env::var_os(VARIABLE).filter(|named| !named.is_empty()) {
        Some(named) => vec![named],
        None => vec![OsString::from(format!("llvm-spirv-{llvm}")), OsString::from("llvm-spirv")],
    };
    for command in &commands {
        match run(command, &bytes) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let command = PathBuf::from(command);
                return Err(Failure::NoConverter(format!("{} cannot be run: {error}", command.display())));
            }
            Ok(result) => return result.map_err(Failure::Refused),
        }
    }
    let tried: Vec<_> = commands.iter().map(|command| command.to_string_lossy()).collect();
    Err(Failure::NoConverter(format!(
        "there is no {}; install the package llvm-spirv-{llvm}, or name the command in {VARIABLE}",
        tried.join(" and no ")
    )))
}

/// Runs the converter. It reads its input twice, so this has to be a file.
fn run(command: &OsString, module: &[u8]) -> io::Result<Result<Vec<u8>, String>> {
    let input = Input::new(module)?;
    let output = Command::new(command).args(["-r", "-o", "-"]).arg(&input.0).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(Ok(output.stdout));
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    // What LLVM says when it crashes goes on with addresses.
    let log = errors.split("PLEASE submit").next().unwrap_or_default().trim().to_owned();
    Ok(Err(if log.is_empty() { format!("the converter ended with {}", output.status) } else { log }))
}

/// A temporary file, deleted when it is dropped.
struct Input(PathBuf);

impl Input {
    fn new(bytes: &[u8]) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = env::temp_dir().join(format!("promote-{}-{number}.spv", process::id()));
            match File::create_new(&path) {
                Ok(mut file) => {
                    let input = Self(path);
                    file.write_all(bytes)?;
                    return Ok(input);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        // A file that somebody else deleted is as good.
        fs::remove_file(&self.0).ok();
    }
}
