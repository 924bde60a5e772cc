//! The checks over a driver that counts its calls.

use super::{Checked, Driver, Value};
use crate::device::{Argument, Code, Description, Device, Launch, Limits};
use crate::{Api, DeviceError};

const MEMORY: u64 = 1 << 20;

/// A driver with memory of its own that does nothing but count.
struct Counting {
    description: Description,
    allocations: u32,
    releases: u32,
    /// What it has left.
    left: u64,
    launches: u32,
    /// From this launch on, the device is lost.
    lost_at: u32,
}

impl Counting {
    fn device(left: u64, lost_at: u32) -> Checked<Self> {
        let limits = Limits {
            memory_bytes: MEMORY,
            allocation_bytes: MEMORY / 2,
            group_threads: 64,
            groups: [100, 10, 1],
            ..Limits::default()
        };
        let description = Description {
            api: Api::Cuda,
            index: 0,
            name: "counter".to_owned(),
            driver: String::new(),
            limits,
        };
        Checked::new(Self { description, allocations: 0, releases: 0, left, launches: 0, lost_at })
    }
}

impl Driver for Counting {
    type Buffer = u64;
    type Module = ();

    fn description(&self) -> &Description {
        &self.description
    }

    fn load(&mut self, _: Code<'_>) -> Result<(), DeviceError> {
        Ok(())
    }

    fn unload(&mut self, (): ()) {}

    fn allocate(&mut self, bytes: u64) -> Result<u64, DeviceError> {
        let full = || DeviceError::OutOfMemory { device: "counter".to_owned(), bytes };
        self.left = self.left.checked_sub(bytes).ok_or_else(full)?;
        self.allocations += 1;
        Ok(bytes)
    }

    fn release(&mut self, buffer: u64) {
        self.left += buffer;
        self.releases += 1;
    }

    fn import(&mut self, _: u64, bytes: u64) -> Result<u64, DeviceError> {
        Ok(bytes)
    }

    fn address(&self, _: &u64) -> Option<u64> {
        None
    }

    fn write(&mut self, _: &u64, _: u64, _: &[u8]) -> Result<(), DeviceError> {
        Ok(())
    }

    fn read(&mut self, _: &u64, _: u64, _: &mut [u8]) -> Result<(), DeviceError> {
        Ok(())
    }

    fn copy(&mut self, _: (&u64, u64), _: (&u64, u64), _: u64) -> Result<(), DeviceError> {
        Ok(())
    }

    fn launch(&mut self, (): &(), _: &Launch<'_>, _: &[Value<'_, u64>]) -> Result<(), DeviceError> {
        self.launches += 1;
        if self.launches >= self.lost_at {
            return Err(DeviceError::Lost { device: "counter".to_owned(), why: "a trap".to_owned() });
        }
        Ok(())
    }

    fn synchronize(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}

#[test]
fn a_loop_that_allocates_and_frees_calls_no_driver() {
    let mut device = Counting::device(MEMORY, u32::MAX);
    for round in 0..1000 {
        let (x, y) = (device.allocate(5000 + round % 50).unwrap(), device.allocate(300).unwrap());
        device.free(x);
        device.free(y);
    }
    assert_eq!((device.driver.allocations, device.driver.releases), (2, 0));
}

#[test]
fn the_pool_keeps_a_quarter_of_the_memory() {
    let mut device = Counting::device(MEMORY, u32::MAX);
    let all: Vec<_> = (0..8).map(|_| device.allocate(MEMORY / 8).unwrap()).collect();
    for memory in all {
        device.free(memory);
    }
    assert_eq!((device.driver.releases, device.allocated), (6, MEMORY / 4));
}

#[test]
fn pooled_memory_makes_room_for_what_does_not_fit() {
    let mut device = Counting::device(MEMORY / 4, u32::MAX);
    let small: Vec<_> = (0..4).map(|_| device.allocate(MEMORY / 16).unwrap()).collect();
    for memory in small {
        device.free(memory);
    }
    let x = device.allocate(MEMORY / 4).unwrap();
    assert_eq!((device.driver.releases, device.driver.left), (4, 0));
    let device_name = "counter".to_owned();
    assert_eq!(device.allocate(1), Err(DeviceError::OutOfMemory { device: device_name, bytes: 1 }));
    device.free(x);
    device.allocate(1).unwrap();
}

#[test]
fn the_last_memory_is_given_by_the_byte() {
    // Its size class is larger.
    let mut device = Counting::device(100_001, u32::MAX);
    device.allocate(100_001).unwrap();
    assert_eq!(device.driver.left, 0);
}

#[test]
fn a_driver_that_promises_more_than_there_is_is_not_believed() {
    let mut device = Counting::device(u64::MAX, u32::MAX);
    device.allocate(MEMORY / 2).unwrap();
    device.allocate(MEMORY / 2).unwrap();
    let device_name = "counter".to_owned();
    assert_eq!(device.allocate(256), Err(DeviceError::OutOfMemory { device: device_name, bytes: 256 }));
}

#[test]
fn imported_memory_is_forgotten_and_not_released() {
    let mut device = Counting::device(MEMORY, u32::MAX);
    let x = device.import(64, 100).unwrap();
    device.write(x, 90, &[0; 10]).unwrap();
    device.free(x);
    assert_eq!(device.write(x, 0, &[0]), Err(DeviceError::Stale { what: "memory" }));
    drop(device.pool.drain());
    assert_eq!((device.driver.releases, device.allocated), (0, 0));
}

#[test]
fn a_lost_device_stays_lost() {
    let mut device = Counting::device(MEMORY, 2);
    let module = device.load(Code::Ptx("")).unwrap();
    let x = device.allocate(8).unwrap();
    let launch = Launch { module, entry: "f", groups: [1; 3], threads: 1, arguments: &[Argument::Memory(x)] };
    device.launch(&launch).unwrap();
    let lost = device.launch(&launch).unwrap_err();
    assert!(matches!(lost, DeviceError::Lost { .. }));
    assert_eq!(device.launch(&launch), Err(lost.clone()));
    assert_eq!(device.synchronize(), Err(lost.clone()));
    assert_eq!(device.write(x, 0, &[1]), Err(lost.clone()));
    assert_eq!(device.read(x, 0, &mut [1]), Err(lost.clone()));
    assert_eq!(device.allocate(1), Err(lost.clone()));
    assert_eq!(device.load(Code::Ptx("")), Err(lost));
    assert_eq!(device.driver.launches, 2);
    device.free(x);
    device.unload(module);
}
