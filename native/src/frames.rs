//! How much stack functions take, written where the program finds it.
//!
//! A function `f` that has a number `promote.stack.f` calls others only where the stack holds them. Only the code generator knows how
//! large a frame is, once it has laid it out, and it says so if a function has a limit for its frame: as a warning, for the limit
//! here is 0. Numbers are written after all functions; so each is set as the frame becomes known, to the frame and the
//! largest one of a function without a number, which is a loop that others run.

use std::ffi::c_char;

use llvm_sys::LLVMAttributeFunctionIndex;
use llvm_sys::core::*;
use llvm_sys::prelude::*;

use crate::llvm::promote_llvm_frame;

/// What the symbol of a function's number begins with.
const PREFIX: &[u8] = b"promote.stack.";

/// The frames of a module, as far as they are known.
#[derive(Default)]
pub struct Frames {
    /// The numbers of functions, and their own frames.
    functions: Vec<(LLVMValueRef, u64)>,
    /// The largest frame of a function without a number.
    largest: u64,
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
    /// Takes notice of a frame, if that is what a diagnostic is about.
    ///
    /// # Safety
    /// The diagnostic is alive, and all modules that diagnostics were about since the last [`Frames::default`].
    pub unsafe fn note(&mut self, diagnostic: LLVMDiagnosticInfoRef) {
        let mut size = 0;
        // SAFETY: by contract; the function is one of a module that is being compiled.
        let number = unsafe {
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

/// The number of a function; null if it has none.
unsafe fn number_of(function: LLVMValueRef) -> LLVMValueRef {
    // SAFETY: the function is alive, and so are its name and its module; the symbol is read during the call.
    unsafe {
        let mut length = 0;
        let name = LLVMGetValueName2(function, &mut length).cast::<u8>();
        let symbol = [PREFIX, std::slice::from_raw_parts(name, length)].concat();
        LLVMGetNamedGlobalWithLength(
            LLVMGetGlobalParent(function),
            symbol.as_ptr().cast::<c_char>(),
            symbol.len(),
        )
    }
}
