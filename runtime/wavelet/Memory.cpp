// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/wavelet/Memory.h"

namespace wsec::runtime::wavelet {

template <class Visit>
void Memory::forEachWord(int64_t address, int64_t size,
                         const Visit &visit) const {
  if (size <= 0)
    return;
  auto bit = uint64_t(address - base) / 2;
  const uint64_t end = (uint64_t(address - base) + uint64_t(size) + 1) / 2;
  while (bit < end) {
    const uint64_t count = std::min(end - bit, 64 - bit % 64);
    const uint64_t ones =
        count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1;
    visit(size_t(bit / 64), ones << bit % 64);
    bit += count;
  }
}

bool Memory::initialised(int64_t address, int64_t size) const {
  bool all = true;
  forEachWord(address, size, [&](size_t word, uint64_t mask) {
    all &= (written[word] & mask) == mask;
  });
  return all;
}

void Memory::mark(int64_t address, int64_t size) {
  forEachWord(address, size,
              [&](size_t word, uint64_t mask) { written[word] |= mask; });
}

} // namespace wsec::runtime::wavelet
