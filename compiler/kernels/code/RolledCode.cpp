// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/code/RolledCode.h"

#include "runtime/program/Checker.h"

#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/OwningOpRef.h"

#include <deque>
#include <set>

using namespace mlir;
using namespace wsec;

/// A scalar of the class, or an argument of the routine.
static bool isFixedInRoutine(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return pe::isClassScalar(value) ||
         (argument && isa<pe::RoutineOp>(argument.getOwner()->getParentOp()));
}

//===----------------------------------------------------------------------===//
// Awaits
//===----------------------------------------------------------------------===//

namespace {

/// Where code may wait for microthreads: before a statement, or at the end of a
/// block.
struct AwaitPlace {
  Block *block;
  Operation *before; ///< null: at the end

  llvm::SmallVector<pe::AwaitOp, 1> awaits() const {
    llvm::SmallVector<pe::AwaitOp, 1> found;
    Operation *op = before           ? before->getPrevNode()
                    : block->empty() ? nullptr
                                     : &block->back();
    for (; isa_and_nonnull<pe::AwaitOp>(op); op = op->getPrevNode())
      found.push_back(cast<pe::AwaitOp>(op));
    return found;
  }
  std::set<int64_t> threads() const {
    std::set<int64_t> threads;
    for (pe::AwaitOp await : awaits())
      threads.insert(await.getThreads().begin(), await.getThreads().end());
    return threads;
  }
  int64_t words() const {
    int64_t words = 0;
    for (pe::AwaitOp await : awaits())
      words += pe::codeWords(await);
    return words;
  }
  void erase() const {
    for (pe::AwaitOp await : awaits())
      await.erase();
  }
  /// Puts an await where there were none.
  void set(const std::set<int64_t> &threads) const {
    if (threads.empty())
      return;
    OpBuilder builder =
        before ? OpBuilder(before) : OpBuilder::atBlockEnd(block);
    pe::AwaitOp::create(builder, block->getParentOp()->getLoc(),
                        llvm::to_vector(threads));
  }
};

} // namespace

/// Adds the places of a statement: before it, and in what is inside.
static void appendPlaces(Operation *op, SmallVector<AwaitPlace> &places) {
  places.push_back({op->getBlock(), op});
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      for (Operation &inner : block)
        if (!isa<pe::AwaitOp>(inner))
          appendPlaces(&inner, places);
      places.push_back({&block, nullptr});
    }
}

//===----------------------------------------------------------------------===//
// Repeats
//===----------------------------------------------------------------------===//

namespace {

/// A statement of a block with what is inside, and awaits before it.
struct Line {
  Operation *op;
  size_t shape; ///< equal where lines are equal but for numbers and awaits
  std::vector<Statement> statements;
  llvm::SmallVector<AwaitPlace> places;
  int64_t words = 0;  ///< of code
  int64_t awaits = 0; ///< words of these, too
  double control = 0; ///< cycles in which no element is computed, at least
};

/// `count` times the lines of a block from number `first` on, `length` of them
/// each time.
struct Repeat {
  size_t first = 0, length = 0, count = 0;
};

/// A statement of a repeat: in each turn, and its numbers.
struct Turns {
  std::vector<const Statement *> statements;
  std::vector<Numbers> numbers; // by slot
  /// Turns whose statement differs from that of the others beside numbers.
  llvm::SmallVector<size_t, 2> odd = {};
  size_t usual = 0; ///< the first of the others

  int64_t step(size_t slot) const {
    const std::vector<int64_t> &values = numbers[slot].values;
    return statements[0]->slots[slot].isColor ? 0 : values[1] - values[0];
  }
  bool differsAs(const Turns &other) const {
    return !odd.empty() && odd == other.odd && usual == other.usual;
  }
};

/// Rolls the repeats of a block.
class Roller {
public:
  Roller(Places &places, const Machine &machine, Block &block);

  /// `depth`: of the loops around the block.
  void roll(size_t depth);

private:
  Line lineOf(Operation *op);
  size_t shapeOf(Operation *op);
  double controlOf(Operation *op) const;
  std::optional<std::vector<Turns>> turnsOf(Repeat its) const;
  std::optional<Turns> turnsOf(std::vector<const Statement *> statements) const;
  std::vector<std::set<int64_t>> awaitsOf(Repeat its, size_t line) const;
  /// Words and cycles of a loop.
  struct Share {
    int64_t words = 0;
    double cycles = 0;
  };
  int64_t awaitWords(Repeat its) const;
  Share beside(Repeat its, ArrayRef<Turns> all) const;
  double gain(Repeat its, double most, double price) const;
  std::optional<Repeat> best(double price) const;
  void write(Repeat its, size_t depth);
  void writeNumbers(Operation *op, const Turns &turns, Value turn);
  void writeStatements(ArrayRef<Turns> all, Value turn);

  Places &places;
  const Machine &machine;
  Block &block;
  std::deque<OwningOpRef<Operation *>> shapes;
  std::vector<Line> lines;
};

} // namespace

Roller::Roller(Places &places, const Machine &machine, Block &block)
    : places(places), machine(machine), block(block) {
  for (Operation &op : block)
    if (!isa<pe::AwaitOp>(op))
      lines.push_back(lineOf(&op));
}

Line Roller::lineOf(Operation *op) {
  Line line{op, shapeOf(op), statementsOf(op), {}};
  llvm::erase_if(line.statements, [](const Statement &each) {
    return isa<pe::AwaitOp>(each.op);
  });
  appendPlaces(op, line.places);
  for (const AwaitPlace &place : line.places)
    line.awaits += place.words();
  for (const Statement &each : line.statements)
    line.words += pe::codeWords(each.op);
  line.control = controlOf(op);
  return line;
}

/// The number of its shape; of what computes one that nothing else has.
size_t Roller::shapeOf(Operation *op) {
  bool computes = false;
  op->walk([&](Operation *inner) {
    computes |=
        inner->getNumResults() > 0 ||
        !isa<pe::VectorOp, pe::ForOp, pe::IfOp, pe::StoreOp, pe::AwaitOp>(
            inner);
  });
  OwningOpRef<Operation *> shape(op->clone());
  shape->walk([&](pe::AwaitOp await) { await.erase(); });
  shape->walk([&](Operation *inner) {
    places.makeShape(inner, Carried::Numbers, isFixedInRoutine);
  });
  if (!computes)
    for (auto [number, known] : llvm::enumerate(shapes))
      if (OperationEquivalence::isEquivalentTo(
              known.get(), shape.get(), OperationEquivalence::IgnoreLocations))
        return number;
  shapes.push_back(std::move(shape));
  return shapes.size() - 1;
}

/// Turns of a loop, where these are one number.
static double countOf(Operation *op) {
  auto loop = dyn_cast<pe::ForOp>(op);
  if (!loop)
    return 1;
  const pe::Affine count = pe::decode(loop.getCount(), loop.getValues());
  return count.terms.empty() ? double(count.constant) : 1;
}

/// How often a statement runs each time that `line` does.
static double runsIn(Operation *line, Operation *op) {
  double runs = 1;
  for (; op != line; op = op->getParentOp())
    runs *= countOf(op->getParentOp());
  return runs;
}

double Roller::controlOf(Operation *line) const {
  double cycles = 0;
  line->walk([&](Operation *op) {
    double each = isa<pe::ForOp>(op) ? countOf(op) * machine.loopOverhead : 0;
    if (auto vector = dyn_cast<pe::VectorOp>(op)) {
      each = machine.vectorSetup;
      if (vector.getGuard())
        each += machine.loadCycles + machine.branchNotTaken;
    }
    cycles += runsIn(line, op) * each;
  });
  return cycles;
}

/// Nothing where they can't be one: numbers go up by one step from turn to
/// turn, and of loops are the same, as a proof has to know; and all but some
/// that are on their own are equal beside.
std::optional<Turns>
Roller::turnsOf(std::vector<const Statement *> statements) const {
  Turns turns{std::move(statements), {}};
  const std::vector<const Statement *> &all = turns.statements;
  auto variants = llvm::map_to_vector(all, [&](const Statement *each) {
    return each->variant(isFixedInRoutine);
  });
  auto isAlone = [&](size_t turn) {
    return llvm::count(variants, variants[turn]) == 1;
  };
  while (turns.usual + 1 < all.size() && isAlone(turns.usual))
    ++turns.usual;
  for (size_t turn = 0; turn < all.size(); ++turn)
    if (variants[turn] != variants[turns.usual]) {
      if (!isAlone(turn))
        return std::nullopt;
      turns.odd.push_back(turn);
    }
  for (size_t s = 0; s < all[0]->slots.size(); ++s) {
    std::optional<Numbers> numbers = places.numbers(llvm::map_to_vector(
        all, [&](const Statement *each) { return &each->slots[s]; }));
    if (!numbers)
      return std::nullopt;
    const std::vector<int64_t> &values = numbers->values;
    for (size_t turn = 1; turn < values.size(); ++turn)
      if (!all[0]->slots[s].isColor && // which are told apart above
          values[turn] - values[turn - 1] != values[1] - values[0])
        return std::nullopt;
    turns.numbers.push_back(std::move(*numbers));
    if (turns.step(s) != 0 && !mayVary(all[0]->op))
      return std::nullopt;
  }
  return turns;
}

std::optional<std::vector<Turns>> Roller::turnsOf(Repeat its) const {
  std::vector<Turns> all;
  for (size_t i = its.first; i < its.first + its.length; ++i)
    for (size_t j = 0; j < lines[i].statements.size(); ++j) {
      std::vector<const Statement *> statements;
      for (size_t turn = 0; turn < its.count; ++turn)
        statements.push_back(&lines[i + turn * its.length].statements[j]);
      std::optional<Turns> turns = turnsOf(std::move(statements));
      if (!turns)
        return std::nullopt;
      all.push_back(std::move(*turns));
    }
  return all;
}

/// Threads that any turn awaits at each place of a line, but before the first.
std::vector<std::set<int64_t>> Roller::awaitsOf(Repeat its, size_t line) const {
  std::vector<std::set<int64_t>> all(lines[line].places.size());
  for (size_t turn = 0; turn < its.count; ++turn)
    for (auto [i, place] :
         llvm::enumerate(lines[line + turn * its.length].places))
      if (line > its.first || turn > 0 || i > 0)
        all[i].merge(place.threads());
  return all;
}

/// Words of awaits in a loop, and before it.
int64_t Roller::awaitWords(Repeat its) const {
  int64_t words = lines[its.first].places[0].words();
  for (size_t i = its.first; i < its.first + its.length; ++i)
    for (const std::set<int64_t> &threads : awaitsOf(its, i))
      words += !threads.empty();
  return words;
}

/// What a loop takes beside its statements in one turn: words of branches and
/// of what is behind these, and cycles of all turns.
Roller::Share Roller::beside(Repeat its, ArrayRef<Turns> all) const {
  Share share{3, double(its.count) * machine.loopOverhead};
  const Turns *before = nullptr;
  auto turns = all.begin();
  for (size_t i = its.first; i < its.first + its.length; ++i)
    for (size_t j = 0; j < lines[i].statements.size(); ++j, ++turns) {
      Operation *op = turns->statements[0]->op;
      double cycles = 0;
      for (size_t s = 0; s < turns->numbers.size(); ++s)
        if (turns->step(s) != 0)
          cycles += double(its.count) * machine.scalarCycles;
      // No turn may wait in between.
      const bool joins =
          before && turns->differsAs(*before) &&
          llvm::all_of(llvm::zip_equal(before->statements, turns->statements),
                       [](auto pair) {
                         auto [first, second] = pair;
                         return second->op->getPrevNode() == first->op;
                       });
      for (auto [number, turn] : llvm::enumerate(turns->odd)) {
        share.words += pe::codeWords(op);
        if (joins)
          continue;
        share.words += 2;
        cycles += double(its.count - number - 1) * machine.branchNotTaken +
                  machine.branchTaken;
      }
      share.cycles += runsIn(lines[i].op, op) * cycles;
      before = &*turns;
    }
  return share;
}

/// Words of code less those of a loop times how much longer than before it
/// takes, of the cycles in which no element is computed: at the price 1 a loop
/// gains where the product of words and cycles falls, at 0 where words do.
/// `most` if that is no more.
double Roller::gain(Repeat its, double most, double price) const {
  Share turn;
  for (size_t i = its.first; i < its.first + its.length; ++i) {
    turn.words += lines[i].words;
    turn.cycles += lines[i].control;
  }
  const double count = double(its.count);
  auto gainOf = [&](Share all, Share beside) {
    return double(all.words) -
           double(turn.words + beside.words) *
               (1 + price * beside.cycles / std::max(all.cycles, 1.0));
  };
  Share all{int64_t(its.count) * turn.words, count * turn.cycles};
  for (size_t i = its.first; i < its.first + its.length * its.count; ++i)
    all.words += lines[i].awaits;
  const Share least{3, count * machine.loopOverhead};
  if (gainOf(all, least) <= most)
    return most;
  const int64_t awaits = awaitWords(its);
  if (gainOf(all, {least.words + awaits, least.cycles}) <= most)
    return most;
  const std::optional<std::vector<Turns>> turns = turnsOf(its);
  if (!turns)
    return most;
  Share beside = this->beside(its, *turns);
  beside.words += awaits;
  return std::max(most, gainOf(all, beside));
}

/// Finds the repeat with the largest gain.
std::optional<Repeat> Roller::best(double price) const {
  Repeat best;
  double most = 0;
  for (size_t length = 1; 2 * length <= lines.size(); ++length) {
    size_t alike = 0; // as many before `end` are as those `length` before them
    for (size_t end = length; end < lines.size(); ++end) {
      alike = lines[end].shape == lines[end - length].shape ? alike + 1 : 0;
      for (size_t count = 2; count <= alike / length + 1; ++count) {
        const Repeat its{end + 1 - count * length, length, count};
        if (const double more = gain(its, most, price); more > most) {
          most = more;
          best = its;
        }
      }
    }
  }
  if (most == 0)
    return std::nullopt;
  return best;
}

/// Writes the numbers of one of its turns, with variables of the first, which
/// stays.
void Roller::writeNumbers(Operation *op, const Turns &turns, Value turn) {
  size_t s = 0;
  visitSlots(op, [&](Slot &slot) {
    const Slot &kept = turns.statements[0]->slots[s];
    const Numbers &numbers = turns.numbers[s];
    const int64_t step = turns.step(s++);
    auto varies = [](const auto &term) {
      return !isFixedInRoutine(term.first);
    };
    llvm::erase_if(slot.value.terms, varies);
    llvm::copy_if(kept.value.terms, std::back_inserter(slot.value.terms),
                  varies);
    if (slot.isColor)
      return;
    slot.value.constant = numbers.values[0];
    if (step != 0)
      slot.value.terms.emplace_back(turn, step);
    if (numbers.type)
      slot.buffer = places.around(kept.buffer, numbers);
  });
}

/// Those that differ where branches on the turn lead.
void Roller::writeStatements(ArrayRef<Turns> all, Value turn) {
  Operation *branch = nullptr;
  llvm::SmallVector<std::pair<size_t, Block *>> arms; // by turn
  const Turns *before = nullptr;
  for (const Turns &turns : all) {
    Operation *first = turns.statements[0]->op;
    if (turns.odd.empty()) {
      writeNumbers(first, turns, turn);
      continue;
    }
    if (!branch || first->getPrevNode() != branch ||
        !turns.differsAs(*before)) {
      OpBuilder builder(first);
      arms.clear();
      branch = nullptr;
      for (size_t odd : turns.odd) {
        pe::AffineEncoder encoder(builder.getContext());
        const pe::AffineAttr condition =
            encoder.encode(pe::Affine(turn) + pe::Affine(-int64_t(odd)));
        auto each = pe::IfOp::create(builder, first->getLoc(),
                                     encoder.getValues(), condition);
        branch = branch ? branch : each;
        builder.setInsertionPointToStart(&each.getThen().emplaceBlock());
        arms.emplace_back(odd, &each.getOtherwise().emplaceBlock());
      }
      arms.emplace_back(turns.usual, builder.getInsertionBlock());
    }
    for (auto [number, arm] : arms) {
      if (number == 0)
        first->moveBefore(arm, arm->end());
      else
        arm->push_back(turns.statements[number]->op->clone());
      writeNumbers(&arm->back(), turns, turn);
    }
    before = &turns;
  }
}

/// A loop of it, and of what repeats in this.
void Roller::write(Repeat its, size_t depth) {
  const std::vector<Turns> all = *turnsOf(its);
  std::vector<std::vector<std::set<int64_t>>> awaits;
  for (size_t i = 0; i < its.length; ++i)
    awaits.push_back(awaitsOf(its, its.first + i));
  OpBuilder builder(lines[its.first].op);
  auto loop = pe::ForOp::create(builder, lines[its.first].op->getLoc(),
                                pe::Affine(int64_t(its.count)));
  Block &body = loop.getBody().front();
  for (size_t i = 0; i < its.count * its.length; ++i)
    for (const AwaitPlace &place : lines[its.first + i].places)
      if (i > 0 || &place != &lines[its.first].places[0])
        place.erase();
  for (size_t i = 0; i < its.length; ++i) {
    const Line &line = lines[its.first + i];
    line.op->moveBefore(&body, body.end());
    for (auto [place, threads] : llvm::zip_equal(line.places, awaits[i]))
      place.set(threads);
  }
  writeStatements(all, loop.getVariable());
  const auto first = lines.begin() + ptrdiff_t(its.first);
  const auto others = first + ptrdiff_t(its.length);
  const auto end = first + ptrdiff_t(its.length * its.count);
  for (const Line &line : llvm::make_range(others, end))
    line.op->erase();
  Roller(places, machine, body).roll(depth + 1);
  *first = lineOf(loop);
  lines.erase(first + 1, end);
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

void Roller::roll(size_t depth) {
  while (depth + loopDepthOf(block) + 1 < runtime::largestLoopDepth) {
    std::optional<Repeat> its = best(/*price=*/1);
    if (!its)
      its = best(/*price=*/0);
    if (!its)
      return;
    write(*its, depth);
  }
}

/// Rolls loops in a block first.
static void roll(Places &places, const Machine &machine, Block &block,
                 size_t depth) {
  for (Operation &op : block)
    if (auto loop = dyn_cast<pe::ForOp>(op))
      roll(places, machine, loop.getBody().front(), depth + 1);
  Roller(places, machine, block).roll(depth);
}

void wsec::rollRepeats(wse::ProgramOp source, ClassBuilder &its) {
  Places places(source, its);
  for (auto routine : its.peClass.getOps<pe::RoutineOp>())
    roll(places, its.machine, routine.getBody().front(), 0);
}
