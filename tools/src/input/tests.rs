//! What is read, what is refused, and how files are split.

use super::*;

fn input(bytes: &[u8]) -> Input {
    Input { name: "a.mlir".into(), bytes: bytes.to_vec() }
}

fn refused_at(bytes: &[u8]) -> (u32, u32, String) {
    let error = input(bytes).content().unwrap_err();
    assert_eq!(error.code, Code::Unreadable);
    let location = error.location.unwrap();
    (location.line, location.column, error.message)
}

#[test]
fn text_and_bytecode_are_told_apart() {
    assert_eq!(input(b"module {}").content(), Ok(Content::Text("module {}")));
    assert_eq!(input(b"").content(), Ok(Content::Text("")));
    assert_eq!(input(b"ML\xefR\0\xff").content(), Ok(Content::Bytecode(b"ML\xefR\0\xff")));
}

#[test]
fn bytes_that_are_no_text_are_located() {
    assert_eq!(refused_at(b"a\nb\xff"), (2, 2, "the input is not UTF-8 text: byte 0xff".into()));
    assert_eq!(refused_at(b"\n\n \0"), (3, 2, "the input has a NUL byte: byte 0x00".into()));
    assert_eq!(refused_at(b"\xe4\xb8"), (1, 1, "the input is not UTF-8 text: byte 0xe4".into()));
    assert_eq!(refused_at(b"ML\xef"), (1, 3, "the input is not UTF-8 text: byte 0xef".into()));
}

#[test]
fn the_first_bad_byte_is_reported() {
    assert_eq!(refused_at(b"\0\xff").2, "the input has a NUL byte: byte 0x00");
    assert_eq!(refused_at(b"\xff\0").2, "the input is not UTF-8 text: byte 0xff");
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let missing = directory.path().join("missing.mlir");
    let error = Input::read(&missing).unwrap_err();
    assert_eq!(error.message, format!("cannot read `{}`: there is no such file", missing.display()));
    let error = Input::read(directory.path()).unwrap_err();
    assert_eq!(error.message, format!("cannot read `{}`: it is a directory", directory.path().display()));
    let error = Input::read(Path::new("a\0b")).unwrap_err();
    assert_eq!(error.code, Code::Unreadable);
}

#[test]
fn files_are_read_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.mlir");
    fs::write(&path, "module {}").unwrap();
    let read = Input::read(&path).unwrap();
    assert_eq!((read.name, read.bytes), (path.display().to_string(), b"module {}".to_vec()));
}

fn chunks(text: &str) -> Vec<(u32, &str)> {
    split(text, SPLIT_MARKER).iter().map(|chunk| (chunk.first_line, chunk.text)).collect()
}

#[test]
fn chunks_know_their_line() {
    assert_eq!(chunks("a\n// -----\nb\nc\n// ----- next\nd"), [(1, "a\n"), (3, "b\nc\n"), (6, "d")]);
    assert_eq!(chunks("a\r\n  // -----\r\nb"), [(1, "a\r\n"), (3, "b")]);
    assert_eq!(chunks("a\n// -----\n// -----\nb"), [(1, "a\n"), (3, ""), (4, "b")]);
}

#[test]
fn markers_at_the_ends_make_no_chunk() {
    assert_eq!(chunks("// -----\na\n// -----\n"), [(2, "a\n")]);
    assert_eq!(chunks("a\n// -----"), [(1, "a\n")]);
    assert_eq!(chunks(""), [(1, "")]);
    assert_eq!(chunks("// -----"), []);
}

#[test]
fn longer_rulers_are_no_markers() {
    assert_eq!(chunks("a\n// ------\nb // -----\n").len(), 1);
    assert_eq!(split("a\n//%%\nb", "//%%").len(), 2);
}

#[test]
fn padding_keeps_line_numbers() {
    assert_eq!(Chunk { first_line: 3, text: "x" }.padded(), "\n\nx");
    assert_eq!(Chunk::whole("x").padded(), "x");
}
