//! How much stack functions take, written where the program finds it.
//!
//! A function `f` that has a number `promote.stack.f` calls others only where the stack holds them. Only the code generator knows how
//! large a frame is, once it has laid it out, and it says so if a function has a limit for its frame: as a warning, for the limit
//! here is 0. Numbers are written after all functions; so each is set as the frame becomes known, to the frame and the
//! largest one of a function without a number, which is a loop that others run.

use std::collections::HashMap;
use std::ffi::{CStr, c_char};

use llvm_sys::LLVMAttributeFunctionIndex;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::llvm::promote_llvm_frame;

/// What the symbol of a function's number begins with.
pub const PREFIX: &CStr = c"promote.stack.";

/// The frames of a module, as far as they are known.
#[derive(Default)]
pub struct Frames {
    /// The numbers of functions, and their own frames.
    functions: Vec<(LLVMValueRef, u64)>,
    /// The same of numbers that are defined elsewhere, by name.
    elsewhere: Vec<(String, u64)>,
    /// The largest frame of a function without a number.
    largest: u64,
}

/// What is known of the frames of a module whose numbers are defined elsewhere.
#[derive(Debug, Default)]
pub struct Elsewhere {
    /// The numbers of functions, by name, and their own frames.
    functions: Vec<(String, u64)>,
    /// The largest frame of a function without a number.
    largest: u64,
}

/// The numbers of those names, whose functions are in several modules. A number is the size of its function's frame, which the code
/// generator tells if it is not 0, and of the largest frame of a function without a number.
pub fn numbers(names: Vec<String>, modules: Vec<Elsewhere>) -> Vec<(String, u64)> {
    let largest = modules.iter().map(|frames| frames.largest).max().unwrap_or(0);
    let known: HashMap<String, u64> = modules.into_iter().flat_map(|frames| frames.functions).collect();
    let number = |name: String| {
        let own = known.get(&name).copied().unwrap_or(0);
        (name, own.saturating_add(largest))
    };
    names.into_iter().map(number).collect()
}

/// The names of all numbers of a module.
///
/// # Safety
/// The module is alive.
pub unsafe fn names(module: LLVMModuleRef) -> Vec<String> {
    let mut names = Vec::new();
    // SAFETY: by contract; variables of a module are alive with it, and so are their names.
    unsafe {
        let mut variable = LLVMGetFirstGlobal(module);
        while !variable.is_null() {
            let mut length = 0;
            let name = LLVMGetValueName2(variable, &mut length).cast::<u8>();
            let name = std::slice::from_raw_parts(name, length);
            if name.starts_with(PREFIX.to_bytes()) {
                names.push(String::from_utf8_lossy(name).into_owned());
            }
            variable = LLVMGetNextGlobal(variable);
        }
    }
    names
}

/// Has the code generator say how large the frames of all functions are.
///
/// # Safety
/// The module is alive, and the diagnostics of its context come to [`Frames::note`].
pub unsafe fn ask(module: LLVMModuleRef) {
    // SAFETY: by contract; functions of a module are alive with it.
    unsafe {
        let context = LLVMGetModuleContext(module);
        let (name, limit) = ("warn-stack-size", "0");
        let (name_start, limit_start) = (name.as_ptr().cast::<c_char>(), limit.as_ptr().cast::<c_char>());
        let attribute = LLVMCreateStringAttribute(
            context,
            name_start,
            name.len() as u32,
            limit_start,
            limit.len() as u32,
        );
        let mut function = LLVMGetFirstFunction(module);
        while !function.is_null() {
            if LLVMIsDeclaration(function) == 0 {
                LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex, attribute);
            }
            function = LLVMGetNextFunction(function);
        }
    }
}

impl Frames {
    /// What is to be known elsewhere.
    pub fn elsewhere(self) -> Elsewhere {
        Elsewhere { functions: self.elsewhere, largest: self.largest }
    }

    /// Takes notice of a frame, if that is what a diagnostic is about.
    ///
    /// # Safety
    /// The diagnostic is alive, and all modules that diagnostics were about since the last [`Frames::default`].
    pub unsafe fn note(&mut self, diagnostic: LLVMDiagnosticInfoRef) {
        let mut size = 0;
        // SAFETY: by contract; the function is one of a module that is being compiled.
        let (name, number) = unsafe {
            let function = promote_llvm_frame(diagnostic, &mut size);
            if function.is_null() {
                return;
            }
            number_of(function)
        };
        if number.is_null() {
            if size > self.largest {
                self.largest = size;
                // SAFETY: by contract.
                self.functions.iter().for_each(|known| unsafe { self.write(*known) });
            }
            return;
        }
        // SAFETY: the number is one of the module.
        if unsafe { LLVMIsDeclaration(number) } != 0 {
            self.elsewhere.push((name, size));
        } else {
            self.functions.push((number, size));
            // SAFETY: by contract.
            unsafe { self.write((number, size)) };
        }
    }

    unsafe fn write(&self, (number, size): (LLVMValueRef, u64)) {
        // SAFETY: by contract the number is a global variable of an alive module.
        unsafe {
            let r#type = LLVMGlobalGetValueType(number);
            LLVMSetInitializer(number, LLVMConstInt(r#type, size.saturating_add(self.largest), 0));
        }
    }
}

/// The name of a function's number, and the number; null if it has none.
unsafe fn number_of(function: LLVMValueRef) -> (String, LLVMValueRef) {
    // SAFETY: the function is alive, and so are its name and its module; the symbol is read during the call.
    unsafe {
        let mut length = 0;
        let name = LLVMGetValueName2(function, &mut length).cast::<u8>();
        let symbol = [PREFIX.to_bytes(), std::slice::from_raw_parts(name, length)].concat();
        let number = LLVMGetNamedGlobalWithLength(
            LLVMGetGlobalParent(function),
            symbol.as_ptr().cast::<c_char>(),
            symbol.len(),
        );
        (String::from_utf8_lossy(&symbol).into_owned(), number)
    }
}
