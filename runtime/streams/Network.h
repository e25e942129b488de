// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fabric. A word does not go from router to router here: once it is known
// when it leaves its source, it is known when it comes to the end of its way.
// Ways end where something is decided: at ramps, at switches that are not open
// for it, and where they branch.
#ifndef RUNTIME_STREAMS_NETWORK_H
#define RUNTIME_STREAMS_NETWORK_H

#include "runtime/engine/SteppedRun.h"
#include "runtime/pe/Filter.h"
#include "runtime/pe/Switch.h"
#include "runtime/streams/Agenda.h"
#include "runtime/streams/Station.h"

#include <array>
#include <deque>
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

namespace wsec::runtime::streams {

/// The key of an input of a router, or of a router (Ramp), on a color.
inline uint64_t placeKey(int pe, int color, program::Port port) {
  return (uint64_t(pe) << 8 | uint64_t(color)) << 3 | uint64_t(port);
}

/// Where words go from an input of a router.
struct Way {
  struct End {
    uint32_t to;
    int32_t depth;   ///< words that wait on the way and at its end
    Cycle latency;   ///< cycles from the router to where the word is ready
    int32_t stages;  ///< cycles until room at the end is seen at the router
    int32_t link;    ///< the last of `links` on the way; -1: none
    Cycle notBefore; ///< words that leave earlier wait for a switch
    int32_t wire;    ///< part of `depth` before the last router
  };
  /// A link that several colors use.
  struct Link {
    int32_t link;
    Cycle distance; ///< from the first router
    int32_t before; ///< the last such link before it; -1: none
    Cycle delay;    ///< of the current word
  };
  /// A port of a router on the way, for observers.
  struct Passage {
    int32_t pe;
    program::Port port;
    Cycle distance;
  };
  std::vector<End> ends;
  std::vector<Link> links;
  std::vector<Passage> passages;
  bool valid = false;
  bool timed = false; ///< its words take turns with those of other colors
  uint8_t ports = 0;  ///< of the first router
};

/// One input of a router, or what has come up a ramp: a queue of finite depth.
struct Station : pe::Mailbox {
  enum Kind : uint8_t { Outbox, Gate, Inbox, WestEdge, EastEdge };

  Kind kind = Outbox;
  program::Port port{}; ///< of the router; Ramp of an Outbox
  bool queued = false;  ///< to be looked at
  bool branch = false;  ///< every way ends here
  int32_t turn = -1;    ///< among those of its router; -1: unknown to it
  int32_t depth = 0;
  int32_t node = -1;   ///< of a switching router
  int32_t filter = -1; ///< of an Inbox
  int64_t delivered = 0, consumed = 0;
  Cycle dropsFrom = 0; ///< when `toDrop` may begin
  Cycle lastReady = -1;
  bool countsStalls = false;
  uint64_t stalled = 0; ///< cycles for which words that were there waited
  TakeLog taken;
  std::vector<uint32_t> waiters; ///< stations that wait for room here

  std::unique_ptr<Way> way; ///< on from here

  /// The oldest word, there since `ready`, is taken at cycle `when`.
  void noteTaken(Cycle ready, Cycle when) {
    if (countsStalls)
      stalled += uint64_t(when - std::max(ready, lastTaken + 1));
    taken.add(when);
    lastTaken = when;
    ++consumed;
  }
};

/// Fills the queue of a station at the west edge; false: there is no more.
using WestSource = std::function<bool(Station &station)>;

class Network : public ReportingFabric {
public:
  Network(const program::Program &program, const Mesh &mesh, Agenda &agenda,
          EastEdge &east);

  WestSource west;

  Coordinate coordinate(int pe) const { return mesh.coordinate(pe); }

  // ---- a PE and its ramp

  bool looksAhead() const override { return true; }
  void wake(int pe, Cycle when) override { agenda.enter(when, uint32_t(pe)); }
  pe::Mailbox *inbox(int pe, int color) override;
  pe::Mailbox &expect(int pe, int color) override {
    return stations[inboxAt(pe, color)];
  }
  Word receive(pe::Mailbox &inbox, Cycle when) override;
  void drop(pe::Mailbox &inbox, int64_t words, Cycle since) override;
  Station &outbox(int pe, int color) override;
  Cycle roomAt(const pe::Mailbox &outbox, int64_t further) const override;
  void send(pe::Mailbox &outbox, const Word &word) override;
  void settle() override;
  void advanceSwitch(int pe, int color, Cycle when) override;
  void setRoute(int pe, int color, program::Port receive, uint8_t transmit,
                Cycle when) override;

  /// Where words of the west edge of a row enter on a color.
  Station &westEdge(int row, int color);
  /// Words may have come to a station.
  void start(Station &station);

  /// A router whose colors take turns is due.
  void stepRouter(int pe);

  // ---- reports

  Cycle latest() const override { return std::max(agenda.now(), lastMove); }
  std::optional<RouteNow> routeNow(int pe, int color) const override;
  void addTo(WaitGraph &graph) const override;
  std::vector<std::pair<int, int>> leftOver() const override;
  std::vector<std::string> describeQueues(int pe) const override;

  Observer *observer = nullptr;

private:
  struct Node {
    int32_t pe;
    uint8_t color;
    pe::Switch state;
    Cycle since = 0; ///< from when on this is its position
    std::vector<uint32_t> stations, dependents;
  };
  /// What passed a filter of late.
  struct RampFilter {
    pe::Filter filter;
    int64_t arrived = 0, kept = 0;
    std::vector<int64_t> keptUpTo; ///< by word, of the last so many

    bool passes(uint32_t word);
    void remember(int64_t words);
  };
  /// A link, or ramp, that several colors use. While they do not meet, their
  /// words take its cycles in advance; where they do, they take turns.
  struct SharedLink {
    Slots slots;
    bool contended = false;
    int16_t color = -1;          ///< of the last word
    Cycle last = -1;             ///< when it passed
    std::vector<uint32_t> users; ///< stations whose ways use it
  };
  /// A station of a router whose colors take turns.
  struct Turn {
    Station *station;
    uint32_t index;
    bool wanted; ///< its oldest word may be able to move
  };
  /// A router whose colors take turns.
  struct Turns {
    int first = 0; ///< color that is asked first
    Cycle wakes = never;
    Cycle stepped = -1;         ///< the last cycle in which it was asked
    unsigned used = 0;          ///< ports, in the current cycle
    std::vector<Turn> stations; ///< by color
  };
  struct Step {
    Coordinate pe;
    program::Port entered;
    int32_t hops, link;
    Cycle notBefore;
  };
  struct Tracing;

  void addRule(const program::RouteRule &rule, uint16_t number);
  bool ignores(int pe, int color) const;
  bool isNode(int pe, int color) const;
  const program::RouteRule *rule(int pe, int color) const;
  uint32_t nodeAt(int pe, int color);
  uint32_t newStation(Station::Kind kind, int pe, int color, program::Port port,
                      int depth);
  uint32_t inboxAt(int pe, int color);
  Station *knownGate(int pe, int color, program::Port port);
  uint32_t gateAt(int pe, int color, program::Port port);
  bool stops(int pe, int color, program::Port entered);
  uint8_t transmits(int pe, int color) const;
  int32_t makeFilter(int pe, int color);

  void trace(uint32_t station);
  void follow(Tracing &tracing);
  void leave(Tracing &tracing, const Step &step, program::Port port);
  bool splitBranches(const Tracing &tracing);
  int32_t shareLink(uint32_t station, const Step &step, int pe, int port);

  void enqueue(uint32_t station);
  void pass(uint32_t station);
  bool streams(const Station &from) const;
  void stream(uint32_t station);
  void await(Station &to, uint32_t station);
  void wakeSenders(Station &station, Cycle when);
  bool passFront(uint32_t station);
  bool credit(uint32_t station, Way &way, Cycle &when);
  int64_t heldUpBy(const Station &to, int64_t wire) const;
  Cycle takeSlots(Way &way, int color, Cycle when);
  bool slotsFree(const Way &way, Cycle when) const;
  bool meetsOthers(const Way &way, int color, Cycle when);
  void contend(SharedLink &link);
  bool takesTurns(int pe, unsigned ports) const;
  bool takesTurn(uint32_t station, Cycle when);
  void enlist(Turns &turns, uint32_t station);
  Turns &turnsAt(int pe);
  void schedule(Turns &turns, int pe, Cycle when);
  void deliver(uint32_t to, Word word, Cycle ready);
  void routeControl(int pe, int color, Word word, Cycle when);
  void take(Station &station, Cycle when);
  void dropArrived(Station &inbox);
  void retrace(Node &node);
  void moved(uint32_t node, Cycle since);
  std::string place(int color, Coordinate pe) const;
  [[noreturn]] void noRule(int pe, int color, program::Port entered) const;
  [[noreturn]] void conflict(int pe, int color, program::Port entered,
                             program::Port receive) const;

  const program::Program &program;
  const program::Machine &machine;
  const Mesh &mesh;
  Agenda &agenda;
  EastEdge &east;
  const int colors;
  const int hop, ramp, routerDepth;
  std::vector<bool> routeSetters; ///< by class
  std::vector<bool> tornColors;   ///< some control wavelet tears routes down
  /// Rules by color and PE; 0: none.
  std::vector<std::vector<uint16_t>> rules;
  /// Stations by color and PE, plus 1.
  std::vector<std::vector<uint32_t>> outboxes, inboxes;
  std::deque<Station> stations;
  std::deque<Node> nodes;
  std::unordered_map<uint64_t, uint32_t> gateOf, nodeOf;
  std::vector<RampFilter> filters;
  /// By PE and port: 0 no color uses it, 255 several do, else the color + 1.
  std::vector<uint8_t> linkUsers;
  std::vector<int32_t> sharedOf; ///< by PE and port; -1: none yet
  std::deque<SharedLink> shared;
  std::vector<int32_t> turnsOf; ///< by PE; -1: none yet
  std::deque<Turns> turns;
  const bool alwaysTurns;     ///< wherever colors share a link
  int turning = -1;           ///< PE of the router that is due
  std::vector<uint32_t> work; ///< stations to be looked at
  bool working = false;
  Cycle lastMove = -1;
};

} // namespace wsec::runtime::streams

#endif // RUNTIME_STREAMS_NETWORK_H
