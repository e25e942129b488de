// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/FabricPaths.h"
#include "runtime/program/ColorOps.h"
#include "runtime/program/Ports.h"
#include "runtime/program/WordPairs.h"

#include <algorithm>
#include <tuple>

namespace wsec::runtime {

namespace {

using program::Port;
using Axis = AxisScalars::Axis;

/// One PE.
struct Node {
  uint32_t sends = 0, receives = 0; ///< numbers of lists of uses
  uint8_t receive = 0, transmit = 0;
  bool fed = false;

  bool transmits(Port port) const { return transmit >> unsigned(port) & 1; }
  bool receivesFrom(Port port) const {
    return transmit != 0 && receive == unsigned(port);
  }
};

class ColorPaths {
public:
  ColorPaths(const program::Program &program, const FabricRoutine &routine,
             const AxisScalars &scalars, ColorRules &rules, int64_t color,
             Handovers &result)
      : routine(routine), scalars(scalars), rules(rules), color(color),
        steps(scalars.steps), result(result), width(program.machine()->width()),
        height(program.machine()->height()),
        ops(program, routine, scalars, rules, color, Axis::X),
        pairs(routine, color, steps, result) {}

  std::set<size_t> follow();

private:
  void setRoutes();
  void findUses();
  uint32_t usesAt(bool sends, int64_t x, int64_t y, uint64_t heads);
  Uses usesOf(bool sends, int64_t x, int64_t y) const;
  void followSource(int64_t x, int64_t y);
  bool followFrom(int64_t x, int64_t y, std::vector<size_t> &hear);
  void enterFromHost(int64_t y);
  void relay(const Pairing &pairing, int64_t x, int64_t y);

  Node &at(int64_t x, int64_t y) { return nodes[size_t(y * width + x)]; }
  [[noreturn]] void give(const std::string &what) const {
    throw ofColor(color, what);
  }

  const FabricRoutine &routine;
  const AxisScalars &scalars;
  ColorRules &rules;
  const int64_t color;
  ProofSteps &steps;
  Handovers &result;
  const int64_t width, height;
  ColorOps ops;
  WordPairs pairs;
  std::vector<Node> nodes; ///< row by row
  /// The numbers of uses, by direction, kinds along both axes, and which guards
  /// hold that do in one row of a column only.
  std::map<std::tuple<bool, uint32_t, uint32_t, uint64_t>, uint32_t> known;
  std::set<std::tuple<const Pairing *, uint32_t, uint32_t>> relayed;
};

} // namespace

void ColorPaths::setRoutes() {
  nodes.assign(size_t(width * height), {});
  steps += width * height;
  for (const program::RouteRule *rule : rules.mine) {
    const program::Rect &rect = *rule->rect();
    for (int64_t y = rect.y0(); y < rect.y1(); y += rect.ystep())
      for (int64_t x = rect.x0(); x < rect.x1(); x += rect.xstep(), ++steps) {
        at(x, y).receive = uint8_t(rule->receive());
        at(x, y).transmit = uint8_t(rule->transmit());
      }
  }
}

Uses ColorPaths::usesOf(bool sends, int64_t x, int64_t y) const {
  Uses found;
  for (size_t i : sends ? ops.senders : ops.receivers) {
    const FabricOp &op = routine.ops[i];
    const program::Operand &operand = sends ? *op.out : *op.in;
    if (!runsAt(op.guards, op.turns, scalars, x, y) ||
        scalars.value(*operand.color(), x, y) != color)
      continue;
    if (int64_t words = wordsOf(op, operand, scalars, x, y); words > 0)
      found.push_back({i, words});
  }
  return found;
}

uint32_t ColorPaths::usesAt(bool sends, int64_t x, int64_t y, uint64_t heads) {
  const uint32_t kindX = scalars.kinds(ops.atoms, Axis::X).of[size_t(x)];
  const uint32_t kindY = scalars.kinds(ops.atoms, Axis::Y).of[size_t(y)];
  auto [number, isNew] = known.try_emplace({sends, kindX, kindY, heads}, 0);
  if (isNew)
    number->second = pairs.numberOf(usesOf(sends, x, y));
  return number->second;
}

/// Of all PEs that have code.
void ColorPaths::findUses() {
  std::vector<std::vector<int64_t>> headOf; // by pinned f and x: y == f(x)
  for (int row : ops.pinned) {
    std::vector<int64_t> &ys = headOf.emplace_back();
    for (int64_t x = 0; x < width; ++x)
      ys.push_back(scalars.along(row, Axis::X, x));
  }
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; scalars.has(Axis::Y, y) && x < width; ++x) {
      if (!scalars.has(Axis::X, x))
        continue;
      uint64_t heads = 0;
      for (const std::vector<int64_t> &row : headOf)
        heads = heads << 1 | (row[size_t(x)] == y);
      Node &node = at(x, y);
      node.sends = usesAt(true, x, y, heads);
      node.receives = usesAt(false, x, y, heads);
      if (node.sends && !node.receivesFrom(Port::Ramp))
        give("sent by a PE whose router does not take it from the ramp");
      ++steps;
    }
}

/// Follows the words of a PE on, as far as they go; who hears them. Whether
/// they turn somewhere, or branch.
bool ColorPaths::followFrom(int64_t x, int64_t y, std::vector<size_t> &hear) {
  constexpr int64_t dx[] = {0, 0, 1, -1}, dy[] = {-1, 1, 0, 0};
  struct Hop {
    int64_t x, y;
  };
  std::vector<Hop> work = {{x, y}};
  unsigned ways = 0; // ports used by any of them
  while (!work.empty()) {
    const Hop from = work.back();
    work.pop_back();
    for (Port port : {Port::North, Port::South, Port::East, Port::West}) {
      if (!at(from.x, from.y).transmits(port))
        continue;
      ways |= 1u << unsigned(port);
      const Hop to{from.x + dx[unsigned(port)], from.y + dy[unsigned(port)]};
      ++steps;
      if (to.x == width && port == Port::East)
        continue; // an exit
      if (to.x < 0 || to.y < 0 || to.x == width || to.y == height)
        give("leaves the mesh");
      Node &node = at(to.x, to.y);
      if (!node.receivesFrom(opposite(port)) || node.fed)
        give("sent to a PE that does not hear it");
      node.fed = true;
      if (node.transmits(Port::Ramp))
        hear.push_back(size_t(to.y * width + to.x));
      else if (node.receives)
        give("received by a PE that it passes");
      work.push_back(to);
    }
  }
  return ways & (ways - 1);
}

void ColorPaths::followSource(int64_t x, int64_t y) {
  Node &source = at(x, y);
  std::vector<size_t> hear;
  const bool turns = followFrom(x, y, hear);
  const bool link = !turns && hear.size() == 1 && !source.transmits(Port::Ramp);
  Port direction = Port::Ramp;
  for (Port port : {Port::North, Port::South, Port::East, Port::West})
    if (!turns && source.transmits(port))
      direction = port;
  if (source.transmits(Port::Ramp)) {
    source.fed = true;
    hear.push_back(size_t(y * width + x));
  }
  const Pairing *heard = nullptr;
  for (size_t i : hear) {
    Pairing &here = pairs.between(source.sends, nodes[i].receives);
    pairs.record(here, link, direction);
    if (!heard)
      heard = &here;
    else if (heard != &here)
      pairs.agree(*heard, here);
  }
  if (heard && heard->relays)
    relay(*heard, x, y);
}

/// Once for all PEs where the words are as many.
void ColorPaths::relay(const Pairing &pairing, int64_t x, int64_t y) {
  if (relayed
          .insert({&pairing,
                   scalars.kinds(ops.sizeAtoms, Axis::X).of[size_t(x)],
                   scalars.kinds(ops.sizeAtoms, Axis::Y).of[size_t(y)]})
          .second)
    result.relayed.push_back({x, y, pairing.portions});
}

/// What enters at the west edge belongs to a host stream.
void ColorPaths::enterFromHost(int64_t y) {
  Node &first = at(0, y);
  if (!first.receivesFrom(Port::West))
    return;
  std::vector<size_t> hear;
  first.fed = true;
  if (first.transmits(Port::Ramp))
    hear.push_back(size_t(y * width));
  else if (first.receives)
    give("received by a PE that it passes");
  if (followFrom(0, y, hear) || first.transmits(Port::North) ||
      first.transmits(Port::South))
    give("turns on its way from outside");
  std::vector<std::pair<int64_t, int64_t>> columns;
  for (size_t i : hear) {
    for (const Use &use : pairs.uses(nodes[i].receives))
      result.fromHost[color].insert(use.op);
    const int64_t x = int64_t(i) % width;
    if (!columns.empty() && columns.back().second == x)
      columns.back().second = x + 1;
    else
      columns.emplace_back(x, x + 1);
  }
  result.hostColumns[{color, y}] = columns;
}

std::set<size_t> ColorPaths::follow() {
  ops.collect();
  if (ops.senders.empty() && ops.receivers.empty())
    return {};
  setRoutes();
  findUses();
  for (int64_t y = 0; y < height; ++y)
    enterFromHost(y);
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      if (at(x, y).receivesFrom(Port::Ramp))
        followSource(x, y);
  for (const Node &node : nodes)
    if (node.receives && !node.fed)
      give("received where nobody sends it");
  std::set<size_t> all(ops.receivers.begin(), ops.receivers.end());
  all.insert(ops.senders.begin(), ops.senders.end());
  return all;
}

std::set<size_t> followPaths(const program::Program &program,
                             const FabricRoutine &routine,
                             const AxisScalars &scalars, ColorRules &rules,
                             int64_t color, Handovers &result) {
  if (!rules.problem.empty())
    throw ofColor(color, rules.problem);
  return ColorPaths(program, routine, scalars, rules, color, result).follow();
}

} // namespace wsec::runtime
