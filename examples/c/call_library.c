/* Calls a function that was compiled ahead of time, on DLPack tensors.
 *
 *   promote-opt ../scale_and_shift.mlir --emit=so -o libscale.so
 *   promote-opt ../scale_and_shift.mlir --emit=header -o scale.h
 *   cc -std=c99 -Wall -Wextra -pedantic -I. call_library.c -L. -lscale -Wl,-rpath,. -o call_library && ./call_library
 *
 * Or linked into the program, without a shared library:
 *
 *   promote-opt ../scale_and_shift.mlir --emit=obj -o scale.o
 *   promote-opt --emit=runtime -o promote_runtime.o
 *   cc -std=c99 -I. call_library.c scale.o promote_runtime.o -lm -lpthread -ldl -lgcc_s -o call_library
 */
#include <stdio.h>
#include <stdlib.h>

#include "scale.h"

enum { FLOAT = 2, INT = 0, CPU = 1 };

static DLTensor tensor(void *data, uint8_t code, int64_t *shape, int32_t rank) {
  DLTensor tensor = {0};
  tensor.data = data;
  tensor.device.device_type = CPU;
  tensor.ndim = rank;
  tensor.dtype.code = code;
  tensor.dtype.bits = 32;
  tensor.dtype.lanes = 1;
  tensor.shape = shape; /* strides stay NULL: row-major */
  return tensor;
}

int main(void) {
  float rows_data[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
  int32_t shift_data[4] = {10, 20, 30, 40};
  float scale_data = 0.5f;
  int64_t rows_shape[2] = {3, 4}, shift_shape[1] = {4};
  DLTensor rows = tensor(rows_data, FLOAT, rows_shape, 2);
  DLTensor shift = tensor(shift_data, INT, shift_shape, 1);
  DLTensor scale = tensor(&scale_data, FLOAT, NULL, 0);
  const DLTensor *inputs[3] = {&rows, &shift, &scale};

  /* How large are the results for these inputs? Shapes have room for as many extents as ndim says. */
  int64_t result_shape[2], mean_shape[1];
  DLTensor result = tensor(NULL, FLOAT, result_shape, 2);
  DLTensor mean = tensor(NULL, FLOAT, mean_shape, 1);
  DLTensor *outputs[2] = {&result, &mean};
  if (promote_scale_and_shift_shape(inputs, outputs) != PROMOTE_OK) {
    fprintf(stderr, "%s\n", promote_last_error());
    return 1;
  }
  result.data = malloc((size_t)(result_shape[0] * result_shape[1]) * sizeof(float));
  mean.data = malloc((size_t)mean_shape[0] * sizeof(float));
  if (result.data == NULL || mean.data == NULL) return 1;

  int status = promote_scale_and_shift(inputs, outputs);
  if (status == PROMOTE_OK) {
    for (int64_t row = 0; row < result_shape[0]; row++) {
      for (int64_t column = 0; column < result_shape[1]; column++)
        printf("%g ", ((float *)result.data)[row * result_shape[1] + column]);
      printf("| mean %g\n", ((float *)mean.data)[row]);
    }
  }

  /* What does not fit is refused with a message; nothing is read or written beyond its bounds. */
  shift_shape[0] = 3;
  if (promote_scale_and_shift(inputs, outputs) != PROMOTE_SHAPE) status = 1;
  printf("refused: %s\n", promote_last_error());

  free(result.data);
  free(mean.data);
  return status == PROMOTE_OK ? 0 : 1;
}
