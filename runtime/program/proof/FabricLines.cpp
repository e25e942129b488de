// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/FabricLines.h"
#include "runtime/program/Ports.h"
#include "runtime/program/proof/ColorOps.h"
#include "runtime/program/proof/FabricPaths.h"
#include "runtime/program/proof/LineUses.h"
#include "runtime/program/proof/WordPairs.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace wsec::runtime {

namespace {

using program::Port;
using Axis = AxisScalars::Axis;

/// PEs in a row along the line that have one setting and do the same.
struct Cell {
  int64_t position = 0, length = 1;
  bool routed = false;
  Port receive = Port::Ramp;
  unsigned transmit = 0;
  uint32_t sends = 0, receives = 0; ///< numbers of lists of uses
  bool fed = false;
  bool head = false; ///< of its column, where that matters

  bool transmits(Port port) const { return transmit >> unsigned(port) & 1; }
};

/// One color in one routine, as far as it goes along one axis: the rules of a
/// color may belong to several streams that have no PE in common.
///
/// Lines side by side whose routers agree are followed at once, with the words
/// of all of them: a chain of 46 columns is one walk from row to row, as long
/// as PE by PE what is sent meets what is received in the same ops, whatever
/// the number of words in each column. Where it does not, each half is followed
/// by itself.
class ColorLines {
public:
  ColorLines(const program::Program &program, const FabricRoutine &routine,
             const AxisScalars &scalars, RouteTable &table, SizeTables &sizes,
             int64_t color, Axis axis, Handovers &result)
      : program(program), routine(routine), scalars(scalars), table(table),
        routes(table.of(color, axis)), sizes(sizes), color(color),
        steps(scalars.steps), result(result), axis(axis),
        cross(axis == Axis::X ? Axis::Y : Axis::X),
        ops(routine, scalars, routes, color, axis),
        pairs(routine, steps, result) {}

  void follow();

  /// Ops whose words of this color pass along this axis.
  std::set<size_t> listed() const {
    std::set<size_t> all(ops.receivers.begin(), ops.receivers.end());
    all.insert(ops.senders.begin(), ops.senders.end());
    return all;
  }

private:
  void makeCells();
  std::vector<int64_t> agreementOf(int64_t across) const;
  std::vector<std::vector<int64_t>> alike() const;
  void followTogether(const std::vector<int64_t> &some);
  void followLines();
  void splitRuns(int64_t across);
  void fillCells(int64_t across);
  void setRoutes(int64_t across);
  void followSource(size_t source);
  void followPort(size_t source, Port port, std::vector<size_t> &receivers);
  void enterFromHost();
  void relay(const Pairing &pairing, const Cell &cell);
  bool hearsHost(const Pairing &pairing);

  int64_t xOf(int64_t position, int64_t across) const {
    return axis == Axis::X ? position : across;
  }
  int64_t yOf(int64_t position, int64_t across) const {
    return axis == Axis::X ? across : position;
  }
  int64_t lengthOf(Axis which) const {
    return which == Axis::X ? program.machine()->width()
                            : program.machine()->height();
  }
  [[noreturn]] void give(const std::string &what) const {
    throw NotUnderstood{what};
  }

  const program::Program &program;
  const FabricRoutine &routine;
  const AxisScalars &scalars;
  RouteTable &table;
  ColorRules &routes;
  SizeTables &sizes;
  int64_t color;
  ProofSteps &steps;
  Handovers &result;

  Axis axis, cross;
  ColorOps ops;
  WordPairs pairs;
  std::optional<LineUses> uses; ///< once ops are collected
  std::vector<int64_t> lines;   ///< that are followed
  std::vector<Cell> runs;       ///< in all lines
  std::vector<Cell> cells;      ///< of those that are followed
  bool onlyHeads = false;
  std::map<int64_t, std::set<int64_t>> headsOf; ///< rows; if only they matter
  std::vector<size_t> hear;
  /// Sizes along and across, and what is given.
  std::set<std::tuple<uint32_t, uint32_t, std::vector<Portion>>> relayed;
  AxisKinds lineKinds, acrossKinds;
  std::vector<std::vector<int64_t>> members; ///< lines, by kind across
  const AxisKinds *sizeAlong = nullptr, *sizeAcross = nullptr;
  std::vector<std::vector<int64_t>> heads; ///< by pinned f and x: y == f(x)
};

} // namespace

void ColorLines::follow() {
  if (!routes.problem.empty())
    give(routes.problem);
  if (routes.mine.empty() && !routes.foreign.empty())
    return;
  ops.collect();
  if (ops.senders.empty() && ops.receivers.empty())
    return;
  lineKinds = ops.classify(axis);
  acrossKinds = ops.classify(cross);
  sizeAlong = &scalars.kinds(ops.sizeAtoms, axis);
  sizeAcross = &scalars.kinds(ops.sizeAtoms, cross);
  makeCells();
  uses.emplace(routine, scalars, ops, sizes, pairs, color, axis);
  members.resize(acrossKinds.count());
  for (size_t i = 0; i < acrossKinds.of.size(); ++i)
    members[acrossKinds.of[i]].push_back(int64_t(i));
  std::vector<bool> listed(acrossKinds.count());
  std::map<std::vector<int64_t>, std::vector<int64_t>> together;
  for (size_t i = 0; i < ops.lines.size(); ++i)
    if (ops.lines[i] && !listed[acrossKinds.of[i]]) {
      listed[acrossKinds.of[i]] = true;
      together[agreementOf(int64_t(i))].push_back(int64_t(i));
    }
  for (const auto &[agreement, some] : together)
    followTogether(some);
}

/// What lines that are followed at once agree in: settings, and where guards
/// y == f(x) hold.
std::vector<int64_t> ColorLines::agreementOf(int64_t across) const {
  const AxisKinds &settings =
      cross == Axis::X ? routes.kindOfX : routes.kindOfY;
  std::vector<int64_t> agreement{settings.of[size_t(across)]};
  for (int row : ops.pinned)
    if (cross == Axis::X)
      agreement.push_back(scalars.along(row, Axis::X, across));
    else
      agreement.push_back(scalars.headRows(row)[size_t(across)] ? across : -1);
  return agreement;
}

/// All lines that are of the kinds of those that are followed.
std::vector<std::vector<int64_t>> ColorLines::alike() const {
  std::vector<std::vector<int64_t>> result;
  for (int64_t line : lines)
    result.push_back(members[acrossKinds.of[size_t(line)]]);
  return result;
}

void ColorLines::followTogether(const std::vector<int64_t> &some) {
  try {
    lines = some;
    followLines();
  } catch (const NotUnderstood &) {
    if (some.size() == 1)
      throw;
    const auto middle = some.begin() + int64_t(some.size() / 2);
    followTogether({some.begin(), middle});
    followTogether({middle, some.end()});
  }
}

/// Runs of equal PEs, of all lines.
void ColorLines::makeCells() {
  for (int row : ops.pinned) {
    std::vector<int64_t> &ys = heads.emplace_back();
    for (int64_t x = 0; x < lengthOf(Axis::X); ++x)
      ys.push_back(scalars.along(row, Axis::X, x));
  }
  auto isPinned = [&](size_t i) {
    const std::vector<int> &guards = routine.ops[i].guards;
    return std::any_of(guards.begin(), guards.end(), [&](int guard) {
      return scalars.pinnedRow(guard) >= 0;
    });
  };
  // Where every op runs in one row of a column, other PEs only pass words on.
  onlyHeads = axis == Axis::X &&
              std::all_of(ops.senders.begin(), ops.senders.end(), isPinned) &&
              std::all_of(ops.receivers.begin(), ops.receivers.end(), isPinned);
  const AxisKinds &kinds = onlyHeads ? routes.kindOfX : lineKinds;
  for (int64_t i = 0; i < lengthOf(axis); ++i)
    if (i > 0 && kinds.of[size_t(i)] == kinds.of[size_t(i - 1)])
      ++runs.back().length;
    else
      runs.emplace_back().position = i;
  for (const std::vector<int64_t> &row : heads)
    for (size_t x = 0; onlyHeads && x < row.size(); ++x)
      if (scalars.has(Axis::X, int64_t(x)))
        headsOf[row[x]].insert(int64_t(x));
}

/// Those of one line: where only heads matter, these are split off.
void ColorLines::splitRuns(int64_t across) {
  cells.clear();
  auto add = [&](int64_t begin, int64_t end) {
    if (begin == end)
      return;
    Cell &cell = cells.emplace_back();
    cell.position = begin;
    cell.length = end - begin;
  };
  const std::set<int64_t> &here = headsOf[across];
  for (const Cell &run : runs) {
    int64_t from = run.position;
    const int64_t end = run.position + run.length;
    for (auto head = here.lower_bound(from); head != here.end() && *head < end;
         ++head) {
      add(from, *head);
      from = *head + 1;
      if (!cells.empty() && cells.back().head && *head > run.position &&
          cells.back().position + cells.back().length == *head &&
          lineKinds.of[size_t(*head)] == lineKinds.of[size_t(*head - 1)]) {
        ++cells.back().length;
        continue;
      }
      add(*head, from);
      cells.back().head = true;
    }
    add(from, end);
  }
}

void ColorLines::fillCells(int64_t across) {
  if (onlyHeads)
    splitRuns(across);
  else
    cells = runs;
  uses->look(lines);
  pairs.look(alike());
  for (Cell &cell : cells) {
    if (onlyHeads && !cell.head)
      continue;
    size_t x = size_t(xOf(cell.position, across));
    uint64_t here = 0;
    for (const std::vector<int64_t> &row : heads)
      here = here << 1 | (row[x] == yOf(cell.position, across));
    cell.sends = uses->usesAt(true, here, cell.position);
    cell.receives = uses->usesAt(false, here, cell.position);
  }
  setRoutes(across);
  steps += int64_t(cells.size());
}

void ColorLines::setRoutes(int64_t across) {
  for (size_t number : routes.met[size_t(across)]) {
    bool mine = number < routes.mine.size();
    const program::RouteRule &rule =
        mine ? *routes.mine[number]
             : *routes.foreign[number - routes.mine.size()];
    Span span = spanOf(*rule.rect(), axis);
    auto cell = std::lower_bound(
        cells.begin(), cells.end(), span.begin,
        [](const Cell &at, int64_t begin) { return at.position < begin; });
    for (; cell != cells.end() && cell->position < span.end; ++cell, ++steps) {
      if (!span.has(cell->position))
        continue;
      if (!mine) {
        cell->sends = cell->receives = 0;
        continue;
      }
      cell->routed = true;
      cell->receive = rule.receive();
      cell->transmit = rule.transmit();
    }
  }
}

void ColorLines::followLines() {
  fillCells(lines.front());
  enterFromHost();
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].routed && cells[i].receive == Port::Ramp)
      followSource(i);
    else if (cells[i].sends)
      give("sent by a PE whose router does not take it from the ramp");
  }
  for (const Cell &cell : cells)
    if (cell.receives && !cell.fed)
      give("received where nobody sends it");
}

/// Follows the words from a cell out by one port, as far as they go.
void ColorLines::followPort(size_t source, Port port,
                            std::vector<size_t> &receivers) {
  bool forward = port == Port::East || port == Port::South;
  for (size_t i = source;;) {
    if (forward ? i + 1 == cells.size() : i == 0) {
      if (port == Port::East)
        return; // an exit
      give("leaves the mesh");
    }
    i = forward ? i + 1 : i - 1;
    Cell &cell = cells[i];
    if (!cell.routed || cell.receive != opposite(port) || cell.fed)
      give("sent to a PE that does not hear it");
    cell.fed = true;
    if (cell.transmits(Port::Ramp))
      receivers.push_back(i);
    else if (cell.receives)
      give("received by a PE that it passes");
    unsigned onward = cell.transmit & ~(1u << unsigned(Port::Ramp));
    if (onward == 0 && cell.length == 1)
      return;
    if (onward != 1u << unsigned(port))
      give("turns");
  }
}

/// What enters at the west edge belongs to a host stream.
void ColorLines::enterFromHost() {
  Cell &first = cells.front();
  if (axis != Axis::X || !first.routed || first.receive != Port::West)
    return;
  if (first.length > 1 && !first.transmits(Port::East))
    give("enters several columns from outside");
  hear.clear();
  first.fed = true;
  if (first.transmits(Port::Ramp))
    hear.push_back(0);
  else if (first.receives)
    give("received by a PE that it passes");
  if (first.transmits(Port::East))
    followPort(0, Port::East, hear);
  std::vector<std::pair<int64_t, int64_t>> columns;
  for (size_t i : hear) {
    for (const Use &use : pairs.uses(cells[i].receives))
      result.fromHost[color].insert(use.op);
    int64_t begin = cells[i].position, end = begin + cells[i].length;
    if (!columns.empty() && columns.back().second == begin)
      columns.back().second = end;
    else
      columns.emplace_back(begin, end);
  }
  for (const std::vector<int64_t> &rows : alike())
    for (int64_t row : rows)
      result.hostColumns[{color, row}] = columns;
}

void ColorLines::followSource(size_t source) {
  Cell &cell = cells[source];
  bool onlyItself = cell.transmit == 1u << unsigned(Port::Ramp);
  if (cell.length != 1 && !onlyItself)
    give("sent by neighbours at once");
  hear.clear();
  Port direction = Port::Ramp;
  for (Port port : {Port::North, Port::South, Port::East, Port::West})
    if (cell.transmits(port)) {
      followPort(source, port, hear);
      direction = port;
    }
  bool link = hear.size() == 1 && cells[hear[0]].length == 1 &&
              !cell.transmits(Port::Ramp);
  if (cell.transmits(Port::Ramp)) {
    cell.fed = true;
    hear.push_back(source);
  }
  const Pairing *heard = nullptr;
  for (size_t i : hear) {
    Pairing &here = pairs.between(cell.sends, cells[i].receives);
    pairs.record(here, color, link, direction);
    if (!heard)
      heard = &here;
    else if (heard != &here)
      pairs.agree(*heard, here);
  }
  if (heard && heard->relays && hearsHost(*heard))
    relay(*heard, cell);
  steps += int64_t(hear.size());
}

/// Whether a sender may hear the host.
bool ColorLines::hearsHost(const Pairing &pairing) {
  return std::any_of(
      pairing.portions.begin(), pairing.portions.end(), [&](const auto &its) {
        const std::set<int64_t> &from = routine.ops[its.sender].inColors;
        return std::any_of(from.begin(), from.end(), [&](int64_t each) {
          return table.of(each, Axis::X).enters;
        });
      });
}

/// Once for all PEs where the same words go to the same ops: of lines that are
/// followed at once, guards decide to which.
void ColorLines::relay(const Pairing &pairing, const Cell &cell) {
  for (size_t i = 0; i < lines.size(); ++i) {
    std::vector<Portion> portions = pairs.portionsIn(pairing, i);
    steps += 1 + int64_t(portions.size());
    if (relayed
            .insert({sizeAlong->of[size_t(cell.position)],
                     sizeAcross->of[size_t(lines[i])], portions})
            .second)
      result.relayed.push_back({xOf(cell.position, lines[i]),
                                yOf(cell.position, lines[i]),
                                std::move(portions)});
  }
}

Handovers findHandovers(const program::Program &program,
                        const FabricRoutine &routine,
                        const AxisScalars &scalars, RouteTable &routes) {
  Handovers result;
  SizeTables sizes(scalars);
  auto follow = [&](int64_t color) {
    const ColorOps anywhere(routine, scalars, routes.of(color, Axis::X), color,
                            Axis::X);
    if (color == program.launch_color()) {
      for (const FabricOp &op : routine.ops)
        if ((op.inColors.count(color) && anywhere.mayUse(op, *op.in)) ||
            (op.outColors.count(color) && anywhere.mayUse(op, *op.out)))
          throw NotUnderstood{"words on the color of commands"};
      return;
    }
    std::set<size_t> listed;
    ColorRules &rules = routes.of(color, Axis::X);
    if (rules.turn)
      listed = followPaths(routine, scalars, rules, color, result);
    for (Axis axis : {Axis::X, Axis::Y}) {
      if (rules.turn)
        break;
      ColorLines lines(program, routine, scalars, routes, sizes, color, axis,
                       result);
      lines.follow();
      listed.merge(lines.listed());
    }
    for (size_t i = 0; i < routine.ops.size(); ++i)
      if (routine.ops[i].inColors.count(color) && !listed.count(i) &&
          anywhere.mayUse(routine.ops[i], *routine.ops[i].in))
        throw NotUnderstood{"received where no route leads"};
  };
  std::set<int64_t> colors;
  for (const FabricOp &op : routine.ops)
    for (const auto *some : {&op.inColors, &op.outColors})
      colors.insert(some->begin(), some->end());
  for (int64_t color : colors)
    within([&] { return "color " + std::to_string(color); },
           [&] { follow(color); });
  return result;
}

} // namespace wsec::runtime
