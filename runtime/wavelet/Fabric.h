// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The routers of the mesh and what connects them: links, ramps, the edges.
#ifndef RUNTIME_WAVELET_FABRIC_H
#define RUNTIME_WAVELET_FABRIC_H

#include "runtime/engine/EdgeLanes.h"
#include "runtime/engine/Router.h"
#include "runtime/engine/WaitGraph.h"
#include "runtime/observe/Observer.h"
#include "runtime/wavelet/Agenda.h"
#include "runtime/wavelet/Buffer.h"
#include "runtime/wavelet/Filter.h"
#include "runtime/wavelet/Switch.h"

#include <array>
#include <string>
#include <vector>

namespace wsec::runtime::wavelet {

/// An entry of the agenda: a color of a router, a PE, or a row's link into the
/// west edge.
enum class Party : uint32_t { Router = 0, Processor, Edge };
inline constexpr uint32_t agendaEntry(Party party, uint32_t index) {
  return uint32_t(party) << 30 | index;
}
inline constexpr Party partyOf(uint32_t entry) { return Party(entry >> 30); }
inline constexpr uint32_t indexOf(uint32_t entry) {
  return entry & ((1u << 30) - 1);
}

/// Every router has a buffer per color and input port, and sends one wavelet
/// per cycle on each of its links and down its ramp. Of the colors that want
/// the same output the one after the last that was served goes first. A
/// wavelet leaves through all ports of its route in one cycle, or stays. A
/// blocked color never stops another.
class Fabric {
public:
  Fabric(const program::Program &program, Agenda &agenda, EastEdge &east);

  int width() const { return meshWidth; }
  int height() const { return meshHeight; }
  Coordinate coordinate(int pe) const {
    return {pe % meshWidth, pe / meshWidth};
  }
  int index(Coordinate pe) const { return pe.y * meshWidth + pe.x; }
  /// Class of the program that a PE belongs to; -1: no code.
  int classOf(int pe) const { return classes[size_t(pe)]; }

  /// One cycle: moves what can move. `agenda.now()` is that cycle.
  void step();
  /// An entry of the agenda for a router is due.
  void wake(uint32_t route);

  // ---- a PE and its ramp

  /// Whether the PE can send a word now; if not it is woken when it can.
  bool roomToSend(int pe, int color);
  void send(int pe, int color, const Wavelet &wavelet);
  /// What has come for the PE on a color, or is on its ramp.
  const Buffer *inbox(int pe, int color) const;
  Wavelet receive(int pe, int color);
  /// Wakes the PE when the next word of the color comes.
  void listen(int pe, int color);
  void setFilter(int pe, int color, const Filter &filter);
  /// Words of the color for the PE vanish.
  void ignore(int pe, int color);
  /// Advances the PE's switch once all that it has sent has passed.
  void advanceSwitch(int pe, int color);
  void setRoute(int pe, int color, program::Port receive, uint8_t transmit);

  // ---- the west edge

  bool roomAtEdge(int row, int color);
  void enter(int row, int color, const Wavelet &wavelet);

  // ---- reports

  struct Waiting {
    int pe, color;
  };
  /// Where wavelets are, at the end: at PEs, and in routers.
  std::vector<Waiting> undelivered() const;
  std::vector<Waiting> inTransit() const;
  /// What a color does in a router now; nothing if it has no route there.
  std::optional<RouteNow> routeNow(int pe, int color) const;
  /// Adds the words that wait.
  void addTo(WaitGraph &graph) const;
  /// A line for each buffer of a PE and its router that holds words.
  std::vector<std::string> describeQueues(int pe) const;
  /// Links and ramps that wavelets passed.
  uint64_t hops() const { return moves; }

  Observer *observer = nullptr;

private:
  static constexpr int none = -1, sink = -2, overEdge = -3, unresolved = -4;

  /// One color at one router.
  struct Route {
    int pe;
    uint8_t color;
    bool fixed; ///< nothing changes its receive port
    Switch state;
    std::array<int, 5> in{none, none, none, none, none}; ///< buffers by port
    std::array<int, 5> out{unresolved, unresolved, unresolved, unresolved,
                           unresolved};
    int inbox = none; ///< buffer of the PE
    int filter = none;
    bool listens = false; ///< the PE waits for a word
    bool ignored = false;
  };
  struct Router {
    uint64_t candidates = 0; ///< colors whose oldest wavelet may move
    uint8_t first = 0;       ///< color that is asked first
    bool queued = false;     ///< for this cycle
  };

  void addRule(const program::RouteRule &rule);
  void mapClasses();
  bool setsRoutes(int pe) const {
    return classOf(pe) >= 0 && routeSetters[size_t(classOf(pe))];
  }
  int routeAt(int pe, int color) const {
    return routeOf[size_t(pe) * size_t(colors) + size_t(color)];
  }
  int sendingRoute(int pe, int color);
  void stepRouter(int pe);
  bool tryMove(int route, unsigned &usedPorts);
  bool hasRoom(int route, unsigned ports);
  void pass(int route, unsigned ports, Wavelet wavelet);
  bool delivers(Route &route, const Wavelet &wavelet);
  void refresh(int route);
  int resolve(int route, program::Port port);
  int inputBuffer(int route, program::Port port, uint32_t sender);
  int inboxBuffer(int route);
  int closedRoute(int pe, int color);
  void push(int route, int buffer, const Wavelet &wavelet);
  Wavelet pop(Buffer &buffer);
  void queue(int route);
  void checkColor(int pe, int color) const;
  std::string place(int pe, int color) const;

  const program::Program &program;
  const program::Machine &machine;
  Agenda &agenda;
  EastEdge &east;
  const int meshWidth, meshHeight, colors, hop, ramp;
  std::vector<int> classes;
  std::vector<bool> routeSetters; ///< classes with code that sets routes
  std::vector<int> routeOf;       ///< by PE and color
  std::vector<Route> routes;
  std::vector<Router> routers;
  std::vector<Buffer> buffers;
  std::vector<Filter> filters;
  std::vector<int> active; ///< routers to visit in this cycle
  uint64_t moves = 0;
};

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_FABRIC_H
