// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Why a run cannot go on: who waits, who would have to send or take a word, and
// the cycle that this makes, in a few lines for any mesh.
#ifndef RUNTIME_ENGINE_WAITGRAPH_H
#define RUNTIME_ENGINE_WAITGRAPH_H

#include "runtime/engine/Router.h"
#include "runtime/pe/Wait.h"
#include "runtime/program/Call.h"

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace wsec::runtime {

/// A color in a router, now.
struct RouteNow {
  program::Port receive{};
  uint8_t transmit = 0;
  bool tornDown = false;
};

/// An engine adds what it sees, then asks for the report.
class WaitGraph {
public:
  using RouteOf = std::function<std::optional<RouteNow>(Coordinate, int color)>;

  WaitGraph(const Call &call, RouteOf routeOf)
      : call(call), program(call.program()), routeOf(std::move(routeOf)) {}

  void add(const PeWait &wait);
  /// Words wait in the router of a PE, where they came in.
  void addWords(Coordinate pe, int color, program::Port cameIn);
  /// Words have come up the ramp and are not taken.
  void addDelivered(Coordinate pe, int color, size_t words);
  /// A task of the PE that is blocked.
  void addBlocked(Coordinate pe, const TaskCode &task, bool activated);
  /// A channel of an output, at the east edge, has not all its words.
  void addOutput(int row, int color, uint32_t stream, uint64_t has,
                 uint64_t words);

  /// Whether nobody waits.
  bool empty() const { return waits.empty() && outputs.empty(); }
  /// A line for each group of PEs that wait alike, then how it ends.
  std::string describe() const;

private:
  /// Who has to act before a wait ends.
  struct Cause {
    std::string text;              ///< "the words come from"
    std::optional<Coordinate> who; ///< follows the text
    bool acts = false;             ///< it has to; else its router is at fault
  };
  /// How words that a router has let in end; distances in hops.
  struct Taking {
    size_t most = 0; ///< words that `taker` has and does not take; 0: nobody
    Coordinate taker;
    size_t toTaker = 0;
    std::optional<Coordinate> closed; ///< the nearest router they cannot pass
    std::optional<program::Port> cameIn; ///< where it is deaf; else torn down
    size_t toClosed = 0;
  };
  using Place = std::tuple<int, int, int>; ///< y, x, color
  struct Output {
    int row, color;
    uint32_t stream;
    uint64_t has, words;
  };

  Cause causeOf(const PeWait &wait) const;
  Cause senderFor(Coordinate pe, int color) const;
  std::optional<Coordinate> towardsSender(Coordinate pe, int color,
                                          Cause &cause) const;
  static Cause deafTo(program::Port port, Coordinate pe);
  Cause hostFor(int row, int color) const;
  Cause takerOf(Coordinate pe, int color) const;
  const Taking &takingFrom(Coordinate pe, int color) const;
  Taking takingAt(Coordinate pe, int color) const;
  std::vector<std::pair<Coordinate, program::Port>> nextOf(Coordinate pe,
                                                           int color) const;
  std::string stateOf(Coordinate pe) const;
  std::string describeWait(const PeWait &wait) const;
  std::string describePlace(const PeWait &wait) const;
  std::string describeGroups() const;
  std::string describeEnd() const;
  static std::string describePath(const std::vector<Coordinate> &path);

  static std::tuple<int, int> key(Coordinate pe) { return {pe.y, pe.x}; }
  bool inMesh(Coordinate pe) const;

  const Call call;
  const program::Program &program;
  RouteOf routeOf;
  std::map<std::tuple<int, int>, std::vector<PeWait>> waits; ///< by PE
  std::vector<Output> outputs;
  std::set<std::tuple<int, int, int, program::Port>> words; ///< in routers
  std::map<Place, size_t> delivered;
  std::map<std::tuple<int, int>, std::vector<const TaskCode *>> blocked;
  // Found so far: words of many waits go the same ways.
  mutable std::map<Place, Cause> senders;
  mutable std::map<Place, Taking> takings;
  mutable std::unordered_map<const InstructionCode *, std::string> located;
};

/// "statement 3 of routine 0", "statement 1 of task 'done'"; empty if the class
/// does not hold it. Statements are counted from 0 in program order, bodies of
/// loops and branches included.
std::string locate(const ClassCode &code, const InstructionCode &instruction);

} // namespace wsec::runtime

#endif // RUNTIME_ENGINE_WAITGRAPH_H
