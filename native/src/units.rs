//! Code in memory, compiled on several threads.
//!
//! A large module is divided into units of about the same size. Functions that call each other by name are in one unit; kernels,
//! which are run through their addresses, may be in others. Each unit is optimised and becomes an object of its own, in a context
//! of its own, and all are linked when they are loaded. There are as many units as processors, at most: how a module is divided
//! changes what is inlined and how much stack a function takes, but no value, for LLVM may not change any.
//!
//! What was local to the module is known to all units by its name. Names of the program's functions begin with `promote.fn.` or
//! another prefix, so they cannot be those of anything else in the process.

use std::num::NonZero;
use std::thread::{self, Builder};

use mlir_sys::MlirModule;

use crate::compile::{OptLevel, Translated, require_native, translate};
use crate::contained::STACK;
use crate::error::Error;
use crate::frames::{self, Elsewhere};
use crate::image::Image;
use crate::target::Target;

/// How many instructions are worth a thread: a unit costs some milliseconds by itself.
const GRAIN: usize = 800;

/// The most units.
const MOST: usize = 16;

/// Compiles a module of the LLVM dialect, and loads the code into this process.
///
/// # Errors
/// As [`translate`], [`Translated::optimise`] and [`Image::load`].
///
/// # Safety
/// As [`translate`].
pub unsafe fn load(module: MlirModule, target: &Target, level: OptLevel) -> Result<Image, Error> {
    // SAFETY: by contract.
    let translated = unsafe { translate(module, target) }?;
    require_native(target)?;
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(MOST);
    match threads.min(translated.instructions() / GRAIN) {
        0 | 1 => Image::load(&translated.optimise(level)?.native_object()?),
        number => {
            let (units, names) = translated.units(number);
            let (objects, frames): (Vec<Vec<u8>>, Vec<Elsewhere>) =
                compiled(&units, target, level)?.into_iter().unzip();
            Image::link(&objects, frames::numbers(names, frames))
        }
    }
}

/// The objects of units, and their frames.
fn compiled(units: &[Vec<u8>], target: &Target, level: OptLevel) -> Result<Vec<(Vec<u8>, Elsewhere)>, Error> {
    let compile = |unit: &[u8]| Translated::read(unit, target)?.optimise(level)?.object_and_frames();
    thread::scope(|scope| {
        let started: Vec<_> = (units.iter())
            .map(|unit| {
                let builder = Builder::new().name("llvm".to_owned()).stack_size(STACK);
                // Where no thread can be started, this one does the work.
                builder.spawn_scoped(scope, || compile(unit)).map_err(|_| unit)
            })
            .collect();
        let results = started.into_iter().map(|thread| match thread {
            Ok(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            Err(unit) => compile(unit),
        });
        results.collect()
    })
}
