/* A run time for tests on machines for which the one in Rust is not built: serial, and for contiguous tensors only. */
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

enum { MOST_INPUTS = 8, ALIGNMENT = 64, DEEPEST = 100 };

/* A call in progress. */
struct promote_rt_context {
  const promote_rt_function *function;
  DLTensor *const *outputs;
  bool tells_shapes; /* and computes into memory of its own if it must */
  int32_t depth, trap;
  bool failed;
};

static char message[512];

static void say(const void *text, int64_t length) {
  size_t size = length < (int64_t)sizeof message ? (size_t)length : sizeof message - 1;
  memcpy(message, text, size);
  message[size] = 0;
}

static int32_t refused(int32_t status, const char *why) {
  say(why, (int64_t)strlen(why));
  return status;
}

static void fail(promote_rt_context *context, const char *why) {
  if (!context->failed) refused(0, why);
  context->failed = true;
}

/* Buffers: the number of owners stands in front of the data. */

static int64_t buffers;

static void *memory(int64_t rank, const int64_t *dims, int64_t element_size) {
  int64_t bytes = element_size;
  for (int64_t axis = 0; axis < rank; axis++) bytes *= dims[axis];
  size_t size = ((size_t)bytes + 2 * ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  char *block = aligned_alloc(ALIGNMENT, size);
  if (block == NULL) return NULL;
  memset(block, 0xa5, size);
  *(int64_t *)block = 1;
  return block + ALIGNMENT;
}

static int64_t *owners(uint8_t *data) { return (int64_t *)(data - ALIGNMENT); }

uint8_t *promote_rt_new(promote_rt_context *context, int64_t rank, const int64_t *dims, int64_t element_size) {
  uint8_t *data = memory(rank, dims, element_size);
  if (data == NULL) fail(context, "no memory");
  buffers += data != NULL;
  return data;
}

void promote_rt_retain(uint8_t *owner) {
  if (owner != NULL) *owners(owner) += 1;
}

void promote_rt_release(promote_rt_context *context, uint8_t *owner) {
  (void)context;
  if (owner == NULL || (*owners(owner) -= 1) > 0) return;
  buffers -= 1;
  free(owners(owner));
}

/* Outputs. */

void promote_rt_shape(promote_rt_context *context, int64_t index, const int64_t *dims) {
  DLTensor *output = context->outputs[index];
  output->ndim = context->function->output_types[index].rank;
  for (int32_t axis = 0; axis < output->ndim; axis++) output->shape[axis] = dims[axis];
}

uint8_t *promote_rt_output(promote_rt_context *context, int64_t index, const int64_t *dims) {
  DLTensor *output = context->outputs[index];
  if (context->tells_shapes) {
    promote_rt_shape(context, index, dims);
    return memory(output->ndim, dims, 16); /* until the process ends */
  }
  for (int32_t axis = 0; axis < output->ndim; axis++)
    if (output->shape[axis] != dims[axis]) {
      fail(context, "an output has another shape");
      return NULL;
    }
  return output->data;
}

/* Control. */

void promote_rt_parallel(promote_rt_context *context, promote_rt_body *body, uint8_t *env, int64_t count, int64_t grain) {
  (void)context;
  /* In two ranges, if they may be: kernels must not depend on beginning at 0. */
  int64_t middle = count / 2 / grain * grain;
  if (middle > 0) body(env, 0, middle);
  if (count > middle) body(env, middle, count);
}

int64_t promote_rt_threads(void) { return 2; }

int32_t promote_rt_enter(promote_rt_context *context, int64_t need, const uint8_t *place, int64_t length) {
  (void)place, (void)length;
  if (need > 0 && ++context->depth < DEEPEST) return 0;
  fail(context, "the stack is too small");
  return 1;
}

void promote_rt_leave(promote_rt_context *context) { context->depth -= 1; }

void promote_rt_fail(promote_rt_context *context, const uint8_t *why, int64_t length) {
  if (!context->failed) say(why, length);
  context->failed = true;
}

void promote_rt_trap(promote_rt_context *context, int32_t code, const uint8_t *place, int64_t length) {
  if (context->trap != 0) return;
  context->trap = code;
  if (place != NULL) say(place, length);
}

int32_t promote_rt_trapped(promote_rt_context *context) { return context->trap; }

/* Sorting, by insertion. */

static uint64_t element(const uint8_t *data, int64_t size) {
  uint64_t bits = 0;
  memcpy(&bits, data, (size_t)size);
  return bits;
}

/* A number of the same order, NaNs last; zeros are equal. */
static int64_t float_key(uint64_t bits, uint64_t sign, uint64_t infinity) {
  int64_t magnitude = (int64_t)(bits & (sign - 1));
  if ((uint64_t)magnitude > infinity) return INT64_MAX;
  return bits & sign ? -magnitude : magnitude;
}

static int64_t size_of_kind(int32_t kind) {
  switch (kind) {
    case PROMOTE_SORT_BOOL: case PROMOTE_SORT_U8: case PROMOTE_SORT_I8: return 1;
    case PROMOTE_SORT_U16: case PROMOTE_SORT_I16: case PROMOTE_SORT_BF16: case PROMOTE_SORT_F16: return 2;
    case PROMOTE_SORT_U32: case PROMOTE_SORT_I32: case PROMOTE_SORT_F32: return 4;
    case PROMOTE_SORT_U64: case PROMOTE_SORT_I64: case PROMOTE_SORT_F64: return 8;
    default: return 0;
  }
}

static int64_t key(int32_t kind, uint64_t bits) {
  switch (kind) {
    case PROMOTE_SORT_I8: return (int8_t)bits;
    case PROMOTE_SORT_I16: return (int16_t)bits;
    case PROMOTE_SORT_I32: return (int32_t)bits;
    case PROMOTE_SORT_BF16: return float_key(bits, 0x8000, 0x7f80);
    case PROMOTE_SORT_F16: return float_key(bits, 0x8000, 0x7c00);
    case PROMOTE_SORT_F32: return float_key(bits, 0x80000000, 0x7f800000);
    case PROMOTE_SORT_F64: return float_key(bits, 1ull << 63, 0x7ffull << 52);
    case PROMOTE_SORT_U64: return (int64_t)(bits ^ 1ull << 63);
    default: return (int64_t)bits;
  }
}

void promote_rt_sort(promote_rt_context *context, int32_t kind, uint8_t *data, int64_t outer, int64_t extent, int64_t inner) {
  int64_t size = size_of_kind(kind);
  if (size == 0) {
    fail(context, "the run time of these tests does not sort such elements");
    return;
  }
  for (int64_t line = 0; line < outer * inner; line++) {
    uint8_t *first = data + (line / inner * extent * inner + line % inner) * size;
    int64_t step = inner * size;
    for (int64_t row = 1; row < extent; row++) {
      uint64_t moved = element(first + row * step, size);
      int64_t to = row;
      for (; to > 0 && key(kind, element(first + (to - 1) * step, size)) > key(kind, moved); to--)
        memcpy(first + to * step, first + (to - 1) * step, (size_t)size);
      memcpy(first + to * step, &moved, (size_t)size);
    }
  }
}

void promote_rt_stage(promote_rt_context *context, promote_rt_body *body, uint8_t *env, int64_t count, int64_t grain,
                      const int64_t *order) {
  (void)order; /* inputs are contiguous */
  promote_rt_parallel(context, body, env, count, grain);
}

void promote_rt_copy(promote_rt_context *context, int64_t rank, const int64_t *dims, int64_t element_size, uint8_t *to,
                     const int64_t *to_strides, const uint8_t *from, const int64_t *from_strides) {
  if (rank == 0) {
    memcpy(to, from, (size_t)element_size);
    return;
  }
  for (int64_t index = 0; index < dims[0]; index++)
    promote_rt_copy(context, rank - 1, dims + 1, element_size, to + index * to_strides[0] * element_size, to_strides + 1,
                    from + index * from_strides[0] * element_size, from_strides + 1);
}

/* Calls. */

static bool fits(const promote_rt_tensor_type *type, const DLTensor *tensor) {
  bool fits = type->code == tensor->dtype.code && type->bits == tensor->dtype.bits && type->lanes == 1 &&
              type->rank == tensor->ndim;
  for (int32_t axis = 0; fits && axis < type->rank; axis++)
    fits = type->dims[axis] == -1 || type->dims[axis] == tensor->shape[axis];
  return fits;
}

static int32_t run(promote_rt_entry *entry, promote_rt_context *context, const DLTensor *const *inputs) {
  promote_rt_input seen[MOST_INPUTS];
  int64_t before = buffers;
  message[0] = 0;
  for (int32_t index = 0; index < context->function->inputs; index++) {
    if (!fits(&context->function->input_types[index], inputs[index]))
      return refused(PROMOTE_SHAPE, "an input is not what the function takes");
    seen[index].data = inputs[index]->data;
    seen[index].dims = inputs[index]->shape;
    seen[index].strides = NULL;
  }
  int32_t returned = entry(context, seen);
  if (context->failed) return PROMOTE_CHECK;
  switch (context->trap) {
    case PROMOTE_TRAP_DIVISION: return PROMOTE_DIVISION;
    case PROMOTE_TRAP_NEGATIVE_POWER: return PROMOTE_NEGATIVE_POWER;
    case PROMOTE_TRAP_INDEX: return PROMOTE_INDEX;
  }
  if (returned != 0) return refused(PROMOTE_INTERNAL, "compiled code failed without a message");
  if (buffers != before) return refused(PROMOTE_INTERNAL, "compiled code did not release its buffers");
  return PROMOTE_OK;
}

int32_t promote_rt_call(const promote_rt_function *function, const DLTensor *const *inputs, DLTensor *const *outputs) {
  promote_rt_context context = {function, outputs, false, 0, 0, false};
  if (*function->entry_stack <= 0) return refused(PROMOTE_INTERNAL, "the size of the stack is not known");
  for (int32_t index = 0; index < function->outputs; index++)
    if (!fits(&function->output_types[index], outputs[index]))
      return refused(PROMOTE_SHAPE, "an output is not what the function returns");
  return run(function->entry, &context, inputs);
}

int32_t promote_rt_tvm(const promote_rt_function *function, const promote_rt_any *args, int32_t count, promote_rt_any *result) {
  (void)function, (void)args, (void)count, (void)result;
  return refused(-1, "no such convention");
}

int32_t promote_rt_shapes(const promote_rt_function *function, const DLTensor *const *inputs, DLTensor *const *outputs) {
  promote_rt_context context = {function, outputs, true, 0, 0, false};
  for (int32_t index = 0; index < function->outputs; index++) {
    const promote_rt_tensor_type *type = &function->output_types[index];
    outputs[index]->dtype = (DLDataType){type->code, type->bits, type->lanes};
  }
  return run(function->shape != NULL ? function->shape : function->entry, &context, inputs);
}

/* What every library has. */

const char *promote_last_error(void) { return message; }
void promote_set_num_threads(int32_t number) { (void)number; }
int32_t promote_get_num_threads(void) { return 1; }
void promote_set_flush_denormals(bool flush) { (void)flush; }

/* Conversions to bfloat16, in the low half of the register in which a float is returned. */

static uint32_t nearest(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (value != value) return bits >> 16 | 0x40;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

float __truncsfbf2(float value) {
  uint32_t bits = nearest(value);
  memcpy(&value, &bits, sizeof value);
  return value;
}

float __truncdfbf2(double value) {
  /* To odd: what is lost stays visible to the next rounding. */
  float rounded = (float)value;
  uint32_t bits;
  memcpy(&bits, &rounded, sizeof bits);
  if (value == value && (double)rounded != value) {
    double magnitude = value < 0 ? -value : value, found = rounded < 0 ? -(double)rounded : rounded;
    bits = (bits - (found > magnitude)) | 1;
    memcpy(&rounded, &bits, sizeof rounded);
  }
  return __truncsfbf2(rounded);
}
