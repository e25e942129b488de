// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The blocks of a segment of an Out stream, of all PEs. Where it is separable
// (runtime/program/Scalars.h), the block of a PE is put together of what its
// column and its row say, so a plan takes columns plus rows, not columns times
// rows. Offset 4 x + 100 y, an extent of 3 where x < 2, and one of y = 7:
//
//   column   offset   extents        row   offset   extents
//        0        0   3, 1             7      700   1, 1
//        1        4   3, 1
#ifndef RUNTIME_MEMORYX_OUTBLOCKS_H
#define RUNTIME_MEMORYX_OUTBLOCKS_H

#include "runtime/memoryx/Block.h"
#include "runtime/program/Scalars.h"

#include "absl/numeric/int128.h"

namespace wsec::runtime {

class OutBlocks {
public:
  /// The blocks of each segment of a stream, on a mesh of `width` columns;
  /// `arguments` are those of the stream's launches.
  static std::vector<OutBlocks> of(const program::HostStream &stream,
                                   int32_t width,
                                   const std::vector<int64_t> &arguments);

  /// Rows by their number among those that may have elements.
  struct Rows {
    size_t begin = 0, end = 0;
  };
  Rows rowsOf(const program::Channel &channel) const;
  /// Columns that may have elements.
  size_t columnCount() const { return columns.positions.size(); }

  Block block(size_t column, size_t row) const;
  int64_t lines(size_t column, size_t row) const;

  bool isSeparable() const { return separable; }
  /// The blocks of a separable segment that begin with the least and end with
  /// the greatest element, in rows of which there are some.
  std::pair<Block, Block> extremes(Rows rows) const;
  /// Likewise, how many elements blocks have: number, and blocks of that.
  std::vector<std::pair<uint64_t, uint64_t>> sizes(Rows rows) const;

private:
  /// Extents that several positions of an axis share; those that depend on the
  /// other axis are 1.
  struct Kind {
    std::array<int64_t, largestSegmentRank> extents;
    uint64_t elements = 1;
    absl::int128 below = 0, above = 0; ///< least and greatest, from the offset
  };
  struct Position {
    int32_t at;
    uint32_t kind;
    int64_t offset;
  };
  struct Along {
    std::vector<Position> positions;
    std::vector<Kind> kinds;

    /// Positions with the least and the greatest element, of [begin, end).
    std::pair<size_t, size_t> extremes(size_t begin, size_t end) const;
    std::vector<uint64_t> count(size_t begin, size_t end) const; ///< by kind
  };

  OutBlocks(const program::HostStream &stream, const program::Segment &segment,
            const std::vector<int64_t> &arguments,
            const std::vector<uint8_t> &axes)
      : stream(stream), segment(segment), arguments(arguments),
        separable(runtime::isSeparable(segment, axes)) {}

  /// A position of a column, or of a row, where scalars are these.
  void add(int32_t at, bool isRow, const std::vector<int64_t> &scalars,
           const std::vector<uint8_t> &axes);
  std::vector<int64_t> scalarsOf(size_t column, size_t row) const;

  const program::HostStream &stream;
  const program::Segment &segment;
  std::vector<int64_t> arguments;
  bool separable;
  int64_t everyLines = 0; ///< of a separable one
  Along columns, rows;
};

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_OUTBLOCKS_H
