// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_STREAMS_AGENDA_H
#define RUNTIME_STREAMS_AGENDA_H

#include "runtime/pe/Word.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

namespace wsec::runtime::streams {

using pe::Cycle;

/// PEs and rows of the west edge by the cycle in which they are looked at
/// again, and after all of them routers; of one cycle, in the order in which
/// they were entered. Cycles in
/// which nobody is due cost next to nothing.
class Agenda {
public:
  void enter(Cycle when, uint32_t pe) {
    when = std::max(when, clock + 1);
    ++size;
    if (when - clock < ringSize)
      ring[size_t(when % ringSize)].push_back(pe);
    else
      far.push({when, pe});
  }

  /// Enters a router, also for the current cycle.
  void enterLate(Cycle when, uint32_t pe) {
    if (when <= clock && !lateOver)
      late.push_back(pe);
    else
      enter(when, pe | router);
  }
  void enterEdge(Cycle when, uint32_t row) { enter(when, row | edge); }
  /// Whether an entry is a router, and of which PE; or the edge of a row.
  static bool isRouter(uint32_t entry) { return entry & router; }
  static bool isEdge(uint32_t entry) { return entry & edge; }
  static uint32_t indexOf(uint32_t entry) { return entry & ~(router | edge); }

  /// Goes to the next cycle for which anybody is entered; false: there is
  /// none. PEs are due first.
  bool advance(std::vector<uint32_t> &due) {
    due.clear();
    lateOver = false;
    if (size == 0)
      return false;
    while (due.empty()) {
      ++clock;
      if (size == far.size())
        clock = std::max(clock, far.top().first);
      due.swap(ring[size_t(clock % ringSize)]);
      for (; !far.empty() && far.top().first == clock; far.pop())
        due.push_back(far.top().second);
    }
    size -= due.size();
    return true;
  }

  /// What was entered late for the current cycle, which is over with that.
  bool takeLate(std::vector<uint32_t> &due) {
    due.swap(late);
    late.clear();
    lateOver = true;
    return !due.empty();
  }

  Cycle now() const { return clock; }

private:
  static constexpr uint32_t router = uint32_t(1) << 31;
  static constexpr uint32_t edge = uint32_t(1) << 30;

  static constexpr Cycle ringSize = 1024;
  using Entry = std::pair<Cycle, uint32_t>;

  Cycle clock = -1;
  size_t size = 0;
  bool lateOver = false;
  std::vector<uint32_t> late;
  std::array<std::vector<uint32_t>, ringSize> ring;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> far;
};

} // namespace wsec::runtime::streams

#endif // RUNTIME_STREAMS_AGENDA_H
