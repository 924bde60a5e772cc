/* Compiled functions, called on DLPack tensors. The processor may be named, for tools that do not know the newest. */
#include "check.h"

enum { CPU = 1, CUDA = 2 };

static DLTensor tensor(void *data, promote_dtype dtype, int64_t *shape, int32_t rank) {
  DLTensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = data;
  tensor.device.device_type = CPU;
  tensor.ndim = rank;
  tensor.shape = shape;
  DONE(promote_dtype_to_dlpack(dtype, &tensor.dtype));
  return tensor;
}

#define SUMS                                                                                              \
  "func.func @sums(%x: tensor<2x3xi8>) -> (tensor<*x!promote.unknown>, tensor<*x!promote.unknown>) {\n"    \
  "  %0 = \"promote.sum\"(%x) {axis = array<i64: 0>} : (tensor<2x3xi8>) -> tensor<*x!promote.unknown>\n"   \
  "  %1 = \"promote.mean\"(%x) : (tensor<2x3xi8>) -> tensor<*x!promote.unknown>\n"                         \
  "  return %0, %1 : tensor<*x!promote.unknown>, tensor<*x!promote.unknown>\n"                           \
  "}\n"

#define QUOTIENT                                                                                         \
  "func.func @quotient(%x: tensor<i32>, %y: tensor<i32>) -> tensor<*x!promote.unknown> {\n"                \
  "  %0 = \"promote.floor_divide\"(%x, %y) : (tensor<i32>, tensor<i32>) -> tensor<*x!promote.unknown>\n"   \
  "  return %0 : tensor<*x!promote.unknown>\n"                                                           \
  "}\n"

static promote_compile_options options(const char *cpu) {
  promote_compile_options options = PROMOTE_COMPILE_OPTIONS;
  options.cpu = cpu;
  return options;
}

static void compiling(promote_session *session, const char *cpu) {
  promote_compile_options chosen = options(cpu);
  promote_executable *executable = NULL;
  promote_function *function = NULL;
  promote_diagnostics *found = NULL;
  promote_module *module = NULL, *foreign = NULL;
  promote_buffer before, after;
  DONE(PARSE(session, ADD SUMS, &module));
  DONE(promote_module_text(module, &before));
  DONE(promote_compile(module, &chosen, &executable, &found));
  CHECK(found == NULL && promote_executable_count(executable) == 2 && promote_executable_count(NULL) == 0);
  /* Compiling leaves the module as it was. */
  DONE(promote_module_text(module, &after));
  CHECK(before.size == after.size && memcmp(before.data, after.data, before.size) == 0);
  promote_buffer_free(&before);
  promote_buffer_free(&after);
  DONE(promote_executable_at(executable, 0, &function));
  CHECK(strcmp(promote_function_interface(function)->name, "add") == 0);
  promote_function_free(function);
  FAILS(promote_executable_at(executable, 2, &function), PROMOTE_ARGUMENT, "no function 2");
  FAILS(promote_executable_at(NULL, 0, &function), PROMOTE_NULL, "executable");
  FAILS(promote_executable_at(executable, 0, NULL), PROMOTE_NULL, "function");
  FAILS(promote_executable_function(executable, "main.1", &function), PROMOTE_ARGUMENT, "no public function @main.1");
  CHECK(function == NULL && promote_function_interface(NULL) == NULL);
  FAILS(promote_executable_function(executable, NULL, &function), PROMOTE_NULL, "name");
  FAILS(promote_executable_function(executable, "\xff", &function), PROMOTE_ARGUMENT, "UTF-8");
  FAILS(promote_executable_function(NULL, "add", &function), PROMOTE_NULL, "executable");
  FAILS(promote_executable_function(executable, "add", NULL), PROMOTE_NULL, "function");
  promote_executable_free(executable);

  FAILS(promote_compile(NULL, &chosen, &executable, NULL), PROMOTE_NULL, "module");
  CHECK(executable == NULL);
  FAILS(promote_compile(module, &chosen, NULL, NULL), PROMOTE_NULL, "executable");
  chosen.optimisation = 4;
  FAILS(promote_compile(module, &chosen, &executable, NULL), PROMOTE_ARGUMENT, "optimisation 4");
  chosen = options("z80");
  FAILS(promote_compile(module, &chosen, &executable, NULL), PROMOTE_ARGUMENT, "z80");
  chosen.abi_version = 0;
  FAILS(promote_compile(module, &chosen, &executable, NULL), PROMOTE_VERSION_MISMATCH, "version 0");
  DONE(PARSE(session, "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { %0 = \"other.op\"(%x) : (tensor<4xf32>) -> tensor<4xf32> return %0 : tensor<4xf32> }", &foreign));
  chosen = options(cpu);
  FAILS(promote_compile(foreign, &chosen, &executable, &found), PROMOTE_REFUSED, "f.mlir:1:");
  CHECK(found != NULL && strcmp(found->items[0].location.file, "f.mlir") == 0);
  promote_diagnostics_free(found);
  promote_module_free(foreign);
  promote_module_free(module);
  promote_executable_free(NULL);
  promote_function_free(NULL);
}

/* A function, of which alone is kept what it needs. */
static promote_function *compiled(const char *semantics, const char *text, const char *name, const char *cpu) {
  promote_session *session = session_of(semantics);
  promote_compile_options chosen = options(cpu);
  promote_executable *executable = NULL;
  promote_function *function = NULL;
  promote_module *module = NULL;
  chosen.optimisation = 1;
  DONE(PARSE(session, text, &module));
  DONE(promote_compile(module, &chosen, &executable, NULL));
  DONE(promote_executable_function(executable, name, &function));
  promote_executable_free(executable);
  promote_module_free(module);
  promote_session_free(session);
  return function;
}

static void results(const char *cpu) {
  promote_function *add = compiled("jax", ADD, "add", cpu);
  const promote_interface *interface = promote_function_interface(add);
  int32_t x_data[] = {1, -1, 2, -1, 3, -1};
  float y_data[] = {0.5f, 1.5f, 2.5f}, z_data[3] = {0};
  int64_t shape[] = {3}, stride[] = {2}, result_shape[] = {0};
  DLTensor x = tensor(x_data, PROMOTE_DTYPE_I32, shape, 1), y = tensor(y_data, PROMOTE_DTYPE_F32, shape, 1);
  DLTensor z = tensor(NULL, PROMOTE_DTYPE_F32, result_shape, 1);
  const DLTensor *inputs[] = {&x, &y};
  DLTensor *outputs[] = {&z};
  DLManagedTensorVersioned *managed = NULL;
  const DLTensor *result = NULL;
  CHECK(interface->input_count == 2 && interface->output_count == 1);
  CHECK(interface->inputs[0].dtype == PROMOTE_DTYPE_I32 && interface->inputs[0].rank == 1);
  CHECK(interface->inputs[0].extents[0] == -1 && interface->outputs[0].dtype == PROMOTE_DTYPE_F32);

  x.strides = stride;
  DONE(promote_call(add, inputs, 2, &managed, 1));
  CHECK(managed->version.major == 1 && managed->flags == 0);
  DONE(promote_managed_tensor(managed, &result));
  CHECK(result->ndim == 1 && result->shape[0] == 3 && result->strides[0] == 1 && result->byte_offset == 0);
  CHECK(result->dtype.code == 2 && result->dtype.bits == 32 && result->device.device_type == CPU);
  CHECK(((const float *)result->data)[0] == 1.5f && ((const float *)result->data)[2] == 5.5f);
  /* A result is an input of the next call. */
  {
    const DLTensor *next[] = {&x, result};
    DLManagedTensorVersioned *sum = NULL;
    DONE(promote_call(add, next, 2, &sum, 1));
    CHECK(((const float *)sum->dl_tensor.data)[2] == 8.5f);
    promote_managed_tensor_free(sum);
  }
  managed->version.major = 2;
  FAILS(promote_managed_tensor(managed, &result), PROMOTE_VERSION_MISMATCH, "version 2.0 of DLPack");
  CHECK(result == NULL);
  managed->deleter(managed);
  promote_managed_tensor_free(NULL);
  FAILS(promote_managed_tensor(NULL, &result), PROMOTE_NULL, "managed");

  /* Into memory of the caller, of the shape that is asked for first. */
  DONE(promote_call_shapes(add, inputs, 2, outputs, 1));
  CHECK(z.ndim == 1 && result_shape[0] == 3);
  z.data = z_data;
  DONE(promote_call_into(add, inputs, 2, outputs, 1));
  CHECK(z_data[0] == 1.5f && z_data[1] == 3.5f && z_data[2] == 5.5f);

  /* What does not fit is refused, in words of the function. */
  FAILS(promote_call(add, inputs, 1, &managed, 1), PROMOTE_RANK, "must have 2 inputs, but has 1");
  CHECK(managed == NULL);
  FAILS(promote_call(add, inputs, 2, &managed, 0), PROMOTE_ARGUMENT, "@add returns 1 tensors, and there is room for 0");
  FAILS(promote_call(add, NULL, 2, &managed, 1), PROMOTE_NULL, "array of inputs");
  FAILS(promote_call(add, inputs, 2, NULL, 1), PROMOTE_NULL, "array of outputs");
  FAILS(promote_call(NULL, inputs, 2, &managed, 1), PROMOTE_NULL, "function");
  FAILS(promote_call(add, inputs, 2, &managed, (size_t)-1), PROMOTE_ARGUMENT, "array of outputs cannot have");
  FAILS(promote_call_into(add, inputs, 2, outputs, 0), PROMOTE_RANK, "must have 1 output, but has 0");
  FAILS(promote_call_into(add, inputs, 3, outputs, 1), PROMOTE_RANK, "must have 2 inputs, but has 3");
  FAILS(promote_call_into(add, inputs, 2, NULL, 1), PROMOTE_NULL, "array of outputs");
  FAILS(promote_call_into(NULL, inputs, 2, outputs, 1), PROMOTE_NULL, "function");
  FAILS(promote_call_shapes(add, inputs, 2, outputs, 0), PROMOTE_RANK, "must have 1 output, but has 0");
  FAILS(promote_call_shapes(NULL, inputs, 2, outputs, 1), PROMOTE_NULL, "function");
  z.ndim = 0;
  FAILS(promote_call_shapes(add, inputs, 2, outputs, 1), PROMOTE_RANK, "room for 0");
  z.ndim = 1;
  result_shape[0] = 2;
  FAILS(promote_call_into(add, inputs, 2, outputs, 1), PROMOTE_SHAPE, "output 0");
  inputs[1] = NULL;
  FAILS(promote_call(add, inputs, 2, &managed, 1), PROMOTE_NULL, "promote_add: input 1 is null");
  inputs[1] = &x;
  FAILS(promote_call(add, inputs, 2, &managed, 1), PROMOTE_DTYPE, "input 1 must be float32[?], but is int32[3]");
  inputs[1] = &y;
  y.device.device_type = CUDA;
  FAILS(promote_call(add, inputs, 2, &managed, 1), PROMOTE_DEVICE, "CUDA device 0");
  y.device.device_type = CPU;
  y.data = NULL;
  FAILS(promote_call(add, inputs, 2, &managed, 1), PROMOTE_NULL, "null data");
  promote_function_free(add);
}

static void several_results(const char *cpu) {
  promote_function *sums = compiled("numpy2", SUMS, "sums", cpu);
  int8_t data[] = {1, 2, 3, 4, 5, 6};
  int64_t shape[] = {2, 3};
  DLTensor x = tensor(data, PROMOTE_DTYPE_I8, shape, 2);
  const DLTensor *inputs[] = {&x};
  DLManagedTensorVersioned *outputs[2] = {NULL, NULL};
  CHECK(promote_function_interface(sums)->inputs[0].extents[1] == 3);
  DONE(promote_call(sums, inputs, 1, outputs, 2));
  CHECK(((int64_t *)outputs[0]->dl_tensor.data)[2] == 9 && outputs[1]->dl_tensor.ndim == 0);
  CHECK(*(double *)outputs[1]->dl_tensor.data == 3.5);
  promote_managed_tensor_free(outputs[0]);
  promote_managed_tensor_free(outputs[1]);
  promote_function_free(sums);
}

static void exceptions(const char *cpu) {
  promote_function *quotient = compiled("torch", QUOTIENT, "quotient", cpu);
  int32_t seven = 7, zero = 0;
  DLTensor x = tensor(&seven, PROMOTE_DTYPE_I32, NULL, 0), y = tensor(&zero, PROMOTE_DTYPE_I32, NULL, 0);
  const DLTensor *inputs[] = {&x, &y};
  DLManagedTensorVersioned *result = NULL;
  FAILS(promote_call(quotient, inputs, 2, &result, 1), PROMOTE_DIVISION, "floor_divide");
  CHECK(result == NULL);
  zero = 2;
  DONE(promote_call(quotient, inputs, 2, &result, 1));
  CHECK(*(int32_t *)result->dl_tensor.data == 3);
  promote_managed_tensor_free(result);
  promote_function_free(quotient);
}

static void threads(void) {
  int32_t before = promote_threads();
  CHECK(before >= 1);
  promote_set_threads(3);
  CHECK(promote_threads() == 3);
  promote_set_threads(-1);
  CHECK(promote_threads() == before);
}

int main(int count, char **arguments) {
  const char *cpu = count > 1 ? arguments[1] : NULL;
  promote_session *session = session_of("jax");
  compiling(session, cpu);
  promote_session_free(session);
  results(cpu);
  several_results(cpu);
  exceptions(cpu);
  threads();
  return 0;
}
