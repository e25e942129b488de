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

/// Where code runs: the guards are not zero, the counts are positive.
struct Condition {
  std::vector<int> guards;
  std::vector<const program::Affine *> counts;

  /// Equal for conditions that say the same; longer for those that say more.
  std::vector<int64_t> key() const {
    std::vector<int64_t> key(guards.begin(), guards.end());
    for (const program::Affine *count : counts) {
      key.insert(key.end(), {-1, count->constant()});
      for (unsigned t = 0; count->terms() && t < count->terms()->size(); ++t)
        key.insert(key.end(), {count->terms()->Get(t)->index(),
                               count->terms()->Get(t)->scale()});
    }
    return key;
  }
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

/// The PEs of a rectangle, a row of bits each.
class PeBits {
public:
  PeBits(size_t columns, size_t rows)
      : words((columns + 63) / 64), bits(words * rows) {}

  /// Adds `columns` to row `row`; both are rows of bits.
  void add(size_t row, const std::vector<uint64_t> &columns) {
    for (size_t word = 0; word < words; ++word)
      bits[row * words + word] |= columns[word];
  }
  uint64_t count() const {
    uint64_t count = 0;
    for (uint64_t word : bits)
      count += uint64_t(std::popcount(word));
    return count;
  }
  size_t wordsPerRow() const { return words; }

private:
  size_t words;
  std::vector<uint64_t> bits;
};

/// How many PEs of a class meet a condition. A condition tells few kinds of
/// rows and of columns apart, all of them together many.
class ComputingCounter {
public:
  ComputingCounter(const program::Program &program,
                   const program::PEClass &peClass)
      : rects(peClass.rects()->size()) {
    for (size_t i = 0; i < rects.size(); ++i)
      rects[i] = *peClass.rects()->Get(unsigned(i));
    // Most PEs meet a short one, and many instructions have the same.
    std::map<std::pair<size_t, std::vector<int64_t>>, Condition> byKey;
    for (Condition &condition : Computation(peClass).conditions) {
      std::vector<int64_t> key = condition.key();
      byKey[{key.size(), std::move(key)}] = std::move(condition);
    }
    for (auto &[key, condition] : byKey)
      conditions.push_back(std::move(condition));
    scalars.emplace(peClass.scalars(), rects, program.machine()->width(),
                    program.machine()->height(), steps);
  }

  uint64_t count() {
    uint64_t count = 0;
    for (const program::Rect &rect : rects)
      count += countIn(rect);
    return count;
  }

private:
  bool runs(const Condition &condition, int64_t x, int64_t y) const {
    for (int guard : condition.guards)
      if (scalars->value(guard, x, y) == 0)
        return false;
    for (const program::Affine *count : condition.counts)
      if (scalars->value(*count, x, y) <= 0)
        return false;
    return true;
  }

  /// Positions of an axis of a rectangle that agree in all of `atoms`.
  AxisKinds alike(const std::set<int> &atoms, AxisScalars::Axis axis, int first,
                  int last, int step) const {
    return kindsBy(size_t((last - first + step - 1) / step), [&](size_t i) {
      std::vector<int64_t> values;
      for (int atom : atoms)
        if (scalars->axes(atom) == axis)
          values.push_back(
              scalars->along(atom, axis, first + int64_t(i) * step));
      return values;
    });
  }

  /// Adds the PEs of `rect` that meet a condition.
  void add(const Condition &condition, const program::Rect &rect,
           PeBits &pes) const {
    std::set<int> atoms;
    for (int guard : condition.guards)
      scalars->atoms(guard, atoms);
    for (const program::Affine *count : condition.counts)
      scalars->atoms(*count, atoms);
    const AxisKinds columns =
        alike(atoms, AxisScalars::X, rect.x0(), rect.x1(), rect.xstep());
    const AxisKinds rows =
        alike(atoms, AxisScalars::Y, rect.y0(), rect.y1(), rect.ystep());
    std::vector<std::vector<uint64_t>> meet;
    for (int64_t row : rows.representative) {
      std::vector<bool> kinds;
      for (int64_t column : columns.representative)
        kinds.push_back(runs(condition, rect.x0() + column * rect.xstep(),
                             rect.y0() + row * rect.ystep()));
      std::vector<uint64_t> &bits = meet.emplace_back(pes.wordsPerRow());
      for (size_t i = 0; i < columns.of.size(); ++i)
        bits[i / 64] |= uint64_t(kinds[columns.of[i]]) << i % 64;
    }
    for (size_t row = 0; row < rows.of.size(); ++row)
      pes.add(row, meet[rows.of[row]]);
  }

  uint64_t countIn(const program::Rect &rect) const {
    auto length = [](int first, int last, int step) {
      return size_t((last - first + step - 1) / step);
    };
    PeBits pes(length(rect.x0(), rect.x1(), rect.xstep()),
               length(rect.y0(), rect.y1(), rect.ystep()));
    const uint64_t all = uint64_t(rectSize(rect));
    uint64_t count = 0;
    for (const Condition &condition : conditions) {
      add(condition, rect, pes);
      count = pes.count();
      if (count == all)
        break;
    }
    return count;
  }

  std::vector<program::Rect> rects;
  std::vector<Condition> conditions;
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
