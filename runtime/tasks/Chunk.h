// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_TASKS_CHUNK_H
#define RUNTIME_TASKS_CHUNK_H

#include "runtime/program/program_generated.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace wsec::runtime::tasks {

/// Cycles since the start of the run.
using Time = double;

/// How elements lie in wavelets. Carried along so that a receiver that expects
/// something else is found out.
inline uint8_t wireForm(program::ElementType type, program::Packing packing) {
  return uint8_t(int(type) * 2 + int(packing));
}

/// Wavelets that follow one another on one color: the words of an instruction,
/// or a control wavelet. They pass a place at evenly spread times.
struct Chunk {
  std::shared_ptr<const std::vector<uint32_t>> words; ///< null: just `word`
  uint32_t offset = 0;
  uint32_t count = 1;
  uint32_t word = 0;
  Time first = 0, last = 0;
  uint8_t form = 0;
  bool control = false;
  /// The sender's own switch moves once this has passed; without words, too.
  bool advances = false;
  uint32_t commands = 0; ///< of a control wavelet: 4 bits each, next lowest
  int16_t task = -1;     ///< of a control wavelet: whom it starts

  uint32_t at(uint32_t i) const { return words ? (*words)[offset + i] : word; }
  Time time(uint32_t i) const {
    return count < 2 ? first : first + (last - first) * i / (count - 1);
  }
  /// Drops the first `n` < count words.
  void drop(uint32_t n) {
    first = time(n);
    offset += n;
    count -= n;
  }
  /// The first `n` words.
  Chunk head(uint32_t n) const {
    Chunk part = *this;
    part.last = time(n - 1);
    part.count = n;
    return part;
  }
};

/// First in, first out. Takes no memory while it is empty for the first time;
/// there are many.
class ChunkQueue {
public:
  bool empty() const { return head == chunks.size(); }
  Chunk &front() { return chunks[head]; }
  const Chunk &front() const { return chunks[head]; }
  Chunk &back() { return chunks.back(); }
  void push_back(Chunk chunk) { chunks.push_back(std::move(chunk)); }
  void pop_front() {
    chunks[head++].words.reset();
    if (head == chunks.size()) {
      chunks.clear();
      head = 0;
    } else if (head > 64 && head * 2 > chunks.size()) {
      chunks.erase(chunks.begin(), chunks.begin() + ptrdiff_t(head));
      head = 0;
    }
  }
  auto begin() const { return chunks.begin() + ptrdiff_t(head); }
  auto end() const { return chunks.end(); }

private:
  std::vector<Chunk> chunks;
  size_t head = 0;
};

} // namespace wsec::runtime::tasks

#endif // RUNTIME_TASKS_CHUNK_H
