// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/WrittenWords.h"

#include <algorithm>
#include <bit>
#include <new>

namespace wsec::runtime {

void WrittenWords::reset(int64_t halves, int laneCount) {
  lanes = laneCount;
  together.assign(size_t((halves + 63) / 64), 0);
  alone.reset();
  known = {};
}

/// Bits [from % 64, ...) of the group that holds bit `from`, at most `count`;
/// returns how many.
static int64_t bitRun(int64_t from, int64_t count, uint64_t &mask) {
  const int64_t shift = from % 64;
  const int64_t bits = std::min<int64_t>(count, 64 - shift);
  mask = (bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1) << shift;
  return bits;
}

uint64_t WrittenWords::writtenBy(int64_t group, int lane) {
  uint64_t &all = together[size_t(group)];
  if (!alone)
    return all;
  const uint64_t *each = alone.get() + group * lanes;
  if (lane != everyLane)
    return all | each[lane];
  uint64_t common = ~uint64_t(0);
  for (int i = 0; i < lanes && common; ++i)
    common &= each[i] | all;
  return all |= common;
}

int64_t WrittenWords::firstMissing(int64_t half, int64_t count, int lane) {
  const int64_t end = half + count;
  // Few are found as fast as ranges that hold them.
  uint64_t few;
  if (const int64_t group = half / 64;
      count > 0 && bitRun(half, count, few) == count) {
    few &= ~together[size_t(group)];
    if (few && alone && lane != everyLane)
      few &= ~alone[size_t(group * lanes + lane)];
    if (!few)
      return end;
  }
  auto holds = [&](const Range &range) {
    return range.from <= half && end <= range.to;
  };
  if (holds(known[last]))
    return end;
  for (size_t i = 0; i < known.size(); ++i)
    if (holds(known[i])) {
      last = i;
      return end;
    }
  const int64_t missing = findMissing(half, count, lane);
  if (missing < end || (lane != everyLane && lanes > 1))
    return missing;
  for (Range &range : known)
    if (half <= range.to && range.from <= end) {
      range = {std::min(half, range.from), std::max(end, range.to)};
      return end;
    }
  known[turn++ % known.size()] = {half, end};
  return end;
}

int64_t WrittenWords::findMissing(int64_t half, int64_t count, int lane) {
  for (int64_t at = half, end = half + count; at < end;) {
    uint64_t mask;
    const int64_t bits = bitRun(at, end - at, mask);
    uint64_t missing = mask & ~together[size_t(at / 64)];
    if (missing)
      missing = mask & ~writtenBy(at / 64, lane);
    if (missing)
      return at / 64 * 64 + std::countr_zero(missing);
    at += bits;
  }
  return half + count;
}

void WrittenWords::mark(int64_t half, int64_t count, int lane) {
  const bool all = lane == everyLane || lanes == 1;
  if (!all && !alone) {
    alone.reset(static_cast<uint64_t *>(
        std::calloc(together.size() * size_t(lanes), sizeof(uint64_t))));
    if (!alone)
      throw std::bad_alloc();
  }
  for (int64_t at = half, end = half + count; at < end;) {
    uint64_t mask;
    const int64_t bits = bitRun(at, end - at, mask);
    if (all)
      together[size_t(at / 64)] |= mask;
    else
      alone[size_t(at / 64 * lanes + lane)] |= mask;
    at += bits;
  }
}

} // namespace wsec::runtime
