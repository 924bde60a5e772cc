//! A child process goes on where its parent was, with threads of its own. Alone in its file: the process must not have
//! other threads that hold a lock at the moment.

#![cfg(unix)]

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::Duration;

use promote_runtime::{parallel, set_num_threads};

unsafe extern "C" {
    safe fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    safe fn _exit(code: i32) -> !;
}

/// How many threads take part in a loop.
fn participants() -> usize {
    let seen = Mutex::new(HashSet::new());
    parallel(8, 1, &|_, _| {
        seen.lock().expect("nobody panics").insert(std::thread::current().id());
        std::thread::sleep(Duration::from_millis(10));
    });
    seen.into_inner().expect("nobody panics").len()
}

#[test]
fn a_child_makes_its_own_threads() {
    set_num_threads(3);
    assert_eq!(participants(), 3);
    let child = fork();
    if child == 0 {
        _exit(if participants() == 3 { 0 } else { 1 });
    }
    let mut status = -1;
    // SAFETY: the status is alive.
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    assert_eq!(participants(), 3);
}
