// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/pe/Elements.h"

#include <algorithm>

namespace wsec::runtime::pe {

Elements::Elements(int64_t first, int64_t elementSize, int dimensions,
                   const int64_t *extents, const int64_t *strides)
    : address(first), size(elementSize) {
  for (int d = 0; d < dimensions; ++d) {
    if (extents[d] <= 0) {
      *this = {};
      return;
    }
    if (extents[d] == 1 || strides[d] == 0)
      continue;
    // The same elements from the other end.
    address += std::min<int64_t>(0, strides[d] * (extents[d] - 1));
    int at = rank++;
    for (; at > 0 && stride[at - 1] < std::abs(strides[d]); --at) {
      stride[at] = stride[at - 1];
      extent[at] = extent[at - 1];
    }
    stride[at] = std::abs(strides[d]);
    extent[at] = extents[d];
  }
  // What lies without gaps is one longer element.
  while (rank > 0 && stride[rank - 1] <= size) {
    size += stride[rank - 1] * (extent[rank - 1] - 1);
    --rank;
  }
}

int64_t Elements::end() const {
  int64_t last = address + size;
  for (int d = 0; d < rank; ++d)
    last += stride[d] * (extent[d] - 1);
  return last;
}

/// Whether the elements from dimension `d` on, with the first at `address`,
/// touch bytes [low, high).
static bool touches(const Elements &set, int d, int64_t address, int64_t low,
                    int64_t high) {
  int64_t reach = set.size;
  for (int i = d; i < set.rank; ++i)
    reach += set.stride[i] * (set.extent[i] - 1);
  if (high <= address || address + reach <= low)
    return false;
  if (d == set.rank)
    return true;
  // Only indices whose inner elements reach the bytes.
  const int64_t stride = set.stride[d];
  const int64_t inner = reach - stride * (set.extent[d] - 1);
  const int64_t before = low - inner - address;
  const int64_t first = before < 0 ? 0 : before / stride + 1;
  const int64_t last =
      std::min(set.extent[d] - 1, (high - 1 - address) / stride);
  for (int64_t i = first; i <= last; ++i)
    if (touches(set, d + 1, address + i * stride, low, high))
      return true;
  return false;
}

/// The same for all elements of `each`, from dimension `d` on.
static bool anyTouches(const Elements &each, int d, int64_t address,
                       const Elements &set) {
  if (d == each.rank)
    return touches(set, 0, set.address, address, address + each.size);
  for (int64_t i = 0; i < each.extent[d]; ++i)
    if (anyTouches(each, d + 1, address + i * each.stride[d], set))
      return true;
  return false;
}

bool Elements::overlaps(const Elements &other) const {
  if (empty() || other.empty() || end() <= other.address ||
      other.end() <= address)
    return false;
  int64_t mine = 1, theirs = 1;
  for (int d = 0; d < rank; ++d)
    mine *= extent[d];
  for (int d = 0; d < other.rank; ++d)
    theirs *= other.extent[d];
  return mine <= theirs ? anyTouches(*this, 0, address, other)
                        : anyTouches(other, 0, other.address, *this);
}

} // namespace wsec::runtime::pe
