//! The examples in C and Python, run as their comments say.

use crate::needed::{programs, python};
use crate::support::{PROMOTE_OPT, Run, Tool};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");

/// Valgrind may not know the newest instructions.
const CPU: &str = if cfg!(target_arch = "x86_64") { "x86-64-v2" } else { "generic" };

fn emit(tool: &Tool, kind: &str, out: &str) {
    let program = format!("{EXAMPLES}/scale_and_shift.mlir");
    let kind = format!("--emit={kind}");
    tool.command(PROMOTE_OPT, "", [&program, &kind, "-o", out, "--target-cpu", CPU]).succeeded();
}

#[track_caller]
fn worked(run: Run) -> Run {
    assert_eq!(run.status, Some(0), "{run}");
    run
}

const PRINTED: &str = "10.5 21 31.5 42 | mean 26.25
12.5 23 33.5 44 | mean 28.25
14.5 25 35.5 46 | mean 30.25
refused: promote_scale_and_shift: input 1 must be int32[4], and is int32[3]
";

#[test]
fn a_c_program_calls_a_shared_library() {
    programs(&["cc", "valgrind"]);
    let tool = Tool::new();
    emit(&tool, "so", "libscale.so");
    emit(&tool, "header", "scale.h");
    worked(tool.shell(&format!(
        "cc -std=c99 -Wall -Wextra -pedantic -Werror -I. '{EXAMPLES}/c/call_library.c' -L. -lscale -Wl,-rpath,. -o call_library"
    )));
    assert_eq!(worked(tool.shell("./call_library")).text(), PRINTED);
    worked(tool.shell(
        "valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite ./call_library",
    ));
}

#[test]
fn a_c_program_is_linked_with_an_object() {
    programs(&["cc"]);
    let tool = Tool::new();
    emit(&tool, "obj", "scale.o");
    emit(&tool, "runtime", "promote_runtime.o");
    emit(&tool, "header", "scale.h");
    worked(tool.shell(&format!(
        "cc -std=c99 -I. '{EXAMPLES}/c/call_library.c' scale.o promote_runtime.o -lm -lpthread -ldl -lgcc_s -o call_library"
    )));
    assert_eq!(worked(tool.shell("./call_library")).text(), PRINTED);
}

#[test]
fn a_header_is_one_of_cplusplus_too() {
    programs(&["c++"]);
    let tool = Tool::new().with("main.cpp", "#include \"scale.h\"\nint main() { return PROMOTE_OK; }\n");
    emit(&tool, "header", "scale.h");
    worked(tool.shell("c++ -std=c++11 -Wall -Wextra -pedantic -Werror -fsyntax-only main.cpp"));
}

#[test]
fn a_python_script_calls_a_shared_library() {
    programs(&["cc"]);
    let tool = Tool::new();
    emit(&tool, "so", "libscale.so");
    let script = format!("{EXAMPLES}/python/call_library.py");
    let run = worked(tool.command(python(), "", [script.as_str(), "./libscale.so"]));
    assert!(
        run.text().contains("refused: promote_scale_and_shift: input 1 must be int32[4], and is int64[4]"),
        "{run}"
    );
}

#[test]
fn python_reads_what_is_written() {
    let tool = Tool::new();
    let script = "
import numpy as np
x = np.asfortranarray(np.arange(6, dtype='>f4').reshape(2, 3))
np.save('x.npy', x)
np.save('y.npy', np.array([1, 2, 3], dtype=np.int32)[::-1])
";
    worked(tool.command(python(), "", ["-c", script]));
    crate::run_in(&tool, crate::ROWS, &["-i", "x.npy", "-i", "y.npy", "--output-dir", "."]).succeeded();
    let script = "
import numpy as np
x, y = np.load('x.npy'), np.load('y.npy')
np.testing.assert_array_equal(np.load('rows.0.npy'), (x + y).astype(np.float32))
np.testing.assert_array_equal(np.load('rows.1.npy'), (x + y).sum(axis=0).astype(np.float32))
assert np.load('rows.0.npy').dtype == np.float32
";
    worked(tool.command(python(), "", ["-c", script]));
}

#[test]
fn dtypes_of_ml_dtypes_come_from_python_and_go_back() {
    for (element, name) in [
        ("bf16", "bfloat16"),
        ("f8E4M3FN", "float8_e4m3fn"),
        ("f8E5M2", "float8_e5m2"),
        ("f4E2M1FN", "float4_e2m1fn"),
        ("i4", "int4"),
        ("ui4", "uint4"),
    ] {
        let tool = Tool::new();
        let dtype = format!("import numpy as np, ml_dtypes\ndtype = ml_dtypes.{name}\n");
        let script = "np.save('x.npy', np.array([0, 1, 2, 3, 1], dtype=dtype))\n";
        worked(tool.command(python(), "", ["-c", &format!("{dtype}{script}")]));
        let program = crate::identity(&format!("tensor<5x{element}>"));
        crate::run_in(&tool, &program, &["-i", "x.npy", "-o", "y.npy"]).succeeded();
        let script = "assert np.load('y.npy').view(dtype).astype(float).tolist() == [0, 1, 2, 3, 1]\n";
        worked(tool.command(python(), "", ["-c", &format!("{dtype}{script}")]));
    }
}
