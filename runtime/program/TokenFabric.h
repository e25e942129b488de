// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words without values on their way through routers, from the host at the west
// edge to the host at the east edge.
#ifndef RUNTIME_PROGRAM_TOKENFABRIC_H
#define RUNTIME_PROGRAM_TOKENFABRIC_H

#include "runtime/program/KindMesh.h"
#include "runtime/program/TokenAgenda.h"
#include "runtime/program/TokenRoute.h"

#include <map>
#include <string>

namespace wsec::runtime::tokens {

/// A kind of PE.
struct Place {
  size_t index = 0, peClass = none;
  int64_t x = 0, y = 0;
  /// Without routines: launch wavelets only pass.
  bool dropsLaunches = true;
  std::map<int64_t, size_t> routes; ///< by color
};

/// The routers of all kinds of PEs. Wakes the cells that words reach or leave.
class Fabric {
public:
  Fabric(const program::Program &program, const KindMesh &mesh, Depths depths,
         Agenda &agenda);

  const std::vector<Place> &places() const { return kinds; }
  const Route &route(size_t index) const { return routes[index]; }
  int64_t color(size_t route) const { return colors[route]; }
  /// Throws NotUnderstood where PEs have no route of the color.
  size_t routeOf(const Place &place, int64_t color) const;
  /// How many launches wavelets start.
  size_t commands() const { return launchWavelets; }

  /// The words of a launch's streams, behind those of the ones before.
  void addChannels(const program::Launch &launch);
  /// A wavelet for each launch of the program.
  void addCommands();

  /// Passes on what can go.
  void pump(size_t route) {
    while (passFirst(route)) {
    }
  }

  /// A word that has come up the ramp.
  bool hasWord(size_t route) const { return routes[route].inbox.count > 0; }
  void takeWord(size_t route);
  /// A word or control wavelet down the ramp; false: there is no room.
  bool send(size_t route, const Token &token);
  /// The switch advances behind the words sent so far.
  void advanceSwitch(size_t route);

  /// Throws NotUnderstood if words are left that nobody reads; `who` "leaves".
  void requireRead(const std::string &who) const;
  /// Whether, and in vain, the host waits for words; throws NotUnderstood if it
  /// takes fewer than there are.
  std::string describeHostWait() const;

private:
  size_t placeAt(int64_t x, int64_t y) const {
    return mesh.rows.of[size_t(y)] * mesh.columns.representative.size() +
           mesh.columns.of[size_t(x)];
  }
  void buildPlaces();
  void buildRoutes();
  void connect(size_t route);
  void enter(size_t route);
  bool passFirst(size_t route);

  const program::Program &program;
  const KindMesh &mesh;
  const Depths depths;
  Agenda &agenda;
  const size_t launchWavelets;
  std::vector<Place> kinds;
  std::vector<Route> routes;
  std::vector<int64_t> colors; ///< by route
  /// By route: words of the host that are left to enter over the west edge, and
  /// that have yet to leave over the east edge.
  std::map<size_t, int64_t> west, east;
};

} // namespace wsec::runtime::tokens

#endif // RUNTIME_PROGRAM_TOKENFABRIC_H
