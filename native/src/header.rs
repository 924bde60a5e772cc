//! The C header of a shared library or object.

use std::fmt::Write as _;

use promote_runtime::{DLDataType, DTYPE_NAMES, Status};

/// A tensor that a function takes or gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// What the function calls it, if it has a name.
    pub name: Option<String>,
    /// The element type.
    pub dtype: DLDataType,
    /// The extents; -1 for one that only a run tells.
    pub shape: Vec<i64>,
}

/// A function of a library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What the program calls it, where its symbol does not say that.
    pub title: Option<String>,
    /// The symbol that computes.
    pub symbol: String,
    /// The symbol that tells shapes.
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
    text.push_str("/* What functions return. */\nenum {\n");
    for status in Status::ALL {
        // Writing to a string does not fail, here and below.
        let _ = writeln!(text, "  {} = {},", status.name(), *status as i32);
    }
    text.push_str("};\n\n");
    text.push_str(COMMON);
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
    let plain = DTYPE_NAMES.iter().any(|&(code, _)| code == dtype.code && code <= 2);
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

/* As in dlpack/dlpack.h, which may be included before this file instead. */
#ifndef DLPACK_DLPACK_H_
typedef struct {
  int32_t device_type; /* 1: CPU */
  int32_t device_id;
} DLDevice;

typedef struct {
  uint8_t code;   /* 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool, 7 to 17 narrow floats;
                     133, which DLPack lacks: a complex number of two bfloat16 */
  uint8_t bits;   /* elements narrower than 8 bits take a byte each */
  uint16_t lanes; /* 1 */
} DLDataType;

typedef struct {
  void *data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL: row-major */
  uint64_t byte_offset;
} DLTensor;
#endif

";

const COMMON: &str = "\
/* The message of this thread's last call that returned an error; empty if it succeeded. Valid until the next call. */
const char *promote_last_error(void);
/* Spreads loops over that many threads, the caller's included; 0: as many as the environment's PROMOTE_NUM_THREADS says, or
   as there are processors. */
void promote_set_num_threads(int32_t number);
int32_t promote_get_num_threads(void);
/* Whether calls treat denormal numbers as zero; else that is as their caller has it. */
void promote_set_flush_denormals(bool flush);

/* Each function NAME computes outputs from inputs and returns a code of the list above. Inputs may be strided. Outputs are
   memory of the caller with the dtypes and shapes below ('?': as NAME_shape says); they may be strided, too, and may
   overlap inputs. NAME_shape fills dtype, ndim and shape of each output for such inputs; ndim says before how many extents
   shape has room for. Functions may be called from several threads at once. */
";

const MIDDLE: &str = "
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
