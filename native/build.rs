//! Compiles the C++ shim, and the run time into one relocatable object to be linked into shared libraries.
//!
//! The run time is compiled by `rustc` alone to a static library that carries the standard library, optimised as a whole,
//! then linked to one object with only what its interface reaches: a megabyte instead of twenty.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(variable("OUT_DIR"));
    promote_build::compile_shim("promote_native_shim");
    runtime(&out);
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn runtime(out: &Path) {
    let abi = rustc(out, "promote_abi", "DEP_PROMOTE_ABI_SOURCE_SOURCE", "rlib", &[]);
    let archive = rustc(
        out,
        "promote_runtime",
        "DEP_PROMOTE_RUNTIME_SOURCE_SOURCE",
        "staticlib",
        &[("promote_abi", &abi)],
    );
    let compiler = cc::Build::new().get_compiler();
    let mut link = compiler.to_command();
    link.args(["-r", "-nostdlib", "-Wl,--gc-sections", "-Wl,--strip-debug"]);
    for function in promote_abi::prototypes() {
        link.arg(format!("-Wl,-u,{}", function.name));
    }
    run(link.arg("-o").arg(out.join("promote_runtime.o")).arg(&archive));
}

/// Compiles a crate without cargo; the variable says where its source is.
fn rustc(out: &Path, name: &str, variable_of_source: &str, kind: &str, needed: &[(&str, &Path)]) -> PathBuf {
    let source = variable(variable_of_source);
    println!("cargo::rerun-if-changed={source}");
    let library = out.join(format!("lib{name}.{}", if kind == "rlib" { "rlib" } else { "a" }));
    let mut command = Command::new(variable("RUSTC"));
    command
        .args(["--edition", "2024", "--crate-name", name, "--crate-type", kind])
        .args(["-C", "opt-level=3", "-C", "codegen-units=1", "-C", "embed-bitcode=yes"])
        .args(["-C", "strip=debuginfo", "-C", "relocation-model=pic"])
        .args(["--target", &variable("TARGET")])
        .arg(format!("--remap-path-prefix={source}={}", name.replace('_', "-")))
        .arg(Path::new(&source).join("lib.rs"))
        .arg("-o")
        .arg(&library);
    if kind == "staticlib" {
        command.args(["-C", "lto=fat"]);
    }
    for (name, library) in needed {
        command.arg("--extern").arg(format!("{name}={}", library.display()));
    }
    run(&mut command);
    library
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?} failed");
}
