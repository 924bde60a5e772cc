//! What `install.sh` installs, and the program of the page, which is linked with it.

use crate::needed::programs;
use crate::support::{Folder, PACKAGE, built};

const PAGE: &str = include_str!("../../../docs/c.md");

/// The only block of a language on the page.
fn block(language: &str) -> &'static str {
    let blocks: Vec<&str> = PAGE
        .split("```")
        .skip(1)
        .step_by(2)
        .filter_map(|block| block.split_once('\n'))
        .filter_map(|(opened, code)| (opened == language).then_some(code))
        .collect();
    let [code] = blocks[..] else { panic!("the page has {} blocks of {language}", blocks.len()) };
    code
}

#[test]
fn the_program_of_the_page_is_linked_with_what_is_installed() {
    programs(&["cc", "pkg-config", "ld.bfd", "nm"]);
    let folder = Folder::new();
    let from = built().display().to_string();
    folder.runs(format!("{PACKAGE}/install.sh"), &["--from", &from, "prefix"]);
    std::fs::write(folder.path().join("weights.c"), block("c")).expect("it can be written");
    let compile = "export PKG_CONFIG_PATH=prefix/lib/pkgconfig
        strict='-std=c99 -Wall -Wextra -pedantic -Werror'
        cc $strict weights.c $(pkg-config --cflags --libs promote) -Wl,-rpath,$PWD/prefix/lib -o shared
        rm prefix/lib/libpromote.so
        cc $strict weights.c $(pkg-config --static --cflags --libs promote) -o static
        nm --defined-only --extern-only static | grep -c -E 'LLVM|mlir|llvm' || true";
    assert_eq!(folder.runs("sh", &["-ec", compile]).trim(), "0");
    for program in ["./shared", "./static"] {
        assert_eq!(folder.runs(folder.path().join(program), &[]), block("text"), "{program}");
    }
}

#[test]
fn wrong_usage_installs_nothing() {
    let folder = Folder::new();
    for arguments in [&[][..], &["--from"], &["a", "b"]] {
        let output = folder.output(format!("{PACKAGE}/install.sh"), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with("usage: "));
    }
}
