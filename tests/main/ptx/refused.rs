//! What is refused, and how.

use promote::device::{DeviceTarget, open};

use super::{compiled, target};
use crate::execution::support::{known, session};

#[test]
fn what_no_definition_is_there_for_is_named() {
    let text = "func.func @f(%x: tensor<4xcomplex<f32>>, %y: tensor<4xcomplex<f32>>) -> !u {
          %0 = \"promote.atan2\"(%x, %y) : (tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>) -> !u
          return %0 : !u
        }";
    let refused = compiled(&session("jax", false, false), &known(text), target("sm_90"));
    assert_eq!(
        refused.err().as_deref(),
        Some("promote.atan2 of c64 is not lowered to devices: it is not defined")
    );
}

#[test]
fn targets_are_read_as_they_are_written() {
    for name in ["vulkan", "opencl", "cuda", "cuda:sm_80", "cuda:sm_90a", "cuda:sm_100"] {
        let target: DeviceTarget = name.parse().expect("it is a target");
        assert_eq!(target.to_string(), name);
    }
    let refused = |name: &str| name.parse::<DeviceTarget>().expect_err("it is none").to_string();
    assert_eq!(
        refused("metal"),
        "`metal` is no device; there are vulkan, opencl and cuda, or cuda:sm_90 for an architecture"
    );
    let close = refused("cuda:sm_9");
    assert!(
        close.starts_with("unknown CPU 'sm_9' for nvptx64-nvidia-cuda; did you mean 'sm_90' or"),
        "{close}"
    );
    let old = refused("cuda:sm_62");
    assert!(old.starts_with("no code is made for sm_62: ") && old.ends_with("from sm_70 on"), "{old}");
    for name in ["cuda:", "cuda:90", "vulkan:sm_90", "CUDA", ""] {
        refused(name);
    }
}

#[test]
fn what_is_emitted_says_which_architecture_it_is_for() {
    let text = known(
        "func.func @f(%x: tensor<4xf32>) -> !u {
           %0 = \"promote.negative\"(%x) : (tensor<4xf32>) -> !u
           return %0 : !u
         }",
    );
    for (asked, made) in [("cuda", "sm_80"), ("cuda:sm_100", "sm_100")] {
        let target = asked.parse().expect("it is a target");
        let code = compiled(&session("jax", false, false), &text, target).expect("it compiles");
        let ptx = code.ptx().expect("LLVM compiles it");
        assert!(ptx.contains(&format!("\n.target {made}\n")), "{ptx}");
        assert!(code.sidecar().contains(&format!("\"target\": \"cuda:{made}\"")), "{}", code.sidecar());
    }
}

#[test]
fn a_machine_without_a_driver_says_so() {
    let Err(error) = open(DeviceTarget::Cuda(None)) else { return };
    let error = error.to_string();
    assert!(error.contains("CUDA"), "{error}");
}
