//! The header says what the library has, and what the rest of Promote calls it.

use std::fmt::Write;

use promote_abi::c;
use promote_lattice::DType;

const HEADER: &str = include_str!("../../include/promote.h");

/// The programs that sweep the header.
const PROGRAMS: &str = concat!(
    include_str!("../c/check.h"),
    include_str!("../c/rules.c"),
    include_str!("../c/modules.c"),
    include_str!("../c/calls.c"),
    include_str!("../c/devices.c")
);

/// The dtypes as constants of C.
fn dtypes() -> String {
    let mut text = String::new();
    for dtype in DType::ALL {
        let name = dtype.name();
        let name = match name.strip_suffix('*') {
            Some("i") => "WEAK_INT".to_owned(),
            Some("f") => "WEAK_FLOAT".to_owned(),
            Some("c") => "WEAK_COMPLEX".to_owned(),
            Some(wide) => format!("WEAK_{}", wide.to_uppercase()),
            None => name.to_uppercase(),
        };
        writeln!(text, "  PROMOTE_DTYPE_{name} = {},", *dtype as usize).expect("a string can be written to");
    }
    text
}

#[test]
fn dtypes_have_the_numbers_of_the_table() {
    let dtypes = dtypes();
    assert!(HEADER.contains(&format!("enum {{\n{dtypes}}};")), "{dtypes}");
}

#[test]
fn statuses_and_dlpack_are_as_in_the_headers_of_compiled_libraries() {
    for part in [c::statuses(), c::dlpack()] {
        assert!(HEADER.contains(part.trim_end()), "{part}");
    }
}

/// The functions that the header declares, by name.
pub fn declared() -> Vec<String> {
    let mut found: Vec<String> = HEADER
        .lines()
        .filter(|line| !line.starts_with([' ', '/', '#']))
        .filter_map(|line| line.split_once('('))
        .filter_map(|(before, _)| before.split([' ', '*']).next_back())
        .filter(|name| name.starts_with("promote_"))
        .map(str::to_owned)
        .collect();
    found.sort();
    found
}

#[test]
fn every_function_is_used_by_a_test() {
    let functions = declared();
    assert!(functions.len() > 30, "{functions:?}");
    for function in functions {
        assert!(PROGRAMS.contains(&format!("{function}(")), "{function}");
    }
}

#[test]
fn every_status_is_returned_in_a_test() {
    for status in ["REFUSED", "ARGUMENT", "VERSION_MISMATCH", "NO_DTYPE"] {
        assert!(PROGRAMS.contains(&format!("PROMOTE_{status},")), "{status}");
    }
}
