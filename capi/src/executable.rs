//! Compiled modules, and what their functions take and return.

use std::ffi::{CString, c_char};

use promote::symbols::in_mlir;
use promote::{CompileError, CompileOptions, Denormals, OptLevel, Status, Target};

use crate::argument;
use crate::diagnostics::{List, refused, rename};
use crate::failure::{Failure, Refused, c_text, guarded};
use crate::module::{Module, report, wanted};
use crate::version;

/// Compiled functions, as C holds them.
pub struct Executable {
    functions: Vec<promote::Function>,
}

/// The dtype and shape of an argument or result.
#[repr(C)]
pub struct TensorType {
    dtype: i32,
    rank: i32,
    extents: *const i64,
}

/// What a function takes and returns.
#[repr(C)]
pub struct Interface {
    name: *const c_char,
    inputs: *const TensorType,
    input_count: usize,
    outputs: *const TensorType,
    output_count: usize,
}

/// A compiled function, as C holds it.
pub struct Function {
    /// The function, which keeps its code in memory.
    pub function: promote::Function,
    interface: Interface,
    _name: CString,
    _types: [Vec<TensorType>; 2],
    _extents: Vec<Vec<i64>>,
}

// SAFETY: what is pointed to belongs to the function, and is never changed.
unsafe impl Sync for Function {}

impl Function {
    fn new(function: promote::Function) -> Self {
        let mut kept = Vec::new();
        let mut types = |types: &[promote::TensorType]| -> Vec<TensorType> {
            let described = |r#type: &promote::TensorType| {
                let extents: Vec<i64> = r#type.shape.iter().map(|extent| extent.unwrap_or(-1)).collect();
                let (rank, address) = (extents.len() as i32, extents.as_ptr());
                kept.push(extents);
                TensorType { dtype: r#type.dtype as i32, rank, extents: address }
            };
            types.iter().map(described).collect()
        };
        let (inputs, outputs) = (types(function.inputs()), types(function.outputs()));
        let name = c_text(function.name());
        let interface = Interface {
            name: name.as_ptr(),
            inputs: inputs.as_ptr(),
            input_count: inputs.len(),
            outputs: outputs.as_ptr(),
            output_count: outputs.len(),
        };
        Self { function, interface, _name: name, _types: [inputs, outputs], _extents: kept }
    }
}

/// How a module is compiled.
#[repr(C)]
pub struct CallerOptions {
    abi_version: u32,
    optimisation: i32,
    flush_denormals: u8,
    cpu: *const c_char,
}

/// What C asks for.
///
/// # Safety
/// The pointer is null or points to options of any version.
unsafe fn options(options: *const CallerOptions) -> Result<CompileOptions, Failure> {
    if options.is_null() {
        return Ok(CompileOptions::default());
    }
    // SAFETY: by contract. The version stands first in every version of the options.
    let (options, cpu) = unsafe {
        version::check(*options.cast::<u32>())?;
        (&*options, argument::optional_text("cpu", (*options).cpu)?)
    };
    let level = match options.optimisation {
        0 => OptLevel::None,
        1 => OptLevel::Less,
        2 => OptLevel::Default,
        3 => OptLevel::Aggressive,
        other => return Err(Failure::argument(format!("there is no optimisation {other}: 0 to 3"))),
    };
    let target = match cpu {
        Some(cpu) => {
            Target::new(None, Some(cpu), "").map_err(|error| Failure::argument(error.to_string()))?
        }
        None => Target::host(),
    };
    let denormals = if options.flush_denormals != 0 { Denormals::Flush } else { Denormals::Keep };
    Ok(CompileOptions { level, target, denormals, ..CompileOptions::default() })
}

/// Has a module compiled, which stays as it is: by what `ready` makes of the other arguments.
///
/// # Safety
/// The pointers are as the header says.
pub unsafe fn compiled<C>(
    module: *const Module,
    executable: *mut *mut Executable,
    diagnostics: *mut *mut List,
    ready: impl FnOnce() -> Result<C, Failure>,
) -> Result<(), Failure>
where
    C: Send
        + FnOnce(&promote::Session, promote::Module<'static>) -> Result<promote::Executable, CompileError>,
{
    // SAFETY: by contract.
    let (diagnostics, result, module) = unsafe {
        let diagnostics = wanted(diagnostics);
        let result = argument::result("executable", executable, std::ptr::null_mut())?;
        (diagnostics, result, argument::required("module", module)?)
    };
    let compile = ready()?;
    let (compiled, mut found) = module.work(|session, module| compile(session, module.duplicate()))?;
    let compiled = compiled.map_err(|error| match error {
        CompileError::Refused(mut errors) => {
            rename(&mut errors, module.name());
            found.append(&mut errors);
            refused(&found)
        }
        CompileError::Pipeline(error) => Failure::internal(error.to_string()),
        CompileError::Native(error) => Failure::new(Refused::Native, error.to_string()),
        CompileError::Device(error) => Failure::status(Status::Device, error.to_string()),
    });
    report(diagnostics, &found);
    *result = argument::handle(Executable { functions: compiled?.functions().collect() });
    Ok(())
}

/// Promotes and compiles a module, which stays as it is.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_compile(
    module: *const Module,
    options: *const CallerOptions,
    executable: *mut *mut Executable,
    diagnostics: *mut *mut List,
) -> i32 {
    guarded(|| {
        // SAFETY: by contract.
        unsafe {
            compiled(module, executable, diagnostics, || {
                let options = self::options(options)?;
                Ok(move |session: &promote::Session, module: promote::Module<'static>| {
                    promote::Executable::compile(session, module, &options)
                })
            })
        }
    })
}

/// Frees compiled functions, but for those that were looked up. Null does nothing.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_executable_free(executable: *mut Executable) {
    // SAFETY: by contract.
    unsafe { argument::free(executable) }
}

/// How many functions there are.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_executable_count(executable: *const Executable) -> usize {
    // SAFETY: by contract.
    unsafe { executable.as_ref() }.map_or(0, |executable| executable.functions.len())
}

/// Looks up a function.
///
/// # Safety
/// The pointers are as the header says.
unsafe fn look_up(
    executable: *const Executable,
    function: *mut *mut Function,
    find: impl FnOnce(&[promote::Function]) -> Result<promote::Function, Failure>,
) -> Result<(), Failure> {
    // SAFETY: by contract.
    let (result, executable) = unsafe {
        let result = argument::result("function", function, std::ptr::null_mut())?;
        (result, argument::required("executable", executable)?)
    };
    *result = argument::handle(Function::new(find(&executable.functions)?));
    Ok(())
}

/// The function of an index.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_executable_at(
    executable: *const Executable,
    index: usize,
    function: *mut *mut Function,
) -> i32 {
    let find = |functions: &[promote::Function]| {
        functions
            .get(index)
            .cloned()
            .ok_or_else(|| Failure::argument(format!("there is no function {index}")))
    };
    // SAFETY: by contract.
    guarded(|| unsafe { look_up(executable, function, find) })
}

/// The function of a name.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_executable_function(
    executable: *const Executable,
    name: *const c_char,
    function: *mut *mut Function,
) -> i32 {
    let find = |functions: &[promote::Function]| {
        // SAFETY: by contract.
        let name = unsafe { argument::text("name", name) }?;
        let found = functions.iter().find(|function| function.name() == name).cloned();
        found.ok_or_else(|| Failure::argument(format!("there is no public function @{}", in_mlir(name))))
    };
    // SAFETY: by contract.
    guarded(|| unsafe { look_up(executable, function, find) })
}

/// What a function takes and returns; null for null.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_function_interface(function: *const Function) -> *const Interface {
    // SAFETY: by contract.
    unsafe { function.as_ref() }.map_or(std::ptr::null(), |function| &raw const function.interface)
}

/// Frees a function. Null does nothing.
///
/// # Safety
/// As the header says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn promote_function_free(function: *mut Function) {
    // SAFETY: by contract.
    unsafe { argument::free(function) }
}
