// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where words wait: words, queues of them, and when they were taken.
#ifndef RUNTIME_STREAMS_STATION_H
#define RUNTIME_STREAMS_STATION_H

#include "runtime/program/program_generated.h"
#include "runtime/streams/Agenda.h"

#include <memory>
#include <vector>

namespace wsec::runtime::streams {

/// How elements lie in wavelets. Carried along so that a receiver that expects
/// something else is found out.
inline uint8_t wireForm(program::ElementType type, program::Packing packing) {
  return uint8_t(int(type) * 2 + int(packing));
}
/// Half a pair, at the end of an odd number of elements.
inline constexpr uint8_t halfFilled = 0x80;

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
  Word &front() { return words[head]; }
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
  /// Of word `index`, counted from the first; of a forgotten one not later
  /// than it was.
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
