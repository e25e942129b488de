// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/FabricLines.h"
#include "runtime/program/Ports.h"

#include <algorithm>
#include <string_view>
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
  uint32_t sends = 0, receives = 0; ///< numbers of lists of uses
  bool fed = false;
  bool head = false; ///< of its column, where that matters

  bool transmits(Port port) const { return transmit >> unsigned(port) & 1; }
};

using Uses = std::vector<Use>;

/// How what one PE sends meets what another receives.
struct Pairing {
  std::vector<Portion> portions;
  bool fromMicrothreads = false; ///< some words
  bool relays = false;           ///< some of those to who sends nothing
  unsigned recorded = 0;         ///< ways, as bits
};

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
    numberOf(Uses());
  }

  void follow();

  /// Whether the operand may be of the color, in some PE.
  bool mayUse(const FabricOp &op, const program::Operand &operand) const {
    for (Axis each : {Axis::X, Axis::Y}) {
      const std::vector<bool> &where = feasible(op, operand, each);
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
  const std::vector<bool> &feasible(const FabricOp &op,
                                    const program::Operand &operand,
                                    Axis which) const;
  std::vector<bool> findFeasible(const FabricOp &op,
                                 const program::Operand &operand,
                                 Axis which) const;
  const OperandReach &reachOf(const FabricOp &op,
                              const program::Operand &operand);
  bool concerns(const FabricOp &op, const program::Operand &operand);
  std::vector<bool> linesOf(const FabricOp &op,
                            const program::Operand &operand) const;
  bool isExit(const program::RouteRule &rule) const;
  AxisKinds classify(Axis which) const;
  void makeCells();
  void splitRuns(int64_t across);
  void followLine(int64_t across);
  void fillCells(int64_t across);
  void setRoutes(int64_t across);
  uint32_t usesAt(bool sends, uint64_t key, int64_t position, int64_t across);
  Uses findUses(bool sends, int64_t x, int64_t y) const;
  uint32_t numberOf(Uses uses);
  void followSource(size_t source, int64_t across);
  void followPort(size_t source, Port port, std::vector<size_t> &receivers);
  void enterFromHost(int64_t across);
  Pairing &pairing(const Cell &from, const Cell &to);
  Pairing pair(const Uses &sends, const Uses &takes);
  void record(Pairing &pairing, const Cell &from, const Cell &to, bool link,
              Port direction);
  void relay(const Pairing &pairing, const Cell &cell, int64_t across);
  void agree(const Pairing &some, const Pairing &others);

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
  ColorRules &routes;
  int64_t color;
  ProofSteps &steps;
  Handovers &result;

  Axis axis, cross;
  std::vector<size_t> senders, receivers;
  std::set<int> atoms;
  std::set<int> sizeAtoms; ///< those that numbers of words depend on
  std::set<int> pinned;    ///< f of guards y == f(x)
  std::map<std::pair<const program::Operand *, std::vector<int>>,
           const OperandReach *>
      reached; ///< the same in each turn of a loop
  /// Lines in which an op may use the color: all of `merged`.
  std::vector<bool> lines;
  std::set<const OperandReach *> merged;
  std::vector<Cell> runs;  ///< in all lines
  std::vector<Cell> cells; ///< of the line that is followed
  bool onlyHeads = false;
  std::map<int64_t, std::set<int64_t>> headsOf; ///< rows; if only they matter
  std::vector<size_t> hear;
  std::map<Uses, uint32_t> numbers;
  std::vector<const Uses *> usesOf; ///< by number
  std::unordered_map<uint64_t, Pairing> pairings;
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
  std::vector<std::vector<int64_t>> heads; ///< by `pinned` and x: y == f(x)
};

} // namespace

ColorRules &RouteTable::of(int64_t color, Axis axis) {
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
  if (rules.mine.empty() && !rules.foreign.empty())
    return; // nothing to follow
  rules.kindOfX = kindsOf(rules, Axis::X);
  rules.kindOfY = kindsOf(rules, Axis::Y);
  Axis cross = axis == Axis::X ? Axis::Y : Axis::X;
  rules.met.resize(
      (cross == Axis::X ? rules.kindOfX : rules.kindOfY).of.size());
  uint32_t number = 0;
  for (const auto *list : {&rules.mine, &rules.foreign})
    for (const program::RouteRule *rule : *list) {
      Span span = spanOf(*rule->rect(), cross);
      for (int i = span.begin; i < span.end; i += span.step, ++steps)
        rules.met[size_t(i)].push_back(number);
      ++number;
    }
}

/// Positions of an axis have the same settings if the rules they lie in set the
/// same on the same stretches of the other axis.
AxisKinds RouteTable::kindsOf(const ColorRules &rules, Axis which) const {
  const program::Machine &machine = *program.machine();
  std::vector<std::u32string> settings(
      size_t(which == Axis::X ? machine.width() : machine.height()));
  std::map<std::tuple<int, int, int, int>, char32_t> numbers;
  auto add = [&](const program::RouteRule &rule, int setting) {
    Span across = spanOf(*rule.rect(), which == Axis::X ? Axis::Y : Axis::X);
    char32_t number =
        numbers
            .try_emplace({across.begin, across.end, across.step, setting},
                         char32_t(numbers.size()))
            .first->second;
    Span span = spanOf(*rule.rect(), which);
    for (int i = span.begin; i < span.end; i += span.step, ++steps)
      settings[size_t(i)].push_back(number);
  };
  for (const program::RouteRule *rule : rules.mine)
    add(*rule, rule->transmit() << 8 | int(rule->receive()));
  for (const program::RouteRule *rule : rules.foreign)
    add(*rule, -1);
  for (std::u32string &here : settings)
    std::sort(here.begin(), here.end());
  return kindsBy(settings.size(),
                 [&](size_t i) { return std::u32string_view(settings[i]); });
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
std::vector<bool> ColorLines::findFeasible(const FabricOp &op,
                                           const program::Operand &operand,
                                           Axis which) const {
  std::vector<int> conditions;
  for (int guard : op.guards)
    conjunctsOf(*program.classes()->Get(0), guard, conditions);
  std::erase_if(conditions,
                [&](int node) { return scalars.axes(node) & ~which; });
  std::set<int> named;
  scalars.atoms(*operand.color(), named);
  bool tellsColor = std::all_of(named.begin(), named.end(), [&](int node) {
    return scalars.axes(node) == which;
  });
  if (tellsColor)
    named.insert(conditions.begin(), conditions.end());
  else
    named = {conditions.begin(), conditions.end()};
  const AxisKinds &kinds = scalars.kinds(named, which);
  auto mayRun = [&](int64_t i) {
    if (!scalars.has(which, i))
      return false; // no code there
    int64_t x = which == Axis::X ? i : 0, y = which == Axis::X ? 0 : i;
    return std::all_of(
               conditions.begin(), conditions.end(),
               [&](int node) { return scalars.value(node, x, y) != 0; }) &&
           (!tellsColor || scalars.value(*operand.color(), x, y) == color);
  };
  std::vector<bool> ofKind(kinds.count()), result(kinds.of.size());
  for (size_t kind = 0; kind < kinds.count(); ++kind)
    ofKind[kind] = mayRun(kinds.representative[kind]);
  for (size_t i = 0; i < result.size(); ++i)
    result[i] = ofKind[kinds.of[i]];
  steps += int64_t(result.size());
  return result;
}

/// What decides where an operand may be of a color.
std::vector<int64_t>
signatureOf(const FabricOp &op, const program::Operand &operand, int64_t what) {
  std::vector<int64_t> signature{what};
  sign(operand.color(), signature);
  signature.insert(signature.end(), op.guards.begin(), op.guards.end());
  return signature;
}

const std::vector<bool> &ColorLines::feasible(const FabricOp &op,
                                              const program::Operand &operand,
                                              Axis which) const {
  auto [at, isNew] =
      routes.feasible.try_emplace(signatureOf(op, operand, int(which)));
  if (isNew)
    at->second = findFeasible(op, operand, which);
  return at->second;
}

/// Whether all that the rule does in the last column with code is to send words
/// east: off the mesh, or past PEs without code (HostWords looks after these).
bool ColorLines::isExit(const program::RouteRule &rule) const {
  return rule.rect()->x1() == scalars.last(Axis::X) + 1 &&
         rule.receive() == Port::Ramp &&
         rule.transmit() == 1u << unsigned(Port::East);
}

/// Whether the op may run in a PE with a rule of this axis, and there is more
/// to it than words that leave the mesh.
bool ColorLines::concerns(const FabricOp &op, const program::Operand &operand) {
  const std::vector<bool> &xs = feasible(op, operand, Axis::X);
  const std::vector<bool> &ys = feasible(op, operand, Axis::Y);
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
      end = std::min<int64_t>(end, scalars.last(Axis::X));
    for (int64_t x = rect.x0(); x < end; x += rect.xstep(), ++steps)
      if (xs[size_t(x)] &&
          (row < 0 ||
           spanOf(rect, Axis::Y).has(scalars.along(row, Axis::X, x))))
        return true;
    return false;
  };
  return std::any_of(routes.mine.begin(), routes.mine.end(),
                     [&](const auto *rule) { return reaches(*rule); });
}

/// The lines across which the op may run.
std::vector<bool> ColorLines::linesOf(const FabricOp &op,
                                      const program::Operand &operand) const {
  std::vector<bool> across = feasible(op, operand, cross);
  if (cross == Axis::Y)
    for (int guard : op.guards)
      if (int row = scalars.pinnedRow(guard); row >= 0) {
        const std::vector<bool> &heads = scalars.headRows(row);
        for (size_t i = 0; i < across.size(); ++i)
          across[i] = across[i] && heads[i];
      }
  return across;
}

const OperandReach &ColorLines::reachOf(const FabricOp &op,
                                        const program::Operand &operand) {
  auto [known, isNewHere] = reached.try_emplace({&operand, op.guards});
  if (!isNewHere)
    return *known->second;
  auto [at, isNew] =
      routes.reach.try_emplace(signatureOf(op, operand, &operand == op.out));
  known->second = &at->second;
  if (!isNew)
    return at->second;
  bool shared = !routes.foreign.empty();
  for (const program::RouteRule *rule : routes.mine)
    shared |= isExit(*rule);
  if (!shared || concerns(op, operand))
    at->second = {true, linesOf(op, operand)};
  return at->second;
}

void ColorLines::collectOp(size_t index, const program::Operand &operand,
                           std::vector<size_t> &list) {
  const FabricOp &op = routine.ops[index];
  const OperandReach &reach = reachOf(op, operand);
  if (!reach.anywhere)
    return;
  if (merged.insert(&reach).second) {
    lines.resize(reach.lines.size());
    for (size_t i = 0; i < lines.size(); ++i)
      lines[i] = lines[i] || reach.lines[i];
  }
  list.push_back(index);
  for (int guard : op.guards)
    if (int row = scalars.pinnedRow(guard); row >= 0)
      pinned.insert(row);
    else
      scalars.atoms(guard, atoms);
  scalars.atoms(op.turns, atoms);
  scalars.atoms(*operand.color(), atoms);
  for (const program::Affine *size : sizesOf(op, operand))
    scalars.atoms(*size, sizeAtoms);
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
  atoms.insert(sizeAtoms.begin(), sizeAtoms.end());
}

/// Positions that agree in settings and in all scalars that matter.
AxisKinds ColorLines::classify(Axis which) const {
  AxisKinds kinds =
      bothKinds(scalars.kinds(atoms, which),
                which == Axis::X ? routes.kindOfX : routes.kindOfY);
  if (which == Axis::Y)
    for (int row : pinned) {
      const std::vector<bool> &heads = scalars.headRows(row);
      // Each is a kind of its own.
      kinds = bothKinds(kinds, kindsBy(heads.size(), [&](size_t i) {
                          return heads[i] ? int64_t(i) : -1;
                        }));
    }
  steps += int64_t(kinds.of.size());
  return kinds;
}

void ColorLines::follow() {
  if (!routes.problem.empty())
    give(routes.problem);
  if (routes.mine.empty() && !routes.foreign.empty())
    return;
  collectOps();
  if (senders.empty() && receivers.empty())
    return;
  lineKinds = classify(axis);
  acrossKinds = classify(cross);
  useAlong = &scalars.kinds(atoms, axis);
  useAcross = &scalars.kinds(atoms, cross);
  sizeAlong = &scalars.kinds(sizeAtoms, axis);
  sizeAcross = &scalars.kinds(sizeAtoms, cross);
  makeCells();
  std::vector<bool> followed(acrossKinds.count());
  for (size_t i = 0; i < lines.size(); ++i)
    if (lines[i] && !followed[acrossKinds.of[i]]) {
      followed[acrossKinds.of[i]] = true;
      followLine(int64_t(i));
    }
}

/// Runs of equal PEs, of all lines.
void ColorLines::makeCells() {
  for (int row : pinned) {
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
              std::all_of(senders.begin(), senders.end(), isPinned) &&
              std::all_of(receivers.begin(), receivers.end(), isPinned);
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
    number =
        numberOf(findUses(sends, xOf(position, across), yOf(position, across)));
  return number;
}

Uses ColorLines::findUses(bool sends, int64_t x, int64_t y) const {
  Uses found;
  if (!scalars.has(Axis::X, x) || !scalars.has(Axis::Y, y))
    return found;
  for (size_t i : sends ? senders : receivers) {
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

/// Equal lists have one number; that of the empty list is 0.
uint32_t ColorLines::numberOf(Uses uses) {
  auto [at, isNew] =
      numbers.try_emplace(std::move(uses), uint32_t(numbers.size()));
  if (isNew)
    usesOf.push_back(&at->first);
  return at->second;
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
  if (first.transmits(Port::East))
    followPort(0, Port::East, hear);
  std::vector<std::pair<int64_t, int64_t>> columns;
  for (size_t i : hear) {
    for (const Use &use : *usesOf[cells[i].receives])
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
    Pairing &here = pairing(cell, cells[i]);
    record(here, cell, cells[i], link, direction);
    if (!heard)
      heard = &here;
    else if (heard != &here)
      agree(*heard, here);
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

Pairing &ColorLines::pairing(const Cell &from, const Cell &to) {
  auto [at, isNew] =
      pairings.try_emplace(uint64_t(from.sends) << 32 | to.receives);
  if (isNew)
    at->second = pair(*usesOf[from.sends], *usesOf[to.receives]);
  return at->second;
}

/// D1: both sides move the same words in the same order.
Pairing ColorLines::pair(const Uses &sends, const Uses &takes) {
  Pairing result;
  size_t s = 0, t = 0;
  int64_t sent = 0, taken = 0; // of the current uses
  while (s < sends.size() && t < takes.size()) {
    int64_t words = std::min(sends[s].words - sent, takes[t].words - taken);
    result.portions.push_back({sends[s].op, sent, words, takes[t].op});
    bool micro = !routine.ops[sends[s].op].main();
    result.fromMicrothreads |= micro;
    const FabricOp &taker = routine.ops[takes[t].op];
    result.relays |= micro && (taker.main() || !taker.out);
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
  return result;
}

void ColorLines::record(Pairing &pairing, const Cell &from, const Cell &to,
                        bool link, Port direction) {
  unsigned way = 1u << (2 * unsigned(direction) + link);
  if (pairing.recorded & way)
    return;
  pairing.recorded |= way;
  auto wordsIn = [](const Uses &uses, size_t op) {
    return std::lower_bound(uses.begin(), uses.end(), Use{op, 0})->words;
  };
  for (const Portion &portion : pairing.portions) {
    bool whole =
        portion.words == wordsIn(*usesOf[from.sends], portion.sender) &&
        portion.words == wordsIn(*usesOf[to.receives], portion.receiver);
    result.pairs.insert(
        {portion.sender, portion.receiver, direction, link, whole});
  }
}

/// Main threads that hear the same words of a microthread take them with ops
/// that begin and end at the same words.
void ColorLines::agree(const Pairing &some, const Pairing &others) {
  if (!some.fromMicrothreads)
    return;
  if (some.portions.size() != others.portions.size())
    give("received in different portions");
  for (size_t i = 0; i < some.portions.size(); ++i) {
    const Portion &one = some.portions[i], &other = others.portions[i];
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
    if (color == program.launch_color()) {
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
