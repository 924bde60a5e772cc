//! Several threads, several devices.

use std::thread;

use promote_devices::{Api, DeviceError};

use crate::kernels::{bench, on_each_device, pattern};

fn steps(values: &[u32], count: usize) -> Vec<u32> {
    let step = |value: u32| value.wrapping_mul(3).wrapping_add(1);
    values.iter().map(|value| (0..count).fold(*value, |value, _| step(value))).collect()
}

#[test]
fn a_device_moves_between_threads() {
    for api in Api::ALL {
        let Some(mut bench) = bench(api) else { continue };
        let values = pattern(1000, 7);
        let x = bench.upload(&values);
        bench.step(x, 1000);
        for _ in 0..3 {
            bench = thread::spawn(move || {
                bench.step(x, 1000);
                bench
            })
            .join()
            .unwrap();
        }
        assert_eq!(bench.download(x, 1000), steps(&values, 4));
        thread::spawn(move || drop(bench)).join().unwrap();
    }
}

#[test]
fn two_devices_compute_at_once() {
    on_each_device(|one| {
        let mut other = bench(one.device.description().api).unwrap();
        let (a, b) = (pattern(5000, 8), pattern(5000, 9));
        let (x, y) = (one.upload(&a), other.upload(&b));
        for _ in 0..10 {
            one.step(x, 5000);
            other.step(y, 5000);
        }
        let stale = Err(DeviceError::Stale { what: "memory" });
        assert_eq!(other.device.read(x, 0, &mut [0]), stale);
        assert_eq!(one.device.read(y, 0, &mut [0]), stale);
        assert_eq!(other.download(y, 5000), steps(&b, 10));
        drop(other);
        one.step(x, 5000);
        assert_eq!(one.download(x, 5000), steps(&a, 11));
    });
}

#[test]
fn devices_are_used_from_many_threads() {
    for api in Api::ALL {
        thread::scope(|scope| {
            for seed in 0..4 {
                scope.spawn(move || {
                    let Some(mut bench) = bench(api) else { return };
                    let values = pattern(3000, seed);
                    let x = bench.upload(&values);
                    for round in 1..=5 {
                        bench.step(x, 3000);
                        assert_eq!(bench.download(x, 3000), steps(&values, round));
                    }
                });
            }
        });
    }
}

#[test]
fn a_device_is_closed_while_it_computes() {
    on_each_device(|bench| {
        let mut other = crate::kernels::bench(bench.device.description().api).unwrap();
        let x = other.allocate(4 << 20);
        other.fill(x, 1 << 20, 1);
        for _ in 0..50 {
            other.step(x, 1 << 20);
        }
        drop(other);
    });
}
