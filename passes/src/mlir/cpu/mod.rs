//! `promote-to-llvm`: strong programs as functions of the LLVM dialect, for processors.
//!
//! Each function becomes code over buffers that calls kernels, one function each, through the run time's threads. Control
//! flow must be blocks. Of each public function there is an interface for callers outside ([`signature`]).
//!
//! ## Algorithm
//! 1. Straight-line code is collected as a graph of primitives ([`segment`]), until a tensor is needed in memory: by a
//!    terminator, a call, or an op that takes an element out.
//! 2. The graph is partitioned into kernels (`lower::fuse`), which are compiled ([`kernel`]) and called in order.
//! 3. Buffers are counted: [`function`] says who owns them.

mod choice;
mod emit;
mod function;
mod interface;
mod kernel;
mod liveness;
mod llvm;
mod matmul;
mod names;
mod scalars;
mod segment;
mod signature;
mod target;

use mlir_sys::*;
use promote_dialect::mlir::Names;
use promote_lattice::DType;
use promote_lattice::convert::Bits;
use promote_scalar::{Ty, memory_size};
use rustc_hash::{FxHashMap, FxHashSet};

pub use interface::{Interface, interfaces};
pub use names::dlpack;
pub use signature::{Number, Type};
pub use target::Machine;

use self::function::{Face, Function};
use self::kernel::{Compiled, Setting};
use self::llvm::Types;
use self::signature::RUNTIME;
use super::placement;
use super::raw;
use super::report::place_of;
use super::units::Shared;
use super::verify::verify_strong;
use super::view::{FUNCTION, function_type};
use crate::diagnostic::{Code as Id, Diagnostic};
use crate::lower::kernel::Kernel;
use crate::symbols::{Symbols, encoded, in_mlir};

/// Lowers a module in place.
pub fn lower(root: MlirOperation, shared: Shared<'_>, machine: Machine) -> Vec<Diagnostic> {
    let weak = verify_strong(root, shared);
    if !weak.is_empty() {
        return weak;
    }
    let Some(body) =
        raw::regions(root).flat_map(raw::blocks).next().filter(|_| raw::is_named(root, "builtin.module"))
    else {
        let message = "promote-to-llvm runs on a module";
        return vec![Diagnostic::error(Id::NotLowered, place_of(root), message)];
    };
    let misplaced = placement::outside_of_functions(root, shared.names, placement::Functions::OfTheRoot);
    if !misplaced.is_empty() {
        return misplaced;
    }
    let functions: Vec<MlirOperation> =
        raw::operations(body).filter(|operation| raw::is_named(*operation, FUNCTION)).collect();
    let setting = Setting {
        types: Types::new(raw::context(root)),
        module: body,
        numerics: shared.semantics.numerics(),
        machine,
    };
    let with_body = functions.iter().filter(|function| has_body(**function));
    let mut lowering = Lowering {
        setting,
        names: shared.names,
        said: Vec::new(),
        bodies: with_body.filter_map(|function| raw::string_attribute(*function, "sym_name")).collect(),
        kernels: FxHashMap::default(),
        products: FxHashMap::default(),
        taken: raw::operations(body)
            .filter(|operation| !raw::is_named(*operation, FUNCTION))
            .filter_map(|operation| raw::string_attribute(operation, "sym_name"))
            .collect(),
        globals: 0,
    };
    let called = called(&functions);
    let mut text = RUNTIME.to_owned();
    for function in functions.iter().filter(|function| has_body(**function)) {
        lowering.function(*function, &called, &mut text);
    }
    let Lowering { said, .. } = lowering;
    if said.is_empty() {
        functions.into_iter().for_each(raw::erase);
        take_over(body, &text, setting.types.context);
    }
    said
}

fn has_body(function: MlirOperation) -> bool {
    raw::regions(function).flat_map(raw::blocks).next().is_some()
}

/// Whether callers outside see a function.
fn is_public(function: MlirOperation) -> bool {
    raw::string_attribute(function, "sym_visibility").as_deref() != Some("private")
}

/// The names of the functions that are called in the module.
fn called(functions: &[MlirOperation]) -> FxHashSet<String> {
    let blocks = functions.iter().flat_map(|function| raw::regions(*function).flat_map(raw::blocks));
    let calls = blocks.flat_map(raw::operations).filter(|operation| raw::is_named(*operation, "func.call"));
    calls.filter_map(|call| raw::symbol(raw::attribute(call, "callee")?)).collect()
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
    names: &'a Names,
    said: Vec<Diagnostic>,
    /// The functions that have one.
    bodies: FxHashSet<String>,
    /// The code of each kernel in canonical form.
    kernels: FxHashMap<Kernel, (String, Compiled)>,
    /// The code that packs operands of matrix products, and multiplies them.
    products: FxHashMap<Ty, [String; 2]>,
    /// The names of other ops of the module.
    taken: FxHashSet<String>,
    globals: usize,
}

impl Lowering<'_> {
    fn function(&mut self, function: MlirOperation, called: &FxHashSet<String>, text: &mut String) {
        let interface::Interface { name, inputs, outputs, .. } =
            match interface::of_function(function, self.names) {
                Ok(interface) => interface,
                Err(error) => return self.said.push(error),
            };
        if called.contains(&name) {
            let inner = Self::inner(&name);
            Function::lower(self, function, &name, Face::Inner, &inner, &inputs);
            text.push_str(&signature::stack(&inner));
        }
        if !is_public(function) || !self.claim(function, &name) {
            return;
        }
        let entry = format!("promote.entry.{}", encoded(&name));
        Function::lower(self, function, &name, Face::Entry, &entry, &inputs);
        let shape = tells_shape(function).then(|| format!("promote.shape.{}", encoded(&name)));
        if let Some(shape) = &shape {
            Function::lower(self, function, &name, Face::Shape, shape, &inputs);
        }
        let face = signature::Face {
            name: &name,
            inputs: &inputs,
            outputs: &outputs,
            entry: &entry,
            shape: shape.as_deref(),
        };
        [Some(&entry), shape.as_ref()]
            .into_iter()
            .flatten()
            .for_each(|function| text.push_str(&signature::stack(function)));
        text.push_str(&signature::symbols(&face));
        self.keep_type(function, &name);
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
        self.said.push(error.with_remedy("rename one of them"));
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

    fn has_body(&self, name: &str) -> bool {
        self.bodies.contains(name)
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
    fn global(&mut self, elements: &[Bits], dtype: DType) -> String {
        let size = memory_size(dtype);
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

/// Whether the shapes of a function's results follow from its arguments' shapes alone: nothing is read of a tensor, and
/// nothing is called, on the one way that there is.
fn tells_shape(function: MlirOperation) -> bool {
    let blocks: Vec<MlirBlock> = raw::regions(function).flat_map(raw::blocks).collect();
    let is_known = |value: MlirValue| raw::extents(raw::value_type(value)).all(|extent| extent.is_some());
    let chooses = |operation: MlirOperation| {
        raw::is_named(operation, "arith.select") && !raw::results(operation).all(is_known)
    };
    let reads = |operation: MlirOperation| {
        ["func.call", "tensor.extract"].iter().any(|name| raw::is_named(operation, name))
            || chooses(operation)
    };
    blocks.len() == 1 && !blocks.into_iter().flat_map(raw::operations).any(reads)
}
