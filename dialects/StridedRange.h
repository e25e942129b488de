// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of views, for verifiers: text may state any numbers.
#ifndef DIALECTS_STRIDEDRANGE_H
#define DIALECTS_STRIDEDRANGE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <optional>
#include <utility>

namespace wsec {

/// Elements of a tensor, or nothing where its strides, and so its elements,
/// cannot be counted in an int64.
inline std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    if (llvm::MulOverflow(count, std::max<int64_t>(extent, 1), count))
      return std::nullopt;
  return llvm::is_contained(shape, 0) ? 0 : count;
}

/// Strides of a dense row-major tensor whose elements can be counted.
inline llvm::SmallVector<int64_t> denseStrides(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// First and last element that a view of at least one element touches, or
/// nothing where they cannot be counted in an int64.
inline std::optional<std::pair<int64_t, int64_t>>
touchedElements(llvm::ArrayRef<int64_t> shape, int64_t offset,
                llvm::ArrayRef<int64_t> strides) {
  int64_t first = offset, last = offset;
  for (auto [extent, stride] : llvm::zip_equal(shape, strides)) {
    int64_t reach, &end = stride < 0 ? first : last;
    if (llvm::MulOverflow(std::max<int64_t>(extent, 1) - 1, stride, reach) ||
        llvm::AddOverflow(end, reach, end))
      return std::nullopt;
  }
  return std::pair(first, last);
}

} // namespace wsec

#endif // DIALECTS_STRIDEDRANGE_H
