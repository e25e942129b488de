// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/check/ScalarChecker.h"
#include "runtime/program/Checker.h"
#include "runtime/program/RectSet.h"

#include <algorithm>
#include <set>

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

/// What the node stands for exists where it is evaluated.
void checkMeaning(const program::ScalarNode &node, size_t index,
                  const ScalarPlaces &places, const Where &where) {
  const bool coordinate =
      node.op() == program::ScalarOp::Px || node.op() == program::ScalarOp::Py;
  if (coordinate && places.rects.empty())
    throw badProgram(where, nodeName(index) + " is a coordinate of a PE; an "
                                              "entry is called for all of "
                                              "them");
  if (node.op() == program::ScalarOp::Argument &&
      (node.a() < 0 || size_t(node.a()) >= places.arguments.size()))
    throw badProgram(where, nodeName(index) + " is argument " +
                                std::to_string(node.a()) + " of " +
                                std::to_string(places.arguments.size()));
}

/// Tries scalars that the intervals leave undecided in every PE, or along one
/// axis if they depend on that alone; with them those they are computed from.
class Trial {
public:
  Trial(const ScalarList &nodes, const std::set<size_t> &undecided)
      : nodes(nodes), undecided(undecided) {
    std::set<size_t> below(undecided);
    for (auto node = below.rbegin(); node != below.rend(); ++node) {
      const program::ScalarNode &each = *nodes.Get(unsigned(*node));
      arguments |= each.op() == program::ScalarOp::Argument;
      alongX |= each.op() == program::ScalarOp::Px;
      alongY |= each.op() == program::ScalarOp::Py;
      const int32_t operands[] = {each.a(), each.b(), each.c()};
      // Operands come earlier, so this meets them, too.
      for (int i = 0; i < operandCount(each.op()); ++i)
        below.insert(size_t(operands[i]));
    }
    needed.assign(below.begin(), below.end());
  }

  /// A divisor depends on more than the PE.
  bool needsArguments() const { return arguments; }

  void run(const program::Rect &rect, const Where &where, CheckerWork &work) {
    const int32_t x1 = alongX ? rect.x1() : rect.x0() + 1;
    const int32_t y1 = alongY ? rect.y1() : rect.y0() + 1;
    const program::Rect tried(rect.x0(), x1, rect.xstep(), rect.y0(), y1,
                              rect.ystep());
    work.add(uint64_t(rectSize(tried)), needed.size(),
             "to try whether a divisor is 0 in any PE", where);
    values.resize(nodes.size());
    for (int64_t y = tried.y0(); y < y1; y += tried.ystep())
      for (int64_t x = tried.x0(); x < x1; x += tried.xstep())
        runAt(x, y, where);
  }

private:
  void runAt(int64_t x, int64_t y, const Where &where) {
    for (size_t i : needed) {
      const program::ScalarNode &node = *nodes.Get(unsigned(i));
      if (undecided.count(i)) {
        const int64_t a = values[size_t(node.a())];
        const int64_t b = values[size_t(node.b())];
        if (!legal(node.op(), {a, a}, {b, b}))
          throw badProgram(where, nodeName(i) +
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

  const ScalarList &nodes;
  const std::set<size_t> &undecided;
  std::vector<size_t> needed;
  std::vector<int64_t> values;
  bool alongX = false, alongY = false, arguments = false;
};

} // namespace

int operandCount(program::ScalarOp op) {
  using program::ScalarOp;
  switch (op) {
  case ScalarOp::Constant:
  case ScalarOp::Px:
  case ScalarOp::Py:
  case ScalarOp::Argument:
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
                                   const ScalarPlaces &places,
                                   CheckerWork &work, const Where &where) {
  std::vector<Interval> intervals;
  if (!nodes)
    return intervals;
  if (nodes->size() > largestScalarList)
    throw badProgram(where, "has " + std::to_string(nodes->size()) +
                                " scalars, at most " +
                                std::to_string(largestScalarList));
  work.add(1, nodes->size(), "to check scalars", where);
  Interval x, y;
  for (const program::Rect &rect : places.rects) {
    const Interval columns{rect.x0(), rect.x1() - 1};
    const Interval rows{rect.y0(), rect.y1() - 1};
    const bool first = &rect == &places.rects[0];
    x = first ? columns : unite(x, columns);
    y = first ? rows : unite(y, rows);
  }
  std::set<size_t> undecided;
  for (size_t i = 0; i < nodes->size(); ++i) {
    const program::ScalarNode &node = *nodes->Get(i);
    checkForm(node, i, where);
    checkMeaning(node, i, places, where);
    if ((divides(node.op()) || tiles(node.op())) &&
        !legal(node.op(), intervals[node.a()], intervals[node.b()]))
      undecided.insert(i);
    auto interval = node.op() == program::ScalarOp::Argument
                        ? places.arguments[size_t(node.a())]
                        : nodeInterval(node, intervals, x, y);
    if (!interval)
      throw badProgram(where, nodeName(i) + " may overflow");
    intervals.push_back(*interval);
  }
  if (undecided.empty())
    return intervals;
  Trial trial(*nodes, undecided);
  if (trial.needsArguments() || places.rects.empty())
    throw badProgram(where, nodeName(*undecided.begin()) +
                                " may divide by zero, or tile over no parts, "
                                "for some arguments");
  for (const program::Rect &rect : places.rects)
    trial.run(rect, where, work);
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
  if (affine->terms() && affine->terms()->size() > largestTermList)
    throw badProgram(where, "has " + std::to_string(affine->terms()->size()) +
                                " terms, at most " +
                                std::to_string(largestTermList));
  if (affine->terms())
    for (const program::Term *term : *affine->terms())
      checkTerm(*term, scalars.size(), loops.size(), locals, where);
  auto interval = affineInterval(*affine, scalars, loops, locals);
  if (!interval)
    throw badProgram(where, "may overflow");
  return *interval;
}

} // namespace wsec::runtime
