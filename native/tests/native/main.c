#include "f.h"

#include <stdio.h>

int main(void) {
  float x[3] = {0.25f, 0.5f, 1.0f}, y[3] = {0.25f, 0.5f, 0.5f}, m = 2.0f, out[3];
  int64_t shape[1] = {3}, told[1];
  DLDevice cpu = {1, 0};
  DLDataType f32 = {2, 32, 1};
  DLTensor tx = {x, {1, 0}, 1, {2, 32, 1}, shape, 0, 0}, ty = tx, tm = tx, to = tx, ts = tx;
  const DLTensor *inputs[3] = {&tx, &ty, &tm};
  DLTensor *outputs[1] = {&to}, *shapes[1] = {&ts};
  int32_t status;
  ty.data = y;
  ty.device = cpu;
  tm.data = &m;
  tm.ndim = 0;
  tm.dtype = f32;
  to.data = out;
  ts.data = 0;
  ts.shape = told;
  status = promote_f_shape(inputs, shapes);
  printf("shape %d [%d] %s %d\n", status, (int)told[0], ts.dtype.code == 2 ? "float" : "?", ts.dtype.bits);
  status = promote_f(inputs, outputs);
  printf("status %d: %g %g %g %s\n", status, out[0], out[1], out[2], promote_last_error());
  tx.ndim = 0;
  status = promote_f(inputs, outputs);
  printf("status %d: %s\n", status, promote_last_error());
  return 0;
}
