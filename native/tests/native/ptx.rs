//! Code for NVIDIA's devices.

use super::*;

use promote_native::{Architecture, ptx};

/// A kernel whose body is given.
fn kernel(body: &str) -> String {
    format!(
        r#"llvm.func ptx_kernelcc @k(%a: !llvm.ptr<1> {{llvm.noalias, llvm.readonly}}, %b: !llvm.ptr<1> {{llvm.noalias}})
             attributes {{passthrough = ["nounwind", ["nvvm.reqntid", "128,1,1"]]}} {{
             {body}
             llvm.return
           }}"#
    )
}

fn compiled_ptx(text: &str, architecture: Architecture) -> Result<String, Error> {
    // SAFETY: the module is alive and used by this thread only.
    with_module(text, |module| unsafe { ptx(module.to_raw(), architecture) })
}

#[test]
fn every_architecture_that_code_is_made_for_gets_some() {
    let text = kernel(
        "%x = llvm.load %a {alignment = 16 : i64} : !llvm.ptr<1> -> vector<4xf32>
         %0 = llvm.mlir.constant(0 : i64) : i64
         %y = llvm.extractelement %x[%0 : i64] : vector<4xf32>
         %p = llvm.fmul %y, %y : f32
         %s = llvm.fadd %p, %y : f32
         %z = llvm.insertelement %s, %x[%0 : i64] : vector<4xf32>
         llvm.store %z, %b {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr<1>",
    );
    let all = Architecture::all();
    assert!(all.len() > 20 && all.iter().min() == Some(&Architecture::LEAST), "{all:?}");
    for architecture in all {
        let code = compiled_ptx(&text, architecture).expect("the kernel compiles");
        let target = format!(".target {architecture}\n");
        for expected in [&target, ".visible .entry k(", ".reqntid 128", "mul.rn.f32", "add.rn.f32"] {
            assert!(code.contains(expected), "{architecture} lacks {expected}:\n{code}");
        }
        let is_wide = |line: &&str| line.contains(".v4.b32") || line.contains(".v2.b64");
        assert_eq!(code.lines().filter(is_wide).count(), 2, "{architecture}:\n{code}");
    }
}

#[test]
fn what_llvm_has_no_code_for_is_an_error_and_the_process_goes_on() {
    let quad = kernel(
        "%x = llvm.load %a : !llvm.ptr<1> -> f128
         %y = llvm.fadd %x, %x : f128
         llvm.store %y, %b : f128, !llvm.ptr<1>",
    );
    for _ in 0..2 {
        let error = compiled_ptx(&quad, Architecture::COMMON).expect_err("there is no such arithmetic");
        assert!(error.to_string().starts_with("LLVM gave up: "), "{error}");
        compiled_ptx(&kernel(""), Architecture::COMMON).expect("another kernel compiles");
    }
}

#[test]
fn architectures_are_read_as_they_are_written() {
    for name in ["sm_80", "sm_90", "sm_90a", "sm_100", "sm_100f"] {
        let read: Architecture = name.parse().expect("LLVM knows it");
        assert_eq!(read.to_string(), name);
    }
    assert_eq!(Architecture::COMMON.to_string(), "sm_80");
    let refused = |name: &str| name.parse::<Architecture>().expect_err("it is none").to_string();
    let expected = "unknown CPU 'sm_91' for nvptx64-nvidia-cuda; did you mean ";
    assert!(refused("sm_91").starts_with(expected), "{}", refused("sm_91"));
    for name in ["", "90", "sm_", "sm_090", "sm_9é", "SM_90", "sm_90A"] {
        assert!(refused(name).starts_with("unknown CPU "), "{name}");
    }
}

/// The exchange that reductions of rows use.
#[test]
fn what_is_too_old_for_kernels_is_refused() {
    let exchange = kernel(
        "%all = llvm.mlir.constant(-1 : i32) : i32
         %clamp = llvm.mlir.constant(31 : i32) : i32
         %x = llvm.load %a : !llvm.ptr<1> -> i32
         %y = llvm.call_intrinsic \"llvm.nvvm.shfl.sync.idx.i32\"(%all, %x, %x, %clamp)
           : (i32, i32, i32, i32) -> i32
         llvm.store %y, %b : i32, !llvm.ptr<1>",
    );
    let code = compiled_ptx(&exchange, Architecture::LEAST).expect("it is the first that has it");
    assert!(code.contains("shfl.sync.idx.b32"), "{code}");
    for name in ["sm_20", "sm_53", "sm_60", "sm_62"] {
        let refused = name.parse::<Architecture>().expect_err("it is too old").to_string();
        assert_eq!(
            refused,
            format!(
                "no code is made for {name}: kernels exchange numbers between the threads of a warp by shfl.sync, \
                 which LLVM has from sm_70 on"
            )
        );
    }
}

#[test]
fn a_device_gets_the_latest_code_that_it_runs() {
    let of = |number| Architecture::of_device(number).map(|found| found.to_string());
    let latest = ["sm_70", "sm_80", "sm_86", "sm_90", "sm_100"].map(|name| Some(name.to_owned()));
    assert_eq!([70, 80, 86, 90, 100].map(of), latest);
    // What LLVM does not know yet runs what is made for those before it.
    assert_eq!(of(85), of(80));
    assert_eq!([0, 61, 69].map(of), [None, None, None]);
    let runs = |name: &str, number| name.parse::<Architecture>().expect("LLVM knows it").runs_on(number);
    assert!(runs("sm_80", 90) && runs("sm_90", 90) && runs("sm_90a", 90) && runs("sm_100f", 103));
    assert!(!runs("sm_90", 80) && !runs("sm_90a", 100) && !runs("sm_100f", 120) && !runs("sm_100a", 103));
}
