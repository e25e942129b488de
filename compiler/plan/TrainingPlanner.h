// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which plan a model trains by: of those that fit a PE the one that is
// predicted to be the fastest. What a plan takes is tried, with few of the
// layers that are alike; more of them are what one more has taken.

#ifndef COMPILER_PLAN_TRAININGPLANNER_H
#define COMPILER_PLAN_TRAININGPLANNER_H

#include "compiler/plan/TrainingPlan.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/raw_ostream.h"

#include <functional>
#include <vector>

namespace wsec::plan {

/// What a trial has found.
struct Trial {
  bool fits = false;
  bool isBroken = false; ///< failed, and not for a lack of room
  /// Launches carry numbers, which costs cycles that no prediction has: only
  /// where nothing else fits.
  bool carries = false;
  double cycles = 0;     ///< of a call; if it does not fit, at least
  int64_t sramBytes = 0; ///< of a PE at the peak; if it fits
  int64_t sramLimit = 0;
  int64_t asked = 0; ///< bytes of a PE for code and a launch; if it doesn't fit
  std::string why;   ///< it does not fit
  /// How the model is cut: pieces, those of a layer, and layers that are alike.
  int64_t pieces = 1, layer = 0, layers = 0;
  /// Whether kernels make gradients of attentions, and of norms.
  bool attentions = false, norms = false;
};

/// Whether the first is to be preferred, if both fit.
inline bool isBetter(const Trial &a, const Trial &b) {
  return a.carries != b.carries ? b.carries : a.cycles < b.cycles;
}

/// A plan that was looked at.
struct Considered {
  TrainingPlan plan;
  Trial its;
};

/// Says which plan it is, the first, and what others would take.
void print(llvm::ArrayRef<Considered> plans, llvm::raw_ostream &os);

class TrainingPlanner {
public:
  /// Compiles by a plan, with so many of the layers that are alike, 0: all, as
  /// far as it is known what that takes.
  using Tries = std::function<Trial(const TrainingPlan &, int64_t layers)>;

  /// A PE has room for about so many `logits` at a time.
  TrainingPlanner(const AskedPlan &asked, int64_t logits, Tries tries);

  /// Looks at plans. False if the model is broken, by whatever plan.
  bool run();

  /// The fastest one that fits first, then the others of which that is said;
  /// then those that do not. Never empty.
  const std::vector<Considered> &ranking() const { return considered; }

private:
  const Trial &consider(const TrainingPlan &plan);
  Trial predict(const TrainingPlan &plan);
  bool isAsked(const TrainingPlan &plan) const;
  const Considered *best() const;
  bool isBroken() const;
  int64_t pieces() const { return considered.front().its.pieces; }
  void chooseKernels();
  void chooseLogits();
  void choosePolicy();
  void chooseElements();
  std::vector<TrainingPlan> policies() const;
  bool cannotWin(const TrainingPlan &plan) const;

  AskedPlan asked;
  int64_t logits;
  Tries tries;
  TrainingPlan base; ///< takes the least SRAM
  std::vector<Considered> considered;
};

} // namespace wsec::plan

#endif // COMPILER_PLAN_TRAININGPLANNER_H
