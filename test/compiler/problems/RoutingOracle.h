// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef WSEC_TEST_COMPILER_PROBLEMS_ROUTINGORACLE_H
#define WSEC_TEST_COMPILER_PROBLEMS_ROUTINGORACLE_H

#include "compiler/route/RoutingProblem.h"

#include <set>
#include <string>
#include <vector>

namespace wsec::test {

/// The words of one source, as a pattern means them. PEs count row by row
/// through the mesh.
struct MeantWords {
  size_t source = 0;
  Port entry = Port::Ramp;
  std::vector<bool> hearers; // by PE
  bool exits = false;        // off the mesh to the east, in the source's row
};

/// Says which rules a routing breaks, by asking every PE about every other.
class RoutingOracle {
public:
  explicit RoutingOracle(const RoutingProblem &problem);

  /// Of R1 to R7. Rules of a stream that break R2 are left out when R3 to R6
  /// are judged, and with R1 broken nothing else is.
  std::set<std::string> brokenRules(const Routing &routing) const;

  /// What a stream means on one of its colors.
  std::vector<MeantWords> meantOf(size_t stream, size_t color,
                                  size_t colors) const;

  /// In coordinates of a region.
  struct PE {
    int64_t x, y;
  };

private:
  PE place(const RouteRegion &region, size_t i) const {
    return {int64_t(i) % problem.meshWidth - region.x,
            int64_t(i) / problem.meshWidth - region.y};
  }
  MeantWords wordsOf(const StreamRequest &request, size_t source) const;

  const RoutingProblem &problem;
  std::vector<std::vector<MeantWords>> meant; // by stream
};

} // namespace wsec::test

#endif // WSEC_TEST_COMPILER_PROBLEMS_ROUTINGORACLE_H
