// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which words that code loads follow from the program alone.
#ifndef RUNTIME_STRIPS_PROGRAMWORDS_H
#define RUNTIME_STRIPS_PROGRAMWORDS_H

#include "runtime/pe/Code.h"

#include <cstdint>
#include <vector>

namespace wsec::runtime {

/// Halves of words, of the buffers that a class loads from, that hold in each
/// PE of a strip what the program alone has put there: immediates, and what was
/// computed of such words. A load finds the same there in all runs.
class ProgramWords {
public:
  ProgramWords(const ClassCode &code, int lanes);

  /// What was written until now does not count.
  void forget() { its.clear(); }
  /// Whether code loads some of halves [from, to).
  bool areLoaded(int64_t from, int64_t to) const;
  /// Whether all halves are such, in PE `lane` (-1: in all).
  bool hold(int64_t half, int64_t count, int lane) const;
  /// From now on they are, or are not.
  void set(int64_t half, int64_t count, int lane, bool value);

private:
  struct Range {
    int64_t begin, end; ///< in halves
    size_t first;       ///< half among all
  };
  template <class Visit>
  void forEachBit(int64_t half, int64_t count, int lane,
                  const Visit &visit) const;

  const int lanes;
  std::vector<Range> ranges; ///< in order, apart
  size_t halves = 0;         ///< in them
  std::vector<bool> its;     ///< by half and lane; empty: none
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_PROGRAMWORDS_H
