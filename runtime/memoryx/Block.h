// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_MEMORYX_BLOCK_H
#define RUNTIME_MEMORYX_BLOCK_H

#include "runtime/program/Checker.h"
#include "runtime/program/Errors.h"

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

namespace wsec::runtime {

/// The elements of a segment for one PE, in one line:
/// `offset + sum(index[d] * strides[d])` in lexicographic order. Kept without
/// extents of one and with dimensions joined that walk on without a gap.
struct Block {
  int64_t offset = 0;
  uint32_t rank = 0; ///< 0: a single element
  std::array<int64_t, largestSegmentRank> extents{};
  std::array<int64_t, largestSegmentRank> strides{};
  uint64_t elements = 0;

  /// Number of elements that follow one another with one stride.
  uint64_t runLength() const {
    return rank ? uint64_t(extents[rank - 1]) : elements;
  }
  int64_t runStride() const { return rank ? strides[rank - 1] : 1; }
  /// The first element of run `run`.
  int64_t runStart(uint64_t run) const;

  /// The least and the greatest element, of `lines` > 0 lines that are moved by
  /// `lineStride` each. The block has elements.
  std::pair<int64_t, int64_t> span(int64_t lines, int64_t lineStride) const;

  /// Appends a block that continues this one with the same stride, if both
  /// are single runs; returns whether it did.
  bool append(const Block &next);
  /// Whether all but the offset is the same.
  bool sameShape(const Block &other) const {
    return rank == other.rank && extents == other.extents &&
           strides == other.strides && elements == other.elements;
  }
};

/// Blocks in order. Those of equal shape whose offsets lie evenly apart, such
/// as what the columns of a channel take of a matrix, are kept as one and a
/// number.
class Blocks {
public:
  bool empty() const { return count == 0; }
  size_t size() const { return count; }
  const Block &front() const { return groups.front().first; }
  Block back() const;
  void push(const Block &block);
  /// Lets the last block continue with `next`; returns whether it does.
  bool append(const Block &next);
  /// Calls `visit(block)` for each.
  template <class Visit>
  void forEach(const Visit &visit) const {
    forEachGroup([&](Block block, size_t count, int64_t step) {
      for (size_t i = 0; i < count; ++i, block.offset += step)
        visit(std::as_const(block));
    });
  }
  /// Calls `visit(first, number, step)` for those of equal shape whose offsets
  /// lie `step` apart.
  template <class Visit>
  void forEachGroup(const Visit &visit) const {
    for (const Group &group : groups)
      visit(group.first, group.count, group.step);
  }

private:
  struct Group {
    Block first;
    size_t count = 1;
    int64_t step = 0; ///< from offset to offset
  };
  std::vector<Group> groups;
  size_t count = 0;
};

/// More words than any stream carries.
inline constexpr uint64_t largestStreamWords = uint64_t(1) << 48;

Error blockTooLarge();

/// The block of a segment where its stream's scalars have these values. Throws
/// BadProgram when it is absurdly large.
Block makeBlock(const program::Segment &segment,
                const std::vector<int64_t> &scalars);
/// The block of a segment whose offset and extents are these.
Block makeBlock(const program::Segment &segment, int64_t offset,
                const int64_t *extents);

/// Throws OutOfBounds when the block, moved by every multiple of `lineStride`
/// below `lines` and of `rowStride` below `rows`, leaves the tensor.
void checkBounds(const Block &block, const program::HostStream &stream,
                 const program::Tensor &tensor, int64_t lines,
                 int64_t lineStride, int64_t rows = 1, int64_t rowStride = 0);

} // namespace wsec::runtime

#endif // RUNTIME_MEMORYX_BLOCK_H
