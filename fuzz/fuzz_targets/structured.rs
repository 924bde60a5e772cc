//! What libFuzzer makes of the choices of programs: see the library's documentation for what is held of each.

#![no_main]

use std::cell::RefCell;
use std::ffi::{c_char, c_int};

use libfuzzer_sys::{fuzz_mutator, fuzz_target};
use promote_fuzz::case::mutate;
use promote_fuzz::{Bench, Case};

thread_local! {
    static BENCH: RefCell<Bench> = RefCell::new(Bench::new());
}

fuzz_target!(|bytes: &[u8]| {
    let case = Case::of_bytes(bytes);
    let checked = BENCH.with_borrow_mut(|bench| bench.check(&case));
    if let Err(finding) = checked {
        panic!("{finding}\nunder {:?}\n{}\n{:?}", case.options, case.text, case.arguments);
    }
});

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let mut bytes = data[..size].to_vec();
    mutate(&mut bytes, &mut fastrand::Rng::with_seed(seed.into()));
    bytes.truncate(max_size);
    data[..bytes.len()].copy_from_slice(&bytes);
    bytes.len()
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
