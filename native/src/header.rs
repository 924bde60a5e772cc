//! The C header of a shared library or object.

use std::fmt::Write as _;

use promote_abi::{DLDataType, Library, TypeCode, c};

/// A tensor that a function takes or returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// What the function calls it, if it has a name.
    pub name: Option<String>,
    /// The element type.
    pub dtype: DLDataType,
    /// The extents; -1 for a dynamic one.
    pub shape: Vec<i64>,
}

/// A function of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What the program calls it, where its symbol does not say that.
    pub title: Option<String>,
    /// The symbol that computes.
    pub symbol: String,
    /// The symbol that computes shapes.
    pub shape: String,
    /// The arguments.
    pub inputs: Vec<Argument>,
    /// The results.
    pub outputs: Vec<Argument>,
}

/// Writes a header that declares `functions` and what every library has. It needs no other file: DLPack's types are
/// declared unless `dlpack/dlpack.h` was included before.
pub fn header(functions: &[Signature]) -> String {
    let mut text = String::from(START);
    text.push_str(&c::dlpack());
    text.push_str(&c::statuses());
    for function in Library::ALL {
        text.push_str(&c::prototype(function.prototype()));
    }
    text.push_str(MIDDLE);
    for function in functions {
        declare(&mut text, function);
    }
    text.push_str(END);
    text
}

fn declare(text: &mut String, function: &Signature) {
    text.push_str("\n/*\n");
    if let Some(title) = &function.title {
        let _ = writeln!(text, "   {}", comment(title));
    }
    for (role, arguments) in [("inputs", &function.inputs), ("outputs", &function.outputs)] {
        for (index, argument) in arguments.iter().enumerate() {
            let Argument { name, dtype, shape } = argument;
            let name = name.as_ref().map(|name| format!(" {}", comment(name))).unwrap_or_default();
            let extents: Vec<String> = shape
                .iter()
                .map(|&extent| if extent < 0 { "?".into() } else { extent.to_string() })
                .collect();
            let _ =
                writeln!(text, "   {role}[{index}]{name}: {dtype}[{}]{}", extents.join(","), codes(*dtype));
        }
    }
    let Signature { symbol, shape, .. } = function;
    let _ = write!(
        text,
        "*/\nint32_t {symbol}(const DLTensor *const *inputs, DLTensor *const *outputs);\n\
         int32_t {shape}(const DLTensor *const *inputs, DLTensor *const *outputs);\n"
    );
}

/// The numbers of a dtype, where its name does not say them.
fn codes(dtype: DLDataType) -> String {
    let plain = matches!(dtype.type_code(), Some(TypeCode::Int | TypeCode::UInt | TypeCode::Float));
    if plain { String::new() } else { format!(" (code {}, bits {})", dtype.code, dtype.bits) }
}

/// Text that does not end a comment, nor begins one, on a line of its own.
fn comment(text: &str) -> String {
    text.replace("*/", "* /").replace("/*", "/ *").replace('\n', " ")
}

const START: &str = "\
/* Functions compiled by Promote. They take DLPack tensors in CPU memory. */
#ifndef PROMOTE_COMMON
#define PROMOTE_COMMON

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern \"C\" {
#endif

";

const MIDDLE: &str = "
/* Each function NAME computes outputs from inputs and returns a code of the list above. Inputs may be strided. Outputs are
   caller-provided memory with the dtypes and shapes below ('?': as NAME_shape returns); they may be strided, too, and may
   overlap inputs. NAME_shape fills dtype, ndim and shape of each output for such inputs; ndim says before how many extents
   shape has room for. Functions may be called from several threads at once. Beside promote_NAME there is __tvm_ffi_NAME, which
   TVM-FFI's loaders call. */

#ifdef __cplusplus
}
#endif
#endif

#ifdef __cplusplus
extern \"C\" {
#endif
";

const END: &str = "
#ifdef __cplusplus
}
#endif
";
