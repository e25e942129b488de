// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/OutChannel.h"
#include "runtime/memoryx/Elements.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Scalars.h"

#include <algorithm>
#include <cstring>

namespace wsec::runtime {

OutChannel::OutChannel(TensorStore &store, const program::HostStream &stream,
                       const program::Channel &channel,
                       std::vector<int64_t> arguments)
    : tensors(store), stream(stream), channel(channel),
      arguments(std::move(arguments)),
      width(store.program().machine()->width()), x(width), y(channel.begin()),
      wire(stream) {}

Block OutChannel::blockHere(const program::Segment &segment,
                            int64_t lines) const {
  Block block = makeBlock(segment, scalars);
  checkBounds(block, stream, tensors.tensor(segment.tensor()), lines,
              segment.line_stride());
  return block;
}

/// Adds the block where the scalars are; `lines` is that of the blocks before,
/// or -1.
void OutChannel::count(const program::Segment &segment, int64_t &lines) {
  const int64_t here =
      std::max<int64_t>(0, evaluateAffine(*segment.lines(), scalars));
  const Block block = blockHere(segment, here);
  if (block.elements == 0)
    return;
  if (lines >= 0 && lines != here)
    throw Error(ErrorClass::BadProgram,
                "stream " + inQuotes(stream.name()->string_view()) +
                    " has blocks of one channel with " + std::to_string(lines) +
                    " and " + std::to_string(here) + " lines");
  lines = here;
  if (here == 0)
    return;
  uint64_t words;
  if (__builtin_mul_overflow(Wire(stream, segment).wavelets(block.elements),
                             uint64_t(here), &words) ||
      words > largestStreamWords - total)
    throw Error(ErrorClass::BadProgram,
                "stream " + inQuotes(stream.name()->string_view()) +
                    " is too long");
  total += words;
  auto [low, high] = block.span(here, segment.line_stride());
  auto [at, isNew] = byTensor.try_emplace(segment.tensor());
  Share &share = at->second;
  share.low = isNew ? low : std::min(share.low, low);
  share.high = isNew ? high : std::max(share.high, high);
  share.accumulates |= segment.accumulate();
  // Lines that go to the same place write it again.
  share.elements +=
      block.elements * uint64_t(segment.line_stride() == 0 ? 1 : here);
}

uint64_t OutChannel::words() {
  if (counted)
    return total;
  counted = true;
  linesOf.assign(stream.segments()->size(), -1);
  for (int32_t row = channel.begin(); row < channel.end(); ++row)
    for (int32_t column = 0; column < width; ++column) {
      evaluateScalars(stream.scalars(), column, row, scalars, arguments.data());
      for (unsigned i = 0; i < linesOf.size(); ++i)
        count(*stream.segments()->Get(i), linesOf[i]);
    }
  return total;
}

bool OutChannel::nextBlockOfLaunch() {
  const auto &segments = *stream.segments();
  for (; segment < segments.size(); ++segment, line = 0)
    for (; line < linesOf[segment]; ++line, y = channel.begin())
      for (; y < channel.end(); ++y, x = width)
        while (x > 0) {
          evaluateScalars(stream.scalars(), --x, y, scalars, arguments.data());
          block = makeBlock(*segments.Get(segment), scalars);
          block.offset += line * segments.Get(segment)->line_stride();
          wire = Wire(stream, *segments.Get(segment));
          filled = 0;
          if (block.elements > 0)
            return true;
        }
  segment = 0;
  return false;
}

bool OutChannel::nextBlock() {
  return words() > 0 && (nextBlockOfLaunch() || nextBlockOfLaunch());
}

void OutChannel::store(const WordView &words) {
  for (size_t row = 0; row < words.rows; ++row)
    storeRow(words, row);
  taken += words.words();
}

void OutChannel::storeRow(const WordView &words, size_t row) {
  const float *data = words.data + row * words.stride;
  for (size_t done = 0; done < words.length;) {
    if (filled == block.elements && !nextBlock())
      throw Error(ErrorClass::UnreadTraffic,
                  "stream " + inQuotes(stream.name()->string_view()) +
                      " brings words on the channel of row " +
                      std::to_string(channel.row()) + ", which takes none");
    constexpr size_t most = 512;
    const uint64_t left = wire.wavelets(block.elements - filled);
    size_t count = size_t(std::min<uint64_t>(words.length - done, left));
    const void *elements = data + done;
    uint64_t available = count;
    if (wire.is16()) {
      count = std::min(count, most);
      available = unpack(words, row * words.length + done, count);
      elements = halves.data();
    }
    done += count;
    const size_t bytes = wire.is16() ? 2 : 4;
    while (available > 0) {
      const uint64_t within = filled % block.runLength();
      const uint64_t part = std::min(available, block.runLength() - within);
      storeRun(elements,
               uint64_t(block.runStart(filled / block.runLength()) +
                        int64_t(within) * block.runStride()),
               size_t(part));
      elements = static_cast<const uint8_t *>(elements) + part * bytes;
      filled += part;
      available -= part;
    }
  }
}

size_t OutChannel::unpack(const WordView &words, size_t first, size_t count) {
  halves.resize(2 * count);
  const auto *bits = reinterpret_cast<const uint8_t *>(
      words.data + first / words.length * words.stride + first % words.length);
  if (!wire.pairs()) {
    for (size_t i = 0; i < count; ++i)
      std::memcpy(&halves[i], bits + 4 * i, 2);
    return count;
  }
  std::memcpy(halves.data(), bits, 4 * count);
  const uint64_t left = block.elements - filled;
  // Words of two elements that are as all others do not say how many they have.
  for (size_t i = 0; stream.packing() == wire.packing && i < count; ++i)
    if (words.half(first + i) != (2 * i + 1 == left))
      throw Error(ErrorClass::PackingMismatch,
                  "stream " + inQuotes(stream.name()->string_view()) +
                      " (row " + std::to_string(channel.row()) + ") takes " +
                      (words.half(first + i) ? "pairs, half a pair comes"
                                             : "half a pair at the end of a "
                                               "block, a pair comes") +
                      ": let an instruction send a block");
  return size_t(std::min<uint64_t>(2 * count, left));
}

void OutChannel::storeRun(const void *elements, uint64_t first, size_t count) {
  const program::Segment &its = *stream.segments()->Get(segment);
  const uint32_t tensor = its.tensor();
  uint8_t *data = tensors.outputElements(tensor);
  if (!its.accumulate()) {
    const program::Tensor &to = tensors.tensor(tensor);
    const size_t good = writeWire(wire.type, elements, count, to.type(), data,
                                  int64_t(first), block.runStride());
    if (good == count)
      return;
    throw Error(
        ErrorClass::BadTensor,
        "element " +
            std::to_string(int64_t(first) + int64_t(good) * block.runStride()) +
            " of tensor " + inQuotes(to.name()->string_view()) + " would be " +
            std::to_string(readIndex(
                wire.type, static_cast<const uint8_t *>(elements), good)) +
            ", which " + program::EnumNameElementType(to.type()) +
            " does not hold");
  }
  Share &share = byTensor.at(tensor);
  float *sums = share.sums.empty()
                    ? reinterpret_cast<float *>(data) + first
                    : share.sums.data() + (int64_t(first) - share.low);
  addWire(wire.type, elements, count, sums, block.runStride());
}

} // namespace wsec::runtime
