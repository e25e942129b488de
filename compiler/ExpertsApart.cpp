// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/ExpertsApart.h"
#include "dialects/onnx/Onnx.h"
#include <vector>

using namespace mlir;
using namespace wsec;

/// Whether rows take their own of the weights of experts.
static bool areApart(ModuleOp module) {
  auto isOfRows = [](onnx::ExpertsOp op) {
    const auto rows = cast<RankedTensorType>(op.getX().getType());
    return rows.getDimSize(0) > 1 ? WalkResult::interrupt()
                                  : WalkResult::advance();
  };
  return module.walk(isOfRows).wasInterrupted();
}

LogicalResult wsec::runExpertsApart(OwningOpRef<ModuleOp> &module,
                                    const ExpertsPhases &phases) {
  MLIRContext &context = *module->getContext();
  OwningOpRef<ModuleOp> before = module->clone();
  if (failed(phases.canonicalize()))
    return failure();
  if (!areApart(*module))
    return phases.plans();
  std::vector<Diagnostic> said;
  bool isGood = false;
  {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
      said.push_back(std::move(diagnostic));
      return success();
    });
    isGood = succeeded(phases.plans()) && phases.fitsAtOnce();
  }
  if (isGood) {
    for (Diagnostic &diagnostic : said)
      context.getDiagEngine().emit(std::move(diagnostic));
    return success();
  }
  module = std::move(before);
  phases.restart();
  if (failed(phases.canonicalize()))
    return failure();
  return phases.plans();
}
