//! A child process goes on where its parent was, with threads of its own, whatever other threads of the parent were doing.
//! Alone in its file, as processes are what it is about.

#![cfg(unix)]

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use promote_runtime::{
    Callable, Context, DLDataType, Function, Input, TensorType, exports, parallel, set_num_threads,
};

unsafe extern "C" {
    safe fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    safe fn alarm(seconds: u32) -> u32;
    safe fn _exit(code: i32) -> !;
}

/// Both tests count threads, or change their number.
static ALONE: Mutex<()> = Mutex::new(());

/// How a child ended that does `work`, and has ten seconds for it: 0 if `work` returned true.
fn in_child(work: impl FnOnce() -> bool) -> i32 {
    let child = fork();
    if child == 0 {
        alarm(10);
        _exit(if work() { 0 } else { 1 });
    }
    assert!(child > 0, "the system makes a process");
    let mut status = -1;
    // SAFETY: the status is alive.
    assert_eq!(unsafe { waitpid(child, &mut status, 0) }, child);
    status
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
    let _alone = ALONE.lock().unwrap_or_else(|poison| poison.into_inner());
    set_num_threads(3);
    assert_eq!(participants(), 3);
    assert_eq!(in_child(|| participants() == 3), 0);
    assert_eq!(in_child(|| in_child(|| participants() == 3) == 0), 0);
    assert_eq!(participants(), 3);
}

/// Elements of the buffer that [`busy`] fills.
const COUNT: i64 = 1 << 14;

/// Makes a buffer, fills it in parallel, and does that again: a call that takes every lock there is.
unsafe extern "C" fn busy(context: *mut Context, _: *const Input) -> i32 {
    extern "C" fn fill(buffer: *mut u8, begin: i64, end: i64) {
        for index in begin as usize..end as usize {
            // SAFETY: the buffer has as many elements as the loop has iterations.
            unsafe { buffer.cast::<i64>().add(index).write(index as i64) };
        }
    }
    // SAFETY: the function is declared with one scalar result.
    unsafe {
        let mut sum = 0;
        for _ in 0..8 {
            let buffer = exports::promote_rt_new(context, 1, &COUNT, 8);
            exports::promote_rt_parallel(context, fill, buffer, COUNT, 64);
            sum += *buffer.cast::<i64>().add(COUNT as usize - 1);
            exports::promote_rt_release(context, buffer);
        }
        exports::promote_rt_output(context, 0, std::ptr::null()).cast::<i64>().write(sum);
    }
    0
}

fn calls_are_right(count: usize) -> bool {
    let scalar =
        TensorType { code: 0, bits: 64, lanes: 1, rank: 0, dims: std::ptr::null(), name: std::ptr::null() };
    let function = Function {
        name: c"busy".as_ptr(),
        inputs: 0,
        outputs: 1,
        input_types: std::ptr::null(),
        output_types: &raw const scalar,
        entry: busy,
        shape: None,
        entry_stack: std::ptr::null(),
        shape_stack: std::ptr::null(),
        in_any_order: 0,
        strided_count: 0,
        strided: std::ptr::null(),
    };
    // SAFETY: the metadata are those of the function, and live as long as it is called.
    let callable = unsafe { Callable::new(&function) };
    assert_eq!(callable.outputs()[0].dtype(), DLDataType { code: 0, bits: 64, lanes: 1 });
    (0..count).all(|_| {
        let result = callable.run(&[]).expect("it runs");
        result[0].data() == (8 * (COUNT - 1)).to_ne_bytes()
    })
}

#[test]
fn a_child_of_a_process_with_calls_in_progress_calls_too() {
    let _alone = ALONE.lock().unwrap_or_else(|poison| poison.into_inner());
    set_num_threads(3);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    assert!(calls_are_right(10));
                }
            });
        }
        let wrong: Vec<_> = (0..2000)
            .map(|number| (number, in_child(|| calls_are_right(2))))
            .filter(|(_, status)| *status != 0)
            .take(3)
            .collect();
        is_over.store(true, Ordering::Relaxed);
        assert_eq!(wrong, [], "children that ended otherwise, or by the alarm");
    });
}
