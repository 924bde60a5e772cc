// The part of MLIR's C++ interface that has no C interface: parsing without verifying.

#include "mlir-c/IR.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Support.h"
#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"

// Parses a module, text or bytecode, and verifies none of its ops; null if it cannot be read. Text ends before a NUL byte.
extern "C" MlirModule promote_parse_unverified(MlirContext context, MlirStringRef source, MlirStringRef name) {
  const mlir::ParserConfig config(unwrap(context), /*verifyAfterParse=*/false);
  return wrap(mlir::parseSourceString<mlir::ModuleOp>(unwrap(source), config, unwrap(name)).release());
}
