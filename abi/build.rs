//! Tells crates that compile the run time anew where this part of its source is.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let directory = std::env::var("CARGO_MANIFEST_DIR").expect("cargo sets it");
    println!("cargo::metadata=source={directory}/src");
}
