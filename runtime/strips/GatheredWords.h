// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_STRIPS_GATHEREDWORDS_H
#define RUNTIME_STRIPS_GATHEREDWORDS_H

#include "runtime/strips/StripQueue.h"

#include <memory>
#include <vector>

namespace wsec::runtime {

/// Words that lanes got from different senders. They are brought side by side,
/// [word][lane], as they are read: of what all columns of a row receive, a
/// window takes little.
class GatheredWords {
public:
  /// The first `words` of each front.
  GatheredWords(std::vector<Chunk> fronts, size_t words, StripQueue &queue);

  /// All of them, for all lanes, of which nothing can be read.
  Chunk chunk() const;
  /// The words of `chunk()` or of a part of it, to be read. Only for the reader
  /// of the queue.
  Chunk bring(Chunk part);

private:
  /// Rows of words, `step` from row to row.
  struct Block {
    size_t first = 0, length = 0, rows = 0, step = 0;
    std::shared_ptr<float[]> memory = {};
    uint32_t buffer = 0; ///< of the recording

    /// Words of memory from row to row. Rows do not become one.
    size_t pitch() const { return step == length ? length : length + 1; }
  };
  bool holds(const Block &wanted) const;
  void fill(Block &block) const;
  static bool isRectangle(const Block &block, const Chunk &front);
  static ptrdiff_t rowOf(const Block &block, const Chunk &front);
  bool interleaves(const Block &block) const;
  void copy(const Block &block, size_t lane, size_t row, size_t rows,
            size_t column, size_t length) const;

  const std::vector<Chunk> fronts;
  const size_t words, lanes;
  StripQueue &queue;
  Block last; ///< the one that was brought last
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_GATHEREDWORDS_H
