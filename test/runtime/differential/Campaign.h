// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TEST_RUNTIME_DIFFERENTIAL_CAMPAIGN_H
#define TEST_RUNTIME_DIFFERENTIAL_CAMPAIGN_H

#include "test/runtime/differential/Compare.h"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime::test {

/// What many programs came to.
struct Tally {
  std::map<Verdict, int> verdicts;
  std::map<std::string, int> errors; ///< classes, of what was refused
  uint64_t digest = 0;               ///< of what wavelet gave
  /// Of programs that ran: how much the other run is off, and the seed.
  std::vector<std::pair<double, uint64_t>> offBy;
  struct Disagreement {
    uint64_t seed;
    Verdict verdict;
    std::string text;
  };
  std::vector<Disagreement> disagreements; ///< in more than cycles
  std::vector<Disagreement> slow;          ///< in cycles

  int count(Verdict verdict) const {
    auto found = verdicts.find(verdict);
    return found == verdicts.end() ? 0 : found->second;
  }
  std::string describe() const;
};

/// Programs of successive seeds.
class Campaign {
public:
  uint64_t first = 1, count = 1000;
  int tries = 0;              ///< to make a disagreement smaller
  bool shrinksCycles = false; ///< those in cycles, too
  /// Told of every disagreement.
  std::function<void(const std::string &)> disagreed;

  /// well-formed, broken, or the name of a break; commands, broken-commands;
  /// strips, broken-strips: commands, on the engine of large meshes, too.
  bool setKind(const std::string &name);
  Tally run() const;
  RandomProgram program(Choices &choices, uint64_t seed) const;
  /// In the pe dialect.
  std::string text(uint64_t seed) const;

private:
  std::string report(const Choices::Lists &lists, uint64_t seed,
                     Verdict verdict) const;

  Launching launching = Launching::RemoteCalls;
  bool strips = false;
  bool broken = false;
  Break kind = Break::Nothing; ///< of broken ones; Nothing: any
};

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_DIFFERENTIAL_CAMPAIGN_H
