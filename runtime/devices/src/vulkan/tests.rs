//! Transfers on devices whose memory the host does not see, by not looking.

use super::driver::Vulkan;
use super::{devices, instance};
use crate::Device;
use crate::checked::Checked;

/// A device that is treated as if its memory were its own; `None` if there is none.
fn separate() -> Option<Checked<Vulkan>> {
    let mut device = match devices() {
        Ok(devices) => devices.into_iter().next()?,
        Err(error) => {
            println!("skipped: no device ({error})");
            return None;
        }
    };
    device.description.limits.unified_memory = false;
    let instance = instance().expect("it has devices");
    Some(Checked::new(Vulkan::new(instance, device).expect("the device can be opened")))
}

#[test]
fn bytes_go_by_way_of_staging_memory() {
    let Some(mut device) = separate() else { return };
    // More than all batches have, and not a whole number of pieces.
    let values: Vec<u8> = (0..40_000_003u32).map(|at| (at.wrapping_mul(0x9E37_79B9) >> 24) as u8).collect();
    let bytes = values.len() as u64;
    let (x, y) = (device.allocate(bytes).unwrap(), device.allocate(bytes).unwrap());
    device.write(x, 0, &values).unwrap();
    device.copy((x, 0), (y, 0), bytes).unwrap();
    device.write(x, 7, &[1, 2, 3]).unwrap();
    let mut read = vec![0; values.len()];
    device.read(y, 0, &mut read).unwrap();
    assert!(read == values);
    let mut part = [0; 5];
    device.read(x, 6, &mut part).unwrap();
    assert_eq!(part, [values[6], 1, 2, 3, values[10]]);
    device.free(x);
    device.read(y, bytes - 5, &mut part).unwrap();
    assert_eq!(part, values[values.len() - 5..]);
}

#[test]
fn memory_is_freed_after_what_uses_it() {
    let Some(mut device) = separate() else { return };
    let bytes = 1 << 20;
    let result = device.allocate(bytes).unwrap();
    for round in 0..40u8 {
        // Each is of another size class, so that the pool fills and memory is given back to the driver.
        let x = device.allocate(bytes + (u64::from(round) << 24)).unwrap();
        device.write(x, 0, &vec![round; bytes as usize]).unwrap();
        device.copy((x, 0), (result, 0), bytes).unwrap();
        device.free(x);
    }
    let mut read = vec![0; bytes as usize];
    device.read(result, 0, &mut read).unwrap();
    assert_eq!(read, vec![39; bytes as usize]);
}
