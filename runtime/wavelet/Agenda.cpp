// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/wavelet/Agenda.h"

#include <limits>

namespace wsec::runtime::wavelet {

static constexpr Cycle never = std::numeric_limits<Cycle>::max();

Cycle Agenda::nextInRing() const {
  const size_t first = size_t(current + 1) % ringSize;
  const size_t words = occupied.size();
  for (size_t i = 0; i <= words; ++i) {
    size_t word = (first / 64 + i) % words;
    uint64_t bits = occupied[word];
    if (i == 0)
      bits &= ~uint64_t(0) << first % 64;
    else if (i == words) // around the ring, back to where it began
      bits &= ~(~uint64_t(0) << first % 64);
    if (bits == 0)
      continue;
    size_t slot = word * 64 + size_t(std::countr_zero(bits));
    return current + 1 + Cycle((slot + ringSize - first) % ringSize);
  }
  return never;
}

bool Agenda::advance(std::vector<uint32_t> &due) {
  due.clear();
  Cycle next = nextInRing();
  if (!far.empty() && far.top().first < next)
    next = far.top().first;
  if (next == never)
    return false;
  current = next;
  size_t slot = size_t(current) % ringSize;
  due.swap(ring[slot]);
  occupied[slot / 64] &= ~(uint64_t(1) << slot % 64);
  for (; !far.empty() && far.top().first == current; far.pop())
    due.push_back(far.top().second);
  return true;
}

} // namespace wsec::runtime::wavelet
