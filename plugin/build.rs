//! Compiles the C++ side, and links the plugin with the shared libraries of MLIR and LLVM that tools have loaded.
//!
//! mlir-sys brings static libraries along. A linker takes a symbol from where it is defined first, and libraries that a package
//! names itself come before those of what it depends on: so all of MLIR and LLVM is taken from the shared ones, and only MLIR's
//! C interface, which they lack, from the static ones.

use promote_build::{compile_shim, llvm_config};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    compile_shim("promote_plugin_shim");
    println!("cargo::rustc-env=PROMOTE_PLUGIN_MLIR={}", llvm_config("--version"));
    let libraries = llvm_config("--libdir");
    println!("cargo::rustc-link-search=native={libraries}");
    // Tools have loaded them already; programs that have not find them here.
    println!("cargo::rustc-link-arg=-Wl,-rpath,{libraries}");
    println!("cargo::rustc-link-lib=dylib=MLIR");
    println!("cargo::rustc-link-lib=dylib=LLVM");
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete,--exclude-libs,ALL,--strip-all");
}
