// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fabric, by whole chunks. What routers without switches do never changes,
// so where a source leads is followed once: a tree of links, its leaves the
// ramps, edges and switching routers it reaches. Switching routers are nodes
// of their own that pass chunks on one after the other.
#ifndef RUNTIME_TASKS_NETWORK_H
#define RUNTIME_TASKS_NETWORK_H

#include "runtime/emulator/Code.h"
#include "runtime/emulator/Router.h"
#include "runtime/observe/Observer.h"
#include "runtime/tasks/Agenda.h"
#include "runtime/tasks/Switch.h"

#include <array>
#include <deque>
#include <limits>
#include <unordered_map>
#include <vector>

namespace wsec::runtime::tasks {

inline constexpr Time never = std::numeric_limits<Time>::infinity();

/// Where chunks come out: at a ramp, at a port of a switching router, or over
/// the east edge of a row. `queue` is what has arrived and waits.
struct Outlet {
  enum Kind : uint8_t { Ramp, Router, Edge };

  Kind kind = Ramp;
  uint8_t color = 0;
  int32_t pe = 0;     ///< whose ramp or router; of an edge, the last PE
  uint32_t node = 0;  ///< of a Router
  uint32_t inlet = 0; ///< what feeds it
  ChunkQueue queue;
  /// Words taken so far, and when the latest of them were: from `takenFrom`
  /// on between two times.
  int64_t taken = 0, takenFrom = 0;
  Time takenFirst = 0, takenLast = 0;
  std::vector<uint32_t> waiters; ///< to be told when more is taken
  int32_t filter = -1;           ///< of a ramp

  /// When word number `count` was taken; never: not yet.
  Time takenAt(int64_t count) const;
};

/// Who waits for room: a thread of a PE, or a node.
struct Waiter {
  bool node = false;
  uint32_t pe = 0;
  uint32_t what = 0; ///< thread, or node
};

class Network {
public:
  Network(const program::Program &program,
          const std::vector<ClassCode> &classes,
          const std::vector<int> &classOf, Agenda &agenda);

  Coordinate coordinate(int pe) const {
    return {pe % meshWidth, pe / meshWidth};
  }
  int index(Coordinate pe) const { return pe.y * meshWidth + pe.x; }

  /// A source of words: the ramp of a PE, or the west edge of its row.
  uint32_t rampInlet(int pe, int color);
  uint32_t edgeInlet(int row, int color);
  /// Sends a chunk that leaves the source at its times; its parts arrive as
  /// events.
  void send(uint32_t inlet, Chunk chunk);
  /// When all words sent so far have found room on the way; never: not yet,
  /// then the waiter is told by a Release event.
  Time roomAt(uint32_t inlet, const Waiter &waiter);

  /// The event of a chunk's arrival: puts it in its outlet, or passes it on.
  /// Returns the outlet if it is a ramp or an edge, else null.
  Outlet *deliver(uint32_t parcel);
  /// Room was made for a node.
  void release(uint32_t waiter);
  const Waiter &waiter(uint32_t index) const { return waiters[index]; }

  /// What has arrived for a PE on a color; null: nothing ever has.
  Outlet *ramp(int pe, int color);
  /// Notes that words of an outlet are taken between two times.
  void take(Outlet &outlet, int64_t count, Time first, Time last);

  void setRoute(int pe, int color, program::Port receive, uint8_t transmit);

  /// Outlets with words that nobody has taken.
  std::vector<const Outlet *> leftOver() const;
  /// A line for each place of a PE at which words wait.
  std::vector<std::string> describeQueues(int pe) const;

  Observer *observer = nullptr;

private:
  /// A leaf of a tree.
  struct Leaf {
    uint32_t outlet;
    int32_t latency;  ///< cycles from the source
    int32_t link;     ///< its last one; -1: no link
    int32_t capacity; ///< words that wait on the way
    int32_t pops;     ///< commands taken off on the way
  };
  struct Link {
    int32_t index;  ///< of a table of all links
    int32_t before; ///< in the tree; -1: the first
    int32_t hops;
  };
  struct Inlet {
    int32_t pe;
    uint8_t color;
    program::Port from; ///< Ramp, West: enters the router; else: leaves it
    bool node = false;  ///< leaves a node instead of entering a router
    bool traced = false;
    int64_t sent = 0;
    Time lastSent = 0; ///< of the last word
    std::vector<Link> links;
    std::vector<Leaf> leaves;
  };
  struct Node {
    int32_t pe;
    uint8_t color;
    Switch state;
    std::array<int64_t, 5> in{-1, -1, -1, -1, -1};  ///< outlets by port
    std::array<int64_t, 5> out{-1, -1, -1, -1, -1}; ///< inlets by port
    Time free = 0;        ///< the last word has passed
    bool blocked = false; ///< a chunk that was passed on waits for room
    int64_t passed = 0;   ///< words of it
    Time passedFirst = 0, passedLast = 0;
    program::Port passedFrom{};
  };
  /// Lets some words up a ramp.
  struct RampFilter {
    program::FilterKind kind;
    int64_t min, max, limit, count;

    bool passes(uint32_t word);
  };
  struct Parcel {
    Chunk chunk;
    uint32_t outlet;
  };
  struct Step {
    Coordinate pe;
    program::Port entered;
    int32_t link, hops, capacity, pops;
  };

  void addRule(const program::RouteRule &rule, uint16_t number);
  bool isNode(int pe, int color) const;
  const program::RouteRule *rule(int pe, int color) const;
  uint32_t nodeAt(int pe, int color);
  uint32_t nodeOutlet(uint32_t node, program::Port port);
  uint32_t rampOutlet(int pe, int color, uint32_t inlet);
  uint32_t newOutlet(Outlet::Kind kind, int pe, int color, uint32_t inlet);
  uint32_t newInlet(int pe, int color, program::Port from, bool node);
  void trace(uint32_t inlet);
  void enter(uint32_t inlet, const Step &step, std::vector<Step> &pending);
  void leave(uint32_t inlet, const Step &step, program::Port port,
             std::vector<Step> &pending);
  void addLeaf(uint32_t inlet, uint32_t outlet, const Step &step, int ramp,
               int capacity);
  int32_t makeFilter(int pe, int color);
  /// Drops what does not pass; in runs of words that do.
  std::vector<Chunk> filtered(Outlet &outlet, const Chunk &chunk);
  void occupyLinks(const Inlet &inlet, const Chunk &chunk);
  void post(uint32_t outlet, Chunk chunk);
  void pump(uint32_t node);
  bool passOn(uint32_t node);
  bool finishPassing(uint32_t node);
  uint32_t nodeInlet(uint32_t node, program::Port port);
  std::string place(int color, Coordinate pe) const;

  const program::Program &program;
  const program::Machine &machine;
  const std::vector<ClassCode> &classes;
  const std::vector<int> &classOf;
  Agenda &agenda;
  const int meshWidth, meshHeight, colors;
  const int hop, ramps, routerDepth;
  std::vector<bool> routeSetters; ///< by class
  std::vector<bool> tornColors;   ///< some control wavelet tears routes down
  /// Rules by color and PE; 0: none.
  std::vector<std::vector<uint16_t>> rules;
  std::deque<Inlet> inlets;
  std::deque<Outlet> outlets;
  std::deque<Node> nodes;
  std::unordered_map<uint64_t, uint32_t> inletOf, outletOf, nodeOf;
  std::vector<RampFilter> filters;
  std::vector<Parcel> parcels;
  std::vector<uint32_t> freeParcels;
  std::vector<Waiter> waiters;
  std::unordered_map<uint64_t, uint32_t> waiterOf;
  std::vector<Time> linkFree;  ///< by PE and direction
  std::vector<Time> linkDelay; ///< scratch, by link of a tree
};

/// Queue between a PE and its router, with what is on the ramp.
int inboxWords(const program::Machine &machine, const ClassCode &code,
               int color);
int outboxWords(const program::Machine &machine, const ClassCode &code,
                int color);

} // namespace wsec::runtime::tasks

#endif // RUNTIME_TASKS_NETWORK_H
