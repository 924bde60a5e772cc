//! Names of functions: any text, in objects, libraries, headers and files. Each name works, or is refused where it stands;
//! no two share a symbol or a file.

use std::collections::HashMap;
use std::ffi::{CString, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use promote::symbols::{Symbols, encoded, quoted};

use crate::support::{PROMOTE_OPT, Run, Tool, in_parallel};
use crate::{PROMOTE_RUN, run, run_in};

const MODULES: usize = 4;

const KEYWORDS: &str = "auto break case char const continue default do double else enum extern float for goto if \
    inline int long register restrict return short signed sizeof static struct switch typedef union unsigned void \
    volatile while _Bool _Complex _Generic bool class new delete template typename this throw try namespace operator \
    private public virtual nullptr true false and or not xor asm concept co_await constexpr alignas thread_local";

const OF_LIBC: &str = "main _start _init _fini _end __bss_start environ errno exit abort malloc free calloc memcpy memset \
    printf puts open read write close fork dlopen dlsym pthread_create sin cosf fma lgamma_r __libc_start_main \
    __stack_chk_fail __truncsfbf2 _GLOBAL_OFFSET_TABLE_ __cxa_finalize rust_eh_personality";

/// What odd names are made of.
const PIECES: [&str; 49] = [
    "f",
    "g",
    "x1",
    "_",
    "__",
    "0",
    "5f",
    "shape",
    "meta",
    "rt",
    "rt_",
    "promote_",
    ".",
    "..",
    "/",
    "../",
    "\\",
    "\"",
    "'",
    "\0",
    "\n",
    "\r",
    "\t",
    "\x1b[31m",
    "\x7f",
    " ",
    "@",
    ";",
    "*/",
    "/*",
    "//",
    "??/",
    "{",
    "}",
    "local: *;",
    "$",
    "%",
    "%s",
    "-",
    "#",
    "&",
    "ü",
    "中文",
    "\u{202e}",
    "\u{5d0}\u{5d1}",
    "e\u{301}",
    "🦀",
    "\u{feff}",
    "\u{0}x",
];

/// Distinct names, but for the empty one.
fn names() -> Vec<String> {
    let mut names: Vec<String> =
        KEYWORDS.split_whitespace().chain(OF_LIBC.split_whitespace()).map(Into::into).collect();
    for symbol in of_runtime() {
        names.extend(symbol.strip_prefix("promote_").map(str::to_owned));
        names.push(symbol);
    }
    for base in ["f", "f_shape", "meta_f", "meta", "shape", "0f", "rt_f", "a.b", "_", "last_error", "ü"] {
        names.extend(
            ["", "0", "_", "meta_", "promote_", "promote_meta_", "rt_", "_5f"]
                .map(|prefix| format!("{prefix}{base}")),
        );
        names.extend(
            ["_shape", "_meta", ".0", ".0.npy", "_5fshape", "\0"].map(|suffix| format!("{base}{suffix}")),
        );
        names.extend(
            ["fn", "entry", "shape", "name", "in", "out", "kernel", "signature"]
                .map(|kind| format!("promote.{kind}.{base}")),
        );
        names.extend([
            encoded(base).into_owned(),
            encoded(&encoded(base)).into_owned(),
            Symbols::of(base).shape,
        ]);
    }
    names.extend(
        ["promote.in.f.0", "promote.dense.1", "promote.text.1", "promote.kernel.f.1", "/etc/x", "../../x"]
            .map(Into::into),
    );
    names.extend([300, 5_000, 50_000].map(|length| "l".repeat(length)));
    names.extend([300, 5_000, 50_000].map(|length| "/".repeat(length)));
    // A linear congruential generator: the names are the same in every run.
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let mut known = std::collections::HashSet::new();
    names.retain(|name| !name.is_empty() && known.insert(name.clone()));
    while names.len() < 2_000 {
        let length = 1 + next(5);
        let name: String = (0..length).map(|_| PIECES[next(PIECES.len())]).collect();
        if known.insert(name.clone()) {
            names.push(name);
        }
    }
    names
}

/// The symbols that the run time defines.
fn of_runtime() -> Vec<String> {
    let tool = Tool::new();
    tool.command(PROMOTE_OPT, "", ["--emit=runtime", "-o", "runtime.o"]).succeeded();
    let symbols = defined(&tool, "runtime.o");
    assert!(symbols.iter().any(|symbol| symbol == "promote_rt_call"), "{symbols:?}");
    symbols
}

/// The symbols that an object shows.
fn defined(tool: &Tool, object: &str) -> Vec<String> {
    let run = tool.command("nm", "", ["--defined-only", "--extern-only", object]).succeeded();
    run.text().lines().filter_map(|line| line.split(' ').nth(2)).map(str::to_owned).collect()
}

/// A function that returns a number, and takes nothing.
fn function(name: &str, number: usize) -> String {
    format!(
        "func.func @{}() -> tensor<i32> {{
  %0 = \"promote.constant\"() {{value = dense<{number}> : tensor<i32>}} : () -> tensor<i32>
  return %0 : tensor<i32>
}}
",
        quoted(name.as_bytes())
    )
}

/// The functions of one module, with the numbers they return.
fn part(names: &[String], module: usize) -> impl Iterator<Item = (usize, &String)> {
    names.iter().enumerate().skip(module).step_by(MODULES)
}

#[test]
fn two_thousand_names_through_objects_libraries_and_headers() {
    let names = names();
    assert_no_two_share_a_symbol(&names);
    let tool = Tool::new();
    for module in 0..MODULES {
        let program: String = part(&names, module).map(|(number, name)| function(name, number)).collect();
        std::fs::write(tool.path(format!("{module}.mlir")), program)
            .expect("the directory can be written to");
    }
    let kinds: Vec<_> =
        (0..MODULES).flat_map(|module| ["obj", "so", "header"].map(|kind| (module, kind))).collect();
    for run in in_parallel(&kinds, |(module, kind)| {
        let (input, output) = (format!("{module}.mlir"), format!("{module}.{kind}"));
        tool.command(PROMOTE_OPT, "", ["--emit", kind, &input, "-o", &output, "--mlir-disable-threading"])
    }) {
        run.succeeded();
    }
    for module in 0..MODULES {
        let shown = defined(&tool, &format!("{module}.obj"));
        let library = Library::open(&tool.path(format!("{module}.so")));
        for (number, name) in part(&names, module) {
            let Symbols { call, shape, metadata, tvm } = Symbols::of(name);
            for symbol in [&call, &shape, &metadata, &tvm] {
                assert!(shown.contains(symbol), "{name:?}: {symbol}");
            }
            assert_eq!(library.run(&call), (0, number as i32), "{name:?}: {call}");
            assert_eq!(library.run(&shape).0, 0, "{name:?}: {shape}");
        }
    }
    the_headers_compile(&tool, &names);
}

fn assert_no_two_share_a_symbol(names: &[String]) {
    let runtime = of_runtime().into_iter().map(|symbol| (symbol, "the run time"));
    let mut owners: HashMap<String, &str> = runtime.collect();
    for name in names {
        let Symbols { call, shape, metadata, tvm } = Symbols::of(name);
        for symbol in [call, shape, metadata, tvm] {
            if let Some(other) = owners.insert(symbol.clone(), name) {
                panic!("{name:?} and {other:?} share {symbol}");
            }
        }
    }
}

/// All headers in one file, each function of them used.
fn the_headers_compile(tool: &Tool, names: &[String]) {
    let mut source: String = (0..MODULES).map(|module| format!("#include \"{module}.header\"\n")).collect();
    source.push_str(
        "typedef int32_t Function(const DLTensor *const *, DLTensor *const *);\nFunction *const all[] = {\n",
    );
    for name in names {
        let Symbols { call, shape, .. } = Symbols::of(name);
        source.push_str(&format!("  {call}, {shape},\n"));
    }
    source.push_str("};\nint main(void) { return all[0] == 0; }\n");
    std::fs::write(tool.path("all.c"), source).expect("the directory can be written to");
    let flags = "-Wall -Wextra -Werror -pedantic -fsyntax-only";
    let compilers = [format!("cc -std=c99 {flags} all.c"), format!("c++ -x c++ -std=c++11 {flags} all.c")];
    for run in in_parallel(&compilers, |command| tool.shell(command)) {
        run.succeeded();
    }
}

/// A library of functions that return a number.
struct Library(*mut c_void);

/// DLPack's tensor.
#[repr(C)]
struct Tensor {
    data: *mut i32,
    device: [i32; 2],
    ndim: i32,
    dtype: [u8; 4],
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

type Function = unsafe extern "C" fn(*const *const Tensor, *const *mut Tensor) -> i32;

impl Library {
    fn open(path: &Path) -> Self {
        let path = CString::new(path.as_os_str().as_bytes()).expect("paths have no NUL");
        // SAFETY: the library has no initialisers but those of the C start-up files.
        let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        assert!(!handle.is_null(), "{path:?} cannot be loaded");
        Self(handle)
    }

    /// Calls a function: its status, and the number that it returns.
    fn run(&self, symbol: &str) -> (i32, i32) {
        let name = CString::new(symbol).expect("symbols have no NUL");
        // SAFETY: the handle is that of a library.
        let address = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!address.is_null(), "there is no {symbol}");
        // SAFETY: the symbol is of a function of that type.
        let function: Function = unsafe { std::mem::transmute(address) };
        let mut number = -1;
        let mut tensor = Tensor {
            data: &raw mut number,
            device: [1, 0],
            ndim: 0,
            dtype: [0, 32, 1, 0],
            shape: std::ptr::null_mut(),
            strides: std::ptr::null_mut(),
            byte_offset: 0,
        };
        let outputs = [&raw mut tensor];
        // SAFETY: the function takes no inputs and has one result, a 32-bit integer.
        let status = unsafe { function(std::ptr::null(), outputs.as_ptr()) };
        (status, number)
    }
}

#[test]
fn results_are_written_into_the_directory_and_nowhere_else() {
    let names = names();
    let odd = names.iter().filter(|name| name.contains(['/', '.', '\0', '\\'])).step_by(8);
    let names: Vec<&String> =
        odd.chain(names.iter().step_by(40)).filter(|name| encoded(name).len() < 240).collect();
    assert!(names.len() > 80, "{}", names.len());
    let tasks: Vec<_> = names.into_iter().enumerate().collect();
    in_parallel(&tasks, |(number, name)| {
        let tool = Tool::new();
        std::fs::create_dir_all(tool.path("a/b")).expect("the directory can be written to");
        run_in(&tool, &function(name, *number), &["--output-dir", "a/b/d"]).succeeded();
        let file = format!("{}.0.npy", encoded(name));
        assert!(tool.read(&format!("a/b/d/{file}")).ends_with(&(*number as i32).to_le_bytes()), "{name:?}");
        let found = tool.command("find", "", [".", "-type", "f"]).succeeded();
        assert_eq!(found.text().lines().count(), 2, "{name:?}: {found}");
    });
}

#[test]
fn functions_are_run_and_shown_by_their_own_names() {
    let both =
        [function("f", 1), function("f_shape", 2), function("meta_f", 3), function("a \"b\"\n", 4)].concat();
    for (name, shown, number) in [
        ("f", "f", 1),
        ("f_shape", "f_shape", 2),
        ("meta_f", "meta_f", 3),
        ("a \"b\"\n", "\"a \\22b\\22\\0A\"", 4),
    ] {
        let text = run(&both, &["--entry", name]).succeeded().text().to_owned();
        assert_eq!(text, format!("{shown}.0: int32[]\n{number}\n"));
    }
}

#[test]
fn a_name_too_long_for_a_file_is_refused_where_it_stands() {
    let tool = Tool::new();
    let long = function(&"l".repeat(249), 1);
    run_in(&tool, &long, &["--output-dir", "d"]).succeeded();
    let longer = format!("\n{}", function(&"/".repeat(90), 1));
    for run in [
        run_in(&tool, &longer, &["--output-dir", "e"]).refused(),
        tool.command(PROMOTE_RUN, longer.as_str(), ["--output-dir", "e"]).refused(),
    ] {
        assert!(
            run.stderr
                .contains(":2:1: error[P0021]: a result would be written to a file whose name has 277 bytes"),
            "{run}"
        );
        assert!(run.stderr.contains("help: name the files with -o"), "{run}");
    }
    assert_eq!(tool.files(), ["d", "f.mlir"]);
    run_in(&tool, &longer, &["-o", "x.npy"]).succeeded();
}

#[test]
fn names_that_are_empty_or_no_text_are_refused_where_they_stand() {
    let refused = |run: Run, message: &str| {
        let run = run.refused();
        assert!(
            run.stderr.contains(&format!(":2:1: error[P0026]: {message}")) && run.stderr.contains("help:"),
            "{run}"
        );
    };
    for (name, message) in
        [("", "the name of the symbol is empty"), ("\\FF", "the name of the symbol, \"\\FF\", is not UTF-8")]
    {
        let program = format!("\n{}", function("f", 1).replace("\"f\"", &format!("\"{name}\"")));
        for kind in
            ["mlir", "bytecode", "dot", "linalg", "stablehlo", "llvm", "llvm-ir", "obj", "so", "header"]
        {
            refused(Tool::new().command(PROMOTE_OPT, program.as_str(), ["--emit", kind]), message);
        }
        refused(run(&program, &[]), message);
        refused(Tool::new().command(PROMOTE_OPT, format!("\nmodule @\"{name}\" {{}}"), [""; 0]), message);
    }
}

#[test]
fn what_is_printed_is_read_back() {
    let program: String =
        names().iter().step_by(5).enumerate().map(|(number, name)| function(name, number)).collect();
    let tool = Tool::new();
    for kind in ["mlir", "linalg", "llvm"] {
        let args = ["--emit", kind, "--verify-roundtrip"];
        let printed = tool.command(PROMOTE_OPT, program.as_str(), args).succeeded();
        let args = ["--pass-pipeline=builtin.module()"];
        let again = tool.command(PROMOTE_OPT, printed.stdout.clone(), args).succeeded();
        assert_eq!(again.stdout, printed.stdout, "{kind}");
    }
}

#[test]
fn lowered_modules_remember_what_their_functions_are() {
    let tool = Tool::new();
    let program = function("meta_f", 7);
    let lowered = tool.command(PROMOTE_OPT, program.as_str(), ["--emit=llvm"]).succeeded();
    let header =
        |input: &[u8]| tool.command(PROMOTE_OPT, input, ["--emit=header"]).succeeded().text().to_owned();
    let text = header(program.as_bytes());
    assert!(text.contains("   @meta_f\n   outputs[0]: int32[]\n*/\nint32_t promote_0meta_5ff("), "{text}");
    assert_eq!(header(&lowered.stdout), text);
    tool.command(PROMOTE_OPT, lowered.stdout, ["--emit=so", "-o", "f.so"]).succeeded();
    assert_eq!(Library::open(&tool.path("f.so")).run("promote_0meta_5ff"), (0, 7));
}

#[test]
fn symbols_of_other_ops_are_not_taken() {
    let other = "llvm.func @promote_f() { llvm.return }\n";
    let run =
        Tool::new().command(PROMOTE_OPT, format!("{other}{}", function("f", 1)), ["--emit=obj"]).refused();
    assert!(run.stderr.contains(":2:1: error[P0038]: @f would have the symbol promote_f"), "{run}");
}
