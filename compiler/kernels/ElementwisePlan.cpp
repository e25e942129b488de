// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "compiler/kernels/ElementwisePlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace wsec {

using pe::Opcode;

/// The instruction of an operation that is one; nothing for all others.
static std::optional<Opcode> opcodeOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Opcode>>(op)
      .Case([](arith::AddFOp) { return Opcode::Add; })
      .Case([](arith::SubFOp) { return Opcode::Sub; })
      .Case([](arith::MulFOp) { return Opcode::Mul; })
      .Case([](arith::DivFOp) { return Opcode::Div; })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [](auto) { return Opcode::Min; })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [](auto) { return Opcode::Max; })
      .Case([](arith::NegFOp) { return Opcode::Neg; })
      .Case([](arith::AndIOp) { return Opcode::And; })
      .Case([](arith::OrIOp) { return Opcode::Or; })
      .Case([](math::AbsFOp) { return Opcode::Abs; })
      .Case([](math::ExpOp) { return Opcode::Exp; })
      .Case([](math::LogOp) { return Opcode::Log; })
      .Case([](math::SqrtOp) { return Opcode::Sqrt; })
      .Case([](math::RsqrtOp) { return Opcode::Rsqrt; })
      .Case([](math::TanhOp) { return Opcode::Tanh; })
      .Case([](math::ErfOp) { return Opcode::Erf; })
      .Case([](math::SinOp) { return Opcode::Sin; })
      .Case([](math::CosOp) { return Opcode::Cos; })
      .Case([](math::FloorOp) { return Opcode::Floor; })
      .Case([](math::CeilOp) { return Opcode::Ceil; })
      .Case([](math::RoundEvenOp) { return Opcode::Round; })
      .Case([](math::PowFOp) { return Opcode::Pow; })
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

std::optional<Comparison> comparisonOf(arith::CmpFPredicate predicate) {
  using P = arith::CmpFPredicate;
  switch (predicate) {
  case P::OEQ:
    return Comparison{Opcode::Equal};
  case P::UNE:
    return Comparison{Opcode::Equal, false, true};
  case P::OLT:
    return Comparison{Opcode::Less};
  case P::OLE:
    return Comparison{Opcode::LessOrEqual};
  case P::OGT:
    return Comparison{Opcode::Less, true};
  case P::OGE:
    return Comparison{Opcode::LessOrEqual, true};
  case P::UGE:
    return Comparison{Opcode::Less, false, true};
  case P::UGT:
    return Comparison{Opcode::LessOrEqual, false, true};
  case P::ULE:
    return Comparison{Opcode::Less, true, true};
  case P::ULT:
    return Comparison{Opcode::LessOrEqual, true, true};
  default:
    return std::nullopt;
  }
}

class Planner {
public:
  explicit Planner(wse::ElementwiseOp op) : op(op) {}

  FailureOr<ElementwisePlan> plan() {
    Block &body = op.getBody().front();
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
  /// Finds the last user of every value that the yield needs.
  void findUses(Block &body, Operation *yield) {
    for (Operation &inner : llvm::reverse(body)) {
      if (&inner != yield && !lastUse.contains(inner.getResult(0)))
        continue;
      for (Value operand : inner.getOperands()) {
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
      unsigned number = argument.getArgNumber(), inputs = op.getInputs().size();
      bool isInput = number < inputs;
      source.kind =
          isInput ? ElementwiseSource::Input : ElementwiseSource::Vector;
      source.index = isInput ? number : number - inputs;
      return source;
    }
    Attribute constant;
    if (auto op = value.getDefiningOp<arith::ConstantOp>())
      constant = op.getValue();
    if (auto number = dyn_cast_or_null<FloatAttr>(constant)) {
      source.value = number.getValueAsDouble();
      return source;
    }
    if (auto truth = dyn_cast_or_null<IntegerAttr>(constant)) {
      source.value = truth.getValue().isZero() ? 0 : 1;
      return source;
    }
    source.kind = ElementwiseSource::Slot;
    source.index = slotOf.lookup(value);
    return source;
  }

  unsigned freeSlot() {
    for (unsigned slot = 0; slot < inUse.size(); ++slot)
      if (!inUse[slot])
        return slot;
    inUse.push_back(false);
    made.slots = std::max<unsigned>(made.slots, inUse.size());
    return inUse.size() - 1;
  }

  /// Slots whose values nobody needs after `user`.
  void release(Operation *user) {
    for (Value operand : user->getOperands()) {
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
      unsigned aside = freeSlot();
      emit(Opcode::Mov, aside, {sources[0]});
      step.sources[0].kind = ElementwiseSource::Slot;
      step.sources[0].index = aside;
    }
    for (const ElementwiseSource &source : step.sources)
      if (source.kind == ElementwiseSource::Vector)
        made.vectorUses.push_back(source.index);
    made.steps.push_back(std::move(step));
  }

  LogicalResult translate(Operation *inner) {
    if (isa<arith::ConstantOp, arith::UIToFPOp, arith::ExtUIOp>(inner))
      return success();
    SmallVector<ElementwiseSource> sources;
    for (Value operand : inner->getOperands())
      sources.push_back(sourceOf(operand));
    if (auto select = dyn_cast<arith::SelectOp>(inner))
      return twoSteps(inner, sources[2], Opcode::Select,
                      {sources[0], sources[1]});
    if (isa<math::FmaOp>(inner))
      return twoSteps(inner, sources[2], Opcode::Fmac,
                      {sources[0], sources[1]});
    release(inner);
    unsigned slot = freeSlot();
    define(inner->getResult(0), slot);
    if (auto compare = dyn_cast<arith::CmpFOp>(inner)) {
      std::optional<Comparison> comparison =
          comparisonOf(compare.getPredicate());
      if (!comparison)
        return unsupported(inner);
      if (comparison->exchange)
        std::swap(sources[0], sources[1]);
      emit(comparison->opcode, slot, sources);
      if (comparison->negate)
        emitNot(slot);
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
    return success();
  }

  /// An instruction that also reads its destination, which starts as `start`.
  LogicalResult twoSteps(Operation *inner, ElementwiseSource start,
                         Opcode opcode, ArrayRef<ElementwiseSource> sources) {
    unsigned slot = freeSlot();
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

  wse::ElementwiseOp op;
  ElementwisePlan made;
  llvm::DenseMap<Value, Operation *> lastUse;
  llvm::DenseMap<Value, unsigned> slotOf;
  SmallVector<bool> inUse;
};

} // namespace

FailureOr<ElementwisePlan> planElementwise(wse::ElementwiseOp op) {
  return Planner(op).plan();
}

} // namespace wsec
