// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words without values on their way through routers, from the host at the west
// edge to the host at the east edge.
#ifndef RUNTIME_PROGRAM_PROOF_TOKENFABRIC_H
#define RUNTIME_PROGRAM_PROOF_TOKENFABRIC_H

#include "runtime/program/proof/KindMesh.h"
#include "runtime/program/proof/TokenAgenda.h"
#include "runtime/program/proof/TokenRoute.h"

#include <map>
#include <string>

namespace wsec::runtime::tokens {

struct Progress;

/// A kind of PE that has code or a route.
struct Place {
  size_t index = 0, peClass = none;
  int64_t x = 0, y = 0;
  /// Without routines: launch wavelets only pass.
  bool dropsLaunches = true;
};

/// The routers of all kinds of PEs. Wakes the cells that words reach or leave.
class Fabric {
public:
  Fabric(const program::Program &program, const KindMesh &mesh, Depths depths,
         Agenda &agenda);

  /// Places, of which those with code come first.
  const std::vector<Place> &places() const { return kinds; }
  const Route &route(size_t index) const { return routes[index]; }
  int64_t color(size_t route) const { return colors[route]; }
  /// Throws NotUnderstood where PEs have no route of the color.
  size_t routeOf(const Place &place, int64_t color) const;
  bool hasRoute(const Place &place, int64_t color) const {
    return routeAt(place.index, color) != none;
  }
  /// How many launches wavelets start.
  size_t commands() const { return launchWavelets; }

  /// The words of a launch's streams, behind those of the ones before.
  void addChannels(const program::Launch &launch);
  /// A wavelet for each launch of the program.
  void addCommands();

  /// Who takes the words that come up the ramp; null: nobody.
  void setTaker(size_t route, Progress *taker) { takers[route] = taker; }
  int64_t canFlow(size_t route, Port port, unsigned depth = 0) const;
  void flow(size_t route, Port port, int64_t words);

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
  size_t kindAt(int64_t x, int64_t y) const {
    return mesh.rows.of[size_t(y)] * mesh.columns.count() +
           mesh.columns.of[size_t(x)];
  }
  /// `none`: it has neither code nor a route.
  size_t placeAt(int64_t x, int64_t y) const { return placeOf[kindAt(x, y)]; }
  size_t routeAt(size_t place, int64_t color) const;
  size_t edgeRoute(int64_t x, int64_t y, int64_t color) const;
  template <typename Visit>
  void cover(const program::Rect &rect, Visit visit) const;
  void buildPlaces();
  void addPlace(size_t kind, size_t peClass);
  void buildRoutes();
  void connect(size_t route);
  void skipPassing(size_t route);
  void enter(size_t route);
  void flowIn(size_t route, int64_t &left);
  int64_t canTake(size_t route, unsigned depth) const;
  bool passFirst(size_t route);

  const program::Program &program;
  const KindMesh &mesh;
  const Depths depths;
  Agenda &agenda;
  const size_t launchWavelets;
  std::vector<Place> kinds;
  std::vector<size_t> placeOf; ///< by kind of column and row
  std::vector<Route> routes;
  std::vector<std::vector<size_t>> byColor; ///< and place: its route
  std::vector<Progress *> takers;           ///< by route
  std::vector<int64_t> colors;              ///< by route
  /// By route: words of the host that are left to enter over the west edge, and
  /// that have yet to leave over the east edge.
  std::map<size_t, int64_t> west, east;
};

} // namespace wsec::runtime::tokens

#endif // RUNTIME_PROGRAM_PROOF_TOKENFABRIC_H
