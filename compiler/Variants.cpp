// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Variants.h"
#include "compiler/ModuleReport.h"
#include "compiler/canonicalize/Passes.h"
#include "compiler/canonicalize/SkipQuantization.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace wsec;

Variants::Variants(ModuleOp module, bool isSparse) {
  if (isSparse)
    all.push_back(
        {module.clone(),
         "slower than with all weights: {0:F0} cycles are predicted instead of "
         "{1:F0}; leave --sparsity out, or keep fewer weights: the cycles of "
         "sparse products follow their number",
         std::nullopt});
  OwningOpRef<ModuleOp> floats = module.clone();
  if (canonicalize::skipQuantization(*floats))
    all.push_back(
        {std::move(floats),
         "slower than without the quantisation of activations: {0:F0} cycles "
         "are predicted instead of {1:F0}, as PEs compute in floats; bring the "
         "model with floats, or with weights alone quantised (MatMulNBits, or "
         "DequantizeLinear of constants)",
         std::nullopt});
}

void Variants::predict(select::SelectKernelsPassOptions target) {
  target.explain = "";
  for (Variant &variant : all) {
    MLIRContext *context = variant.module->getContext();
    ScopedDiagnosticHandler silent(context,
                                   [](Diagnostic &) { return success(); });
    PassManager manager(context);
    canonicalize::buildCleanUpPipeline(manager);
    select::buildSelectPipeline(manager, target, /*sparse=*/{});
    if (succeeded(manager.run(*variant.module)))
      variant.cycles = cyclesOfBestShape(*variant.module);
    variant.module = {};
  }
}

std::vector<std::string> Variants::notes(double cycles) const {
  std::vector<std::string> notes;
  for (const Variant &variant : all)
    if (variant.cycles && *variant.cycles < cycles)
      notes.push_back(
          llvm::formatv(variant.format.data(), cycles, *variant.cycles));
  return notes;
}
