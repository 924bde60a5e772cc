//! What kernels compute, and in which order.

use promote_devices::Argument;

use crate::kernels::{on_each_device, pattern};

#[test]
fn two_arrays_are_added() {
    on_each_device(|bench| {
        let n = 1000;
        let (a, b): (Vec<f32>, Vec<f32>) = (0..n).map(|at| (at as f32 * 0.5, 1e-3 * at as f32)).unzip();
        let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let (da, db) = (bench.upload(&bits(&a)), bench.upload(&bits(&b)));
        let dc = bench.upload(&vec![7; n + 1]);
        let arguments =
            [Argument::Memory(da), Argument::Memory(db), Argument::Memory(dc), Argument::Word(n as u64)];
        bench.run("add", n, &arguments).unwrap();
        let mut wanted: Vec<u32> = a.iter().zip(&b).map(|(a, b)| (a + b).to_bits()).collect();
        wanted.push(7);
        assert_eq!(bench.download(dc, n + 1), wanted);
    });
}

#[test]
fn a_launch_sees_what_the_one_before_wrote() {
    on_each_device(|bench| {
        let n = 10_000;
        let start = pattern(n, 1);
        let x = bench.upload(&start);
        // More than a batch of commands has.
        for _ in 0..500 {
            bench.step(x, n);
        }
        let step = |value: u32| value.wrapping_mul(3).wrapping_add(1);
        let wanted: Vec<u32> =
            start.iter().map(|value| (0..500).fold(*value, |value, _| step(value))).collect();
        assert_eq!(bench.download(x, n), wanted);
    });
}

#[test]
fn a_write_comes_after_launches_before_it() {
    on_each_device(|bench| {
        // The larger one takes several pieces of staging memory.
        for n in [100, 3 << 20] {
            let x = bench.allocate(n * 4);
            let written = pattern(n, 2);
            bench.fill(x, n, 5);
            bench.device.write(x, 0, &crate::kernels::bytes(&written)).unwrap();
            bench.step(x, n);
            let wanted: Vec<u32> =
                written.iter().map(|value| value.wrapping_mul(3).wrapping_add(1)).collect();
            assert!(bench.download(x, n) == wanted, "{n} elements");
            bench.device.free(x);
        }
    });
}

#[test]
fn copies_and_launches_are_in_order() {
    on_each_device(|bench| {
        let n = 4096;
        let (x, y) = (bench.upload(&vec![1; n]), bench.allocate(n * 8));
        bench.device.copy((x, 0), (y, 0), n as u64 * 4).unwrap();
        bench.fill(x, n, 2);
        bench.device.copy((x, 0), (y, n as u64 * 4), n as u64 * 4).unwrap();
        bench.fill(x, n, 3);
        let mut wanted = vec![1; n];
        wanted.extend(vec![2; n]);
        assert_eq!(bench.download(y, 2 * n), wanted);
        assert_eq!(bench.download(x, n), vec![3; n]);
    });
}

#[test]
fn groups_share_memory_between_barriers() {
    on_each_device(|bench| {
        let groups = 20_000;
        let values = pattern(groups * 64, 3);
        let (x, sums) = (bench.upload(&values), bench.allocate(groups * 4));
        bench.run("sum", values.len(), &[Argument::Memory(x), Argument::Memory(sums)]).unwrap();
        let wanted: Vec<u32> = values
            .chunks_exact(64)
            .map(|group| group.iter().fold(0, |sum: u32, value| sum.wrapping_add(*value)))
            .collect();
        assert_eq!(bench.download(sums, groups), wanted);
    });
}

#[test]
fn no_groups_are_no_launch() {
    on_each_device(|bench| {
        let x = bench.upload(&[9]);
        let arguments = [Argument::Memory(x), Argument::Word(1), Argument::Word(4)];
        for groups in [[0, 1, 1], [1, 0, 1], [1, 1, 0]] {
            bench.launch("fill", groups, crate::kernels::THREADS, &arguments).unwrap();
        }
        assert_eq!(bench.download(x, 1), [9]);
    });
}

#[test]
fn memory_freed_after_a_launch_is_still_there_for_it() {
    on_each_device(|bench| {
        let n = 1 << 16;
        let result = bench.allocate(n * 4);
        for round in 0..50 {
            let x = bench.allocate(n * 4);
            bench.fill(x, n, round);
            bench.device.copy((x, 0), (result, 0), n as u64 * 4).unwrap();
            bench.device.free(x);
            // It may get the same memory; what it writes comes later.
            let y = bench.allocate(n * 4);
            bench.fill(y, n, 1000);
            bench.device.free(y);
            if round % 10 == 9 {
                assert_eq!(bench.download(result, n), vec![round; n]);
            }
        }
    });
}

#[test]
fn a_module_may_be_unloaded_while_it_runs() {
    on_each_device(|bench| {
        let n = 1 << 20;
        let x = bench.upload(&vec![0; n]);
        for _ in 0..20 {
            bench.step(x, n);
        }
        bench.device.unload(bench.module);
        let wanted = (0..20).fold(0u32, |value, _| value.wrapping_mul(3).wrapping_add(1));
        assert_eq!(bench.download(x, n), vec![wanted; n]);
    });
}
