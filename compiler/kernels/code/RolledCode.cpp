// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/code/RolledCode.h"

#include "runtime/program/Checker.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/OwningOpRef.h"

#include <deque>

using namespace mlir;
using namespace wsec;

/// A scalar of the class, or an argument of the routine.
static bool isFixedInRoutine(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return pe::isClassScalar(value) ||
         (argument && isa<pe::RoutineOp>(argument.getOwner()->getParentOp()));
}

namespace {

/// `count` times the statements of a block from number `first` on, `length` of
/// them each time.
struct Repeat {
  size_t first = 0, length = 0, count = 0;
};

/// A statement of a repeat: in each turn, and its numbers.
struct Turns {
  std::vector<Statement> statements;
  std::vector<Numbers> numbers; // by slot
  bool varies = false;          ///< in two turns, beside numbers
};

class Roller {
public:
  explicit Roller(Places &places) : places(places) {}

  void roll(Block &block, size_t depth);

private:
  size_t shapeOf(Operation &op);
  std::optional<std::vector<Turns>> turnsOf(ArrayRef<Operation *> ops,
                                            Repeat its);
  std::optional<Turns> turnsOf(std::vector<Statement> statements);
  int64_t gain(ArrayRef<Operation *> ops, Repeat its);
  std::optional<Repeat> best(ArrayRef<Operation *> ops);
  void write(ArrayRef<Operation *> ops, Repeat its);

  Places &places;
  std::deque<OwningOpRef<Operation *>> kept;
};

} // namespace

/// The number of its shape; of what computes one that nothing else has.
size_t Roller::shapeOf(Operation &op) {
  bool computes = false;
  op.walk([&](Operation *inner) {
    computes |= inner->getNumResults() > 0 ||
                !isa<pe::VectorOp, pe::ForOp, pe::StoreOp, pe::AwaitOp>(inner);
  });
  OwningOpRef<Operation *> shape(op.clone());
  shape->walk([&](Operation *inner) {
    places.makeShape(inner, Carried::Numbers, isFixedInRoutine);
  });
  if (!computes)
    for (auto [number, known] : llvm::enumerate(kept))
      if (OperationEquivalence::isEquivalentTo(
              known.get(), shape.get(), OperationEquivalence::exactValueMatch,
              nullptr, OperationEquivalence::IgnoreLocations))
        return number;
  kept.push_back(std::move(shape));
  return kept.size() - 1;
}

/// Nothing where they can't be one: numbers go up by one step from turn to
/// turn, and of loops are the same, as a proof has to know.
std::optional<Turns> Roller::turnsOf(std::vector<Statement> statements) {
  Turns turns{std::move(statements), {}};
  const std::vector<Statement> &all = turns.statements;
  for (const Statement &each : all)
    if (each.variant(isFixedInRoutine) != all[0].variant(isFixedInRoutine)) {
      turns.varies = true;
      if (all.size() > 2)
        return std::nullopt;
    }
  for (size_t s = 0; s < all[0].slots.size(); ++s) {
    std::optional<Numbers> numbers = places.numbers(llvm::map_to_vector(
        all, [&](const Statement &each) { return &each.slots[s]; }));
    if (!numbers)
      return std::nullopt;
    const std::vector<int64_t> &values = numbers->values;
    const int64_t step = values[1] - values[0];
    for (size_t turn = 1; turn < values.size(); ++turn)
      if (values[turn] - values[turn - 1] != step)
        return std::nullopt;
    if (step != 0 && !mayVary(all[0].op))
      return std::nullopt;
    turns.numbers.push_back(std::move(*numbers));
  }
  return turns;
}

std::optional<std::vector<Turns>> Roller::turnsOf(ArrayRef<Operation *> ops,
                                                  Repeat its) {
  std::vector<Turns> all;
  for (size_t i = 0; i < its.length; ++i) {
    std::vector<std::vector<Statement>> inTurn;
    for (size_t turn = 0; turn < its.count; ++turn)
      inTurn.push_back(statementsOf(ops[its.first + turn * its.length + i]));
    for (size_t j = 0; j < inTurn[0].size(); ++j) {
      std::vector<Statement> statements;
      for (const std::vector<Statement> &list : inTurn)
        statements.push_back(list[j]);
      std::optional<Turns> turns = turnsOf(std::move(statements));
      if (!turns)
        return std::nullopt;
      all.push_back(std::move(*turns));
    }
  }
  return all;
}

/// Words of code that a loop saves; 0: it cannot be one.
int64_t Roller::gain(ArrayRef<Operation *> ops, Repeat its) {
  const std::optional<std::vector<Turns>> all = turnsOf(ops, its);
  if (!all)
    return 0;
  int64_t words = -3; // of the loop
  for (const Turns &turns : *all) {
    const int64_t each = pe::codeWords(turns.statements[0].op);
    words += int64_t(its.count - 1) * each;
    if (turns.varies)
      words -= each + 2; // behind a branch
  }
  return words;
}

std::optional<Repeat> Roller::best(ArrayRef<Operation *> ops) {
  auto shapes =
      llvm::map_to_vector(ops, [&](Operation *op) { return shapeOf(*op); });
  Repeat best;
  int64_t most = 0;
  for (size_t length = 1; 2 * length <= ops.size(); ++length) {
    size_t alike = 0; // as many before `end` are as those `length` before them
    for (size_t end = length; end < ops.size(); ++end) {
      alike = shapes[end] == shapes[end - length] ? alike + 1 : 0;
      const size_t mostTurns = alike / length + 1;
      for (size_t count = 2; count <= mostTurns; ++count) {
        const Repeat its{end + 1 - count * length, length, count};
        const int64_t words = gain(ops, its);
        if (words > most) {
          most = words;
          best = its;
        }
      }
    }
  }
  if (most == 0)
    return std::nullopt;
  return best;
}

void Roller::write(ArrayRef<Operation *> ops, Repeat its) {
  const std::vector<Turns> all = *turnsOf(ops, its);
  OpBuilder builder(ops[its.first]);
  auto loop = pe::ForOp::create(builder, ops[its.first]->getLoc(),
                                pe::Affine(int64_t(its.count)));
  Block &body = loop.getBody().front();
  for (size_t i = 0; i < its.length; ++i)
    ops[its.first + i]->moveBefore(&body, body.end());
  for (const Turns &turns : all) {
    const Statement &first = turns.statements[0];
    auto writeSlots = [&](Operation *op) {
      size_t s = 0;
      visitSlots(op, [&](Slot &slot) {
        const Slot &kept = first.slots[s];
        const Numbers &numbers = turns.numbers[s++];
        auto varies = [](const auto &term) {
          return !isFixedInRoutine(term.first);
        };
        llvm::erase_if(slot.value.terms, varies);
        llvm::copy_if(kept.value.terms, std::back_inserter(slot.value.terms),
                      varies);
        if (slot.isColor)
          return;
        slot.value.constant = numbers.values[0];
        if (const int64_t step = numbers.values[1] - numbers.values[0])
          slot.value.terms.emplace_back(loop.getVariable(), step);
        if (numbers.type)
          slot.buffer = places.around(kept.buffer, numbers);
      });
    };
    if (turns.varies) {
      OpBuilder at(first.op);
      pe::AffineEncoder encoder(at.getContext());
      const pe::AffineAttr condition =
          encoder.encode(pe::Affine(loop.getVariable()));
      auto branch = pe::IfOp::create(at, first.op->getLoc(),
                                     encoder.getValues(), condition);
      at.setInsertionPointToStart(&branch.getThen().emplaceBlock());
      writeSlots(at.clone(*turns.statements[1].op));
      first.op->moveBefore(&branch.getOtherwise().emplaceBlock(),
                           branch.getOtherwise().front().end());
    }
    writeSlots(first.op);
  }
  for (size_t i = its.length; i < its.count * its.length; ++i)
    ops[its.first + i]->erase();
}

/// Most loops of a block in one another.
static size_t loopDepthOf(Block &block) {
  size_t most = 0;
  for (Operation &op : block)
    for (Region &region : op.getRegions())
      for (Block &inner : region)
        most = std::max(most, isa<pe::ForOp>(op) + loopDepthOf(inner));
  return most;
}

/// Of loops in it first.
void Roller::roll(Block &block, size_t depth) {
  for (Operation &op : block)
    if (auto loop = dyn_cast<pe::ForOp>(op))
      roll(loop.getBody().front(), depth + 1);
  while (depth + loopDepthOf(block) + 1 < runtime::largestLoopDepth) {
    const SmallVector<Operation *> ops = llvm::map_to_vector(
        block, [](Operation &op) -> Operation * { return &op; });
    const std::optional<Repeat> its = best(ops);
    if (!its)
      return;
    write(ops, *its);
  }
}

void wsec::rollRepeats(wse::ProgramOp source, ClassBuilder &its) {
  Places places(source, its);
  for (auto routine : its.peClass.getOps<pe::RoutineOp>())
    Roller(places).roll(routine.getBody().front(), 0);
}
