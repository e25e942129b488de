// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_OUTCHANNEL_H
#define RUNTIME_MEMORYX_OUTCHANNEL_H

#include "runtime/engine/HostPort.h"
#include "runtime/memoryx/Block.h"
#include "runtime/memoryx/TensorStore.h"

#include <map>
#include <vector>

namespace wsec::runtime {

/// The words that leave through one channel of the east edge for one Out
/// stream: finds for each its place in an output tensor.
class OutChannel {
public:
  /// `arguments` are those of the stream's launch.
  OutChannel(TensorStore &store, const program::HostStream &stream,
             const program::Channel &channel, std::vector<int64_t> arguments);

  /// Words expected in all, and for each tensor.
  uint64_t words();
  const std::map<uint32_t, uint64_t> &wordsOf() const { return byTensor; }
  uint64_t stored() const { return taken; }
  /// Stores the next words. Throws UnreadTraffic when there are too many.
  void store(const WordView &words);

private:
  /// Moves on to the next block that has words; false after the last one.
  bool nextBlock();
  /// The block of a segment in PE (x, y).
  Block blockAt(const program::Segment &segment, int32_t x, int32_t y);
  /// The same, once the scalars are those of the PE.
  Block blockHere(const program::Segment &segment) const;
  void storeRow(const float *words, size_t count);

  TensorStore &tensors;
  const program::HostStream &stream;
  const program::Channel &channel;
  const std::vector<int64_t> arguments;
  int32_t width;
  std::vector<int64_t> scalars;
  uint64_t total = 0;
  std::map<uint32_t, uint64_t> byTensor;
  bool counted = false;
  uint64_t taken = 0;

  // The block being filled: of `segment`, in PE (x, y).
  flatbuffers::uoffset_t segment = 0;
  int32_t x, y;
  Block block;
  uint64_t filled = 0; ///< words of `block` stored so far
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_OUTCHANNEL_H
