// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/FabricLines.h"
#include "runtime/program/Ports.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_map>

namespace wsec::runtime {

namespace {

using program::Port;
using Axis = AxisScalars::Axis;

/// What one operand of an op moves in the PEs of a cell.
struct Use {
  size_t op = 0;
  int64_t words = 0;

  bool operator<(const Use &other) const {
    return std::tie(op, words) < std::tie(other.op, other.words);
  }
};

/// PEs in a row along the line that have one setting and do the same.
struct Cell {
  int64_t position = 0, length = 1;
  bool routed = false;
  Port receive = Port::Ramp;
  unsigned transmit = 0;
  const std::vector<Use> *sends = nullptr, *receives = nullptr;
  bool fed = false;

  bool transmits(Port port) const { return transmit >> unsigned(port) & 1; }
};

/// Positions of an axis in classes: those that agree in every key.
struct Classes {
  std::vector<size_t> of;
  std::vector<int64_t> representative;

  explicit Classes(const std::vector<std::vector<int64_t>> &keys) {
    std::map<std::vector<int64_t>, size_t> numbers;
    for (size_t i = 0; i < keys.size(); ++i) {
      auto [at, isNew] = numbers.try_emplace(keys[i], numbers.size());
      if (isNew)
        representative.push_back(int64_t(i));
      of.push_back(at->second);
    }
  }
};

bool inRange(int64_t position, int64_t begin, int64_t end, int64_t step) {
  return position >= begin && position < end && (position - begin) % step == 0;
}
bool along(const program::Rect &rect, Axis axis, int64_t position) {
  return axis == Axis::X
             ? inRange(position, rect.x0(), rect.x1(), rect.xstep())
             : inRange(position, rect.y0(), rect.y1(), rect.ystep());
}

/// One color in one routine, as far as it goes along one axis: the rules of a
/// color may belong to several streams that have no PE in common.
class ColorLines {
public:
  ColorLines(const program::Program &program, const FabricRoutine &routine,
             const AxisScalars &scalars, RouteTable &routes, int64_t color,
             Axis axis, Handovers &result)
      : program(program), routine(routine), scalars(scalars),
        routes(routes.of(color, axis)), color(color), steps(scalars.steps),
        result(result), axis(axis), cross(axis == Axis::X ? Axis::Y : Axis::X) {
  }

  void follow();

  /// Whether the operand may be of the color, in some PE.
  bool mayUse(const FabricOp &op, const program::Operand &operand) const {
    for (Axis each : {Axis::X, Axis::Y}) {
      std::vector<bool> where = feasible(op, operand, each);
      if (std::find(where.begin(), where.end(), true) == where.end())
        return false;
    }
    return true;
  }

  /// Ops whose words of this color pass along this axis.
  std::set<size_t> listed() const {
    std::set<size_t> all(receivers.begin(), receivers.end());
    all.insert(senders.begin(), senders.end());
    return all;
  }

private:
  void collectOps();
  void collectOp(size_t index, const program::Operand &operand,
                 std::vector<size_t> &list);
  std::vector<bool> feasible(const FabricOp &op,
                             const program::Operand &operand, Axis which) const;
  bool concerns(const FabricOp &op, const program::Operand &operand);
  void markLines(const FabricOp &op, const program::Operand &operand);
  bool isExit(const program::RouteRule &rule) const;
  Classes classify(Axis axis, bool withRules) const;
  void followLine(int64_t across);
  std::vector<Cell> cellsOf(int64_t across);
  void setRoutes(std::vector<Cell> &cells, int64_t across) const;
  const std::vector<Use> &uses(bool sends, int64_t position, int64_t across);
  void followSource(std::vector<Cell> &cells, size_t source, int64_t across);
  void followPort(std::vector<Cell> &cells, size_t source, Port port,
                  std::vector<size_t> &receivers);
  void enterFromHost(std::vector<Cell> &cells, int64_t across);
  const std::vector<Portion> &pair(const Cell &from, const Cell &to);
  void record(const std::vector<Portion> &portions, const Cell &from,
              const Cell &to, bool link, Port direction);
  void agree(const std::vector<Portion> &some,
             const std::vector<Portion> &others);

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
    throw NotUnderstood{"color " + std::to_string(color) + ": " + what};
  }

  const program::Program &program;
  const FabricRoutine &routine;
  const AxisScalars &scalars;
  const ColorRules &routes;
  int64_t color;
  int64_t &steps;
  Handovers &result;

  Axis axis, cross;
  std::vector<size_t> senders, receivers;
  std::set<int> atoms;
  std::set<int> pinned; ///< f of guards y == f(x)
  std::map<std::pair<const program::Operand *, std::vector<int>>, bool>
      concerned; ///< the same in each turn of a loop
  /// Lines in which an op may use the color.
  std::vector<bool> lines;
  std::set<std::vector<Use>> distinct; ///< what `known` refers to
  using Uses = const std::vector<Use> *;
  std::map<std::pair<Uses, Uses>, std::vector<Portion>> paired;
  std::set<std::tuple<Uses, Uses, bool, Port>> recorded;
  std::optional<Classes> lineClasses, acrossClasses, useAlong, useAcross;
  std::unordered_map<uint64_t, Uses> known;
};

/// Numbers positions by the rules they lie in.
std::vector<size_t> kindsOf(const std::vector<std::vector<size_t>> &rulesAt) {
  std::map<std::vector<size_t>, size_t> numbers;
  std::vector<size_t> kinds;
  for (const std::vector<size_t> &here : rulesAt)
    kinds.push_back(numbers.try_emplace(here, numbers.size()).first->second);
  return kinds;
}

} // namespace

const ColorRules &RouteTable::of(int64_t color, Axis axis) {
  auto [at, isNew] = known.try_emplace({color, int(axis)});
  if (isNew)
    sort(at->second, color, axis);
  return at->second;
}

void RouteTable::sort(ColorRules &rules, int64_t color, Axis axis) const {
  constexpr unsigned eastWest =
      1u << unsigned(Port::East) | 1u << unsigned(Port::West);
  constexpr unsigned northSouth =
      1u << unsigned(Port::North) | 1u << unsigned(Port::South);
  for (const program::RouteRule *rule : *program.routes()) {
    if (rule->color() != color)
      continue;
    if (rule->positions() && rule->positions()->size() > 0)
      rules.problem = "has switch positions";
    unsigned ports = rule->transmit() | 1u << unsigned(rule->receive());
    if ((ports & eastWest) && (ports & northSouth))
      rules.problem = "turns";
    // From a PE to itself: counts as a row.
    bool row = !(ports & northSouth);
    (row == (axis == Axis::X) ? rules.mine : rules.foreign).push_back(rule);
  }
  std::vector<std::vector<size_t>> atX(size_t(program.machine()->width()));
  std::vector<std::vector<size_t>> atY(size_t(program.machine()->height()));
  size_t number = 0;
  for (const auto *list : {&rules.mine, &rules.foreign})
    for (const program::RouteRule *rule : *list) {
      const program::Rect &rect = *rule->rect();
      for (int x = rect.x0(); x < rect.x1(); x += rect.xstep(), ++steps)
        atX[size_t(x)].push_back(number);
      for (int y = rect.y0(); y < rect.y1(); y += rect.ystep(), ++steps)
        atY[size_t(y)].push_back(number);
      ++number;
    }
  rules.kindOfX = kindsOf(atX);
  rules.kindOfY = kindsOf(atY);
  rules.met = std::move(axis == Axis::X ? atY : atX);
}

bool Handover::operator<(const Handover &other) const {
  return std::tie(sender, receiver, direction, link, whole) <
         std::tie(other.sender, other.receiver, other.direction, other.link,
                  other.whole);
}

/// Appends what must hold for the scalar not to be zero.
static void conjunctsOf(const program::PEClass &peClass, int node,
                        std::vector<int> &result) {
  const program::ScalarNode &scalar = *peClass.scalars()->Get(unsigned(node));
  if (scalar.op() != program::ScalarOp::And) {
    result.push_back(node);
    return;
  }
  conjunctsOf(peClass, scalar.a(), result);
  conjunctsOf(peClass, scalar.b(), result);
}

/// Positions on one axis where the op may run and name the color; too many
/// rather than too few.
std::vector<bool> ColorLines::feasible(const FabricOp &op,
                                       const program::Operand &operand,
                                       Axis which) const {
  std::vector<int> conditions;
  for (int guard : op.guards)
    conjunctsOf(*program.classes()->Get(0), guard, conditions);
  std::set<int> named;
  scalars.atoms(*operand.color(), named);
  bool tellsColor = std::all_of(named.begin(), named.end(), [&](int node) {
    return scalars.axes(node) == which;
  });
  std::vector<bool> result(size_t(lengthOf(which)), true);
  for (size_t i = 0; i < result.size(); ++i) {
    int64_t x = which == Axis::X ? int64_t(i) : 0;
    int64_t y = which == Axis::X ? 0 : int64_t(i);
    for (int node : conditions)
      if (!(scalars.axes(node) & ~which) && scalars.value(node, x, y) == 0)
        result[i] = false;
    if (tellsColor && scalars.value(*operand.color(), x, y) != color)
      result[i] = false;
  }
  steps += int64_t(result.size());
  return result;
}

/// Whether all that the rule does is to send words off the mesh.
bool ColorLines::isExit(const program::RouteRule &rule) const {
  return rule.rect()->x1() == program.machine()->width() &&
         rule.receive() == Port::Ramp &&
         rule.transmit() == 1u << unsigned(Port::East);
}

/// Whether the op may run in a PE with a rule of this axis, and there is more
/// to it than words that leave the mesh.
bool ColorLines::concerns(const FabricOp &op, const program::Operand &operand) {
  std::vector<bool> xs = feasible(op, operand, Axis::X);
  std::vector<bool> ys = feasible(op, operand, Axis::Y);
  int row = -1;
  for (int guard : op.guards)
    row = std::max(row, scalars.pinnedRow(guard));
  // Whether some PE of a rule may run the op.
  auto reaches = [&](const program::RouteRule &rule) {
    const program::Rect &rect = *rule.rect();
    bool hasRow = false;
    for (int y = rect.y0(); y < rect.y1() && !hasRow;
         y += rect.ystep(), ++steps)
      hasRow = ys[size_t(y)];
    if (!hasRow)
      return false;
    int64_t end = rect.x1();
    if (isExit(rule) && &operand == op.out)
      end = std::min<int64_t>(end, lengthOf(Axis::X) - 1);
    for (int64_t x = rect.x0(); x < end; x += rect.xstep(), ++steps)
      if (xs[size_t(x)] &&
          (row < 0 || along(rect, Axis::Y, scalars.along(row, Axis::X, x))))
        return true;
    return false;
  };
  return std::any_of(routes.mine.begin(), routes.mine.end(),
                     [&](const auto *rule) { return reaches(*rule); });
}

/// Marks the lines across which the op may run.
void ColorLines::markLines(const FabricOp &op,
                           const program::Operand &operand) {
  std::vector<bool> across = feasible(op, operand, cross);
  if (cross == Axis::Y)
    for (int guard : op.guards)
      if (int row = scalars.pinnedRow(guard); row >= 0) {
        std::vector<bool> heads(across.size(), false);
        for (int64_t x = 0; x < lengthOf(Axis::X); ++x)
          if (int64_t y = scalars.along(row, Axis::X, x);
              y >= 0 && y < lengthOf(Axis::Y))
            heads[size_t(y)] = true;
        for (size_t i = 0; i < across.size(); ++i)
          across[i] = across[i] && heads[i];
      }
  lines.resize(across.size());
  for (size_t i = 0; i < across.size(); ++i)
    lines[i] = lines[i] || across[i];
}

void ColorLines::collectOp(size_t index, const program::Operand &operand,
                           std::vector<size_t> &list) {
  const FabricOp &op = routine.ops[index];
  bool shared = !routes.foreign.empty();
  for (const program::RouteRule *rule : routes.mine)
    shared |= isExit(*rule);
  auto [at, isNew] = concerned.try_emplace({&operand, op.guards}, false);
  if (isNew && (!shared || concerns(op, operand))) {
    at->second = true;
    markLines(op, operand);
  }
  if (!at->second)
    return;
  list.push_back(index);
  for (int guard : op.guards)
    if (int row = scalars.pinnedRow(guard); row >= 0)
      pinned.insert(row);
    else
      scalars.atoms(guard, atoms);
  for (const LoopTurn &loop : op.turns)
    scalars.atoms(*loop.count, atoms);
  scalars.atoms(*operand.color(), atoms);
  for (const program::Affine *size : sizesOf(op, operand))
    scalars.atoms(*size, atoms);
}

/// The ops that may use the color, and the scalars they depend on.
void ColorLines::collectOps() {
  for (size_t i = 0; i < routine.ops.size(); ++i) {
    const FabricOp &op = routine.ops[i];
    if (op.inColors.count(color))
      collectOp(i, *op.in, receivers);
    if (op.outColors.count(color))
      collectOp(i, *op.out, senders);
  }
  constexpr size_t mostPinned = 8;
  if (pinned.size() > mostPinned)
    give("is used in too many kinds of rows");
  for (int row : pinned)
    scalars.atoms(row, atoms);
}

Classes ColorLines::classify(Axis which, bool withRules) const {
  std::vector<std::vector<int64_t>> keys(size_t(lengthOf(which)));
  std::set<int64_t> pinnedRows; // each is a class of its own
  for (int row : pinned)
    for (int64_t x = 0; x < lengthOf(Axis::X); ++x)
      pinnedRows.insert(scalars.along(row, Axis::X, x));
  for (size_t i = 0; i < keys.size(); ++i) {
    for (int atom : atoms)
      if (scalars.axes(atom) == which)
        keys[i].push_back(scalars.along(atom, which, int64_t(i)));
    if (!withRules)
      continue;
    keys[i].push_back(
        int64_t((which == Axis::X ? routes.kindOfX : routes.kindOfY)[i]));
    if (which == Axis::Y && pinnedRows.count(int64_t(i)))
      keys[i].push_back(int64_t(i));
  }
  steps += int64_t(keys.size());
  return Classes(keys);
}

void ColorLines::follow() {
  if (!routes.problem.empty())
    give(routes.problem);
  collectOps();
  if (senders.empty() && receivers.empty())
    return;
  lineClasses.emplace(classify(axis, true));
  useAlong.emplace(classify(axis, false));
  useAcross.emplace(classify(cross, false));
  acrossClasses.emplace(classify(cross, true));
  const Classes &classes = *acrossClasses;
  std::set<size_t> followed;
  for (size_t i = 0; i < lines.size(); ++i)
    if (lines[i] && followed.insert(classes.of[i]).second)
      followLine(int64_t(i));
}

/// Runs of equal PEs.
std::vector<Cell> ColorLines::cellsOf(int64_t across) {
  std::vector<Cell> cells;
  for (int64_t i = 0; i < lengthOf(axis); ++i)
    if (i > 0 && lineClasses->of[size_t(i)] == lineClasses->of[size_t(i - 1)])
      ++cells.back().length;
    else
      cells.emplace_back().position = i;
  for (Cell &cell : cells) {
    cell.sends = &uses(true, cell.position, across);
    cell.receives = &uses(false, cell.position, across);
  }
  setRoutes(cells, across);
  steps += int64_t(cells.size());
  return cells;
}

void ColorLines::setRoutes(std::vector<Cell> &cells, int64_t across) const {
  static const std::vector<Use> none;
  for (size_t number : routes.met[size_t(across)]) {
    bool mine = number < routes.mine.size();
    const program::RouteRule &rule =
        mine ? *routes.mine[number]
             : *routes.foreign[number - routes.mine.size()];
    const program::Rect &rect = *rule.rect();
    auto cell = std::lower_bound(
        cells.begin(), cells.end(), axis == Axis::X ? rect.x0() : rect.y0(),
        [](const Cell &at, int64_t begin) { return at.position < begin; });
    int64_t end = axis == Axis::X ? rect.x1() : rect.y1();
    for (; cell != cells.end() && cell->position < end; ++cell, ++steps) {
      if (!along(rect, axis, cell->position))
        continue;
      if (!mine) {
        cell->sends = cell->receives = &none;
        continue;
      }
      cell->routed = true;
      cell->receive = rule.receive();
      cell->transmit = rule.transmit();
    }
  }
}

/// What the PE at (position, across) sends or receives, in program order.
const std::vector<Use> &ColorLines::uses(bool sends, int64_t position,
                                         int64_t across) {
  int64_t x = xOf(position, across), y = yOf(position, across);
  uint64_t key = sends;
  for (int row : pinned)
    key = key << 1 | (scalars.along(row, Axis::X, x) == y);
  key = key << 24 | useAlong->of[size_t(position)];
  key = key << 24 | useAcross->of[size_t(across)];
  auto [at, isNew] = known.try_emplace(key);
  if (!isNew)
    return *at->second;
  std::vector<Use> found;
  for (size_t i : sends ? senders : receivers) {
    const FabricOp &op = routine.ops[i];
    const program::Operand &operand = sends ? *op.out : *op.in;
    if (!runsAt(op.guards, op.turns, scalars, x, y) ||
        scalars.value(*operand.color(), x, y) != color)
      continue;
    if (int64_t words = wordsOf(op, operand, scalars, x, y); words > 0)
      found.push_back({i, words});
  }
  return *(at->second = &*distinct.insert(std::move(found)).first);
}

void ColorLines::followLine(int64_t across) {
  std::vector<Cell> cells = cellsOf(across);
  enterFromHost(cells, across);
  for (size_t i = 0; i < cells.size(); ++i) {
    if (cells[i].routed && cells[i].receive == Port::Ramp)
      followSource(cells, i, across);
    else if (!cells[i].sends->empty())
      give("sent by a PE whose router does not take it from the ramp");
  }
  for (const Cell &cell : cells)
    if (!cell.receives->empty() && !cell.fed)
      give("received where nobody sends it");
}

/// Follows the words from a cell out by one port, as far as they go.
void ColorLines::followPort(std::vector<Cell> &cells, size_t source, Port port,
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
    else if (!cell.receives->empty())
      give("received by a PE that it passes");
    unsigned onward = cell.transmit & ~(1u << unsigned(Port::Ramp));
    if (onward == 0 && cell.length == 1)
      return;
    if (onward != 1u << unsigned(port))
      give("turns");
  }
}

/// What enters at the west edge belongs to a host stream.
void ColorLines::enterFromHost(std::vector<Cell> &cells, int64_t across) {
  Cell &first = cells.front();
  if (axis != Axis::X || !first.routed || first.receive != Port::West)
    return;
  if (first.length > 1 && !first.transmits(Port::East))
    give("enters several columns from outside");
  std::vector<size_t> hear;
  first.fed = true;
  if (first.transmits(Port::Ramp))
    hear.push_back(0);
  if (first.transmits(Port::East))
    followPort(cells, 0, Port::East, hear);
  std::vector<std::pair<int64_t, int64_t>> columns;
  for (size_t i : hear) {
    for (const Use &use : *cells[i].receives)
      result.fromHost[color].insert(use.op);
    int64_t begin = cells[i].position, end = begin + cells[i].length;
    if (!columns.empty() && columns.back().second == begin)
      columns.back().second = end;
    else
      columns.emplace_back(begin, end);
  }
  const std::vector<size_t> &kinds = acrossClasses->of;
  for (size_t row = 0; row < kinds.size(); ++row)
    if (kinds[row] == kinds[size_t(across)])
      result.hostColumns[{color, int64_t(row)}] = columns;
}

void ColorLines::followSource(std::vector<Cell> &cells, size_t source,
                              int64_t across) {
  Cell &cell = cells[source];
  bool onlyItself = cell.transmit == 1u << unsigned(Port::Ramp);
  if (cell.length != 1 && !onlyItself)
    give("sent by neighbours at once");
  std::vector<size_t> hear;
  Port direction = Port::Ramp;
  for (Port port : {Port::North, Port::South, Port::East, Port::West})
    if (cell.transmits(port)) {
      followPort(cells, source, port, hear);
      direction = port;
    }
  bool link = hear.size() == 1 && cells[hear[0]].length == 1 &&
              (hear[0] == source + 1 || hear[0] + 1 == source) &&
              !cell.transmits(Port::Ramp);
  if (cell.transmits(Port::Ramp)) {
    cell.fed = true;
    hear.push_back(source);
  }
  const std::vector<Portion> *heard = nullptr;
  for (size_t i : hear) {
    const std::vector<Portion> &portions = pair(cell, cells[i]);
    record(portions, cell, cells[i], link, direction);
    if (!heard)
      heard = &portions;
    else if (heard != &portions)
      agree(*heard, portions);
  }
  auto fromMicrothread = [&](const Portion &portion) {
    return !routine.ops[portion.sender].main() &&
           routine.ops[portion.receiver].main();
  };
  if (heard && std::any_of(heard->begin(), heard->end(), fromMicrothread))
    result.relayed.push_back(
        {xOf(cell.position, across), yOf(cell.position, across), *heard});
  steps += int64_t(hear.size());
}

/// Both sides move the same words in the same order.
const std::vector<Portion> &ColorLines::pair(const Cell &from, const Cell &to) {
  const std::vector<Use> &sends = *from.sends, &takes = *to.receives;
  auto [at, isNew] = paired.try_emplace({&sends, &takes});
  std::vector<Portion> &portions = at->second;
  if (!isNew)
    return portions;
  size_t s = 0, t = 0;
  int64_t sent = 0, taken = 0; // of the current uses
  while (s < sends.size() && t < takes.size()) {
    int64_t words = std::min(sends[s].words - sent, takes[t].words - taken);
    portions.push_back({sends[s].op, sent, words, takes[t].op});
    sent += words;
    taken += words;
    if (sent == sends[s].words) {
      ++s;
      sent = 0;
    }
    if (taken == takes[t].words) {
      ++t;
      taken = 0;
    }
    ++steps;
  }
  if (s < sends.size())
    give("more words are sent than received");
  if (t < takes.size())
    give("more words are received than sent");
  return portions;
}

void ColorLines::record(const std::vector<Portion> &portions, const Cell &from,
                        const Cell &to, bool link, Port direction) {
  if (!recorded.insert({from.sends, to.receives, link, direction}).second)
    return;
  auto wordsIn = [](const std::vector<Use> &uses, size_t op) {
    return std::find_if(uses.begin(), uses.end(),
                        [&](const Use &use) { return use.op == op; })
        ->words;
  };
  for (const Portion &portion : portions) {
    bool whole = portion.words == wordsIn(*from.sends, portion.sender) &&
                 portion.words == wordsIn(*to.receives, portion.receiver);
    result.pairs.insert(
        {portion.sender, portion.receiver, direction, link, whole});
  }
}

/// Main threads that hear the same words of a microthread take them with ops
/// that begin and end at the same words.
void ColorLines::agree(const std::vector<Portion> &some,
                       const std::vector<Portion> &others) {
  auto fromMicrothread = [&](const Portion &portion) {
    return !routine.ops[portion.sender].main();
  };
  if (std::none_of(some.begin(), some.end(), fromMicrothread))
    return;
  if (some.size() != others.size())
    give("received in different portions");
  for (size_t i = 0; i < some.size(); ++i) {
    const Portion &one = some[i], &other = others[i];
    if (one.sender != other.sender || one.first != other.first ||
        one.words != other.words)
      give("received in different portions");
    if (one.receiver != other.receiver)
      result.together.insert(std::minmax(one.receiver, other.receiver));
  }
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
    ColorLines anywhere(program, routine, scalars, routes, color, Axis::X,
                        result);
    if (color == program.command_color()) {
      for (const FabricOp &op : routine.ops)
        if ((op.inColors.count(color) && anywhere.mayUse(op, *op.in)) ||
            (op.outColors.count(color) && anywhere.mayUse(op, *op.out)))
          throw NotUnderstood{"words on the color of commands"};
      continue;
    }
    std::set<size_t> listed;
    for (Axis axis : {Axis::X, Axis::Y}) {
      ColorLines lines(program, routine, scalars, routes, color, axis, result);
      lines.follow();
      listed.merge(lines.listed());
    }
    for (size_t i = 0; i < routine.ops.size(); ++i)
      if (routine.ops[i].inColors.count(color) && !listed.count(i) &&
          anywhere.mayUse(routine.ops[i], *routine.ops[i].in))
        throw NotUnderstood{"color " + std::to_string(color) +
                            ": received where no route leads"};
  }
  return result;
}

} // namespace wsec::runtime
