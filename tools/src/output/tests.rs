//! What is in the directory afterwards.

use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::TempDir;

use super::*;

/// A directory and the path of a file in it.
fn place() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.mlir");
    (directory, path)
}

fn create(path: &Path) -> Output {
    Output::create(Some(path), Kind::Text).unwrap()
}

fn write(path: &Path, text: &str) {
    let mut output = create(path);
    output.write_all(text.as_bytes()).unwrap();
    output.commit().unwrap();
}

fn refusal(path: &Path) -> String {
    let error = Output::create(Some(path), Kind::Text).unwrap_err();
    assert_eq!(error.code, Code::Unwritable);
    error.message
}

/// The names in a directory.
fn names(directory: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(directory.path()).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn committed_output_is_there_whole() {
    let (directory, path) = place();
    let text = "x".repeat(3 * BUFFER + 7);
    write(&path, &text);
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    let mut output = create(&path);
    for part in text.as_bytes().chunks(1000) {
        output.write_all(part).unwrap();
    }
    output.commit().unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    assert_eq!(names(&directory), ["out.mlir"]);
}

#[test]
fn dropped_output_leaves_nothing() {
    let (directory, path) = place();
    let mut output = create(&path);
    output.write_all(&vec![b'x'; 2 * BUFFER]).unwrap();
    drop(output);
    assert!(names(&directory).is_empty());
    fs::write(&path, "before").unwrap();
    drop(create(&path));
    assert_eq!(fs::read_to_string(&path).unwrap(), "before");
    assert_eq!(names(&directory), ["out.mlir"]);
}

#[test]
fn permissions_are_kept_and_new_files_follow_the_umask() {
    let (directory, path) = place();
    fs::write(&path, "before").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    write(&path, "after");
    assert_eq!((mode(&path), fs::read_to_string(&path).unwrap().as_str()), (0o640, "after"));
    let (fresh, usual) = (directory.path().join("fresh"), directory.path().join("usual"));
    write(&fresh, "");
    fs::write(&usual, "").unwrap();
    assert_eq!(mode(&fresh), mode(&usual));
}

#[test]
fn symbolic_links_are_written_through() {
    let (directory, path) = place();
    let (link, dangling) = (directory.path().join("link"), directory.path().join("dangling"));
    fs::write(&path, "before").unwrap();
    symlink("out.mlir", &link).unwrap();
    symlink("later.mlir", &dangling).unwrap();
    write(&link, "after");
    write(&dangling, "new");
    assert!(link.is_symlink() && dangling.is_symlink());
    assert_eq!(fs::read_to_string(&path).unwrap(), "after");
    assert_eq!(fs::read_to_string(directory.path().join("later.mlir")).unwrap(), "new");
}

#[test]
fn unwritable_places_are_refused_at_once() {
    let (directory, path) = place();
    let shown = directory.path().display();
    assert_eq!(refusal(directory.path()), format!("cannot write `{shown}`: it is a directory"));
    let missing = directory.path().join("missing").join("out.mlir");
    assert_eq!(
        refusal(&missing),
        format!("cannot write `{}`: there is no such directory", missing.display())
    );
    fs::write(&path, "").unwrap();
    let below = path.join("out.mlir");
    let message = refusal(&below);
    assert_eq!(message, format!("cannot write `{}`: a part of the path is not a directory", below.display()));
    let circle = directory.path().join("circle");
    symlink("circle", &circle).unwrap();
    for odd in [&circle, Path::new(""), Path::new("/"), Path::new(".."), Path::new("a\0b")] {
        refusal(odd);
    }
}

#[test]
fn devices_are_written_in_place() {
    write(Path::new("/dev/null"), "gone");
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    let mut full = create(Path::new("/dev/full"));
    full.write_all(b"x").unwrap();
    let error = full.commit().unwrap_err();
    assert_eq!(error.message, "cannot write `/dev/full`: no space is left");
}

#[test]
fn open_files_are_written_in_place() {
    let (directory, path) = place();
    fs::write(&path, "before ").unwrap();
    let file = OpenOptions::new().append(true).open(&path).unwrap();
    write(Path::new(&format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file))), "after");
    assert_eq!(fs::read_to_string(&path).unwrap(), "before after");
    assert_eq!(names(&directory), ["out.mlir"]);
    assert!(!is_descriptor(Path::new("/dev/shm/out.mlir")));
}

#[test]
fn errors_are_kept_until_commit() {
    let mut full = create(Path::new("/dev/full"));
    assert!(full.write_all(&vec![b'x'; 2 * BUFFER]).is_err());
    assert_eq!(full.commit().unwrap_err().code, Code::Unwritable);
}

#[test]
fn a_pipe_without_reader_is_a_quiet_end() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let sink = Sink::Direct(File::from(std::os::fd::OwnedFd::from(writer)));
    let mut output = Output { name: "pipe".into(), sink, buffer: Vec::new(), failure: None, closed: false };
    output.write_all(&vec![b'x'; 2 * BUFFER]).unwrap();
    output.write_all(b"more").unwrap();
    assert_eq!(output.commit(), Ok(()));
}
