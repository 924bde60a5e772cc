//! What functions take and return, and the symbols by which they are called from outside.
//!
//! A public function `f` has three symbols ([`promote_lower::symbols`]): `promote_f` and `promote_f_shape`, which DLPack tensors are
//! given to, and `promote_meta_f`, a constant that says what the function takes and returns and where its code is. The run
//! time checks tensors against it. The layouts are those of `promote-runtime`'s `Function` and `TensorType`.

use std::fmt::Write;

use super::names;
use promote_lower::symbols::{Symbols, encoded};
use promote_lower::types::Type;

/// A public function, as the outside sees it.
pub struct Export<'a> {
    /// Its name in the program.
    pub name: &'a str,
    /// What it takes.
    pub inputs: &'a [Type],
    /// What it gives.
    pub outputs: &'a [Type],
    /// The symbol of its code.
    pub entry: &'a str,
    /// The symbol of the code that tells its results' shapes, if there is one.
    pub shape: Option<&'a str>,
}

/// The functions of the run time that compiled code calls.
pub const RUNTIME: &str = r#"
llvm.func @promote_rt_new(!llvm.ptr, i64, !llvm.ptr, i64) -> !llvm.ptr
llvm.func @promote_rt_retain(!llvm.ptr)
llvm.func @promote_rt_release(!llvm.ptr, !llvm.ptr)
llvm.func @promote_rt_output(!llvm.ptr, i64, !llvm.ptr) -> !llvm.ptr
llvm.func @promote_rt_shape(!llvm.ptr, i64, !llvm.ptr)
llvm.func @promote_rt_parallel(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64)
llvm.func @promote_rt_enter(!llvm.ptr, i64, !llvm.ptr, i64) -> i32
llvm.func @promote_rt_leave(!llvm.ptr)
llvm.func @promote_rt_fail(!llvm.ptr, !llvm.ptr, i64)
llvm.func @promote_rt_trap(!llvm.ptr, i32, !llvm.ptr, i64)
llvm.func @promote_rt_trapped(!llvm.ptr) -> i32
llvm.func @promote_rt_sort(!llvm.ptr, i32, !llvm.ptr, i64, i64, i64)
llvm.func @promote_rt_call(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
llvm.func @promote_rt_shapes(!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
"#;

const TENSOR_TYPE: &str = "!llvm.struct<(i8, i8, i16, i32, ptr, ptr)>";

/// The symbols of a function, as MLIR text. The entries are declared, so that the text stands on its own.
pub fn symbols(export: &Export<'_>) -> String {
    let mut text = String::new();
    for entry in [Some(export.entry), export.shape].into_iter().flatten() {
        let _ = writeln!(text, "llvm.func @{entry}(!llvm.ptr, !llvm.ptr) -> i32");
    }
    let Symbols { call, shape, metadata } = Symbols::of(export.name);
    let name = format!("promote.name.{}", encoded(export.name));
    let _ =
        writeln!(text, "llvm.mlir.global internal constant @{name}(\"{call}\\00\") {{addr_space = 0 : i32}}");
    types(&mut text, export, "in", export.inputs);
    types(&mut text, export, "out", export.outputs);
    let _ = write!(
        text,
        "llvm.mlir.global external constant @{metadata}() : !llvm.struct<(ptr, i32, i32, ptr, ptr, ptr, ptr, ptr, ptr)> {{
  %s0 = llvm.mlir.undef : !llvm.struct<(ptr, i32, i32, ptr, ptr, ptr, ptr, ptr, ptr)>
"
    );
    let address = |name: Option<String>| match name {
        Some(name) => format!("llvm.mlir.addressof @{name} : !llvm.ptr"),
        None => "llvm.mlir.zero : !llvm.ptr".to_owned(),
    };
    let fields = [
        address(Some(name)),
        format!("llvm.mlir.constant({} : i32) : i32", export.inputs.len()),
        format!("llvm.mlir.constant({} : i32) : i32", export.outputs.len()),
        address((!export.inputs.is_empty()).then(|| array(export, "in"))),
        address((!export.outputs.is_empty()).then(|| array(export, "out"))),
        address(Some(export.entry.to_owned())),
        address(export.shape.map(str::to_owned)),
        address(Some(stack_symbol(export.entry))),
        address(export.shape.map(stack_symbol)),
    ];
    for (index, field) in fields.iter().enumerate() {
        let _ = write!(
            text,
            "  %f{index} = {field}
  %s{} = llvm.insertvalue %f{index}, %s{index}[{index}] : !llvm.struct<(ptr, i32, i32, ptr, ptr, ptr, ptr, ptr, ptr)>
",
            index + 1
        );
    }
    let _ = writeln!(
        text,
        "  llvm.return %s{} : !llvm.struct<(ptr, i32, i32, ptr, ptr, ptr, ptr, ptr, ptr)>\n}}",
        fields.len()
    );
    for (symbol, callee) in [(call, "promote_rt_call"), (shape, "promote_rt_shapes")] {
        let _ = writeln!(
            text,
            "llvm.func @{symbol}(%inputs: !llvm.ptr, %outputs: !llvm.ptr) -> i32 {{
  %meta = llvm.mlir.addressof @{metadata} : !llvm.ptr
  %status = llvm.call @{callee}(%meta, %inputs, %outputs) : (!llvm.ptr, !llvm.ptr, !llvm.ptr) -> i32
  llvm.return %status : i32
}}"
        );
    }
    text
}

/// The symbol of the array of the types of arguments or results.
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
    let array = format!("!llvm.array<{} x {TENSOR_TYPE}>", types.len());
    let _ = writeln!(
        text,
        "llvm.mlir.global internal constant @{symbol}() : {array} {{\n  %a0 = llvm.mlir.undef : {array}"
    );
    for (index, r#type) in types.iter().enumerate() {
        let Some((code, bits)) = names::dlpack(r#type.dtype()) else {
            unreachable!("functions of strong programs take and give strong dtypes")
        };
        let dims = match r#type.dims() {
            [] => "llvm.mlir.zero : !llvm.ptr".to_owned(),
            _ => format!("llvm.mlir.addressof @{symbol}.{index} : !llvm.ptr"),
        };
        let fields = [
            (format!("llvm.mlir.constant({code} : i8) : i8"), 0),
            (format!("llvm.mlir.constant({} : i8) : i8", bits.cast_signed()), 1),
            ("llvm.mlir.constant(1 : i16) : i16".to_owned(), 2),
            (format!("llvm.mlir.constant({} : i32) : i32", r#type.dims().len()), 3),
            (dims, 4),
            ("llvm.mlir.zero : !llvm.ptr".to_owned(), 5),
        ];
        let _ = writeln!(text, "  %t{index}_0 = llvm.mlir.undef : {TENSOR_TYPE}");
        for (field, place) in &fields {
            let _ = write!(
                text,
                "  %v{index}_{place} = {field}
  %t{index}_{} = llvm.insertvalue %v{index}_{place}, %t{index}_{place}[{place}] : {TENSOR_TYPE}
",
                place + 1
            );
        }
        let _ = writeln!(
            text,
            "  %a{} = llvm.insertvalue %t{index}_{}, %a{index}[{index}] : {array}",
            index + 1,
            fields.len()
        );
    }
    let _ = writeln!(text, "  llvm.return %a{} : {array}\n}}", types.len());
}
