// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which way the words of nets go over the mesh. Plain C++: no MLIR here.

#ifndef WSEC_COMPILER_ROUTE_PATHPROBLEM_H
#define WSEC_COMPILER_ROUTE_PATHPROBLEM_H

#include "compiler/route/RoutingProblem.h"

#include <cstdint>
#include <string>
#include <vector>

namespace wsec {

/// Words of one PE for others: they come up its ramp, or enter the mesh by the
/// port `entry` of a PE at that edge, and are meant for all PEs of
/// `destinations`: to their ramps, or to leave the mesh there by `exit`.
struct PathNet {
  std::string name;
  int64_t x = 0, y = 0;
  Port entry = Port::Ramp;
  Port exit = Port::Ramp;
  std::vector<Rect> destinations;
  /// Nets of one bundle have one color, whatever that is.
  size_t bundle = 0;
  /// Bundles of one family have different colors; -1: it is of none.
  int64_t family = -1;
  /// Words that it brings in a unit of time, while [begin, end) lasts.
  int64_t words = 1;
  int64_t begin = 0, end = 1;
};

/// PEs that have a setting of `color` already, or that no color may pass; and
/// what they are of.
struct PathObstacle {
  static constexpr int64_t everyColor = -1;
  int64_t color = 0;
  Rect rect;
  std::string name = {};
};

/// The setting of one PE.
struct PathSetting {
  int64_t x = 0, y = 0;
  Port receive = Port::Ramp;
  uint8_t transmit = 0;
};

/// What a net became: a tree of settings of one color.
struct RoutedPath {
  int64_t color = 0;
  std::vector<PathSetting> settings;
};

struct Paths {
  std::vector<RoutedPath> nets; // one per net
};

/// Nets a and b of one bundle on a mesh of 6x4: each row of two to a row two
/// further south.
///
///   a - - +      a leaves by the outer lane, b by the inner one: that they do
///   b - + |      not meet on their color is what a router has to find out
///       | + > A
///       + - > B
///
/// A PE has one setting of a color for the whole program, so nets of one color
/// have no PE in common, nor with an obstacle of that color. Nets of different
/// colors share a link as far as it passes the words of all that are in use at
/// the same time.
class PathProblem {
public:
  int64_t meshWidth = 0, meshHeight = 0;
  int64_t colors = 0;    // that there are: 0 .. colors-1
  int64_t linkWords = 1; // that a link passes in a unit of time
  std::vector<PathNet> nets;
  std::vector<PathObstacle> obstacles;
  /// PEs that the search may look at before it gives up.
  int64_t mostSteps = int64_t(1) << 26;

  /// Empty if the input makes sense, else what is wrong with it.
  std::string check() const;

  /// Empty if `paths` are legal, else the first rule they break:
  ///   N1 every net has a color that there is, those of a bundle the same,
  ///      bundles of a family different ones
  ///   N2 settings lie in the mesh and transmit somewhere, not back
  ///   N3 no PE has two settings of one color
  ///   N4 every hop arrives where the net receives from that side
  ///   N5 the words of a net reach, or leave the mesh at, exactly its
  ///      destinations
  ///   N6 no setting is left over: the net's source feeds them all
  ///   N7 no link has to pass more words than it can at any time
  std::string verify(const Paths &paths) const;
};

} // namespace wsec

#endif // WSEC_COMPILER_ROUTE_PATHPROBLEM_H
