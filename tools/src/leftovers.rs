//! Files that must not outlive a run, however it ends.
//!
//! A run that ends by itself removes them. One that is killed cannot: so the process that works reports to its parent
//! ([`crate::supervise`]) of each file before it makes it, and the parent removes what is left.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use promote::diagnostic::{Code, Diagnostic};

/// The way to the parent; none in a process that has no such parent.
static PARENT: OnceLock<Mutex<File>> = OnceLock::new();

/// What ends a path in the pipe; no path has it.
const END: u8 = 0;

/// How often, and how long apart, a directory is removed that somebody still writes to.
const ATTEMPTS: usize = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// Names the pipe that the parent reads.
pub fn report_to(parent: File) {
    // There is one parent, and this is called once, when the child starts.
    let _ = PARENT.set(Mutex::new(parent));
}

/// Says that a file or directory is about to be made, which is to be removed if this process is killed.
pub fn announce(path: &Path) {
    let Some(parent) = PARENT.get() else { return };
    let mut message = path.as_os_str().as_bytes().to_vec();
    message.push(END);
    // A parent that has gone removes nothing.
    let _ = parent.lock().unwrap_or_else(PoisonError::into_inner).write_all(&message);
}

/// Removes what was announced, and is still there: files, and directories with all that is in them.
pub fn remove(announced: &[u8]) {
    for path in announced.split(|byte| *byte == END).filter(|path| !path.is_empty()) {
        let path = PathBuf::from(std::ffi::OsString::from_vec(path.to_vec()));
        let is_directory = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
        // What cannot be removed stays: there is nobody to report to.
        let _ = if is_directory { remove_directory(&path) } else { fs::remove_file(&path) };
    }
}

fn remove_directory(path: &Path) -> io::Result<()> {
    for _ in 0..ATTEMPTS {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => std::thread::sleep(PAUSE),
            other => return other,
        }
    }
    fs::remove_dir_all(path)
}

/// A temporary directory, which goes when this is dropped, and is announced.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes one where the environment's `TMPDIR` says.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new() -> Result<Self, Diagnostic> {
        let parent = std::env::temp_dir();
        Self::make_in(&parent).map_err(|error| {
            let message = format!("cannot make a directory in `{}`: {error}", parent.display());
            Diagnostic::error(Code::Unwritable, None, message)
                .with_remedy("let TMPDIR name a directory that can be written to")
        })
    }

    fn make_in(parent: &Path) -> io::Result<Self> {
        let make = |path: &Path| {
            announce(path);
            fs::create_dir(path)
        };
        let made = tempfile::Builder::new().prefix("promote-").make_in(std::path::absolute(parent)?, make)?;
        // It is no file, which dropping would remove as one.
        let path = made.into_temp_path().keep().map_err(|error| error.error)?;
        Ok(Self(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = remove_directory(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_announced_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::write(path("file"), "").unwrap();
        fs::create_dir_all(path("folder/inner")).unwrap();
        fs::write(path("kept"), "").unwrap();
        std::os::unix::fs::symlink("kept", path("link")).unwrap();
        let announced: Vec<u8> = ["file", "folder", "gone", "link"]
            .iter()
            .flat_map(|name| [path(name).as_os_str().as_bytes(), &[END]].concat())
            .collect();
        remove(&announced);
        let left: Vec<_> =
            fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["kept"]);
    }

    #[test]
    fn a_folder_goes_with_what_is_in_it() {
        let folder = Folder::new().unwrap();
        let path = folder.path().to_owned();
        fs::write(path.join("file"), "").unwrap();
        drop(folder);
        assert!(!path.exists());
    }
}
