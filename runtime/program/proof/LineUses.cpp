// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/LineUses.h"

#include <algorithm>

namespace wsec::runtime {

using Axis = AxisScalars::Axis;

static constexpr int64_t notYet = -1;

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

SizeTables::Table::Table(const FabricOp &op, const program::Operand &operand,
                         const AxisScalars &scalars)
    : op(op), operand(operand), scalars(scalars) {
  std::set<int> atoms;
  for (const program::Affine *size : sizesOf(op, operand))
    scalars.atoms(*size, atoms);
  xs = &scalars.kinds(atoms, AxisScalars::X);
  ys = &scalars.kinds(atoms, AxisScalars::Y);
  words.resize(ys->count());
}

int64_t SizeTables::Table::at(int64_t x, int64_t y) {
  std::vector<int64_t> &row = words[ys->of[size_t(y)]];
  if (row.empty())
    row.assign(xs->count(), notYet);
  int64_t &here = row[xs->of[size_t(x)]];
  if (here == notYet)
    here = wordsOf(op, operand, scalars, x, y);
  return here;
}

SizeTables::Table &SizeTables::of(const FabricOp &op,
                                  const program::Operand &operand) {
  std::vector<int64_t> signature{operand.depth(),
                                 operand.window_total() != nullptr};
  bool turns = false; // whether loops decide
  for (const program::Affine *size : sizesOf(op, operand)) {
    sign(size, signature);
    for (unsigned i = 0; size->terms() && i < size->terms()->size(); ++i)
      turns |= size->terms()->Get(i)->kind() == program::TermKind::Loop;
  }
  for (const LoopTurn &loop : op.turns)
    if (turns)
      signature.push_back(loop.turn);
  return known.try_emplace(std::move(signature), op, operand, scalars)
      .first->second;
}

//===----------------------------------------------------------------------===//
// Uses
//===----------------------------------------------------------------------===//

LineUses::LineUses(const FabricRoutine &routine, const AxisScalars &scalars,
                   const ColorOps &ops, SizeTables &sizes, WordPairs &pairs,
                   int64_t color, Axis axis)
    : routine(routine), scalars(scalars), ops(ops), sizes(sizes), pairs(pairs),
      color(color), axis(axis), steps(scalars.steps),
      kinds(scalars.kinds(ops.atoms, axis)) {
  for (size_t i : ops.receivers)
    add(false, i);
  for (size_t i : ops.senders)
    add(true, i);
}

void LineUses::add(bool sends, size_t index) {
  const FabricOp &op = routine.ops[index];
  const program::Operand &operand = sends ? *op.out : *op.in;
  Listed its{index, nullptr, 0, 0};
  std::vector<int> conditions;
  auto bitOf = [&](int row) {
    const auto last = std::prev(ops.pinned.end());
    return uint64_t(1) << std::distance(ops.pinned.find(row), last);
  };
  for (int guard : op.guards)
    if (int row = scalars.pinnedRow(guard); row >= 0)
      its.heads |= bitOf(row);
    else if (int head = scalars.deniedHead(guard); head >= 0)
      its.denied |= bitOf(scalars.pinnedRow(head));
    else
      conditions.push_back(guard);
  SizeTables::Table &size = sizes.of(op, operand);
  std::vector<int64_t> signature;
  sign(conditions, op.turns, signature);
  sign(operand.color(), signature);
  for (const program::Affine *each : sizesOf(op, operand))
    sign(each, signature);
  signature.insert(signature.end(),
                   {operand.depth(), operand.window_total() != nullptr});
  auto [at, isNew] = rules.try_emplace(std::move(signature));
  Rule &rule = at->second;
  its.rule = &rule;
  listed[sends].push_back(its);
  if (!isNew)
    return;
  std::set<int> atoms;
  for (int condition : conditions)
    scalars.atoms(condition, atoms);
  scalars.atoms(op.turns, atoms);
  scalars.atoms(*operand.color(), atoms);
  rule.op = &op;
  rule.operand = &operand;
  rule.conditions = std::move(conditions);
  rule.when[0] = &scalars.kinds(atoms, Axis::X);
  rule.when[1] = &scalars.kinds(atoms, Axis::Y);
  rule.size = &size;
  rule.runs.assign(rule.when[0]->count() * rule.when[1]->count(), -1);
}

void LineUses::look(std::vector<int64_t> which) {
  lines = std::move(which);
  known.clear();
  for (auto &[signature, rule] : rules)
    rule.counts.clear();
}

bool LineUses::runsAt(Rule &rule, int64_t x, int64_t y) {
  signed char &here =
      rule.runs[rule.when[0]->of[size_t(x)] * rule.when[1]->count() +
                rule.when[1]->of[size_t(y)]];
  if (here < 0)
    here = runtime::runsAt(rule.conditions, rule.op->turns, scalars, x, y) &&
           scalars.value(*rule.operand->color(), x, y) == color;
  return here;
}

/// In each line what the PE at the position moves by the rule.
uint32_t LineUses::countsOf(Rule &rule, int64_t position) {
  const std::pair key(rule.when[axis == Axis::X ? 0 : 1]->of[size_t(position)],
                      rule.size->kinds(axis).of[size_t(position)]);
  const auto known = rule.counts.find(key);
  if (known != rule.counts.end())
    return known->second;
  Counts counts;
  for (int64_t line : lines) {
    const int64_t x = axis == Axis::X ? position : line;
    const int64_t y = axis == Axis::X ? line : position;
    within([&] { return "statement " + std::to_string(rule.op->statement); },
           [&] {
             counts.push_back(runsAt(rule, x, y) ? rule.size->at(x, y) : 0);
           });
  }
  steps += 2 * int64_t(lines.size());
  const bool moves = std::any_of(counts.begin(), counts.end(),
                                 [](int64_t words) { return words > 0; });
  const uint32_t number =
      moves ? pairs.numberOf(std::move(counts)) : WordPairs::none;
  rule.counts.emplace(key, number);
  return number;
}

uint32_t LineUses::usesAt(bool sends, uint64_t heads, int64_t position) {
  std::vector<uint32_t> &row = known[{sends, heads}];
  row.resize(kinds.count(), WordPairs::none);
  uint32_t &number = row[kinds.of[size_t(position)]];
  if (number != WordPairs::none)
    return number;
  Uses found;
  const Axis cross = axis == Axis::X ? Axis::Y : Axis::X;
  const bool hasCode =
      scalars.has(axis, position) && scalars.has(cross, lines.front());
  for (const Listed &its : listed[sends]) {
    ++steps;
    if (!hasCode || (its.heads & ~heads) || (its.denied & heads))
      continue;
    const uint32_t words = countsOf(*its.rule, position);
    if (words != WordPairs::none)
      found.push_back({its.op, words});
  }
  number = pairs.numberOf(std::move(found));
  return number;
}

} // namespace wsec::runtime
