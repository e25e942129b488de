// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/FabricPaths.h"
#include "runtime/program/Ports.h"
#include "runtime/program/proof/ColorOps.h"
#include "runtime/program/proof/WordPairs.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace wsec::runtime {

namespace {

using program::Port;
using Axis = AxisScalars::Axis;

/// Neighbouring positions of an axis that are of one kind.
struct Run {
  int64_t begin, length;
};

/// PEs of a run of columns and a run of rows: they have one setting and do the
/// same. What enters a block from a side comes from the block beside it, PE by
/// PE in parallel.
struct Block {
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
  ColorPaths(const FabricRoutine &routine, const AxisScalars &scalars,
             ColorRules &rules, int64_t color, Handovers &result)
      : scalars(scalars), rules(rules), color(color), steps(scalars.steps),
        result(result), ops(routine, scalars, rules, color, Axis::X),
        pairs(routine, steps, result) {}

  std::set<size_t> follow();

private:
  /// Of a block: numbers of its runs.
  struct Place {
    size_t x, y;

    bool operator<(const Place &other) const {
      return std::tie(y, x) < std::tie(other.y, other.x);
    }
  };

  std::vector<Run> runsOf(Axis which) const;
  void setRoutes();
  void findUses();
  uint32_t usesAt(bool sends, int64_t x, int64_t y, uint64_t heads);
  void followSource(Place source);
  bool followFrom(Place source, std::vector<Place> &hear);
  void arrive(Place at, Port port, std::vector<Place> &hear);
  void enterFromHost(size_t row);
  void relay(const Pairing &pairing, Place at);

  Block &at(Place place) { return blocks[place.y * xs.size() + place.x]; }
  /// PEs of a block that words pass which leave it by the port.
  int64_t lengthAlong(Place place, Port port) const {
    return port == Port::East || port == Port::West ? xs[place.x].length
                                                    : ys[place.y].length;
  }
  /// Lines of a block that words which leave it by the port are in.
  std::vector<int64_t> linesAcross(Place place, Port port) const;
  [[noreturn]] void give(const std::string &what) const {
    throw NotUnderstood{what};
  }

  const AxisScalars &scalars;
  ColorRules &rules;
  const int64_t color;
  ProofSteps &steps;
  Handovers &result;
  ColorOps ops;
  WordPairs pairs;
  std::vector<Run> xs, ys;
  std::vector<Block> blocks; ///< row by row
  /// The numbers of uses, by direction, kinds along both axes, and which guards
  /// hold that do in one row of a column only.
  std::map<std::tuple<bool, uint32_t, uint32_t, uint64_t>, uint32_t> known;
  std::set<std::tuple<const Pairing *, uint32_t, uint32_t>> relayed;
};

} // namespace

std::vector<Run> ColorPaths::runsOf(Axis which) const {
  const std::vector<uint32_t> kinds = ops.classify(which).of;
  std::vector<Run> runs;
  for (size_t i = 0; i < kinds.size(); ++i)
    if (i > 0 && kinds[i] == kinds[i - 1])
      ++runs.back().length;
    else
      runs.push_back({int64_t(i), 1});
  return runs;
}

void ColorPaths::setRoutes() {
  blocks.assign(xs.size() * ys.size(), {});
  steps += int64_t(blocks.size());
  auto first = [](const std::vector<Run> &runs, const Span &span) {
    return size_t(std::partition_point(
                      runs.begin(), runs.end(),
                      [&](const Run &run) { return run.begin < span.begin; }) -
                  runs.begin());
  };
  for (const program::RouteRule *rule : rules.mine) {
    const Span along = spanOf(*rule->rect(), Axis::X);
    const Span across = spanOf(*rule->rect(), Axis::Y);
    for (size_t y = first(ys, across);
         y < ys.size() && ys[y].begin < across.end; ++y)
      for (size_t x = first(xs, along);
           across.has(ys[y].begin) && x < xs.size() && xs[x].begin < along.end;
           ++x, ++steps) {
        if (!along.has(xs[x].begin))
          continue;
        at({x, y}).receive = uint8_t(rule->receive());
        at({x, y}).transmit = uint8_t(rule->transmit());
      }
  }
}

uint32_t ColorPaths::usesAt(bool sends, int64_t x, int64_t y, uint64_t heads) {
  const uint32_t kindX = scalars.kinds(ops.atoms, Axis::X).of[size_t(x)];
  const uint32_t kindY = scalars.kinds(ops.atoms, Axis::Y).of[size_t(y)];
  auto [number, isNew] = known.try_emplace({sends, kindX, kindY, heads}, 0);
  if (!isNew)
    return number->second;
  Uses uses;
  for (const auto &[op, words] : ops.usesAt(sends, x, y))
    uses.push_back({op, pairs.numberOf(Counts{words})});
  number->second = pairs.numberOf(std::move(uses));
  return number->second;
}

/// Of all PEs that have code.
void ColorPaths::findUses() {
  for (size_t y = 0; y < ys.size(); ++y) {
    const int64_t row = ys[y].begin;
    if (!scalars.has(Axis::Y, row) || !ops.lines[size_t(row)])
      continue;
    for (size_t x = 0; x < xs.size(); ++x, ++steps) {
      const int64_t column = xs[x].begin;
      if (!scalars.has(Axis::X, column))
        continue;
      uint64_t heads = 0;
      for (int f : ops.pinned)
        heads = heads << 1 | (scalars.along(f, Axis::X, column) == row);
      Block &block = at({x, y});
      block.sends = usesAt(true, column, row, heads);
      block.receives = usesAt(false, column, row, heads);
      if (block.sends && !block.receivesFrom(Port::Ramp))
        give("sent by a PE whose router does not take it from the ramp");
    }
  }
}

/// Words come into a block, moving towards `port`.
void ColorPaths::arrive(Place place, Port port, std::vector<Place> &hear) {
  Block &block = at(place);
  if (!block.receivesFrom(opposite(port)) || block.fed)
    give("sent to a PE that does not hear it");
  block.fed = true;
  if (block.transmits(Port::Ramp))
    hear.push_back(place);
  else if (block.receives)
    give("received by a PE that it passes");
  if (lengthAlong(place, port) > 1 && !block.transmits(port))
    give("stops between PEs that are alike");
}

/// Follows the words of a block on, as far as they go; who hears them. Whether
/// they turn somewhere, or branch.
bool ColorPaths::followFrom(Place source, std::vector<Place> &hear) {
  std::vector<Place> work = {source};
  unsigned ways = 0; // ports used by any of them
  while (!work.empty()) {
    const Place from = work.back();
    work.pop_back();
    for (Port port : {Port::North, Port::South, Port::East, Port::West}) {
      if (!at(from).transmits(port))
        continue;
      // Inside of the block the next PE hears this one.
      if (lengthAlong(from, port) > 1 && !at(from).receivesFrom(opposite(port)))
        give("sent to a PE that does not hear it");
      ways |= 1u << unsigned(port);
      ++steps;
      Place to = from;
      if (port == Port::East && ++to.x == xs.size())
        continue; // an exit
      if ((port == Port::West && to.x-- == 0) ||
          (port == Port::North && to.y-- == 0) ||
          (port == Port::South && ++to.y == ys.size()))
        give("leaves the mesh");
      arrive(to, port, hear);
      work.push_back(to);
    }
  }
  return ways & (ways - 1);
}

std::vector<int64_t> ColorPaths::linesAcross(Place place, Port port) const {
  const Run &run =
      port == Port::East || port == Port::West ? ys[place.y] : xs[place.x];
  std::vector<int64_t> lines(size_t(run.length));
  std::iota(lines.begin(), lines.end(), run.begin);
  return lines;
}

void ColorPaths::followSource(Place place) {
  Block &source = at(place);
  std::vector<Place> hear;
  const bool turns = followFrom(place, hear);
  Port direction = Port::Ramp;
  for (Port port : {Port::North, Port::South, Port::East, Port::West})
    if (!turns && source.transmits(port))
      direction = port;
  const bool link = !turns && hear.size() == 1 &&
                    lengthAlong(hear[0], direction) == 1 &&
                    !source.transmits(Port::Ramp);
  if (source.transmits(Port::Ramp)) {
    source.fed = true;
    hear.push_back(place);
  }
  if (link)
    pairs.look({linesAcross(place, direction)});
  const Pairing *heard = nullptr;
  for (Place each : hear) {
    Pairing &here = pairs.between(source.sends, at(each).receives);
    pairs.record(here, color, link, direction);
    if (!heard)
      heard = &here;
    else if (heard != &here)
      pairs.agree(*heard, here);
  }
  if (heard && heard->relays)
    relay(*heard, place);
}

/// Once for all PEs where the words are as many.
void ColorPaths::relay(const Pairing &pairing, Place place) {
  const int64_t x = xs[place.x].begin, y = ys[place.y].begin;
  if (relayed
          .insert({&pairing,
                   scalars.kinds(ops.sizeAtoms, Axis::X).of[size_t(x)],
                   scalars.kinds(ops.sizeAtoms, Axis::Y).of[size_t(y)]})
          .second)
    result.relayed.push_back({x, y, pairs.portionsIn(pairing, 0)});
}

/// What enters at the west edge belongs to a host stream. It may turn on its
/// way, and is heard in the row where it enters.
void ColorPaths::enterFromHost(size_t row) {
  const Place first{0, row};
  if (!at(first).receivesFrom(Port::West))
    return;
  std::vector<Place> hear;
  arrive(first, Port::East, hear);
  followFrom(first, hear);
  std::sort(hear.begin(), hear.end());
  std::vector<std::pair<int64_t, int64_t>> columns;
  for (Place each : hear) {
    if (each.y != row)
      give("enters in one row and is heard in another");
    for (const Use &use : pairs.uses(at(each).receives))
      result.fromHost[color].insert(use.op);
    const auto [begin, length] = xs[each.x];
    if (!columns.empty() && columns.back().second == begin)
      columns.back().second += length;
    else
      columns.emplace_back(begin, begin + length);
  }
  for (int64_t y = ys[row].begin; y < ys[row].begin + ys[row].length; ++y)
    result.hostColumns[{color, y}] = columns;
}

std::set<size_t> ColorPaths::follow() {
  ops.collect();
  if (ops.senders.empty() && ops.receivers.empty())
    return {};
  xs = runsOf(Axis::X);
  ys = runsOf(Axis::Y);
  setRoutes();
  findUses();
  for (size_t y = 0; y < ys.size(); ++y)
    enterFromHost(y);
  for (size_t y = 0; y < ys.size(); ++y)
    for (size_t x = 0; x < xs.size(); ++x)
      if (at({x, y}).receivesFrom(Port::Ramp))
        followSource({x, y});
  for (const Block &block : blocks)
    if (block.receives && !block.fed)
      give("received where nobody sends it");
  std::set<size_t> all(ops.receivers.begin(), ops.receivers.end());
  all.insert(ops.senders.begin(), ops.senders.end());
  return all;
}

std::set<size_t> followPaths(const FabricRoutine &routine,
                             const AxisScalars &scalars, ColorRules &rules,
                             int64_t color, Handovers &result) {
  if (!rules.problem.empty())
    throw NotUnderstood{rules.problem};
  return ColorPaths(routine, scalars, rules, color, result).follow();
}

} // namespace wsec::runtime
