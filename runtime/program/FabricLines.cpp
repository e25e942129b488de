// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/FabricLines.h"
#include "runtime/program/ColorOps.h"
#include "runtime/program/FabricPaths.h"
#include "runtime/program/Ports.h"
#include "runtime/program/WordPairs.h"

#include <algorithm>
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
class ColorLines {
public:
  ColorLines(const program::Program &program, const FabricRoutine &routine,
             const AxisScalars &scalars, RouteTable &table, int64_t color,
             Axis axis, Handovers &result)
      : program(program), routine(routine), scalars(scalars),
        routes(table.of(color, axis)), color(color), steps(scalars.steps),
        result(result), axis(axis), cross(axis == Axis::X ? Axis::Y : Axis::X),
        ops(routine, scalars, routes, color, axis),
        pairs(routine, color, steps, result) {}

  void follow();

  /// Ops whose words of this color pass along this axis.
  std::set<size_t> listed() const {
    std::set<size_t> all(ops.receivers.begin(), ops.receivers.end());
    all.insert(ops.senders.begin(), ops.senders.end());
    return all;
  }

private:
  void makeCells();
  void splitRuns(int64_t across);
  void followLine(int64_t across);
  void fillCells(int64_t across);
  void setRoutes(int64_t across);
  uint32_t usesAt(bool sends, uint64_t key, int64_t position, int64_t across);
  void followSource(size_t source, int64_t across);
  void followPort(size_t source, Port port, std::vector<size_t> &receivers);
  void enterFromHost(int64_t across);
  void relay(const Pairing &pairing, const Cell &cell, int64_t across);

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
    throw ofColor(color, what);
  }

  const program::Program &program;
  const FabricRoutine &routine;
  const AxisScalars &scalars;
  ColorRules &routes;
  int64_t color;
  ProofSteps &steps;
  Handovers &result;

  Axis axis, cross;
  ColorOps ops;
  WordPairs pairs;
  std::vector<Cell> runs;  ///< in all lines
  std::vector<Cell> cells; ///< of the line that is followed
  bool onlyHeads = false;
  std::map<int64_t, std::set<int64_t>> headsOf; ///< rows; if only they matter
  std::vector<size_t> hear;
  std::set<std::tuple<const Pairing *, uint32_t, uint32_t>> relayed;
  AxisKinds lineKinds, acrossKinds;
  const AxisKinds *useAlong = nullptr, *useAcross = nullptr;
  const AxisKinds *sizeAlong = nullptr, *sizeAcross = nullptr;
  static constexpr uint32_t unknown = ~0u;
  /// The numbers of uses by kind along; by direction and key.
  std::map<uint64_t, std::vector<uint32_t>> known[2];
  struct Row {
    uint64_t key = 0;
    std::vector<uint32_t> *numbers = nullptr;
  } last[2];                               ///< of `known`
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
  useAlong = &scalars.kinds(ops.atoms, axis);
  useAcross = &scalars.kinds(ops.atoms, cross);
  sizeAlong = &scalars.kinds(ops.sizeAtoms, axis);
  sizeAcross = &scalars.kinds(ops.sizeAtoms, cross);
  makeCells();
  std::vector<bool> followed(acrossKinds.count());
  for (size_t i = 0; i < ops.lines.size(); ++i)
    if (ops.lines[i] && !followed[acrossKinds.of[i]]) {
      followed[acrossKinds.of[i]] = true;
      followLine(int64_t(i));
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
  const uint32_t kindAcross = useAcross->of[size_t(across)];
  for (Cell &cell : cells) {
    if (onlyHeads && !cell.head)
      continue;
    size_t x = size_t(xOf(cell.position, across));
    uint64_t key = 0;
    for (const std::vector<int64_t> &row : heads)
      key = key << 1 | (row[x] == yOf(cell.position, across));
    key = key << 32 | kindAcross;
    cell.sends = usesAt(true, key, cell.position, across);
    cell.receives = usesAt(false, key, cell.position, across);
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

/// What the PE at (position, across) sends or receives, in program order. The
/// key: guards that hold in one row, and the kind across.
uint32_t ColorLines::usesAt(bool sends, uint64_t key, int64_t position,
                            int64_t across) {
  Row &row = last[sends];
  if (!row.numbers || row.key != key) {
    std::vector<uint32_t> &byKind = known[sends][key];
    byKind.resize(useAlong->count(), unknown);
    row = {key, &byKind};
  }
  uint32_t &number = (*row.numbers)[useAlong->of[size_t(position)]];
  if (number == unknown)
    number = pairs.numberOf(
        ops.usesAt(sends, xOf(position, across), yOf(position, across)));
  return number;
}

void ColorLines::followLine(int64_t across) {
  fillCells(across);
  enterFromHost(across);
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].routed && cells[i].receive == Port::Ramp)
      followSource(i, across);
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
void ColorLines::enterFromHost(int64_t across) {
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
  const std::vector<uint32_t> &kinds = acrossKinds.of;
  for (size_t row = 0; row < kinds.size(); ++row)
    if (kinds[row] == kinds[size_t(across)])
      result.hostColumns[{color, int64_t(row)}] = columns;
}

void ColorLines::followSource(size_t source, int64_t across) {
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
    pairs.record(here, link, direction);
    if (!heard)
      heard = &here;
    else if (heard != &here)
      pairs.agree(*heard, here);
  }
  if (heard && heard->relays)
    relay(*heard, cell, across);
  steps += int64_t(hear.size());
}

/// Once for all PEs where the words are as many.
void ColorLines::relay(const Pairing &pairing, const Cell &cell,
                       int64_t across) {
  if (relayed
          .insert({&pairing, sizeAlong->of[size_t(cell.position)],
                   sizeAcross->of[size_t(across)]})
          .second)
    result.relayed.push_back({xOf(cell.position, across),
                              yOf(cell.position, across), pairing.portions});
}

Handovers findHandovers(const program::Program &program,
                        const FabricRoutine &routine,
                        const AxisScalars &scalars, RouteTable &routes) {
  Handovers result;
  std::set<int64_t> colors;
  for (const FabricOp &op : routine.ops)
    for (const auto *some : {&op.inColors, &op.outColors})
      colors.insert(some->begin(), some->end());
  for (int64_t color : colors) {
    const ColorOps anywhere(routine, scalars, routes.of(color, Axis::X), color,
                            Axis::X);
    if (color == program.launch_color()) {
      for (const FabricOp &op : routine.ops)
        if ((op.inColors.count(color) && anywhere.mayUse(op, *op.in)) ||
            (op.outColors.count(color) && anywhere.mayUse(op, *op.out)))
          throw NotUnderstood{"words on the color of commands"};
      continue;
    }
    std::set<size_t> listed;
    ColorRules &rules = routes.of(color, Axis::X);
    if (rules.turn)
      listed = followPaths(routine, scalars, rules, color, result);
    for (Axis axis : {Axis::X, Axis::Y}) {
      if (rules.turn)
        break;
      ColorLines lines(program, routine, scalars, routes, color, axis, result);
      lines.follow();
      listed.merge(lines.listed());
    }
    for (size_t i = 0; i < routine.ops.size(); ++i)
      if (routine.ops[i].inColors.count(color) && !listed.count(i) &&
          anywhere.mayUse(routine.ops[i], *routine.ops[i].in))
        throw ofColor(color, "received where no route leads");
  }
  return result;
}

} // namespace wsec::runtime
