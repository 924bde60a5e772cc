//! Modules: read, promoted and written.

use std::ffi::c_char;
use std::mem::ManuallyDrop;
use std::sync::{Arc, Mutex, PoisonError};

use promote::diagnostic::Diagnostic;
use promote::input::{Content, screened};
use promote::{Pipeline, PipelineError, PrintOptions, RunOptions, Source, Verdict};

use crate::argument;
use crate::buffer::Buffer;
use crate::context::{Context, Held};
use crate::diagnostics::{Diagnostics, List, refused, rename};
use crate::failure::{Failure, guarded};
use crate::session::Session;

/// A module, as C holds it.
pub struct Module {
    /// Dropped in its context, which lives longer.
    module: ManuallyDrop<Mutex<Held<promote::Module<'static>>>>,
    context: Arc<Context>,
    name: String,
}

impl Module {
    /// Does work on the module, alone in its context, on a big stack. What the context has to say is returned with it.
    pub fn work<T: Send>(
        &self,
        work: impl FnOnce(&promote::Session, &mut promote::Module<'static>) -> T + Send,
    ) -> Result<(T, Vec<Diagnostic>), Failure> {
        let mut held = self.module.lock().unwrap_or_else(PoisonError::into_inner);
        let held = &mut *held;
        let (result, mut diagnostics) = self.context.work(move |session| {
            let Held(module) = held;
            let result = work(session, module);
            (result, session.take_diagnostics())
        })?;
        rename(&mut diagnostics, &self.name);
        Ok((result, diagnostics))
    }

    /// What the module's text is called.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        let module = &mut self.module;
        // SAFETY: nobody uses the module any more, and it is dropped once.
        let freed = self.context.work(|_| unsafe { ManuallyDrop::drop(module) });
        // Without a thread for it, the module stays where it is: its memory is lost, nothing else.
        drop(freed);
    }
}

/// Where diagnostics go, if the caller wants them: nothing at first.
///
/// # Safety
/// The pointer is null or points to memory of a pointer.
pub unsafe fn wanted<'a>(diagnostics: *mut *mut List) -> Option<&'a mut *mut List> {
    // SAFETY: by contract.
    unsafe { argument::result("diagnostics", diagnostics, std::ptr::null_mut()) }.ok()
}

/// Hands diagnostics out.
pub fn report(wanted: Option<&mut *mut List>, diagnostics: &[Diagnostic]) {
    if let Some(place) = wanted {
        *place = Diagnostics::handle(diagnostics);
    }
}

/// Reads a module, if it is one, and what there is to say of it.
fn parse(session: &Session, source: &[u8], name: &str) -> Result<(Option<Module>, Vec<Diagnostic>), Failure> {
    let source = match screened(name, source) {
        Ok(Content::Text(text)) => Source::Text(text),
        Ok(Content::Bytecode(bytes)) => Source::Bytecode(bytes),
        Err(error) => return Ok((None, vec![error])),
    };
    let context = session.pool.context()?;
    let (module, mut diagnostics) = context.work(|session| {
        let parsed = session.parse(source);
        let parsed = parsed.map(|parsed| {
            // SAFETY: only the lifetime changes: the module is kept with its context, and dropped before it.
            Held(unsafe { std::mem::transmute::<promote::Module<'_>, promote::Module<'static>>(parsed) })
        });
        (parsed, session.take_diagnostics())
    })?;
    rename(&mut diagnostics, name);
    let module = module.map(|module| {
        let module = ManuallyDrop::new(Mutex::new(module));
        Module { module, context, name: name.to_owned() }
    });
    Ok((module, diagnostics))
}

/// Reads a module of text or bytecode.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_module_parse(
    session: *mut Session,
    source: *const c_char,
    size: usize,
    name: *const c_char,
    module: *mut *mut Module,
    diagnostics: *mut *mut List,
) -> i32 {
    guarded(|| {
        // SAFETY: by contract.
        let (result, diagnostics, session, source, name) = unsafe {
            let diagnostics = wanted(diagnostics);
            let result = argument::result("module", module, std::ptr::null_mut())?;
            let session = argument::required("session", session)?;
            let source = argument::elements("source", source.cast::<u8>(), size)?;
            (result, diagnostics, session, source, argument::optional_text("name", name)?.unwrap_or("-"))
        };
        let (module, found) = parse(session, source, name)?;
        report(diagnostics, &found);
        *result = argument::handle(module.ok_or_else(|| refused(&found))?);
        Ok(())
    })
}

/// Runs a pipeline on a module.
///
/// # Safety
/// The pointers are as the header says.
unsafe fn run(
    module: *mut Module,
    pipeline: impl FnOnce(&promote::Session) -> Pipeline + Send,
    diagnostics: *mut *mut List,
) -> Result<(), Failure> {
    // SAFETY: by contract.
    let (wanted, module) = unsafe { (wanted(diagnostics), argument::required("module", module)?) };
    let options = RunOptions::default();
    let (verdict, found) =
        module.work(|session, module| session.run(module, &pipeline(session), &options))?;
    report(wanted, &found);
    match verdict.map_err(no_pipeline)? {
        Verdict::Done => Ok(()),
        Verdict::Refused => Err(refused(&found)),
    }
}

fn no_pipeline(error: PipelineError) -> Failure {
    Failure::argument(error.to_string())
}

/// Promotes a module in place: infers types, inserts conversions, folds them, and verifies.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_module_promote(module: *mut Module, diagnostics: *mut *mut List) -> i32 {
    // SAFETY: by contract.
    guarded(|| unsafe {
        run(module, |session| Pipeline::default().and_op_rules(&session.options().op_rules), diagnostics)
    })
}

/// Runs passes on a module in place.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_module_run(
    module: *mut Module,
    pipeline: *const c_char,
    diagnostics: *mut *mut List,
) -> i32 {
    guarded(|| {
        // SAFETY: by contract.
        unsafe {
            wanted(diagnostics);
            let pipeline = Pipeline::parse(argument::text("pipeline", pipeline)?).map_err(no_pipeline)?;
            run(module, |_| pipeline, diagnostics)
        }
    })
}

/// Writes a module.
///
/// # Safety
/// The pointers are as the header says.
unsafe fn write(
    module: *const Module,
    written: *mut Buffer,
    write: impl FnOnce(&promote::Module<'_>, &mut Vec<u8>) -> std::io::Result<()> + Send,
) -> Result<(), Failure> {
    // SAFETY: by contract.
    let (result, module) = unsafe {
        let result = argument::result("buffer", written, Buffer::NONE)?;
        (result, argument::required("module", module)?)
    };
    let (bytes, found) = module.work(move |_, module| {
        // MLIR prints what is no valid module only in part, or not at all.
        if !module.verify() {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        write(module, &mut bytes).map(|()| Some(bytes))
    })?;
    let bytes = bytes.map_err(|error| Failure::internal(error.to_string()))?;
    *result = Buffer::of(bytes.ok_or_else(|| refused(&found))?);
    Ok(())
}

/// Writes a module as text.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_module_text(module: *const Module, text: *mut Buffer) -> i32 {
    // SAFETY: by contract.
    guarded(|| unsafe { write(module, text, |module, out| module.print(out, PrintOptions::default())) })
}

/// Writes a module as bytecode.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_module_bytecode(module: *const Module, bytecode: *mut Buffer) -> i32 {
    // SAFETY: by contract.
    guarded(|| unsafe { write(module, bytecode, |module, out| module.write_bytecode(out)) })
}

/// Frees a module. Null does nothing.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_module_free(module: *mut Module) {
    // SAFETY: by contract.
    unsafe { argument::free(module) }
}
