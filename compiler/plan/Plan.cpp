// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/plan/Plan.h"

#include "mlir/IR/Diagnostics.h"

using namespace wsec::plan;
using llvm::StringRef;

namespace {
struct Number {
  StringRef name;
  int64_t Constraints::*member;
};
struct Flag {
  StringRef name;
  bool Constraints::*member;
};
} // namespace

static constexpr Number numbers[] = {{"stages", &Constraints::stages},
                                     {"stage-rows", &Constraints::stageRows},
                                     {"code", &Constraints::code}};
static constexpr Flag flags[] = {
    {"spread-code", &Constraints::spreadCode},
    {"little-scratch", &Constraints::littleScratch},
    {"few-colors", &Constraints::fewColors},
    {"carry-numbers", &Constraints::carryNumbers},
    {"keep-weights", &Constraints::keepWeights},
    {"clear-rows", &Constraints::clearRows},
    {"where-faster", &Constraints::whereFaster}};

/// Sets what one name stands for; false: it is none, or has no such value.
static bool set(StringRef name, StringRef value, Constraints &constraints) {
  for (const Flag &flag : flags)
    if (flag.name == name)
      return constraints.*flag.member = value.empty();
  if (name == "region") {
    constraints.region = value.str();
    return !value.empty();
  }
  int64_t number = 0;
  if (name == "scratch") {
    auto [bytes, kernel] = value.split(':');
    int64_t most = 0;
    if (kernel.empty() || bytes.getAsInteger(10, most) || most < 0)
      return false;
    int64_t &its =
        constraints.scratch.try_emplace(kernel.str(), most).first->second;
    its = std::min(its, most);
    return true;
  }
  if (value.getAsInteger(10, number) || number < 0)
    return false;
  if (name == "abreast") {
    constraints.abreast.push_back(number);
    return true;
  }
  for (const Number &each : numbers)
    if (each.name == name) {
      constraints.*each.member = number;
      return true;
    }
  return false;
}

std::string wsec::plan::parse(StringRef text, Constraints &constraints) {
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts)
    if (auto [name, value] = part.split('='); !set(name, value, constraints))
      return ("'" + part +
              "' is no constraint: region=WxH, abreast=N, stages=N, "
              "stage-rows=N, code=N, spread-code, little-scratch, few-colors, "
              "carry-numbers, keep-weights, clear-rows, where-faster and "
              "scratch=N:KERNEL are")
          .str();
  return "";
}

llvm::raw_ostream &wsec::plan::operator<<(llvm::raw_ostream &os,
                                          const Constraints &constraints) {
  llvm::ListSeparator comma(",");
  if (!constraints.region.empty())
    os << comma << "region=" << constraints.region;
  for (int64_t regions : constraints.abreast)
    os << comma << "abreast=" << regions;
  for (const Number &each : numbers)
    os << comma << each.name << "=" << constraints.*each.member;
  for (const auto &[kernel, bytes] : constraints.scratch)
    os << comma << "scratch=" << bytes << ":" << kernel;
  for (const Flag &flag : flags)
    if (constraints.*flag.member)
      os << comma << flag.name;
  return os;
}

void wsec::plan::add(Shortages *shortages, mlir::InFlightDiagnostic &error,
                     Lack of, int64_t code, int64_t launch,
                     std::vector<ScratchShortage> scratch) {
  if (shortages)
    shortages->push_back({of, code, launch,
                          error.getUnderlyingDiagnostic()->str(),
                          std::move(scratch)});
}
