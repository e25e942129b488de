// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/ColorOps.h"

#include <algorithm>

namespace wsec::runtime {

using program::Port;

/// Positions on one axis where the op may run and name the color; too many
/// rather than too few.
std::vector<bool> ColorOps::findFeasible(const FabricOp &op,
                                         const program::Operand &operand,
                                         Axis which) const {
  std::vector<int> conditions = op.guards;
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
static std::vector<int64_t>
signatureOf(const FabricOp &op, const program::Operand &operand, int64_t what) {
  std::vector<int64_t> signature{what};
  sign(operand.color(), signature);
  signature.insert(signature.end(), op.guards.begin(), op.guards.end());
  return signature;
}

const std::vector<bool> &ColorOps::feasible(const FabricOp &op,
                                            const program::Operand &operand,
                                            Axis which) const {
  auto [at, isNew] =
      routes.feasible.try_emplace(signatureOf(op, operand, int(which)));
  if (isNew)
    at->second = findFeasible(op, operand, which);
  return at->second;
}

static int64_t positionsOf(const Span &span, int64_t from = 0) {
  const int64_t before = std::max<int64_t>(0, from - span.begin);
  const int64_t begin =
      span.begin + (before + span.step - 1) / span.step * span.step;
  return std::max<int64_t>(0, (span.end - begin + span.step - 1) / span.step);
}

/// PEs east of the rule, in its rows, that the other sends words past.
static int64_t passedBy(const program::RouteRule &other,
                        const program::Rect &rect) {
  if (other.receive() != Port::West ||
      other.transmit() != 1u << unsigned(Port::East))
    return 0;
  const Span across = spanOf(*other.rect(), AxisScalars::Y);
  int64_t rows = 0;
  for (int y = rect.y0(); y < rect.y1(); y += rect.ystep())
    rows += across.has(y);
  return rows * positionsOf(spanOf(*other.rect(), AxisScalars::X), rect.x1());
}

/// Whether all that the rule does in the last column with code is to send words
/// east: off the mesh, past PEs without code. HostWords counts them. PEs
/// further east that take them may have code of another class.
bool ColorOps::isExit(const program::RouteRule &rule) const {
  const program::Rect &rect = *rule.rect();
  if (routes.turn)
    return false; // its words may come back in other rows
  if (rect.x1() != scalars.last(Axis::X) + 1 || rule.receive() != Port::Ramp ||
      rule.transmit() != 1u << unsigned(Port::East))
    return false;
  int64_t east = (scalars.length(Axis::X) - rect.x1()) *
                 positionsOf(spanOf(rect, Axis::Y));
  for (const program::RouteRule *other : routes.mine) {
    ++steps;
    if (east > 0 && other->rect()->y0() < rect.y1() &&
        rect.y0() < other->rect()->y1()) {
      east -= passedBy(*other, rect);
      steps += rect.y1() - rect.y0();
    }
  }
  return east == 0;
}

/// Whether the op may run in a PE with a rule of this axis, and there is more
/// to it than words that leave the mesh.
bool ColorOps::concerns(const FabricOp &op,
                        const program::Operand &operand) const {
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

bool ColorOps::mayUse(const FabricOp &op,
                      const program::Operand &operand) const {
  const std::vector<bool> &xs = feasible(op, operand, Axis::X);
  const std::vector<bool> &ys = feasible(op, operand, Axis::Y);
  if (std::find(ys.begin(), ys.end(), true) == ys.end())
    return false;
  auto mayRun = [&](int64_t x) {
    return xs[size_t(x)] &&
           std::all_of(op.guards.begin(), op.guards.end(), [&](int guard) {
             const int row = scalars.pinnedRow(guard);
             const int64_t y = row < 0 ? 0 : scalars.along(row, Axis::X, x);
             return row < 0 ||
                    (y >= 0 && y < scalars.length(Axis::Y) && ys[size_t(y)]);
           });
  };
  for (int64_t x = 0; x < scalars.length(Axis::X); ++x, ++steps)
    if (mayRun(x))
      return true;
  return false;
}

/// The lines across which the op may run.
std::vector<bool> ColorOps::linesOf(const FabricOp &op,
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

const OperandReach &ColorOps::reachOf(const FabricOp &op,
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

void ColorOps::add(size_t index, const program::Operand &operand,
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
    else if (int head = scalars.deniedHead(guard); head >= 0)
      pinned.insert(scalars.pinnedRow(head));
    else
      scalars.atoms(guard, atoms);
  scalars.atoms(op.turns, atoms);
  scalars.atoms(*operand.color(), atoms);
  for (const program::Affine *size : sizesOf(op, operand))
    scalars.atoms(*size, sizeAtoms);
}

void ColorOps::collect() {
  for (size_t i = 0; i < routine.ops.size(); ++i) {
    const FabricOp &op = routine.ops[i];
    if (op.inColors.count(color))
      add(i, *op.in, receivers);
    if (op.outColors.count(color))
      add(i, *op.out, senders);
  }
  constexpr size_t mostPinned = 8;
  if (pinned.size() > mostPinned)
    throw NotUnderstood{"is used in too many kinds of rows"};
  for (int row : pinned)
    scalars.atoms(row, atoms);
  atoms.insert(sizeAtoms.begin(), sizeAtoms.end());
}

std::vector<ColorOps::Moved> ColorOps::usesAt(bool sends, int64_t x,
                                              int64_t y) const {
  std::vector<Moved> found;
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

/// Positions that agree in settings and in all scalars that matter.
AxisKinds ColorOps::classify(Axis which) const {
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

} // namespace wsec::runtime
