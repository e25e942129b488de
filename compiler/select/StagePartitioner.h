// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef WSEC_COMPILER_SELECT_STAGEPARTITIONER_H
#define WSEC_COMPILER_SELECT_STAGEPARTITIONER_H

#include "compiler/select/StageProblem.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

namespace wsec {

/// The plan whose slowest stage is as fast as any can be, of these with the
/// fewest rows, in the last of them the fewest stages, then the fewest columns;
/// none if no plan is legal.
std::optional<StagePlan> partitionStages(const StageProblem &problem);

/// What is known of the plans of one problem: whoever asks again for it, among
/// other problems, is answered from this.
struct StageAnswers {
  std::optional<bool> hasPlan;
  std::optional<StagePlan> fastest; ///< if `least` is known, and there is one
  /// Cycles within which there is a plan, exactly; infinite: there is none.
  std::optional<double> least;
  double tooFew = -1; ///< cycles within which there is none

  /// All plans of this problem are plans of that one, too.
  void isPartOf(const StageAnswers &other) {
    if (other.hasPlan == false)
      hasPlan = false;
    tooFew = std::max(tooFew, other.least ? std::nextafter(*other.least, -1.0)
                                          : other.tooFew);
  }
};

/// Chooses from the plans of several problems: of other heights, or with other
/// shares of the channels.
class StageChoice {
public:
  /// The share of the cycles from sample to sample that is given for a shorter
  /// latency. Predictions are off by more than that.
  static constexpr double nearTie = 0.02;

  struct Chosen {
    size_t problem; ///< in the order in which they were added
    StagePlan plan;
  };

  /// What the stages of a plan of the problem of that number take with the
  /// channels that they get: cycles, latency and load.
  using Finish = std::function<void(size_t, StagePlan &)>;

  /// `problem` gives that of a number, as often as it is asked; so many samples
  /// follow one another, 0: many.
  StageChoice(std::function<StageProblem(size_t)> problem, Finish finish,
              int64_t samples = 0)
      : problem(std::move(problem)), finish(std::move(finish)),
        samples(samples) {}

  /// The next problem, of which that is known. One that makes no sense has no
  /// plan.
  void add(StageAnswers &known);
  /// Whether the next problem has a plan, however slow.
  bool hasPlan(StageAnswers &known) const;
  /// The plan, of all of more than one stage, with the fewest cycles from
  /// sample to sample; but with the least latency of those that are within
  /// `nearTie` of these: the fastest of each problem, and the one that then
  /// gets by with the fewest rows and stages. Where it is known how many
  /// samples there are, that which is done with them first, of one stage, too.
  std::optional<Chosen> best() const;

private:
  /// A problem whose fastest plan is within the limit so far.
  struct Candidate {
    size_t number;
    StagePlan fastest;
  };
  void solve(StageAnswers &known) const;
  /// Cycles from sample to sample of plans that may be the best.
  double limit() const {
    return samples ? fewest / double(samples) : fewest * (1 + nearTie);
  }
  /// What the best plan has the least of.
  double measureOf(const StagePlan &plan) const {
    return samples ? plan.cyclesOf(samples) : plan.cycles;
  }
  bool isPossible(const StagePlan &plan) const {
    return plan.cycles <= limit() && (samples || plan.stages.size() > 1);
  }

  std::function<StageProblem(size_t)> problem;
  Finish finish;
  int64_t samples;
  std::vector<Candidate> candidates;
  size_t count = 0;
  /// By `measureOf`, of the plans so far.
  double fewest = std::numeric_limits<double>::infinity();
};

} // namespace wsec

#endif // WSEC_COMPILER_SELECT_STAGEPARTITIONER_H
