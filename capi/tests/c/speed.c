/* How long it takes to promote a module of ten ops in a warm session: speed [ROUNDS]. */
#define _POSIX_C_SOURCE 199309L
#include "check.h"

#include <time.h>

#define U "tensor<*x!promote.unknown>"

static const char program[] =
    "func.func @f(%x: tensor<8x16xbf16>, %y: tensor<16xi32>, %z: tensor<8x1xf32>) -> " U " {\n"
    "  %two = \"promote.constant\"() {value = dense<2> : tensor<i64>} : () -> tensor<!promote.weak_int>\n"
    "  %0 = \"promote.add\"(%x, %y) : (tensor<8x16xbf16>, tensor<16xi32>) -> " U "\n"
    "  %1 = \"promote.multiply\"(%0, %two) : (" U ", tensor<!promote.weak_int>) -> " U "\n"
    "  %2 = \"promote.exp\"(%1) : (" U ") -> " U "\n"
    "  %3 = \"promote.subtract\"(%2, %z) : (" U ", tensor<8x1xf32>) -> " U "\n"
    "  %4 = \"promote.sum\"(%3) {axis = array<i64: 1>} : (" U ") -> " U "\n"
    "  %5 = \"promote.tanh\"(%4) : (" U ") -> " U "\n"
    "  %6 = \"promote.maximum\"(%5, %two) : (" U ", tensor<!promote.weak_int>) -> " U "\n"
    "  %7 = \"promote.sqrt\"(%6) : (" U ") -> " U "\n"
    "  %8 = \"promote.divide\"(%7, %4) : (" U ", " U ") -> " U "\n"
    "  return %8 : " U "\n"
    "}\n";

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int count, char **arguments) {
  int rounds = count > 1 ? atoi(arguments[1]) : 1000, round;
  double *times = malloc((size_t)rounds * 4 * sizeof *times), start = now();
  promote_session *session = session_of("jax");
  CHECK(times != NULL && rounds > 0);
  for (round = 0; round < rounds; round++) {
    promote_module *module = NULL;
    promote_buffer text;
    double began = now(), parsed, promoted;
    DONE(PARSE(session, program, &module));
    parsed = now();
    DONE(promote_module_promote(module, NULL));
    promoted = now();
    DONE(promote_module_text(module, &text));
    CHECK(strstr(text.data, "unknown") == NULL);
    promote_buffer_free(&text);
    promote_module_free(module);
    times[round] = now() - began;
    times[rounds + round] = parsed - began;
    times[2 * rounds + round] = promoted - parsed;
    times[3 * rounds + round] = now() - promoted;
    if (round == 0) printf("session and first module: %.0f us\n", now() - start);
  }
  for (round = 0; round < 4; round++) {
    static const char *const names[] = {"text to text", "parse", "promote", "print and free"};
    qsort(times + round * rounds, (size_t)rounds, sizeof *times, ascending);
    printf("%s: median %.0f us\n", names[round], times[round * rounds + rounds / 2]);
  }
  free(times);
  promote_session_free(session);
  return 0;
}
