/* Calls a function on a device, first with tensors in memory of the process, then with one that has stayed on the device:

     capi/install.sh PREFIX
     cc call.c -IPREFIX/include -LPREFIX/lib -lpromote -Wl,-rpath,PREFIX/lib -o call && ./call vulkan

   or opencl, or cuda. It ends with 77 if there is no such device. */
#include <promote.h>

#include <stdio.h>
#include <string.h>

static const char program[] =
    "func.func @add(%x: tensor<?xi32>, %y: tensor<?xf32>) -> tensor<*x!promote.unknown> {\n"
    "  %0 = \"promote.add\"(%x, %y) : (tensor<?xi32>, tensor<?xf32>) -> tensor<*x!promote.unknown>\n"
    "  return %0 : tensor<*x!promote.unknown>\n"
    "}\n"
    "func.func @again(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<*x!promote.unknown> {\n"
    "  %0 = \"promote.add\"(%x, %y) : (tensor<?xf32>, tensor<?xf32>) -> tensor<*x!promote.unknown>\n"
    "  return %0 : tensor<*x!promote.unknown>\n"
    "}\n";

static int failed(const char *what, int status) {
  fprintf(stderr, "%s: %s\n", what, promote_error_message());
  return status;
}

static int print(const char *what, const promote_device *device, const DLTensor *tensor) {
  DLManagedTensorVersioned *host = NULL;
  if (promote_copy_to_host(device, tensor, &host)) return failed("copy", 1);
  printf("%s =", what);
  for (int64_t i = 0; i < host->dl_tensor.shape[0]; i++) printf(" %g", ((float *)host->dl_tensor.data)[i]);
  printf("\n");
  promote_managed_tensor_free(host);
  return 0;
}

int main(int count, char **arguments) {
  promote_device *device = NULL;
  if (promote_device_open(count > 1 ? arguments[1] : "vulkan", NULL, &device)) {
    printf("%s\n", promote_error_message());
    return 77;
  }
  printf("%s, driven by %s\n", promote_device_describe(device)->name, promote_device_describe(device)->driver);

  promote_session_options options = PROMOTE_SESSION_OPTIONS;
  promote_session *session = NULL;
  promote_module *module = NULL;
  promote_executable *executable = NULL;
  promote_function *add = NULL, *again = NULL;
  if (promote_session_new(&options, &session)) return failed("session", 1);
  if (promote_module_parse(session, program, strlen(program), "add.mlir", &module, NULL)) return failed("parse", 1);
  if (promote_compile_for(module, device, &executable, NULL)) return failed("compile", 1);
  if (promote_executable_function(executable, "add", &add)) return failed("function", 1);
  if (promote_executable_function(executable, "again", &again)) return failed("function", 1);

  int32_t x_data[] = {1, 2, 3, 4};
  float y_data[] = {10, 20, 30, 40};
  int64_t shape[] = {4};
  DLTensor x = {x_data, {1, 0}, 1, {0, 32, 1}, shape, NULL, 0}, y = {y_data, {1, 0}, 1, {2, 32, 1}, shape, NULL, 0};
  const DLTensor *inputs[] = {&x, &y};
  DLManagedTensorVersioned *sum = NULL, *more = NULL;
  if (promote_call_on_device(add, inputs, 2, &sum, 1)) return failed("call", 1);
  if (print("x + y", device, &sum->dl_tensor)) return 1;
  inputs[0] = &sum->dl_tensor;
  if (promote_call_on_device(again, inputs, 2, &more, 1)) return failed("call", 1);
  if (print("x + y + y", device, &more->dl_tensor)) return 1;

  promote_managed_tensor_free(sum);
  promote_managed_tensor_free(more);
  promote_function_free(add);
  promote_function_free(again);
  promote_executable_free(executable);
  promote_module_free(module);
  promote_session_free(session);
  promote_device_free(device);
  return 0;
}
