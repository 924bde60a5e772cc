//! Whatever the text, the default pipeline accepts or refuses it, and what it accepts it leaves alone the second time.
//!
//! As in the corpus of promote-opt's tests, a line `// -----` separates programs. Bytecode is not fuzzed: MLIR crashes
//! on damaged bytecode, as on nesting that promote-opt refuses before it parses.

#![no_main]

use std::ffi::{c_char, c_int};
use std::sync::{Arc, LazyLock};

use libfuzzer_sys::fuzz_target;
use promote::diagnostic::{Code, Severity};
use promote::{Options, Pipeline, PrintOptions, RunOptions, Semantics, Session, Source, Verdict};

/// Deeper brackets are left to promote-opt's own check.
const DEEPEST: usize = 200;

/// How deeply brackets are nested, at most.
fn depth(text: &str) -> usize {
    let step = |(depth, deepest): (usize, usize), c| match c {
        '(' | '[' | '{' | '<' => (depth + 1, deepest.max(depth + 1)),
        ')' | ']' | '}' | '>' => (depth.saturating_sub(1), deepest),
        _ => (depth, deepest),
    };
    text.chars().fold((0, 0), step).1
}

/// A session of the program's own: MLIR renames the resources of a second program with the same names.
fn session() -> Session {
    static SEMANTICS: LazyLock<Arc<Semantics>> =
        LazyLock::new(|| Arc::new(Semantics::by_name("jax", false).expect("jax is known")));
    let options = Options { threads: false, remarks: true, ..Options::new(Arc::clone(&SEMANTICS)) };
    Session::new(&options).expect("MLIR takes the dialect")
}

/// The text that comes of a program, if it is accepted.
fn promote(program: &str) -> Option<String> {
    let session = session();
    let mut module = session.parse(Source::Text(program));
    let done = module.as_mut().is_some_and(|module| {
        session.run(module, &Pipeline::default(), &RunOptions { verify_each: true, ..RunOptions::default() })
            == Ok(Verdict::Done)
    });
    let diagnostics = session.take_diagnostics();
    assert!(diagnostics.iter().all(|diagnostic| diagnostic.code != Code::Internal), "{diagnostics:?}");
    let refused = diagnostics.iter().any(|diagnostic| diagnostic.severity == Severity::Error);
    assert_eq!(done, !refused, "{diagnostics:?}");
    let mut text = Vec::new();
    module.filter(|_| done)?.print(&mut text, PrintOptions::default()).expect("a vector can be written to");
    Some(String::from_utf8(text).expect("MLIR prints UTF-8"))
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if text.contains('\0') || depth(text) > DEEPEST {
        return;
    }
    for program in text.split("\n// -----\n") {
        if let Some(once) = promote(program) {
            assert_eq!(promote(&once).as_deref(), Some(once.as_str()));
        }
    }
});

type Input = unsafe extern "C" fn(*const u8, usize) -> c_int;

unsafe extern "C" {
    fn LLVMFuzzerTestOneInput(bytes: *const u8, length: usize) -> c_int;
    fn LLVMFuzzerRunDriver(argc: *mut c_int, argv: *mut *mut *mut c_char, input: Input) -> c_int;
}

/// Among MLIR's libraries is one with the `main` of mlir-opt, which the linker would take before libFuzzer's.
#[unsafe(no_mangle)]
extern "C" fn main(mut argc: c_int, mut argv: *mut *mut c_char) -> c_int {
    // SAFETY: the arguments are those of the process, and live as long as it.
    unsafe { LLVMFuzzerRunDriver(&raw mut argc, &raw mut argv, LLVMFuzzerTestOneInput) }
}
