/* Versions, dtypes, sessions, and the rules without a module. */
#include "check.h"

static void versions(void) {
  promote_session_options options = PROMOTE_SESSION_OPTIONS;
  promote_session *session = (promote_session *)&options;
  CHECK(promote_abi_version() == PROMOTE_ABI_VERSION);
  CHECK(strchr(promote_version(), '.') != NULL);
  options.abi_version = PROMOTE_ABI_VERSION + 1;
  FAILS(promote_session_new(&options, &session), PROMOTE_VERSION_MISMATCH, "version 2 of libpromote's interface");
  CHECK(session == NULL);
}

static void dtypes(void) {
  promote_dtype dtype = 0;
  DLDataType described;
  for (dtype = 0; promote_dtype_name(dtype) != NULL; dtype++) {
    const char *name = promote_dtype_name(dtype);
    promote_dtype found = -1;
    DONE(promote_dtype_by_name(name, &found));
    CHECK(found == dtype);
    if (name[strlen(name) - 1] == '*') {
      FAILS(promote_dtype_to_dlpack(dtype, &described), PROMOTE_ARGUMENT, "weak");
      continue;
    }
    DONE(promote_dtype_to_dlpack(dtype, &described));
    found = -1;
    DONE(promote_dtype_from_dlpack(described, &found));
    CHECK(found == dtype);
  }
  CHECK(dtype == PROMOTE_DTYPE_WEAK_F64 + 1);
  CHECK(promote_dtype_name(-1) == NULL);
  DONE(promote_dtype_to_dlpack(PROMOTE_DTYPE_BF16, &described));
  CHECK(described.code == 4 && described.bits == 16 && described.lanes == 1);
  FAILS(promote_dtype_by_name("float", &dtype), PROMOTE_ARGUMENT, "float");
  CHECK(dtype == -1);
  FAILS(promote_dtype_by_name("\xff", &dtype), PROMOTE_ARGUMENT, "UTF-8");
  FAILS(promote_dtype_by_name(NULL, &dtype), PROMOTE_NULL, "name");
  FAILS(promote_dtype_by_name("f32", NULL), PROMOTE_NULL, "dtype");
  FAILS(promote_dtype_to_dlpack(99, &described), PROMOTE_ARGUMENT, "number 99");
  FAILS(promote_dtype_to_dlpack(PROMOTE_DTYPE_F32, NULL), PROMOTE_NULL, "described");
  described.bits = 17;
  FAILS(promote_dtype_from_dlpack(described, &dtype), PROMOTE_ARGUMENT, "there is no dtype");
  FAILS(promote_dtype_from_dlpack(described, NULL), PROMOTE_NULL, "dtype");
}

static void sessions(void) {
  static const char lattice[] = "[edges]\nu8 = ['f32']\ni8 = ['f32']\n", two_ways[] = "[edges]\nu8 = ['i16', 'f16']\ni8 = ['i16', 'f16']";
  const char *policies[] = {"precision-loss"}, *none[] = {"speed"}, *nothing[] = {NULL};
  const promote_dtype bytes[] = {PROMOTE_DTYPE_U8, PROMOTE_DTYPE_I8};
  promote_session_options options = PROMOTE_SESSION_OPTIONS;
  promote_session *session = NULL;
  promote_dtype joined = -1;
  size_t index = 0;
  CHECK(promote_semantics_count() > 10);
  for (; index < promote_semantics_count(); index++) promote_session_free(session_of(promote_semantics_name(index)));
  CHECK(promote_semantics_name(index) == NULL);
  FAILS(promote_session_new(NULL, &session), PROMOTE_NULL, "options");
  FAILS(promote_session_new(&options, NULL), PROMOTE_NULL, "session");
  options.semantics = "fortran";
  FAILS(promote_session_new(&options, &session), PROMOTE_ARGUMENT, "fortran");
  options.semantics = "\xc3";
  FAILS(promote_session_new(&options, &session), PROMOTE_ARGUMENT, "semantics is not UTF-8");
  options.semantics = NULL;
  options.warn = none;
  options.warn_count = 1;
  FAILS(promote_session_new(&options, &session), PROMOTE_ARGUMENT, "speed");
  options.warn = nothing;
  FAILS(promote_session_new(&options, &session), PROMOTE_NULL, "warn");
  options.warn = NULL;
  FAILS(promote_session_new(&options, &session), PROMOTE_NULL, "warn");
  options.warn = policies;
  options.warn_count = (size_t)-1;
  FAILS(promote_session_new(&options, &session), PROMOTE_ARGUMENT, "warn cannot have");
  options.warn_count = 1;
  options.deny = policies;
  options.deny_count = 1;
  options.lattice = two_ways;
  options.lattice_size = sizeof two_ways - 1;
  FAILS(promote_session_new(&options, &session), PROMOTE_ARGUMENT, "3:14: u8 and i8 have two least upper bounds: i16 and f16");
  options.lattice = "\xff";
  options.lattice_size = 1;
  FAILS(promote_session_new(&options, &session), PROMOTE_ARGUMENT, "lattice is not UTF-8");
  CHECK(session == NULL);
  options.lattice = lattice;
  options.lattice_size = sizeof lattice - 1;
  DONE(promote_session_new(&options, &session));
  DONE(promote_join(session, bytes, 2, &joined));
  CHECK(joined == PROMOTE_DTYPE_F32);
  promote_session_free(session);
  promote_session_free(NULL);
}

static void op_rules(void) {
  static const char own[] = "format = 1\n[ops]\n'my.add' = 'add'\n", wrong[] = "format = 1\n[ops]\n'my.add' = 'plus'\n";
  promote_op_rules rules[] = {{NULL, NULL, 0}, {"own", own, sizeof own - 1}};
  promote_session_options options = PROMOTE_SESSION_OPTIONS;
  promote_session *session = NULL;
  size_t index = 0;
  options.op_rules = rules;
  options.op_rules_count = 2;
  CHECK(promote_op_rules_count() >= 4);
  for (; index < promote_op_rules_count(); index++) {
    rules[0].name = promote_op_rules_name(index);
    DONE(promote_session_new(&options, &session));
    promote_session_free(session);
  }
  CHECK(promote_op_rules_name(index) == NULL);
  rules[0].name = "onnx";
  FAILS(promote_session_new(&options, &session), PROMOTE_ARGUMENT, "there are no op rules `onnx`");
  CHECK(session == NULL);
  rules[0].name = NULL;
  FAILS(promote_session_new(&options, &session), PROMOTE_NULL, "name of op rules");
  rules[0].name = "torch";
  rules[0].text_size = 1;
  FAILS(promote_session_new(&options, &session), PROMOTE_NULL, "text of op rules");
  rules[0].text_size = 0;
  rules[1].text = wrong;
  rules[1].text_size = sizeof wrong - 1;
  FAILS(promote_session_new(&options, &session), PROMOTE_ARGUMENT, "op rules own: 3:12: there is no op `plus`");
  rules[1].text = "\xff";
  rules[1].text_size = 1;
  FAILS(promote_session_new(&options, &session), PROMOTE_ARGUMENT, "text of op rules is not UTF-8");
  options.op_rules = NULL;
  FAILS(promote_session_new(&options, &session), PROMOTE_NULL, "op_rules");
}

static void joins(void) {
  const promote_dtype mixed[] = {PROMOTE_DTYPE_I32, PROMOTE_DTYPE_BF16, PROMOTE_DTYPE_WEAK_FLOAT};
  const promote_dtype narrow[] = {PROMOTE_DTYPE_F8E4M3FN, PROMOTE_DTYPE_BF16}, wrong[] = {-1};
  promote_session_options options = PROMOTE_SESSION_OPTIONS;
  promote_session *jax = session_of(NULL), *numpy = session_of("numpy2"), *wide = NULL;
  promote_dtype joined = 0;
  DONE(promote_join(jax, mixed, 3, &joined));
  CHECK(joined == PROMOTE_DTYPE_BF16);
  DONE(promote_join(numpy, mixed, 1, &joined));
  CHECK(joined == PROMOTE_DTYPE_I32);
  DONE(promote_join(jax, mixed + 2, 1, &joined));
  CHECK(joined == PROMOTE_DTYPE_WEAK_FLOAT);
  FAILS(promote_join(jax, narrow, 2, &joined), PROMOTE_NO_DTYPE, "jax");
  CHECK(joined == -1);
  FAILS(promote_join(jax, wrong, 1, &joined), PROMOTE_ARGUMENT, "number -1");
  FAILS(promote_join(jax, NULL, 0, &joined), PROMOTE_ARGUMENT, "no dtypes");
  FAILS(promote_join(jax, NULL, 1, &joined), PROMOTE_NULL, "array of dtypes");
  FAILS(promote_join(NULL, mixed, 1, &joined), PROMOTE_NULL, "session");
  FAILS(promote_join(jax, mixed, 1, NULL), PROMOTE_NULL, "joined");

  /* Whether there are 64 bits is up to the session. */
  options.x64 = true;
  DONE(promote_session_new(&options, &wide));
  {
    const promote_operand literal = {0, 0, PROMOTE_OPERAND_INT, 1, 0, 0};
    const promote_operand both[] = {literal, {PROMOTE_DTYPE_U8, 1, PROMOTE_OPERAND_ARRAY, 0, 0, 0}};
    promote_typing typing;
    DONE(promote_result_type(wide, "argmax", both + 1, 1, &typing));
    CHECK(typing.result == PROMOTE_DTYPE_I64);
    DONE(promote_result_type(jax, "argmax", both + 1, 1, &typing));
    CHECK(typing.result == PROMOTE_DTYPE_I32);
    DONE(promote_result_type(jax, "promote.add", both, 2, &typing));
    CHECK(typing.result == PROMOTE_DTYPE_U8 && typing.compute[0] == PROMOTE_DTYPE_U8 && typing.compute[2] == -1);
  }
  promote_session_free(wide);
  promote_session_free(jax);
  promote_session_free(numpy);
}

static void result_types(void) {
  promote_operand operands[] = {{PROMOTE_DTYPE_I32, 1, PROMOTE_OPERAND_ARRAY, 0, 0, 0},
                                {0, 0, PROMOTE_OPERAND_FLOAT, 0, 0.5, 0}};
  promote_session *jax = session_of("jax"), *numpy = session_of("numpy2"), *torch = session_of("torch");
  promote_typing typing;
  DONE(promote_result_type(jax, "multiply", operands, 2, &typing));
  CHECK(typing.result == PROMOTE_DTYPE_WEAK_FLOAT || typing.result == PROMOTE_DTYPE_F32);
  DONE(promote_result_type(numpy, "multiply", operands, 2, &typing));
  CHECK(typing.result == PROMOTE_DTYPE_F64 && typing.compute[0] == PROMOTE_DTYPE_F64);
  DONE(promote_result_type(torch, "less", operands, 2, &typing));
  CHECK(typing.result == PROMOTE_DTYPE_B1);
  operands[1].kind = PROMOTE_OPERAND_COMPLEX;
  operands[1].imaginary = 1;
  DONE(promote_result_type(jax, "mul", operands, 2, &typing));
  CHECK(typing.result == PROMOTE_DTYPE_C64 || typing.result == PROMOTE_DTYPE_WEAK_COMPLEX);
  /* A literal that the dtype does not hold. */
  operands[0].dtype = PROMOTE_DTYPE_U8;
  operands[1].kind = PROMOTE_OPERAND_INT;
  operands[1].integer = 300;
  FAILS(promote_result_type(numpy, "add", operands, 2, &typing), PROMOTE_NO_DTYPE, "300");
  CHECK(typing.result == -1 && typing.compute[0] == -1);
  /* The rank counts in PyTorch. */
  operands[1] = operands[0];
  operands[1].dtype = PROMOTE_DTYPE_I32;
  operands[1].rank = 0;
  DONE(promote_result_type(torch, "add", operands, 2, &typing));
  CHECK(typing.result == PROMOTE_DTYPE_U8);
  operands[1].rank = 3;
  DONE(promote_result_type(torch, "add", operands, 2, &typing));
  CHECK(typing.result == PROMOTE_DTYPE_I32);
  operands[1].rank = -1;
  FAILS(promote_result_type(torch, "add", operands, 2, &typing), PROMOTE_NO_DTYPE, "rank of operand 1");
  operands[1].rank = -2;
  FAILS(promote_result_type(torch, "add", operands, 2, &typing), PROMOTE_ARGUMENT, "rank -2");
  operands[1].rank = 2;
  operands[1].kind = 9;
  FAILS(promote_result_type(torch, "add", operands, 2, &typing), PROMOTE_ARGUMENT, "kind 9");
  operands[1].kind = PROMOTE_OPERAND_ARRAY;
  operands[1].dtype = 1000;
  FAILS(promote_result_type(torch, "add", operands, 2, &typing), PROMOTE_ARGUMENT, "number 1000");
  FAILS(promote_result_type(jax, "plus", operands, 2, &typing), PROMOTE_ARGUMENT, "no op plus");
  FAILS(promote_result_type(jax, "add", operands, 1, &typing), PROMOTE_ARGUMENT, "takes 2 operands, not 1");
  FAILS(promote_result_type(jax, "concat", operands, 0, &typing), PROMOTE_ARGUMENT, "takes 1 to 8 operands, not 0");
  FAILS(promote_result_type(jax, "convert", operands, 1, &typing), PROMOTE_ARGUMENT, "states its dtype");
  FAILS(promote_result_type(jax, NULL, operands, 1, &typing), PROMOTE_NULL, "op");
  FAILS(promote_result_type(jax, "\xff", operands, 1, &typing), PROMOTE_ARGUMENT, "UTF-8");
  FAILS(promote_result_type(jax, "add", NULL, 2, &typing), PROMOTE_NULL, "array of operands");
  FAILS(promote_result_type(NULL, "add", operands, 2, &typing), PROMOTE_NULL, "session");
  FAILS(promote_result_type(jax, "add", operands, 2, NULL), PROMOTE_NULL, "typing");
  promote_session_free(jax);
  promote_session_free(numpy);
  promote_session_free(torch);
}

int main(void) {
  versions();
  dtypes();
  sessions();
  op_rules();
  joins();
  result_types();
  return 0;
}
