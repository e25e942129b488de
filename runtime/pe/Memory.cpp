// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pe/Memory.h"

#include <bit>

namespace wsec::runtime::pe {

void Memory::allocate() {
  bytes = std::make_unique<uint8_t[]>(size_t(size) + 1);
  marks = std::make_unique<uint64_t[]>(size_t(size) / 128 + 1);
}

template <class Visit>
bool Memory::forEachMark(int64_t address, int64_t count, const Visit &visit) {
  if (!bytes)
    allocate();
  int64_t from = (address - base) / 2, to = (address - base + count + 1) / 2;
  while (from < to) {
    const int64_t word = from / 64, bit = from % 64;
    const int64_t run = to - from < 64 - bit ? to - from : 64 - bit;
    const uint64_t mask = (run == 64 ? ~uint64_t(0) : (uint64_t(1) << run) - 1)
                          << bit;
    if (!visit(marks[size_t(word)], mask))
      return false;
    from += run;
  }
  return true;
}

bool Memory::written(int64_t address, int64_t count) {
  return forEachMark(address, count, [](uint64_t &word, uint64_t mask) {
    return (word & mask) == mask;
  });
}

void Memory::markWritten(int64_t address, int64_t count) {
  forEachMark(address, count, [](uint64_t &word, uint64_t mask) {
    word |= mask;
    return true;
  });
}

int64_t Memory::endOfWritten() const {
  if (!bytes)
    return 0;
  for (int64_t word = size / 128; word >= 0; --word)
    if (const uint64_t its = marks[size_t(word)])
      return base + 2 * (word * 64 + 64 - std::countl_zero(its));
  return 0;
}

} // namespace wsec::runtime::pe
