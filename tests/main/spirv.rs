//! SPIR-V of every op, which `spirv-val` of the Khronos group finds valid for Vulkan and for OpenCL.

use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use promote::device::{DeviceTarget, compile_for};
use promote::op::ShapeRule;
use promote::{CompileOptions, DType, Op, Session, Source};

use crate::cases::{Case, SYSTEMS, System, cases};
use crate::execution::support::{known, on_all_cores, reported, session};
use crate::needed;

/// Functions in a module.
const FUNCTIONS: usize = 60;

/// The targets, and what `spirv-val` calls their environments.
const ENVIRONMENTS: [(DeviceTarget, &str); 2] =
    [(DeviceTarget::Vulkan, "vulkan1.2"), (DeviceTarget::OpenCl, "opencl2.0")];

/// Validates functions, those that are lowered; what is wrong.
fn check_functions(session: &Session, functions: &[(usize, Case)]) -> Vec<String> {
    let named = functions.iter().enumerate();
    let text: String =
        named.map(|(number, (_, case))| case.text(&format!("f{number}"), case.dtype)).collect();
    match (check(session, &text), functions) {
        (Ok(()), _) => Vec::new(),
        // A library may have a dtype rule for an op, and no code.
        (Err(why), [_]) if why.contains("is not lowered to") => Vec::new(),
        (Err(why), [_]) => vec![format!("{why}\n{text}")],
        (Err(_), _) => functions.chunks(1).flat_map(|one| check_functions(session, one)).collect(),
    }
}

/// Validates the code of a module for both; what is wrong.
fn check(session: &Session, text: &str) -> Result<(), String> {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    for (target, environment) in ENVIRONMENTS {
        let Some(mut module) = session.parse(Source::Text(text)) else {
            return Err(format!("unreadable: {:?}", session.take_diagnostics()));
        };
        let code = compile_for(session, &mut module, &CompileOptions::default(), target);
        session.take_diagnostics();
        let bytes = code.map_err(|error| error.to_string())?.spirv().bytes();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("promote-{}-{number}.spv", std::process::id()));
        std::fs::write(&path, bytes).expect("the temporary directory can be written to");
        let ran = Command::new("spirv-val")
            .args(["--target-env", environment])
            .arg(&path)
            .stdin(Stdio::null())
            .output()
            .expect("spirv-val runs");
        std::fs::remove_file(&path).expect("the file is there");
        if !ran.status.success() {
            return Err(format!("{environment}: {}", String::from_utf8_lossy(&ran.stderr)));
        }
    }
    Ok(())
}

/// Validates cases of all systems, so many at a time.
fn check_all(cases: &[(usize, Case)]) {
    needed::programs(&["spirv-val"]);
    let batches: Vec<&[(usize, Case)]> =
        cases.chunk_by(|(one, _), (other, _)| one == other).flat_map(|own| own.chunks(FUNCTIONS)).collect();
    let make = || SYSTEMS.map(|(name, x64)| session(name, x64, false));
    let found = on_all_cores(batches.len(), make, |sessions, index| {
        check_functions(&sessions[batches[index][0].0], batches[index])
    });
    reported(&format!("{} functions", cases.len()), found.into_iter().flatten().collect());
}

#[test]
fn every_op_of_every_dtype_on_odd_shapes() {
    check_all(&cases(&System::all(), 0..1, |_, _, _| true));
}

/// Each under one of the systems that run it, in turn.
#[test]
fn every_element_wise_op_of_every_dtype() {
    let ops = Op::ALL.iter().copied().filter(|op| op.info().shape == ShapeRule::Broadcast);
    let (systems, mut all) = (System::all(), Vec::new());
    for (number, op) in ops.enumerate() {
        for (turn, dtype) in DType::strong().enumerate() {
            let running: Vec<_> =
                (0..systems.len()).filter(|system| systems[*system].runs(op, dtype)).collect();
            if running.is_empty() {
                continue;
            }
            let mut case = Case::first(op, dtype);
            // Vectors, and a rest.
            case.shapes.fill(vec![1001]);
            all.push((running[(number + turn) % running.len()], case));
        }
    }
    all.sort_by_key(|(system, _)| *system);
    check_all(&all);
}

#[test]
fn control_flow_and_products() {
    let session = session("jax", false, false);
    let text = known(
        "func.func @power(%x: tensor<64x64xf32>, %n: index) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> (tensor<64x64xf32>) {
    %0 = \"promote.matmul\"(%a, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    scf.yield %0 : tensor<64x64xf32>
  }
  return %r : tensor<64x64xf32>
}
func.func @sorted(%x: tensor<?x33xf16>) -> !u {
  %0 = \"promote.sort\"(%x) {axis = array<i64: 0>} : (tensor<?x33xf16>) -> !u
  return %0 : !u
}",
    );
    check(&session, &text).unwrap_or_else(|why| panic!("{why}"));
}
