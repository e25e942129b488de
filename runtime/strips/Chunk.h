// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words on their way, and those that wait for one PE.
#ifndef RUNTIME_STRIPS_CHUNK_H
#define RUNTIME_STRIPS_CHUNK_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace wsec::runtime {

class GatheredWords;

/// Words for one or more lanes (PEs): word `c` of row `r` for lane `l` lies at
/// data + r * rowStride + c * wordStride + l * laneStride. They arrive evenly
/// spaced between the times `first` and `last`. Copies share the data.
struct Chunk {
  const float *data = nullptr;
  size_t rows = 0, length = 0;
  ptrdiff_t rowStride = 0, wordStride = 1, laneStride = 0;
  double first = 0, last = 0;
  std::shared_ptr<const void> owner;
  uint32_t buffer = 0; ///< of the recording, if there is one
  bool paced = false;  ///< by a channel, as those it is for take them
  /// Who brings the words where they are to be read, if they are not there.
  GatheredWords *gathered = nullptr;

  size_t words() const { return rows * length; }
  /// Whether word i lies at data + i * wordStride.
  bool linear() const {
    return rows == 1 || rowStride == ptrdiff_t(length) * wordStride;
  }
  /// Where word `i` lies.
  const float *at(size_t i) const {
    return data + (linear() ? ptrdiff_t(i) * wordStride
                            : ptrdiff_t(i / length) * rowStride +
                                  ptrdiff_t(i % length) * wordStride);
  }
  /// When word `i` arrives.
  double arrival(size_t i) const { return arrivalOf(i, words()); }
  /// The first part of at most `count` words that is a rectangle, starting at
  /// word `from`.
  Chunk part(size_t from, size_t count) const {
    Chunk result = *this;
    result.cut(from, count);
    return result;
  }
  void cut(size_t from, size_t count);
  /// When word `i` of `n` arrives.
  double arrivalOf(size_t i, size_t n) const {
    return n < 2 ? first : first + (last - first) * double(i) / double(n - 1);
  }
  /// This chunk's words for the lanes from `lane` on, or that lane's for all.
  Chunk shifted(ptrdiff_t lane, bool broadcast) const;
};

/// Words of nested loops, in order, as rows.
struct WordRows {
  size_t rows = 1, length = 1;
  ptrdiff_t rowStride = 0, wordStride = 0;
};
/// None if they are no rectangle; strides and extents from the outermost loop.
std::optional<WordRows> rowsOf(const size_t *extent, const ptrdiff_t *stride,
                               int dimensions);

/// First in, first out; hands out what is left of the oldest chunk. There are
/// millions of them, most of them empty most of the time.
class Fifo {
public:
  Fifo() = default;
  Fifo(Fifo &&other) noexcept { swap(other); }
  Fifo &operator=(Fifo &&other) noexcept {
    swap(other);
    return *this;
  }
  ~Fifo() {
    while (oldest)
      forgetOldest();
  }
  bool empty() const { return oldest == nullptr; }
  void push(Chunk chunk);
  /// The words of the oldest chunk that are left, as one rectangle.
  Chunk front() const {
    const Chunk &chunk = whole();
    return consumed ? chunk.part(consumed, chunk.words() - consumed) : chunk;
  }
  void pop(size_t words) {
    consumed += words;
    if (consumed == whole().words())
      forgetOldest();
  }
  /// Words of `front`.
  size_t frontWords() const {
    return consumed ? front().words() : whole().words();
  }
  /// The oldest chunk if all its words are left, else null.
  const Chunk *untouched() const { return consumed ? nullptr : &whole(); }
  bool frontPaced() const { return whole().paced; }
  /// `front`, and pops it.
  Chunk take();

private:
  struct Node {
    Chunk chunk;
    Node *next = nullptr;
  };
  struct FreeNodes;
  const Chunk &whole() const { return oldest->chunk; }
  void forgetOldest();
  void swap(Fifo &other) {
    std::swap(oldest, other.oldest);
    std::swap(newest, other.newest);
    std::swap(consumed, other.consumed);
  }

  Node *oldest = nullptr, *newest = nullptr;
  size_t consumed = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_CHUNK_H
