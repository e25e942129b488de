// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/elementwise/ElementwisePlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace wsec {

using pe::Opcode;

static bool isOne(Value value) { return matchPattern(value, m_OneFloat()); }

/// x, if `op` is the last operation of 1 / (1 + exp(-x)).
static Value sigmoidOf(Operation *op) {
  auto quotient = dyn_cast<arith::DivFOp>(op);
  if (!quotient || !isOne(quotient.getLhs()))
    return {};
  auto sum = quotient.getRhs().getDefiningOp<arith::AddFOp>();
  if (!sum || isOne(sum.getLhs()) == isOne(sum.getRhs()))
    return {};
  auto power = (isOne(sum.getLhs()) ? sum.getRhs() : sum.getLhs())
                   .getDefiningOp<math::ExpOp>();
  auto negated =
      power ? power.getOperand().getDefiningOp<arith::NegFOp>() : nullptr;
  return negated ? negated.getOperand() : Value();
}

/// What the instruction of an operation reads.
static SmallVector<Value, 3> operandsOf(Operation *op) {
  if (Value x = sigmoidOf(op))
    return {x};
  return SmallVector<Value, 3>(op->getOperands());
}

/// The instruction of an operation that is one; nothing for all others.
static std::optional<Opcode> opcodeOf(Operation *op) {
  if (sigmoidOf(op))
    return Opcode::Sigmoid;
  return llvm::TypeSwitch<Operation *, std::optional<Opcode>>(op)
      .Case<arith::AddFOp, arith::AddIOp>([](auto) { return Opcode::Add; })
      .Case<arith::SubFOp, arith::SubIOp>([](auto) { return Opcode::Sub; })
      .Case<arith::MulFOp, arith::MulIOp>([](auto) { return Opcode::Mul; })
      .Case<arith::DivFOp, arith::DivSIOp>([](auto) { return Opcode::Div; })
      .Case<arith::MinimumFOp, arith::MinNumFOp, arith::MinSIOp>(
          [](auto) { return Opcode::Min; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp, arith::MaxSIOp>(
          [](auto) { return Opcode::Max; })
      .Case([](arith::NegFOp) { return Opcode::Neg; })
      .Case([](arith::AndIOp op) {
        return op.getType().isInteger(1) ? Opcode::And : Opcode::BitAnd;
      })
      .Case([](arith::OrIOp op) {
        return op.getType().isInteger(1) ? Opcode::Or : Opcode::BitOr;
      })
      .Case<math::AbsFOp, math::AbsIOp>([](auto) { return Opcode::Abs; })
      .Case<arith::SIToFPOp, arith::FPToSIOp>([](auto) { return Opcode::Mov; })
      .Case([](math::RsqrtOp) { return Opcode::Rsqrt; })
      .Case([](math::RoundEvenOp) { return Opcode::Round; })
      .Case([](math::PowFOp) { return Opcode::Pow; })
#define WSEC_FUNCTION(Name, name, numbers, software, words, value)             \
  .Case([](math::Name##Op) { return Opcode::Name; })
#include "runtime/program/Opcodes.def"
      .Default([](Operation *) { return std::nullopt; });
}

namespace {

/// A comparison as an instruction: maybe with operands exchanged, maybe
/// followed by a logical not.
struct Comparison {
  Opcode opcode;
  bool exchange = false;
  bool negate = false;
};

template <typename Predicate, size_t count>
std::optional<Comparison>
find(const std::pair<Predicate, Comparison> (&all)[count],
     Predicate predicate) {
  for (const auto &[its, comparison] : all)
    if (its == predicate)
      return comparison;
  return std::nullopt;
}

std::optional<Comparison> comparisonOf(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  static constexpr std::pair<P, Comparison> all[] = {
      {P::OEQ, {Opcode::Equal, false, false}},
      {P::UNE, {Opcode::Equal, false, true}},
      {P::OLT, {Opcode::Less, false, false}},
      {P::OLE, {Opcode::LessOrEqual, false, false}},
      {P::OGT, {Opcode::Less, true, false}},
      {P::OGE, {Opcode::LessOrEqual, true, false}},
      {P::UGE, {Opcode::Less, false, true}},
      {P::UGT, {Opcode::LessOrEqual, false, true}},
      {P::ULE, {Opcode::Less, true, true}},
      {P::ULT, {Opcode::LessOrEqual, true, true}},
  };
  return find(all, predicate);
}

std::optional<Comparison> comparisonOf(arith::CmpIPredicate predicate) {
  using P = arith::CmpIPredicate;
  static constexpr std::pair<P, Comparison> all[] = {
      {P::eq, {Opcode::Equal, false, false}},
      {P::ne, {Opcode::Equal, false, true}},
      {P::slt, {Opcode::Less, false, false}},
      {P::sle, {Opcode::LessOrEqual, false, false}},
      {P::sgt, {Opcode::Less, true, false}},
      {P::sge, {Opcode::LessOrEqual, true, false}},
  };
  return find(all, predicate);
}

bool isInteger(Value value) { return value.getType().isInteger(32); }

/// Whether the model has more bits than the PE, or a float is too large for an
/// integer: a result that does not fit ends the run.
bool mustFit(Operation *op) {
  if (auto integers = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op))
    return integers.hasNoSignedWrap();
  return isa<arith::FPToSIOp>(op);
}

/// Operands of one type: a truth value is computed with the type of what it
/// goes with. Comparisons of integers give integers, all others f32.
class Planner {
public:
  Planner(ValueRange inputs, Value result, Block &body)
      : inputs(inputs), body(body) {
    inUse.push_back(false);
    made.integers.push_back(isElementOfIntegers(result));
  }

  FailureOr<ElementwisePlan> plan() {
    Operation *yield = body.getTerminator();
    findUses(body, yield);
    for (Operation &inner : body.without_terminator())
      if (lastUse.contains(inner.getResult(0)) && failed(translate(&inner)))
        return failure();
    ElementwiseSource result = sourceOf(yield->getOperand(0));
    if (result.kind != ElementwiseSource::Slot || result.index != 0)
      emit(Opcode::Mov, 0, {result});
    return made;
  }

private:
  static bool isElementOfIntegers(Value tensor) {
    return cast<RankedTensorType>(tensor.getType())
        .getElementType()
        .isInteger();
  }

  /// Finds the last user of every value that the yield needs.
  void findUses(Block &body, Operation *yield) {
    for (Operation &inner : llvm::reverse(body)) {
      if (&inner != yield && !lastUse.contains(inner.getResult(0)))
        continue;
      for (Value operand : operandsOf(&inner)) {
        Value value = origin(operand);
        lastUse.try_emplace(value, &inner);
        // The values passed through are needed as well.
        lastUse.try_emplace(operand, &inner);
      }
    }
  }

  /// Conversions of truth values to f32 and back keep the 1.0 and 0.0.
  static Value origin(Value value) {
    while (Operation *producer = value.getDefiningOp()) {
      if (!isa<arith::UIToFPOp, arith::ExtUIOp>(producer))
        break;
      value = producer->getOperand(0);
    }
    return value;
  }

  ElementwiseSource sourceOf(Value value) {
    value = origin(value);
    ElementwiseSource source;
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      unsigned number = argument.getArgNumber(), count = inputs.size();
      bool isInput = number < count;
      source.kind =
          isInput ? ElementwiseSource::Input : ElementwiseSource::Vector;
      source.index = isInput ? number : number - count;
      return source;
    }
    Attribute constant;
    if (auto op = value.getDefiningOp<arith::ConstantOp>())
      constant = op.getValue();
    if (auto number = dyn_cast_or_null<FloatAttr>(constant)) {
      source.value = number.getValueAsDouble();
      return source;
    }
    if (auto integer = dyn_cast_or_null<IntegerAttr>(constant)) {
      bool isTruth = integer.getType().isInteger(1);
      int64_t number = isTruth ? int64_t(integer.getValue().getZExtValue())
                               : integer.getValue().getSExtValue();
      if (int64_t(float(number)) == number) {
        source.value = float(number);
        return source;
      }
      // In two parts, each of which a float holds.
      source.kind = ElementwiseSource::Slot;
      source.index = freeSlot(true);
      inUse[source.index] = true;
      aside.push_back(source.index);
      ElementwiseSource high, low;
      low.value = float(number & 0xffff);
      high.value = float(number - (number & 0xffff));
      emit(Opcode::Add, source.index, {high, low});
      return source;
    }
    source.kind = ElementwiseSource::Slot;
    source.index = slotOf.lookup(value);
    return source;
  }

  unsigned freeSlot(bool integers) {
    for (unsigned slot = 0; slot < inUse.size(); ++slot)
      if (!inUse[slot] && made.integers[slot] == integers)
        return slot;
    inUse.push_back(false);
    made.integers.push_back(integers);
    made.slots = inUse.size();
    return inUse.size() - 1;
  }

  bool holdsIntegers(const ElementwiseSource &source) {
    switch (source.kind) {
    case ElementwiseSource::Slot:
      return made.integers[source.index];
    case ElementwiseSource::Input:
      return isElementOfIntegers(inputs[source.index]);
    default:
      return source.kind == ElementwiseSource::Immediate;
    }
  }

  /// Sources of an instruction on integers: truth values are 1.0 and 0.0 until
  /// they meet one.
  void makeIntegers(SmallVectorImpl<ElementwiseSource> &sources) {
    for (ElementwiseSource &source : sources) {
      if (holdsIntegers(source))
        continue;
      unsigned slot = freeSlot(true);
      inUse[slot] = true;
      aside.push_back(slot);
      emit(Opcode::Mov, slot, {source});
      source = {};
      source.kind = ElementwiseSource::Slot;
      source.index = slot;
    }
  }

  /// What was put aside for one operation of the body.
  void releaseAside() {
    for (unsigned slot : aside)
      inUse[slot] = false;
    aside.clear();
  }

  /// Slots whose values nobody needs after `user`.
  void release(Operation *user) {
    for (Value operand : operandsOf(user)) {
      Value value = origin(operand);
      auto slot = slotOf.find(value);
      if (slot != slotOf.end() && lastUse.lookup(value) == user)
        inUse[slot->second] = false;
    }
  }

  void define(Value value, unsigned slot) {
    slotOf[value] = slot;
    inUse[slot] = true;
  }

  /// One instruction. Two streamed operands would take their words from one
  /// stream in turns: the first is put aside.
  void emit(Opcode opcode, unsigned slot, ArrayRef<ElementwiseSource> sources) {
    ElementwiseStep step{opcode, slot,
                         SmallVector<ElementwiseSource, 2>(sources)};
    if (sources.size() == 2 && sources[0].kind == ElementwiseSource::Vector &&
        sources[1].kind == ElementwiseSource::Vector) {
      inUse[slot] = true;
      unsigned first = freeSlot(false);
      emit(Opcode::Mov, first, {sources[0]});
      step.sources[0].kind = ElementwiseSource::Slot;
      step.sources[0].index = first;
    }
    for (const ElementwiseSource &source : step.sources)
      if (source.kind == ElementwiseSource::Vector)
        made.vectorUses.push_back(source.index);
    made.steps.push_back(std::move(step));
  }

  LogicalResult translate(Operation *inner) {
    LogicalResult result = translateOne(inner);
    releaseAside();
    return result;
  }

  LogicalResult translateOne(Operation *inner) {
    if (isa<arith::ConstantOp, arith::UIToFPOp, arith::ExtUIOp>(inner))
      return success();
    SmallVector<ElementwiseSource> sources;
    for (Value operand : operandsOf(inner))
      sources.push_back(sourceOf(operand));
    bool computesIntegers = computesOnIntegers(inner);
    if (computesIntegers)
      makeIntegers(sources);
    if (auto select = dyn_cast<arith::SelectOp>(inner))
      return twoSteps(inner, sources[2], Opcode::Select,
                      {sources[0], sources[1]});
    if (isa<math::FmaOp>(inner))
      return twoSteps(inner, sources[2], Opcode::Fmac,
                      {sources[0], sources[1]});
    if (isa<arith::RemSIOp>(inner))
      return remainder(inner, sources);
    if (isa<arith::BitcastOp>(inner))
      return moveBits(inner, sources);
    release(inner);
    unsigned slot = freeSlot(computesIntegers || isa<arith::FPToSIOp>(inner));
    define(inner->getResult(0), slot);
    if (isa<arith::CmpFOp, arith::CmpIOp>(inner)) {
      auto integers = dyn_cast<arith::CmpIOp>(inner);
      std::optional<Comparison> comparison =
          integers ? comparisonOf(integers.getPredicate())
                   : comparisonOf(cast<arith::CmpFOp>(inner).getPredicate());
      if (!comparison)
        return unsupported(inner);
      if (comparison->exchange)
        std::swap(sources[0], sources[1]);
      emit(comparison->opcode, slot, sources);
      if (comparison->negate)
        emitNot(slot);
      return success();
    }
    if (isa<arith::XOrIOp>(inner) && computesIntegers) {
      emit(Opcode::BitXor, slot, sources);
      return success();
    }
    if (isa<arith::XOrIOp>(inner)) {
      emit(Opcode::Equal, slot, sources);
      emitNot(slot);
      return success();
    }
    std::optional<Opcode> opcode = opcodeOf(inner);
    if (!opcode)
      return unsupported(inner);
    emit(*opcode, slot, sources);
    made.steps.back().noWrap = mustFit(inner);
    return success();
  }

  /// Integers or comparisons of them, but no conversion to f32.
  static bool computesOnIntegers(Operation *inner) {
    if (isa<arith::SIToFPOp, arith::FPToSIOp>(inner))
      return false;
    return llvm::any_of(inner->getOperands(), isInteger);
  }

  /// Of a tensor in SRAM: what streams or is a number is put there first.
  LogicalResult moveBits(Operation *inner,
                         SmallVectorImpl<ElementwiseSource> &sources) {
    const bool toIntegers = isInteger(inner->getResult(0));
    ElementwiseSource &source = sources.front();
    if (source.kind != ElementwiseSource::Slot &&
        source.kind != ElementwiseSource::Input) {
      const unsigned slot = freeSlot(!toIntegers);
      inUse[slot] = true;
      aside.push_back(slot);
      emit(Opcode::Mov, slot, {source});
      source = {ElementwiseSource::Slot, slot};
    }
    release(inner);
    const unsigned slot = freeSlot(toIntegers);
    define(inner->getResult(0), slot);
    emit(Opcode::Mov, slot, sources);
    made.steps.back().keepsBits = true;
    return success();
  }

  /// a - a / b * b, with the sign of `a`.
  LogicalResult remainder(Operation *inner,
                          ArrayRef<ElementwiseSource> sources) {
    unsigned slot = freeSlot(true);
    define(inner->getResult(0), slot);
    ElementwiseSource part;
    part.kind = ElementwiseSource::Slot;
    part.index = slot;
    emit(Opcode::Div, slot, sources);
    emit(Opcode::Mul, slot, {part, sources[1]});
    emit(Opcode::Sub, slot, {sources[0], part});
    release(inner);
    return success();
  }

  /// An instruction that also reads its destination, which starts as `start`.
  LogicalResult twoSteps(Operation *inner, ElementwiseSource start,
                         Opcode opcode, ArrayRef<ElementwiseSource> sources) {
    unsigned slot = freeSlot(isInteger(inner->getResult(0)));
    define(inner->getResult(0), slot);
    emit(Opcode::Mov, slot, {start});
    emit(opcode, slot, sources);
    release(inner);
    return success();
  }

  void emitNot(unsigned slot) {
    ElementwiseSource source;
    source.kind = ElementwiseSource::Slot;
    source.index = slot;
    emit(Opcode::Not, slot, {source});
  }

  LogicalResult unsupported(Operation *inner) {
    return inner->emitError("has no vector instruction on a PE");
  }

  ValueRange inputs;
  Block &body;
  ElementwisePlan made;
  llvm::DenseMap<Value, Operation *> lastUse;
  llvm::DenseMap<Value, unsigned> slotOf;
  SmallVector<bool> inUse;
  SmallVector<unsigned, 2> aside; ///< slots of one operation's operands
};

} // namespace

FailureOr<ElementwisePlan> planElementwise(ValueRange inputs, Value result,
                                           Block &body) {
  return Planner(inputs, result, body).plan();
}

} // namespace wsec
