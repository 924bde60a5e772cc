//! Names the shared library as programs look for it, and shows nothing of what it is made of.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The number changes when programs that were linked before no longer work: with PROMOTE_ABI_VERSION.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libpromote.so.1");
    // Sections that a crate collects its parts in have symbols of their own, which are hidden, too.
    // Code of this library calls code of this library, whatever else the process has loaded. Threads may sleep in it, so it
    // stays in memory when a program closes it.
    println!(
        "cargo::rustc-cdylib-link-arg=-Wl,-Bsymbolic,-z,nodelete,--exclude-libs,ALL,--strip-all,-z,start-stop-visibility=hidden"
    );
}
