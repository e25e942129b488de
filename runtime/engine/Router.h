// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The routers of the mesh: what each PE does with a wavelet of each color, and
// where a wavelet therefore ends up.
#ifndef RUNTIME_ENGINE_ROUTER_H
#define RUNTIME_ENGINE_ROUTER_H

#include "runtime/pe/Coordinate.h"
#include "runtime/program/program_generated.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace wsec::runtime {

/// One PE, or channel outside the wafer, that a flow reaches.
struct Arrival {
  Coordinate pe; ///< where it leaves the mesh or goes up the ramp
  int hops = 0;  ///< links passed from the first router
};

/// All that a wavelet injected at one place reaches.
struct Flow {
  std::vector<Arrival> delivered; ///< through RAMP
  std::vector<Arrival> exits;     ///< over the east edge
};

/// Receive port and transmit set of every color and PE, built from the rules
/// of a program. A byte each; a table exists only for colors with rules.
class RouterTables {
public:
  /// Throws RouteConflict where two rules set one color of one PE.
  explicit RouterTables(const program::Program &program);

  int width() const { return meshWidth; }
  int height() const { return meshHeight; }

  bool hasRule(int color, Coordinate pe) const {
    return entry(color, pe) != noRule;
  }
  program::Port receive(int color, Coordinate pe) const {
    return program::Port(entry(color, pe) & 7);
  }
  bool transmits(int color, Coordinate pe, program::Port port) const {
    uint8_t e = entry(color, pe);
    return e != noRule && (e >> 3 >> int(port) & 1);
  }

  /// Bit set over Port, of a rule.
  uint8_t transmit(int color, Coordinate pe) const {
    return entry(color, pe) >> 3;
  }

  /// Follows a wavelet that enters the router of `from` through `port` (RAMP:
  /// sent by the PE itself). Throws MissingRoute or RouteConflict. `Visit` is
  /// told of every port that it leaves a router by, of the links it has passed
  /// before, and whether the port leads over no edge of the mesh.
  using Visit = std::function<void(Coordinate pe, program::Port out, int hops,
                                   bool inside)>;
  void follow(int color, Coordinate from, program::Port port,
              const Visit &visit) const;
  Flow trace(int color, Coordinate from, program::Port port) const;

private:
  static constexpr uint8_t noRule = 0xff;
  uint8_t entry(int color, Coordinate pe) const {
    const std::vector<uint8_t> &table = tables[color];
    return table.empty() ? noRule : table[size_t(pe.y) * meshWidth + pe.x];
  }
  void addRule(const program::RouteRule &rule);

  int meshWidth, meshHeight;
  std::vector<std::vector<uint8_t>> tables;
};

} // namespace wsec::runtime

#endif // RUNTIME_ENGINE_ROUTER_H
