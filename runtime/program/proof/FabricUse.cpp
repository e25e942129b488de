// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/program/proof/FabricUse.h"

#include "runtime/program/check/ScalarChecker.h"

#include <algorithm>
#include <optional>

namespace wsec::runtime {

using program::OperandKind;

static void signEvent(const FabricRoutine &routine, const FabricEvent &event,
                      std::vector<int64_t> &signature);

namespace {

/// Unrolled ops of a routine; more are not worth the time.
constexpr size_t mostOps = 1 << 16;

/// Walks the statements of a routine in program order, turn after turn.
class Reader {
public:
  Reader(const AxisScalars &scalars, bool everything)
      : scalars(scalars), everything(everything) {}

  FabricRoutine result;

  /// `first` is the number of the first statement; returns the next one's.
  size_t read(const StatementList &body, size_t first) {
    for (const program::Statement *statement : body) {
      ++scalars.steps;
      size_t number = first++;
      if (const auto *instruction = statement->kind_as_Instruction())
        readInstruction(*instruction, number);
      else if (const auto *loop = statement->kind_as_Loop())
        first = readLoop(*loop, first);
      else if (const auto *await = statement->kind_as_Await())
        readAwait(*await);
      else if (const auto *set = statement->kind_as_SetTask();
               set && everything)
        note({0, 0, turns, guards, set});
      else if (const auto *control = statement->kind_as_SendControl();
               control && everything)
        readControl(*control, number);
      else if (const auto *branch = statement->kind_as_If())
        first = readBranch(*branch, first);
      else
        refuse(*statement);
      if (result.events.size() > mostOps)
        throw NotUnderstood{"loops too long to unroll"};
    }
    return first;
  }

private:
  /// Code that computes changes no order; what depends on it is refused where
  /// it is used.
  static void refuse(const program::Statement &statement) {
    if (statement.kind_as_SetTask())
      throw NotUnderstood{"tasks, whose order may depend on time"};
    if (statement.kind_as_SendControl())
      throw NotUnderstood{"control wavelets"};
    if (statement.kind_as_SetRoute())
      throw NotUnderstood{"routes that are set by code"};
    if (statement.kind_as_Break())
      throw NotUnderstood{"loops that end early"};
  }

  void readAwait(const program::Await &await) {
    if (await.threads() != 0)
      note({0, await.threads(), turns, guards, nullptr});
  }

  void readControl(const program::SendControl &control, size_t statement) {
    if (control.thread() >= 0)
      throw NotUnderstood{"control wavelets that microthreads send"};
    FabricOp op;
    op.statement = statement;
    op.turns = turns;
    op.guards = guards;
    op.control = &control;
    note({result.ops.size()});
    result.ops.push_back(std::move(op));
  }

  void note(FabricEvent event) {
    result.events.push_back(std::move(event));
    ++noted;
  }

  size_t readLoop(const program::Loop &loop, size_t first) {
    size_t guardsBefore = guards.size(), eventsBefore = result.events.size();
    const uint64_t notedBefore = noted;
    if (loop.guard() >= 0)
      scalars.appendConditions(loop.guard(), guards);
    turns.push_back({loop.count(), 0});
    // Once at least, to number what follows.
    size_t next = read(*loop.body(), first);
    // What the first turn does not do a later one may.
    bool empty = noted == notedBefore;
    int64_t most = empty ? 0 : mostTurns(*loop.count());
    if (most < 1)
      forget(eventsBefore);
    for (int64_t turn = 1; turn < most && !empty; ++turn) {
      turns.back().turn = turn;
      read(*loop.body(), first);
    }
    turns.pop_back();
    guards.resize(guardsBefore);
    return next;
  }

  size_t readBranch(const program::If &branch, size_t first) {
    const auto terms = termsOf(*branch.condition());
    if (std::any_of(terms.begin(), terms.end(), [](const auto *term) {
          return term->kind() == program::TermKind::Local;
        }))
      return readEither(branch, first);
    if (const std::optional<int64_t> value = inTurn(*branch.condition()))
      return readArm(branch, *value != 0, first);
    if (const StatementList *body = branch.then()) {
      const size_t guardsBefore = guards.size();
      const int guard = guardOf(*branch.condition());
      if (guard >= 0)
        scalars.appendConditions(guard, guards);
      else
        turns.arms.push_back({branch.condition(), true});
      first = read(*body, first);
      guards.resize(guardsBefore);
      if (guard < 0)
        turns.arms.pop_back();
    }
    if (const StatementList *body = branch.otherwise()) {
      turns.arms.push_back({branch.condition(), false});
      first = read(*body, first);
      turns.arms.pop_back();
    }
    return first;
  }

  /// The value of a function of loops alone, in the turn that is read.
  std::optional<int64_t> inTurn(const program::Affine &function) const {
    int64_t value = function.constant();
    for (const program::Term *term : termsOf(function)) {
      if (term->kind() != program::TermKind::Loop)
        return std::nullopt;
      value += int64_t(term->scale()) * turns[term->index()].turn;
    }
    return value;
  }

  /// The other one is read for the numbers of its statements alone.
  size_t readArm(const program::If &branch, bool then, size_t first) {
    for (const bool isThen : {true, false}) {
      const size_t before = result.events.size();
      if (const StatementList *body =
              isThen ? branch.then() : branch.otherwise())
        first = read(*body, first);
      if (isThen != then)
        forget(before);
    }
    return first;
  }

  /// Which arm is taken is not known. It does not matter if both do the same to
  /// the fabric, such as nothing.
  size_t readEither(const program::If &branch, size_t first) {
    const size_t before = result.events.size();
    if (branch.then())
      first = read(*branch.then(), first);
    const size_t then = result.events.size();
    if (branch.otherwise())
      first = read(*branch.otherwise(), first);
    if (signatureFrom(before, then) !=
        signatureFrom(then, result.events.size()))
      throw NotUnderstood{"branches, which may depend on data"};
    forget(then);
    return first;
  }
  std::vector<int64_t> signatureFrom(size_t event, size_t end) const {
    std::vector<int64_t> signature;
    for (; event < end; ++event) {
      const FabricEvent &its = result.events[event];
      const program::Instruction *instruction =
          its.set || its.awaits ? nullptr : result.ops[its.op].instruction;
      if (!its.awaits &&
          (!instruction || instruction->activate() >= 0 ||
           instruction->unblock() >= 0 || instruction->advance_switch()))
        throw NotUnderstood{"branches, which may depend on data"};
      signEvent(result, its, signature);
    }
    return signature;
  }

  /// The scalar that a condition is; -1: it is another function.
  static int guardOf(const program::Affine &condition) {
    const std::vector<const program::Term *> terms = termsOf(condition);
    const bool isScalar = condition.constant() == 0 && terms.size() == 1 &&
                          terms[0]->kind() == program::TermKind::Scalar &&
                          terms[0]->scale() == 1;
    return isScalar ? terms[0]->index() : -1;
  }

  void forget(size_t events) {
    while (result.events.size() > events) {
      if (!result.events.back().awaits && !result.events.back().set)
        result.ops.pop_back();
      result.events.pop_back();
    }
  }

  int64_t mostTurns(const program::Affine &count) {
    for (const auto *term : termsOf(count))
      if (term->kind() != program::TermKind::Scalar)
        throw NotUnderstood{"a loop whose count changes"};
    const std::set<int64_t> &counts = scalars.values(count);
    return counts.empty() ? 0 : *counts.rbegin();
  }
  static std::vector<const program::Term *>
  termsOf(const program::Affine &affine) {
    std::vector<const program::Term *> terms;
    if (affine.terms())
      terms.assign(affine.terms()->begin(), affine.terms()->end());
    return terms;
  }

  void readInstruction(const program::Instruction &instruction,
                       size_t statement) {
    const bool acts = instruction.activate() >= 0 || instruction.unblock() >= 0;
    if (((acts || instruction.advance_switch()) && !everything) ||
        instruction.on_control() != program::OnControl::Task)
      throw NotUnderstood{"instructions that act on tasks or switches"};
    FabricOp op;
    op.statement = statement;
    op.turns = turns;
    op.instruction = &instruction;
    op.guards = guards;
    auto fabric = [](const program::Operand *operand) {
      return operand && operand->kind() == OperandKind::Fabric;
    };
    if (fabric(instruction.a()) && fabric(instruction.b()))
      throw NotUnderstood{"two fabric sources in one instruction"};
    if (fabric(instruction.a()) || fabric(instruction.b()))
      op.in = fabric(instruction.a()) ? instruction.a() : instruction.b();
    if (fabric(instruction.dst()))
      op.out = instruction.dst();
    for (const program::Operand *operand : {op.in, op.out})
      if (operand && operand->packing() != program::Packing::Single &&
          !everything)
        throw NotUnderstood{"wavelets of two elements"};
    if (instruction.guard() >= 0)
      scalars.appendConditions(instruction.guard(), op.guards);
    if (!op.in && !op.out && !acts) {
      // It may have to wait until the thread is free.
      if (instruction.thread() >= 0)
        note({0, 1u << instruction.thread(), turns, op.guards, nullptr});
      return;
    }
    if (op.in && !everything)
      op.inColors = scalars.values(*op.in->color());
    if (op.out && !everything)
      op.outColors = scalars.values(*op.out->color());
    note({result.ops.size()});
    result.ops.push_back(std::move(op));
  }

  const AxisScalars &scalars;
  const bool everything;
  LoopTurns turns;
  std::vector<int> guards;
  uint64_t noted = 0; ///< events, with those that were forgotten
};

} // namespace

bool FabricOp::oneForOne() const {
  if (!in || !out)
    return false;
  return in->depth() == out->depth() && !in->window_total();
}

FabricRoutine readRoutine(const StatementList &body, uint32_t id,
                          const AxisScalars &scalars, bool everything) {
  Reader reader(scalars, everything);
  reader.result.id = id;
  reader.read(body, 0);
  return std::move(reader.result);
}

FabricRoutine readLaunches(const std::vector<const StatementList *> &bodies,
                           const AxisScalars &scalars) {
  Reader reader(scalars, /*everything=*/false);
  size_t statements = 0;
  for (const StatementList *body : bodies) {
    reader.result.launches.push_back(reader.result.events.size());
    if (body)
      statements = reader.read(*body, statements);
  }
  return std::move(reader.result);
}

void sign(const program::Affine *affine, std::vector<int64_t> &signature) {
  signature.push_back(affine && affine->terms() ? affine->terms()->size() : 0);
  signature.push_back(affine ? affine->constant() : 0);
  if (!affine || !affine->terms())
    return;
  for (const program::Term *term : *affine->terms())
    for (int64_t value : {int64_t(term->kind()), int64_t(term->index()),
                          int64_t(term->scale())})
      signature.push_back(value);
}

static void sign(const program::Operand *operand,
                 std::vector<int64_t> &signature) {
  signature.push_back(operand != nullptr);
  if (!operand)
    return;
  signature.push_back(operand->depth());
  signature.push_back(int64_t(operand->packing()));
  signature.push_back(operand->window_total() != nullptr);
  sign(operand->color(), signature);
  sign(operand->window_offset(), signature);
  sign(operand->window_total(), signature);
}

void sign(const std::vector<int> &guards, const LoopTurns &turns,
          std::vector<int64_t> &signature) {
  signature.push_back(int64_t(guards.size()));
  signature.insert(signature.end(), guards.begin(), guards.end());
  signature.push_back(int64_t(turns.size()));
  for (const LoopTurn &loop : turns) {
    sign(loop.count, signature);
    signature.push_back(loop.turn);
  }
  signature.push_back(int64_t(turns.arms.size()));
  for (const BranchArm &arm : turns.arms) {
    signature.push_back(arm.then);
    sign(arm.condition, signature);
  }
}

static void signEvent(const FabricRoutine &routine, const FabricEvent &event,
                      std::vector<int64_t> &signature) {
  signature.push_back(event.awaits);
  if (event.awaits)
    return sign(event.guards, event.turns, signature);
  const FabricOp &op = routine.ops[event.op];
  sign(op.guards, op.turns, signature);
  signature.push_back(op.thread());
  sign(op.in, signature);
  sign(op.out, signature);
  signature.push_back(op.instruction->extents()->size());
  for (const program::Affine *extent : *op.instruction->extents())
    sign(extent, signature);
}

std::vector<int64_t> signatureOf(const FabricRoutine &routine) {
  std::vector<int64_t> signature;
  for (const FabricEvent &event : routine.events)
    signEvent(routine, event, signature);
  return signature;
}

bool runsAt(const std::vector<int> &guards, const LoopTurns &turns,
            const AxisScalars &scalars, int64_t x, int64_t y) {
  return std::all_of(
             guards.begin(), guards.end(),
             [&](int guard) { return scalars.value(guard, x, y) != 0; }) &&
         std::all_of(turns.begin(), turns.end(),
                     [&](const LoopTurn &loop) {
                       return loop.turn < scalars.value(*loop.count, x, y);
                     }) &&
         std::all_of(
             turns.arms.begin(), turns.arms.end(), [&](const BranchArm &arm) {
               return (scalars.value(*arm.condition, x, y, turns) != 0) ==
                      arm.then;
             });
}

int64_t countable(int64_t a, int64_t b) {
  constexpr int64_t most = int64_t(1) << 40;
  int64_t words;
  if (__builtin_mul_overflow(a, b, &words) || words > most)
    throw NotUnderstood{"instructions of more than 2^40 words"};
  return words;
}

int64_t wordsOf(const FabricOp &op, const program::Operand &operand,
                const AxisScalars &scalars, int64_t x, int64_t y) {
  const auto &extents = *op.instruction->extents();
  auto extent = [&](unsigned i) {
    return std::max<int64_t>(0, scalars.value(*extents[i], x, y, op.turns));
  };
  auto product = [&](unsigned first, unsigned end) {
    int64_t words = 1;
    for (unsigned i = first; i < end && i < extents.size(); ++i)
      words = countable(words, extent(i));
    return words;
  };
  const int64_t outer = product(0, operand.depth());
  const int64_t all =
      countable(outer, product(operand.depth(), extents.size()));
  if (!operand.window_total()) {
    if (all == 0 && outer > 0)
      throw NotUnderstood{"words that no element uses"};
    return outer;
  }
  if (all == 0 && outer > 0)
    throw NotUnderstood{"a window that no element uses"};
  int64_t total = scalars.value(*operand.window_total(), x, y, op.turns);
  return extents.size() == 1 ? total : countable(extent(0), total);
}

std::vector<const program::Affine *> sizesOf(const FabricOp &op,
                                             const program::Operand &operand) {
  if (op.control)
    return {};
  std::vector<const program::Affine *> result(
      op.instruction->extents()->begin(), op.instruction->extents()->end());
  if (operand.window_total())
    result.push_back(operand.window_total());
  return result;
}

} // namespace wsec::runtime
