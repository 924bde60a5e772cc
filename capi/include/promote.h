/* libpromote: type promotion and compilation of array programs.
 *
 * A session has the promotion rules of a library (JAX, NumPy, PyTorch, ...). It reads modules of MLIR's promote dialect, makes
 * their implicit conversions explicit, and compiles them; compiled functions are called on DLPack tensors. What dtypes are
 * promoted to is also answered without a module. docs/c.md has a complete program.
 *
 * Errors. A function that can fail returns a status: PROMOTE_OK, which is 0, or another one of the numbers below.
 * promote_error_message() then says why, in this thread. What is wrong with a program is also told as data: diagnostics with
 * codes, places, notes and remedies. No input makes the library abort, as long as pointers point to what is stated here;
 * bytecode must come from a source that you trust, because MLIR's reader of bytecode is not hardened.
 *
 * Ownership. Each handle that a function makes is freed by the function named for it, in any order: what was made of something
 * keeps that alive. Functions that free take NULL, and do nothing. A function that fails sets the handles it would have made
 * to NULL. Arguments are borrowed for the call. Results that are const pointers belong to what they were asked of.
 *
 * Threads. Every function may be called on any thread, with any stack of 128 KiB or more, and every handle may be used by
 * several threads at once, except that it must be freed once and last. Modules of one session are worked on at the same time
 * where they can be; work on one module waits for other work on it. Compiled functions never wait for one another.
 *
 * Text is UTF-8. Texts that are passed as a pointer alone end with a NUL byte. */
#ifndef PROMOTE_H
#define PROMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. It changes when programs that were compiled before no longer work; so does the number in
   the name of the shared library. Options carry it, and another one is refused. */
#define PROMOTE_ABI_VERSION 1u

/* The version of the interface that the library has. */
uint32_t promote_abi_version(void);

/* The version of the library, as in "0.1.0". */
const char *promote_version(void);

#ifndef PROMOTE_STATUSES
#define PROMOTE_STATUSES
/* What functions return. */
enum {
  PROMOTE_OK = 0,
  PROMOTE_NULL = 1,
  PROMOTE_DEVICE = 2,
  PROMOTE_DTYPE = 3,
  PROMOTE_RANK = 4,
  PROMOTE_SHAPE = 5,
  PROMOTE_STRIDES = 6,
  PROMOTE_MEMORY = 7,
  PROMOTE_CHECK = 8,
  PROMOTE_DIVISION = 9,
  PROMOTE_NEGATIVE_POWER = 10,
  PROMOTE_INDEX = 11,
  PROMOTE_INTERNAL = 12,
};
#endif

/* What functions of this header return beside those. */
enum {
  /* The program was refused: the diagnostics say why. */
  PROMOTE_REFUSED = 100,
  /* An argument is not what it must be. */
  PROMOTE_ARGUMENT = 101,
  /* The program was compiled with the header of another version, or a tensor is of another version of DLPack. */
  PROMOTE_VERSION_MISMATCH = 102,
  /* The rules define no dtype for the operands. */
  PROMOTE_NO_DTYPE = 103,
  /* LLVM or the system refuses the code. */
  PROMOTE_NATIVE = 104,
};

/* The message of this thread's last call that returned a status: empty if it succeeded. Valid until this thread's next call. */
const char *promote_error_message(void);

/* As in dlpack/dlpack.h, which may be included before this file instead. */
#if !defined(DLPACK_DLPACK_H_) && !defined(PROMOTE_DLPACK)
#define PROMOTE_DLPACK
/* Type codes: 0 int, 1 uint, 2 float, 4 bfloat, 5 complex, 6 bool, 7 float8_e3m4, 8 float8_e4m3, 9
   float8_e4m3b11fnuz, 10 float8_e4m3fn, 11 float8_e4m3fnuz, 12 float8_e5m2, 13 float8_e5m2fnuz, 14
   float8_e8m0fnu, 15 float6_e2m3fn, 16 float6_e3m2fn, 17 float4_e2m1fn, 133 bcomplex32. */

/* Where a tensor is: DLPack's device. */
typedef struct {
  /* DLPack's number of a kind of device; 1 is the CPU. */
  int32_t device_type;
  /* Which one of that kind. */
  int32_t device_id;
} DLDevice;

/* DLPack's data type. */
typedef struct {
  /* The sort of number. */
  uint8_t code;
  /* Width in bits; elements narrower than 8 bits take a byte each. */
  uint8_t bits;
  /* Numbers an element: 1. */
  uint16_t lanes;
} DLDataType;

/* DLPack's tensor. */
typedef struct {
  /* Start of the memory; the first element is byte_offset past it. */
  void *data;
  /* Where the memory is. */
  DLDevice device;
  /* Number of extents. */
  int32_t ndim;
  /* The element type. */
  DLDataType dtype;
  /* ndim extents; may be null if there are none. */
  int64_t *shape;
  /* ndim strides in elements, or null: contiguous, row-major. */
  int64_t *strides;
  /* From data to the first element. */
  uint64_t byte_offset;
} DLTensor;
#endif

/* The same for a tensor that has an owner. */
#if !defined(DLPACK_DLPACK_H_) && !defined(PROMOTE_DLPACK_MANAGED)
#define PROMOTE_DLPACK_MANAGED
/* The version of DLPack that a tensor is laid out by: tensors of another major version are laid out otherwise. */
typedef struct {
  uint32_t major, minor;
} DLPackVersion;

/* DLPack's tensor with an owner. */
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  /* Its maker's. */
  void *manager_ctx;
  /* Frees the tensor and all it points to, on any thread; may be NULL. */
  void (*deleter)(struct DLManagedTensorVersioned *self);
  /* 1: the memory may only be read. */
  uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;

/* The same as it was before there were versions. */
typedef struct DLManagedTensor {
  DLTensor dl_tensor;
  /* Its maker's. */
  void *manager_ctx;
  /* Frees the tensor and all it points to, on any thread; may be NULL. */
  void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;
#endif

/* ------------------------------------------------------------------------------------------------------------ Dtypes */

/* A dtype: one of the numbers below. Weak dtypes are those of Python scalars, whose kind counts in promotion while their width
   does not. */
typedef int32_t promote_dtype;

enum {
  PROMOTE_DTYPE_B1 = 0,
  PROMOTE_DTYPE_U8 = 1,
  PROMOTE_DTYPE_U16 = 2,
  PROMOTE_DTYPE_U32 = 3,
  PROMOTE_DTYPE_U64 = 4,
  PROMOTE_DTYPE_I8 = 5,
  PROMOTE_DTYPE_I16 = 6,
  PROMOTE_DTYPE_I32 = 7,
  PROMOTE_DTYPE_I64 = 8,
  PROMOTE_DTYPE_BF16 = 9,
  PROMOTE_DTYPE_F16 = 10,
  PROMOTE_DTYPE_F32 = 11,
  PROMOTE_DTYPE_F64 = 12,
  PROMOTE_DTYPE_C64 = 13,
  PROMOTE_DTYPE_C128 = 14,
  PROMOTE_DTYPE_U1 = 15,
  PROMOTE_DTYPE_U2 = 16,
  PROMOTE_DTYPE_U4 = 17,
  PROMOTE_DTYPE_I1 = 18,
  PROMOTE_DTYPE_I2 = 19,
  PROMOTE_DTYPE_I4 = 20,
  PROMOTE_DTYPE_F4E2M1FN = 21,
  PROMOTE_DTYPE_F6E2M3FN = 22,
  PROMOTE_DTYPE_F6E3M2FN = 23,
  PROMOTE_DTYPE_F8E3M4 = 24,
  PROMOTE_DTYPE_F8E4M3 = 25,
  PROMOTE_DTYPE_F8E8M0FNU = 26,
  PROMOTE_DTYPE_F8E4M3B11FNUZ = 27,
  PROMOTE_DTYPE_F8E4M3FN = 28,
  PROMOTE_DTYPE_F8E4M3FNUZ = 29,
  PROMOTE_DTYPE_F8E5M2 = 30,
  PROMOTE_DTYPE_F8E5M2FNUZ = 31,
  PROMOTE_DTYPE_WEAK_INT = 32,
  PROMOTE_DTYPE_WEAK_FLOAT = 33,
  PROMOTE_DTYPE_WEAK_COMPLEX = 34,
  PROMOTE_DTYPE_C32 = 35,
  PROMOTE_DTYPE_BC32 = 36,
  PROMOTE_DTYPE_WEAK_I64 = 37,
  PROMOTE_DTYPE_WEAK_F64 = 38,
};

/* The name of a dtype, as in "bf16"; weak ones end in "*". NULL if there is no such dtype. */
const char *promote_dtype_name(promote_dtype dtype);

/* The dtype of a name. */
int32_t promote_dtype_by_name(const char *name, promote_dtype *dtype);

/* How DLPack describes a dtype. Refused for weak ones, which are in no tensor. */
int32_t promote_dtype_to_dlpack(promote_dtype dtype, DLDataType *described);

/* The dtype that DLPack describes. */
int32_t promote_dtype_from_dlpack(DLDataType described, promote_dtype *dtype);

/* ---------------------------------------------------------------------------------------------------------- Sessions */

/* The rules of a library, and the modules that follow them. Thread-safe. */
typedef struct promote_session promote_session;

/* Rules for ops of another dialect (docs/op_rules.md): those of a file that comes with Promote, or of your own. */
typedef struct {
  /* A name of promote_op_rules_name(), or, with a text, what messages call it. */
  const char *name;
  /* The text of a TOML file, text_size bytes long. NULL: the file of that name. */
  const char *text;
  size_t text_size;
} promote_op_rules;

/* What a session is made with. Initialise it by PROMOTE_SESSION_OPTIONS, then change what should differ. */
typedef struct {
  /* PROMOTE_ABI_VERSION. */
  uint32_t abi_version;
  /* Whether JAX's rules have 64-bit dtypes. */
  bool x64;
  /* Whether functions of a module are worked on in parallel. That pays for modules of many thousand ops; small ones are
     promoted faster without. */
  bool threads;
  /* Whether there is a remark for each conversion that is inserted. */
  bool remarks;
  /* Whether loop carries and branches that JAX refuses are errors. */
  bool strict_carries;
  /* Whose rules: a name of promote_semantics_name(), or NULL for "jax". With a lattice, the name that it has if it states
     none. */
  const char *semantics;
  /* A lattice of your own: the text of a TOML file (docs/lattices.md), lattice_size bytes long. NULL: none. */
  const char *lattice;
  size_t lattice_size;
  /* Implicit promotions to warn of, and to refuse: "precision-loss", "magnitude-loss", "widening", "mixed-signedness",
     "no-kernel". */
  const char *const *warn;
  size_t warn_count;
  const char *const *deny;
  size_t deny_count;
  /* Rules for ops of other dialects. Of two rules for one op the first counts. */
  const promote_op_rules *op_rules;
  size_t op_rules_count;
} promote_session_options;

#define PROMOTE_SESSION_OPTIONS \
  {PROMOTE_ABI_VERSION, false, false, false, false, NULL, NULL, 0, NULL, 0, NULL, 0, NULL, 0}

/* Makes a session. */
int32_t promote_session_new(const promote_session_options *options, promote_session **session);

/* Frees a session. Modules and compiled functions that were made in it stay. */
void promote_session_free(promote_session *session);

/* How many semantics there are by name. */
size_t promote_semantics_count(void);

/* The name of one of them; NULL beyond the last. */
const char *promote_semantics_name(size_t index);

/* How many files of rules for ops of other dialects there are by name. */
size_t promote_op_rules_count(void);

/* The name of one of them; NULL beyond the last. */
const char *promote_op_rules_name(size_t index);

/* ------------------------------------------------------------------------------------------- Rules, without a module */

/* The dtype that dtypes are promoted to: what libraries call result_type. Weak dtypes are Python scalars. PROMOTE_NO_DTYPE if
   the rules define none. */
int32_t promote_join(const promote_session *session, const promote_dtype *dtypes, size_t count, promote_dtype *joined);

/* What an operand of promote_result_type is. */
enum {
  /* An array that is computed or passed in, of the dtype and rank stated; of a weak dtype, a Python scalar whose value is not
     known. */
  PROMOTE_OPERAND_ARRAY = 0,
  /* A Python int, float or complex number, written in the program: its value is stated instead. */
  PROMOTE_OPERAND_INT = 1,
  PROMOTE_OPERAND_FLOAT = 2,
  PROMOTE_OPERAND_COMPLEX = 3,
};

/* An operand. */
typedef struct {
  /* The dtype of an array. */
  promote_dtype dtype;
  /* The number of dimensions of an array, or -1 if it is not known: NumPy 1 and PyTorch ask for it. */
  int32_t rank;
  /* What it is. */
  int32_t kind;
  /* The value of an int. */
  int64_t integer;
  /* The value of a float; the real and the imaginary part of a complex number. */
  double real, imaginary;
} promote_operand;

/* What an op does to dtypes. */
typedef struct {
  /* The dtype of the result; weak if the result is weakly typed. */
  promote_dtype result;
  /* The dtype that each operand is converted to; -1 past the last operand. */
  promote_dtype compute[8];
} promote_typing;

/* What an op does to operands. Ops are named as in the dialect, "add" or "promote.add", or by the alias of the table in
   docs/ops.md. PROMOTE_NO_DTYPE if the library raises an exception; the message has the remedy, too. */
int32_t promote_result_type(const promote_session *session, const char *op, const promote_operand *operands, size_t count,
                            promote_typing *typing);

/* ------------------------------------------------------------------------------------------------------- Diagnostics */

/* How much a diagnostic matters. */
enum { PROMOTE_REMARK = 0, PROMOTE_WARNING = 1, PROMOTE_ERROR = 2 };

/* A place in a source; lines and columns count from 1. The file is NULL if the place is not known. */
typedef struct {
  const char *file;
  uint32_t line, column;
} promote_location;

/* More about a diagnostic, perhaps at another place. */
typedef struct {
  promote_location location;
  const char *message;
} promote_note;

/* What there is to say about a program. */
typedef struct {
  /* PROMOTE_REMARK, PROMOTE_WARNING or PROMOTE_ERROR. */
  int32_t severity;
  /* What it is about, as in "P0007"; the same from version to version. promote_explain() tells more. */
  const char *code;
  promote_location location;
  const char *message;
  /* What to do about it, or NULL. */
  const char *remedy;
  const promote_note *notes;
  size_t note_count;
} promote_diagnostic;

/* Diagnostics in the order of the source. Functions that tell some take a pointer to a pointer, which may be NULL; it is set to
   a list that the caller frees, or to NULL if there are none. They are told if the call fails and if it succeeds. */
typedef struct {
  const promote_diagnostic *items;
  size_t count;
} promote_diagnostics;

/* Frees a list, and all that it points to. */
void promote_diagnostics_free(promote_diagnostics *diagnostics);

/* What a code means, with an example; NULL if there is no such code. */
const char *promote_explain(const char *code);

/* ----------------------------------------------------------------------------------------------------------- Modules */

/* A module of MLIR. Thread-safe. */
typedef struct promote_module promote_module;

/* Bytes that belong to the library: size of them, and a NUL byte after them. Do not change the fields. */
typedef struct {
  char *data;
  size_t size;
} promote_buffer;

/* Frees the bytes, and empties the buffer. */
void promote_buffer_free(promote_buffer *buffer);

/* Reads a module from MLIR's text or bytecode, size bytes long. Places call the source by the name; NULL: "-". */
int32_t promote_module_parse(promote_session *session, const char *source, size_t size, const char *name,
                             promote_module **module, promote_diagnostics **diagnostics);

/* Promotes a module in place: every dtype is inferred, and every conversion explicit, which in a session with op rules is
   one of their dialect's. A module that was refused is changed in
   part: free it. */
int32_t promote_module_promote(promote_module *module, promote_diagnostics **diagnostics);

/* Runs passes in place, named as in mlir-opt's --pass-pipeline: "promote-infer-types,cse". */
int32_t promote_module_run(promote_module *module, const char *pipeline, promote_diagnostics **diagnostics);

/* Writes a module as text. */
int32_t promote_module_text(const promote_module *module, promote_buffer *text);

/* Writes a module as bytecode. */
int32_t promote_module_bytecode(const promote_module *module, promote_buffer *bytecode);

/* Frees a module. */
void promote_module_free(promote_module *module);

/* ------------------------------------------------------------------------------------------------------- Compilation */

/* The compiled functions of a module. Thread-safe. */
typedef struct promote_executable promote_executable;

/* One of them. It keeps its code alive. Thread-safe. */
typedef struct promote_function promote_function;

/* How a module is compiled. Initialise it by PROMOTE_COMPILE_OPTIONS. */
typedef struct {
  /* PROMOTE_ABI_VERSION. */
  uint32_t abi_version;
  /* How much LLVM optimises, 0 to 3. */
  int32_t optimisation;
  /* Whether denormal numbers are read and written as zero. */
  bool flush_denormals;
  /* The processor, as LLVM names it; NULL: this one. */
  const char *cpu;
} promote_compile_options;

#define PROMOTE_COMPILE_OPTIONS {PROMOTE_ABI_VERSION, 3, false, NULL}

/* Promotes a module, unless it was promoted, and compiles it. The module stays as it is. Options may be NULL. */
int32_t promote_compile(const promote_module *module, const promote_compile_options *options,
                        promote_executable **executable, promote_diagnostics **diagnostics);

/* Frees compiled functions. Those that were looked up stay. */
void promote_executable_free(promote_executable *executable);

/* How many public functions there are. */
size_t promote_executable_count(const promote_executable *executable);

/* One of them, in the order of their names. */
int32_t promote_executable_at(const promote_executable *executable, size_t index, promote_function **function);

/* The public function of a name. */
int32_t promote_executable_function(const promote_executable *executable, const char *name, promote_function **function);

/* Frees a function. */
void promote_function_free(promote_function *function);

/* The dtype and shape of an argument or result. */
typedef struct {
  promote_dtype dtype;
  int32_t rank;
  /* As many extents; -1 for one that is known at run time only. */
  const int64_t *extents;
} promote_tensor_type;

/* What a function takes and returns. */
typedef struct {
  /* Its name in the program. */
  const char *name;
  const promote_tensor_type *inputs;
  size_t input_count;
  const promote_tensor_type *outputs;
  size_t output_count;
} promote_interface;

/* What a function takes and returns. It lives as long as the function. */
const promote_interface *promote_function_interface(const promote_function *function);

/* ------------------------------------------------------------------------------------------------------------- Calls */

/* Calls a function. Inputs are tensors in CPU memory (or, of a function for a device, there: see below), with any strides, and are
   not changed; for those that have an owner, pass the address of their member dl_tensor, or see promote_managed_tensor(). Each
   output is set to a new tensor, row-major, which the caller frees or passes on to who does; if the call fails, they are
   NULL. */
int32_t promote_call(const promote_function *function, const DLTensor *const *inputs, size_t input_count,
                     DLManagedTensorVersioned **outputs, size_t output_count);

/* Calls a function, which writes its results to memory of the caller: tensors of the dtypes and shapes of the results, with any
   strides, which may overlap inputs. If the call fails, they hold anything. */
int32_t promote_call_into(const promote_function *function, const DLTensor *const *inputs, size_t input_count,
                          DLTensor *const *outputs, size_t output_count);

/* Fills dtype, ndim and shape of each output with those of the result for these inputs; before, ndim says how many extents
   shape has room for. Where the shape depends on values, the function is run. */
int32_t promote_call_shapes(const promote_function *function, const DLTensor *const *inputs, size_t input_count,
                            DLTensor *const *outputs, size_t output_count);

/* The tensor of one with an owner, which lives as long; refused if its version of DLPack is not known. */
int32_t promote_managed_tensor(const DLManagedTensorVersioned *managed, const DLTensor **tensor);

/* Frees a tensor with an owner, by its deleter. */
void promote_managed_tensor_free(DLManagedTensorVersioned *managed);

/* Makes a tensor of the layout from before there were versions, for libraries that take no other. It owns the one that it is
   made of, and its deleter frees both. If the call fails, that one is yours still. */
int32_t promote_managed_tensor_unversioned(DLManagedTensorVersioned *managed, DLManagedTensor **unversioned);

/* Spreads the loops of all compiled functions over that many threads, the caller's included; 0: as many as the environment's
   PROMOTE_NUM_THREADS says, or as there are processors. */
void promote_set_threads(int32_t number);

/* How many threads loops are spread over. */
int32_t promote_threads(void);

/* ----------------------------------------------------------------------------------------------------------- Devices */

/* An accelerator, driven by CUDA, Vulkan or OpenCL. Thread-safe: calls on one device follow one another. What was compiled for
   it, and tensors on it, keep it open. Drivers run on the stack of who calls, and want 1 MiB of it. docs/devices.md says
   more. */
typedef struct promote_device promote_device;

/* What there is to know of a device. */
typedef struct {
  /* What it was opened as, driven by what: the target. */
  const char *target, *name, *driver;
  /* Where tensors on it are. */
  DLDevice dlpack;
  /* The bytes of its memory. */
  uint64_t memory;
  /* With CUDA, the CUstream that everything is done in, in the order of calls; else 0. */
  uint64_t stream;
} promote_device_info;

/* Opens a device of a target: "cuda", "vulkan", "opencl", or with an architecture that code is made for, "cuda:sm_90". The name
   is its index among the devices of that interface, or a part of what its driver calls it; NULL: what the environment's
   PROMOTE_DEVICE says, or the first. A device that is open is not opened again, but shared. The status is PROMOTE_DEVICE if
   there is no driver or no device, and PROMOTE_ARGUMENT if there is no such target. */
int32_t promote_device_open(const char *target, const char *name, promote_device **device);

/* Frees a device. */
void promote_device_free(promote_device *device);

/* What there is to know of a device. It lives as long as the device. */
const promote_device_info *promote_device_describe(const promote_device *device);

/* Waits for everything that the device was asked to do. */
int32_t promote_device_synchronize(const promote_device *device);

/* Promotes a module, unless it was promoted, compiles it for a device, and loads it there. The module stays as it is. Its
   functions are called by all that calls functions: promote_call and its siblings take inputs in CPU memory or on the device, and
   have results in CPU memory. */
int32_t promote_compile_for(const promote_module *module, const promote_device *device, promote_executable **executable,
                            promote_diagnostics **diagnostics);

/* Calls a function that was compiled for a device. Inputs are in CPU memory, from which they are copied, or on the device, where
   they are row-major. Each output is set to a new tensor on the device, which the caller frees or passes on to who does.

   The call may return before the device is done. With CUDA, tensors of any library are taken by their pointers, and results are
   theirs to use. The device waits for what was done in the default stream before, and what is done there later waits for the
   device; another stream has to wait for that of the device, and the other way round, before inputs are used, before
   results are, and before either are freed. With Vulkan and OpenCL, tensors of this library alone are taken, whole: their
   data is a handle. */
int32_t promote_call_on_device(const promote_function *function, const DLTensor *const *inputs, size_t input_count,
                               DLManagedTensorVersioned **outputs, size_t output_count);

/* Copies a tensor from CPU memory, with any strides, to a device, as the results of calls are there. */
int32_t promote_copy_to_device(const promote_device *device, const DLTensor *tensor, DLManagedTensorVersioned **copy);

/* Copies a tensor from a device to CPU memory, after everything that the device was asked to do before. */
int32_t promote_copy_to_host(const promote_device *device, const DLTensor *tensor, DLManagedTensorVersioned **copy);

#ifdef __cplusplus
}
#endif
#endif
