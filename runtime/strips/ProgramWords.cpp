// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/ProgramWords.h"

#include <algorithm>
#include <variant>

namespace wsec::runtime {

ProgramWords::ProgramWords(const ClassCode &code, int lanes) : lanes(lanes) {
  std::vector<Range> all;
  forEachStatement(code, [&](const StatementCode &statement) {
    if (const auto *load = std::get_if<LoadCode>(&statement)) {
      const BufferCode &buffer = code.buffers[load->buffer];
      all.push_back(
          {2 * buffer.firstWord, 2 * (buffer.firstWord + buffer.words), 0});
    }
  });
  std::sort(all.begin(), all.end(),
            [](const Range &a, const Range &b) { return a.begin < b.begin; });
  for (const Range &range : all)
    if (!ranges.empty() && range.begin <= ranges.back().end)
      ranges.back().end = std::max(ranges.back().end, range.end);
    else
      ranges.push_back(range);
  for (Range &range : ranges) {
    range.first = halves;
    halves += size_t(range.end - range.begin);
  }
}

bool ProgramWords::areLoaded(int64_t from, int64_t to) const {
  return std::any_of(ranges.begin(), ranges.end(), [&](const Range &range) {
    return range.begin < to && from < range.end;
  });
}

/// Calls `visit(place)` for what there is of each half.
template <class Visit>
void ProgramWords::forEachBit(int64_t half, int64_t count, int lane,
                              const Visit &visit) const {
  for (const Range &range : ranges) {
    const int64_t end = std::min(half + count, range.end);
    for (int64_t at = std::max(half, range.begin); at < end; ++at) {
      const size_t place =
          (range.first + size_t(at - range.begin)) * size_t(lanes);
      if (lane >= 0)
        visit(place + size_t(lane));
      else
        for (size_t i = 0; i < size_t(lanes); ++i)
          visit(place + i);
    }
  }
}

bool ProgramWords::hold(int64_t half, int64_t count, int lane) const {
  if (its.empty())
    return false;
  size_t found = 0;
  forEachBit(half, count, lane, [&](size_t place) { found += its[place]; });
  return found == size_t(count) * (lane < 0 ? size_t(lanes) : 1);
}

void ProgramWords::set(int64_t half, int64_t count, int lane, bool value) {
  if (its.empty() && !value)
    return;
  its.resize(halves * size_t(lanes));
  forEachBit(half, count, lane, [&](size_t place) { its[place] = value; });
}

} // namespace wsec::runtime
