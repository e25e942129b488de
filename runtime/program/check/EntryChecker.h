// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PROGRAM_CHECK_ENTRYCHECKER_H
#define RUNTIME_PROGRAM_CHECK_ENTRYCHECKER_H

#include "runtime/program/Intervals.h"
#include "runtime/program/check/CheckerWork.h"

#include <map>
#include <vector>

namespace wsec::runtime {

/// Ranges of what launches carry, over all launches of all entries.
class CarriedRanges {
public:
  /// Takes what a launch carries.
  void add(const program::Launch &launch, const std::vector<Interval> &values);

  /// The ranges of the arguments of a routine that takes `count`.
  std::vector<Interval> ofRoutine(uint32_t id, uint32_t count) const;
  /// The ranges of the arguments that all launches that feed on a stream carry.
  std::vector<Interval> ofStream(uint32_t stream) const;

private:
  std::map<uint32_t, std::vector<Interval>> routines, streams;
};

/// Checks the entries of a program, but for their copies: names, ranges of
/// arguments, scalars and launches.
CarriedRanges checkEntries(const program::Program &program, CheckerWork &work);

/// Whether all a program has to call is "main", without arguments. Its launches
/// are the program's then, in text and messages.
bool isPlain(const program::Program &program);

} // namespace wsec::runtime

#endif // RUNTIME_PROGRAM_CHECK_ENTRYCHECKER_H
