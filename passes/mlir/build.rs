//! Compiles the C++ shim.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/shim.cpp");
    println!("cargo::rerun-if-env-changed=MLIR_SYS_220_PREFIX");
    println!("cargo::rerun-if-env-changed=PATH");
    // As mlir-sys finds it.
    let binaries =
        env::var_os("MLIR_SYS_220_PREFIX").map(|prefix| Path::new(&prefix).join("bin")).unwrap_or_default();
    let config = binaries.join("llvm-config");
    let output = Command::new(&config).arg("--includedir").output();
    let output = output.unwrap_or_else(|error| panic!("{}: {error}", config.display()));
    assert!(output.status.success(), "{} failed", config.display());
    let include = String::from_utf8(output.stdout).expect("llvm-config prints text");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .file("src/shim.cpp")
        .flag("-isystem")
        .flag(include.trim())
        .flag("-fno-rtti")
        .flag("-fno-exceptions")
        .compile("promote_mlir_shim");
}
