//! `promote-to-llvm`: strong programs as functions of the LLVM dialect, for processors.
//!
//! The module is read as data and [lowered](promote_lower::program) to a program, whose functions become
//! code here (`function`) that launches kernels (`kernel`), one function each, on the threads of the run time. Control
//! flow must be blocks. Of each public function there is an interface for callers outside (`signature`).

mod costs;
mod emit;
mod function;
mod kernel;
mod launch;
mod matmul;
mod names;
mod products;
mod runtime;
mod scalars;
mod signature;
mod steps;
mod target;

use melior::dialect::DialectHandle;
use melior::ir::BlockLike;
use melior::ir::Module as MlirModule;
use mlir_sys::*;
use promote_lattice::convert::Numerics;
use promote_scalar::memory_size;
use rustc_hash::{FxHashMap, FxHashSet};

pub use names::dlpack;
pub use target::Machine;

use self::function::Function;
use self::kernel::{Compiled, Setting};
use self::matmul::{Body, Elements};
use crate::ir::FUNCTION;
use crate::program::read;
use crate::raw;
use crate::targets::TargetPass;
use crate::targets::llvm::{self, Types};
use crate::units::Shared;
use promote_diagnostics::{Code as Id, Diagnostic};
use promote_host::strong::program::Source;
use promote_lower::interface::mlir_type;
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

/// Lowers a module in place.
fn lower(root: MlirOperation, shared: Shared<'_>, machine: Machine) -> Vec<Diagnostic> {
    let Source { functions, program, ops } = match read(root, shared, &machine) {
        Ok(source) => source,
        Err(refused) => return refused,
    };
    let body = raw::regions(root).flat_map(raw::blocks).next();
    let body = body.expect("a program is read from the block of a module");
    let locations: Vec<_> = ops.into_iter().map(|operation| raw::location(operation.0)).collect();
    let setting = Setting {
        types: Types::new(raw::context(root)),
        module: body,
        numerics: shared.semantics.numerics(),
        machine,
    };
    let code = match code(setting, &program, &locations) {
        Ok(code) => code,
        Err(refused) => return refused,
    };
    for function in functions {
        // SAFETY: symbols alone name it, and what was read of it is data.
        unsafe { raw::erase(function.0) };
    }
    code.put();
    Vec::new()
}

/// Puts the functions of a program into an empty module, which [`lower`] would have made of the module that the program was
/// read from.
pub(crate) fn put_program(
    module: &MlirModule<'_>,
    program: &Program,
    numerics: Numerics,
    machine: Machine,
) -> Vec<Diagnostic> {
    let (context, body) = (raw::context(module.as_operation().to_raw()), module.body().to_raw());
    let location = |place: &Place| raw::file_location(context, place.location.as_ref());
    let locations: Vec<_> = program.places.iter().map(location).collect();
    match code(Setting { types: Types::new(context), module: body, numerics, machine }, program, &locations) {
        Ok(code) => code.put(),
        Err(refused) => return refused,
    }
    Vec::new()
}

/// Code in a module that still has what it is made of.
struct Code {
    context: MlirContext,
    body: MlirBlock,
    /// The symbols that callers need.
    text: String,
}

impl Code {
    fn put(self) {
        take_over(self.body, &self.text, self.context);
    }
}

/// Compiles a program into a module.
///
/// # Errors
/// If a symbol is taken.
fn code(setting: Setting, program: &Program, locations: &[MlirLocation]) -> Result<Code, Vec<Diagnostic>> {
    let (context, body) = (setting.types.context, setting.module);
    let mut lowering = Lowering {
        setting,
        program,
        locations,
        diagnostics: Vec::new(),
        kernels: FxHashMap::default(),
        products: FxHashMap::default(),
        taken: raw::operations(body)
            .filter(|operation| !raw::is_named(*operation, FUNCTION))
            .filter_map(|operation| raw::string_attribute(operation, "sym_name"))
            .collect(),
        globals: 0,
        constants: Vec::new(),
        extents: FxHashMap::default(),
    };
    let text = lowering.program();
    let Lowering { diagnostics, .. } = lowering;
    if diagnostics.is_empty() { Ok(Code { context, body, text }) } else { Err(diagnostics) }
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
    /// Those of extents in a row.
    extents: FxHashMap<Vec<i64>, String>,
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
        let (mut entry, mut shape, mut strided, mut in_any_order) = (None, None, Vec::new(), 0);
        for function in entries {
            let name = &function.name;
            if function.entry != EntryKind::Private && !self.claim(function) {
                return;
            }
            let symbol = match function.entry {
                EntryKind::Private => Self::inner(name),
                EntryKind::Public => entry.insert(format!("promote.entry.{}", encoded(name))).clone(),
                EntryKind::Strided(strides) => {
                    let kind = function.entry.to_string().replace(' ', ".");
                    let symbol = format!("promote.{kind}.{}", encoded(name));
                    strided.push((strides, symbol.clone()));
                    symbol
                }
                EntryKind::Shapes => shape.insert(format!("promote.shape.{}", encoded(name))).clone(),
            };
            let own = Function::compile(self, function, &symbol);
            if function.entry == EntryKind::Public {
                in_any_order = own;
            }
            text.push_str(&signature::stack(&symbol));
        }
        if let (Some(entry), [function @ program::Function { name, inputs, outputs, .. }, ..]) =
            (entry, entries)
        {
            let (shape, strided) = (shape.as_deref(), strided.as_slice());
            let export =
                signature::Export { name, inputs, outputs, entry: &entry, in_any_order, shape, strided };
            text.push_str(&signature::symbols(&export));
            self.keep_type(function);
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
    fn claim(&mut self, function: &program::Function) -> bool {
        let name = &function.name;
        let Symbols { call, shape, metadata, tvm } = Symbols::of(name);
        let Some(symbol) =
            [call, shape, metadata, tvm].into_iter().find(|symbol| self.taken.contains(symbol))
        else {
            return true;
        };
        let message = format!(
            "@{} would have the symbol {symbol}, and the module has another op of that name",
            in_mlir(name)
        );
        let error = Diagnostic::error(Id::NotLowered, self.place(function.place).location.clone(), message);
        self.diagnostics.push(error.with_remedy("rename one of them"));
        false
    }

    /// Keeps the type of a public function for [`interfaces`](crate::interface::interfaces).
    fn keep_type(&self, function: &program::Function) {
        let text = mlir_type(&function.inputs, &function.outputs);
        let value = raw::string_attribute_of(self.setting.types.context, &text);
        let location = self.location(function.place);
        self.define(&crate::interface::symbol(&function.name), location, text.len(), value);
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
        self.bytes("dense", &bytes)
    }

    /// Extents in a row in memory; their symbol.
    fn extents(&mut self, extents: Vec<i64>) -> String {
        if let Some(symbol) = self.extents.get(&extents) {
            return symbol.clone();
        }
        let bytes: Vec<u8> = extents.iter().flat_map(|extent| extent.to_le_bytes()).collect();
        let symbol = self.bytes("extents", &bytes);
        self.extents.insert(extents, symbol.clone());
        symbol
    }

    /// Bytes in memory; their symbol.
    fn bytes(&mut self, what: &str, bytes: &[u8]) -> String {
        // SAFETY: the context is alive, and the type is one of as many bytes as the buffer has, which MLIR copies.
        let value = unsafe {
            let none = MlirAttribute { ptr: std::ptr::null() };
            let shape = [bytes.len() as i64];
            let r#type = mlirRankedTensorTypeGet(1, shape.as_ptr(), self.setting.types.i8, none);
            mlirDenseElementsAttrRawBufferGet(r#type, bytes.len(), bytes.as_ptr().cast())
        };
        self.constant(what, bytes.len(), value)
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
        // SAFETY: the context is alive, and MLIR copies the text.
        let (array, name, unit) = unsafe {
            (
                mlirTypeAttrGet(mlirLLVMArrayTypeGet(types.i8, bytes as u32)),
                mlirStringAttrGet(types.context, raw::string(symbol)),
                mlirUnitAttrGet(types.context),
            )
        };
        let attributes = [
            ("sym_name", name),
            ("global_type", array),
            ("linkage", types.parse("#llvm.linkage<internal>")),
            ("constant", unit),
            ("value", value),
            ("alignment", types.int(types.i64, 64)),
            ("addr_space", types.int(types.i32, 0)),
        ];
        llvm::global(types, module, location, &attributes);
    }
}
