/* libpromote beside other LLVMs: beside FILE... loads half of the libraries before it, the others after, all with global
   symbols, and works with each. */
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>

typedef void *creates(void);
typedef void *parses(void *context, const char *text, size_t size);
typedef void uses(void *);
typedef void initialises(void);

/* An object's address as a function's. */
#define FUNCTION(type, handle, name, function)                  \
  do {                                                          \
    void *address_ = dlsym(handle, name);                       \
    CHECK(address_ != NULL);                                    \
    memcpy(&(function), &address_, sizeof address_);            \
  } while (0)

/* Makes an LLVM context and a module, and registers its code generator; the library is one of LLVM, or of MLIR with it. */
static void work_with(void *library, const char *path) {
  creates *context = NULL;
  uses *dispose = NULL;
  void *made;
  if (strstr(path, "MLIR") != NULL) return;
  {
    initialises *info = NULL, *target = NULL, *machine = NULL;
    void *(*module)(const char *, void *) = NULL;
    uses *dispose_module = NULL;
    FUNCTION(initialises, library, "LLVMInitializeX86TargetInfo", info);
    FUNCTION(initialises, library, "LLVMInitializeX86Target", target);
    FUNCTION(initialises, library, "LLVMInitializeX86TargetMC", machine);
    FUNCTION(creates, library, "LLVMContextCreate", context);
    FUNCTION(uses, library, "LLVMContextDispose", dispose);
    FUNCTION(void, library, "LLVMModuleCreateWithNameInContext", module);
    FUNCTION(uses, library, "LLVMDisposeModule", dispose_module);
    info();
    target();
    machine();
    made = context();
    dispose_module(module("m", made));
    dispose(made);
  }
}

static void *load(const char *path) {
  void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(library != NULL);
  work_with(library, path);
  printf("loaded %s\n", path);
  return library;
}

typedef struct {
  int32_t (*session)(const promote_session_options *, promote_session **);
  int32_t (*parse)(promote_session *, const char *, size_t, const char *, promote_module **, promote_diagnostics **);
  int32_t (*compile)(const promote_module *, const promote_compile_options *, promote_executable **, promote_diagnostics **);
  int32_t (*function)(const promote_executable *, const char *, promote_function **);
  int32_t (*call)(const promote_function *, const DLTensor *const *, size_t, DLManagedTensorVersioned **, size_t);
  uses *free_session, *free_module, *free_executable, *free_function;
} library;

static void promote_and_call(const library *own) {
  promote_session_options options = PROMOTE_SESSION_OPTIONS;
  promote_session *session = NULL;
  promote_module *module = NULL;
  promote_executable *executable = NULL;
  promote_function *function = NULL;
  DLManagedTensorVersioned *sum = NULL;
  int32_t x_data = 2;
  float y_data = 0.5f;
  int64_t shape = 1;
  DLTensor x = {&x_data, {1, 0}, 1, {0, 32, 1}, &shape, NULL, 0}, y = {&y_data, {1, 0}, 1, {2, 32, 1}, &shape, NULL, 0};
  const DLTensor *inputs[] = {&x, &y};
  CHECK(own->session(&options, &session) == PROMOTE_OK);
  CHECK(own->parse(session, ADD, strlen(ADD), NULL, &module, NULL) == PROMOTE_OK);
  CHECK(own->compile(module, NULL, &executable, NULL) == PROMOTE_OK);
  CHECK(own->function(executable, "add", &function) == PROMOTE_OK);
  CHECK(own->call(function, inputs, 2, &sum, 1) == PROMOTE_OK);
  CHECK(*(float *)sum->dl_tensor.data == 2.5f);
  sum->deleter(sum);
  own->free_function(function);
  own->free_executable(executable);
  own->free_module(module);
  own->free_session(session);
  printf("compiled and called\n");
}

int main(int count, char **paths) {
  void *others[16], *promote;
  library own;
  int index, before = 2 + (count - 2) / 2;
  CHECK(count > 2 && count < 16);
  for (index = 2; index < before; index++) others[index] = load(paths[index]);
  promote = dlopen(paths[1], RTLD_NOW | RTLD_GLOBAL);
  if (promote == NULL) fprintf(stderr, "%s\n", dlerror());
  CHECK(promote != NULL);
  FUNCTION(void, promote, "promote_session_new", own.session);
  FUNCTION(void, promote, "promote_module_parse", own.parse);
  FUNCTION(void, promote, "promote_compile", own.compile);
  FUNCTION(void, promote, "promote_executable_function", own.function);
  FUNCTION(void, promote, "promote_call", own.call);
  FUNCTION(void, promote, "promote_session_free", own.free_session);
  FUNCTION(void, promote, "promote_module_free", own.free_module);
  FUNCTION(void, promote, "promote_executable_free", own.free_executable);
  FUNCTION(void, promote, "promote_function_free", own.free_function);
  promote_and_call(&own);
  for (index = before; index < count; index++) others[index] = load(paths[index]);
  promote_and_call(&own);
  for (index = 2; index < count; index++) work_with(others[index], paths[index]);
  /* Memory of one library may be freed by another: all have the process's allocator. */
  {
    void *(*allocate)(size_t) = NULL, *(*found)(size_t) = NULL;
    FUNCTION(void, RTLD_DEFAULT, "malloc", found);
    allocate = malloc;
    CHECK(allocate == found && dlsym(promote, "malloc") == dlsym(RTLD_DEFAULT, "malloc"));
  }
  return 0;
}
