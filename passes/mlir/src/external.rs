//! External passes of MLIR: passes that are not written in C++.
//!
//! melior's would do, but that they keep their memory when the pass manager is gone: a program that promotes many modules
//! would grow by that.

use std::ffi::c_void;

use melior::dialect::DialectHandle;
use melior::ir::r#type::TypeId;
use melior::pass::Pass;
use mlir_sys::*;

use super::raw;

/// What a pass does. MLIR clones it for its threads.
pub trait External: Clone {
    /// Called before the pass runs in a context, each time a pass manager does.
    fn initialize(&mut self, _context: MlirContext) {}

    /// Works on an op, alone; whether it succeeded. A panic must not leave it.
    fn run(&mut self, operation: MlirOperation) -> bool;
}

/// Makes a pass for any op, named so in pipelines. `dialects` are those of the ops that it makes.
pub fn create<T: External>(
    pass: T,
    id: TypeId<'_>,
    name: &str,
    description: &str,
    dialects: &[DialectHandle],
) -> Pass {
    let mut dialects: Vec<MlirDialectHandle> = dialects.iter().map(|dialect| dialect.to_raw()).collect();
    let callbacks = MlirExternalPassCallbacks {
        construct: Some(construct),
        destruct: Some(destruct::<T>),
        initialize: Some(initialize::<T>),
        clone: Some(clone::<T>),
        run: Some(run::<T>),
    };
    // SAFETY: MLIR copies the texts and the handles, and frees the pass by `destruct`.
    unsafe {
        Pass::from_raw(mlirCreateExternalPass(
            id.to_raw(),
            raw::string(name),
            raw::string(name),
            raw::string(description),
            raw::string(""),
            dialects.len() as isize,
            dialects.as_mut_ptr(),
            callbacks,
            Box::into_raw(Box::new(pass)).cast(),
        ))
    }
}

unsafe extern "C" fn construct(_: *mut c_void) {}

unsafe extern "C" fn destruct<T>(pass: *mut c_void) {
    // SAFETY: MLIR frees each pass once, and it is a box of `create` or `clone`.
    drop(unsafe { Box::from_raw(pass.cast::<T>()) });
}

unsafe extern "C" fn initialize<T: External>(context: MlirContext, pass: *mut c_void) -> MlirLogicalResult {
    // SAFETY: the pass is alive, and MLIR uses it from one thread at a time, here and below.
    unsafe { &mut *pass.cast::<T>() }.initialize(context);
    MlirLogicalResult { value: 1 }
}

unsafe extern "C" fn clone<T: External>(pass: *mut c_void) -> *mut c_void {
    // SAFETY: as above.
    let pass = unsafe { &*pass.cast::<T>() };
    Box::into_raw(Box::new(pass.clone())).cast()
}

unsafe extern "C" fn run<T: External>(operation: MlirOperation, signal: MlirExternalPass, pass: *mut c_void) {
    // SAFETY: as above; the signal is that of this run.
    unsafe {
        if !(*pass.cast::<T>()).run(operation) {
            mlirExternalPassSignalFailure(signal);
        }
    }
}
