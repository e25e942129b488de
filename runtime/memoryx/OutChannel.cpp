// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/OutChannel.h"
#include "runtime/memoryx/Elements.h"
#include "runtime/pe/HalfKernels.h"
#include "runtime/pe/UnalignedFloat.h"
#include "runtime/pe/VectorKernels.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"

#include <algorithm>
#include <cstring>

namespace wsec::runtime {

OutChannel::OutChannel(TensorStore &store, const program::HostStream &stream,
                       const program::Channel &channel,
                       const std::vector<OutBlocks> &segments)
    : tensors(store), stream(stream), channel(channel), segments(segments),
      wire(stream) {}

void OutChannel::add(const program::Segment &its, uint64_t elements,
                     uint64_t number, int64_t lines) {
  uint64_t words, all;
  if (__builtin_mul_overflow(Wire(stream, its).wavelets(elements), number,
                             &words) ||
      __builtin_mul_overflow(words, uint64_t(lines), &all) ||
      all > largestStreamWords - total)
    throw Error(ErrorClass::BadProgram,
                "stream " + inQuotes(stream.name()->string_view()) +
                    " is too long");
  total += all;
  // Lines that go to the same place write it again.
  if (lines > 0)
    byTensor[its.tensor()].elements +=
        elements * number * uint64_t(its.line_stride() == 0 ? 1 : lines);
}

void OutChannel::touch(const program::Segment &its, const Block &low,
                       const Block &high, int64_t lines) {
  for (const Block &block : {low, high})
    checkBounds(block, stream, tensors.tensor(its.tensor()), lines,
                its.line_stride());
  if (lines == 0)
    return;
  const auto [at, isNew] = byTensor.try_emplace(its.tensor());
  Share &share = at->second;
  const int64_t least = low.span(lines, its.line_stride()).first;
  const int64_t greatest = high.span(lines, its.line_stride()).second;
  share.low = isNew ? least : std::min(share.low, least);
  share.high = isNew ? greatest : std::max(share.high, greatest);
  share.accumulates |= its.accumulate();
}

void OutChannel::countSeparable(size_t number) {
  const program::Segment &its = *stream.segments()->Get(unsigned(number));
  const OutBlocks &blocks = segments[number];
  const OutBlocks::Rows rows = blocks.rowsOf(channel);
  if (rows.begin == rows.end || blocks.columnCount() == 0)
    return;
  const int64_t lines = linesOf[number] = blocks.lines(0, rows.begin);
  const auto [low, high] = blocks.extremes(rows);
  touch(its, low, high, lines);
  for (auto [elements, count] : blocks.sizes(rows))
    add(its, elements, count, lines);
}

void OutChannel::countBlocks(size_t number) {
  const program::Segment &its = *stream.segments()->Get(unsigned(number));
  const OutBlocks &blocks = segments[number];
  const OutBlocks::Rows rows = blocks.rowsOf(channel);
  int64_t &lines = linesOf[number];
  for (size_t row = rows.begin; row < rows.end; ++row)
    for (size_t column = 0; column < blocks.columnCount(); ++column) {
      const Block block = blocks.block(column, row);
      if (block.elements == 0)
        continue;
      const int64_t here = blocks.lines(column, row);
      if (lines >= 0 && lines != here)
        throw Error(ErrorClass::BadProgram,
                    "stream " + inQuotes(stream.name()->string_view()) +
                        " has blocks of one channel with " +
                        std::to_string(lines) + " and " + std::to_string(here) +
                        " lines");
      lines = here;
      touch(its, block, block, lines);
      add(its, block.elements, 1, lines);
    }
}

void OutChannel::restart() {
  taken = filled = 0;
  segment = 0;
  line = 0;
  rowsDone = columnsDone = 0;
  block = {};
  wire = Wire(stream);
  for (auto &[tensor, share] : byTensor)
    std::fill(share.sums.begin(), share.sums.end(), 0.f);
}

uint64_t OutChannel::words() {
  if (counted)
    return total;
  counted = true;
  linesOf.assign(segments.size(), -1);
  for (size_t i = 0; i < segments.size(); ++i)
    if (segments[i].isSeparable())
      countSeparable(i);
    else
      countBlocks(i);
  return total;
}

bool OutChannel::nextBlockOfLaunch() {
  for (; segment < segments.size(); ++segment, line = 0) {
    const OutBlocks &blocks = segments[segment];
    const OutBlocks::Rows rows = blocks.rowsOf(channel);
    const program::Segment &its = *stream.segments()->Get(segment);
    for (; line < linesOf[segment]; ++line, rowsDone = 0)
      for (; rows.begin + rowsDone < rows.end; ++rowsDone, columnsDone = 0)
        while (columnsDone < blocks.columnCount()) {
          block = blocks.block(blocks.columnCount() - ++columnsDone,
                               rows.begin + rowsDone);
          block.offset += line * its.line_stride();
          wire = Wire(stream, its);
          filled = 0;
          if (block.elements > 0)
            return true;
        }
  }
  segment = 0;
  return false;
}

bool OutChannel::nextBlock() {
  return words() > 0 && (nextBlockOfLaunch() || nextBlockOfLaunch());
}

void OutChannel::store(const WordView &words) {
  constexpr size_t most = 1024;
  float together[most]; // those that lie apart
  const auto rowStride = ptrdiff_t(words.stride),
             stride = ptrdiff_t(words.wordStride);
  for (size_t i = 0, count; i < words.words(); i += count) {
    const size_t row = i / words.length, column = i % words.length;
    const float *data =
        words.data + ptrdiff_t(row) * rowStride + ptrdiff_t(column) * stride;
    count = words.length - column;
    if (stride != 1 && count > 1) {
      const size_t columns = std::min(count, most);
      const size_t rows =
          column > 0 ? 1
                     : std::clamp<size_t>(most / columns, 1, words.rows - row);
      copyStrided({rows, columns, together, ptrdiff_t(columns), 1, data,
                   rowStride, stride});
      data = together;
      count = rows * columns;
    }
    storeWords(words, i, data, count);
  }
  taken += words.words();
}

void OutChannel::storeWords(const WordView &words, size_t first,
                            const float *data, size_t length) {
  for (size_t done = 0; done < length;) {
    if (filled == block.elements && !nextBlock())
      throw Error(ErrorClass::UnreadTraffic,
                  "stream " + inQuotes(stream.name()->string_view()) +
                      " brings words on the channel of row " +
                      std::to_string(channel.row()) + ", which takes none");
    constexpr size_t most = 512;
    const uint64_t left = wire.wavelets(block.elements - filled);
    size_t count = size_t(std::min<uint64_t>(length - done, left));
    const void *elements = data + done;
    uint64_t available = count;
    if (wire.is16()) {
      count = std::min(count, most);
      available = unpack(words, first + done, data + done, count);
      elements = halves.data();
    }
    done += count;
    const size_t bytes = wire.is16() ? 2 : 4;
    while (available > 0) {
      const uint64_t within = filled % block.runLength();
      uint64_t part = storePairs(elements, available);
      if (part == 0)
        part = storeRuns(elements, available);
      if (part == 0) {
        part = std::min(available, block.runLength() - within);
        storeRun(elements,
                 uint64_t(block.runStart(filled / block.runLength()) +
                          int64_t(within) * block.runStride()),
                 size_t(part));
      }
      elements = static_cast<const uint8_t *>(elements) + part * bytes;
      filled += part;
      available -= part;
    }
  }
}

uint64_t OutChannel::storePairs(const void *elements, uint64_t available) {
  const program::Segment &its = *stream.segments()->Get(segment);
  if (!isNarrowFloat(wire.type) || its.accumulate() || block.rank < 2 ||
      block.runLength() != 2 || block.strides[block.rank - 2] != 1 ||
      filled % 2 != 0 ||
      tensors.tensor(its.tensor()).type() != program::ElementType::F32)
    return 0;
  const uint64_t run = filled / 2;
  const auto extent = uint64_t(block.extents[block.rank - 2]);
  const uint64_t count = std::min(available / 2, extent - run % extent);
  auto *to = reinterpret_cast<float *>(tensors.outputElements(its.tensor())) +
             block.runStart(run);
  const auto *words = static_cast<const float *>(elements);
  for (HalfOf half : {HalfOf::Lower, HalfOf::Upper})
    widenWords({wire.type, half, 1, size_t(count), 0, 0}, words,
               half == HalfOf::Lower ? to : to + block.runStride());
  return 2 * count;
}

uint64_t OutChannel::storeRuns(const void *elements, uint64_t available) {
  const program::Segment &its = *stream.segments()->Get(segment);
  const uint64_t length = block.runLength();
  if (wire.type != program::ElementType::F32 || its.accumulate() ||
      block.rank < 2 || available < 2 * length || filled % length != 0 ||
      tensors.tensor(its.tensor()).type() != program::ElementType::F32)
    return 0;
  const uint64_t run = filled / length;
  const auto extent = uint64_t(block.extents[block.rank - 2]);
  const uint64_t runs = std::min(available / length, extent - run % extent);
  auto *to = reinterpret_cast<float *>(tensors.outputElements(its.tensor())) +
             block.runStart(run);
  const UnalignedFloat *from = static_cast<const float *>(elements);
  for (uint64_t i = 0; i < runs; ++i)
    for (uint64_t j = 0; j < length; ++j)
      to[int64_t(i) * block.strides[block.rank - 2] +
         int64_t(j) * block.runStride()] = *from++;
  return runs * length;
}

size_t OutChannel::unpack(const WordView &words, size_t first,
                          const float *data, size_t count) {
  halves.resize(2 * count);
  const auto *bits = reinterpret_cast<const uint8_t *>(data);
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
