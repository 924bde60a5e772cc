//! From the LLVM dialect to optimised LLVM IR, assembly and objects.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_uint, c_void};
use std::ptr::null_mut;

use llvm_sys::analysis::{LLVMVerifierFailureAction, LLVMVerifyModule};
use llvm_sys::bit_reader::LLVMParseBitcodeInContext2;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::target::{LLVMDisposeTargetData, LLVMSetModuleDataLayout};
use llvm_sys::target_machine::*;
use llvm_sys::{LLVMAttributeFunctionIndex, LLVMDiagnosticSeverity};
use mlir_sys::{
    MlirDiagnostic, MlirDiagnosticSeverity_MlirDiagnosticError, MlirLogicalResult, MlirModule, MlirStringRef,
    mlirContextAttachDiagnosticHandler, mlirContextDetachDiagnosticHandler, mlirDiagnosticGetSeverity,
    mlirDiagnosticPrint, mlirModuleGetContext, mlirModuleGetOperation, mlirTranslateModuleToLLVMIR,
};

use crate::error::Error;
use crate::frames::{self, Elsewhere, Frames};
use crate::llvm::{
    buffer_bytes, c_text, check, initialise, promote_llvm_instructions, promote_llvm_register_translations,
    promote_llvm_run_passes, promote_llvm_units, take_message,
};
use crate::target::Target;

/// How deep loops are nested that branches are moved out of: see `promote_llvm_run_passes`.
const UNSWITCHED: c_uint = 12;

/// How much LLVM optimises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OptLevel {
    /// Not at all.
    None,
    /// Quickly.
    Less,
    /// As compilers do by default.
    Default,
    /// As far as it can.
    #[default]
    Aggressive,
}

impl OptLevel {
    const fn pipeline(self) -> &'static CStr {
        match self {
            OptLevel::None => c"default<O0>",
            OptLevel::Less => c"default<O1>",
            OptLevel::Default => c"default<O2>",
            OptLevel::Aggressive => c"default<O3>",
        }
    }

    const fn code_generation(self) -> LLVMCodeGenOptLevel {
        match self {
            OptLevel::None => LLVMCodeGenOptLevel::LLVMCodeGenLevelNone,
            OptLevel::Less => LLVMCodeGenOptLevel::LLVMCodeGenLevelLess,
            OptLevel::Default => LLVMCodeGenOptLevel::LLVMCodeGenLevelDefault,
            OptLevel::Aggressive => LLVMCodeGenOptLevel::LLVMCodeGenLevelAggressive,
        }
    }
}

/// LLVM IR as it was translated, verified, not optimised.
pub struct Translated {
    target: Target,
    module: Module,
}

/// LLVM IR that was optimised.
pub struct Compiled {
    target: Target,
    machine: Machine,
    module: Module,
}

/// Translates a module of the LLVM dialect.
///
/// # Errors
/// If it holds anything else, or LLVM's verifier refuses it.
///
/// # Safety
/// The module is alive, and no other thread changes it or its context meanwhile.
pub unsafe fn translate(module: MlirModule, target: &Target) -> Result<Translated, Error> {
    initialise();
    // SAFETY: by contract.
    let module = unsafe { Module::translate(module) }?;
    let machine = Machine::new(target, OptLevel::None)?;
    module.prepare(target, &machine);
    module.verify()?;
    Ok(Translated { target: target.clone(), module })
}

/// Translates and optimises a module of the LLVM dialect.
///
/// # Errors
/// As [`translate`] and [`Translated::optimise`].
///
/// # Safety
/// As [`translate`].
pub unsafe fn compile(module: MlirModule, target: &Target, level: OptLevel) -> Result<Compiled, Error> {
    // SAFETY: by contract.
    unsafe { translate(module, target) }?.optimise(level)
}

impl Translated {
    /// IR that was written as bitcode.
    ///
    /// # Errors
    /// If LLVM cannot read it.
    pub(crate) fn read(bitcode: &[u8], target: &Target) -> Result<Self, Error> {
        Ok(Self { target: target.clone(), module: Module::read(bitcode)? })
    }

    /// How many instructions it has.
    pub(crate) fn instructions(&self) -> usize {
        // SAFETY: the module is alive.
        unsafe { promote_llvm_instructions(self.module.module) }
    }

    /// The IR in at most so many units of about the same size, as bitcode; and the names of the [numbers](frames) of functions, which
    /// no unit defines.
    pub(crate) fn units(self, number: usize) -> (Vec<Vec<u8>>, Vec<String>) {
        unsafe extern "C" fn add(start: *const c_char, length: usize, units: *mut c_void) {
            // SAFETY: called below only, with bitcode and the list.
            unsafe {
                let bitcode = std::slice::from_raw_parts(start.cast::<u8>(), length);
                (*units.cast::<Vec<Vec<u8>>>()).push(bitcode.to_vec());
            }
        }
        let mut units: Vec<Vec<u8>> = Vec::new();
        let prefix = frames::PREFIX.as_ptr();
        // SAFETY: the module is alive, and is not used after this; the callback gets the list, and only during the call.
        let names = unsafe {
            promote_llvm_units(self.module.module, number, prefix, add, (&raw mut units).cast());
            frames::names(self.module.module)
        };
        (units, names)
    }

    /// The IR.
    pub fn ir_text(&self) -> String {
        self.module.text()
    }

    /// Optimises the IR.
    ///
    /// # Errors
    /// If LLVM does.
    pub fn optimise(self, level: OptLevel) -> Result<Compiled, Error> {
        self.optimise_by(level.pipeline(), level)
    }

    /// Optimises the IR by passes of LLVM's, in its language of pipelines.
    pub(crate) fn optimise_by(self, pipeline: &CStr, level: OptLevel) -> Result<Compiled, Error> {
        let machine = Machine::new(&self.target, level)?;
        // SAFETY: all of these are alive.
        let outcome = unsafe {
            check(promote_llvm_run_passes(self.module.module, pipeline.as_ptr(), machine.0, UNSWITCHED))
        };
        outcome.and_then(|()| self.module.no_errors()).map_err(Error::Compile)?;
        Ok(Compiled { target: self.target, machine, module: self.module })
    }
}

impl Compiled {
    /// The optimised IR.
    pub fn ir_text(&self) -> String {
        self.module.text()
    }

    /// The code as assembly.
    ///
    /// # Errors
    /// If LLVM cannot write it.
    pub fn assembly(&self) -> Result<String, Error> {
        let bytes = self.emit(LLVMCodeGenFileType::LLVMAssemblyFile)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The code as an object, position-independent.
    ///
    /// # Errors
    /// If LLVM cannot write it.
    pub fn object(&self) -> Result<Vec<u8>, Error> {
        self.emit(LLVMCodeGenFileType::LLVMObjectFile)
    }

    /// The same, to be linked or loaded here.
    ///
    /// # Errors
    /// If it is for another kind of machine, or LLVM cannot write it.
    pub fn native_object(&self) -> Result<Vec<u8>, Error> {
        require_native(&self.target)?;
        self.object()
    }

    /// The code as an object, and the frames of its functions.
    pub(crate) fn object_and_frames(&self) -> Result<(Vec<u8>, Elsewhere), Error> {
        let (object, frames) = self.emit_with_frames(LLVMCodeGenFileType::LLVMObjectFile)?;
        Ok((object, frames.elsewhere()))
    }

    fn emit(&self, kind: LLVMCodeGenFileType) -> Result<Vec<u8>, Error> {
        Ok(self.emit_with_frames(kind)?.0)
    }

    fn emit_with_frames(&self, kind: LLVMCodeGenFileType) -> Result<(Vec<u8>, Frames), Error> {
        // SAFETY: module and machine are alive. The code generator changes the module it is given: it gets a clone.
        let outcome = unsafe {
            let clone = LLVMCloneModule(self.module.module);
            frames::ask(clone);
            let (mut message, mut buffer) = (null_mut(), null_mut());
            let failed =
                LLVMTargetMachineEmitToMemoryBuffer(self.machine.0, clone, kind, &mut message, &mut buffer);
            let frames = self.module.reports.frames.take();
            LLVMDisposeModule(clone);
            let message = take_message(message);
            if failed != 0 {
                Err(message)
            } else {
                let bytes = buffer_bytes(buffer);
                LLVMDisposeMemoryBuffer(buffer);
                Ok((bytes, frames))
            }
        };
        outcome.and_then(|emitted| self.module.no_errors().map(|()| emitted)).map_err(Error::Compile)
    }
}

/// Refuses a target whose code this machine does not run.
///
/// # Errors
/// If it is another kind of machine.
pub fn require_native(target: &Target) -> Result<(), Error> {
    if target.is_native() { Ok(()) } else { Err(Error::ForeignObject { triple: target.triple().to_owned() }) }
}

/// What LLVM has reported.
#[derive(Default)]
struct Reports {
    errors: RefCell<Vec<String>>,
    /// Of the module that is being compiled.
    frames: RefCell<Frames>,
}

/// An LLVM module in a context of its own.
struct Module {
    module: LLVMModuleRef,
    context: LLVMContextRef,
    /// Boxed, for the context knows its address.
    reports: Box<Reports>,
}

// SAFETY: the context and all in it belong to the module, and are used by one thread at a time.
unsafe impl Send for Module {}

impl Module {
    /// No module yet, in a context of its own.
    fn none() -> Module {
        let reports: Box<Reports> = Box::default();
        // SAFETY: the context lives as long as the reports.
        let context = unsafe {
            let context = LLVMContextCreate();
            LLVMContextSetDiagnosticHandler(context, Some(note), (&raw const *reports).cast_mut().cast());
            context
        };
        Module { module: null_mut(), context, reports }
    }

    fn read(bitcode: &[u8]) -> Result<Module, Error> {
        let mut module = Module::none();
        // SAFETY: the buffer is of the bitcode, which outlives it.
        let failed = unsafe {
            let (start, name) = (bitcode.as_ptr().cast(), c"unit".as_ptr());
            let buffer = LLVMCreateMemoryBufferWithMemoryRange(start, bitcode.len(), name, 0);
            let failed = LLVMParseBitcodeInContext2(module.context, buffer, &mut module.module);
            LLVMDisposeMemoryBuffer(buffer);
            failed != 0
        };
        let errors = module.no_errors();
        if failed {
            return Err(Error::Compile(errors.err().unwrap_or_else(|| "a unit cannot be read".to_owned())));
        }
        Ok(module)
    }

    unsafe fn translate(source: MlirModule) -> Result<Module, Error> {
        // SAFETY: the source is alive by contract.
        unsafe {
            let mut module = Module::none();
            let context = module.context;
            let mlir = mlirModuleGetContext(source);
            promote_llvm_register_translations(mlir.ptr);
            let mut messages: Vec<String> = Vec::new();
            let handler =
                mlirContextAttachDiagnosticHandler(mlir, Some(collect), (&raw mut messages).cast(), None);
            let translated = mlirTranslateModuleToLLVMIR(mlirModuleGetOperation(source), context.cast());
            mlirContextDetachDiagnosticHandler(mlir, handler);
            module.module = translated.cast();
            if module.module.is_null() {
                return Err(Error::Translate(messages.join("\n")));
            }
            Ok(module)
        }
    }

    /// Says for which processor the module is, everywhere LLVM looks for it.
    fn prepare(&self, target: &Target, machine: &Machine) {
        let nounwind = c"nounwind";
        // SAFETY: the module is alive; the layout is copied.
        unsafe {
            LLVMSetTarget(self.module, c_text(target.triple()).as_ptr());
            let layout = LLVMCreateTargetDataLayout(machine.0);
            LLVMSetModuleDataLayout(self.module, layout);
            LLVMDisposeTargetData(layout);
            let kind = LLVMGetEnumAttributeKindForName(nounwind.as_ptr(), nounwind.count_bytes());
            let nounwind = LLVMCreateEnumAttribute(self.context, kind, 0);
            let width = (8 * target.vector_bytes()).to_string();
            let attributes = [
                (c"target-cpu", c_text(target.cpu())),
                (c"target-features", c_text(target.features())),
                (c"prefer-vector-width", c_text(&width)),
            ];
            let mut function = LLVMGetFirstFunction(self.module);
            while !function.is_null() {
                // What LLVM itself defines has the types that it says.
                if target.extends_int() && LLVMGetIntrinsicID(function) == 0 {
                    self.extend_int(function);
                }
                if LLVMIsDeclaration(function) == 0 {
                    // Neither the run time nor compiled code unwinds.
                    LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, nounwind);
                    for (name, value) in attributes.iter().filter(|(_, value)| !value.is_empty()) {
                        LLVMAddTargetDependentFunctionAttr(function, name.as_ptr(), value.as_ptr());
                    }
                }
                function = LLVMGetNextFunction(function);
            }
        }
    }

    /// Has 32-bit integers extended by their sign where a function takes or returns them: C's calling convention on many
    /// machines. The interface to the run time has no others that are shorter than a register.
    ///
    /// # Safety
    /// The function is one of the module.
    unsafe fn extend_int(&self, function: LLVMValueRef) {
        const EXTENDED: &CStr = c"signext";
        // SAFETY: by contract; types live as long as the context.
        unsafe {
            let kind = LLVMGetEnumAttributeKindForName(EXTENDED.as_ptr(), EXTENDED.count_bytes());
            let extended = LLVMCreateEnumAttribute(self.context, kind, 0);
            let r#type = LLVMGlobalGetValueType(function);
            let result = LLVMGetReturnType(r#type);
            let parameters =
                (0..LLVMCountParams(function)).map(|index| LLVMTypeOf(LLVMGetParam(function, index)));
            // An attribute of the result has the index 0, those of parameters have the next ones.
            for (index, r#type) in (0..).zip(std::iter::once(result).chain(parameters)) {
                let is_int = LLVMGetTypeKind(r#type) == llvm_sys::LLVMTypeKind::LLVMIntegerTypeKind;
                if is_int && LLVMGetIntTypeWidth(r#type) == 32 {
                    LLVMAddAttributeAtIndex(function, index, extended);
                }
            }
        }
    }

    fn verify(&self) -> Result<(), Error> {
        let mut message = null_mut();
        let action = LLVMVerifierFailureAction::LLVMReturnStatusAction;
        // SAFETY: the module is alive; the message is ours.
        let (invalid, message) = unsafe {
            let invalid = LLVMVerifyModule(self.module, action, &mut message);
            (invalid != 0, take_message(message))
        };
        if invalid { Err(Error::Invalid(message)) } else { Ok(()) }
    }

    fn text(&self) -> String {
        // SAFETY: the module is alive; the message is ours.
        unsafe { take_message(LLVMPrintModuleToString(self.module)) }
    }

    /// What LLVM has reported as an error since it was last asked.
    fn no_errors(&self) -> Result<(), String> {
        let errors = self.reports.errors.take();
        if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: both are ours; the module goes before its context.
        unsafe {
            if !self.module.is_null() {
                LLVMDisposeModule(self.module);
            }
            LLVMContextDispose(self.context);
        }
    }
}

/// Keeps LLVM's errors, and the sizes of frames; without a handler LLVM ends the process.
extern "C" fn note(diagnostic: LLVMDiagnosticInfoRef, reports: *mut c_void) {
    // SAFETY: LLVM calls this with a diagnostic and the address of the module's reports, while the module lives. Frames are
    // forgotten before the clone that they are of.
    unsafe {
        let reports = &*reports.cast::<Reports>();
        if LLVMGetDiagInfoSeverity(diagnostic) == LLVMDiagnosticSeverity::LLVMDSError {
            let text = take_message(LLVMGetDiagInfoDescription(diagnostic));
            reports.errors.borrow_mut().push(text);
        } else {
            reports.frames.borrow_mut().note(diagnostic);
        }
    }
}

/// Keeps MLIR's errors; other diagnostics go on to the next handler.
unsafe extern "C" fn collect(diagnostic: MlirDiagnostic, messages: *mut c_void) -> MlirLogicalResult {
    unsafe extern "C" fn append(part: MlirStringRef, text: *mut c_void) {
        // SAFETY: called below only, with the text.
        unsafe {
            let bytes = std::slice::from_raw_parts(part.data.cast::<u8>(), part.length);
            (*text.cast::<String>()).push_str(&String::from_utf8_lossy(bytes));
        }
    }
    // SAFETY: MLIR calls this with a diagnostic and the list, while it is attached.
    unsafe {
        if mlirDiagnosticGetSeverity(diagnostic) != MlirDiagnosticSeverity_MlirDiagnosticError {
            return MlirLogicalResult { value: 0 };
        }
        let mut text = String::new();
        mlirDiagnosticPrint(diagnostic, Some(append), (&raw mut text).cast());
        (*messages.cast::<Vec<String>>()).push(text);
        MlirLogicalResult { value: 1 }
    }
}

/// LLVM's code generator for a target.
struct Machine(LLVMTargetMachineRef);

// SAFETY: a machine is data of its own, used by one thread at a time.
unsafe impl Send for Machine {}

impl Machine {
    fn new(target: &Target, level: OptLevel) -> Result<Machine, Error> {
        let triple = c_text(target.triple());
        let (cpu, features) = (c_text(target.cpu()), c_text(target.features()));
        let (mut description, mut message) = (null_mut(), null_mut::<c_char>());
        // SAFETY: the texts live as long as the calls; the message is ours.
        unsafe {
            if LLVMGetTargetFromTriple(triple.as_ptr(), &mut description, &mut message) != 0 {
                let message = take_message(message);
                return Err(Error::NoTarget { triple: target.triple().to_owned(), message });
            }
            Ok(Machine(LLVMCreateTargetMachine(
                description,
                triple.as_ptr(),
                cpu.as_ptr(),
                features.as_ptr(),
                level.code_generation(),
                LLVMRelocMode::LLVMRelocPIC,
                LLVMCodeModel::LLVMCodeModelDefault,
            )))
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: the machine is ours.
        unsafe { LLVMDisposeTargetMachine(self.0) };
    }
}
