// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Pipeline.h"
#include "dialects/pe/Pe.h"
#include "dialects/wse/Wse.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace wsec;

static constexpr StringLiteral names[] = {
    "import", "infer", "canonicalize", "differentiate", "select",
    "place",  "route", "schedule",     "lower",         "emit"};

StringRef wsec::phaseName(Phase phase) { return names[size_t(phase)]; }

std::optional<Phase> wsec::findPhase(StringRef name) {
  const auto *place = llvm::find(names, name);
  if (place == std::end(names))
    return std::nullopt;
  return static_cast<Phase>(place - std::begin(names));
}

std::optional<Phase> wsec::firstPhaseOf(ModuleOp module) {
  for (Operation &op : module.getBody()->getOperations()) {
    if (isa<func::FuncOp>(op))
      return Phase::Infer;
    if (isa<pe::ProgramOp>(op))
      return Phase::Emit;
    if (auto program = dyn_cast<wse::ProgramOp>(op)) {
      switch (program.getState()) {
      case wse::State::Selected:
        return Phase::Place;
      case wse::State::Placed:
        return Phase::Route;
      case wse::State::Routed:
        return Phase::Schedule;
      case wse::State::Scheduled:
        return Phase::Lower;
      }
    }
  }
  return std::nullopt;
}
