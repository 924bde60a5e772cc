// The few parts of LLVM's and MLIR's C++ interface that have no C interface.

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "llvm-c/Core.h"
#include "llvm-c/Error.h"
#include "llvm-c/TargetMachine.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"
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

// How many instructions the functions of a module have.
size_t promote_llvm_instructions(LLVMModuleRef module) {
  size_t count = 0;
  for (const llvm::Function &function : *llvm::unwrap(module))
    count += function.getInstructionCount();
  return count;
}

// Runs a pipeline of passes over a module. The lowering has chosen the vectors, and how many of them an iteration works on: LLVM's
// own vectorisers do not run, and its unroller unrolls only what asks for it. Reading `default<O3>` turns the vectorisers on whatever
// the options say, so they are skipped by name. The loop vectoriser may not run for another reason, too: it follows operands without
// remembering where it has been, in time exponential in the length of a chain of operations whose results are used twice. Branches
// are moved out of loops inside of fewer than `unswitched` others: for each, LLVM visits all loops around it again, which takes the
// cube of their depth.
LLVMErrorRef promote_llvm_run_passes(LLVMModuleRef wrapped, const char *pipeline, LLVMTargetMachineRef machine, unsigned unswitched) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  llvm::PassInstrumentationCallbacks callbacks;
  callbacks.registerShouldRunOptionalPassCallback([unswitched](llvm::StringRef pass, llvm::Any unit) {
    if (pass == "LoopVectorizePass" || pass == "SLPVectorizerPass")
      return false;
    if (pass != "SimpleLoopUnswitchPass")
      return true;
    auto *loop = llvm::any_cast<const llvm::Loop *>(&unit);
    return !loop || (*loop)->getLoopDepth() <= unswitched;
  });
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(reinterpret_cast<llvm::TargetMachine *>(machine), tuning, std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error error = builder.parsePassPipeline(passes, pipeline))
    return llvm::wrap(std::move(error));
  passes.run(*llvm::unwrap(wrapped), modules);
  return LLVMErrorSuccess;
}

// Divides a module into at most `number` units of about the same size, and calls back, which must not unwind, with the bitcode of each.
// Functions that call each other by name stay together, so that they may be inlined. Variables go to the first unit, but for those whose
// names begin with `prefix`: no unit defines them.
void promote_llvm_units(LLVMModuleRef wrapped, size_t number, const char *prefix,
                        void (*callback)(const char *, size_t, void *), void *data) {
  llvm::Module &module = *llvm::unwrap(wrapped);
  // An alias is where what it stands for is.
  if (!module.alias_empty() || !module.ifunc_empty())
    number = 1;
  llvm::EquivalenceClasses<const llvm::Function *> together;
  for (const llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    together.insert(&function);
    for (const llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        if (const llvm::Function *callee = call->getCalledFunction(); callee && !callee->isDeclaration())
          together.unionSets(&function, callee);
  }
  // In the order of the module, which does not depend on addresses.
  llvm::DenseMap<const llvm::Function *, size_t> group_of;
  std::vector<std::pair<size_t, std::vector<const llvm::Function *>>> groups;
  for (const llvm::Function &function : module) {
    if (function.isDeclaration())
      continue;
    auto [place, is_new] = group_of.try_emplace(together.getLeaderValue(&function), groups.size());
    if (is_new)
      groups.emplace_back();
    groups[place->second].first += function.getInstructionCount();
    groups[place->second].second.push_back(&function);
  }
  // The largest first, each into the unit that is the smallest by then.
  std::stable_sort(groups.begin(), groups.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
  std::vector<size_t> sizes(std::max<size_t>(std::min(number, groups.size()), 1));
  llvm::DenseMap<const llvm::GlobalValue *, size_t> unit_of;
  for (const auto &[size, functions] : groups) {
    const size_t unit = std::min_element(sizes.begin(), sizes.end()) - sizes.begin();
    sizes[unit] += size;
    for (const llvm::Function *function : functions)
      unit_of[function] = unit;
  }
  // What only the module knew, all units know; each may be loaded far away from the others.
  for (llvm::GlobalValue &value : module.global_values()) {
    if (!value.hasName())
      value.setName("promote.unnamed");
    if (value.hasLocalLinkage())
      value.setLinkage(llvm::GlobalValue::ExternalLinkage);
    value.setDSOLocal(false);
  }
  for (size_t unit = 0; unit < sizes.size(); ++unit) {
    llvm::ValueToValueMapTy values;
    auto part = llvm::CloneModule(module, values, [&](const llvm::GlobalValue *value) {
      if (llvm::isa<llvm::Function>(value))
        return unit_of.lookup(value) == unit;
      return unit == 0 && !value->getName().starts_with(prefix);
    });
    std::string bitcode;
    llvm::raw_string_ostream stream(bitcode);
    llvm::WriteBitcodeToFile(*part, stream);
    callback(bitcode.data(), bitcode.size(), data);
  }
}
}
