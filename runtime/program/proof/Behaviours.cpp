// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/Behaviours.h"

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

namespace wsec::runtime {

namespace {

/// When events happen, and on which colors: of many the same, in turns of a
/// loop and for those that follow one another.
class Condition {
public:
  /// `pinned` are guards that hold in one row of a column, with a bit each.
  Condition(const FabricEvent &event, const FabricOp *op,
            const std::map<int, size_t> &pinned, const AxisScalars &scalars)
      : turns(op ? op->turns : event.turns), op(op), scalars(scalars) {
    std::set<int> atoms;
    for (int guard : op ? op->guards : event.guards)
      if (auto at = pinned.find(guard); at != pinned.end()) {
        needed |= uint64_t(1) << at->second;
      } else if (int head = scalars.deniedHead(guard); head >= 0) {
        denied |= uint64_t(1) << pinned.at(head);
      } else {
        guards.push_back(guard);
        scalars.atoms(guard, atoms);
      }
    scalars.atoms(turns, atoms);
    if (op)
      for (const program::Operand *operand : {op->in, op->out})
        if (operand)
          scalars.atoms(*operand->color(), atoms);
    xs = &scalars.kinds(atoms, AxisScalars::X);
    ys = &scalars.kinds(atoms, AxisScalars::Y);
    known.resize(xs->count() * ys->count());
  }

  /// In a PE where pinned guards hold as `bits` say.
  const Happening &at(int64_t x, int64_t y, uint64_t bits) {
    static constexpr Happening never;
    if ((needed & ~bits) || (denied & bits))
      return never;
    std::optional<Happening> &here =
        known[xs->of[size_t(x)] * ys->count() + ys->of[size_t(y)]];
    if (!here)
      here = evaluate(x, y);
    return *here;
  }

private:
  Happening evaluate(int64_t x, int64_t y) const {
    Happening here;
    here.happens = runsAt(guards, turns, scalars, x, y);
    if (here.happens && op && op->in)
      here.in = scalars.value(*op->in->color(), x, y);
    if (here.happens && op && op->out)
      here.out = scalars.value(*op->out->color(), x, y);
    return here;
  }

  const LoopTurns &turns;
  const FabricOp *op; ///< none of an await
  const AxisScalars &scalars;
  std::vector<int> guards;
  uint64_t needed = 0, denied = 0;
  const AxisKinds *xs, *ys;
  std::vector<std::optional<Happening>> known; ///< by kinds of x and y
};

} // namespace

std::set<Behaviour> behavioursOf(const FabricRoutine &routine,
                                 const AxisScalars &scalars) {
  std::set<int> atoms;
  std::map<int, size_t> pinned; // guards that hold in one row of a column
  auto opOf = [&](const FabricEvent &event) {
    return event.awaits ? nullptr : &routine.ops[event.op];
  };
  std::map<std::vector<int64_t>, size_t> numbers;
  std::vector<size_t> number; // of the condition of each event
  std::vector<const FabricEvent *> firsts;
  for (const FabricEvent &event : routine.events) {
    const FabricOp *its = opOf(event);
    const std::vector<int> &guards = its ? its->guards : event.guards;
    const LoopTurns &turns = its ? its->turns : event.turns;
    for (int guard : guards)
      if (scalars.axes(guard) == (AxisScalars::X | AxisScalars::Y) &&
          scalars.pinnedRow(guard) >= 0)
        pinned.try_emplace(guard, pinned.size());
      else if (int head = scalars.deniedHead(guard); head >= 0)
        pinned.try_emplace(head, pinned.size());
      else
        scalars.atoms(guard, atoms);
    scalars.atoms(turns, atoms);
    LoopTurns open = turns; // those that some PE does not have
    open.erase(
        std::remove_if(open.begin(), open.end(),
                       [&](const LoopTurn &loop) {
                         const auto &counts = scalars.values(*loop.count);
                         return !counts.empty() && loop.turn < *counts.begin();
                       }),
        open.end());
    std::vector<int64_t> signature;
    sign(guards, open, signature);
    for (const program::Operand *operand :
         {its ? its->in : nullptr, its ? its->out : nullptr}) {
      signature.push_back(operand != nullptr);
      if (!operand)
        continue;
      sign(operand->color(), signature);
      scalars.atoms(*operand->color(), atoms);
    }
    const auto [at, isNew] =
        numbers.try_emplace(std::move(signature), firsts.size());
    if (isNew)
      firsts.push_back(&event);
    number.push_back(at->second);
  }
  const auto &xs = scalars.kinds(atoms, AxisScalars::X).representative;
  const auto &ys = scalars.kinds(atoms, AxisScalars::Y).representative;
  constexpr size_t mostKinds = 1 << 16, mostHappenings = 1 << 25;
  const size_t kinds = xs.size() * ys.size()
                       << std::min<size_t>(5, pinned.size());
  if (pinned.size() > 4 || kinds > mostKinds ||
      kinds * firsts.size() > mostHappenings)
    throw NotUnderstood{"too many kinds of PEs"};
  std::deque<Condition> conditions;
  for (const FabricEvent *event : firsts)
    conditions.emplace_back(*event, opOf(*event), pinned, scalars);
  std::set<Behaviour> shortened; // by condition, not by event
  Behaviour behaviour;
  for (int64_t x : xs)
    for (int64_t y : ys)
      for (uint64_t bits = 0; bits >> pinned.size() == 0; ++bits) {
        behaviour.clear();
        for (Condition &condition : conditions)
          behaviour.push_back(condition.at(x, y, bits));
        scalars.steps += int64_t(behaviour.size());
        shortened.insert(behaviour);
      }
  std::set<Behaviour> result;
  for (const Behaviour &each : shortened) {
    behaviour.clear();
    for (size_t condition : number)
      behaviour.push_back(each[condition]);
    result.insert(behaviour);
  }
  return result;
}

} // namespace wsec::runtime
