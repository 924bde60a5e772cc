//! Code in memory: an object, loaded into this process.
//!
//! An [`Image`] has an LLJIT of its own, so that objects with the same names do not meet. Everything is linked when it is
//! loaded: an object that needs a function nobody has is an error then, with the function's name.

use std::collections::HashMap;
use std::ffi::{c_char, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;

use llvm_sys::core::LLVMCreateMemoryBufferWithMemoryRangeCopy;
use llvm_sys::error::LLVMErrorRef;
use llvm_sys::orc2::lljit::*;
use llvm_sys::orc2::*;

use crate::error::Error;
use crate::llvm::{c_text, check, initialise, promote_llvm_defined};

/// Objects in memory; their code and data go when this is dropped.
pub struct Image {
    jit: Jit,
    symbols: HashMap<String, usize>,
    /// What the code refers to: it must live as long.
    _constants: Vec<u64>,
}

/// What the linker is told of a function: exported, callable.
const FUNCTION: u8 = VARIABLE | LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsCallable as u8;

/// What it is told of a variable: exported.
const VARIABLE: u8 = LLVMJITSymbolGenericFlags::LLVMJITSymbolGenericFlagsExported as u8;

/// An LLJIT, disposed of when dropped.
struct Jit {
    lljit: LLVMOrcLLJITRef,
    /// What the linker reported; boxed, for the session knows its address.
    reports: Box<Mutex<Vec<String>>>,
}

// SAFETY: after loading, the JIT is only kept to be disposed of, which any thread may do.
unsafe impl Send for Jit {}
// SAFETY: as above; symbols are plain addresses.
unsafe impl Sync for Jit {}

impl Image {
    /// Loads an object, made for this machine by [`Compiled::object`](crate::Compiled::object). It may use the run time's
    /// functions ([`promote_runtime::symbols`]) and what this process has linked, as the C library.
    ///
    /// # Errors
    /// If it is no object for this machine, or uses something that nobody has.
    pub fn load(object: &[u8]) -> Result<Image, Error> {
        Self::link(&[object], Vec::new())
    }

    /// Loads objects that use each other's symbols, and constants, which none of them defines.
    ///
    /// # Errors
    /// As [`Image::load`].
    pub(crate) fn link<O: AsRef<[u8]>>(objects: &[O], constants: Vec<(String, u64)>) -> Result<Image, Error> {
        initialise();
        let names: Vec<String> =
            objects.iter().map(|object| defined(object.as_ref())).collect::<Result<Vec<_>, _>>()?.concat();
        let jit = Jit::new().map_err(Error::Load)?;
        let functions = promote_runtime::symbols();
        jit.define(functions.into_iter(), FUNCTION).map_err(Error::Load)?;
        let (constant_names, constants): (Vec<String>, Vec<u64>) = constants.into_iter().unzip();
        let addresses = constants.iter().map(|constant| std::ptr::from_ref(constant).cast::<c_void>());
        jit.define(constant_names.iter().map(String::as_str).zip(addresses), VARIABLE)
            .map_err(Error::Load)?;
        for object in objects {
            jit.add(object.as_ref()).map_err(Error::Load)?;
        }
        let symbols = (names.into_iter())
            .map(|name| jit.look_up(&name).map(|address| (name, address)))
            .collect::<Result<HashMap<_, _>, _>>()
            .map_err(Error::Load)?;
        Ok(Image { jit, symbols, _constants: constants })
    }

    /// The address of a function or variable that an object defines.
    pub fn symbol(&self, name: &str) -> Option<*const ()> {
        self.symbols.get(name).map(|&address| std::ptr::with_exposed_provenance(address))
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Image").field("jit", &self.jit.lljit).field("symbols", &self.symbols).finish()
    }
}

/// The names an object defines.
fn defined(object: &[u8]) -> Result<Vec<String>, Error> {
    unsafe extern "C" fn add(name: *const c_char, length: usize, names: *mut c_void) {
        // SAFETY: called below only, with a name and the vector.
        unsafe {
            let name = std::slice::from_raw_parts(name.cast::<u8>(), length);
            (*names.cast::<Vec<String>>()).push(String::from_utf8_lossy(name).into_owned());
        }
    }
    let mut names: Vec<String> = Vec::new();
    // SAFETY: the callback gets the vector, and only during the call.
    let is_object =
        unsafe { promote_llvm_defined(object.as_ptr().cast(), object.len(), add, (&raw mut names).cast()) };
    if is_object { Ok(names) } else { Err(Error::Load("it is not an object file".into())) }
}

impl Jit {
    fn new() -> Result<Jit, String> {
        let mut lljit = null_mut();
        // SAFETY: without a builder the JIT is for this machine; the generator becomes the library's.
        unsafe {
            check(LLVMOrcCreateLLJIT(&mut lljit, null_mut()))?;
            let jit = Jit { lljit, reports: Box::default() };
            let session = LLVMOrcLLJITGetExecutionSession(lljit);
            LLVMOrcExecutionSessionSetErrorReporter(
                session,
                report,
                (&raw const *jit.reports).cast_mut().cast(),
            );
            let mut process = null_mut();
            let prefix = LLVMOrcLLJITGetGlobalPrefix(lljit);
            check(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
                &mut process,
                prefix,
                None,
                null_mut(),
            ))?;
            LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(lljit), process);
            Ok(jit)
        }
    }

    /// Tells the linker where something is.
    fn define<'n>(
        &self,
        symbols: impl Iterator<Item = (&'n str, *const c_void)>,
        flags: u8,
    ) -> Result<(), String> {
        // SAFETY: the JIT is alive; it takes the names and, if it accepts it, the unit.
        unsafe {
            let pair = |(name, address): (&str, *const c_void)| LLVMOrcCSymbolMapPair {
                Name: LLVMOrcLLJITMangleAndIntern(self.lljit, c_text(name).as_ptr()),
                Sym: LLVMJITEvaluatedSymbol {
                    Address: address as u64,
                    Flags: LLVMJITSymbolFlags { GenericFlags: flags, TargetFlags: 0 },
                },
            };
            let mut pairs: Vec<_> = symbols.map(pair).collect();
            let unit = LLVMOrcAbsoluteSymbols(pairs.as_mut_ptr(), pairs.len());
            let outcome = check(LLVMOrcJITDylibDefine(LLVMOrcLLJITGetMainJITDylib(self.lljit), unit));
            if outcome.is_err() {
                LLVMOrcDisposeMaterializationUnit(unit);
            }
            outcome
        }
    }

    fn add(&self, object: &[u8]) -> Result<(), String> {
        // SAFETY: the buffer is a copy, which the JIT takes.
        unsafe {
            let name = c"promote".as_ptr();
            let buffer =
                LLVMCreateMemoryBufferWithMemoryRangeCopy(object.as_ptr().cast(), object.len(), name);
            check(LLVMOrcLLJITAddObjectFile(self.lljit, LLVMOrcLLJITGetMainJITDylib(self.lljit), buffer))
        }
    }

    /// The address of a symbol; the first look-up links.
    fn look_up(&self, name: &str) -> Result<usize, String> {
        let mut address = 0;
        // SAFETY: the JIT is alive.
        let outcome = unsafe { check(LLVMOrcLLJITLookup(self.lljit, &mut address, c_text(name).as_ptr())) };
        // The reports say why; the outcome only which look-up failed.
        let reports = std::mem::take(&mut *self.reports.lock().unwrap_or_else(|poison| poison.into_inner()));
        match outcome {
            Ok(()) => Ok(address as usize),
            Err(outcome) if reports.is_empty() => Err(outcome),
            Err(_) => Err(reports.join("\n")),
        }
    }
}

/// Keeps what the linker reports; without this it goes to standard error.
extern "C" fn report(reports: *mut c_void, error: LLVMErrorRef) {
    // SAFETY: the session calls this with an error to consume, while the JIT, which owns the list, lives.
    unsafe {
        if let Err(message) = check(error) {
            let reports = &*reports.cast::<Mutex<Vec<String>>>();
            reports.lock().unwrap_or_else(|poison| poison.into_inner()).push(message);
        }
    }
}

impl Drop for Jit {
    fn drop(&mut self) {
        // SAFETY: the JIT is ours, and whoever calls its code holds the image. Nothing can be done about an error.
        let _ = unsafe { check(LLVMOrcDisposeLLJIT(self.lljit)) };
    }
}
