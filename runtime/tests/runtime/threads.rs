//! The pool: every index once, any number of callers, panics, nesting; and the floating-point environment.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use promote_runtime::{
    parallel, promote_get_num_threads, promote_set_flush_denormals, promote_set_num_threads, set_num_threads,
};

use super::*;

/// Tests here set the number of threads, which is the process's.
static NUMBER: Mutex<()> = Mutex::new(());

/// Runs `test` with a number of threads, and nobody else of this module beside it.
fn with_threads<T>(number: usize, test: impl FnOnce() -> T) -> T {
    let _alone = NUMBER.lock().unwrap_or_else(|poison| poison.into_inner());
    set_num_threads(number);
    let value = test();
    set_num_threads(0);
    value
}

fn ranges(count: i64, grain: i64) -> Vec<(i64, i64)> {
    let ranges = Mutex::new(Vec::new());
    parallel(count, grain, &|begin, end| ranges.lock().expect("nobody panics").push((begin, end)));
    let mut ranges = ranges.into_inner().expect("nobody panics");
    ranges.sort_unstable();
    ranges
}

#[test]
fn every_index_is_visited_once_in_pieces_of_at_least_the_grain() {
    for threads in [1, 2, 5] {
        with_threads(threads, || {
            for (count, grain) in
                [(0, 1), (1, 1), (7, 3), (100, 1), (1000, 16), (1001, 500), (99, 100), (-4, 2), (9, 0)]
            {
                let ranges = ranges(count, grain);
                assert_eq!(ranges.first().map_or(0, |range| range.0), 0);
                assert_eq!(ranges.last().map_or(0, |range| range.1), count.max(0));
                for pair in ranges.windows(2) {
                    assert_eq!(pair[0].1, pair[1].0, "{count} by {grain} on {threads}: {ranges:?}");
                }
                let least = grain.clamp(1, count.max(1));
                assert!(
                    ranges.iter().all(|range| range.1 - range.0 >= least && range.0 % grain.max(1) == 0),
                    "{ranges:?}"
                );
                assert!(threads > 1 || ranges.len() <= 1);
            }
        });
    }
}

#[test]
fn no_piece_is_more_than_a_grain_longer_than_another() {
    with_threads(2, || {
        for (count, grain) in [(15, 1), (23, 1), (160, 10), (3141, 7 * 9)] {
            let whole = ranges(count - count % grain, grain);
            let lengths = whole.iter().map(|(begin, end)| end - begin);
            let (least, most) = (lengths.clone().min(), lengths.max());
            assert!(most <= least.map(|least| least + grain), "{count} by {grain}: {whole:?}");
            assert_eq!(whole.len() % 2, 0, "two threads have as many each: {whole:?}");
        }
    });
}

#[test]
fn threads_share_the_work() {
    with_threads(4, || {
        let seen = Mutex::new(HashSet::new());
        parallel(16, 1, &|_, _| {
            seen.lock().expect("nobody panics").insert(std::thread::current().id());
            std::thread::sleep(Duration::from_millis(10));
        });
        assert_eq!(seen.into_inner().expect("nobody panics").len(), 4);
    });
}

#[test]
fn a_loop_in_a_loop_runs_on_its_thread() {
    with_threads(4, || {
        let total = AtomicU32::new(0);
        parallel(40, 1, &|begin, end| {
            for _ in begin..end {
                let outer = std::thread::current().id();
                parallel(1000, 1, &|begin, end| {
                    assert_eq!((outer, begin, end), (std::thread::current().id(), 0, 1000));
                    total.fetch_add(1, Ordering::Relaxed);
                });
            }
        });
        assert_eq!(total.into_inner(), 40);
    });
}

#[test]
fn a_panic_comes_out_and_the_pool_goes_on() {
    with_threads(3, || {
        for _ in 0..50 {
            let outcome = catch_unwind(AssertUnwindSafe(|| {
                parallel(100, 1, &|begin, end| assert!(!(begin..end).contains(&37), "thirty-seven"));
            }));
            let panic = outcome.expect_err("index 37 panics");
            assert_eq!(panic.downcast_ref::<&str>().copied(), Some("thirty-seven"));
            let sum = AtomicU32::new(0);
            parallel(100, 1, &|begin, end| {
                sum.fetch_add((end - begin) as u32, Ordering::Relaxed);
            });
            assert_eq!(sum.into_inner(), 100);
        }
    });
}

#[test]
fn many_callers_at_once() {
    with_threads(4, || {
        std::thread::scope(|scope| {
            for caller in 0..12u32 {
                scope.spawn(move || {
                    for round in 0..300 {
                        let count = i64::from(caller * 7 + round % 13 + 2);
                        let sum = AtomicU32::new(0);
                        parallel(count, 1, &|begin, end| {
                            (begin..end).for_each(|index| {
                                sum.fetch_add(index as u32, Ordering::Relaxed);
                            });
                        });
                        assert_eq!(i64::from(sum.into_inner()), count * (count - 1) / 2);
                    }
                });
            }
        });
    });
}

#[test]
fn calls_run_at_once_from_many_threads() {
    with_threads(2, || {
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for round in 0..100 {
                        let rows = 1 + round % 9;
                        let x = counting(rows * 100);
                        let mut out = vec![0f32; rows * 100];
                        let shape = [rows as i64, 100];
                        let inputs = &mut [Tensor::new(F32, x.as_ptr(), &shape)];
                        let outputs = &mut [Tensor::new(F32, out.as_mut_ptr(), &shape)];
                        assert_eq!(call(incrementer(), inputs, outputs), ok());
                        assert!(out.iter().zip(&x).all(|(out, x)| *out == x + 1.0));
                    }
                });
            }
        });
    });
}

#[test]
fn code_learns_how_many_threads_a_loop_has() {
    with_threads(3, || {
        assert_eq!(exports::promote_rt_threads(), 3);
        parallel(8, 1, &|_, _| assert_eq!(exports::promote_rt_threads(), 1));
    });
}

#[test]
fn the_number_of_threads_can_be_set_from_c() {
    with_threads(2, || {
        promote_set_num_threads(3);
        assert_eq!(promote_get_num_threads(), 3);
        promote_set_num_threads(i32::MAX);
        assert_eq!(promote_get_num_threads(), 1024);
        promote_set_num_threads(-1);
        assert!((1..=1024).contains(&promote_get_num_threads()));
    });
}

#[test]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn denormals_are_flushed_on_every_thread_if_asked() {
    extern "C" fn body(env: *mut u8, begin: i64, end: i64) {
        for index in begin as usize..end as usize {
            // SAFETY: the environment is the output.
            let place = unsafe { &mut *env.cast::<f32>().add(index) };
            *place = std::hint::black_box(f32::MIN_POSITIVE) * std::hint::black_box(0.5);
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    unsafe extern "C" fn entry(context: *mut Context, _: *const Input) -> i32 {
        // SAFETY: the function is declared with one result of 40 elements.
        unsafe {
            let to = exports::promote_rt_output(context, 0, [40i64].as_ptr());
            exports::promote_rt_parallel(context, body, to, 40, 1);
        }
        0
    }
    with_threads(3, || {
        let function = meta(entry, None, &[], &[(F32, &[40])]);
        for (flush, expected) in
            [(false, f32::MIN_POSITIVE / 2.0), (true, 0.0), (false, f32::MIN_POSITIVE / 2.0)]
        {
            promote_set_flush_denormals(flush);
            let mut out = [7f32; 40];
            assert_eq!(call(function, &mut [], &mut [Tensor::new(F32, out.as_mut_ptr(), &[40])]), ok());
            assert_eq!(out, [expected; 40]);
            let here = std::hint::black_box(f32::MIN_POSITIVE) * std::hint::black_box(0.5);
            assert_ne!(here, 0.0, "the caller's environment is as it was");
        }
    });
}

/// What a parallel loop costs, printed for the record: `cargo test --release -- --nocapture dispatch`.
#[test]
fn dispatch() {
    with_threads(2, || {
        let rounds = 2000;
        let mut times: Vec<f64> = (0..rounds)
            .map(|_| {
                let start = std::time::Instant::now();
                parallel(2, 1, &|begin, _| {
                    std::hint::black_box(begin);
                });
                start.elapsed().as_secs_f64() * 1e6
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!(
            "a parallel loop: median {:.2} us, 95 % {:.2} us",
            times[rounds / 2],
            times[rounds * 95 / 100]
        );
    });
}
