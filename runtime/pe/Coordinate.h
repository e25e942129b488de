// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RUNTIME_PE_COORDINATE_H
#define RUNTIME_PE_COORDINATE_H

#include <string>

namespace wsec::runtime {

/// Where a PE is in the mesh: columns from the west, rows from the north.
struct Coordinate {
  int x = 0;
  int y = 0;
  bool operator==(const Coordinate &) const = default;
};

/// "(x, y)".
inline std::string toString(Coordinate pe) {
  return "(" + std::to_string(pe.x) + ", " + std::to_string(pe.y) + ")";
}

} // namespace wsec::runtime

#endif // RUNTIME_PE_COORDINATE_H
