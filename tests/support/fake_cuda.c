/* A driver of CUDA without a GPU, for tests of all that is around kernels: two devices whose memory is this process's, and launches
   that are done when somebody waits for the stream or does something else in it, as late as may be. Every kernel takes two
   tensors of eight floats and a third one that is set to their sum.

     cc -shared -fPIC -Wl,-soname,libcuda.so.1 fake_cuda.c -o libcuda.so.1 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_VALUE = 1, NOT_FOUND = 500, DEVICES = 2, ELEMENTS = 8, MOST = 1024 };

typedef struct {
  char *start;
  size_t size;
  int device, is_managed;
} Block;

static Block blocks[MOST];
static float *queue[MOST][3];
static int queued, contexts[DEVICES] = {0, 1}, *current[MOST], depth;

static void flush(void) {
  for (int launch = 0; launch < queued; launch++)
    for (int i = 0; i < ELEMENTS; i++) queue[launch][2][i] = queue[launch][0][i] + queue[launch][1][i];
  queued = 0;
}

static Block *block_of(uint64_t pointer) {
  for (Block *block = blocks; block < blocks + MOST; block++) {
    uint64_t start = (uint64_t)(uintptr_t)block->start;
    if (block->start != NULL && pointer >= start && pointer - start < block->size) return block;
  }
  return NULL;
}

static int allocate(uint64_t *pointer, size_t size, int is_managed) {
  Block *block = blocks;
  while (block < blocks + MOST && block->start != NULL) block++;
  if (block == blocks + MOST || posix_memalign((void **)&block->start, 256, size) != 0) return 2;
  block->size = size;
  block->device = depth > 0 ? *current[depth - 1] : 0;
  block->is_managed = is_managed;
  *pointer = (uint64_t)(uintptr_t)block->start;
  return SUCCESS;
}

int cuInit(unsigned flags) { return flags == 0 ? SUCCESS : INVALID_VALUE; }
int cuDriverGetVersion(int *version) { return *version = 12090, SUCCESS; }
int cuGetErrorName(int code, const char **name) { return *name = code ? "FAKE_ERROR" : "SUCCESS", SUCCESS; }
int cuGetErrorString(int code, const char **text) { return *text = code ? "an error" : "none", SUCCESS; }
int cuDeviceGetCount(int *count) { return *count = DEVICES, SUCCESS; }
int cuDeviceGet(int *device, int ordinal) { return *device = ordinal, SUCCESS; }
int cuDeviceGetName(char *name, int size, int device) { return snprintf(name, (size_t)size, "fake %d", device), SUCCESS; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return (void)device, *bytes = 1 << 28, SUCCESS; }

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  (void)device;
  switch (attribute) {
    case 1: case 2: return *value = 1024, SUCCESS;
    case 5: return *value = 0x7fffffff, SUCCESS;
    case 6: case 7: return *value = 65535, SUCCESS;
    case 8: return *value = 49152, SUCCESS;
    case 10: return *value = 32, SUCCESS;
    case 16: return *value = 4, SUCCESS;
    case 75: return *value = 9, SUCCESS;
    case 76: return *value = 0, SUCCESS;
    default: return *value = 0, SUCCESS;
  }
}

int cuDevicePrimaryCtxRetain(int **context, int device) { return *context = &contexts[device], SUCCESS; }
int cuDevicePrimaryCtxRelease_v2(int device) { return (void)device, SUCCESS; }
int cuCtxPushCurrent_v2(int *context) { return current[depth++] = context, SUCCESS; }
int cuCtxPopCurrent_v2(int **context) { return *context = current[--depth], SUCCESS; }
int cuStreamCreate(void **stream, unsigned flags) { return *stream = &queued, flags == 0 ? SUCCESS : INVALID_VALUE; }
int cuStreamDestroy_v2(void *stream) { return (void)stream, SUCCESS; }
int cuStreamSynchronize(void *stream) { return (void)stream, flush(), SUCCESS; }
int cuMemAlloc_v2(uint64_t *pointer, size_t size) { return allocate(pointer, size, 0); }
int cuMemAllocManaged(uint64_t *pointer, size_t size, unsigned flags) { return (void)flags, allocate(pointer, size, 1); }

int cuMemFree_v2(uint64_t pointer) {
  Block *block = block_of(pointer);
  if (block == NULL) return INVALID_VALUE;
  memset(block->start, 0xff, block->size);
  free(block->start);
  block->start = NULL;
  return SUCCESS;
}

int cuMemAllocHost_v2(void **pointer, size_t size) { return (*pointer = malloc(size)) ? SUCCESS : 2; }
int cuMemFreeHost(void *pointer) { return free(pointer), SUCCESS; }

static int copy(void *to, const void *from, size_t size) { return flush(), memcpy(to, from, size), SUCCESS; }

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t size, void *stream) {
  return (void)stream, copy((void *)(uintptr_t)to, from, size);
}
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t size, void *stream) {
  return (void)stream, copy(to, (void *)(uintptr_t)from, size);
}
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t size, void *stream) {
  return (void)stream, copy((void *)(uintptr_t)to, (void *)(uintptr_t)from, size);
}

int cuPointerGetAttribute(void *data, unsigned attribute, uint64_t pointer) {
  Block *block = block_of(pointer);
  if (block == NULL) return INVALID_VALUE;
  switch (attribute) {
    case 2: *(unsigned *)data = 2; return SUCCESS;
    case 8: *(unsigned *)data = (unsigned)block->is_managed; return SUCCESS;
    case 9: *(int *)data = block->device; return SUCCESS;
    default: return INVALID_VALUE;
  }
}

int cuModuleLoadDataEx(void **module, const void *text, unsigned count, int *options, void **values) {
  (void)count, (void)options, (void)values;
  return *module = &queued, strstr(text, ".entry") != NULL ? SUCCESS : INVALID_VALUE;
}
int cuModuleUnload(void *module) { return (void)module, SUCCESS; }
int cuModuleGetFunction(void **function, void *module, const char *name) {
  return (void)name, *function = module, SUCCESS;
}
int cuFuncGetAttribute(int *value, int attribute, void *function) {
  return (void)attribute, (void)function, *value = 1024, SUCCESS;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **parameters, void **extra) {
  (void)function, (void)gx, (void)gy, (void)gz, (void)bx, (void)by, (void)bz, (void)shared, (void)stream, (void)extra;
  if (queued == MOST) flush();
  for (int i = 0; i < 3; i++) queue[queued][i] = (float *)(uintptr_t) * (uint64_t *)parameters[i];
  queued++;
  return SUCCESS;
}
