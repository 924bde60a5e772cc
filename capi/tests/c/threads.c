/* Several threads use one session, one module and one function at once. */
#include "check.h"

#include <pthread.h>

enum { THREADS = 8, ROUNDS = 20 };

static promote_session *session;
static promote_module *shared;
static promote_function *function;

/* Each thread's modules are refused at a line of its own: nobody sees the diagnostics of others. */
static void refusals(int number) {
  char text[1024], name[16], place[40];
  promote_module *module = NULL;
  promote_diagnostics *found = NULL;
  int length = 0, line = 0;
  for (; line < number; line++) text[length++] = '\n';
  strcpy(text + length,
         "func.func @f(%x: tensor<4xf8E4M3FN>, %y: tensor<4xbf16>) -> tensor<*x!promote.unknown> {\n"
         "  %0 = \"promote.add\"(%x, %y) : (tensor<4xf8E4M3FN>, tensor<4xbf16>) -> tensor<*x!promote.unknown>\n"
         "  return %0 : tensor<*x!promote.unknown>\n"
         "}\n");
  sprintf(name, "%d.mlir", number);
  sprintf(place, "%d.mlir:%d:8: error[P0007]", number, number + 2);
  DONE(promote_module_parse(session, text, strlen(text), name, &module, NULL));
  FAILS(promote_module_promote(module, &found), PROMOTE_REFUSED, place);
  CHECK(found->count == 1 && found->items[0].location.line == (uint32_t)number + 2);
  CHECK(strcmp(found->items[0].location.file, name) == 0);
  promote_diagnostics_free(found);
  promote_module_free(module);
}

static void promotions(void) {
  promote_module *module = NULL;
  promote_buffer text;
  DONE(PARSE(session, ADD, &module));
  DONE(promote_module_promote(module, NULL));
  DONE(promote_module_text(module, &text));
  CHECK(strstr(text.data, "promote.implicit") != NULL);
  promote_buffer_free(&text);
  promote_module_free(module);
}

/* Regions in regions, as deep as text may nest: reading, promoting and freeing them takes more stack than the thread has. */
static void nested(void) {
  enum { DEPTH = 900 };
  static const char head[] = "func.func @f() {\n", open[] = "scf.execute_region {\n", close[] = "scf.yield\n}\n",
                    tail[] = "return\n}\n";
  size_t size = sizeof head + sizeof tail + DEPTH * (sizeof open + sizeof close);
  char *text = malloc(size), *end = text;
  promote_module *module = NULL;
  int depth = 0;
  CHECK(text != NULL);
  end += sprintf(end, "%s", head);
  for (; depth < DEPTH; depth++) end += sprintf(end, "%s", open);
  for (; depth > 0; depth--) end += sprintf(end, "%s", close);
  end += sprintf(end, "%s", tail);
  DONE(promote_module_parse(session, text, (size_t)(end - text), "deep.mlir", &module, NULL));
  DONE(promote_module_promote(module, NULL));
  promote_module_free(module);
  free(text);
}

static void calls(int number) {
  int32_t x_data = number;
  float y_data = 0.5f;
  int64_t shape = 1;
  DLTensor x = {&x_data, {1, 0}, 1, {0, 32, 1}, &shape, NULL, 0}, y = {&y_data, {1, 0}, 1, {2, 32, 1}, &shape, NULL, 0};
  const DLTensor *inputs[] = {&x, &y};
  DLManagedTensorVersioned *sum = NULL;
  DONE(promote_call(function, inputs, 2, &sum, 1));
  CHECK(*(float *)sum->dl_tensor.data == (float)number + 0.5f);
  promote_managed_tensor_free(sum);
}

static void *work(void *argument) {
  int number = *(int *)argument, round = 0;
  for (; round < ROUNDS; round++) {
    promote_buffer text;
    promote_dtype dtypes[] = {PROMOTE_DTYPE_I8, PROMOTE_DTYPE_F16}, joined;
    refusals(number);
    promotions();
    if (round == 0) nested();
    calls(number);
    DONE(promote_join(session, dtypes, 2, &joined));
    DONE(promote_module_promote(shared, NULL));
    DONE(promote_module_text(shared, &text));
    promote_buffer_free(&text);
    FAILS(promote_join(session, dtypes, 0, &joined), PROMOTE_ARGUMENT, "no dtypes");
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  pthread_attr_t small;
  promote_executable *executable = NULL;
  int numbers[THREADS], index;
  session = session_of("jax");
  DONE(PARSE(session, ADD, &shared));
  DONE(promote_compile(shared, NULL, &executable, NULL));
  DONE(promote_executable_function(executable, "add", &function));
  promote_executable_free(executable);
  /* The threads have the smallest stack that is allowed. */
  CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 128 << 10) == 0);
  for (index = 0; index < THREADS; index++) {
    numbers[index] = index;
    CHECK(pthread_create(&threads[index], &small, work, &numbers[index]) == 0);
  }
  for (index = 0; index < THREADS; index++) CHECK(pthread_join(threads[index], NULL) == 0);
  promote_module_free(shared);
  promote_function_free(function);
  promote_session_free(session);
  return 0;
}
