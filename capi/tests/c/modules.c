/* Modules: read, promoted, written; and what is said about them. */
#include "check.h"

#define UNKNOWN "tensor<*x!promote.unknown>"

/* A module that JAX refuses, in the third line. */
#define REFUSED                                                                              \
  "func.func @f(%x: tensor<4xf8E4M3FN>, %y: tensor<4xbf16>) -> " UNKNOWN " {\n"               \
  "  // A comment.\n"                                                                        \
  "  %0 = \"promote.add\"(%x, %y) : (tensor<4xf8E4M3FN>, tensor<4xbf16>) -> " UNKNOWN "\n"    \
  "  return %0 : " UNKNOWN "\n"                                                              \
  "}\n"

static bool contains(const promote_buffer *text, const char *part) {
  CHECK(text->data[text->size] == 0);
  return strstr(text->data, part) != NULL;
}

static void text_and_bytecode(promote_session *session) {
  promote_module *module = NULL, *again = NULL;
  promote_buffer text, bytecode, same;
  DONE(PARSE(session, ADD, &module));
  DONE(promote_module_promote(module, NULL));
  DONE(promote_module_text(module, &text));
  CHECK(contains(&text, "\"promote.convert\"(%arg0) {promote.implicit} : (tensor<?xi32>) -> tensor<?xf32>"));
  CHECK(!contains(&text, "unknown"));
  DONE(promote_module_bytecode(module, &bytecode));
  CHECK(bytecode.size > 4 && memcmp(bytecode.data, "ML\xefR", 4) == 0);
  DONE(promote_module_parse(session, bytecode.data, bytecode.size, NULL, &again, NULL));
  /* Promoting once more changes nothing. */
  DONE(promote_module_promote(again, NULL));
  DONE(promote_module_text(again, &same));
  CHECK(same.size == text.size && memcmp(same.data, text.data, text.size) == 0);
  promote_buffer_free(&text);
  CHECK(text.data == NULL && text.size == 0);
  promote_buffer_free(&text);
  promote_buffer_free(&bytecode);
  promote_buffer_free(&same);
  promote_buffer_free(NULL);
  promote_module_free(module);
  promote_module_free(again);
  promote_module_free(NULL);
}

static void diagnostics(promote_session *session) {
  promote_module *module = NULL;
  promote_diagnostics *found = NULL;
  const promote_diagnostic *error;
  promote_buffer text;
  DONE(promote_module_parse(session, REFUSED, strlen(REFUSED), "dir/f.mlir", &module, &found));
  CHECK(found == NULL);
  FAILS(promote_module_promote(module, &found), PROMOTE_REFUSED, "dir/f.mlir:3:8: error[P0007]: ");
  CHECK(found != NULL && found->count == 1);
  error = &found->items[0];
  CHECK(error->severity == PROMOTE_ERROR);
  CHECK(strcmp(error->code, "P0007") == 0);
  CHECK(strcmp(error->location.file, "dir/f.mlir") == 0 && error->location.line == 3 && error->location.column == 8);
  CHECK(strstr(error->message, "f8e4m3fn") != NULL && strstr(error->remedy, "promote.convert") != NULL);
  CHECK(error->note_count == 2 && error->notes[0].location.line == 1 && strstr(error->notes[1].message, "bf16") != NULL);
  CHECK(strcmp(error->notes[0].location.file, "dir/f.mlir") == 0);
  promote_diagnostics_free(found);
  promote_diagnostics_free(NULL);
  CHECK(strstr(promote_explain("P0007"), "no common dtype") != NULL || strstr(promote_explain("p0007"), "common dtype") != NULL);
  CHECK(promote_explain("P9999") == NULL && promote_explain(NULL) == NULL && promote_explain("\xff") == NULL);
  /* The module is still one. */
  DONE(promote_module_text(module, &text));
  promote_buffer_free(&text);
  promote_module_free(module);
}

static void ops_of_other_dialects(void) {
  static const char own[] =
      "format = 1\n[ops]\n'my.add' = 'add'\n[convert]\n'bf16 -> f32' = 'my.widen'\n";
  static const char program[] =
      "func.func @f(%x: tensor<4xbf16>, %y: !torch.vtensor<[4],f32>, %z: tensor<4xf32>) {\n"
      "  %0 = \"my.add\"(%x, %z) : (tensor<4xbf16>, tensor<4xf32>) -> tensor<*x!promote.unknown>\n"
      "  %1 = \"torch.aten.exp\"(%y) : (!torch.vtensor<[4],f32>) -> !torch.vtensor\n"
      "  return\n"
      "}\n";
  const promote_op_rules rules[] = {{"torch", NULL, 0}, {"own", own, sizeof own - 1}};
  promote_session_options options = PROMOTE_SESSION_OPTIONS;
  promote_session *session = NULL;
  promote_module *module = NULL;
  promote_buffer text;
  options.semantics = "torch";
  options.op_rules = rules;
  options.op_rules_count = 2;
  DONE(promote_session_new(&options, &session));
  DONE(PARSE(session, program, &module));
  DONE(promote_module_promote(module, NULL));
  DONE(promote_module_text(module, &text));
  CHECK(contains(&text, "\"my.widen\"(%arg0) : (tensor<4xbf16>) -> tensor<4xf32>"));
  CHECK(contains(&text, "-> !torch.vtensor<[4],f32>") && !contains(&text, "promote."));
  promote_buffer_free(&text);
  promote_module_free(module);
  promote_session_free(session);
}

static void remarks_and_policies(void) {
  const char *policies[] = {"precision-loss"};
  promote_session_options options = PROMOTE_SESSION_OPTIONS;
  promote_session *session = NULL;
  promote_module *module = NULL;
  promote_diagnostics *found = NULL;
  options.remarks = true;
  options.threads = true;
  options.warn = policies;
  options.warn_count = 1;
  DONE(promote_session_new(&options, &session));
  DONE(PARSE(session, ADD, &module));
  DONE(promote_module_promote(module, &found));
  CHECK(found != NULL && found->count == 2);
  CHECK(found->items[0].severity + found->items[1].severity == PROMOTE_REMARK + PROMOTE_WARNING);
  promote_diagnostics_free(found);
  /* Modules live longer than the session they are of. */
  promote_session_free(session);
  DONE(promote_module_run(module, "canonicalize,cse", &found));
  CHECK(found == NULL);
  promote_module_free(module);

  options.warn_count = 0;
  options.deny = policies;
  options.deny_count = 1;
  DONE(promote_session_new(&options, &session));
  DONE(PARSE(session, ADD, &module));
  FAILS(promote_module_promote(module, NULL), PROMOTE_REFUSED, "error[P0031]");
  promote_module_free(module);
  promote_session_free(session);
}

static void sources(promote_session *session) {
  promote_module *module = NULL;
  promote_diagnostics *found = NULL;
  char deep[4000];
  FAILS(promote_module_parse(session, "module {\0}", 10, "f", &module, &found), PROMOTE_REFUSED, "f:1:9: error[P0002]");
  CHECK(module == NULL && found->count == 1);
  promote_diagnostics_free(found);
  FAILS(promote_module_parse(session, "\xff", 1, NULL, &module, &found), PROMOTE_REFUSED, "-:1:1: error[P0002]");
  promote_diagnostics_free(found);
  FAILS(promote_module_parse(session, "module {", 8, "f", &module, &found), PROMOTE_REFUSED, "f:1:7: error[P0001]");
  CHECK(strcmp(found->items[0].code, "P0001") == 0);
  promote_diagnostics_free(found);
  memset(deep, '(', sizeof deep);
  FAILS(promote_module_parse(session, deep, sizeof deep, "f", &module, NULL), PROMOTE_REFUSED, "error[P0003]");
  FAILS(promote_module_parse(session, "", 0, "\xff", &module, NULL), PROMOTE_ARGUMENT, "name is not UTF-8");
  FAILS(promote_module_parse(session, NULL, 1, NULL, &module, NULL), PROMOTE_NULL, "source");
  FAILS(promote_module_parse(session, "", (size_t)-1, NULL, &module, NULL), PROMOTE_ARGUMENT, "source cannot have");
  FAILS(promote_module_parse(NULL, "", 0, NULL, &module, NULL), PROMOTE_NULL, "session");
  FAILS(promote_module_parse(session, "", 0, NULL, NULL, NULL), PROMOTE_NULL, "module");
  /* Nothing at all is a module without functions. Text need not end with a NUL byte. */
  DONE(promote_module_parse(session, NULL, 0, NULL, &module, NULL));
  promote_module_free(module);
  DONE(promote_module_parse(session, "module {}garbage", 9, NULL, &module, NULL));
  promote_module_free(module);
}

static void pipelines(promote_session *session) {
  promote_module *module = NULL;
  promote_diagnostics *found = (promote_diagnostics *)&module;
  promote_buffer text;
  DONE(PARSE(session, ADD, &module));
  FAILS(promote_module_run(module, "no-such-pass", &found), PROMOTE_ARGUMENT, "no-such-pass");
  CHECK(found == NULL);
  FAILS(promote_module_run(module, "cse)", NULL), PROMOTE_ARGUMENT, "column 4");
  FAILS(promote_module_run(module, NULL, NULL), PROMOTE_NULL, "pipeline");
  FAILS(promote_module_run(module, "\xff", NULL), PROMOTE_ARGUMENT, "pipeline is not UTF-8");
  FAILS(promote_module_run(NULL, "cse", NULL), PROMOTE_NULL, "module");
  FAILS(promote_module_promote(NULL, NULL), PROMOTE_NULL, "module");
  FAILS(promote_module_text(NULL, &text), PROMOTE_NULL, "module");
  FAILS(promote_module_text(module, NULL), PROMOTE_NULL, "buffer");
  FAILS(promote_module_bytecode(NULL, &text), PROMOTE_NULL, "module");
  FAILS(promote_module_bytecode(module, NULL), PROMOTE_NULL, "buffer");
  FAILS(promote_module_run(module, "promote-verify-strong", NULL), PROMOTE_REFUSED, "error[P0016]");
  DONE(promote_module_run(module, "promote-infer-types", NULL));
  DONE(promote_module_text(module, &text));
  CHECK(contains(&text, "-> tensor<?xf32>") && !contains(&text, "promote.convert"));
  promote_buffer_free(&text);
  promote_module_free(module);
}

int main(void) {
  promote_session *session = session_of("jax");
  text_and_bytecode(session);
  diagnostics(session);
  remarks_and_policies();
  ops_of_other_dialects();
  sources(session);
  pipelines(session);
  promote_session_free(session);
  return 0;
}
