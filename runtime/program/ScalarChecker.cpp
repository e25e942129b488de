// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/ScalarChecker.h"
#include "runtime/program/Checker.h"

#include <algorithm>

namespace wsec::runtime {

namespace {

bool divides(program::ScalarOp op) {
  return op == program::ScalarOp::Div || op == program::ScalarOp::Mod;
}
bool tiles(program::ScalarOp op) {
  return op >= program::ScalarOp::TileStart &&
         op <= program::ScalarOp::TileIndex;
}

/// What must hold of a node's operands wherever it is evaluated.
bool legal(program::ScalarOp op, Interval a, Interval b) {
  if (divides(op))
    return b.low > 0 || b.high < 0;
  if (tiles(op))
    return a.low >= 0 && b.low >= 1;
  return true;
}

std::string nodeName(size_t index) { return "scalar " + std::to_string(index); }

void checkForm(const program::ScalarNode &node, size_t index,
               const Where &where) {
  if (node.op() > program::ScalarOp::MAX)
    throw badProgram(where, nodeName(index) + " has the unknown operation " +
                                std::to_string(int(node.op())));
  int32_t operands[] = {node.a(), node.b(), node.c()};
  for (int i = 0; i < operandCount(node.op()); ++i)
    if (operands[i] < 0 || size_t(operands[i]) >= index)
      throw badProgram(where, nodeName(index) + " refers to scalar " +
                                  std::to_string(operands[i]) +
                                  ", which is not an earlier one");
}

/// Visits every PE: only for lists that the intervals leave undecided.
void checkEverywhere(const ScalarList &nodes, const program::Rect &rect,
                     const Where &where) {
  std::vector<int64_t> values(nodes.size());
  for (int64_t y = rect.y0(); y < rect.y1(); y += rect.ystep())
    for (int64_t x = rect.x0(); x < rect.x1(); x += rect.xstep())
      for (size_t i = 0; i < values.size(); ++i) {
        const program::ScalarNode &node = *nodes.Get(i);
        if (divides(node.op()) || tiles(node.op())) {
          int64_t a = values[node.a()], b = values[node.b()];
          if (!legal(node.op(), {a, a}, {b, b}))
            throw badProgram(where,
                             nodeName(i) +
                                 (divides(node.op())
                                      ? " divides by zero"
                                      : " tiles " + std::to_string(a) +
                                            " elements over " +
                                            std::to_string(b) + " parts") +
                                 " in PE (" + std::to_string(x) + ", " +
                                 std::to_string(y) + ")");
        }
        values[i] = evaluateNode(node, values.data(), x, y);
      }
}

Interval unite(Interval a, Interval b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

} // namespace

int operandCount(program::ScalarOp op) {
  using program::ScalarOp;
  switch (op) {
  case ScalarOp::Constant:
  case ScalarOp::Px:
  case ScalarOp::Py:
    return 0;
  case ScalarOp::Not:
    return 1;
  case ScalarOp::TileStart:
  case ScalarOp::TileSize:
  case ScalarOp::TileIndex:
    return 3;
  default:
    return 2;
  }
}

std::vector<Interval> checkScalars(const ScalarList *nodes,
                                   const std::vector<program::Rect> &rects,
                                   const Where &where) {
  std::vector<Interval> intervals;
  if (!nodes || rects.empty())
    return intervals;
  if (nodes->size() > largestScalarList)
    throw badProgram(where, "has " + std::to_string(nodes->size()) +
                                " scalars, at most " +
                                std::to_string(largestScalarList));
  Interval x{rects[0].x0(), rects[0].x1() - 1};
  Interval y{rects[0].y0(), rects[0].y1() - 1};
  for (const program::Rect &rect : rects) {
    x = unite(x, {rect.x0(), rect.x1() - 1});
    y = unite(y, {rect.y0(), rect.y1() - 1});
  }
  bool decided = true;
  for (size_t i = 0; i < nodes->size(); ++i) {
    const program::ScalarNode &node = *nodes->Get(i);
    checkForm(node, i, where);
    if (divides(node.op()) || tiles(node.op()))
      decided &= legal(node.op(), intervals[node.a()], intervals[node.b()]);
    auto interval = nodeInterval(node, intervals, x, y);
    if (!interval)
      throw badProgram(where, nodeName(i) + " may overflow");
    intervals.push_back(*interval);
  }
  if (!decided)
    for (const program::Rect &rect : rects)
      checkEverywhere(*nodes, rect, where);
  return intervals;
}

static void checkTerm(const program::Term &term, size_t scalars, size_t loops,
                      const LocalIntervals &locals, const Where &where) {
  std::string name;
  bool known = false;
  switch (term.kind()) {
  case program::TermKind::Scalar:
    name = "scalar ";
    known = term.index() < scalars;
    break;
  case program::TermKind::Loop:
    name = "the loop of depth ";
    known = term.index() < loops;
    break;
  case program::TermKind::Local:
    name = "local ";
    known = locals.count(term.index());
    break;
  default:
    throw badProgram(where, "has a term of unknown kind " +
                                std::to_string(int(term.kind())));
  }
  if (!known)
    throw badProgram(where, "refers to " + name + std::to_string(term.index()) +
                                ", which does not exist");
}

Interval checkAffine(const program::Affine *affine,
                     const std::vector<Interval> &scalars,
                     const std::vector<Interval> &loops, const Where &where,
                     const LocalIntervals &locals) {
  if (!affine)
    throw badProgram(where, "is missing");
  if (affine->terms())
    for (const program::Term *term : *affine->terms())
      checkTerm(*term, scalars.size(), loops.size(), locals, where);
  auto interval = affineInterval(*affine, scalars, loops, locals);
  if (!interval)
    throw badProgram(where, "may overflow");
  return *interval;
}

} // namespace wsec::runtime
