//! The programs of `tests/c`.

use std::path::Path;

use crate::needed::{of_llvm, programs};
use crate::support::{Folder, PACKAGE, built};

/// Other libraries of LLVM, which `./setup.sh --tests` installs with drivers and tools.
fn other_llvms() -> Vec<String> {
    let folder = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let mut found: Vec<String> = ["libLLVM-14.so.1", "libLLVM-15.so.1"]
        .map(|name| format!("{folder}/{name}"))
        .into_iter()
        .filter(|path| Path::new(path).exists())
        .collect();
    assert!(!found.is_empty(), "no libLLVM-14.so.1 or libLLVM-15.so.1; ./setup.sh --tests installs one");
    let newest = ["lib/libLLVM.so", "lib/libMLIR.so"].map(|path| of_llvm(path).display().to_string());
    found.extend(newest);
    found
}

#[test]
fn dtypes_sessions_and_rules() {
    programs(&["cc"]);
    let folder = Folder::new();
    folder.runs(folder.compiles("rules.c"), &[]);
}

#[test]
fn modules_and_diagnostics() {
    programs(&["cc"]);
    let folder = Folder::new();
    folder.runs(folder.compiles("modules.c"), &[]);
}

#[test]
fn compiled_functions() {
    programs(&["cc"]);
    let folder = Folder::new();
    folder.runs(folder.compiles("calls.c"), &[]);
}

#[test]
fn several_threads_use_one_session() {
    programs(&["cc"]);
    let folder = Folder::new();
    folder.runs(folder.compiles("threads.c"), &[]);
}

#[test]
fn ten_ops_are_promoted_again_and_again() {
    programs(&["cc"]);
    let folder = Folder::new();
    let printed = folder.runs(folder.compiles("speed.c"), &["100"]);
    assert!(printed.contains("text to text: median "), "{printed}");
}

/// Compiled code may be of instructions that Valgrind does not know, so these programs compile nothing.
#[test]
fn nothing_leaks_and_nothing_is_read_that_was_not_written() {
    programs(&["cc", "valgrind"]);
    let folder = Folder::new();
    for source in ["rules.c", "modules.c"] {
        let program = folder.compiles(source).display().to_string();
        let flags = ["-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"];
        folder.runs("valgrind", &[&flags[..], &["--show-leak-kinds=definite", &program]].concat());
    }
}

#[test]
fn other_llvms_live_in_the_same_process() {
    programs(&["cc"]);
    let folder = Folder::new();
    let program = folder.compiles_with("beside.c", &[]);
    let others = other_llvms();
    let reversed: Vec<String> = others.iter().rev().cloned().collect();
    for others in [others, reversed] {
        let arguments: Vec<&str> =
            std::iter::once("./libpromote.so.1").chain(others.iter().map(String::as_str)).collect();
        let printed = folder.runs(&program, &arguments);
        assert_eq!(printed.matches("compiled and called").count(), 2, "{printed}");
        assert_eq!(printed.matches("loaded ").count(), others.len(), "{printed}");
    }
}

#[test]
fn headers_of_compiled_libraries_may_be_included_beside() {
    programs(&["cc", "c++"]);
    let folder = Folder::new();
    let header = promote_abi::c::statuses() + &promote_abi::c::dlpack();
    std::fs::write(folder.path().join("scale.h"), format!("#include <stdint.h>\n{header}")).expect("written");
    let include = format!("-I{PACKAGE}/include");
    for first in
        ["#include <promote.h>\n#include \"scale.h\"\n", "#include \"scale.h\"\n#include <promote.h>\n"]
    {
        let text = format!("{first}int main(void) {{ return PROMOTE_OK; }}\n");
        for (name, compiler, standard) in [("main.c", "cc", "-std=c99"), ("main.cpp", "c++", "-std=c++11")] {
            std::fs::write(folder.path().join(name), &text).expect("written");
            let flags = [standard, "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"];
            folder.runs(compiler, &[&flags[..], &["-I.", &include, name]].concat());
        }
    }
}

/// The symbols that a library shows, or functions that it takes from another.
fn symbols(flags: &[&str]) -> Vec<String> {
    let library = built().join("libpromote_capi.so").display().to_string();
    let printed = Folder::new().runs("nm", &[flags, &[library.as_str()]].concat());
    printed.lines().filter_map(|line| line.split_whitespace().last()).map(str::to_owned).collect()
}

#[test]
fn the_library_exports_what_the_header_declares_and_nothing_else() {
    programs(&["nm"]);
    assert_eq!(symbols(&["-D", "--defined-only"]), crate::header::declared());
}

#[test]
fn the_library_has_no_allocator_of_its_own() {
    programs(&["nm"]);
    let taken = symbols(&["-D", "--undefined-only"]);
    for function in ["malloc", "free"] {
        let is_taken = taken.iter().any(|name| name.split('@').next() == Some(function));
        assert!(is_taken, "{function} is not the process's");
    }
}
