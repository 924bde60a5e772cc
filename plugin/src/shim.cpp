// What only C++ can say to MLIR: passes with options, a pipeline, diagnostics with notes, an extension of a registry.

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "mlir-c/IR.h"
#include "mlir/CAPI/IR.h"
#include "mlir/Dialect/IRDL/IR/IRDL.h"
#include "mlir/Dialect/IRDL/IRDLLoading.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"

namespace {

// A text that is not terminated.
struct Text {
  const char *data;
  size_t size;
  llvm::StringRef get() const { return {data, size}; }
};

Text text(const std::string &from) { return {from.data(), from.size()}; }

// What passes are asked for.
struct Options {
  Text semantics;
  const Text *warn;
  size_t warnCount;
  const Text *deny;
  size_t denyCount;
  const Text *opRules;
  size_t opRulesCount;
  bool x64, remarks, strictCarries, threads;
};

// The side in Rust.
struct Callbacks {
  size_t passCount;
  Text (*name)(size_t pass);
  Text (*description)(size_t pass);
  // Whether the pass may take over what the one right before it has seen.
  bool (*takesOver)(size_t pass);
  // Whether the pipeline has the pass, with rules for ops of other dialects or without.
  bool (*isDefault)(size_t pass, bool hasOpRules);
  void (*dialects)(size_t pass, MlirDialectRegistry registry);
  void *(*newHandoff)();
  void (*freeHandoff)(void *handoff);
  // Null, and an error was emitted, if the options are wrong.
  void *(*newRunner)(size_t pass, const Options *options, void *handoff, MlirContext context);
  void (*freeRunner)(void *runner);
  bool (*run)(void *runner, MlirOperation operation);
};

Callbacks callbacks;

using Handoff = std::shared_ptr<void>;

// An address that identifies each pass.
struct alignas(8) Identity {
  char unused;
};
std::array<Identity, 64> identities;
Identity dialect;

template <typename List> std::vector<Text> texts(const List &from) {
  std::vector<Text> made;
  for (const std::string &each : from)
    made.push_back(text(each));
  return made;
}

// The options of passes and of the pipeline; `Holder` is what has options.
#define PROMOTE_OPTIONS(Holder)                                                                                        \
  Holder Option<std::string> semantics{                                                                                \
      *this, "semantics", llvm::cl::desc("whose rules: a name, or a TOML file of a lattice"), llvm::cl::init("jax")};   \
  Holder Option<bool> x64{*this, "x64", llvm::cl::desc("JAX's rules have 64-bit dtypes"), llvm::cl::init(false)};       \
  Holder Option<bool> remarks{*this, "remarks", llvm::cl::desc("a remark for each inserted convert"),                   \
                              llvm::cl::init(false)};                                                                  \
  Holder Option<bool> strictCarries{*this, "strict-carries",                                                           \
                                    llvm::cl::desc("refuse loop carries and branches that JAX refuses"),               \
                                    llvm::cl::init(false)};                                                            \
  Holder ListOption<std::string> warn{*this, "warn", llvm::cl::desc("implicit promotions to warn of")};                 \
  Holder ListOption<std::string> deny{*this, "deny", llvm::cl::desc("implicit promotions to refuse")};                  \
  Holder ListOption<std::string> opRules{                                                                              \
      *this, "op-rules", llvm::cl::desc("rules for ops of other dialects: names, or TOML files")};

class PromotePass : public mlir::Pass {
public:
  PromotePass(size_t kind, Handoff handoff)
      : mlir::Pass(mlir::TypeID::getFromOpaquePointer(&identities[kind])), kind(kind), handoff(std::move(handoff)) {}
  PromotePass(const PromotePass &other)
      : mlir::Pass(other), kind(other.kind), handoff(other.handoff), runner(other.runner) {}

  llvm::StringRef getName() const override { return callbacks.name(kind).get(); }
  llvm::StringRef getArgument() const override { return callbacks.name(kind).get(); }
  llvm::StringRef getDescription() const override { return callbacks.description(kind).get(); }
  bool canScheduleOn(mlir::RegisteredOperationName) const override { return true; }
  std::unique_ptr<mlir::Pass> clonePass() const override { return std::make_unique<PromotePass>(*this); }

  void getDependentDialects(mlir::DialectRegistry &registry) const override {
    callbacks.dialects(kind, MlirDialectRegistry{&registry});
  }

  // Clones that MLIR makes for its threads afterwards share the runner.
  llvm::LogicalResult initialize(mlir::MLIRContext *context) override {
    const std::vector<Text> warned = texts(warn), denied = texts(deny), rules = texts(opRules);
    const std::string named = semantics;
    const Options options{text(named),   warned.data(), warned.size(), denied.data(), denied.size(),
                          rules.data(),  rules.size(),  x64,           remarks,       strictCarries,
                          context->isMultithreadingEnabled()};
    runner.reset(callbacks.newRunner(kind, &options, handoff.get(), wrap(context)),
                 [](void *made) { if (made) callbacks.freeRunner(made); });
    return llvm::success(runner != nullptr);
  }

  void runOnOperation() override {
    if (!callbacks.run(runner.get(), wrap(getOperation())))
      signalPassFailure();
  }

  PROMOTE_OPTIONS()

private:
  size_t kind;
  Handoff handoff;
  std::shared_ptr<void> runner;
};

struct PipelineOptions : public mlir::PassPipelineOptions<PipelineOptions> {
  PROMOTE_OPTIONS()
};

// Adds the passes that run by default, which hand on to each other what they have seen.
void build(mlir::OpPassManager &manager, const PipelineOptions &options) {
  Handoff handoff;
  for (size_t kind = 0; kind < callbacks.passCount; ++kind) {
    if (!callbacks.isDefault(kind, !options.opRules.empty()))
      continue;
    if (!callbacks.takesOver(kind))
      handoff = Handoff(callbacks.newHandoff(), callbacks.freeHandoff);
    auto pass = std::make_unique<PromotePass>(kind, handoff);
    pass->semantics = options.semantics;
    pass->x64 = options.x64;
    pass->remarks = options.remarks;
    pass->strictCarries = options.strictCarries;
    for (const std::string &policy : options.warn)
      pass->warn.push_back(policy);
    for (const std::string &policy : options.deny)
      pass->deny.push_back(policy);
    for (const std::string &rules : options.opRules)
      pass->opRules.push_back(rules);
    manager.addPass(std::move(pass));
  }
}

mlir::Location location(mlir::MLIRContext *context, Text file, uint32_t line, uint32_t column) {
  if (!file.data)
    return mlir::UnknownLoc::get(context);
  return mlir::FileLineColLoc::get(context, file.get(), line, column);
}

llvm::StringRef definition;

// Defines the dialect in a context, when it is first needed.
mlir::Dialect *define(mlir::MLIRContext *context) {
  const mlir::ParserConfig config(context);
  // The context keeps what the definition makes of the module, and not the module.
  auto module = mlir::parseSourceString<mlir::ModuleOp>(definition, config, "promote.irdl.mlir");
  if (!module || mlir::failed(mlir::irdl::loadDialects(*module)))
    mlir::emitError(mlir::UnknownLoc::get(context), "MLIR does not take the definition of the dialect promote");
  return context->getLoadedDialect("promote");
}

} // namespace

extern "C" {

// Makes the passes and the pipeline known to MLIR's registry of the process.
void promote_plugin_register_passes(const Callbacks *given) {
  callbacks = *given;
  assert(callbacks.passCount <= identities.size() && "there is an identity for each pass");
  for (size_t kind = 0; kind < callbacks.passCount; ++kind)
    mlir::registerPass([kind] { return std::make_unique<PromotePass>(kind, Handoff()); });
  static mlir::PassPipelineRegistration<PipelineOptions> pipeline(
      "promote-default", "infer types, insert converts, fold them, and verify that nothing is implicit", build);
}

// Lets contexts that are made with a registry know the dialect of an IRDL text, which lives as long as the process.
void promote_plugin_register_dialect(void *registry, const char *data, size_t size) {
  definition = llvm::StringRef(data, size);
  auto &into = *static_cast<mlir::DialectRegistry *>(registry);
  into.insert<mlir::irdl::IRDLDialect>();
  into.insert(mlir::TypeID::getFromOpaquePointer(&dialect), "promote", define);
}

// A part of a diagnostic: the first is what it says, others are notes.
struct Part {
  Text file;
  uint32_t line, column;
  Text message;
};

// Emits a diagnostic: 0 is a remark, 1 a warning, 2 an error.
void promote_plugin_emit(MlirContext context, int32_t severity, const Part *parts, size_t count) {
  mlir::MLIRContext *within = unwrap(context);
  const mlir::Location at = location(within, parts->file, parts->line, parts->column);
  mlir::InFlightDiagnostic diagnostic = severity == 2   ? mlir::emitError(at)
                                        : severity == 1 ? mlir::emitWarning(at)
                                                        : mlir::emitRemark(at);
  diagnostic << parts->message.get();
  for (size_t index = 1; index < count; ++index) {
    const Part &note = parts[index];
    diagnostic.attachNote(note.file.data ? location(within, note.file, note.line, note.column) : at)
        << note.message.get();
  }
}
}
