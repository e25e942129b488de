// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_INCHANNEL_H
#define RUNTIME_MEMORYX_INCHANNEL_H

#include "runtime/engine/HostPort.h"
#include "runtime/memoryx/Block.h"
#include "runtime/memoryx/TensorStore.h"
#include "runtime/memoryx/WrittenLines.h"
#include "runtime/program/Errors.h"
#include "runtime/program/Wire.h"

#include <vector>

namespace wsec::runtime {

/// The words of one In stream for one channel of the west edge, in wire order.
///
/// Lines of f32 that travel as such are handed out where they lie in their
/// file: a weight matrix streamed by rows or by columns costs nothing. What is
/// gathered, converted or put together is written out some lines at a time.
class InChannel {
public:
  /// Blocks of all channels of a program that may be kept: some hundred
  /// megabytes.
  static constexpr uint64_t mostBlocks = 1 << 21;

  /// `arguments` are those of the stream's launch. Adds the blocks it keeps to
  /// `blocks`. Throws WorkLimit.
  InChannel(const TensorStore &store, const program::HostStream &stream,
            const program::Channel &channel,
            const std::vector<int64_t> &arguments, uint64_t &blocks);

  /// Takes lines that an earlier run of the call wrote from `its`, and adds
  /// those that it writes itself, as far as `all` has room.
  void keep(WrittenLines &all, std::vector<WordView> &its) {
    kept = &all;
    keptLines = &its;
  }

  /// For another run: from the first word on.
  void restart();

  uint64_t words() const { return total; }
  /// The words that come from weights and constants.
  uint64_t weightWords() const { return weights; }
  uint64_t delivered() const { return taken; }
  /// Words that came another way than out of `next`.
  void countDelivered(uint64_t words) { taken += words; }
  /// At most `maxWords` words, of one pass over the stream; from the start
  /// again behind the last one.
  WordView next(size_t maxWords);

private:
  /// What one segment sends to the columns of the channel.
  struct Part {
    const program::Segment *segment;
    Wire wire;
    int64_t lines = 0;
    uint64_t lineWords = 0;
    Blocks blocks; ///< of one line, in column order
    /// For each word of a line, if there are odd blocks of pairs, whether it
    /// has only one element.
    std::vector<uint8_t> halves;
  };

  /// Adds the block of a column where scalars have these values.
  void addColumn(Part &part, const std::vector<int64_t> &scalars,
                 uint64_t &blocks) const;
  Error tooLong() const;
  /// Views the rest of a part in place; empty when it cannot be.
  WordView viewInPlace(const Part &part);
  /// The next lines of a part, written out now or in an earlier run.
  WordView written(Part &part);
  bool isConstant(const Part &part) const;
  /// Writes out the next lines of a part.
  WordView writeLines(Part &part);
  /// Whether all elements of a part are floats of 32 bits that travel in pairs
  /// of 16, and those of a pair and of the lines behind it follow one another.
  bool pairsFollow(const Part &part) const;
  /// Writes out the next lines of such a part, word by word for all of them.
  WordView writePairs(const Part &part);
  void prefetch(const Part &part, const Block &block) const;
  /// Writes, as floats, `count` blocks `step` apart, in lines `pitch` apart,
  /// from `line` + `first` on.
  void writeBlocks(const Part &part, const Block &block, size_t count,
                   int64_t step, int64_t first, int64_t lines, float *words,
                   size_t pitch) const;
  /// Packs lines, as elements of the wire that are put into words.
  void packBlock(const Part &part, const Block &block, int64_t lines,
                 float *words) const;
  /// Packs lines of floats of 32 bits; false if they are none.
  bool packFloats(const Part &part, const Block &block, int64_t lines,
                  float *words) const;
  void readRun(const Part &part, program::ElementType wire, int64_t first,
               const Block &block, void *elements) const;
  void findHalves(Part &part) const;
  /// Whether the elements of a segment are floats of 32 bits in a file, and
  /// travel as floats of 16.
  bool narrows(const Part &part) const;
  int64_t linesAtOnce(const Part &part) const;
  /// How many of these are written at a time.
  int64_t groupsAtOnce(const Part &part, int64_t lines) const;
  /// Element that line `line` is moved by, and how far by the row it takes.
  int64_t lineOffset(const program::Segment &segment, int64_t line) const;
  int64_t rowOffset(const program::Segment &segment, int64_t line) const;

  const TensorStore &store;
  const program::HostStream &stream;
  std::vector<Part> parts;
  uint64_t total = 0;
  uint64_t weights = 0;
  uint64_t taken = 0;
  WrittenLines *kept = nullptr;
  std::vector<WordView> *keptLines = nullptr;
  size_t keptAt = 0;   ///< the next of `keptLines` in this pass, or SIZE_MAX
  size_t part = 0;     ///< the part `line` counts in
  int64_t line = 0;    ///< the next line to view or write
  WordView ready;      ///< lines already viewed or written ...
  size_t readyRow = 0; ///< ... and where to go on in them
  size_t group = SIZE_MAX; ///< rows of them that are handed out together
  size_t readyWord = 0;
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_INCHANNEL_H
