// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The routers of the mesh and what connects them: links, ramps, the edges.
#ifndef RUNTIME_WAVELET_FABRIC_H
#define RUNTIME_WAVELET_FABRIC_H

#include "runtime/engine/EdgeChannels.h"
#include "runtime/engine/Mesh.h"
#include "runtime/engine/WaitGraph.h"
#include "runtime/pe/Fabric.h"
#include "runtime/pe/Filter.h"
#include "runtime/pe/Switch.h"
#include "runtime/wavelet/Agenda.h"
#include "runtime/wavelet/Buffer.h"

#include <array>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace wsec::runtime::wavelet {

/// An entry of the agenda: a color of a router, a PE, a row's link into the
/// west edge, or words on a ramp that are to be dropped.
enum class Party : uint32_t { Router = 0, Processor, Edge, Ramp };
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
class Fabric : public pe::Fabric {
public:
  Fabric(const program::Program &program, const Mesh &mesh, Agenda &agenda,
         EastEdge &east);

  /// One cycle: moves what can move. `agenda.now()` is that cycle.
  void step();
  /// An entry of the agenda for a router is due.
  void wakeRoute(int route);
  int peOf(int route) const { return routes[size_t(route)].pe; }

  // ---- a PE and its ramp

  void wake(int pe, Cycle when) override {
    agenda.enter(when, agendaEntry(Party::Processor, uint32_t(pe)));
  }
  Buffer *inbox(int pe, int color) override;
  Buffer &expect(int pe, int color) override;
  Word receive(pe::Mailbox &inbox) override;
  void drop(pe::Mailbox &inbox, int64_t words) override;
  /// An entry of the agenda for a ramp is due: takes a word that is to be
  /// dropped. Whether the PE is due, too.
  bool dropNow(int route);
  Buffer &outbox(int pe, int color) override;
  Cycle roomAt(const pe::Mailbox &outbox) const override;
  void send(pe::Mailbox &outbox, const Word &word) override;
  void advanceSwitch(int pe, int color) override;
  void setRoute(int pe, int color, program::Port receive,
                uint8_t transmit) override;

  // ---- the west edge

  bool roomAtEdge(int row, int color);
  void enter(int row, int color, const Word &word);

  // ---- reports

  /// The last cycle in which anything happened.
  Cycle latest() const { return agenda.now(); }
  /// What a color does in a router now; nothing if it has no route there.
  std::optional<RouteNow> routeNow(int pe, int color) const;
  /// Adds the words that wait.
  void addTo(WaitGraph &graph) const;
  /// PEs and colors of words that nobody has taken.
  std::vector<std::pair<int, int>> leftOver() const;
  /// A line for each place of a PE and its router at which words wait.
  std::vector<std::string> describeQueues(int pe) const;
  /// Links and ramps that wavelets passed.
  uint64_t hops() const { return moves; }

  Observer *observer = nullptr;

private:
  static constexpr int none = -1;

  /// One color at one router.
  struct Route {
    int pe;
    uint8_t color;
    bool fixed; ///< nothing changes its receive port
    pe::Switch state;
    int filter = none;
    std::array<Buffer *, 5> in{}, out{}; ///< by port; null: not looked up yet
    Buffer *inbox = nullptr;             ///< of the PE
  };
  struct Router {
    uint64_t candidates = 0; ///< colors whose oldest wavelet may move
    uint8_t first = 0;       ///< color that is asked first
    bool queued = false;     ///< for this cycle
  };

  void addRule(const program::RouteRule &rule);
  bool setsRoutes(int pe) const;
  bool ignores(int pe, int color) const;
  int routeAt(int pe, int color) const {
    return routeOf[size_t(pe) * size_t(colors) + size_t(color)];
  }
  int sendingRoute(int pe, int color);
  void stepRouter(int pe);
  bool tryMove(int route, unsigned &usedPorts);
  bool hasRoom(int route, unsigned ports);
  void pass(int route, unsigned ports, Word word);
  void deliver(int route, const Word &word);
  void dropLater(int route);
  void refresh(int route);
  Buffer &resolve(int route, program::Port port);
  Buffer &inputBuffer(int route, program::Port port, uint32_t sender);
  Buffer &inboxBuffer(int route);
  int closedRoute(int pe, int color);
  void push(Buffer &into, const Word &word);
  Word pop(Buffer &buffer);
  void queue(int route);
  std::string place(int pe, int color) const;

  const program::Program &program;
  const program::Machine &machine;
  const Mesh &mesh;
  Agenda &agenda;
  EastEdge &east;
  const int colors, hop, ramp;
  std::vector<bool> routeSetters; ///< classes with code that sets routes
  std::vector<int> routeOf;       ///< by PE and color
  std::vector<Route> routes;
  std::vector<Router> routers;
  std::deque<Buffer> buffers; ///< PEs know those of their ramps
  Buffer nowhere;             ///< what never comes
  Buffer sink, beyond; ///< of launch wavelets that start nothing; the edge
  std::vector<pe::Filter> filters;
  std::vector<int> active; ///< routers to visit in this cycle
  uint64_t moves = 0;
};

} // namespace wsec::runtime::wavelet

#endif // RUNTIME_WAVELET_FABRIC_H
