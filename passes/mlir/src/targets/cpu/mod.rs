//! `promote-to-llvm`: strong programs as functions of the LLVM dialect, for processors.
//!
//! The module is [read](crate::strong) as data and [lowered](promote_lower::program) to a program, whose functions become
//! code here ([`function`]) that launches kernels ([`kernel`]), one function each, on the threads of the run time. Control
//! flow must be blocks. Of each public function there is an interface for callers outside ([`signature`]).

mod costs;
mod emit;
mod function;
mod interface;
mod kernel;
mod launch;
mod llvm;
mod matmul;
mod names;
mod products;
mod scalars;
mod signature;
mod steps;
mod target;

use melior::dialect::DialectHandle;
use mlir_sys::*;
use promote_scalar::memory_size;
use rustc_hash::{FxHashMap, FxHashSet};

pub use interface::Interface;
pub(crate) use interface::interfaces;
pub use names::dlpack;
pub use target::Machine;

use self::function::Function;
use self::kernel::{Compiled, Setting};
use self::llvm::Types;
use self::matmul::{Body, Elements};
use crate::placement;
use crate::places::place_of;
use crate::raw;
use crate::strong::Reader;
use crate::targets::TargetPass;
use crate::units::Shared;
use crate::verify::verify_strong;
use crate::view::{FUNCTION, function_type};
use promote_diagnostics::{Code as Id, Diagnostic};
use promote_lower::kernel::Kernel;
use promote_lower::program::{self, Constant, EntryKind, KernelId, Place, PlaceId, Program};
use promote_lower::symbols::{Symbols, encoded, in_mlir};
pub use promote_lower::types::{Number, Type};

/// The pass `promote-to-llvm`.
pub static PASS: TargetPass = TargetPass {
    name: "promote-to-llvm",
    description: "lower a strong module without structured control flow to the LLVM dialect, for CPUs",
    dialects: || vec![DialectHandle::llvm()],
    run: |root, shared, config| lower(root, shared, config.targets.cpu),
    emitted: None,
};

/// A module as a program, and what it is made of.
struct Source {
    body: MlirBlock,
    /// All functions, with a body or without.
    functions: Vec<MlirOperation>,
    /// Those with a body.
    by_name: FxHashMap<String, MlirOperation>,
    program: Program,
    /// Of the program's places.
    locations: Vec<MlirLocation>,
}

/// The program that a module is.
///
/// # Errors
/// What no code is made for.
pub(crate) fn program(
    root: MlirOperation,
    shared: Shared<'_>,
    machine: Machine,
) -> Result<Program, Vec<Diagnostic>> {
    read(root, shared, machine).map(|source| source.program)
}

fn read(root: MlirOperation, shared: Shared<'_>, machine: Machine) -> Result<Source, Vec<Diagnostic>> {
    none_of(verify_strong(root, shared))?;
    let Some(body) =
        raw::regions(root).flat_map(raw::blocks).next().filter(|_| raw::is_named(root, "builtin.module"))
    else {
        let message = "promote-to-llvm runs on a module";
        return Err(vec![Diagnostic::error(Id::NotLowered, place_of(root), message)]);
    };
    none_of(placement::outside_of_functions(root, shared.names, placement::Functions::OfTheRoot))?;
    let functions: Vec<MlirOperation> =
        raw::operations(body).filter(|operation| raw::is_named(*operation, FUNCTION)).collect();
    let mut reader = Reader::new(shared.names);
    let (mut by_name, mut refused) = (FxHashMap::default(), Vec::new());
    for function in functions.iter().copied().filter(|function| has_body(*function)) {
        match interface::of_function(function, shared.names) {
            Ok(Interface { name, inputs, outputs, .. }) => {
                reader.function(function, &name, is_public(function), (&inputs, &outputs));
                by_name.insert(name, function);
            }
            Err(error) => refused.push(error),
        }
    }
    none_of(refused)?;
    let Reader { module, locations, .. } = reader;
    let program = program::build::build(&module, shared.semantics.numerics(), &machine)?;
    program.verify().map_err(|problems| {
        let broken = |problem| format!("the program does not keep its laws: {problem}");
        problems
            .into_iter()
            .map(|problem| Diagnostic::error(Id::Internal, None, broken(problem)))
            .collect::<Vec<_>>()
    })?;
    Ok(Source { body, functions, by_name, program, locations })
}

fn none_of(refused: Vec<Diagnostic>) -> Result<(), Vec<Diagnostic>> {
    if refused.is_empty() { Ok(()) } else { Err(refused) }
}

/// Lowers a module in place.
pub(crate) fn lower(root: MlirOperation, shared: Shared<'_>, machine: Machine) -> Vec<Diagnostic> {
    let Source { body, functions, by_name, program, locations } = match read(root, shared, machine) {
        Ok(source) => source,
        Err(refused) => return refused,
    };
    let setting = Setting {
        types: Types::new(raw::context(root)),
        module: body,
        numerics: shared.semantics.numerics(),
        machine,
    };
    let mut lowering = Lowering {
        setting,
        program: &program,
        locations: &locations,
        sources: &by_name,
        diagnostics: Vec::new(),
        kernels: FxHashMap::default(),
        products: FxHashMap::default(),
        taken: raw::operations(body)
            .filter(|operation| !raw::is_named(*operation, FUNCTION))
            .filter_map(|operation| raw::string_attribute(operation, "sym_name"))
            .collect(),
        globals: 0,
        constants: Vec::new(),
    };
    let text = lowering.program();
    let Lowering { diagnostics, .. } = lowering;
    if diagnostics.is_empty() {
        for function in functions {
            // SAFETY: symbols alone name it, and what was read of it is data.
            unsafe { raw::erase(function) };
        }
        take_over(body, &text, setting.types.context);
    }
    diagnostics
}

fn has_body(function: MlirOperation) -> bool {
    raw::regions(function).flat_map(raw::blocks).next().is_some()
}

/// Whether callers outside see a function.
fn is_public(function: MlirOperation) -> bool {
    raw::string_attribute(function, "sym_visibility").as_deref() != Some("private")
}

/// Moves the ops that a text spells into a module, but for declarations of what is there.
fn take_over(body: MlirBlock, text: &str, context: MlirContext) {
    let own: FxHashSet<String> =
        raw::operations(body).filter_map(|operation| raw::string_attribute(operation, "sym_name")).collect();
    // SAFETY: the context is alive; the text ends before a NUL byte, as MLIR wants it. The parsed module is destroyed when
    // what is needed of it was taken out.
    unsafe {
        let terminated = format!("{text}\0");
        let parsed = mlirModuleCreateParse(context, raw::string(&terminated[..text.len()]));
        assert!(!parsed.ptr.is_null(), "the interface of functions is valid MLIR");
        for operation in raw::operations(mlirModuleGetBody(parsed)) {
            let is_new = raw::string_attribute(operation, "sym_name").is_none_or(|name| !own.contains(&name));
            if is_new {
                mlirOperationRemoveFromParent(operation);
                mlirBlockAppendOwnedOperation(body, operation);
            }
        }
        mlirModuleDestroy(parsed);
    }
}

/// What the functions of a module share.
pub struct Lowering<'a> {
    setting: Setting,
    program: &'a Program,
    /// Of the program's places.
    locations: &'a [MlirLocation],
    /// The functions that the program is made of.
    sources: &'a FxHashMap<String, MlirOperation>,
    diagnostics: Vec<Diagnostic>,
    /// The code of kernels.
    kernels: FxHashMap<KernelId, (String, Compiled)>,
    /// The code that packs operands of matrix products, and multiplies them.
    products: FxHashMap<(Elements, Body), String>,
    /// The names of other ops of the module.
    taken: FxHashSet<String>,
    globals: usize,
    /// The symbols of constants.
    constants: Vec<String>,
}

impl<'a> Lowering<'a> {
    /// Compiles all functions; the symbols that callers need, as text.
    fn program(&mut self) -> String {
        let program = self.program;
        for constant in &program.constants {
            let symbol = self.global(constant);
            self.constants.push(symbol);
        }
        let mut text = signature::declarations();
        for functions in program.functions.chunk_by(|a, b| a.name == b.name) {
            self.function(functions, &mut text);
        }
        text
    }

    /// Compiles the entries of a function of the source.
    fn function(&mut self, entries: &'a [program::Function], text: &mut String) {
        let (mut entry, mut shape) = (None, None);
        for function in entries {
            let name = &function.name;
            if function.entry != EntryKind::Private && !self.claim(self.sources[name], name) {
                return;
            }
            let symbol = match function.entry {
                EntryKind::Private => Self::inner(name),
                EntryKind::Public => entry.insert(format!("promote.entry.{}", encoded(name))).clone(),
                EntryKind::Shapes => shape.insert(format!("promote.shape.{}", encoded(name))).clone(),
            };
            Function::compile(self, function, &symbol);
            text.push_str(&signature::stack(&symbol));
        }
        if let (Some(entry), [program::Function { name, inputs, outputs, .. }, ..]) = (entry, entries) {
            let export = signature::Export { name, inputs, outputs, entry: &entry, shape: shape.as_deref() };
            text.push_str(&signature::symbols(&export));
            self.keep_type(self.sources[name], name);
        }
    }

    /// Where something comes from.
    fn place(&self, place: PlaceId) -> &'a Place {
        &self.program.places[place.0 as usize]
    }

    fn location(&self, place: PlaceId) -> MlirLocation {
        self.locations[place.0 as usize]
    }

    fn kernel(&self, kernel: KernelId) -> &'a Kernel {
        &self.program.kernels[kernel.0 as usize]
    }

    /// Whether the symbols of a public function are free: no two functions share any, but ops of other dialects may have
    /// names like them.
    fn claim(&mut self, function: MlirOperation, name: &str) -> bool {
        let Symbols { call, shape, metadata } = Symbols::of(name);
        let Some(symbol) = [call, shape, metadata].into_iter().find(|symbol| self.taken.contains(symbol))
        else {
            return true;
        };
        let message = format!(
            "@{} would have the symbol {symbol}, and the module has another op of that name",
            in_mlir(name)
        );
        let error = Diagnostic::error(Id::NotLowered, place_of(function), message);
        self.diagnostics.push(error.with_remedy("rename one of them"));
        false
    }

    /// Keeps the type of a public function for [`interfaces`].
    fn keep_type(&self, function: MlirOperation, name: &str) {
        let Some(r#type) = function_type(function) else { return };
        let text = raw::type_text(r#type);
        // SAFETY: the context and the function are alive, and MLIR copies the text.
        let (value, location) = unsafe {
            let value = mlirStringAttrGet(self.setting.types.context, raw::string(&text));
            (value, mlirOperationGetLocation(function))
        };
        self.define(&interface::symbol(name), location, text.len(), value);
    }

    /// The symbol of a function for callers in the module.
    fn inner(name: &str) -> String {
        format!("promote.fn.{}", encoded(name))
    }

    fn kernel_name(&mut self, function: &str) -> String {
        self.globals += 1;
        format!("promote.kernel.{}.{}", encoded(function), self.globals)
    }

    /// A constant tensor in memory; its symbol.
    fn global(&mut self, Constant { dtype, elements }: &Constant) -> String {
        let size = memory_size(*dtype);
        let bytes: Vec<u8> =
            elements.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(size)).collect();
        // SAFETY: the context is alive, and the type is one of as many bytes as the buffer has, which MLIR copies.
        let value = unsafe {
            let none = MlirAttribute { ptr: std::ptr::null() };
            let shape = [bytes.len() as i64];
            let r#type = mlirRankedTensorTypeGet(1, shape.as_ptr(), self.setting.types.i8, none);
            mlirDenseElementsAttrRawBufferGet(r#type, bytes.len(), bytes.as_ptr().cast())
        };
        self.constant("dense", bytes.len(), value)
    }

    /// A message in memory; its symbol.
    fn text(&mut self, text: &str) -> String {
        // SAFETY: the context is alive, and MLIR copies the text.
        let value = unsafe { mlirStringAttrGet(self.setting.types.context, raw::string(text)) };
        self.constant("text", text.len(), value)
    }

    fn constant(&mut self, what: &str, bytes: usize, value: MlirAttribute) -> String {
        self.globals += 1;
        let symbol = format!("promote.{what}.{}", self.globals);
        // SAFETY: the context is alive.
        let location = unsafe { mlirLocationUnknownGet(self.setting.types.context) };
        self.define(&symbol, location, bytes, value);
        symbol
    }

    /// Puts a constant of the module's own into it.
    fn define(&self, symbol: &str, location: MlirLocation, bytes: usize, value: MlirAttribute) {
        let Setting { types, module, .. } = self.setting;
        // SAFETY: all handles are alive, and MLIR copies what the arrays hold; the op owns its region, the module the op.
        unsafe {
            let array = mlirTypeAttrGet(mlirLLVMArrayTypeGet(types.i8, bytes as u32));
            let name = mlirStringAttrGet(types.context, raw::string(symbol));
            let attributes = [
                raw::named(types.context, "sym_name", name),
                raw::named(types.context, "global_type", array),
                raw::named(types.context, "linkage", types.parse("#llvm.linkage<internal>")),
                raw::named(types.context, "constant", mlirUnitAttrGet(types.context)),
                raw::named(types.context, "value", value),
                raw::named(types.context, "alignment", types.int(types.i64, 64)),
                raw::named(types.context, "addr_space", types.int(types.i32, 0)),
            ];
            let region = mlirRegionCreate();
            let mut state = mlirOperationStateGet(raw::string("llvm.mlir.global"), location);
            mlirOperationStateAddAttributes(&raw mut state, attributes.len() as isize, attributes.as_ptr());
            mlirOperationStateAddOwnedRegions(&raw mut state, 1, &raw const region);
            mlirBlockAppendOwnedOperation(module, mlirOperationCreate(&raw mut state));
        }
    }
}
