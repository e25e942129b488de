// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_STRIPS_LANESCALARS_H
#define RUNTIME_STRIPS_LANESCALARS_H

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

namespace wsec::runtime {

/// Scalars that differ among the lanes of a strip. Each takes as many bytes as
/// its values need, most of them one: a wafer has hundreds of thousands of PEs.
class LaneScalars {
public:
  LaneScalars() = default;
  /// `values`, lane by lane: those of the scalars `indices`.
  LaneScalars(const std::vector<size_t> &indices,
              const std::vector<int64_t> &values);

  /// Puts those of a lane in their places among all scalars.
  void copyTo(std::vector<int64_t> &scalars, size_t lane) const;
  /// Some of them.
  void copyTo(std::vector<int64_t> &scalars, size_t lane,
              const std::vector<uint16_t> &which) const;
  size_t bytes() const;

private:
  template <class Number>
  struct Column {
    std::vector<size_t> indices;
    std::vector<Number> values; ///< lane by lane
  };
  std::tuple<Column<int8_t>, Column<int16_t>, Column<int32_t>, Column<int64_t>>
      columns;
  /// Where a scalar is: its column, if it is one of these, and the place there.
  struct Place {
    uint8_t column = UINT8_MAX;
    uint32_t index = 0;
  };
  std::vector<Place> ofScalar;
};

} // namespace wsec::runtime

#endif // RUNTIME_STRIPS_LANESCALARS_H
