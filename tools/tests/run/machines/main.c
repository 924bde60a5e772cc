/* Calls the functions of a table, and prints the elements of their results. */
#include <stdio.h>
#include <stdlib.h>

#include "runtime.h"
#include "table.h"

static DLTensor inputs[MOST_ARGUMENTS], outputs[MOST_ARGUMENTS];
static int64_t shapes[MOST_ARGUMENTS][MOST_DIMENSIONS];

/* The bytes of each element, the first one first, after the dtype. */
static void print(const DLTensor *output) {
  static const char digits[] = "0123456789abcdef";
  int64_t count = 1, size = (output->dtype.bits + 7) / 8;
  const unsigned char *byte = output->data;
  for (int32_t axis = 0; axis < output->ndim; axis++) count *= output->shape[axis];
  printf("%d:%d", output->dtype.code, output->dtype.bits);
  for (int64_t element = 0; element < count; element++) {
    putchar(' ');
    for (int64_t i = 0; i < size; i++, byte++) putchar(digits[*byte >> 4]), putchar(digits[*byte & 15]);
  }
  putchar('\n');
}

/* Memory with something in it: what is not written is seen. */
static void *memory(const DLTensor *output) {
  size_t bytes = 16;
  for (int32_t axis = 0; axis < output->ndim; axis++) bytes *= (size_t)output->shape[axis];
  unsigned char *data = aligned_alloc(64, (bytes + 63) / 64 * 64 + 64);
  for (size_t i = 0; i < bytes; i++) data[i] = 0x5a;
  return data;
}

static void run(const struct test *test) {
  const DLTensor *given[MOST_ARGUMENTS];
  DLTensor *taken[MOST_ARGUMENTS];
  const promote_rt_function *function = test->function;
  for (int i = 0; i < function->inputs; i++) {
    const struct input *input = &test->input[i];
    const promote_rt_tensor_type *type = &function->input_types[i];
    inputs[i] = (DLTensor){(void *)input->data, {1, 0}, input->rank, {type->code, type->bits, 1}, (int64_t *)input->shape, NULL, 0};
    given[i] = &inputs[i];
  }
  for (int i = 0; i < function->outputs; i++) {
    outputs[i] = (DLTensor){NULL, {1, 0}, MOST_DIMENSIONS, {0, 0, 0}, shapes[i], NULL, 0};
    taken[i] = &outputs[i];
  }
  int32_t status = test->shapes(given, taken);
  for (int i = 0; status == PROMOTE_OK && i < function->outputs; i++) outputs[i].data = memory(&outputs[i]);
  if (status == PROMOTE_OK) status = test->call(given, taken);
  if (status != PROMOTE_OK) printf("status %d: %s\n", status, promote_last_error());
  for (int i = 0; i < function->outputs; i++) {
    if (status == PROMOTE_OK) print(&outputs[i]);
    free(outputs[i].data);
  }
}

int main(void) {
  for (int i = 0; i < test_count; i++) {
    printf("# %s\n", tests[i].name);
    run(&tests[i]);
  }
  return 0;
}
