// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/Block.h"

#include "absl/numeric/int128.h"
#include "runtime/program/Errors.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/Scalars.h"

namespace wsec::runtime {

int64_t Block::runStart(uint64_t run) const {
  int64_t element = offset;
  for (uint32_t d = rank > 0 ? rank - 1 : 0; d-- > 0;) {
    uint64_t extent = uint64_t(extents[d]);
    element += int64_t(run % extent) * strides[d];
    run /= extent;
  }
  return element;
}

std::pair<int64_t, int64_t> Block::span(int64_t lines,
                                        int64_t lineStride) const {
  int64_t low = offset, high = offset;
  auto extend = [&](int64_t extent, int64_t stride) {
    (stride < 0 ? low : high) += (extent - 1) * stride;
  };
  for (uint32_t d = 0; d < rank; ++d)
    extend(extents[d], strides[d]);
  extend(lines, lineStride);
  return {low, high};
}

bool Block::append(const Block &next) {
  if (rank > 1 || next.rank > 1)
    return false;
  // A single element takes the stride of the other.
  int64_t gap = next.offset - offset;
  int64_t stride = rank ? strides[0] : next.rank ? next.strides[0] : gap;
  if ((next.rank && next.strides[0] != stride) ||
      gap != int64_t(elements) * stride)
    return false;
  rank = 1;
  strides[0] = stride;
  extents[0] = int64_t(elements + next.elements);
  elements += next.elements;
  return true;
}

Block Blocks::back() const {
  const Group &last = groups.back();
  Block block = last.first;
  block.offset += int64_t(last.count - 1) * last.step;
  return block;
}

void Blocks::push(const Block &block) {
  ++count;
  if (!groups.empty() && block.sameShape(groups.back().first)) {
    Group &last = groups.back();
    const int64_t step = block.offset - back().offset;
    if (last.count == 1 || step == last.step) {
      last.step = step;
      ++last.count;
      return;
    }
  }
  groups.push_back({block});
}

bool Blocks::append(const Block &next) {
  Block last = back();
  if (!last.append(next))
    return false;
  if (--groups.back().count == 0)
    groups.pop_back();
  --count;
  push(last);
  return true;
}

Error blockTooLarge() {
  return Error(ErrorClass::BadProgram, "a block of a host stream is too large");
}

Block makeBlock(const program::Segment &segment,
                const std::vector<int64_t> &scalars) {
  std::array<int64_t, largestSegmentRank> extents;
  for (flatbuffers::uoffset_t d = 0; d < segment.extents()->size(); ++d)
    extents[d] = evaluateAffine(*segment.extents()->Get(d), scalars);
  return makeBlock(segment, evaluateAffine(*segment.offset(), scalars),
                   extents.data());
}

Block makeBlock(const program::Segment &segment, int64_t offset,
                const int64_t *extents) {
  Block block;
  block.offset = offset;
  block.elements = 1;
  for (flatbuffers::uoffset_t d = 0; d < segment.extents()->size(); ++d) {
    int64_t extent = extents[d];
    int64_t stride = segment.strides()->Get(d);
    if (extent <= 0) {
      block.elements = 0;
      return block;
    }
    if (__builtin_mul_overflow(block.elements, uint64_t(extent),
                               &block.elements) ||
        block.elements > largestStreamWords)
      throw blockTooLarge();
    if (extent == 1)
      continue;
    const uint32_t last = block.rank - 1;
    if (block.rank > 0 &&
        block.strides[last] == absl::int128(extent) * stride) {
      block.extents[last] *= extent;
      block.strides[last] = stride;
      continue;
    }
    block.extents[block.rank] = extent;
    block.strides[block.rank] = stride;
    ++block.rank;
  }
  return block;
}

void checkBounds(const Block &block, const program::HostStream &stream,
                 const program::Tensor &tensor, int64_t lines,
                 int64_t lineStride, int64_t rows, int64_t rowStride) {
  if (block.elements == 0 || lines <= 0)
    return;
  absl::int128 low = block.offset, high = block.offset;
  auto extend = [&](int64_t extent, int64_t stride) {
    absl::int128 reach = absl::int128(extent - 1) * stride;
    (reach < 0 ? low : high) += reach;
  };
  for (uint32_t d = 0; d < block.rank; ++d)
    extend(block.extents[d], block.strides[d]);
  extend(lines, lineStride);
  extend(rows, rowStride);
  uint64_t count = elementCount(tensor);
  if (low >= 0 && high < absl::int128(count))
    return;
  absl::int128 wrong = low < 0 ? low : high;
  std::string element = wrong > INT64_MAX || wrong < INT64_MIN
                            ? "an element far away"
                            : "element " + std::to_string(int64_t(wrong));
  throw Error(ErrorClass::OutOfBounds,
              "stream " + inQuotes(stream.name()->string_view()) + " touches " +
                  element + " of tensor " +
                  inQuotes(tensor.name()->string_view()) + ", which has " +
                  std::to_string(count));
}

} // namespace wsec::runtime
