//! What the build scripts of crates with C++ share.
//!
//! [`compile_shim`] compiles a crate's `src/shim.cpp` against the headers of the LLVM that mlir-sys binds, and
//! [`llvm_config`] asks that LLVM for more. Both tell Cargo what the answer depends on. What fails ends the build script
//! with a message.

use std::env;
use std::path::Path;
use std::process::Command;

/// What `llvm-config` answers a question, as `--libdir`, without the newline.
///
/// # Panics
/// If there is no `llvm-config` where mlir-sys looks for it (`MLIR_SYS_220_PREFIX`, else the path), or it fails.
pub fn llvm_config(question: &str) -> String {
    println!("cargo::rerun-if-env-changed=MLIR_SYS_220_PREFIX");
    println!("cargo::rerun-if-env-changed=PATH");
    let folder = env::var_os("MLIR_SYS_220_PREFIX").map(|prefix| Path::new(&prefix).join("bin"));
    let program = folder.unwrap_or_default().join("llvm-config");
    let output = Command::new(&program).arg(question).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    assert!(output.status.success(), "{} {question} failed", program.display());
    String::from_utf8(output.stdout).expect("llvm-config prints text").trim().to_owned()
}

/// Compiles `src/shim.cpp` of the crate that is built to a static library, and links the crate with it. Like LLVM itself,
/// it has neither exceptions nor run-time types.
///
/// # Panics
/// If there is no `llvm-config`, or the compiler refuses the shim.
pub fn compile_shim(library: &str) {
    println!("cargo::rerun-if-changed=src/shim.cpp");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .file("src/shim.cpp")
        .flag("-isystem")
        .flag(llvm_config("--includedir"))
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .compile(library);
}
