// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/AxisKinds.h"
#include "runtime/program/FabricUse.h"
#include "runtime/program/Facts.h"
#include "runtime/program/RectSet.h"

#include <set>
#include <vector>

namespace wsec::runtime {

namespace {

using Statements = flatbuffers::Vector<flatbuffers::Offset<program::Statement>>;

/// Where code runs: the guards are not zero, the counts are positive.
struct Condition {
  std::vector<int> guards;
  std::vector<const program::Affine *> counts;
};

/// Under which conditions a class computes: has a vector instruction that does
/// more than pass words on, or scalar code.
class Computation {
public:
  explicit Computation(const program::PEClass &peClass) {
    if (peClass.routines())
      for (const program::Routine *routine : *peClass.routines())
        follow(routine->body(), {});
    if (peClass.tasks())
      for (const program::Task *task : *peClass.tasks())
        follow(task->body(), {});
  }

  std::vector<Condition> conditions;

private:
  static bool forwards(const program::Instruction &instruction) {
    return instruction.op() == program::Opcode::Mov &&
           instruction.dst()->kind() == program::OperandKind::Fabric &&
           instruction.a() &&
           instruction.a()->kind() == program::OperandKind::Fabric;
  }

  /// Counts that depend on loops or locals are decided by a run: positive.
  static void add(Condition &condition, int guard,
                  const program::Affine &count) {
    if (guard >= 0)
      condition.guards.push_back(guard);
    if (count.terms())
      for (const program::Term *term : *count.terms())
        if (term->kind() != program::TermKind::Scalar)
          return;
    condition.counts.push_back(&count);
  }

  void follow(const Statements *body, const Condition &outer) {
    for (unsigned s = 0; body && s < body->size(); ++s) {
      const program::Statement *statement = body->Get(s);
      Condition inner = outer;
      if (const auto *loop = statement->kind_as_Loop()) {
        add(inner, loop->guard(), *loop->count());
        follow(loop->body(), inner);
      } else if (const auto *instruction = statement->kind_as_Instruction()) {
        if (forwards(*instruction))
          continue;
        for (const program::Affine *extent : *instruction->extents())
          add(inner, instruction->guard(), *extent);
        conditions.push_back(std::move(inner));
      } else if (!statement->kind_as_Await()) {
        conditions.push_back(std::move(inner));
      }
    }
  }
};

uint64_t computingPes(const program::Program &program,
                      const program::PEClass &peClass) {
  const std::vector<Condition> conditions = Computation(peClass).conditions;
  if (conditions.empty())
    return 0;
  std::vector<program::Rect> rects;
  for (const program::Rect *rect : *peClass.rects())
    rects.push_back(*rect);
  ProofSteps steps;
  const AxisScalars scalars(peClass.scalars(), rects,
                            program.machine()->width(),
                            program.machine()->height(), steps);
  std::set<int> atoms;
  for (const Condition &condition : conditions) {
    for (int guard : condition.guards)
      scalars.atoms(guard, atoms);
    for (const program::Affine *count : condition.counts)
      scalars.atoms(*count, atoms);
  }
  auto computes = [&](int64_t x, int64_t y) {
    for (const Condition &condition : conditions) {
      bool runs = true;
      for (int guard : condition.guards)
        runs = runs && scalars.value(guard, x, y) != 0;
      for (const program::Affine *count : condition.counts)
        runs = runs && scalars.value(*count, x, y) > 0;
      if (runs)
        return true;
    }
    return false;
  };
  /// How many positions of a rectangle agree in all atoms of an axis, and one.
  auto alike = [&](AxisScalars::Axis axis, int first, int last, int step) {
    const AxisKinds kinds =
        kindsBy(size_t((last - first + step - 1) / step), [&](size_t i) {
          std::vector<int64_t> values;
          for (int atom : atoms)
            if (scalars.axes(atom) == axis)
              values.push_back(
                  scalars.along(atom, axis, first + int64_t(i) * step));
          return values;
        });
    std::vector<std::pair<int64_t, uint64_t>> groups;
    for (int64_t i : kinds.representative)
      groups.push_back({first + i * step, 0});
    for (uint32_t kind : kinds.of)
      ++groups[kind].second;
    return groups;
  };
  uint64_t count = 0;
  for (const program::Rect &rect : rects) {
    const auto rows = alike(AxisScalars::Y, rect.y0(), rect.y1(), rect.ystep());
    for (const auto &[x, columns] :
         alike(AxisScalars::X, rect.x0(), rect.x1(), rect.xstep()))
      for (const auto &[y, many] : rows)
        if (computes(x, y))
          count += columns * many;
  }
  return count;
}

} // namespace

uint64_t computingPes(const program::Program &program) {
  uint64_t count = 0;
  for (const program::PEClass *peClass : *program.classes())
    try {
      count += computingPes(program, *peClass);
    } catch (const NotUnderstood &) { // Too many to tell apart: all may.
      for (const program::Rect *rect : *peClass->rects())
        count += uint64_t(rectSize(*rect));
    }
  return count;
}

} // namespace wsec::runtime
