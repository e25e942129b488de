// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops that hand words to one another and so are one phase, or one chain.
#ifndef RUNTIME_PROGRAM_PROOF_PHASEGROUP_H
#define RUNTIME_PROGRAM_PROOF_PHASEGROUP_H

#include "runtime/program/proof/Handovers.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace wsec::runtime {

/// Disjoint sets of ops.
class OpSets {
public:
  explicit OpSets(size_t count) : parents(count) {
    std::iota(parents.begin(), parents.end(), size_t(0));
  }
  size_t find(size_t op) {
    while (parents[op] != op)
      op = parents[op] = parents[parents[op]];
    return op;
  }
  /// The smaller number stays the name of the set.
  void join(size_t a, size_t b) {
    a = find(a);
    b = find(b);
    parents[std::max(a, b)] = std::min(a, b);
  }

private:
  std::vector<size_t> parents;
};

/// Ops of main threads that are one phase; or of microthreads that hand words
/// to one another.
struct PhaseGroup {
  /// Directions of its links, and in which lines they are.
  std::map<program::Port, LinkLines> directions;
  std::set<size_t> exchanges; ///< groups of main threads; if of microthreads
  bool sink = false;          ///< hears main threads
  bool hearsHost = false;

  void add(program::Port direction, const LinkLines &lines);
  bool has(program::Port direction) const {
    return directions.count(direction) > 0;
  }
  /// Whether words may go in a circle, for all that directions tell.
  bool bothWays(program::Port one, program::Port other) const;
};

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_PROOF_PHASEGROUP_H
