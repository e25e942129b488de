// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/check/ColorUses.h"
#include "runtime/program/check/Bodies.h"

#include <algorithm>

namespace wsec::runtime {

namespace {

using program::OperandKind;
using program::StatementKind;

/// What must hold of a function of scalars where a statement runs.
struct ScalarCondition {
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
class ColorUses {
public:
  ColorUses(const program::PEClass &peClass, const program::Program &program,
            bool onlySends, ProofSteps &steps,
            const std::function<void(const ColorUse &)> &visit)
      : onlySends(onlySends), visit(visit), steps(steps),
        rects(rectsOf(peClass)),
        scalars(peClass.scalars(), rects, program.machine()->width(),
                program.machine()->height(), steps) {}

  void walk(const StatementList *body, const Where &where);

private:
  static std::vector<program::Rect> rectsOf(const program::PEClass &peClass) {
    std::vector<program::Rect> rects;
    for (const program::Rect *rect : *peClass.rects())
      rects.push_back(*rect);
    return rects;
  }

  void walkStatement(const program::Statement &statement, const Where &where);
  void walkInstruction(const program::Instruction &instruction,
                       const Where &where);
  void use(const program::Affine &color, const program::Operand *operand,
           bool sends, const Where &where);
  void useIn(const program::Rect &rect, const program::Affine &color,
             const AxisKinds &columns, const AxisKinds &rows,
             const program::Operand *operand, bool sends, const Where &where);
  bool runsAt(int64_t x, int64_t y) const;
  int pinnedRow() const;

  /// Runs `body` under one more condition, or knowing less.
  template <typename Body>
  void under(ScalarCondition condition, Body body) {
    const bool isKnown = ofScalars(*condition.value);
    if (isKnown)
      conditions.push_back(condition);
    else if (onlySends)
      return;
    unknown += !isKnown;
    body();
    unknown -= !isKnown;
    if (isKnown)
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

  const bool onlySends;
  const std::function<void(const ColorUse &)> &visit;
  ProofSteps &steps;
  const std::vector<program::Rect> rects;
  AxisScalars scalars;
  std::vector<int> guards;
  std::vector<ScalarCondition> conditions;
  int unknown = 0; ///< conditions that are not of scalars
  std::set<std::vector<int64_t>> seen;
};

void ColorUses::walk(const StatementList *body, const Where &where) {
  if (!body)
    return;
  const size_t outerConditions = conditions.size();
  const int outerUnknown = unknown;
  int64_t index = 0;
  for (const program::Statement *statement : *body) {
    const Where here{&where, "statement", index++};
    const auto *leave = statement->kind_as_Break();
    if (!leave)
      walkStatement(*statement, here);
    else if (ofScalars(*leave->condition())) // what is behind it
      conditions.push_back({leave->condition(), ScalarCondition::Zero});
    else if (onlySends)
      break;
    else
      ++unknown;
  }
  conditions.erase(conditions.begin() + ptrdiff_t(outerConditions),
                   conditions.end());
  unknown = outerUnknown;
}

void ColorUses::walkStatement(const program::Statement &statement,
                              const Where &where) {
  switch (statement.kind_type()) {
  case StatementKind::Instruction:
    return walkInstruction(*statement.kind_as_Instruction(), where);
  case StatementKind::SendControl:
    return use(*statement.kind_as_SendControl()->color(), nullptr, true, where);
  case StatementKind::Loop: {
    const program::Loop &loop = *statement.kind_as_Loop();
    return underGuard(loop.guard(), [&] {
      under({loop.count(), ScalarCondition::Positive},
            [&] { walk(loop.body(), where); });
    });
  }
  case StatementKind::If: {
    const program::If &branch = *statement.kind_as_If();
    under({branch.condition(), ScalarCondition::NotZero},
          [&] { walk(branch.then(), {&where, "then"}); });
    return under({branch.condition(), ScalarCondition::Zero},
                 [&] { walk(branch.otherwise(), {&where, "otherwise"}); });
  }
  default:
    return;
  }
}

/// One without elements moves nothing.
void ColorUses::walkInstruction(const program::Instruction &instruction,
                                const Where &where) {
  auto isFabric = [](const program::Operand *operand) {
    return operand && operand->kind() == OperandKind::Fabric;
  };
  const bool sends = isFabric(instruction.dst()),
             receives = !onlySends && (isFabric(instruction.a()) ||
                                       isFabric(instruction.b()));
  if (!sends && !receives)
    return;
  const size_t outer = conditions.size();
  const int known = unknown;
  for (const program::Affine *extent : *instruction.extents())
    if (ofScalars(*extent))
      conditions.push_back({extent, ScalarCondition::Positive});
    else
      ++unknown;
  if (unknown == 0 || !onlySends)
    underGuard(instruction.guard(), [&] {
      if (sends)
        use(*instruction.dst()->color(), instruction.dst(), true, where);
      for (const program::Operand *source : {instruction.a(), instruction.b()})
        if (receives && isFabric(source))
          use(*source->color(), source, false, where);
    });
  conditions.resize(outer);
  unknown = known;
}

bool ColorUses::runsAt(int64_t x, int64_t y) const {
  return std::all_of(
             guards.begin(), guards.end(),
             [&](int guard) { return scalars.value(guard, x, y) != 0; }) &&
         std::all_of(conditions.begin(), conditions.end(),
                     [&](const ScalarCondition &condition) {
                       return condition.holds(
                           scalars.value(*condition.value, x, y));
                     });
}

/// The scalar that is the one row in which a column passes the guards, as that
/// of an injector, or -1.
int ColorUses::pinnedRow() const {
  std::vector<int> parts;
  for (int guard : guards)
    scalars.appendConditions(guard, parts);
  for (int part : parts)
    if (const int row = scalars.pinnedRow(part); row >= 0)
      return row;
  return -1;
}

void ColorUses::use(const program::Affine &color,
                    const program::Operand *operand, bool sends,
                    const Where &where) {
  std::set<int> atoms;
  std::vector<int64_t> signature(guards.begin(), guards.end());
  sign(&color, signature);
  scalars.atoms(color, atoms);
  for (int guard : guards)
    scalars.atoms(guard, atoms);
  for (const ScalarCondition &condition : conditions) {
    scalars.atoms(*condition.value, atoms);
    signature.push_back(condition.test);
    sign(condition.value, signature);
  }
  signature.push_back(sends);
  if (!onlySends) {
    signature.push_back(unknown > 0);
    signature.push_back(operand ? int64_t(operand->type()) : -1);
    signature.push_back(operand ? int64_t(operand->packing()) : -1);
  }
  steps += int64_t(signature.size());
  if (!seen.insert(std::move(signature)).second)
    return;
  const AxisKinds &columns = scalars.kinds(atoms, AxisScalars::X);
  const AxisKinds &rows = scalars.kinds(atoms, AxisScalars::Y);
  for (const program::Rect &rect : rects)
    useIn(rect, color, columns, rows, operand, sends, where);
}

/// Positions of a rectangle along an axis, by kind.
static std::map<uint32_t, std::vector<int64_t>>
positionsOf(const Span &span, const AxisKinds &kinds, ProofSteps &steps) {
  std::map<uint32_t, std::vector<int64_t>> positions;
  for (int64_t i = span.begin; i < span.end; i += span.step, ++steps)
    positions[kinds.of[size_t(i)]].push_back(i);
  return positions;
}

void ColorUses::useIn(const program::Rect &rect, const program::Affine &color,
                      const AxisKinds &columns, const AxisKinds &rows,
                      const program::Operand *operand, bool sends,
                      const Where &where) {
  const auto rowKinds = positionsOf(spanOf(rect, AxisScalars::Y), rows, steps);
  const int pinned = pinnedRow();
  for (const auto &[kind, xs] :
       positionsOf(spanOf(rect, AxisScalars::X), columns, steps)) {
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
      if (runsAt(xs.front(), ys.front()))
        visit({operand, sends, unknown == 0,
               scalars.value(color, xs.front(), ys.front()), xs, ys, where});
    }
  }
}

bool setRoutes(const StatementList *body) {
  return body &&
         std::any_of(body->begin(), body->end(), [](const auto *statement) {
           switch (statement->kind_type()) {
           case StatementKind::SetRoute:
             return true;
           case StatementKind::Loop:
             return setRoutes(statement->kind_as_Loop()->body());
           case StatementKind::If:
             return setRoutes(statement->kind_as_If()->then()) ||
                    setRoutes(statement->kind_as_If()->otherwise());
           default:
             return false;
           }
         });
}

} // namespace

void forEachColorUse(const program::PEClass &peClass,
                     const program::Program &program, bool onlySends,
                     ProofSteps &steps,
                     const std::function<void(const ColorUse &)> &visit) {
  const Where where{nullptr, "class", -1, peClass.name()};
  ColorUses uses(peClass, program, onlySends, steps, visit);
  forEachBody(peClass, where,
              [&](const StatementList *body, const Where &here) {
                uses.walk(body, here);
              });
}

bool setsRoutes(const program::PEClass &peClass) {
  bool found = false;
  forEachBody(peClass, {}, [&](const StatementList *body, const Where &) {
    found |= setRoutes(body);
  });
  return found;
}

} // namespace wsec::runtime
