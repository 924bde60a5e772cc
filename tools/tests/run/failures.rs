//! Programs that are refused, runs that fail, and command lines that are wrong.

use crate::needed::programs;
use crate::support::{BAD, CORPUS, Tool};
use crate::{PROMOTE_RUN, ROWS, identity, run, run_in};

#[test]
fn programs_are_refused_as_by_promote_opt() {
    let run = run(BAD, &[]).refused();
    assert!(run.stderr.starts_with("f.mlir:3:8: error[P0007]: "), "{run}");
    assert!(
        run.stderr.contains("\n  %0 = \"promote.add\"") && run.stderr.contains("f.mlir:4:8: error[P0010]"),
        "{run}"
    );
}

#[test]
fn standard_input_is_read_as_a_program() {
    let tool = Tool::new();
    let args = ["--input", "[[1, 2, 3]]", "--input", "[1, 2, 3]"];
    assert!(tool.command(PROMOTE_RUN, ROWS, args).succeeded().text().starts_with("rows.0: float32[1,3]\n"));
    let run = tool.command(PROMOTE_RUN, BAD, [] as [&str; 0]).refused();
    assert!(run.stderr.starts_with("<stdin>:3:8: error[P0007]"), "{run}");
}

#[test]
fn extents_that_do_not_fit_are_shown_in_the_program() {
    let program = r#"!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<?xf32>, %y: tensor<?xf32>) -> !u {
  %0 = "promote.add"(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> !u
  return %0 : !u
}
"#;
    let run = run(program, &["-i", "[1, 2, 3]", "-i", "[1, 2]"]).refused();
    assert!(
        run.stderr.starts_with("f.mlir:3:8: error[P0053]: promote.add: dimension 0 of operand 0"),
        "{run}"
    );
    assert!(run.stderr.contains("\n  %0 = \"promote.add\"(%x, %y)"), "{run}");
}

#[test]
fn more_than_memory_is_an_error() {
    let program = r#"func.func @f(%x: tensor<f32>) -> tensor<1000000x1000000xf32> {
  %0 = "promote.broadcast_to"(%x) {shape = array<i64: 1000000, 1000000>} : (tensor<f32>) -> tensor<1000000x1000000xf32>
  return %0 : tensor<1000000x1000000xf32>
}
"#;
    let run = run(program, &["-i", "1"]).refused();
    assert!(run.stderr.contains("error[P0053]: f: "), "{run}");
    assert!(run.stderr.contains("larger than the memory of this machine"), "{run}");
}

/// A file in the place of the driver that is none.
#[test]
fn a_driver_that_cannot_be_loaded() {
    for (target, interface, library) in [
        ("cuda", "CUDA", "libcuda.so.1"),
        ("vulkan", "Vulkan", "libvulkan.so.1"),
        ("opencl", "OpenCL", "libOpenCL.so.1"),
    ] {
        let tool = Tool::new().with(library, "").with_variable("LD_LIBRARY_PATH", ".");
        let run =
            run_in(&tool, ROWS, &["-i", "[[1, 2, 3]]", "-i", "[1, 2, 3]", "--target", target]).refused();
        let expected = format!("no {interface} driver: {library} cannot be loaded (");
        assert!(run.stderr.contains(&expected), "{target}: {run}");
        assert!(run.stderr.contains("); install the driver of your device\n"), "{target}: {run}");
        assert_eq!(run.text(), "", "{target}");
    }
}

/// By a driver without a GPU, which has two devices.
#[test]
fn a_device_that_is_not_there() {
    programs(&["cc"]);
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/support/fake_cuda.c");
    for (wanted, why) in [
        ("h200", "PROMOTE_DEVICE asks for `h200`, but there are: 0: fake 0, 1: fake 1"),
        ("2", "PROMOTE_DEVICE asks for `2`, but there are: 0: fake 0, 1: fake 1"),
    ] {
        let tool = Tool::new();
        let script = format!("cc -shared -fPIC -Wl,-soname,libcuda.so.1 '{source}' -o libcuda.so.1");
        tool.shell(&script).succeeded();
        let tool = tool.with_variable("LD_LIBRARY_PATH", ".").with_variable("PROMOTE_DEVICE", wanted);
        let args = ["-i", "[[1, 2, 3]]", "-i", "[1, 2, 3]", "--target=cuda"];
        let run = run_in(&tool, ROWS, &args).refused();
        assert!(run.stderr.contains(&format!("no CUDA device: {why}")), "{run}");
        assert_eq!(run.text(), "");
    }
}

/// An older device, of a driver that executes PTX on a processor; GPUs have the architecture that they have.
#[test]
fn a_device_without_the_tensor_cores_that_were_asked_for() {
    let program = r#"!u = tensor<*x!promote.unknown>
func.func @f(%x: tensor<64x33xf32>, %y: tensor<33x64xf32>) -> !u {
  %0 = "promote.convert"(%x) : (tensor<64x33xf32>) -> tensor<64x33xf8E4M3FNUZ>
  %1 = "promote.convert"(%y) : (tensor<33x64xf32>) -> tensor<33x64xf8E4M3FNUZ>
  %2 = "promote.convert"(%0) : (tensor<64x33xf8E4M3FNUZ>) -> tensor<64x33xf32>
  %3 = "promote.convert"(%1) : (tensor<33x64xf8E4M3FNUZ>) -> tensor<33x64xf32>
  %4 = "promote.matmul"(%2, %3) : (tensor<64x33xf32>, tensor<33x64xf32>) -> !u
  %5 = "promote.sum"(%4) : (!u) -> !u
  return %5 : !u
}
"#;
    let ones = |rows: usize, columns: usize| format!("{:?}", vec![vec![1.0; columns]; rows]);
    let (x, y) = (ones(64, 33), ones(33, 64));
    for capability in ["7.5", "9.0"] {
        let tool = Tool::new().with_variable("PROMOTE_PTX_MACHINE_CAPABILITY", capability);
        let args = ["-i", &x, "-i", &y, "--target=cuda", "--tensor-cores=all"];
        let run = run_in(&tool, program, &args);
        let is_required =
            std::env::var("PROMOTE_REQUIRE_DEVICES").is_ok_and(|devices| devices.contains("cuda"));
        if !is_required && (run.stderr.contains("no CUDA driver") || run.stderr.contains("no CUDA device")) {
            println!("skipped: no device ({})", run.stderr);
            return;
        }
        assert!(run.succeeded().text().contains("135168"), "{capability}");
    }
}

#[test]
fn wrong_usage() {
    for (args, reason) in [
        (&["--target", "vulkan", "--denormals=flush"][..], "error[P0055]: vulkan keeps denormal numbers"),
        (&["--target=vulkan", "--tensor-cores=all"], "--tensor-cores is for NVIDIA's devices"),
        (&["--tensor-cores=exact"], "add --target=cuda, or leave it out"),
        (&["--target=cuda", "--tensor-cores=some"], "invalid value 'some'"),
        (&["--target=cuda:sm_1"], "sm_1"),
        (
            &["--target=tpu"],
            "it is cpu, cuda, vulkan or opencl, or cuda with an architecture, as in cuda:sm_90",
        ),
        (&["--target-cpu=none-such"], "unknown CPU 'none-such'"),
        (&["--threads=0"], "0 is not in 1..=1024"),
        (&["--denormals=maybe"], "invalid value 'maybe'"),
        (&["--semantics=none"], "none"),
        (&["-o", "x.npy", "--output-dir", "d"], "cannot be used with"),
        (
            &["-o", "x.npy", "-i", "[[1, 2, 3]]", "-i", "[1, 2, 3]"],
            "rows has 2 result(s), but -o names 1 file(s)",
        ),
    ] {
        let run = run(ROWS, args).misused();
        assert!(run.stderr.contains(reason), "{run}");
    }
}

#[test]
fn functions_of_what_is_no_tensor_are_refused() {
    let run = run("func.func @f(%x: memref<4xf32>) { return }\n", &[]).refused();
    assert!(run.stderr.contains("f.mlir:1:"), "{run}");
}

#[test]
fn diagnostics_have_the_formats_of_promote_opt() {
    let tool = Tool::new();
    let json = run_in(&tool, BAD, &["--diagnostics-format=json"]);
    assert_eq!((json.status, json.stderr.lines().count()), (Some(1), 2), "{json}");
    let sarif = run_in(&tool, BAD, &["--diagnostics-format=sarif"]);
    assert!(sarif.stderr.contains("\"version\": \"2.1.0\""), "{sarif}");
    let warned =
        run_in(&tool, &identity("tensor<f32>").replace("positive", "abs"), &["-i", "-1.5", "--remarks"]);
    assert_eq!(warned.text(), "same.0: float32[]\n1.5\n");
}

#[test]
fn whatever_the_program_the_tool_keeps_its_manners() {
    let mut count = 0;
    for directory in ["malformed", "valid"] {
        let entries = std::fs::read_dir(format!("{CORPUS}/{directory}")).expect("the corpus is there");
        for entry in entries {
            let path = entry.expect("it can be listed").path();
            let run = Tool::new().command(PROMOTE_RUN, "", [path.as_os_str()]);
            assert!(matches!(run.status, Some(0..=2)), "{}: {run}", path.display());
            assert!(
                !run.stderr.contains("[P0099]") && !run.stderr.contains("panicked"),
                "{}: {run}",
                path.display()
            );
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
}
