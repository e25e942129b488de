// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plan after plan, until a program fits.

#ifndef COMPILER_PLAN_PLANSEARCH_H
#define COMPILER_PLAN_PLANSEARCH_H

#include "compiler/PlacementFile.h"
#include "compiler/plan/NextPlan.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <functional>
#include <string>

namespace wsec::plan {

class PlanSearch {
public:
  explicit PlanSearch(const Asked &asked)
      : asked(asked), now(firstPlan(asked)) {}

  /// Begins with what a placement was selected with.
  void start(const PlacementFile::Selection &selection);

  /// Whether no kernels go on several regions for their code.
  void keepCodeTogether(bool together) { asked.codeTogether = together; }

  /// The effort: rules stop by themselves, mostly after a few plans.
  static constexpr int mostPlans = 40;

  /// Runs `phases`, which change `module` by `plan` and add to `shortages`,
  /// until they succeed or nothing is left to try; then says what they said.
  /// `tells` gets a line before each plan, and an empty one behind the last.
  llvm::LogicalResult
  run(mlir::OwningOpRef<mlir::ModuleOp> &module,
      llvm::function_ref<llvm::LogicalResult()> phases,
      const std::function<void(const std::string &)> &tells = nullptr);
  const Constraints &plan() const { return now; }
  Shortages &shortages() { return outcome.shortages; }

  /// For the report: what was asked for and is not there.
  const std::vector<std::string> &notes() const { return said; }

private:
  Asked asked;
  Constraints now;
  Outcome outcome; ///< of that
  std::vector<std::string> said;
};

} // namespace wsec::plan

#endif // COMPILER_PLAN_PLANSEARCH_H
