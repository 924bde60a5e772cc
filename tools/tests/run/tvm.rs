//! Libraries called by TVM-FFI, whose loaders look for `__tvm_ffi_NAME`.

use crate::needed::{programs, python};
use crate::support::{PROMOTE_OPT, Tool};

/// Functions that return what they are given, by names and types; and one that fails.
fn program() -> String {
    let mut text =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/scale_and_shift.mlir"))
            .expect("the example is there");
    for (name, r#type) in [
        ("halves", "f16"),
        ("bytes", "i8"),
        ("truth", "i1"),
        ("complexes", "complex<f32>"),
        ("narrow", "f8E5M2"),
        ("main.1", "f32"),
        ("_private", "f32"),
    ] {
        text += &format!(
            "func.func @{name}(%x: tensor<{type}>) -> tensor<{type}> {{ return %x : tensor<{type}> }}\n"
        );
    }
    text + r#"
func.func @seven() -> !u {
  %0 = "promote.constant"() {value = dense<7> : tensor<i32>} : () -> tensor<i32>
  %1 = "promote.positive"(%0) : (tensor<i32>) -> !u
  return %1 : !u
}
func.func @quotient(%x: tensor<i32>, %y: tensor<i32>) -> !u {
  %0 = "promote.floor_divide"(%x, %y) : (tensor<i32>, tensor<i32>) -> !u
  return %0 : !u
}
"#
}

#[test]
fn a_python_script_calls_a_library_by_tvm_ffi() {
    programs(&["cc"]);
    let tool = Tool::new().with("f.mlir", program());
    tool.command(PROMOTE_OPT, "", ["f.mlir", "--semantics", "torch", "--emit=so", "-o", "libf.so"])
        .succeeded();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/run/tvm.py");
    let run = tool.command(python(), "", [script, "./libf.so"]);
    assert_eq!(run.text(), "called\n", "{run}");
}

#[test]
fn a_library_loads_without_tvm_ffi_and_fails_in_its_convention() {
    programs(&["cc"]);
    let caller = r#"
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
typedef struct { int32_t type_index, padding; int64_t value; } any;
typedef int32_t function(void *self, const any *args, int32_t count, any *result);
typedef const char *message(void);
int main(void) {
  void *library = dlopen("./libf.so", RTLD_NOW), *address = dlsym(library, "__tvm_ffi_seven"), *last = dlsym(library, "promote_last_error");
  function *seven;
  message *last_error;
  int32_t number = 0;
  int32_t view[12] = {0};
  any output = {7, 0, 0}, result = {9, 9, 9};
  void *data = &number;
  memcpy(&seven, &address, sizeof address);
  memcpy(&last_error, &last, sizeof last);
  /* A DLTensor of one int32: data, device, ndim, dtype, shape, strides, offset. */
  memcpy(view, &data, sizeof data);
  view[2] = 1;
  view[5] = 0 | 32 << 8 | 1 << 16;
  data = view;
  output.value = (int64_t)(intptr_t)data;
  printf("%d", seven(0, &output, 1, &result));
  printf(" %d %d\n", result.type_index, number);
  printf("%d", seven(0, 0, 0, &result));
  printf(" %s\n", last_error());
  printf("%d", seven(0, 0, 1, &result));
  printf(" %s\n", last_error());
  return 0;
}
"#;
    let tool = Tool::new().with("f.mlir", program()).with("main.c", caller);
    tool.command(PROMOTE_OPT, "", ["f.mlir", "--semantics", "torch", "--emit=so", "-o", "libf.so"])
        .succeeded();
    let run = tool.shell("cc -std=c99 -Wall -Wextra -pedantic -Werror main.c -ldl -o main && ./main");
    let expected = "0 0 7
-1 promote_seven: TVM-FFI's library makes no tensors
-1 the array of arguments is null
";
    assert_eq!(run.text(), expected, "{run}");
}
