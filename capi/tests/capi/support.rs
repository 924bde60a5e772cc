//! A folder with the library in it, in which C programs are compiled and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

pub const PACKAGE: &str = env!("CARGO_MANIFEST_DIR");

/// The folder in which cargo has put the library: that of this program.
pub fn built() -> PathBuf {
    let program = std::env::current_exe().expect("the test runs");
    let folder = program.parent().expect("it is in a folder").to_owned();
    assert!(folder.join("libpromote_capi.so").is_file(), "cargo builds the library for its tests");
    folder
}

/// A folder for a test, with the library by the names that programs know it by.
pub struct Folder(TempDir);

impl Folder {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is a temporary directory");
        for name in ["libpromote.so", "libpromote.so.1"] {
            let library = built().join("libpromote_capi.so");
            std::os::unix::fs::symlink(library, folder.path().join(name)).expect("it can be linked to");
        }
        Self(folder)
    }

    /// One with a driver of CUDA in it that needs no GPU, which programs find.
    pub fn with_fake_cuda() -> Self {
        let folder = Self::new();
        let source = format!("{PACKAGE}/../tests/support/fake_cuda.c");
        let flags = ["-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", "libcuda.so.1"];
        folder.runs("cc", &[&flags[..], &[&source]].concat());
        folder
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// Runs a command in the folder, which succeeds; what it prints.
    #[track_caller]
    pub fn runs(&self, program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> String {
        let output = self.output(program, arguments);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{}\n{out}{err}", output.status);
        out.into_owned()
    }

    pub fn output(&self, program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.path()).env_remove("PROMOTE_NUM_THREADS");
        if self.path().join("libcuda.so.1").exists() {
            command.env("LD_LIBRARY_PATH", self.path()).env_remove("PROMOTE_DEVICE");
        }
        command.output().expect("the program is there")
    }

    /// Compiles a program of `tests/c`, or at an absolute path, and links it with the library.
    #[track_caller]
    pub fn compiles(&self, source: &str) -> PathBuf {
        self.compiles_with(source, &["-L.", "-lpromote", "-Wl,-rpath,."])
    }

    /// The same with other flags of the linker.
    #[track_caller]
    pub fn compiles_with(&self, source: &str, flags: &[&str]) -> PathBuf {
        let source = Path::new(PACKAGE).join("tests/c").join(source);
        let program = self.path().join(source.file_stem().expect("a file has a name"));
        let (include, source) = (format!("-I{PACKAGE}/include"), source.display().to_string());
        let out = program.display().to_string();
        let strict = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-g"];
        let own = [include.as_str(), &source, "-o", &out];
        self.runs("cc", &[&strict[..], &own, flags, &["-ldl", "-lpthread", "-lm"]].concat());
        program
    }
}
