// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/Pipeline.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
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
