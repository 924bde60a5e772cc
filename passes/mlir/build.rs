//! Compiles the C++ shim.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    promote_build::compile_shim("promote_mlir_shim");
}
