// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the fabric is made of, for dialects and solvers alike: ports of routers,
// rectangles of PEs, sets of rows. Plain C++: no MLIR here.

#ifndef WSEC_DIALECTS_FABRIC_FABRIC_H
#define WSEC_DIALECTS_FABRIC_FABRIC_H

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

namespace wsec::fabric {

/// The ports of a router. The ramp leads to its own PE. Values are those of
/// program.fbs.
enum class Port : uint8_t { North, South, East, West, Ramp };
inline constexpr Port allPorts[] = {Port::North, Port::South, Port::East,
                                    Port::West, Port::Ramp};
/// The ports to other PEs.
inline constexpr Port sides[] = {Port::North, Port::South, Port::East,
                                 Port::West};

/// A set of ports, the bit of each being 1 << its value.
using Ports = uint8_t;
constexpr Ports portBit(Port port) { return Ports(1u << unsigned(port)); }

/// The port by which a neighbour receives what leaves by `port`.
constexpr Port opposite(Port port) {
  return port == Port::Ramp ? port : Port(unsigned(port) ^ 1u);
}
/// How far the neighbour behind a side is, in columns and rows.
constexpr int64_t stepX(Port port) {
  return int64_t(port == Port::East) - int64_t(port == Port::West);
}
constexpr int64_t stepY(Port port) {
  return int64_t(port == Port::South) - int64_t(port == Port::North);
}
constexpr bool isAlongRows(Port port) {
  return port == Port::East || port == Port::West;
}

/// "north", as programs are written; nothing for any other word.
const char *keyword(Port port);
std::optional<Port> portNamed(std::string_view word);

/// Half-open progression: begin, begin + step, ... below end.
struct Progression {
  int64_t begin = 0, end = 0, step = 1;

  bool contains(int64_t i) const {
    return i >= begin && i < end && (i - begin) % step == 0;
  }
  int64_t count() const {
    return begin < end ? (end - begin - 1) / step + 1 : 0;
  }
  bool operator==(const Progression &other) const {
    return begin == other.begin && end == other.end && step == other.step;
  }
};

/// Half-open strided rectangle: x in {x0, x0 + xstep, ...} < x1, same for y.
struct Rect {
  int64_t x0 = 0, x1 = 0, xstep = 1;
  int64_t y0 = 0, y1 = 0, ystep = 1;

  Progression columns() const { return {x0, x1, xstep}; }
  Progression rows() const { return {y0, y1, ystep}; }
  bool contains(int64_t x, int64_t y) const {
    return columns().contains(x) && rows().contains(y);
  }
  bool operator==(const Rect &other) const {
    return columns() == other.columns() && rows() == other.rows();
  }
};

/// Rows of a region that take part in something: in each of `groups` groups of
/// `pitch` rows, the first `used`. Streams along rows have groups of columns.
///
///   groups = 2, pitch = 3, used = 2:   rows 0 1 . 3 4 .
struct RowSet {
  int64_t groups = 0, pitch = 0, used = 0;

  bool operator==(const RowSet &other) const {
    return groups == other.groups && pitch == other.pitch && used == other.used;
  }
  bool operator!=(const RowSet &other) const { return !(*this == other); }
  bool contains(int64_t y) const {
    return pitch > 0 && y / pitch < groups && y % pitch < used;
  }
  int64_t count() const { return groups * used; }
  /// The number of rows of the set north of row y.
  int64_t before(int64_t y) const {
    return y / pitch < groups ? y / pitch * used + std::min(y % pitch, used)
                              : count();
  }
  /// Row number i of them, from the north.
  int64_t row(int64_t i) const { return i / used * pitch + i % used; }
  int64_t last() const { return end() - 1; }
  /// The row behind the last.
  int64_t end() const { return (groups - 1) * pitch + used; }
  /// Whether all rows of `other` are among them.
  bool cover(const RowSet &other) const;
};

} // namespace wsec::fabric

#endif // WSEC_DIALECTS_FABRIC_FABRIC_H
