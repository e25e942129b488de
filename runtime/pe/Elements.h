// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PE_ELEMENTS_H
#define RUNTIME_PE_ELEMENTS_H

#include "runtime/pe/Code.h"

namespace wsec::runtime::pe {

/// Bytes of the SRAM that an operand touches: elements of `size` bytes at
/// `address` + sum(index[d] * stride[d]), each index below its extent.
/// Positive strides in falling order; no elements if `size` is 0.
struct Elements {
  int64_t address = 0;
  int64_t size = 0;
  int rank = 0;
  int64_t extent[maxExtents] = {}, stride[maxExtents] = {};

  Elements() = default;
  /// `count` elements at an address, of which the extents of an instruction
  /// are visited; strides in bytes, of either sign.
  Elements(int64_t first, int64_t size, int dimensions, const int64_t *extents,
           const int64_t *strides);
  /// One element.
  Elements(int64_t address, int64_t size) : address(address), size(size) {}

  bool empty() const { return size == 0; }
  /// The byte behind the last.
  int64_t end() const;
  /// Whether both touch some byte.
  bool overlaps(const Elements &other) const;
};

} // namespace wsec::runtime::pe

#endif // RUNTIME_PE_ELEMENTS_H
