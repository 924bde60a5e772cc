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
    shim();
    runtime(&out);
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

fn shim() {
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
        .compile("promote_native_shim");
}

fn runtime(out: &Path) {
    let source = variable("DEP_PROMOTE_RUNTIME_SOURCE_SOURCE");
    println!("cargo::rerun-if-changed={source}");
    let archive = out.join("libpromote_runtime.a");
    run(Command::new(variable("RUSTC"))
        .args(["--edition", "2024", "--crate-name", "promote_runtime", "--crate-type", "staticlib"])
        .args(["-C", "opt-level=3", "-C", "codegen-units=1", "-C", "lto=fat", "-C", "embed-bitcode=yes"])
        .args(["-C", "strip=debuginfo", "-C", "relocation-model=pic"])
        .args(["--target", &variable("TARGET")])
        .arg(format!("--remap-path-prefix={source}=promote-runtime"))
        .arg(Path::new(&source).join("lib.rs"))
        .arg("-o")
        .arg(&archive));
    let compiler = cc::Build::new().get_compiler();
    let mut link = compiler.to_command();
    link.args(["-r", "-nostdlib", "-Wl,--gc-sections", "-Wl,--strip-debug"]);
    for name in exported(&source) {
        link.arg(format!("-Wl,-u,{name}"));
    }
    run(link.arg("-o").arg(out.join("promote_runtime.o")).arg(&archive));
}

/// The names of what the run time has for others.
fn exported(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    for file in ["exports.rs", "builtins.rs"] {
        let text =
            std::fs::read_to_string(Path::new(source).join(file)).expect("the run time's source is there");
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line == "#[unsafe(no_mangle)]" {
                let function = lines.next().and_then(|line| line.split("extern \"C\" fn ").nth(1));
                let name = function.and_then(|rest| rest.split('(').next());
                names.push(name.expect("a function of the C interface follows").to_owned());
            }
        }
    }
    names
}

fn run(command: &mut Command) {
    let status = command.status().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(status.success(), "{command:?} failed");
}
