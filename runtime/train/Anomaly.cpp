// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/train/Anomaly.h"
#include "runtime/host/Batch.h"
#include "runtime/program/NearestNames.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace wsec::runtime {

namespace {
/// What to look for.
enum class Anomaly { NotANumber, Infinite };
} // namespace

static bool isOne(double number, Anomaly what) {
  return what == Anomaly::NotANumber ? std::isnan(number) : std::isinf(number);
}

static bool has(const HostTensor &tensor, Anomaly what) {
  for (uint64_t i = 0; i < tensor.elements(); ++i)
    if (isOne(tensor.number(i), what))
      return true;
  return false;
}

static const char *described(Anomaly what) {
  return what == Anomaly::NotANumber ? "a number that is none"
                                     : "an infinite number";
}

/// In the order in which they are made.
static std::vector<const program::Value *> valuesOf(const Call &call) {
  std::vector<std::pair<uint32_t, uint32_t>> order; // launch, number
  const auto *all = call.entry().values();
  for (uint32_t i = 0; all && i < all->size(); ++i)
    order.emplace_back(all->Get(i)->launch(), i);
  std::sort(order.begin(), order.end());
  std::vector<const program::Value *> values;
  for (const auto &[launch, number] : order)
    values.push_back(all->Get(number));
  return values;
}

static std::string firstValue(const Session &session, const Call &call,
                              Anomaly what) {
  for (const program::Value *value : valuesOf(call)) {
    const std::string name = value->name()->str();
    if (!has(valueOf(session.output(name)), what))
      continue;
    const program::Launch &launch = call.launch(value->launch());
    const std::string kernel =
        call.program().kernels()
            ? call.program().kernels()->Get(launch.kernel())->name()->str()
            : "";
    return absl::StrCat(described(what), " is first in value ", inQuotes(name),
                        " of kernel ", inQuotes(kernel));
  }
  return "";
}

static std::string firstGradient(const Session &session, Anomaly what) {
  const Gradients gradients = valueOf(session.gradients());
  for (const program::Tensor *tensor : *session.program().tensors()) {
    if (!tensor->gradient())
      continue;
    const auto its = gradients.find(tensor->gradient()->parameter()->str());
    if (its != gradients.end() &&
        std::any_of(its->second.begin(), its->second.end(),
                    [&](float number) { return isOne(number, what); }))
      return absl::StrCat(described(what), " is first in the gradient of ",
                          inQuotes(its->first),
                          ": it is made behind the forward pass");
  }
  return "";
}

std::string findAnomaly(Session &session, const Call &call,
                        const EngineOptions &options, Engine engine) {
  for (const Anomaly what : {Anomaly::NotANumber, Anomaly::Infinite})
    for (const std::string &name : session.parameters())
      if (has(valueOf(session.parameter(name)), what))
        return absl::StrCat("parameter ", inQuotes(name), " holds ",
                            described(what), " before the step");
  for (const program::Value *value : valuesOf(call))
    requireOk(session.keep(value->name()->str()));
  (void)valueOf(session.call(call, options, nullptr, engine));
  const std::string none = firstValue(session, call, Anomaly::NotANumber),
                    infinite = firstValue(session, call, Anomaly::Infinite);
  if (!none.empty() || !infinite.empty())
    return absl::StrCat(none, none.empty() || infinite.empty() ? "" : ", ",
                        infinite);
  for (const Anomaly what : {Anomaly::NotANumber, Anomaly::Infinite})
    if (const std::string found = firstGradient(session, what); !found.empty())
      return found;
  return "";
}

} // namespace wsec::runtime
