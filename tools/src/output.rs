//! Writing the result: all of it, or nothing.
//!
//! ```text
//! let mut output = Output::create(args.output.as_deref(), Kind::Text)?;     // P0021 before any work is done
//! print_module(&mut output);                                                // errors are kept until …
//! output.commit()?;                                                         // … here, P0021
//! ```
//!
//! A regular file is written to a temporary file beside it, which replaces it on [`Output::commit`]; an [`Output`] that
//! is dropped leaves nothing behind. Standard output, pipes and devices cannot be replaced: they are written to as the
//! buffer fills, so create the output when the result is known to be good.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use promote::diagnostic::{Code, Diagnostic};
use tempfile::NamedTempFile;

use crate::leftovers;

/// How many bytes are collected before they are written.
const BUFFER: usize = 1 << 20;

/// How many symbolic links are followed to a file that does not exist yet; Linux's own limit.
const LINKS: usize = 40;

/// What is going to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text, welcome anywhere.
    Text,
    /// Bytecode, objects, arrays, which are not written to a terminal.
    Binary,
}

/// A result on its way. Fill it through [`Write`], then [`Output::commit`] it.
#[derive(Debug)]
pub struct Output {
    name: String,
    sink: Sink,
    buffer: Vec<u8>,
    failure: Option<String>,
    /// The reader of a pipe has gone: the rest is of no interest to anybody.
    closed: bool,
}

/// Where bytes go.
#[derive(Debug)]
enum Sink {
    Stdout(io::Stdout),
    /// A device or pipe, which is written in place.
    Direct(File),
    /// A temporary file that becomes the target.
    Replace {
        file: NamedTempFile,
        target: PathBuf,
    },
}

impl Output {
    /// Prepares to write a file, or standard output if there is no path or it is `-`. Errors that can be known are
    /// reported here: a missing directory, a file that may not be written, a terminal for what is no text.
    pub fn create(path: Option<&Path>, kind: Kind) -> Result<Self, Diagnostic> {
        let path = path.filter(|path| *path != Path::new("-") && *path != Path::new("/dev/stdout"));
        let name = path.map_or("standard output".into(), |path| format!("`{}`", path.display()));
        let sink = path.map_or_else(|| Ok(Sink::Stdout(io::stdout())), open);
        let sink = sink.map_err(|error| unwritable(&name, &reason(&error)))?;
        let terminal = match &sink {
            Sink::Stdout(stdout) => stdout.is_terminal(),
            Sink::Direct(file) => file.is_terminal(),
            Sink::Replace { .. } => false,
        };
        if terminal && kind == Kind::Binary {
            return Err(unwritable(&name, "it would garble the terminal")
                .with_remedy("name a file with -o, or pipe the output to a program"));
        }
        Ok(Self { name, sink, buffer: Vec::new(), failure: None, closed: false })
    }

    /// Whether nobody sees what is written before [`Output::commit`].
    pub fn is_held_back(&self) -> bool {
        matches!(self.sink, Sink::Replace { .. })
    }

    /// Writes what is left and puts the file in its place. Reports the first error of all that was written.
    pub fn commit(mut self) -> Result<(), Diagnostic> {
        // The error is in `failure`, too.
        let _ = self.flush();
        if let Some(failure) = &self.failure {
            return Err(unwritable(&self.name, failure));
        }
        let Self { name, sink, .. } = self;
        match sink {
            Sink::Stdout(_) | Sink::Direct(_) => Ok(()),
            Sink::Replace { file, target } => match file.persist(target) {
                Ok(_) => Ok(()),
                Err(error) => Err(unwritable(&name, &reason(&error.error))),
            },
        }
    }

    /// Writes the collected bytes.
    fn drain(&mut self) -> io::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let sent = self.send(&buffer);
        buffer.clear();
        self.buffer = buffer;
        sent
    }

    /// Writes bytes, unless nobody reads them, and keeps the first error.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.attempt(|sink| sink.writer().write_all(bytes))
    }

    /// Does something with the sink; a pipe without reader is no error, any other is kept.
    fn attempt(&mut self, action: impl FnOnce(&mut Sink) -> io::Result<()>) -> io::Result<()> {
        if self.closed {
            return Ok(());
        }
        match action(&mut self.sink) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            Err(error) => {
                self.failure.get_or_insert_with(|| reason(&error));
                Err(error)
            }
            Ok(()) => Ok(()),
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > BUFFER {
            self.drain()?;
        }
        if bytes.len() >= BUFFER {
            self.send(bytes)?;
        } else {
            self.buffer.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.drain()?;
        self.attempt(|sink| sink.writer().flush())
    }
}

impl Sink {
    /// The underlying writer.
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Self::Stdout(stdout) => stdout,
            Self::Direct(file) => file,
            Self::Replace { file, .. } => file.as_file_mut(),
        }
    }
}

/// Opens a path: in place if it is a device or pipe, beside it if it is a file or does not exist.
fn open(path: &Path) -> io::Result<Sink> {
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() || is_descriptor(path) => {
            Ok(Sink::Direct(OpenOptions::new().write(true).append(found.is_file()).open(path)?))
        }
        Ok(found) => {
            // A rename would replace a file that may not be written.
            OpenOptions::new().write(true).open(path)?;
            let target = fs::canonicalize(path)?;
            let file = beside(&target)?;
            file.as_file().set_permissions(found.permissions())?;
            Ok(Sink::Replace { file, target })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let target = follow(path)?;
            Ok(Sink::Replace { file: beside(&target)?, target })
        }
        Err(error) => Err(error),
    }
}

/// Whether a path is an open file of a process, as `/dev/fd/3` is: a file that is renamed over it would not be the one
/// that is open. (Not all of `/dev`: `/dev/shm` has regular files.)
fn is_descriptor(path: &Path) -> bool {
    path == Path::new("/dev/stderr") || path.starts_with("/dev/fd") || path.starts_with("/proc")
}

/// A temporary file in the directory of a target, with the permissions that the umask leaves to new files.
fn beside(target: &Path) -> io::Result<NamedTempFile> {
    let directory = match target.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Err(ErrorKind::IsADirectory.into()),
    };
    if target.file_name().is_none() {
        return Err(ErrorKind::IsADirectory.into());
    }
    tempfile::Builder::new().prefix(".promote-").make_in(directory, |path| {
        leftovers::announce(path);
        OpenOptions::new().read(true).write(true).create_new(true).open(path)
    })
}

/// The file that a path without file leads to: itself, or where its dangling symbolic links point.
fn follow(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&path) {
            Ok(target) => path = path.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// What went wrong, in words for the error's message.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such directory".into(),
        ErrorKind::IsADirectory => "it is a directory".into(),
        ErrorKind::NotADirectory => "a part of the path is not a directory".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::StorageFull => "no space is left".into(),
        _ => error.to_string(),
    }
}

/// Writes text to standard output.
///
/// # Errors
/// If it cannot be written; a reader that has gone is none.
pub fn print(text: &[u8]) -> Result<(), Diagnostic> {
    let mut output = Output::create(None, Kind::Text)?;
    // The error is kept, and reported by commit.
    let _ = output.write_all(text);
    output.commit()
}

/// The error for standard output that cannot be written.
pub fn unprintable(error: &io::Error) -> Diagnostic {
    unwritable("standard output", &reason(error))
}

/// The error for an output that cannot be written.
fn unwritable(name: &str, reason: &str) -> Diagnostic {
    Diagnostic::error(Code::Unwritable, None, format!("cannot write {name}: {reason}"))
}

#[cfg(test)]
mod tests;
