// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef TEST_RUNTIME_DIFFERENTIAL_COMPARE_H
#define TEST_RUNTIME_DIFFERENTIAL_COMPARE_H

#include "runtime/program/Errors.h"
#include "runtime/strips/StripsEngine.h"
#include "test/runtime/differential/RandomProgram.h"

#include <map>
#include <optional>
#include <string>

namespace wsec::runtime::test {

/// What came of a run.
struct Outcome {
  using Channels = std::map<VectorHost::Key, std::vector<float>>;

  std::map<uint32_t, std::vector<uint8_t>> tensors;
  Channels channels;
  RunResult result;
  std::optional<ErrorClass> error;
  std::string message;

  /// Of its values, its cycles and its error.
  uint64_t digest() const;
};

enum class Verdict {
  Same,
  Refused, ///< by both, for the same reason
  Invalid, ///< refused before it runs
  CyclesDiffer,
  WorkDiffers, ///< instructions or elements
  ValuesDiffer,
  ErrorsDiffer,
};
const char *verdictName(Verdict verdict);
/// Whether the engines disagree in more than cycles.
inline bool disagrees(Verdict verdict) {
  return verdict >= Verdict::WorkDiffers;
}

struct Comparison {
  Verdict verdict = Verdict::Same;
  Outcome other, wavelet;

  /// By how much the other is off, of the cycles of wavelet.
  double offBy() const {
    return other.result.cycles / wavelet.result.cycles - 1;
  }
  std::string describe() const;
};

/// Cycles are equal if they differ by no more than 5 %, or by five: in short
/// programs a task that starts a few cycles later weighs more than that.
inline constexpr double relativeTolerance = 0.05, absoluteTolerance = 5;

/// Runs a program on wavelet, and `strips`, if that engine can, on strips, or
/// else on wavelet while somebody looks on, which must change nothing.
Comparison compare(RandomProgram &program, bool strips = false);

} // namespace wsec::runtime::test

#endif // TEST_RUNTIME_DIFFERENTIAL_COMPARE_H
