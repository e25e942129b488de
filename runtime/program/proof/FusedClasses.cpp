// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/FusedClasses.h"
#include "runtime/program/Call.h"
#include "runtime/program/Intervals.h"
#include "runtime/program/NearestNames.h"
#include "runtime/program/check/ScalarChecker.h"
#include "runtime/program/proof/FabricUse.h"

#include <algorithm>
#include <limits>

namespace wsec::runtime {

namespace {

using program::ScalarOp;
using OwnedStatements = std::vector<std::unique_ptr<program::StatementT>>;

/// The scalars of all classes, one after the other, and where each class is.
class Scalars {
public:
  Scalars(program::PEClassT &into, const program::Machine &machine)
      : list(into.scalars), x{0, machine.width() - 1},
        y{0, machine.height() - 1},
        whole(0, machine.width(), 1, 0, machine.height(), 1) {}

  /// Whether a PE lies in one of the rectangles; -1: all do.
  int addMembership(const program::PEClass &peClass) {
    int member = -1;
    for (const program::Rect *rect : *peClass.rects()) {
      const int here = addRect(*rect);
      if (here < 0)
        return -1;
      member = member < 0 ? here : add(ScalarOp::Or, member, here);
    }
    return member;
  }

  /// Appends those of a class; returns their new numbers.
  std::vector<int> addScalars(const program::PEClass &peClass) {
    std::vector<int> numbers;
    if (peClass.scalars())
      for (const program::ScalarNode *node : *peClass.scalars())
        numbers.push_back(addNode(*node, numbers));
    return numbers;
  }

private:
  int add(ScalarOp op, int a = 0, int b = 0, int c = 0) {
    constexpr size_t most = std::numeric_limits<int16_t>::max();
    const program::ScalarNode node(op, a, b, c);
    const auto interval = nodeInterval(node, intervals, x, y);
    if (!interval || list.size() == most)
      throw NotUnderstood{"scalars that are too large, or too many, for PEs of "
                          "several classes"};
    intervals.push_back(*interval);
    list.push_back(node);
    return int(list.size()) - 1;
  }
  int constant(int value) { return add(ScalarOp::Constant, value); }

  /// Where a class's scalars are of no use, they must not fault.
  int addNode(const program::ScalarNode &node,
              const std::vector<int> &numbers) {
    const ScalarOp op = node.op();
    if (op == ScalarOp::Constant)
      return constant(node.a());
    const int32_t sources[] = {node.a(), node.b(), node.c()};
    int operands[3] = {};
    for (int i = 0; i < operandCount(op); ++i)
      operands[i] = numbers[size_t(sources[i])];
    if (op == ScalarOp::Div || op == ScalarOp::Mod) {
      if (intervals[size_t(operands[1])].low <= 0)
        operands[1] = add(ScalarOp::Add, operands[1],
                          add(ScalarOp::Equal, operands[1], constant(0)));
    } else if (op >= ScalarOp::TileStart && op <= ScalarOp::TileIndex) {
      if (intervals[size_t(operands[0])].low < 0)
        operands[0] = add(ScalarOp::Max, operands[0], constant(0));
      if (intervals[size_t(operands[1])].low < 1)
        operands[1] = add(ScalarOp::Max, operands[1], constant(1));
    }
    return add(op, operands[0], operands[1], operands[2]);
  }

  /// As few conditions as say it; -1: none.
  int addRect(const program::Rect &rect) {
    int all = -1;
    auto require = [&](int condition) {
      all = all < 0 ? condition : add(ScalarOp::And, all, condition);
    };
    auto along = [&](ScalarOp axis, int begin, int end, int step, int length) {
      if (begin == 0 && end >= length && step == 1)
        return;
      const int at = add(axis);
      if (begin > 0)
        require(add(ScalarOp::Less, constant(begin - 1), at));
      if (end < length)
        require(add(ScalarOp::Less, at, constant(end)));
      if (step > 1)
        require(add(ScalarOp::Equal,
                    add(ScalarOp::Mod, add(ScalarOp::Sub, at, constant(begin)),
                        constant(step)),
                    constant(0)));
    };
    along(ScalarOp::Px, rect.x0(), rect.x1(), rect.xstep(), whole.x1());
    along(ScalarOp::Py, rect.y0(), rect.y1(), rect.ystep(), whole.y1());
    return all;
  }

  std::vector<program::ScalarNode> &list;
  std::vector<Interval> intervals;
  const Interval x, y;
  const program::Rect whole;
};

/// Gives the scalars of a class their new numbers.
class Renumbering {
public:
  explicit Renumbering(std::vector<int> numbers)
      : numbers(std::move(numbers)) {}

  void apply(OwnedStatements &body) const {
    for (auto &statement : body)
      apply(*statement);
  }

private:
  void apply(program::StatementT &statement) const {
    if (auto *instruction = statement.kind.AsInstruction()) {
      guard(instruction->guard);
      for (auto &extent : instruction->extents)
        apply(extent);
      for (auto *operand :
           {&instruction->dst, &instruction->a, &instruction->b})
        if (*operand)
          apply(**operand);
    } else if (auto *loop = statement.kind.AsLoop()) {
      guard(loop->guard);
      apply(loop->count);
      apply(loop->body);
    } else if (auto *branch = statement.kind.AsIf()) {
      apply(branch->condition);
      apply(branch->then);
      apply(branch->otherwise);
    } else if (!statement.kind.AsAwait()) {
      drop(statement);
    }
  }
  /// Code that only computes; its locals are no scalars.
  static void drop(program::StatementT &statement) {
    switch (statement.kind.type) {
    case program::StatementKind::SetTask:
    case program::StatementKind::SendControl:
    case program::StatementKind::SetRoute:
      throw NotUnderstood{"tasks, control wavelets, or routes set by code, in "
                          "one of several classes"};
    case program::StatementKind::Break:
      throw NotUnderstood{"loops that end early"};
    default:
      statement.kind.Set(program::AwaitT()); // of nothing
    }
  }
  void apply(program::OperandT &operand) const {
    for (auto *affine :
         {&operand.offset, &operand.color, &operand.window_offset,
          &operand.window_total, &operand.index})
      apply(*affine);
  }
  void apply(std::unique_ptr<program::AffineT> &affine) const {
    if (!affine)
      return;
    std::vector<program::Term> terms;
    for (const program::Term &term : affine->terms)
      terms.push_back(term.kind() == program::TermKind::Scalar
                          ? program::Term(term.kind(),
                                          uint16_t(numbers[term.index()]),
                                          term.scale())
                          : term);
    affine->terms = std::move(terms);
  }
  void guard(int16_t &guard) const {
    if (guard >= 0)
      guard = int16_t(numbers[size_t(guard)]);
  }

  const std::vector<int> numbers;
};

/// A branch that PEs where `member` is not zero take; -1: all do.
void append(OwnedStatements &into, OwnedStatements body, int member) {
  if (member < 0) {
    std::move(body.begin(), body.end(), std::back_inserter(into));
    return;
  }
  program::IfT branch;
  branch.condition = std::make_unique<program::AffineT>();
  branch.condition->terms = {{program::TermKind::Scalar, uint16_t(member), 1}};
  branch.then = std::move(body);
  into.push_back(std::make_unique<program::StatementT>());
  into.back()->kind.Set(std::move(branch));
}

void requireFusable(const program::PEClass &peClass) {
  const std::string of = " (class " + inQuotes(peClass.name()->str()) + ")";
  if (peClass.tasks() && peClass.tasks()->size() > 0)
    throw NotUnderstood{"tasks, whose order may depend on time" + of};
  if (peClass.filters() && peClass.filters()->size() > 0)
    throw NotUnderstood{"filters, which may depend on data" + of};
  constexpr unsigned mostRects = 64;
  if (peClass.rects()->size() > mostRects)
    throw NotUnderstood{"classes of more than " + std::to_string(mostRects) +
                        " rectangles" + of};
}

} // namespace

/// Routes, streams, launches and machine of a program.
static program::ProgramT withoutClasses(const program::Program &program) {
  program::ProgramT rest;
  rest.launch_color = program.launch_color();
  rest.machine.reset(program.machine()->UnPack());
  for (const program::RouteRule *rule : *program.routes())
    rest.routes.emplace_back(rule->UnPack());
  rest.entries.emplace_back(onlyEntry(program).UnPack());
  if (program.streams())
    for (const program::HostStream *stream : *program.streams())
      rest.streams.emplace_back(stream->UnPack());
  return rest;
}

ClassAlone::ClassAlone(const program::Program &program,
                       const program::PEClass &peClass) {
  program::ProgramT alone = withoutClasses(program);
  alone.classes.emplace_back(peClass.UnPack());
  builder.Finish(program::Program::Pack(builder, &alone),
                 program::ProgramIdentifier());
}

FusedClasses::FusedClasses(const program::Program &program) {
  program::ProgramT fused = withoutClasses(program);
  auto all = std::make_unique<program::PEClassT>();
  all->name = "all";
  const program::Machine &machine = *program.machine();
  all->rects = {{0, machine.width(), 1, 0, machine.height(), 1}};
  Scalars scalars(*all, machine);
  std::map<uint32_t, OwnedStatements> routines;
  std::map<uint32_t, uint16_t> arguments;
  for (const program::PEClass *peClass : *program.classes()) {
    requireFusable(*peClass);
    const int member = scalars.addMembership(*peClass);
    const Renumbering renumbering(scalars.addScalars(*peClass));
    if (!peClass->routines())
      continue;
    for (const program::Routine *routine : *peClass->routines()) {
      std::unique_ptr<program::RoutineT> copy(routine->UnPack());
      renumbering.apply(copy->body);
      arguments[routine->id()] = routine->arguments();
      append(routines[routine->id()], std::move(copy->body), member);
    }
  }
  for (auto &[id, body] : routines) {
    auto routine = std::make_unique<program::RoutineT>();
    routine->id = id;
    routine->arguments = arguments[id];
    routine->body = std::move(body);
    all->routines.push_back(std::move(routine));
  }
  fused.classes.push_back(std::move(all));
  builder.Finish(program::Program::Pack(builder, &fused),
                 program::ProgramIdentifier());
}

} // namespace wsec::runtime
