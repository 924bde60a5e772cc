// The few parts of LLVM's and MLIR's C++ interface that have no C interface.

#include <memory>
#include <string>

#include "llvm-c/Core.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"

static std::unique_ptr<llvm::MCSubtargetInfo> subtarget(const char *triple, const char *cpu, const char *features) {
  std::string error;
  const llvm::Triple parsed(triple);
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(parsed, error);
  if (!target)
    return nullptr;
  return std::unique_ptr<llvm::MCSubtargetInfo>(target->createMCSubtargetInfo(parsed, cpu, features));
}

extern "C" {

// Registers all code generators that this LLVM has.
void promote_llvm_initialise() {
  llvm::InitializeAllTargetInfos();
  llvm::InitializeAllTargets();
  llvm::InitializeAllTargetMCs();
  llvm::InitializeAllAsmPrinters();
  llvm::InitializeNativeTargetAsmParser();
}

// Calls back with the name of each CPU that the target of `triple` knows.
void promote_llvm_cpus(const char *triple, void (*callback)(const char *, void *), void *data) {
  if (auto info = subtarget(triple, "", ""))
    for (const llvm::SubtargetSubTypeKV &cpu : info->getAllProcessorDescriptions())
      callback(cpu.Key, data);
}

// Calls back with the name of each feature that the target of `triple` knows.
void promote_llvm_features(const char *triple, void (*callback)(const char *, void *), void *data) {
  if (auto info = subtarget(triple, "", ""))
    for (const llvm::SubtargetFeatureKV &feature : info->getAllProcessorFeatures())
      callback(feature.Key, data);
}

// How memory is laid out on the machine of `triple`; false, with a message that the caller disposes of, if LLVM has no code
// generator for it.
bool promote_llvm_memory(const char *triple, uint32_t *pointer_bits, bool *is_little_endian, char **message) {
  std::string error;
  const llvm::Triple parsed(triple);
  if (!llvm::TargetRegistry::lookupTarget(parsed, error)) {
    *message = LLVMCreateMessage(error.c_str());
    return false;
  }
  *pointer_bits = parsed.isArch64Bit() && !parsed.isX32() && parsed.getEnvironment() != llvm::Triple::GNUABIN32
                      && parsed.getEnvironment() != llvm::Triple::GNUILP32 ? 64 : parsed.isArch16Bit() ? 16 : 32;
  *is_little_endian = parsed.isLittleEndian();
  return true;
}

// Whether a CPU, which must be known, with those features has one more feature, given as "+name".
bool promote_llvm_has(const char *triple, const char *cpu, const char *features, const char *feature) {
  auto info = subtarget(triple, cpu, features);
  return info && info->checkFeatures(feature);
}

// Calls back with the name of each function and variable that an object defines for others; false if it is no object.
bool promote_llvm_defined(const char *data, size_t size, void (*callback)(const char *, size_t, void *), void *context) {
  auto object = llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef(llvm::StringRef(data, size), "object"));
  if (!object) {
    llvm::consumeError(object.takeError());
    return false;
  }
  for (const llvm::object::SymbolRef &symbol : (*object)->symbols()) {
    auto flags = symbol.getFlags();
    auto name = symbol.getName();
    if (flags && name && (*flags & llvm::object::SymbolRef::SF_Global) && !(*flags & llvm::object::SymbolRef::SF_Undefined))
      callback(name->data(), name->size(), context);
    llvm::consumeError(flags.takeError());
    llvm::consumeError(name.takeError());
  }
  return true;
}

// Lets a context translate the builtin and LLVM dialects to LLVM IR.
void promote_llvm_register_translations(void *context) {
  auto &mlir = *static_cast<mlir::MLIRContext *>(context);
  mlir::registerBuiltinDialectTranslation(mlir);
  mlir::registerLLVMDialectTranslation(mlir);
}

// The function that a diagnostic tells the size of the frame of, in bytes; null if it is about something else.
LLVMValueRef promote_llvm_frame(LLVMDiagnosticInfoRef diagnostic, uint64_t *size) {
  auto *frame = llvm::dyn_cast<llvm::DiagnosticInfoStackSize>(llvm::unwrap(diagnostic));
  if (!frame)
    return nullptr;
  *size = frame->getStackSize();
  return llvm::wrap(&frame->getFunction());
}
}
