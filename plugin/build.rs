//! Compiles the C++ side, and links the plugin with the shared libraries of MLIR and LLVM that tools have loaded.
//!
//! mlir-sys brings static libraries along. A linker takes a symbol from where it is defined first, and libraries that a package
//! names itself come before those of what it depends on: so all of MLIR and LLVM is taken from the shared ones, and only MLIR's
//! C interface, which they lack, from the static ones.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/shim.cpp");
    println!("cargo::rerun-if-env-changed=MLIR_SYS_220_PREFIX");
    let prefix = std::env::var_os("MLIR_SYS_220_PREFIX").map(PathBuf::from).unwrap_or_default();
    let include = config(&prefix, "--includedir");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .file("src/shim.cpp")
        .flag("-isystem")
        .flag(&include)
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .compile("promote_plugin_shim");
    println!("cargo::rustc-env=PROMOTE_PLUGIN_MLIR={}", config(&prefix, "--version"));
    let libraries = config(&prefix, "--libdir");
    println!("cargo::rustc-link-search=native={libraries}");
    // Tools have loaded them already; programs that have not find them here.
    println!("cargo::rustc-link-arg=-Wl,-rpath,{libraries}");
    println!("cargo::rustc-link-lib=dylib=MLIR");
    println!("cargo::rustc-link-lib=dylib=LLVM");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete,--exclude-libs,ALL,--strip-all");
}

/// What `llvm-config` of the prefix says.
fn config(prefix: &Path, question: &str) -> String {
    let program = prefix.join("bin/llvm-config");
    let output = Command::new(&program).arg(question).output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", program.display()));
    assert!(output.status.success(), "{} failed", program.display());
    String::from_utf8(output.stdout).expect("llvm-config prints text").trim().to_owned()
}
