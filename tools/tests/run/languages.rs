//! The examples in C and Python, run as their comments say.

use promote::{DType, Kind};

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
refused: promote_scale_and_shift: input 1 must be int32[4], but is int32[3]
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
        run.text().contains("refused: promote_scale_and_shift: input 1 must be int32[4], but is int64[4]"),
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

/// What `ml_dtypes` calls a dtype; `None` for those of NumPy itself.
fn name_in_ml_dtypes(dtype: DType) -> Option<String> {
    let bits = dtype.bits();
    match dtype.kind() {
        Kind::Unsigned if bits < 8 => Some(format!("uint{bits}")),
        Kind::Signed if bits < 8 => Some(format!("int{bits}")),
        Kind::Float if dtype == DType::BF16 => Some("bfloat16".to_owned()),
        Kind::Float => dtype.name().split_once('e').map(|(_, format)| format!("float{bits}_e{format}")),
        Kind::Complex if dtype == DType::BC32 => Some("bcomplex32".to_owned()),
        Kind::Complex if bits < 64 => Some(format!("complex{bits}")),
        Kind::Bool | Kind::Unsigned | Kind::Signed | Kind::Complex => None,
    }
}

#[test]
fn dtypes_of_ml_dtypes_come_from_python_and_go_back() {
    let named = || DType::strong().filter_map(|dtype| Some((dtype, name_in_ml_dtypes(dtype)?)));
    let names: Vec<_> = named().map(|(_, name)| name).collect();
    let head = format!(
        "import numpy as np, ml_dtypes\nnames = {names:?}\n\
         numbers = {{name: np.arange(4).astype(getattr(ml_dtypes, name)) for name in names}}\n"
    );
    let tool = Tool::new();
    let script = "for name, x in numbers.items(): np.save(f'{name}.npy', x)\n";
    worked(tool.command(python(), "", ["-c", &format!("{head}{script}")]));
    for (dtype, name) in named() {
        let program = crate::identity(&format!("tensor<4x{}>", dtype.mlir()));
        let (input, output) = (format!("{name}.npy"), format!("{name}.out.npy"));
        // JAX has no complex numbers of 32 bits.
        let semantics = if dtype.kind() == Kind::Complex { "torch" } else { "jax" };
        crate::run_in(&tool, &program, &["--semantics", semantics, "-i", &input, "-o", &output]).succeeded();
    }
    let script = "
for name, x in numbers.items():
    y = np.load(f'{name}.out.npy').view(x.dtype)
    np.testing.assert_array_equal(y.astype(complex), x.astype(complex), name)
";
    worked(tool.command(python(), "", ["-c", &format!("{head}{script}")]));
}
