//! The program of devices, on each interface that has one, and on a driver of CUDA without a GPU.

use std::process::Output;

use crate::needed::{programs, python};
use crate::support::{Folder, PACKAGE};

/// What the programs end with that find no device.
const SKIPPED: i32 = 77;

/// Whether a program ran: it may be that it found no device, if none is required.
#[track_caller]
fn ran(target: &str, output: &Output) -> bool {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() == Some(SKIPPED) {
        let required = std::env::var("PROMOTE_REQUIRE_DEVICES").unwrap_or_default();
        let is_required = required.split(',').any(|name| name.trim() == target);
        assert!(!is_required, "{target} is in PROMOTE_REQUIRE_DEVICES: {out}");
        println!("skipped: no device ({})", out.trim());
        return false;
    }
    assert!(output.status.success(), "{target}: {}\n{out}{err}", output.status);
    true
}

fn on(target: &str) {
    programs(&["cc"]);
    let folder = Folder::new();
    ran(target, &folder.output(folder.compiles("devices.c"), &[target]));
}

#[test]
fn vulkan() {
    on("vulkan");
}

#[test]
fn opencl() {
    on("opencl");
}

#[test]
fn cuda() {
    on("cuda");
}

/// Everything but what kernels compute: they add eight floats, later than a device would.
#[test]
fn cuda_without_a_gpu() {
    programs(&["cc"]);
    let folder = Folder::with_fake_cuda();
    let program = folder.compiles("devices.c");
    for target in ["cuda", "cuda:sm_80"] {
        assert!(ran(target, &folder.output(&program, &[target])));
    }
    let refused = folder.output(&program, &["cuda:sm_100"]);
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(
        message.contains("fake 0 does not support code for sm_100: it is sm_90; compile for that"),
        "{message}"
    );
}

#[test]
fn the_example_in_c() {
    programs(&["cc"]);
    let folder = Folder::new();
    let program = folder.compiles(&format!("{PACKAGE}/../examples/devices/call.c"));
    for target in ["vulkan", "opencl", "cuda"] {
        let output = folder.output(&program, &[target]);
        if ran(target, &output) {
            let printed = String::from_utf8_lossy(&output.stdout);
            let results: Vec<&str> = printed.lines().skip(1).collect();
            assert_eq!(results, ["x + y = 11 22 33 44", "x + y + y = 21 42 63 84"], "{printed}");
        }
    }
}

#[test]
fn the_example_in_python() {
    let folder = Folder::new();
    let script = format!("{PACKAGE}/../examples/python/call_device.py");
    for target in ["vulkan", "opencl", "cuda"] {
        let output = folder.output(python(), &[&script, "./libpromote.so", target]);
        if ran(target, &output) {
            let printed = String::from_utf8_lossy(&output.stdout);
            let refused = "refused: promote_add: input 0 must be int32[?], but is float32[4]";
            let results = ["x + y = [10. 22. 34. 46.]", "x + x + y = [10. 24. 38. 52.]", refused];
            assert!(printed.lines().take(3).eq(results), "{printed}");
        }
    }
}

/// A capsule that nobody takes frees its tensor, and one that is taken does not.
#[test]
fn capsules_of_python_on_a_driver_without_a_gpu() {
    programs(&["cc"]);
    let folder = Folder::with_fake_cuda();
    let script = "
import sys, numpy as np
sys.path.insert(0, sys.argv[1])
from call_device import *
device = Device(Library('./libpromote.so'), 'cuda')
text = PROGRAM.replace('?', '8').replace('i32', 'f32')
add = device.compile(text, 'add')
x = np.arange(8, dtype=np.float32)
(once,) = add(x, x)
class Other:
    # A library that has the tensor by a capsule, as PyTorch does.
    def __init__(self, tensor, **asked): self.capsule = tensor.__dlpack__(**asked)
    def __dlpack__(self, stream): assert stream == device.info.stream; return self.capsule
(twice,) = add(Other(once), x)
assert once.managed is None
np.testing.assert_array_equal(twice.numpy(), x + x + x)
for asked in ({'max_version': (1, 0)}, {}, {'stream': 1}, {'stream': 7}):
    (unused_tensor,) = add(x, x)
    assert unused_tensor.__dlpack_device__() == (2, 0)
    unused_tensor.__dlpack__(**asked)
print('done')
";
    let examples = format!("{PACKAGE}/../examples/python");
    assert_eq!(folder.runs(python(), &["-c", script, &examples]), "done\n");
}
