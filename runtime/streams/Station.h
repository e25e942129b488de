// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When words were taken, and when links carry them.
#ifndef RUNTIME_STREAMS_STATION_H
#define RUNTIME_STREAMS_STATION_H

#include "runtime/pe/Word.h"

#include <vector>

namespace wsec::runtime::streams {

using pe::Cycle;
using pe::never;
using pe::Time;
using pe::Word;

/// When the words of a place were taken, as far back as anybody may ask: one by
/// one if that is not far, else runs of equal distances.
class TakeLog {
public:
  /// From now on the last `words` are remembered, if not more.
  void keep(int64_t words);
  void add(Cycle when) {
    if (ring.empty())
      return addToRuns(when);
    ring[size_t(count++) & (ring.size() - 1)] = when;
  }
  /// When word `index` was taken, counted from the first; for a forgotten one
  /// not later than it was.
  Cycle at(int64_t index) const {
    if (ring.empty())
      return inRuns(index);
    return index + int64_t(ring.size()) < count
               ? 0
               : ring[size_t(index) & (ring.size() - 1)];
  }

private:
  struct Run {
    int64_t index; ///< of its first word
    Cycle time, step;
  };
  static constexpr int64_t mostOneByOne = 64;

  void addToRuns(Cycle when);
  Cycle inRuns(int64_t index) const;

  std::vector<Cycle> ring; ///< of a power of two
  std::vector<Run> runs;
  size_t head = 0;
  int64_t count = 0, kept = 0;
};

/// Cycles in which a link that several colors use carries a word.
class Slots {
public:
  /// The first free cycle from `from` on.
  Cycle next(Cycle from) const;
  /// Takes a free cycle. Nobody asks for cycles before `now` again.
  void take(Cycle cycle, Cycle now);

private:
  struct Run {
    Cycle first, last;
  };
  std::vector<Run> runs; ///< in order, with a free cycle between them
};

} // namespace wsec::runtime::streams

#endif // RUNTIME_STREAMS_STATION_H
