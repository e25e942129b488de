// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/plan/TrainingPlan.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <tuple>

using namespace wsec::plan;
using llvm::StringRef;

namespace {
struct Word {
  const char *key;
  std::string TrainingPlan::*value;
  llvm::SmallVector<StringRef, 3> words;
};
struct PlanKey {
  const char *key;
  int64_t TrainingPlan::*value;
};
} // namespace

static const Word words[] = {
    {"recompute", &TrainingPlan::recompute, {"none", "pieces", "segments"}},
    {"inputs", &TrainingPlan::inputs, {"store", "wafer"}},
    {"elements", &TrainingPlan::elements, {"again", "kept"}},
    {"attention", &TrainingPlan::attention, {"kernel", "products"}},
    {"norms", &TrainingPlan::norms, {"kernel", "kernels"}}};
static const PlanKey planKeys[] = {{"segment", &TrainingPlan::segment},
                                   {"kept", &TrainingPlan::kept},
                                   {"logits", &TrainingPlan::logits}};

/// Of a plan that computes nothing again.
static bool saysNothing(StringRef key) {
  return key == "segment" || key == "inputs" || key == "kept";
}

std::string TrainingPlan::text() const {
  std::string all = "recompute=" + recompute;
  if (recompute != "none")
    all += ",segment=" + std::to_string(segment) + ",inputs=" + inputs +
           ",kept=" + std::to_string(kept);
  return all + ",elements=" + elements + ",attention=" + attention +
         ",norms=" + norms +
         ",logits=" + (logits ? std::to_string(logits) : "all");
}

std::string wsec::plan::parse(StringRef text, AskedPlan &asked) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    StringRef key, value;
    std::tie(key, value) = part.split('=');
    std::string wanted;
    if (!asked.keys.insert(key.str()).second)
      return "has '" + key.str() + "' twice; leave one out";
    if (part == "auto")
      continue;
    if (const auto *word = llvm::find_if(
            words, [&](const Word &its) { return key == its.key; });
        word != std::end(words)) {
      asked.plan.*word->value = value.str();
      if (!llvm::is_contained(word->words, value))
        wanted = llvm::join(word->words, ", ");
    } else if (const auto *number = llvm::find_if(
                   planKeys,
                   [&](const PlanKey &its) { return key == its.key; });
               number != std::end(planKeys)) {
      int64_t &to = asked.plan.*number->value;
      if (key == "logits" && value == "all")
        to = 0;
      else if (value.getAsInteger(10, to) || to < 1)
        wanted = key == "logits" ? "all or a number from 1 on"
                                 : "a number from 1 on";
    } else {
      return "has no '" + key.str() +
             "'; it has auto, recompute, segment, inputs, kept, elements, "
             "attention, norms and logits";
    }
    if (!wanted.empty())
      return "wants as " + key.str() + " " + wanted + ", found '" +
             value.str() + "'";
  }
  if (asked.asks("recompute") && asked.plan.recompute == "none")
    for (const std::string &key : asked.keys)
      if (saysNothing(key))
        return "computes nothing again with recompute=none; leave out " + key;
  return "";
}
