//! Allocations and transfers.

use promote_devices::{Api, DeviceError};

use crate::kernels::{bytes, on_each_device, pattern};

#[test]
fn large_memory_goes_there_and_back() {
    on_each_device(|bench| {
        let n = 16 << 20;
        let values = pattern(n, 4);
        let x = bench.upload(&values);
        let y = bench.allocate(n * 4);
        bench.device.copy((x, 0), (y, 0), n as u64 * 4).unwrap();
        assert!(bench.download(y, n) == values);
    });
}

#[test]
fn a_part_of_memory_is_written_and_read() {
    on_each_device(|bench| {
        let x = bench.upload(&[1, 2, 3, 4]);
        bench.device.write(x, 5, &[0xaa, 0xbb]).unwrap();
        let mut read = [0; 4];
        bench.device.read(x, 4, &mut read).unwrap();
        assert_eq!(read, [2, 0xaa, 0xbb, 0]);
        bench.device.copy((x, 4), (x, 13), 3).unwrap();
        assert_eq!(bench.download(x, 4), [1, 0x00bb_aa02, 3, 0xbbaa_0204]);
    });
}

#[test]
fn memory_may_have_no_bytes() {
    on_each_device(|bench| {
        let x = bench.allocate(0);
        bench.device.write(x, 0, &[]).unwrap();
        bench.device.read(x, 0, &mut []).unwrap();
        bench.device.copy((x, 0), (x, 0), 0).unwrap();
        let error = bench.device.write(x, 0, &[1]).unwrap_err();
        assert_eq!(error, DeviceError::OutOfRange { offset: 0, bytes: 1, size: 0 });
        bench.device.free(x);
    });
}

#[test]
fn ranges_beyond_memory_are_refused() {
    on_each_device(|bench| {
        let x = bench.upload(&[1, 2]);
        for offset in [1, 8, 9, u64::MAX - 3, u64::MAX] {
            let wanted = DeviceError::OutOfRange { offset, bytes: 8, size: 8 };
            assert_eq!(bench.device.write(x, offset, &[0; 8]), Err(wanted.clone()));
            assert_eq!(bench.device.read(x, offset, &mut [0; 8]), Err(wanted.clone()));
            assert_eq!(bench.device.copy((x, offset), (x, 0), 8), Err(wanted.clone()));
            assert_eq!(bench.device.copy((x, 0), (x, offset), 8), Err(wanted));
        }
        let error = bench.device.copy((x, 0), (x, 2), 4).unwrap_err();
        assert_eq!(error, DeviceError::Overlap { from: 0, to: 2, bytes: 4 });
        assert_eq!(bench.download(x, 2), [1, 2]);
    });
}

#[test]
fn freed_memory_is_stale() {
    on_each_device(|bench| {
        let x = bench.upload(&[1]);
        bench.device.free(x);
        // Another one in its place.
        let y = bench.upload(&[2]);
        let stale = Err(DeviceError::Stale { what: "memory" });
        assert_eq!(bench.device.write(x, 0, &[1]), stale);
        assert_eq!(bench.device.read(x, 0, &mut [1]), stale);
        assert_eq!(bench.device.copy((x, 0), (y, 0), 1), stale);
        assert_eq!(bench.device.copy((y, 0), (x, 0), 1), stale);
        assert_eq!(bench.device.address(x), None);
        bench.device.free(x);
        assert_eq!(bench.download(y, 1), [2]);
    });
}

#[test]
fn freed_memory_is_used_again() {
    on_each_device(|bench| {
        let x = bench.allocate(1000);
        let address = bench.device.address(x);
        bench.device.free(x);
        let y = bench.allocate(1001);
        assert_eq!(bench.device.address(y), address);
        assert_eq!(address.is_some(), bench.device.description().api != Api::Vulkan);
    });
}

#[test]
fn more_memory_than_there_is_is_refused_and_the_rest_is_kept() {
    on_each_device(|bench| {
        let kept = bench.upload(&pattern(1000, 5));
        let limits = bench.device.description().limits;
        let part = limits.allocation_bytes.min(limits.memory_bytes / 4);
        let mut parts = Vec::new();
        let error = loop {
            match bench.device.allocate(part) {
                Ok(memory) => parts.push(memory),
                Err(error) => break error,
            }
            assert!(parts.len() < 100, "{part} bytes of {}", limits.memory_bytes);
        };
        let device = bench.device.description().name.clone();
        assert_eq!(error, DeviceError::OutOfMemory { device, bytes: part });
        assert!(parts.len() >= 2);
        for part in parts {
            bench.device.free(part);
        }
        // What the pool keeps of it is not in the way.
        let large = bench.allocate(usize::try_from(part / 2).unwrap());
        bench.device.free(large);
        bench.step(kept, 1000);
        let wanted: Vec<u32> =
            pattern(1000, 5).iter().map(|value| value.wrapping_mul(3).wrapping_add(1)).collect();
        assert_eq!(bench.download(kept, 1000), wanted);
    });
}

#[test]
fn too_large_an_allocation_is_refused() {
    on_each_device(|bench| {
        let limit = bench.device.description().limits.allocation_bytes;
        let device = bench.device.description().name.clone();
        for bytes in [limit + 1, u64::MAX] {
            let wanted = DeviceError::TooLarge { device: device.clone(), bytes, limit };
            assert_eq!(bench.device.allocate(bytes), Err(wanted));
        }
    });
}

#[test]
fn only_cuda_imports_memory() {
    on_each_device(|bench| {
        let values = pattern(100, 6);
        let x = bench.upload(&values);
        if bench.device.description().api != Api::Cuda {
            let error = bench.device.import(64, 4).unwrap_err();
            assert!(matches!(error, DeviceError::Unsupported { .. }), "{error}");
            return;
        }
        let address = bench.device.address(x).unwrap();
        let view = bench.device.import(address + 40, 360).unwrap();
        assert_eq!(bench.download(view, 90), values[10..]);
        bench.device.free(view);
        assert_eq!(bench.download(x, 100), values);
        let host = bytes(&values);
        let error = bench.device.import(host.as_ptr() as u64, 400).unwrap_err();
        assert!(matches!(error, DeviceError::Foreign { .. }), "{error}");
    });
}
