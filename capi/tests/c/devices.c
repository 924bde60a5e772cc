/* Devices: devices TARGET. It ends with 77 if there is none. */
#include "check.h"

#include <dlfcn.h>

enum { CPU = 1, CUDA = 2, METAL = 8, CUDA_MANAGED = 13, SKIPPED = 77, N = 8 };

#define SUM(name, shape)                                                                                        \
  "func.func @" name "(%x: tensor<" shape "xf32>, %y: tensor<" shape "xf32>) -> tensor<*x!promote.unknown> {\n"   \
  "  %0 = \"promote.add\"(%x, %y) : (tensor<" shape "xf32>, tensor<" shape "xf32>) -> tensor<*x!promote.unknown>\n" \
  "  return %0 : tensor<*x!promote.unknown>\n"                                                                   \
  "}\n"

static float x_data[N] = {1, 2, 3, 4, 5, 6, 7, 8}, y_data[N] = {10, 20, 30, 40, 50, 60, 70, 80};
static int64_t shape[] = {N}, pairs[] = {2, 4};

static DLTensor tensor(void *data, int64_t *extents, int32_t rank) {
  DLTensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = data;
  tensor.device.device_type = CPU;
  tensor.ndim = rank;
  tensor.shape = extents;
  DONE(promote_dtype_to_dlpack(PROMOTE_DTYPE_F32, &tensor.dtype));
  return tensor;
}

/* Whether a tensor is x + times * y, wherever it is. */
static void is_sum(const promote_device *device, const DLTensor *of, int times) {
  DLManagedTensorVersioned *host = NULL;
  DONE(promote_copy_to_host(device, of, &host));
  CHECK(host->dl_tensor.device.device_type == CPU && host->dl_tensor.shape[0] == N);
  for (int i = 0; i < N; i++) CHECK(((float *)host->dl_tensor.data)[i] == x_data[i] + (float)times * y_data[i]);
  promote_managed_tensor_free(host);
}

static void opening(const char *target) {
  promote_device *device = NULL, *again = NULL;
  const promote_device_info *info;
  FAILS(promote_device_open("metal", NULL, &device), PROMOTE_ARGUMENT, "`metal` is no device");
  CHECK(device == NULL && promote_device_describe(NULL) == NULL);
  FAILS(promote_device_open("cuda:sm_0", NULL, &device), PROMOTE_ARGUMENT, "sm_0");
  FAILS(promote_device_open(NULL, NULL, &device), PROMOTE_NULL, "target");
  FAILS(promote_device_open(target, NULL, NULL), PROMOTE_NULL, "device");
  FAILS(promote_device_open(target, "no such device", &device), PROMOTE_DEVICE, "asks for `no such device`");
  FAILS(promote_device_synchronize(NULL), PROMOTE_NULL, "device");
  DONE(promote_device_open(target, "0", &device));
  DONE(promote_device_open(target, "0", &again));
  info = promote_device_describe(device);
  CHECK(strcmp(info->target, target) == 0 && info->name[0] != 0 && info->memory > 0 && info->dlpack.device_id == 0);
  CHECK((info->stream != 0) == (info->dlpack.device_type == CUDA));
  promote_device_free(again);
  promote_device_free(device);
  promote_device_free(NULL);
}

static void compiling(promote_session *session, const promote_device *device) {
  promote_executable *executable = NULL;
  promote_diagnostics *found = NULL;
  promote_module *module = NULL;
  DONE(PARSE(session, SUM("add", "8"), &module));
  FAILS(promote_compile_for(module, NULL, &executable, NULL), PROMOTE_NULL, "device");
  FAILS(promote_compile_for(NULL, device, &executable, NULL), PROMOTE_NULL, "module");
  FAILS(promote_compile_for(module, device, NULL, NULL), PROMOTE_NULL, "executable");
  promote_module_free(module);
  DONE(PARSE(session, "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { %0 = \"other.op\"(%x) : (tensor<4xf32>) -> tensor<4xf32> return %0 : tensor<4xf32> }", &module));
  FAILS(promote_compile_for(module, device, &executable, &found), PROMOTE_REFUSED, "f.mlir:1:");
  CHECK(executable == NULL && found != NULL && found->count == 1);
  promote_diagnostics_free(found);
  promote_module_free(module);
}

static promote_function *function_of(promote_session *session, const promote_device *device, const char *name) {
  promote_executable *executable = NULL;
  promote_function *function = NULL;
  promote_module *module = NULL;
  DONE(PARSE(session, SUM("add", "8") SUM("pairs", "2x4"), &module));
  if (device != NULL) {
    DONE(promote_compile_for(module, device, &executable, NULL));
  } else {
    DONE(promote_compile(module, NULL, &executable, NULL));
  }
  DONE(promote_executable_function(executable, name, &function));
  promote_executable_free(executable);
  promote_module_free(module);
  return function;
}

static void calling(const promote_device *device, const promote_function *add) {
  DLDevice place = promote_device_describe(device)->dlpack;
  float spread[2 * N], into[N];
  int64_t every_other[] = {2}, extent[] = {0};
  DLTensor x = tensor(x_data, shape, 1), y = tensor(y_data, shape, 1), z = tensor(into, shape, 1), strided = tensor(spread, shape, 1);
  DLTensor told = tensor(NULL, extent, 1), *outputs[] = {&z}, *shapes[] = {&told};
  const DLTensor *inputs[] = {&x, &y};
  DLManagedTensorVersioned *result = NULL, *on_device = NULL, *sum = NULL;
  for (int i = 0; i < N; i++) spread[2 * i] = x_data[i], spread[2 * i + 1] = -1;
  strided.strides = every_other;

  /* In CPU memory, with any strides: results are there, or on the device. */
  inputs[0] = &strided;
  DONE(promote_call(add, inputs, 2, &result, 1));
  CHECK(result->dl_tensor.device.device_type == CPU && ((float *)result->dl_tensor.data)[7] == 88);
  promote_managed_tensor_free(result);
  DONE(promote_copy_to_device(device, &strided, &on_device));
  CHECK(on_device->dl_tensor.device.device_type == place.device_type && on_device->dl_tensor.device.device_id == place.device_id);
  CHECK(on_device->dl_tensor.ndim == 1 && on_device->dl_tensor.strides[0] == 1 && on_device->version.major == 1);
  is_sum(device, &on_device->dl_tensor, 0);

  /* From the device to the device, again and again; and what was an input is freed at once. */
  for (int times = 1; times <= 20; times++) {
    inputs[0] = &on_device->dl_tensor;
    DONE(promote_call_on_device(add, inputs, 2, &sum, 1));
    promote_managed_tensor_free(on_device);
    on_device = sum;
  }
  is_sum(device, &sum->dl_tensor, 20);
  DONE(promote_device_synchronize(device));

  /* From the device to CPU memory. */
  inputs[0] = &sum->dl_tensor;
  DONE(promote_call(add, inputs, 2, &result, 1));
  is_sum(device, &result->dl_tensor, 21);
  promote_managed_tensor_free(result);
  DONE(promote_call_into(add, inputs, 2, outputs, 1));
  CHECK(into[7] == 8 + 21 * 80);
  DONE(promote_call_shapes(add, inputs, 2, shapes, 1));
  CHECK(extent[0] == N);

  /* The layout without a version owns what it is made of. */
  {
    DLManagedTensor *unversioned = NULL;
    FAILS(promote_managed_tensor_unversioned(NULL, &unversioned), PROMOTE_NULL, "managed");
    FAILS(promote_managed_tensor_unversioned(sum, NULL), PROMOTE_NULL, "unversioned");
    sum->version.major = 2;
    FAILS(promote_managed_tensor_unversioned(sum, &unversioned), PROMOTE_VERSION_MISMATCH, "version 2.0");
    CHECK(unversioned == NULL);
    sum->version.major = 1;
    DONE(promote_managed_tensor_unversioned(sum, &unversioned));
    is_sum(device, &unversioned->dl_tensor, 20);
    unversioned->deleter(unversioned);
  }
}

static void refusals(promote_session *session, const promote_device *device, const promote_function *add) {
  promote_function *on_cpu = function_of(session, NULL, "add"), *two_by_four = function_of(session, device, "pairs");
  int is_cuda = promote_device_describe(device)->dlpack.device_type == CUDA;
  int64_t backwards[] = {-1};
  DLTensor x = tensor(x_data, shape, 1), y = tensor(y_data, shape, 1), *outputs[1], given;
  const DLTensor *inputs[] = {&given, &y};
  DLManagedTensorVersioned *result = NULL, *there = NULL;
  DONE(promote_copy_to_device(device, &x, &there));

  given = x;
  FAILS(promote_call_on_device(on_cpu, inputs, 2, &result, 1), PROMOTE_ARGUMENT, "@add was compiled for a processor");
  FAILS(promote_call_on_device(NULL, inputs, 2, &result, 1), PROMOTE_NULL, "function");
  FAILS(promote_call_on_device(add, NULL, 2, &result, 1), PROMOTE_NULL, "array of inputs");
  FAILS(promote_call_on_device(add, inputs, 2, NULL, 1), PROMOTE_NULL, "array of outputs");
  FAILS(promote_call_on_device(add, inputs, 1, &result, 1), PROMOTE_RANK, "must have 2 inputs, but has 1");
  FAILS(promote_call_on_device(add, inputs, 2, &result, 0), PROMOTE_ARGUMENT, "there is room for 0");
  FAILS(promote_copy_to_device(NULL, &x, &result), PROMOTE_NULL, "device");
  FAILS(promote_copy_to_device(device, NULL, &result), PROMOTE_NULL, "tensor");
  FAILS(promote_copy_to_host(device, NULL, &result), PROMOTE_NULL, "tensor");
  FAILS(promote_copy_to_device(device, &there->dl_tensor, &result), PROMOTE_DEVICE, "input 0 must be in CPU memory, but is on ");
  given.dtype.bits = 31;
  FAILS(promote_copy_to_device(device, &given, &result), PROMOTE_DTYPE, "is float31, which is no dtype");

  given = there->dl_tensor;
  FAILS(promote_call(on_cpu, inputs, 2, &result, 1), PROMOTE_DEVICE, "promote_add: input 0 must be in CPU memory, but is on ");
  given.device.device_id = 1;
  FAILS(promote_call_on_device(add, inputs, 2, &result, 1), PROMOTE_DEVICE, " device 0, but is on ");
  FAILS(promote_copy_to_host(device, &given, &result), PROMOTE_DEVICE, " device 0, but is on ");
  given.device.device_id = 0;
  given.device.device_type = METAL;
  FAILS(promote_call_on_device(add, inputs, 2, &result, 1), PROMOTE_DEVICE, "must be in CPU memory or on ");
  CHECK(strstr(promote_error_message(), "but is on Metal device 0") != NULL);

  given = there->dl_tensor;
  given.strides = backwards;
  FAILS(promote_call_on_device(add, inputs, 2, &result, 1), PROMOTE_STRIDES, "input 0 is on a device, and must be row-major");
  CHECK(strstr(promote_error_message(), "float32[8] [-1]") != NULL);
  given = there->dl_tensor;
  given.dtype.code = 0;
  FAILS(promote_call_on_device(add, inputs, 2, &result, 1), PROMOTE_DTYPE, "input 0 must be float32[8], but is int32[8]");
  given = there->dl_tensor;
  given.ndim = 0;
  FAILS(promote_call_on_device(add, inputs, 2, &result, 1), PROMOTE_RANK, "but has rank 0");
  given = there->dl_tensor;
  given.data = NULL;
  FAILS(promote_call_on_device(add, inputs, 2, &result, 1), PROMOTE_NULL, "input 0 has null data");
  given = there->dl_tensor;
  outputs[0] = &given;
  inputs[0] = &x;
  FAILS(promote_call_into(add, inputs, 2, outputs, 1), PROMOTE_DEVICE, "output 0 must be in CPU memory, but is on ");
  inputs[0] = &given;
  CHECK(result == NULL);

  if (!is_cuda) {
    /* Handles are known again as they were handed out, and while they are. */
    DLTensor other;
    given.byte_offset = 4;
    FAILS(promote_call_on_device(add, inputs, 2, &result, 1), PROMOTE_DEVICE, "input 0: ");
    CHECK(strstr(promote_error_message(), "no tensor that was handed out starts there") != NULL);
    other = given = there->dl_tensor;
    given.ndim = other.ndim = 2;
    given.shape = other.shape = pairs;
    given.strides = other.strides = NULL;
    inputs[1] = &other;
    FAILS(promote_call_on_device(two_by_four, inputs, 2, &result, 1), PROMOTE_DEVICE, "float32[8] was handed out, and not float32[2,4]");
    inputs[1] = &y;
    given = there->dl_tensor;
    given.shape = shape;
    given.strides = NULL;
    promote_managed_tensor_free(there);
    FAILS(promote_call_on_device(add, inputs, 2, &result, 1), PROMOTE_DEVICE, "no tensor that was handed out starts there");
    CHECK(result == NULL);
  } else {
    promote_managed_tensor_free(there);
  }
  promote_function_free(on_cpu);
  promote_function_free(two_by_four);
}

/* The tensor outlives all that it was made with. */
static void outliving(promote_session *session, const char *target) {
  promote_device *device = NULL;
  promote_function *add;
  DLTensor x = tensor(x_data, shape, 1), y = tensor(y_data, shape, 1);
  const DLTensor *inputs[] = {&x, &y};
  DLManagedTensorVersioned *result = NULL;
  DONE(promote_device_open(target, NULL, &device));
  add = function_of(session, device, "add");
  promote_device_free(device);
  DONE(promote_call_on_device(add, inputs, 2, &result, 1));
  promote_function_free(add);
  DONE(promote_device_open(target, NULL, &device));
  is_sum(device, &result->dl_tensor, 1);
  promote_device_free(device);
  promote_managed_tensor_free(result);
}

/* The driver's own functions: memory of other libraries. */
typedef struct {
  int (*count)(int *), (*retain)(void **, int), (*push)(void *), (*pop)(void **), (*allocate)(uint64_t *, size_t);
  int (*managed)(uint64_t *, size_t, unsigned), (*free)(uint64_t), (*attribute)(void *, unsigned, uint64_t);
  int (*write)(uint64_t, const void *, size_t, void *);
} Driver;

static Driver driver(void) {
  Driver cuda;
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  CHECK(library != NULL);
  *(void **)&cuda.count = dlsym(library, "cuDeviceGetCount");
  *(void **)&cuda.retain = dlsym(library, "cuDevicePrimaryCtxRetain");
  *(void **)&cuda.push = dlsym(library, "cuCtxPushCurrent_v2");
  *(void **)&cuda.pop = dlsym(library, "cuCtxPopCurrent_v2");
  *(void **)&cuda.allocate = dlsym(library, "cuMemAlloc_v2");
  *(void **)&cuda.managed = dlsym(library, "cuMemAllocManaged");
  *(void **)&cuda.free = dlsym(library, "cuMemFree_v2");
  *(void **)&cuda.attribute = dlsym(library, "cuPointerGetAttribute");
  *(void **)&cuda.write = dlsym(library, "cuMemcpyHtoDAsync_v2");
  return cuda;
}

static void memory_of_others(const promote_device *device, const promote_function *add) {
  Driver cuda = driver();
  DLTensor y = tensor(y_data, shape, 1), given = tensor(NULL, shape, 1);
  const DLTensor *inputs[] = {&given, &y};
  DLManagedTensorVersioned *result = NULL;
  uint64_t memory[2];
  void *context = NULL;
  int count = 0, ordinal = -1;
  CHECK(cuda.retain(&context, 0) == 0 && cuda.push(context) == 0);
  CHECK(cuda.allocate(&memory[0], 4 * N + 32) == 0 && cuda.managed(&memory[1], 4 * N + 32, 1) == 0);
  for (int kind = 0; kind < 2; kind++) {
    uint64_t offsets[] = {0, 4, 16};
    for (int i = 0; i < 3; i++) {
      CHECK(cuda.write(memory[kind] + offsets[i], x_data, sizeof x_data, NULL) == 0);
      given.device.device_type = kind == 0 ? CUDA : CUDA_MANAGED;
      given.data = (void *)(uintptr_t)memory[kind];
      given.byte_offset = offsets[i];
      DONE(promote_call_on_device(add, inputs, 2, &result, 1));
      is_sum(device, &result->dl_tensor, 1);
      CHECK(cuda.attribute(&ordinal, 9, (uint64_t)(uintptr_t)result->dl_tensor.data) == 0 && ordinal == 0);
      promote_managed_tensor_free(result);
    }
  }
  given.byte_offset = 0;
  given.device.device_type = CUDA;
  given.data = x_data;
  FAILS(promote_call_on_device(add, inputs, 2, &result, 1), PROMOTE_DEVICE, "input 0: ");
  CHECK(strstr(promote_error_message(), "CUDA does not know it; copy it to the device first") != NULL);
  CHECK(cuda.free(memory[0]) == 0 && cuda.free(memory[1]) == 0 && cuda.pop(&context) == 0);
  CHECK(cuda.count(&count) == 0);
  if (count > 1) {
    CHECK(cuda.retain(&context, 1) == 0 && cuda.push(context) == 0 && cuda.allocate(&memory[0], 4 * N) == 0);
    given.data = (void *)(uintptr_t)memory[0];
    FAILS(promote_call_on_device(add, inputs, 2, &result, 1), PROMOTE_DEVICE, "it is another device's; copy it to this one first");
    CHECK(cuda.free(memory[0]) == 0 && cuda.pop(&context) == 0);
  }
}

int main(int count, char **arguments) {
  promote_session *session = session_of("jax");
  promote_device *device = NULL;
  promote_function *add;
  const char *target = count > 1 ? arguments[1] : "";
  int32_t status = promote_device_open(target, NULL, &device);
  if (status == PROMOTE_DEVICE) {
    printf("%s\n", promote_error_message());
    return SKIPPED;
  }
  DONE(status);
  opening(target);
  compiling(session, device);
  add = function_of(session, device, "add");
  calling(device, add);
  refusals(session, device, add);
  if (promote_device_describe(device)->dlpack.device_type == CUDA) memory_of_others(device, add);
  promote_function_free(add);
  promote_device_free(device);
  outliving(session, target);
  promote_session_free(session);
  return 0;
}
