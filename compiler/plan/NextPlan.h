// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What to change where a program does not fit.
//
// How much code there is, and so how much room for scratch, is known only once
// kernels are selected and scheduled, and how many colors there are once they
// are routed. Where there is too little, kernels are selected once more, by the
// first of the rules in NextPlan.cpp that applies.

#ifndef COMPILER_PLAN_NEXTPLAN_H
#define COMPILER_PLAN_NEXTPLAN_H

#include "compiler/plan/Plan.h"

#include <optional>

namespace wsec::plan {

/// What the user asks for, which no plan changes.
struct Asked {
  bool region = false, placement = false; ///< are given
  bool resident = false, stages = false;  ///< there is to be a pipeline; may be
  bool codeTogether = false; ///< of a trial, which stands for more layers
};

/// What came of a plan that does not fit.
struct Outcome {
  Shortages shortages;
  int64_t regions = 0; ///< with kernels
  int64_t abreast = 0; ///< most regions with PEs in one row of the mesh
  /// Columns and rows of the only region; 0: there are several.
  int64_t columns = 0, rows = 0;
  int64_t kernels = 0;
  int64_t usableBytes = 0; ///< of a PE
  bool hasKeepOuts = false;
  /// Whether it has entries, beside what loads weights: all kernels run on one
  /// region.
  bool hasEntries = false;

  bool lacks(Lack of) const;
  int64_t code() const;   ///< the most bytes of code that a shortage has
  int64_t launch() const; ///< the most bytes of one launch that a shortage has
  const std::string &error() const { return shortages.front().error; }
};

/// A plan to try next.
struct Step {
  Constraints plan;
  std::string note; ///< for the report: what was asked for and is not there
  /// Whether the error that counts, if nothing helps, is that of the plan
  /// before, or of one before that.
  bool keepsError = false;
};

/// Where to begin.
Constraints firstPlan(const Asked &asked);

/// What is tried after `plan`, of which `outcome` came; nothing: nothing is
/// left.
std::optional<Step> nextPlan(const Constraints &plan, const Outcome &outcome,
                             const Asked &asked);

} // namespace wsec::plan

#endif // COMPILER_PLAN_NEXTPLAN_H
