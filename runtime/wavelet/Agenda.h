// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_WAVELET_AGENDA_H
#define RUNTIME_WAVELET_AGENDA_H

#include "runtime/pe/Word.h"

#include <array>
#include <functional>
#include <queue>
#include <vector>

namespace wsec::runtime::wavelet {

using pe::Cycle;

/// Who is to be looked at in which cycle. Cycles in which nobody has anything
/// to do are passed over.
///
/// The near future is a ring of lists, one for each cycle; the far future a
/// heap. What is due comes in an order that depends only on what was entered.
class Agenda {
public:
  /// Enters `who` for a cycle after the current one.
  void enter(Cycle when, uint32_t who) {
    if (when <= current)
      when = current + 1;
    if (when - current < ringSize) {
      size_t slot = size_t(when) % ringSize;
      ring[slot].push_back(who);
      occupied[slot / 64] |= uint64_t(1) << slot % 64;
    } else {
      far.push({when, who});
    }
  }

  /// Goes to the next cycle for which anybody is entered and hands them out;
  /// false if there is none.
  bool advance(std::vector<uint32_t> &due);

  Cycle now() const { return current; }

private:
  static constexpr Cycle ringSize = 1024;
  Cycle nextInRing() const;

  Cycle current = -1;
  std::array<std::vector<uint32_t>, ringSize> ring;
  std::array<uint64_t, ringSize / 64> occupied{};
  using Entry = std::pair<Cycle, uint32_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> far;
};

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_AGENDA_H
