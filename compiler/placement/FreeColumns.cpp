// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/placement/FreeColumns.h"

#include <algorithm>

using namespace wsec;

std::optional<int64_t> FreeColumns::firstFor(int64_t columns,
                                             int64_t from) const {
  for (const auto &[begin, end] : spans)
    if (const int64_t at = std::max(begin, from); at + columns <= end)
      return at;
  return std::nullopt;
}

int64_t FreeColumns::count() const {
  int64_t columns = 0;
  for (const auto &[begin, end] : spans)
    columns += end - begin;
  return columns;
}

FreeColumns wsec::freeColumns(int64_t width, int64_t row, int64_t rows,
                              const std::vector<PlacedRegion> &taken) {
  std::vector<std::pair<int64_t, int64_t>> blocks;
  for (const PlacedRegion &its : taken)
    if (its.overlaps({0, row, width, rows}))
      blocks.push_back({its.x, its.x + its.columns});
  blocks.push_back({width, width});
  std::sort(blocks.begin(), blocks.end());
  FreeColumns free;
  int64_t next = 0;
  for (const auto &[begin, end] : blocks) {
    if (begin > next)
      free.spans.push_back({next, begin});
    next = std::max(next, end);
  }
  return free;
}
