// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/check/SendChecker.h"
#include "runtime/program/Ports.h"
#include "runtime/program/check/Bodies.h"
#include "runtime/program/proof/FabricUse.h"

#include <algorithm>
#include <bit>

namespace wsec::runtime {

namespace {

using program::OperandKind;
using program::StatementKind;

/// PEs of a row, a bit each.
using RowBits = std::vector<uint64_t>;

/// PEs whose routers may receive a color from the ramp.
class RampRoutes {
public:
  RampRoutes(const program::Program &program, ProofSteps &steps)
      : words((size_t(program.machine()->width()) + 63) / 64),
        height(size_t(program.machine()->height())), colors(256), steps(steps) {
    for (const program::RouteRule *rule : *program.routes())
      if (everReceives(*rule, program::Port::Ramp))
        add(*rule);
  }

  /// The first column among `columns` of row y without such a route, or -1.
  int64_t missing(int64_t color, const RowBits &columns, int64_t y) {
    const RowBits &bits = colors[size_t(color)];
    steps += int64_t(words);
    for (size_t i = 0; i < words; ++i) {
      const uint64_t here = bits.empty() ? 0 : bits[size_t(y) * words + i];
      if (const uint64_t lacking = columns[i] & ~here)
        return int64_t(i * 64) + std::countr_zero(lacking);
    }
    return -1;
  }

  static bool everReceives(const program::RouteRule &rule, program::Port port) {
    bool found = rule.receive() == port;
    for (unsigned i = 0; i < furtherPositions(rule); ++i)
      found |= rule.positions()->Get(i)->receive() == int(port);
    return found;
  }

private:
  void add(const program::RouteRule &rule) {
    RowBits &bits = colors[rule.color()];
    bits.resize(words * height);
    const program::Rect &rect = *rule.rect();
    const RowBits columns = columnsOf(rect);
    for (int64_t y = rect.y0(); y < rect.y1(); y += rect.ystep()) {
      steps += int64_t(words);
      for (size_t i = 0; i < words; ++i)
        bits[size_t(y) * words + i] |= columns[i];
    }
  }
  RowBits columnsOf(const program::Rect &rect) const {
    RowBits columns(words);
    for (int64_t x = rect.x0(); x < rect.x1(); x += rect.xstep())
      columns[size_t(x) / 64] |= uint64_t(1) << (x % 64);
    return columns;
  }

  size_t words, height;
  std::vector<RowBits> colors;
  ProofSteps &steps;
};

/// What must hold of a function of scalars where a statement runs.
struct Condition {
  const program::Affine *value;
  enum Test { Zero, NotZero, Positive } test;

  bool holds(int64_t found) const {
    return test == Zero ? found == 0 : test == NotZero ? found != 0 : found > 0;
  }
};

bool ofScalars(const program::Affine &affine) {
  return !affine.terms() ||
         std::all_of(affine.terms()->begin(), affine.terms()->end(),
                     [](const program::Term *term) {
                       return term->kind() == program::TermKind::Scalar;
                     });
}

/// The code of one class.
class SendChecker {
public:
  SendChecker(const program::PEClass &peClass, const program::Program &program,
              RampRoutes &routes, ProofSteps &steps)
      : routes(routes), steps(steps), rects(rectsOf(peClass)),
        scalars(peClass.scalars(), rects, program.machine()->width(),
                program.machine()->height(), steps) {}

  void check(const StatementList *body, const Where &where);

private:
  static std::vector<program::Rect> rectsOf(const program::PEClass &peClass) {
    std::vector<program::Rect> rects;
    for (const program::Rect *rect : *peClass.rects())
      rects.push_back(*rect);
    return rects;
  }

  void checkStatement(const program::Statement &statement, const Where &where);
  void checkInstruction(const program::Instruction &instruction,
                        const Where &where);
  void checkSend(const program::Affine &color, const Where &where);
  void checkSend(const program::Affine &color, const program::Rect &rect,
                 const AxisKinds &columns, const AxisKinds &rows,
                 const Where &where);
  bool runsAt(int64_t x, int64_t y) const;
  int pinnedRow() const;

  /// Runs `body` under one more condition, unless that is not of scalars.
  template <typename Body>
  void under(Condition condition, Body body) {
    if (!ofScalars(*condition.value))
      return;
    conditions.push_back(condition);
    body();
    conditions.pop_back();
  }
  template <typename Body>
  void underGuard(int guard, Body body) {
    if (guard >= 0)
      guards.push_back(guard);
    body();
    if (guard >= 0)
      guards.pop_back();
  }

  RampRoutes &routes;
  ProofSteps &steps;
  const std::vector<program::Rect> rects;
  AxisScalars scalars;
  std::vector<int> guards;
  std::vector<Condition> conditions;
  std::set<std::vector<int64_t>> seen;
};

void SendChecker::check(const StatementList *body, const Where &where) {
  if (!body)
    return;
  int64_t index = 0;
  for (const program::Statement *statement : *body)
    checkStatement(*statement, {&where, "statement", index++});
}

void SendChecker::checkStatement(const program::Statement &statement,
                                 const Where &where) {
  switch (statement.kind_type()) {
  case StatementKind::Instruction:
    return checkInstruction(*statement.kind_as_Instruction(), where);
  case StatementKind::SendControl:
    return checkSend(*statement.kind_as_SendControl()->color(), where);
  case StatementKind::Loop: {
    const program::Loop &loop = *statement.kind_as_Loop();
    return underGuard(loop.guard(), [&] {
      under({loop.count(), Condition::Positive},
            [&] { check(loop.body(), where); });
    });
  }
  case StatementKind::If: {
    const program::If &branch = *statement.kind_as_If();
    under({branch.condition(), Condition::NotZero},
          [&] { check(branch.then(), {&where, "then"}); });
    return under({branch.condition(), Condition::Zero},
                 [&] { check(branch.otherwise(), {&where, "otherwise"}); });
  }
  default:
    return;
  }
}

/// One without elements sends nothing.
void SendChecker::checkInstruction(const program::Instruction &instruction,
                                   const Where &where) {
  if (instruction.dst()->kind() != OperandKind::Fabric)
    return;
  const size_t outer = conditions.size();
  bool known = true;
  for (const program::Affine *extent : *instruction.extents()) {
    known &= ofScalars(*extent);
    conditions.push_back({extent, Condition::Positive});
  }
  if (known)
    underGuard(instruction.guard(),
               [&] { checkSend(*instruction.dst()->color(), where); });
  conditions.resize(outer);
}

bool SendChecker::runsAt(int64_t x, int64_t y) const {
  return std::all_of(
             guards.begin(), guards.end(),
             [&](int guard) { return scalars.value(guard, x, y) != 0; }) &&
         std::all_of(conditions.begin(), conditions.end(),
                     [&](const Condition &condition) {
                       return condition.holds(
                           scalars.value(*condition.value, x, y));
                     });
}

/// The scalar that is the one row in which a column passes the guards, as that
/// of an injector, or -1.
int SendChecker::pinnedRow() const {
  std::vector<int> parts;
  for (int guard : guards)
    scalars.appendConditions(guard, parts);
  for (int part : parts)
    if (const int row = scalars.pinnedRow(part); row >= 0)
      return row;
  return -1;
}

void SendChecker::checkSend(const program::Affine &color, const Where &where) {
  std::set<int> atoms;
  std::vector<int64_t> signature(guards.begin(), guards.end());
  sign(&color, signature);
  scalars.atoms(color, atoms);
  for (int guard : guards)
    scalars.atoms(guard, atoms);
  for (const Condition &condition : conditions) {
    scalars.atoms(*condition.value, atoms);
    signature.push_back(condition.test);
    sign(condition.value, signature);
  }
  steps += int64_t(signature.size());
  if (!seen.insert(std::move(signature)).second)
    return;
  const AxisKinds &columns = scalars.kinds(atoms, AxisScalars::X);
  const AxisKinds &rows = scalars.kinds(atoms, AxisScalars::Y);
  for (const program::Rect &rect : rects)
    checkSend(color, rect, columns, rows, where);
}

/// Positions of a rectangle along an axis, by kind.
static std::map<uint32_t, std::vector<int64_t>>
positionsOf(const Span &span, const AxisKinds &kinds, ProofSteps &steps) {
  std::map<uint32_t, std::vector<int64_t>> positions;
  for (int64_t i = span.begin; i < span.end; i += span.step, ++steps)
    positions[kinds.of[size_t(i)]].push_back(i);
  return positions;
}

void SendChecker::checkSend(const program::Affine &color,
                            const program::Rect &rect, const AxisKinds &columns,
                            const AxisKinds &rows, const Where &where) {
  const auto rowKinds = positionsOf(spanOf(rect, AxisScalars::Y), rows, steps);
  const int pinned = pinnedRow();
  for (const auto &[kind, xs] :
       positionsOf(spanOf(rect, AxisScalars::X), columns, steps)) {
    RowBits bits((size_t(scalars.length(AxisScalars::X)) + 63) / 64);
    for (int64_t x : xs)
      bits[size_t(x) / 64] |= uint64_t(1) << (x % 64);
    auto first = rowKinds.begin(), last = rowKinds.end();
    if (pinned >= 0) { // no need to try the others
      const int64_t y = scalars.value(pinned, xs.front(), 0);
      if (y < 0 || y >= scalars.length(AxisScalars::Y))
        continue;
      first = rowKinds.find(rows.of[size_t(y)]);
      last = first == last ? last : std::next(first);
    }
    for (; first != last; ++first) {
      const std::vector<int64_t> &ys = first->second;
      if (!runsAt(xs.front(), ys.front()))
        continue;
      const int64_t sent = scalars.value(color, xs.front(), ys.front());
      for (int64_t y : ys)
        if (const int64_t x = routes.missing(sent, bits, y); x >= 0)
          throw errorAt(ErrorClass::MissingRoute, where,
                        "sends on color " + std::to_string(sent) + " in PE (" +
                            std::to_string(x) + ", " + std::to_string(y) +
                            "), where no route of the color receives from the "
                            "ramp: add one, or do not send there");
    }
  }
}

bool setsRoutes(const StatementList *body) {
  return body &&
         std::any_of(body->begin(), body->end(), [](const auto *statement) {
           switch (statement->kind_type()) {
           case StatementKind::SetRoute:
             return true;
           case StatementKind::Loop:
             return setsRoutes(statement->kind_as_Loop()->body());
           case StatementKind::If:
             return setsRoutes(statement->kind_as_If()->then()) ||
                    setsRoutes(statement->kind_as_If()->otherwise());
           default:
             return false;
           }
         });
}

} // namespace

void checkSends(const program::Program &program) {
  ProofSteps steps;
  try {
    RampRoutes routes(program, steps);
    for (const program::PEClass *peClass : *program.classes()) {
      const Where where{nullptr, "class", -1, peClass->name()};
      bool byCode = false;
      forEachBody(*peClass, where,
                  [&](const StatementList *body, const Where &) {
                    byCode |= setsRoutes(body);
                  });
      if (byCode)
        continue;
      SendChecker checker(*peClass, program, routes, steps);
      forEachBody(*peClass, where,
                  [&](const StatementList *body, const Where &here) {
                    checker.check(body, here);
                  });
    }
  } catch (const NotUnderstood &) {
    // More than is checked in advance; engines look at every word that is sent.
  }
}

} // namespace wsec::runtime
