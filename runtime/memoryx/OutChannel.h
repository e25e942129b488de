// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_OUTCHANNEL_H
#define RUNTIME_MEMORYX_OUTCHANNEL_H

#include "runtime/engine/HostPort.h"
#include "runtime/memoryx/OutBlocks.h"
#include "runtime/memoryx/TensorStore.h"
#include "runtime/program/Wire.h"

#include <map>
#include <vector>

namespace wsec::runtime {

/// The words that leave through one channel of the east edge for one Out
/// stream: finds for each element its place in an output tensor. Behind the
/// last word comes the first of the next launch.
class OutChannel {
public:
  /// What one launch does to a tensor.
  struct Share {
    uint64_t elements = 0;     ///< different ones, as far as lines tell
    int64_t low = 0, high = 0; ///< the elements it touches, if any
    bool accumulates = false;
    /// Sums of the elements from `low` on, if they are kept apart.
    std::vector<float> sums;
  };

  /// `segments`: the blocks of each, which must outlive this.
  OutChannel(TensorStore &store, const program::HostStream &stream,
             const program::Channel &channel,
             const std::vector<OutBlocks> &segments);

  /// For another run: from the first block on.
  void restart();

  /// Words expected for a launch, and what they do to each tensor.
  uint64_t words();
  std::map<uint32_t, Share> &shares() { return byTensor; }
  uint64_t stored() const { return taken; }
  /// Stores the next words. Throws PackingMismatch when pairs do not end with
  /// their block.
  void store(const WordView &words);

private:
  /// Moves on to the next block that has elements, from the last one to the
  /// first; false if there is none.
  bool nextBlock();
  bool nextBlockOfLaunch();
  /// Counts a segment: by the sizes of its blocks, or block by block.
  void count(size_t segment);
  void countSeparable(size_t segment);
  void countBlocks(size_t segment);
  /// Adds `number` blocks of a segment with so many elements.
  void add(const program::Segment &segment, uint64_t elements, uint64_t number,
           int64_t lines);
  /// Elements of a segment from that of `low` to that of `high`, in all lines.
  void touch(const program::Segment &segment, const Block &low,
             const Block &high, int64_t lines);
  /// Stores `words`, those from `first` on of what has come, which lie side by
  /// side at `data`.
  void storeWords(const WordView &words, size_t first, const float *data,
                  size_t count);
  /// Stores elements of the current block, of one run.
  void storeRun(const void *elements, uint64_t first, size_t count);
  /// Stores pairs whose first elements follow one another in the tensor, as the
  /// second ones do; returns how many elements, 0 if the block has none here.
  uint64_t storePairs(const void *elements, uint64_t available);
  /// Stores floats of whole runs that lie evenly apart, likewise.
  uint64_t storeRuns(const void *elements, uint64_t available);
  /// Words of 16-bit elements; returns how many they are.
  size_t unpack(const WordView &words, size_t first, const float *data,
                size_t count);

  TensorStore &tensors;
  const program::HostStream &stream;
  const program::Channel &channel;
  const std::vector<OutBlocks> &segments;
  uint64_t total = 0;
  std::map<uint32_t, Share> byTensor;
  std::vector<int64_t> linesOf; ///< by segment
  bool counted = false;
  uint64_t taken = 0;

  // The block being filled: line `line` of `segment`, behind so many rows of
  // the channel, and in its row the last of so many columns, from the east.
  flatbuffers::uoffset_t segment = 0;
  int64_t line = 0;
  size_t rowsDone = 0, columnsDone = 0;
  Block block;
  Wire wire;           ///< of `segment`
  uint64_t filled = 0; ///< elements of `block` stored so far
  std::vector<uint16_t> halves;
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_OUTCHANNEL_H
