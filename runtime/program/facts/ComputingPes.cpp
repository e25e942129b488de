// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/RectSet.h"
#include "runtime/program/facts/Facts.h"
#include "runtime/program/proof/AxisKinds.h"
#include "runtime/program/proof/FabricUse.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace wsec::runtime {

namespace {

using Statements = flatbuffers::Vector<flatbuffers::Offset<program::Statement>>;

/// What decides whether code runs: a guard that is not zero, or a count that is
/// positive.
struct Factor {
  int guard = -1;
  const program::Affine *count = nullptr; ///< instead

  /// Equal for factors that say the same.
  std::vector<int64_t> key() const {
    if (!count)
      return {guard};
    std::vector<int64_t> key = {-1, count->constant()};
    for (unsigned t = 0; count->terms() && t < count->terms()->size(); ++t)
      key.insert(key.end(), {count->terms()->Get(t)->index(),
                             count->terms()->Get(t)->scale()});
    return key;
  }
};

/// Where code runs: where all of these say so.
using Condition = std::vector<Factor>;

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
      condition.push_back({guard});
    if (count.terms())
      for (const program::Term *term : *count.terms())
        if (term->kind() != program::TermKind::Scalar)
          return;
    condition.push_back({-1, &count});
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

/// The PEs of a rectangle for which something holds: a row of bits for each
/// kind of row.
struct PeBits {
  std::vector<size_t> kindOfRow;
  std::vector<std::vector<uint64_t>> columnsOfKind;

  const std::vector<uint64_t> &row(size_t row) const {
    return columnsOfKind[kindOfRow[row]];
  }
};

/// How many PEs of a class meet a condition. A factor tells few kinds of rows
/// and of columns apart, all of them together many.
class ComputingCounter {
public:
  ComputingCounter(const program::Program &program,
                   const program::PEClass &peClass)
      : rects(peClass.rects()->size()) {
    for (size_t i = 0; i < rects.size(); ++i)
      rects[i] = *peClass.rects()->Get(unsigned(i));
    // Most PEs meet a short one, and many instructions have the same.
    std::set<std::pair<size_t, std::vector<size_t>>> known;
    std::map<std::vector<int64_t>, size_t> numbers;
    for (const Condition &condition : Computation(peClass).conditions) {
      std::set<size_t> its;
      for (const Factor &factor : condition) {
        auto [at, isNew] = numbers.try_emplace(factor.key(), factors.size());
        if (isNew)
          factors.push_back(factor);
        its.insert(at->second);
      }
      known.insert({its.size(), {its.begin(), its.end()}});
    }
    for (const auto &[length, condition] : known)
      conditions.push_back(condition);
    scalars.emplace(peClass.scalars(), rects, program.machine()->width(),
                    program.machine()->height(), steps);
  }

  uint64_t count() const {
    uint64_t count = 0;
    for (const program::Rect &rect : rects)
      count += countIn(rect);
    return count;
  }

private:
  bool holds(const Factor &factor, int64_t x, int64_t y) const {
    return factor.count ? scalars->value(*factor.count, x, y) > 0
                        : scalars->value(factor.guard, x, y) != 0;
  }

  /// Positions of an axis of a rectangle that agree in all of `atoms`.
  AxisKinds alike(const std::set<int> &atoms, AxisScalars::Axis axis, int first,
                  size_t length, int step) const {
    return kindsBy(length, [&](size_t i) {
      std::vector<int64_t> values;
      for (int atom : atoms)
        if (scalars->axes(atom) == axis)
          values.push_back(
              scalars->along(atom, axis, first + int64_t(i) * step));
      return values;
    });
  }

  /// The PEs of `rect` for which `factor` holds.
  PeBits bitsOf(const Factor &factor, const program::Rect &rect, size_t columns,
                size_t rows) const {
    std::set<int> atoms;
    if (factor.count)
      scalars->atoms(*factor.count, atoms);
    else
      scalars->atoms(factor.guard, atoms);
    const AxisKinds xs =
        alike(atoms, AxisScalars::X, rect.x0(), columns, rect.xstep());
    const AxisKinds ys =
        alike(atoms, AxisScalars::Y, rect.y0(), rows, rect.ystep());
    PeBits pes{{ys.of.begin(), ys.of.end()}, {}};
    for (int64_t row : ys.representative) {
      std::vector<bool> kinds;
      for (int64_t column : xs.representative)
        kinds.push_back(holds(factor, rect.x0() + column * rect.xstep(),
                              rect.y0() + row * rect.ystep()));
      std::vector<uint64_t> &bits =
          pes.columnsOfKind.emplace_back((columns + 63) / 64);
      for (size_t i = 0; i < xs.of.size(); ++i)
        bits[i / 64] |= uint64_t(kinds[xs.of[i]]) << i % 64;
    }
    return pes;
  }

  uint64_t countIn(const program::Rect &rect) const {
    auto length = [](int first, int last, int step) {
      return size_t((last - first + step - 1) / step);
    };
    const size_t columns = length(rect.x0(), rect.x1(), rect.xstep());
    const size_t rows = length(rect.y0(), rect.y1(), rect.ystep());
    std::vector<std::optional<PeBits>> bits(factors.size());
    const std::vector<uint64_t> none((columns + 63) / 64);
    std::vector<std::vector<uint64_t>> computing(rows, none);
    const uint64_t all = uint64_t(rectSize(rect));
    uint64_t count = 0;
    for (const std::vector<size_t> &condition : conditions) {
      if (condition.empty())
        return all;
      for (size_t factor : condition)
        if (!bits[factor])
          bits[factor] = bitsOf(factors[factor], rect, columns, rows);
      count = 0;
      for (size_t row = 0; row < rows; ++row)
        for (size_t word = 0; word < none.size(); ++word) {
          uint64_t meet = ~uint64_t(0);
          for (size_t factor : condition)
            meet &= bits[factor]->row(row)[word];
          count += uint64_t(std::popcount(computing[row][word] |= meet));
        }
      if (count == all)
        break;
    }
    return count;
  }

  std::vector<program::Rect> rects;
  std::vector<Factor> factors;
  /// By the numbers of their factors.
  std::vector<std::vector<size_t>> conditions;
  ProofSteps steps;
  std::optional<AxisScalars> scalars;
};

} // namespace

uint64_t computingPes(const program::Program &program) {
  uint64_t count = 0;
  for (const program::PEClass *peClass : *program.classes())
    try {
      count += ComputingCounter(program, *peClass).count();
    } catch (const NotUnderstood &) { // Too many to tell apart: all may.
      for (const program::Rect *rect : *peClass->rects())
        count += uint64_t(rectSize(*rect));
    }
  return count;
}

} // namespace wsec::runtime
