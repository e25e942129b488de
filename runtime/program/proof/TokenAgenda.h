// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run of words has yet to look at, and how much it may still do.
#ifndef RUNTIME_PROGRAM_PROOF_TOKENAGENDA_H
#define RUNTIME_PROGRAM_PROOF_TOKENAGENDA_H

#include "runtime/program/proof/TokenRun.h"

#include <deque>
#include <optional>
#include <vector>

namespace wsec::runtime::tokens {

/// Routes and cells in which something may have become possible, each once, in
/// the order in which they were named.
class Agenda {
public:
  struct Due {
    bool isRoute;
    size_t index;
  };

  Agenda(const TokenLimits &limits, ProofSteps &steps)
      : steps(steps), limits(limits) {}

  /// Throws NotUnderstood if there are too many of something.
  void requireFew(size_t count, const std::string &what) const {
    if (int64_t(count) > limits.routes)
      throw NotUnderstood{std::to_string(count) + " " + what + ", at most " +
                          std::to_string(limits.routes) + " are followed"};
  }

  void wakeRoute(size_t route) { wake({true, route}); }
  void wakeCell(size_t cell) { wake({false, cell}); }

  std::optional<Due> next() {
    if (due.empty())
      return std::nullopt;
    const Due first = due.front();
    due.pop_front();
    isDue[first.isRoute][first.index] = false;
    return first;
  }

  /// Throws NotUnderstood once too many words have moved.
  void spend(int64_t count) {
    moves += count;
    steps += count;
    if (moves > limits.moves)
      throw NotUnderstood{"more than " + std::to_string(limits.moves) +
                          " words to follow"};
  }

  ProofSteps &steps;

private:
  void wake(Due which) {
    std::vector<bool> &known = isDue[which.isRoute];
    if (known.size() <= which.index)
      known.resize(which.index + 1);
    if (known[which.index])
      return;
    known[which.index] = true;
    due.push_back(which);
  }

  const TokenLimits limits;
  int64_t moves = 0;
  std::deque<Due> due;
  std::vector<bool> isDue[2]; ///< cells, routes
};

} // namespace wsec::runtime::tokens

#endif // RUNTIME_PROGRAM_PROOF_TOKENAGENDA_H
