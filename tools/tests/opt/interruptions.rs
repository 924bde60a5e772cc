//! Runs that are ended from outside: by the signal that was sent, without leftovers.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::support::{GOOD, PROMOTE_OPT};

/// Stands for a linker that does not end, and writes all the time.
const SLOW_LINKER: &str = "#!/bin/sh
echo $$ > linker
while :; do echo > \"$TMPDIR/$$.$(date +%N)\"; done
";

/// The signals that are meant to end a program.
const SIGNALS: [libc::c_int; 4] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT];

/// No run takes longer to get where it is interrupted, or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A directory with a program whose library is never linked, and with room for temporary files.
fn place() -> TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory can be made");
    let path = |name: &str| directory.path().join(name);
    fs::write(path("in.mlir"), GOOD).expect("the directory can be written to");
    fs::write(path("slow"), SLOW_LINKER).expect("the directory can be written to");
    fs::set_permissions(path("slow"), fs::Permissions::from_mode(0o755)).expect("the file is ours");
    fs::create_dir(path("tmp")).expect("the directory can be written to");
    directory
}

/// Starts the tool in a group of its own, and waits until its linker runs.
fn linking(directory: &Path, prepare: impl FnOnce(&mut Command)) -> (Child, i32) {
    let mut command = Command::new(PROMOTE_OPT);
    command.args(["in.mlir", "--emit=so", "-o", "out.so"]).current_dir(directory).process_group(0);
    command.env("CC", directory.join("slow")).env("TMPDIR", directory.join("tmp"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    // Whoever runs the tests may ignore signals, as nohup does, and what it starts would inherit that.
    // SAFETY: between fork and exec this only sets how signals are met.
    unsafe {
        command.pre_exec(|| {
            for signal in SIGNALS {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        })
    };
    prepare(&mut command);
    let child = command.spawn().expect("the tool can be run");
    let number = || fs::read_to_string(directory.join("linker")).ok()?.trim().parse().ok();
    let linker = wait_for("the linker", number);
    assert!(leftovers(directory).len() > 1, "there are temporary files to remove");
    (child, linker)
}

#[track_caller]
fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(found) = look() {
            return found;
        }
        sleep(Duration::from_millis(5));
    }
    panic!("{what} does not come");
}

/// The status that the tool ends with.
fn ended(child: &mut Child) -> ExitStatus {
    wait_for("the end", || child.try_wait().expect("it can be waited for"))
}

/// All files but those that the test has made.
fn leftovers(directory: &Path) -> Vec<PathBuf> {
    let paths = |directory: PathBuf| {
        let entries = fs::read_dir(directory).expect("the directory is there");
        entries.map(|entry| entry.expect("it can be listed").path()).collect::<Vec<_>>()
    };
    let mut found = paths(directory.to_owned());
    found.retain(|path| !["in.mlir", "slow", "tmp", "linker"].iter().any(|own| path.ends_with(own)));
    found.extend(paths(directory.join("tmp")));
    found
}

fn send(process: i32, signal: i32) {
    // SAFETY: the process is one that this test started, and has not waited for.
    assert_eq!(unsafe { libc::kill(process, signal) }, 0, "the signal can be sent");
}

fn is_running(process: i32) -> bool {
    // A process that nobody has waited for is one still.
    let status = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !status.is_empty() && !status.contains(") Z ")
}

#[test]
fn signals_end_the_tool_and_leave_nothing() {
    for signal in SIGNALS {
        // As `kill` sends it, and as a terminal does.
        for whole_group in [false, true] {
            let directory = place();
            let (mut child, linker) = linking(directory.path(), |_| {});
            let process = i32::try_from(child.id()).expect("processes have small numbers");
            send(if whole_group { -process } else { process }, signal);
            assert_eq!(ended(&mut child).signal(), Some(signal), "group: {whole_group}");
            assert_eq!(
                leftovers(directory.path()),
                [] as [PathBuf; 0],
                "signal {signal}, group: {whole_group}"
            );
            assert!(!is_running(linker), "signal {signal}, group: {whole_group}");
        }
    }
}

#[test]
fn a_crash_leaves_nothing_either() {
    let directory = place();
    let (mut child, linker) = linking(directory.path(), |_| {});
    let process = child.id();
    let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children")).expect("it runs");
    let worker = children.trim().parse().expect("there is one child");
    send(worker, libc::SIGSEGV);
    assert_eq!(ended(&mut child).code(), Some(1));
    let mut output = String::new();
    let mut stderr = child.stderr.take().expect("it is a pipe");
    std::io::Read::read_to_string(&mut stderr, &mut output).expect("it is text");
    assert!(output.contains("error[P0099]") && output.contains("(signal 11)"), "{output}");
    assert_eq!(leftovers(directory.path()), [] as [PathBuf; 0]);
    assert!(!is_running(linker));
}

#[test]
fn signals_that_are_ignored_end_nothing() {
    let directory = place();
    let (mut child, linker) = linking(directory.path(), |command| {
        // SAFETY: between fork and exec this only sets how a signal is met.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGHUP, libc::SIG_IGN);
                Ok(())
            })
        };
    });
    let process = i32::try_from(child.id()).expect("processes have small numbers");
    send(process, libc::SIGHUP);
    sleep(Duration::from_millis(100));
    assert!(is_running(process) && is_running(linker));
    send(process, libc::SIGTERM);
    assert_eq!(ended(&mut child).signal(), Some(libc::SIGTERM));
    assert_eq!(leftovers(directory.path()), [] as [PathBuf; 0]);
}

#[test]
fn a_result_that_is_being_written_is_removed() {
    let directory = place();
    let many: String =
        (0..20_000).map(|i| GOOD.replace("@f", &format!("@f{i}")).replace("!u", &format!("!u{i}"))).collect();
    fs::write(directory.path().join("in.mlir"), many).expect("the directory can be written to");
    let mut child = Command::new(PROMOTE_OPT)
        .args(["in.mlir", "-o", "out.mlir"])
        .current_dir(directory.path())
        .spawn()
        .expect("the tool can be run");
    wait_for("the temporary file", || (!leftovers(directory.path()).is_empty()).then_some(()));
    send(i32::try_from(child.id()).expect("processes have small numbers"), libc::SIGTERM);
    let status = ended(&mut child);
    // On a slow machine it may be done before the signal comes.
    if status.code() != Some(0) {
        assert_eq!(status.signal(), Some(libc::SIGTERM));
        assert_eq!(leftovers(directory.path()), [] as [PathBuf; 0]);
    }
}
