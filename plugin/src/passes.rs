//! The passes, as C++ calls them.

use std::ffi::c_void;
use std::sync::{Arc, OnceLock};

use mlir_sys::{
    MlirContext, MlirDialectRegistry, MlirOperation, MlirStringRef, mlirContextGetOrLoadDialect,
    mlirDialectHandleInsertDialect,
};
use promote_diagnostics::{Code, Diagnostic, Location, Severity};
use promote_mlir::pass::{Config, Handoff, Kind, Promotion, Runner, Sink};
use promote_mlir::targets;

use crate::options::{Options, Text};

/// What C++ calls.
#[repr(C)]
struct Callbacks {
    pass_count: usize,
    name: extern "C" fn(usize) -> Text,
    description: extern "C" fn(usize) -> Text,
    takes_over: extern "C" fn(usize) -> bool,
    is_default: extern "C" fn(usize, bool) -> bool,
    dialects: unsafe extern "C" fn(usize, MlirDialectRegistry),
    new_handoff: extern "C" fn() -> *mut Handoff,
    free_handoff: unsafe extern "C" fn(*mut Handoff),
    new_runner: unsafe extern "C" fn(usize, *const Options, *const Handoff, MlirContext) -> *mut Runner,
    free_runner: unsafe extern "C" fn(*mut Runner),
    run: unsafe extern "C" fn(*const Runner, MlirOperation) -> bool,
}

/// A part of a diagnostic.
#[repr(C)]
struct Part {
    file: Text,
    line: u32,
    column: u32,
    message: Text,
}

unsafe extern "C" {
    fn promote_plugin_register_passes(callbacks: *const Callbacks);
    fn promote_plugin_emit(context: MlirContext, severity: i32, parts: *const Part, count: usize);
}

/// All passes, in the order of their numbers.
fn kinds() -> &'static [Kind] {
    static KINDS: OnceLock<Vec<Kind>> = OnceLock::new();
    KINDS.get_or_init(|| Kind::all().collect())
}

/// Registers the passes; MLIR calls it without an argument that is meant.
pub unsafe extern "C" fn register(_: *mut c_void) {
    let callbacks = Callbacks {
        pass_count: kinds().len(),
        name,
        description,
        takes_over,
        is_default,
        dialects,
        new_handoff,
        free_handoff,
        new_runner,
        free_runner,
        run,
    };
    // SAFETY: C++ copies the structure.
    unsafe { promote_plugin_register_passes(&raw const callbacks) }
}

extern "C" fn name(pass: usize) -> Text {
    Text::of(kinds()[pass].name())
}

extern "C" fn description(pass: usize) -> Text {
    Text::of(kinds()[pass].description())
}

extern "C" fn takes_over(pass: usize) -> bool {
    kinds()[pass].takes_over()
}

extern "C" fn is_default(pass: usize, has_op_rules: bool) -> bool {
    let Kind::Promote(pass) = kinds()[pass] else { return false };
    Promotion::DEFAULT.contains(&pass) || has_op_rules && pass == Promotion::ApplyOpRules
}

unsafe extern "C" fn dialects(pass: usize, registry: MlirDialectRegistry) {
    for dialect in kinds()[pass].dialects() {
        // SAFETY: the registry is alive.
        unsafe { mlirDialectHandleInsertDialect(dialect.to_raw(), registry) }
    }
}

extern "C" fn new_handoff() -> *mut Handoff {
    Box::into_raw(Box::new(Handoff::new()))
}

unsafe extern "C" fn free_handoff(handoff: *mut Handoff) {
    // SAFETY: C++ frees each once.
    drop(unsafe { Box::from_raw(handoff) });
}

/// A context, for diagnostics.
#[derive(Clone, Copy)]
struct Context(MlirContext);

// SAFETY: MLIR's contexts take diagnostics from all threads.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

impl Context {
    const fn get(&self) -> MlirContext {
        self.0
    }
}

unsafe extern "C" fn new_runner(
    pass: usize,
    options: *const Options,
    handoff: *const Handoff,
    context: MlirContext,
) -> *mut Runner {
    // SAFETY: C++ hands over options and a handoff, or null, which outlive the call, and a context that outlives the runner.
    unsafe {
        let (options, shared) = (&*options, Context(context));
        let config = known(context).and_then(|()| options.semantics()).and_then(|semantics| {
            let sink: Sink = Arc::new(move |diagnostic| emit(shared.get(), &diagnostic));
            Ok(Config {
                semantics,
                sink,
                remarks: options.remarks,
                policies: options.policies()?,
                threads: options.threads,
                op_rules: options.op_rules()?,
                targets: targets::Options::default(),
            })
        });
        match config {
            Ok(config) => {
                let handoff = handoff.as_ref().cloned().unwrap_or_default();
                let runner = Runner::new(kinds()[pass], &config, &handoff);
                runner.initialize(context);
                Box::into_raw(Box::new(runner))
            }
            Err(why) => {
                let message = format!("{}: {why}", kinds()[pass].name());
                emit(context, &Diagnostic::error(Code::Pipeline, None, message));
                std::ptr::null_mut()
            }
        }
    }
}

/// Loads the dialect, before threads work in the context.
///
/// # Safety
/// The context is alive.
unsafe fn known(context: MlirContext) -> Result<(), String> {
    let name = "promote";
    let name = MlirStringRef { data: name.as_ptr().cast(), length: name.len() };
    // SAFETY: by contract.
    let dialect = unsafe { mlirContextGetOrLoadDialect(context, name) };
    if dialect.ptr.is_null() {
        return Err(
            "the dialect `promote` is not registered: load this plugin by --load-dialect-plugin, too"
                .to_owned(),
        );
    }
    Ok(())
}

unsafe extern "C" fn free_runner(runner: *mut Runner) {
    // SAFETY: C++ frees each once.
    drop(unsafe { Box::from_raw(runner) });
}

unsafe extern "C" fn run(runner: *const Runner, operation: MlirOperation) -> bool {
    // SAFETY: the runner is alive, and MLIR gives a pass an op that no other thread works on.
    unsafe { (*runner).run(operation) }
}

/// Tells MLIR a diagnostic: its notes, and the remedy as the last one.
fn emit(context: MlirContext, diagnostic: &Diagnostic) {
    let Diagnostic { severity, code, message, location, notes, remedy } = diagnostic;
    let message = format!("{message} [{code}]");
    let remedy = remedy.as_ref().map(|remedy| format!("help: {remedy}"));
    let mut parts = vec![part(location.as_ref(), &message)];
    parts.extend(notes.iter().map(|note| part(note.location.as_ref(), &note.message)));
    parts.extend(remedy.iter().map(|remedy| part(None, remedy)));
    let severity = match severity {
        Severity::Remark => 0,
        Severity::Warning => 1,
        Severity::Error => 2,
    };
    // SAFETY: the context is alive, and the texts outlive the call.
    unsafe { promote_plugin_emit(context, severity, parts.as_ptr(), parts.len()) }
}

fn part(location: Option<&Location>, message: &str) -> Part {
    let message = Text::of(message);
    match location {
        Some(place) => Part { file: Text::of(&place.file), line: place.line, column: place.column, message },
        None => Part { file: Text::NONE, line: 0, column: 0, message },
    }
}
