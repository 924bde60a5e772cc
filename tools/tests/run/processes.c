/* Calls a library on stacks of all sizes, and in children of a process with calls in progress. */

#include "deep.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG 100000

/* Calls @deep: the status, and whether the result is right. */
static int deep(int64_t depth, int *right) {
  int64_t x[1] = {1}, result[1] = {0}, shape[1] = {1};
  DLTensor n = {&depth, {1, 0}, 0, {0, 64, 1}, 0, 0, 0}, tx = {x, {1, 0}, 1, {0, 64, 1}, shape, 0, 0}, out = tx;
  const DLTensor *inputs[2] = {&n, &tx};
  DLTensor *outputs[1] = {&out};
  int status;
  out.data = result;
  status = promote_deep(inputs, outputs);
  *right = result[0] == depth + 1;
  return status;
}

/* Calls @wide, whose loops are spread over threads: whether that was right. */
static int wide(void) {
  static const float zeros[LONG];
  float *result = malloc(LONG * sizeof(float));
  int64_t shape[1] = {LONG};
  DLTensor x = {(void *)zeros, {1, 0}, 1, {2, 32, 1}, shape, 0, 0}, out = x;
  const DLTensor *inputs[1] = {&x};
  DLTensor *outputs[1] = {&out};
  int right;
  out.data = result;
  right = promote_wide(inputs, outputs) == PROMOTE_OK && result[0] == 1 && result[LONG - 1] == LONG;
  free(result);
  return right;
}

static void *on_small_stack(void *enough) {
  int right, status = deep(5, &right);
  if (status != PROMOTE_OK ? enough != 0 || status != PROMOTE_CHECK : !right)
    abort();
  status = deep(10000000, &right);
  if (status != PROMOTE_CHECK || !strstr(promote_last_error(), " bytes of stack, but only "))
    abort();
  return 0;
}

static void stacks(void) {
  size_t kilobytes[] = {16, 24, 32, 48, 64, 80, 96, 128, 160, 192, 256, 1024, 65536};
  size_t i;
  int right, status = deep(10000000, &right);
  if (status != PROMOTE_CHECK) {
    printf("main thread: %d %s\n", status, promote_last_error());
    exit(1);
  }
  /* Of the message only the numbers depend on the machine. */
  printf("%s\n", strstr(promote_last_error(), "promote_deep: "));
  for (i = 0; i < sizeof kilobytes / sizeof *kilobytes; i++) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, kilobytes[i] << 10);
    if (pthread_create(&thread, &attributes, on_small_stack, kilobytes[i] < 128 ? 0 : &attributes) != 0)
      abort();
    pthread_join(thread, 0);
  }
  status = deep(100, &right);
  printf("main thread: %d, %s\n", status, right ? "right" : "wrong");
}

static void *calling(void *is_over) {
  while (!__atomic_load_n((int *)is_over, __ATOMIC_RELAXED))
    if (!wide())
      abort();
  return 0;
}

static void children(int count) {
  pthread_t threads[2];
  int is_over = 0, i, failed = 0;
  promote_set_num_threads(3);
  for (i = 0; i < 2; i++)
    if (pthread_create(&threads[i], 0, calling, &is_over) != 0)
      abort();
  for (i = 0; i < count; i++) {
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
      alarm(10);
      _exit(wide() ? 0 : 1);
    }
    waitpid(child, &status, 0);
    failed += status != 0;
  }
  __atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
  for (i = 0; i < 2; i++)
    pthread_join(threads[i], 0);
  printf("%d children, %d failed\n", count, failed);
}

int main(int count, char **arguments) {
  if (count > 1)
    children(atoi(arguments[1]));
  else
    stacks();
  return 0;
}
