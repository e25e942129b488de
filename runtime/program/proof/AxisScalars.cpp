// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalars along one axis of the mesh at a time.
#include "runtime/program/proof/FabricUse.h"

#include "runtime/program/check/ScalarChecker.h"

#include <algorithm>

namespace wsec::runtime {

using program::ScalarOp;

static int operandOf(const program::ScalarNode &node, int i) {
  return i == 0 ? node.a() : i == 1 ? node.b() : node.c();
}

AxisScalars::AxisScalars(const ScalarList *nodes,
                         const std::vector<program::Rect> &rects, int64_t width,
                         int64_t height, ProofSteps &steps)
    : steps(steps), nodes(nodes), columns(size_t(width)), rows(size_t(height)) {
  size_t count = nodes ? nodes->size() : 0;
  for (size_t i = 0; i < count; ++i) {
    const program::ScalarNode &node = *nodes->Get(unsigned(i));
    int axes = node.op() == ScalarOp::Px   ? X
               : node.op() == ScalarOp::Py ? Y
                                           : 0;
    for (int k = 0; k < operandCount(node.op()); ++k)
      axes |= nodeAxes[size_t(operandOf(node, k))];
    nodeAxes.push_back(axes);
    constants.push_back(axes == 0 ? evaluateNode(node, constants.data(), 0, 0)
                                  : 0);
  }
  for (std::vector<Values> &each : byNode)
    each.resize(count);
  // Elsewhere scalars may divide by zero.
  auto mark = [](std::vector<bool> &positions, int begin, int end, int step) {
    for (int i = begin; i < end; i += step)
      positions[size_t(i)] = true;
  };
  for (const program::Rect &rect : rects) {
    mark(columns, rect.x0(), rect.x1(), rect.xstep());
    mark(rows, rect.y0(), rect.y1(), rect.ystep());
  }
  if (rects.empty()) {
    columns.assign(size_t(width), true);
    rows.assign(size_t(height), true);
  }
  steps += int64_t(count);
}

// Lists of scalars may be long: operands are evaluated before a node, not by
// recursion.
const AxisScalars::Values &AxisScalars::evaluateAlong(int node,
                                                      Axis axis) const {
  const std::vector<Values> &known = byNode[axis == X ? 0 : 1];
  std::vector<int> stack{node};
  while (!stack.empty()) {
    const int at = stack.back();
    const program::ScalarNode &source = *nodes->Get(unsigned(at));
    bool ready = true;
    for (int k = 0; k < operandCount(source.op()); ++k)
      if (int operand = operandOf(source, k);
          axes(operand) != 0 && known[size_t(operand)].empty()) {
        stack.push_back(operand);
        ready = false;
      }
    if (!ready)
      continue;
    stack.pop_back();
    if (known[size_t(at)].empty())
      evaluateOne(at, axis);
  }
  return known[size_t(node)];
}

void AxisScalars::evaluateOne(int node, Axis axis) const {
  const program::ScalarNode &source = *nodes->Get(unsigned(node));
  const std::vector<bool> &where = known(axis);
  steps += int64_t(where.size());
  const Values *sources[3] = {};
  int64_t operands[3] = {};
  for (int k = 0; k < operandCount(source.op()); ++k)
    if (int operand = operandOf(source, k); axes(operand) != 0)
      sources[k] = &byNode[axis == X ? 0 : 1][size_t(operand)];
    else
      operands[k] = constants[size_t(operand)];
  Values values(where.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!where[i])
      continue;
    for (int k = 0; k < 3; ++k)
      if (sources[k])
        operands[k] = (*sources[k])[i];
    values[i] = evaluateNode(program::ScalarNode(source.op(), 0, 1, 2),
                             operands, int64_t(i), int64_t(i));
  }
  byNode[axis == X ? 0 : 1][size_t(node)] = std::move(values);
}

Span spanOf(const program::Rect &rect, AxisScalars::Axis axis) {
  if (axis == AxisScalars::X)
    return {rect.x0(), rect.x1(), rect.xstep()};
  return {rect.y0(), rect.y1(), rect.ystep()};
}

int AxisScalars::axes(const program::Affine &affine) const {
  int result = 0;
  if (affine.terms())
    for (const program::Term *term : *affine.terms())
      if (term->kind() == program::TermKind::Scalar)
        result |= axes(term->index());
  return result;
}

const std::vector<int> &AxisScalars::mixedBelow(int node) const {
  auto [at, isNew] = knownMixed.try_emplace(node);
  if (!isNew)
    return at->second;
  std::set<int> found{node};
  std::vector<int> stack{node};
  while (!stack.empty()) {
    const program::ScalarNode &mixed = *nodes->Get(unsigned(stack.back()));
    stack.pop_back();
    ++steps;
    for (int k = 0; k < operandCount(mixed.op()); ++k)
      if (int operand = operandOf(mixed, k);
          axes(operand) == (X | Y) && found.insert(operand).second)
        stack.push_back(operand);
  }
  at->second.assign(found.begin(), found.end());
  return at->second;
}

int64_t AxisScalars::value(int node, int64_t x, int64_t y) const {
  ++steps;
  auto single = [&](int of) {
    return axes(of) == Y ? along(of, Y, y) : along(of, X, x);
  };
  if (axes(node) != (X | Y))
    return single(node);
  if (visits.empty() || visitedX != x || visitedY != y) {
    ++visit;
    visitedX = x;
    visitedY = y;
    visits.resize(nodes->size());
    mixedValues.resize(nodes->size());
  }
  if (visits[size_t(node)] == visit)
    return mixedValues[size_t(node)];
  const std::vector<int> &below = mixedBelow(node);
  steps += int64_t(below.size());
  for (int each : below) {
    if (visits[size_t(each)] == visit)
      continue;
    const program::ScalarNode &mixed = *nodes->Get(unsigned(each));
    int64_t operands[3] = {};
    for (int k = 0; k < operandCount(mixed.op()); ++k) {
      const int operand = operandOf(mixed, k);
      operands[k] = axes(operand) == (X | Y) ? mixedValues[size_t(operand)]
                                             : single(operand);
    }
    mixedValues[size_t(each)] =
        evaluateNode(program::ScalarNode(mixed.op(), 0, 1, 2), operands, x, y);
    visits[size_t(each)] = visit;
  }
  return mixedValues[size_t(node)];
}

int64_t AxisScalars::value(const program::Affine &affine, int64_t x, int64_t y,
                           const LoopTurns &turns) const {
  int64_t sum = affine.constant();
  if (affine.terms())
    for (const program::Term *term : *affine.terms()) {
      if (term->kind() == program::TermKind::Local)
        throw NotUnderstood{"sizes that are computed"};
      sum += term->scale() * (term->kind() == program::TermKind::Loop
                                  ? turns.at(term->index()).turn
                                  : value(term->index(), x, y));
    }
  return sum;
}

void AxisScalars::atoms(int node, std::set<int> &result) const {
  if (axes(node) == 0)
    return;
  if (axes(node) != (X | Y)) {
    result.insert(node);
    return;
  }
  for (int each : mixedBelow(node)) {
    const program::ScalarNode &mixed = *nodes->Get(unsigned(each));
    for (int k = 0; k < operandCount(mixed.op()); ++k)
      if (int operand = operandOf(mixed, k); axes(operand) != (X | Y))
        atoms(operand, result);
  }
}

void AxisScalars::atoms(const program::Affine &affine,
                        std::set<int> &result) const {
  if (affine.terms())
    for (const program::Term *term : *affine.terms())
      if (term->kind() == program::TermKind::Scalar)
        atoms(term->index(), result);
}

void AxisScalars::atoms(const LoopTurns &turns, std::set<int> &result) const {
  for (const LoopTurn &loop : turns)
    atoms(*loop.count, result);
  for (const BranchArm &arm : turns.arms)
    atoms(*arm.condition, result);
}

const std::set<int64_t> &
AxisScalars::values(const program::Affine &affine) const {
  int both = axes(affine);
  if (both == (X | Y))
    throw NotUnderstood{"colors or loops that depend on both coordinates"};
  std::vector<int64_t> signature;
  sign(&affine, signature);
  auto [at, isNew] = knownValues.try_emplace(std::move(signature));
  if (!isNew)
    return at->second;
  int64_t count = both == 0 ? 1 : length(both == Y ? Y : X);
  for (int64_t i = 0; i < count; ++i)
    if (both == 0 || known(both == Y ? Y : X)[size_t(i)])
      at->second.insert(value(affine, both == Y ? 0 : i, both == Y ? i : 0));
  return at->second;
}

const AxisKinds &AxisScalars::kinds(const std::set<int> &of, Axis axis) const {
  std::vector<int> here;
  for (int node : of)
    if (axes(node) == axis)
      here.push_back(node);
  auto [at, isNew] = knownKinds.try_emplace({axis, here});
  if (!isNew)
    return at->second;
  steps += length(axis) + int64_t(here.size());
  if (here.size() > 1) {
    AxisKinds last = kinds({here.back()}, axis);
    here.pop_back();
    at->second =
        bothKinds(kinds(std::set<int>(here.begin(), here.end()), axis), last);
  } else {
    at->second = kindsBy(size_t(length(axis)), [&](size_t i) {
      const bool inside = has(axis, int64_t(i));
      return std::pair(inside, here.empty() || !inside
                                   ? 0
                                   : along(here[0], axis, int64_t(i)));
    });
  }
  return at->second;
}

const std::vector<bool> &AxisScalars::headRows(int f) const {
  auto [at, isNew] = knownHeads.try_emplace(f, rows.size());
  for (int64_t x = 0; isNew && x < length(X); ++x)
    if (int64_t y = along(f, X, x); has(X, x) && y >= 0 && y < length(Y))
      at->second[size_t(y)] = true;
  return at->second;
}

int AxisScalars::pinnedRow(int node) const {
  const program::ScalarNode &equal = *nodes->Get(unsigned(node));
  if (equal.op() != ScalarOp::Equal)
    return -1;
  auto isY = [&](int i) {
    return nodes->Get(unsigned(i))->op() == ScalarOp::Py;
  };
  if (isY(equal.a()) && !(axes(equal.b()) & Y))
    return equal.b();
  if (isY(equal.b()) && !(axes(equal.a()) & Y))
    return equal.a();
  return -1;
}

void AxisScalars::appendConditions(int guard,
                                   std::vector<int> &conditions) const {
  std::vector<int> stack{guard};
  std::set<int> seen; // conditions may share parts
  while (!stack.empty()) {
    const int at = stack.back();
    const program::ScalarNode &scalar = *nodes->Get(unsigned(at));
    stack.pop_back();
    ++steps;
    if (!seen.insert(at).second)
      continue;
    if (axes(at) != (X | Y) || scalar.op() != ScalarOp::And) {
      conditions.push_back(at);
      continue;
    }
    stack.push_back(scalar.b());
    stack.push_back(scalar.a());
  }
}

int AxisScalars::deniedHead(int condition) const {
  const program::ScalarNode &scalar = *nodes->Get(unsigned(condition));
  const bool denies = axes(condition) == (X | Y) &&
                      scalar.op() == ScalarOp::Not &&
                      pinnedRow(scalar.a()) >= 0;
  return denies ? scalar.a() : -1;
}

} // namespace wsec::runtime
