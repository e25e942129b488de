// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/strips/LaneScalars.h"

#include <algorithm>
#include <limits>

namespace wsec::runtime {

LaneScalars::LaneScalars(const std::vector<size_t> &indices,
                         const std::vector<int64_t> &values) {
  const size_t count = indices.size();
  std::vector<size_t> places(count); // among `indices`, of one column
  std::vector<bool> stored(count);
  auto fill = [&]<class Number>(Column<Number> &column) {
    places.clear();
    for (size_t i = 0; i < count; ++i) {
      using Limits = std::numeric_limits<Number>;
      bool fits = !stored[i];
      for (size_t at = i; fits && at < values.size(); at += count)
        fits = Limits::min() <= values[at] && values[at] <= Limits::max();
      if (!fits)
        continue;
      stored[i] = true;
      places.push_back(i);
      column.indices.push_back(indices[i]);
    }
    column.values.reserve(places.size() * (count ? values.size() / count : 0));
    for (size_t lane = 0; lane < values.size(); lane += count)
      for (size_t place : places)
        column.values.push_back(Number(values[lane + place]));
  };
  std::apply([&](auto &...column) { (fill(column), ...); }, columns);
  uint8_t number = 0;
  auto note = [&](const auto &column) {
    for (uint32_t i = 0; i < column.indices.size(); ++i) {
      const size_t index = column.indices[i];
      ofScalar.resize(std::max(ofScalar.size(), index + 1));
      ofScalar[index] = {number, i};
    }
    ++number;
  };
  std::apply([&](const auto &...column) { (note(column), ...); }, columns);
}

void LaneScalars::copyTo(std::vector<int64_t> &scalars, size_t lane,
                         const std::vector<uint16_t> &which) const {
  for (uint16_t scalar : which) {
    if (scalar >= ofScalar.size())
      continue;
    const auto [number, index] = ofScalar[scalar];
    auto copy = [&, at = uint8_t(0)](const auto &column) mutable {
      if (at++ == number)
        scalars[scalar] = column.values[lane * column.indices.size() + index];
    };
    std::apply([&](const auto &...column) { (copy(column), ...); }, columns);
  }
}

void LaneScalars::copyTo(std::vector<int64_t> &scalars, size_t lane) const {
  auto copy = [&](const auto &column) {
    const auto *value = column.values.data() + lane * column.indices.size();
    for (size_t index : column.indices)
      scalars[index] = *value++;
  };
  std::apply([&](const auto &...column) { (copy(column), ...); }, columns);
}

size_t LaneScalars::bytes() const {
  return std::apply(
      [](const auto &...column) {
        return ((column.values.size() * sizeof(column.values[0])) + ...);
      },
      columns);
}

} // namespace wsec::runtime
