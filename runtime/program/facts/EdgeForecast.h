// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the channels of the west edge do in a run, measured or predicted.
#ifndef RUNTIME_PROGRAM_FACTS_EDGEFORECAST_H
#define RUNTIME_PROGRAM_FACTS_EDGEFORECAST_H

#include "runtime/program/program_generated.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wsec::runtime {

/// In each cycle of a run a word of the host enters a row of the west edge, or
/// one is there and does not enter (stalled), or none is there (idle).
struct EdgeUse {
  int row = 0;
  uint64_t words = 0;
  uint64_t stalledCycles = 0;

  uint64_t idleCycles(double cycles) const {
    const auto rest = cycles - double(words) - double(stalledCycles);
    return rest > 0 ? uint64_t(rest) : 0;
  }
};

/// What the slots of a call predict.
struct EdgeForecast {
  std::vector<EdgeUse> rows; ///< of channels, from the north
  double cycles = 0;         ///< of the run
};

/// The forecast of a call of an entry. Empty for programs whose streams have no
/// slots.
EdgeForecast edgeForecast(const program::Program &program, uint32_t entry);

/// "busy 12.0 %, stalled 80.5 %, idle 7.5 %": shares of so many cycles, all
/// rows together.
std::string shares(const std::vector<EdgeUse> &rows, double cycles);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_FACTS_EDGEFORECAST_H
