// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/OutChannel.h"
#include "runtime/memoryx/Elements.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Scalars.h"

#include <algorithm>

namespace wsec::runtime {

OutChannel::OutChannel(TensorStore &store, const program::HostStream &stream,
                       const program::Channel &channel,
                       std::vector<int64_t> arguments)
    : tensors(store), stream(stream), channel(channel),
      arguments(std::move(arguments)),
      width(store.program().machine()->width()), x(width), y(channel.begin()) {}

Block OutChannel::blockHere(const program::Segment &segment) const {
  Block block = makeBlock(segment, scalars);
  checkBounds(block, stream, tensors.tensor(segment.tensor()), 1, 0);
  return block;
}

Block OutChannel::blockAt(const program::Segment &segment, int32_t x,
                          int32_t y) {
  evaluateScalars(stream.scalars(), x, y, scalars, arguments.data());
  return blockHere(segment);
}

uint64_t OutChannel::words() {
  if (counted)
    return total;
  counted = true;
  for (int32_t row = channel.begin(); row < channel.end(); ++row)
    for (int32_t column = 0; column < width; ++column) {
      evaluateScalars(stream.scalars(), column, row, scalars, arguments.data());
      for (const program::Segment *segment : *stream.segments()) {
        const uint64_t words = blockHere(*segment).words;
        byTensor[segment->tensor()] += words;
        total += words;
        if (total > largestStreamWords)
          throw Error(ErrorClass::BadProgram,
                      "stream " + inQuotes(stream.name()->string_view()) +
                          " is too long");
      }
    }
  return total;
}

bool OutChannel::nextBlock() {
  const auto &segments = *stream.segments();
  for (; segment < segments.size(); ++segment, y = channel.begin()) {
    for (; y < channel.end(); ++y, x = width)
      while (x > 0) {
        block = blockAt(*segments.Get(segment), --x, y);
        filled = 0;
        if (block.words > 0)
          return true;
      }
  }
  return false;
}

void OutChannel::store(const WordView &words) {
  for (size_t row = 0; row < words.rows; ++row)
    storeRow(words.data + row * words.stride, words.length);
  taken += words.words();
}

void OutChannel::storeRow(const float *words, size_t count) {
  while (count > 0) {
    if (filled == block.words && !nextBlock())
      throw Error(ErrorClass::UnreadTraffic,
                  "stream " + inQuotes(stream.name()->string_view()) +
                      " brings more than the " + std::to_string(this->words()) +
                      " words expected on the channel of row " +
                      std::to_string(channel.row()));
    uint64_t length = block.runLength();
    uint64_t within = filled % length;
    size_t part = size_t(std::min<uint64_t>(count, length - within));
    uint32_t tensor = stream.segments()->Get(segment)->tensor();
    writeElements(tensors.tensor(tensor).type(), tensors.outputElements(tensor),
                  block.runStart(filled / length) +
                      int64_t(within) * block.runStride(),
                  block.runStride(), part, words);
    filled += part;
    words += part;
    count -= part;
  }
}

} // namespace wsec::runtime
