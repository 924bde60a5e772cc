//! What tests need of the machine besides Rust. A test whose tool is missing fails, and says what installs it: one that passes
//! because it did not run is worse than none.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

/// The repository's root: this file is of packages in it and below it.
fn root() -> PathBuf {
    let package = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let root = package.ancestors().find(|directory| directory.join("setup.sh").is_file());
    root.expect("a package of the workspace is below setup.sh").to_owned()
}

/// The Python with jax, numpy and ml_dtypes: `PROMOTE_PYTHON`, or the one that `tests/tools/venv.sh` makes.
///
/// # Panics
/// If it lacks them.
pub fn python() -> &'static str {
    static FOUND: OnceLock<Result<String, String>> = OnceLock::new();
    let find = || {
        let python = std::env::var("PROMOTE_PYTHON")
            .unwrap_or_else(|_| root().join("target/python/bin/python").display().to_string());
        let check = Command::new(&python).args(["-c", "import jax, numpy, ml_dtypes, tvm_ffi"]).output();
        match check {
            Ok(output) if output.status.success() => Ok(python),
            Ok(output) => Err(format!("{python}: {}", String::from_utf8_lossy(&output.stderr))),
            Err(error) => Err(format!("{python}: {error}")),
        }
    };
    let found = FOUND.get_or_init(find).as_deref();
    found.unwrap_or_else(|why| {
        panic!(
            "there is no Python with jax, which tests/tools/venv.sh installs (or PROMOTE_PYTHON names): {why}"
        )
    })
}

/// Makes sure of programs that `./setup.sh --tests` installs.
///
/// # Panics
/// If one of them cannot be run.
pub fn programs(names: &[&str]) {
    for name in names {
        let ran = Command::new(name).arg("--version").output();
        assert!(
            ran.is_ok_and(|output| output.status.success()),
            "`{name}` is missing; ./setup.sh --tests installs it"
        );
    }
}

/// A file of LLVM's prefix, by its path there.
///
/// # Panics
/// If it is missing.
pub fn of_llvm(path: &str) -> PathBuf {
    let prefix = std::env::var("MLIR_SYS_220_PREFIX").unwrap_or_else(|_| "/usr/lib/llvm-22".to_owned());
    let found = PathBuf::from(prefix).join(path);
    assert!(found.exists(), "{} is missing; ./setup.sh --tests installs it", found.display());
    found
}
