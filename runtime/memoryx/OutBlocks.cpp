// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/memoryx/OutBlocks.h"
#include "runtime/program/Errors.h"

#include <algorithm>

namespace wsec::runtime {

/// Of an affine function, the terms of the rows, or all others.
static int64_t part(const program::Affine &affine, bool ofRow,
                    const std::vector<int64_t> &scalars,
                    const std::vector<uint8_t> &axes) {
  int64_t sum = ofRow ? 0 : affine.constant();
  if (affine.terms())
    for (const program::Term *term : *affine.terms())
      if ((axes[term->index()] == AxisY) == ofRow)
        sum += term->scale() * scalars[term->index()];
  return sum;
}

std::vector<OutBlocks> OutBlocks::of(const program::HostStream &stream,
                                     int32_t width,
                                     const std::vector<int64_t> &arguments) {
  const std::vector<uint8_t> axes = axesOf(stream.scalars());
  std::vector<OutBlocks> all;
  for (const program::Segment *segment : *stream.segments())
    all.push_back(OutBlocks(stream, *segment, arguments, axes));
  std::vector<int32_t> rows;
  for (const program::Channel *channel : *stream.channels())
    for (int32_t row = channel->begin(); row < channel->end(); ++row)
      rows.push_back(row);
  if (rows.empty())
    return all;
  std::sort(rows.begin(), rows.end());
  std::vector<int64_t> scalars;
  auto plan = [&](int32_t x, int32_t y, bool isRow) {
    evaluateScalars(stream.scalars(), x, y, scalars, arguments.data());
    for (OutBlocks &blocks : all)
      blocks.add(isRow ? y : x, isRow, scalars, axes);
  };
  for (int32_t x = 0; x < width; ++x)
    plan(x, rows.front(), /*isRow=*/false);
  for (int32_t y : rows)
    plan(0, y, /*isRow=*/true);
  return all;
}

void OutBlocks::add(int32_t at, bool isRow, const std::vector<int64_t> &scalars,
                    const std::vector<uint8_t> &axes) {
  Along &along = isRow ? rows : columns;
  Kind kind;
  for (unsigned d = 0; separable && d < segment.extents()->size(); ++d) {
    const program::Affine &extent = *segment.extents()->Get(d);
    const bool its = (axesOf(extent, axes) == AxisY) == isRow;
    kind.extents[d] = its ? evaluateAffine(extent, scalars) : 1;
    if (kind.extents[d] <= 0)
      return;
    if (__builtin_mul_overflow(kind.elements, uint64_t(kind.extents[d]),
                               &kind.elements) ||
        kind.elements > largestStreamWords)
      throw blockTooLarge();
    const absl::int128 reach =
        absl::int128(kind.extents[d] - 1) * segment.strides()->Get(d);
    (reach < 0 ? kind.below : kind.above) += reach;
  }
  everyLines = evaluateAffine(*segment.lines(), scalars);
  auto known = std::find_if(
      along.kinds.begin(), along.kinds.end(), [&](const Kind &other) {
        return std::equal(kind.extents.begin(),
                          kind.extents.begin() + segment.extents()->size(),
                          other.extents.begin());
      });
  const auto number = uint32_t(known - along.kinds.begin());
  if (known == along.kinds.end())
    along.kinds.push_back(kind);
  along.positions.push_back(
      {at, number, part(*segment.offset(), isRow, scalars, axes)});
}

OutBlocks::Rows OutBlocks::rowsOf(const program::Channel &channel) const {
  auto number = [&](int32_t row) {
    return size_t(std::partition_point(rows.positions.begin(),
                                       rows.positions.end(),
                                       [&](const Position &position) {
                                         return position.at < row;
                                       }) -
                  rows.positions.begin());
  };
  return {number(channel.begin()), number(channel.end())};
}

std::vector<int64_t> OutBlocks::scalarsOf(size_t column, size_t row) const {
  std::vector<int64_t> scalars;
  evaluateScalars(stream.scalars(), columns.positions[column].at,
                  rows.positions[row].at, scalars, arguments.data());
  return scalars;
}

Block OutBlocks::block(size_t column, size_t row) const {
  if (!separable)
    return makeBlock(segment, scalarsOf(column, row));
  const Position &x = columns.positions[column], &y = rows.positions[row];
  std::array<int64_t, largestSegmentRank> extents;
  for (unsigned d = 0; d < segment.extents()->size(); ++d)
    extents[d] =
        columns.kinds[x.kind].extents[d] * rows.kinds[y.kind].extents[d];
  return makeBlock(segment, x.offset + y.offset, extents.data());
}

int64_t OutBlocks::lines(size_t column, size_t row) const {
  return std::max<int64_t>(
      0, separable ? everyLines
                   : evaluateAffine(*segment.lines(), scalarsOf(column, row)));
}

std::pair<size_t, size_t> OutBlocks::Along::extremes(size_t begin,
                                                     size_t end) const {
  auto low = [&](size_t i) {
    return positions[i].offset + kinds[positions[i].kind].below;
  };
  auto high = [&](size_t i) {
    return positions[i].offset + kinds[positions[i].kind].above;
  };
  size_t least = begin, greatest = begin;
  for (size_t i = begin; i < end; ++i) {
    least = low(i) < low(least) ? i : least;
    greatest = high(i) > high(greatest) ? i : greatest;
  }
  return {least, greatest};
}

std::vector<uint64_t> OutBlocks::Along::count(size_t begin, size_t end) const {
  std::vector<uint64_t> counts(kinds.size());
  for (size_t i = begin; i < end; ++i)
    ++counts[positions[i].kind];
  return counts;
}

std::pair<Block, Block> OutBlocks::extremes(Rows which) const {
  const auto [lowX, highX] = columns.extremes(0, columnCount());
  const auto [lowY, highY] = rows.extremes(which.begin, which.end);
  return {block(lowX, lowY), block(highX, highY)};
}

std::vector<std::pair<uint64_t, uint64_t>> OutBlocks::sizes(Rows which) const {
  const std::vector<uint64_t> inColumns = columns.count(0, columnCount()),
                              inRows = rows.count(which.begin, which.end);
  std::vector<std::pair<uint64_t, uint64_t>> sizes;
  for (size_t x = 0; x < inColumns.size(); ++x)
    for (size_t y = 0; y < inRows.size(); ++y) {
      uint64_t elements;
      if (inRows[y] == 0)
        continue;
      if (__builtin_mul_overflow(columns.kinds[x].elements,
                                 rows.kinds[y].elements, &elements) ||
          elements > largestStreamWords)
        throw blockTooLarge();
      sizes.emplace_back(elements, inColumns[x] * inRows[y]);
    }
  return sizes;
}

} // namespace wsec::runtime
