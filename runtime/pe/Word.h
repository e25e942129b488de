// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What travels over the fabric, and queues of it.
#ifndef RUNTIME_PE_WORD_H
#define RUNTIME_PE_WORD_H

#include "runtime/program/program_generated.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace wsec::runtime::pe {

/// Cycles since the start of the run: those in which something happens, and
/// those that instructions take.
using Cycle = int64_t;
using Time = double;
inline constexpr Cycle never = std::numeric_limits<Cycle>::max();

/// How elements lie in wavelets. Carried along so that a receiver that expects
/// something else is found out.
inline uint8_t wireForm(program::ElementType type, program::Packing packing) {
  return uint8_t(int(type) * 2 + int(packing));
}
/// Half a pair, at the end of an odd number of elements.
inline constexpr uint8_t halfFilled = 0x80;
/// "f16 in pairs".
std::string describeForm(uint8_t form);

/// A wavelet, and the cycle from which on it can be taken where it waits.
struct Word {
  Cycle ready = 0;
  uint32_t payload = 0;
  uint32_t commands = 0; ///< of a control wavelet: 4 bits each, next lowest
  int16_t task = -1;     ///< of a control wavelet: whom it starts
  uint8_t form = 0;
  bool control = false;
  /// How often the sender's own switch advances once this has passed it.
  uint8_t advances = 0;
};

/// First in, first out. Takes no memory before the first word; there are many.
class WordQueue {
public:
  bool empty() const { return count == 0; }
  size_t size() const { return count; }
  const Word &front() const { return words[head]; }
  const Word &operator[](size_t i) const {
    return words[(head + i) & (words.size() - 1)];
  }
  Word &back() { return words[(head + count - 1) & (words.size() - 1)]; }
  void push(const Word &word) {
    if (count == words.size())
      grow();
    words[(head + count++) & (words.size() - 1)] = word;
  }
  void pop() {
    head = (head + 1) & (words.size() - 1);
    --count;
  }

private:
  void grow() {
    std::vector<Word> larger(std::max<size_t>(4, 2 * words.size()));
    for (size_t i = 0; i < count; ++i)
      larger[i] = (*this)[i];
    words.swap(larger);
    head = 0;
  }

  std::vector<Word> words; ///< a power of two
  size_t head = 0, count = 0;
};

} // namespace wsec::runtime::pe

#endif // RUNTIME_PE_WORD_H
