/* Checks for the programs here: a failure says where, and ends the program. */
#ifndef CHECK_H
#define CHECK_H

#include <promote.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                          \
  do {                                                                            \
    if (!(condition)) {                                                           \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);             \
      exit(1);                                                                    \
    }                                                                             \
  } while (0)

/* A call succeeds, and leaves no message. */
#define DONE(call)                                                                                     \
  do {                                                                                                 \
    int32_t status_ = (call);                                                                          \
    if (status_ != PROMOTE_OK || promote_error_message()[0] != 0) {                                    \
      fprintf(stderr, "%s:%d: %s: %d: %s\n", __FILE__, __LINE__, #call, status_, promote_error_message()); \
      exit(1);                                                                                         \
    }                                                                                                  \
  } while (0)

/* A call fails with a status, and a message that contains a text. */
#define FAILS(call, expected, text)                                                                    \
  do {                                                                                                 \
    int32_t status_ = (call);                                                                          \
    if (status_ != (expected) || strstr(promote_error_message(), (text)) == NULL) {                    \
      fprintf(stderr, "%s:%d: %s: %d: %s\n", __FILE__, __LINE__, #call, status_, promote_error_message()); \
      exit(1);                                                                                         \
    }                                                                                                  \
  } while (0)

/* What reads a module of text, and makes a session by name. */
#define PARSE(session, text, module) promote_module_parse((session), (text), strlen(text), "f.mlir", (module), NULL)

static inline promote_session *session_of(const char *semantics) {
  promote_session_options options = PROMOTE_SESSION_OPTIONS;
  promote_session *session = NULL;
  options.semantics = semantics;
  DONE(promote_session_new(&options, &session));
  CHECK(session != NULL);
  return session;
}

#define ADD                                                                                               \
  "func.func @add(%x: tensor<?xi32>, %y: tensor<?xf32>) -> tensor<*x!promote.unknown> {\n"                 \
  "  %0 = \"promote.add\"(%x, %y) : (tensor<?xi32>, tensor<?xf32>) -> tensor<*x!promote.unknown>\n"        \
  "  return %0 : tensor<*x!promote.unknown>\n"                                                             \
  "}\n"

#endif
