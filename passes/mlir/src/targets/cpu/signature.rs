//! What functions take and return, and the symbols by which they are called from outside.
//!
//! A public function `f` has four symbols ([`promote_lower::symbols`]): `promote_f` and `promote_f_shape`, which DLPack tensors are
//! given to, `__tvm_ffi_f`, which takes them by TVM-FFI's convention, and `promote_meta_f`, a constant that says what the function takes and returns and where its code is: a
//! [`Function`] of the run time's, which checks tensors against it.

use std::fmt::Write;

use promote_abi::{
    ANYHOW, Function, IN_PIECES, Kind, Prototype, REVERSED, Runtime, Strided, Structure, TensorType, fields,
};

use super::names;
use promote_lower::program::{Placement, Strides};
use promote_lower::symbols::{Symbols, encoded};
use promote_lower::types::Type;

/// A public function, as the outside sees it.
pub struct Export<'a> {
    /// Its name in the program.
    pub name: &'a str,
    /// What it takes.
    pub inputs: &'a [Type],
    /// What it returns.
    pub outputs: &'a [Type],
    /// The symbol of its code.
    pub entry: &'a str,
    /// A bit for each input that its code takes in any order in memory.
    pub in_any_order: i64,
    /// The symbol of the code that computes its results' shapes, if there is one.
    pub shape: Option<&'a str>,
    /// The symbols of the codes for arguments [with strides](promote_lower::program::EntryKind::Strided).
    pub strided: &'a [(Strides, String)],
}

/// Declarations of the functions of the run time that compiled code calls, as MLIR text.
pub fn declarations() -> String {
    let mut text = String::new();
    for function in Runtime::ALL {
        let Prototype { name, parameters, result, .. } = function.prototype();
        let parameters: Vec<&str> = parameters.iter().map(|parameter| type_text(parameter.ty.kind)).collect();
        let result = result.map(|result| format!(" -> {}", type_text(result.kind))).unwrap_or_default();
        // Writing to a string does not fail, here and below.
        let _ = writeln!(text, "llvm.func @{name}({}){result}", parameters.join(", "));
    }
    text
}

/// A type that crosses the interface, as MLIR text.
fn type_text(kind: Option<Kind>) -> &'static str {
    match kind {
        Some(Kind::Pointer) => "!llvm.ptr",
        Some(Kind::Bool) => "i1",
        Some(Kind::I8) => "i8",
        Some(Kind::I16) => "i16",
        Some(Kind::I32) => "i32",
        Some(Kind::I64) => "i64",
        Some(Kind::F32) => "f32",
        Some(Kind::F64) => "f64",
        None => {
            unreachable!("compiled code writes no structure inside another, and passes structures by address")
        }
    }
}

/// A structure of the table, as MLIR text.
fn structure<S: Structure>() -> String {
    let fields: Vec<&str> = S::FIELDS.iter().map(|field| type_text(field.ty.kind)).collect();
    format!("!llvm.struct<({})>", fields.join(", "))
}

/// Writes ops that make a structure, whose fields are ops, and calls its values `prefix` and a suffix; the whole.
fn built<S: Structure>(text: &mut String, prefix: &str, fields: &[String]) -> String {
    let ty = structure::<S>();
    let _ = writeln!(text, "  %{prefix}s0 = llvm.mlir.undef : {ty}");
    for (index, field) in fields.iter().enumerate() {
        let _ = writeln!(text, "  %{prefix}f{index} = {field}");
        let _ = writeln!(
            text,
            "  %{prefix}s{} = llvm.insertvalue %{prefix}f{index}, %{prefix}s{index}[{index}] : {ty}",
            index + 1
        );
    }
    format!("%{prefix}s{}", fields.len())
}

/// The op that makes a number of a field's type.
fn number(kind: Kind, value: i64) -> String {
    let ty = type_text(Some(kind));
    format!("llvm.mlir.constant({value} : {ty}) : {ty}")
}

/// The op that makes the address of a symbol, or null.
fn address(symbol: Option<String>) -> String {
    match symbol {
        Some(symbol) => format!("llvm.mlir.addressof @{symbol} : !llvm.ptr"),
        None => "llvm.mlir.zero : !llvm.ptr".to_owned(),
    }
}

/// The symbols of a function, as MLIR text. The entries are declared, so that the text stands on its own.
pub fn symbols(export: &Export<'_>) -> String {
    let mut text = String::new();
    let strided = export.strided.iter().map(|(_, entry)| entry.as_str());
    for entry in [export.entry].into_iter().chain(export.shape).chain(strided) {
        let _ = writeln!(text, "llvm.func @{entry}(!llvm.ptr, !llvm.ptr) -> i32");
    }
    let Symbols { call, shape, metadata, tvm } = Symbols::of(export.name);
    let name = format!("promote.name.{}", encoded(export.name));
    let _ =
        writeln!(text, "llvm.mlir.global internal constant @{name}(\"{call}\\00\") {{addr_space = 0 : i32}}");
    types(&mut text, export, "in", export.inputs);
    types(&mut text, export, "out", export.outputs);
    codes(&mut text, export);
    let ty = structure::<Function>();
    let _ = writeln!(text, "llvm.mlir.global external constant @{metadata}() : {ty} {{");
    let fields = fields::Function {
        name: address(Some(name)),
        inputs: number(Kind::I32, export.inputs.len() as i64),
        outputs: number(Kind::I32, export.outputs.len() as i64),
        input_types: address((!export.inputs.is_empty()).then(|| array(export, "in"))),
        output_types: address((!export.outputs.is_empty()).then(|| array(export, "out"))),
        entry: address(Some(export.entry.to_owned())),
        shape: address(export.shape.map(str::to_owned)),
        entry_stack: address(Some(stack_symbol(export.entry))),
        shape_stack: address(export.shape.map(stack_symbol)),
        in_any_order: number(Kind::I64, export.in_any_order),
        strided_count: number(Kind::I64, export.strided.len() as i64),
        strided: address((!export.strided.is_empty()).then(|| array(export, "strided"))),
    };
    let whole = built::<Function>(&mut text, "", &fields.in_order());
    let _ = writeln!(text, "  llvm.return {whole} : {ty}\n}}");
    for (symbol, callee) in [(call, Runtime::Call), (shape, Runtime::Shapes)] {
        let _ = writeln!(
            text,
            "llvm.func @{symbol}(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {{
  %meta = llvm.mlir.addressof @{metadata} : !llvm.ptr
  %status = llvm.call @{}(%meta, %inputs, %outputs) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  llvm.return %status : i32
}}",
            callee.name()
        );
    }
    let _ = writeln!(
        text,
        "llvm.func @{tvm}(%self: !llvm.ptr, %args: !llvm.ptr, %count: i32, %result: !llvm.ptr) -> i32 {{
  %meta = llvm.mlir.addressof @{metadata} : !llvm.ptr
  %status = llvm.call @{}(%meta, %args, %count, %result) : (!llvm.ptr, !llvm.ptr, i32, !llvm.ptr) -> i32
  llvm.return %status : i32
}}",
        Runtime::Tvm.name()
    );
    text
}

/// The symbol of the array of the types of arguments or results, or of codes.
fn array(export: &Export<'_>, which: &str) -> String {
    format!("promote.{which}.{}", encoded(export.name))
}

/// The symbol of the bytes of stack that a function takes: its own frame, and the largest one of a kernel. Only the code
/// generator knows them: it writes the number when it has laid out the frames.
pub fn stack_symbol(function: &str) -> String {
    format!("promote.stack.{function}")
}

/// The number of that symbol, as MLIR text: 0 until the code generator writes it.
pub fn stack(function: &str) -> String {
    format!(
        "llvm.mlir.global internal @{}(0 : i64) {{addr_space = 0 : i32, externally_initialized}} : i64\n",
        stack_symbol(function)
    )
}

/// An array of the codes for arguments with strides.
fn codes(text: &mut String, export: &Export<'_>) {
    if export.strided.is_empty() {
        return;
    }
    let elements = export.strided.iter().map(|(strides, entry)| {
        let (before, dense) = match strides.elements {
            Placement::SideBySide { before, is_dense } => (before as i64, i64::from(is_dense)),
            Placement::InPieces { before } => (before as i64, IN_PIECES),
            Placement::Apart => (-1, 0),
            Placement::Reversed => (REVERSED, 0),
            Placement::Anyhow => (ANYHOW, 0),
        };
        let fields = fields::Strided {
            before: number(Kind::I64, before),
            dense: number(Kind::I64, dense),
            input: number(Kind::I64, strides.input.map_or(-1, |input| input as i64)),
            entry: address(Some(entry.clone())),
            entry_stack: address(Some(stack_symbol(entry))),
        };
        fields.in_order()
    });
    constants::<Strided>(text, &array(export, "strided"), elements.collect());
}

/// A constant array of structures, each of whose fields is an op.
fn constants<S: Structure>(text: &mut String, symbol: &str, elements: Vec<Vec<String>>) {
    let array = format!("!llvm.array<{} x {}>", elements.len(), structure::<S>());
    let _ = writeln!(
        text,
        "llvm.mlir.global internal constant @{symbol}() : {array} {{\n  %a0 = llvm.mlir.undef : {array}"
    );
    for (index, fields) in elements.iter().enumerate() {
        let built = built::<S>(text, &format!("t{index}_"), fields);
        let _ = writeln!(text, "  %a{} = llvm.insertvalue {built}, %a{index}[{index}] : {array}", index + 1);
    }
    let _ = writeln!(text, "  llvm.return %a{} : {array}\n}}", elements.len());
}

/// An array of the types of arguments or results.
fn types(text: &mut String, export: &Export<'_>, which: &str, types: &[Type]) {
    if types.is_empty() {
        return;
    }
    let symbol = array(export, which);
    for (index, r#type) in types.iter().enumerate().filter(|(_, r#type)| !r#type.dims().is_empty()) {
        let dims: Vec<String> = r#type.dims().iter().map(|extent| extent.unwrap_or(-1).to_string()).collect();
        let _ = writeln!(
            text,
            "llvm.mlir.global internal constant @{symbol}.{index}(dense<[{}]> : tensor<{}xi64>) : !llvm.array<{} x i64>",
            dims.join(", "),
            dims.len(),
            dims.len()
        );
    }
    let elements = types.iter().enumerate().map(|(index, r#type)| {
        let Some((code, bits)) = names::dlpack(r#type.dtype()) else {
            unreachable!("functions of strong programs take and return strong dtypes")
        };
        let fields = fields::TensorType {
            code: number(Kind::I8, code.cast_signed().into()),
            bits: number(Kind::I8, bits.cast_signed().into()),
            lanes: number(Kind::I16, 1),
            rank: number(Kind::I32, r#type.dims().len() as i64),
            dims: address((!r#type.dims().is_empty()).then(|| format!("{symbol}.{index}"))),
            name: address(None),
        };
        fields.in_order()
    });
    constants::<TensorType>(text, &symbol, elements.collect());
}
