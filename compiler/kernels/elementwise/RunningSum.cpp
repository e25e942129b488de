// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sums of the tokens up to each of a batch element: every PE sums up its own
// tokens, what those of a row and of the rows before it sum up to goes on from
// row to row, and each row adds what it hears to its own sums.
//
//   tokens     1 2 | 3 4 | 5 6     of three rows
//   own sums   1 3 | 3 7 | 5 11
//   heard          | 3   | 10
//   sums       1 3 | 6 10 | 15 21

#include "compiler/kernels/KernelLibrary.h"

using namespace mlir;

namespace wsec {
namespace {

/// South in the order of the tokens, north in reverse.
StreamPattern onwardOf(wse::RunningSumOp op) {
  return op.getReverse() ? StreamPattern::KeyNorth : StreamPattern::SumSouth;
}

class RunningSum final
    : public KernelOf<onnx::RunningSumOp, KernelFor<wse::RunningSumOp>> {
  Value buildFor(onnx::RunningSumOp op, Selection &selection) const final;

  Value moved(Operation *op) const final { return op->getResult(0); }
  SmallVector<Relay> relays() const final {
    return {{StreamPattern::SumSouth, StreamPattern::SumSouth},
            {StreamPattern::KeyNorth, StreamPattern::KeyNorth}};
  }
  SmallVector<StreamNeed> streamsOf(wse::RunningSumOp op,
                                    const Machine &machine) const final {
    if (Layout::of(op.getInput(), machine.height).span == 1)
      return {};
    return {{onwardOf(op), {}}};
  }
  KernelCost costOf(wse::RunningSumOp op, const Machine &machine) const final;
  int64_t scratchWords(wse::RunningSumOp op,
                       const Machine &machine) const final {
    Layout layout = Layout::of(op.getInput(), machine.height);
    const int64_t features = layout.features.largest(machine.width);
    return (isNarrow(op.getInput())
                ? layout.words(machine.width, machine.height)
                : 0) +
           (layout.span > 1 ? (op.getExclusive() ? 2 : 1) * features : 0);
  }
  /// A sum is written where its last token was read.
  bool mayOverwriteOf(wse::RunningSumOp op, unsigned) const final {
    return isNarrow(op.getInput()) || !op.getExclusive();
  }

  LogicalResult lowerOp(wse::RunningSumOp op, RoutineBuilder &b) const final;
};

Value RunningSum::buildFor(onnx::RunningSumOp op, Selection &selection) const {
  Value input = selection.onWafer(op.getX(), op);
  if (!input)
    return {};
  const ArrayRef<int64_t> shape = shapeOf(op.getX());
  const bool areSummed =
      areTokens(shape, {int64_t(op.getAxis())}, tilingOf(input));
  if (!areSummed) {
    // What is before the axis becomes the batch, what is behind it features.
    wse::WeightAttr stored = selection.asWeight(op.getX(), op);
    if (!stored)
      return {};
    const int64_t axis = op.getAxis(), tokens = shape[axis];
    const int64_t batch = values::numElements(shape.take_front(axis));
    const int64_t rows[] = {batch, tokens,
                            values::numElements(shape.drop_front(axis + 1))};
    input =
        selection.loadReshaped(stored, rows, selection.defaultTiling(rows), op);
  }
  Builder builder(op.getContext());
  auto flag = [&](bool holds) {
    return holds ? builder.getUnitAttr() : nullptr;
  };
  Value sums = selection.createFor<wse::RunningSumOp>(
      op, input.getType(), input, op.getExclusiveAttr(), op.getReverseAttr(),
      flag(cast<RankedTensorType>(op.getX().getType())
               .getElementType()
               .isInteger(64)));
  if (areSummed)
    return sums;
  selection.storeWhole(op.getY(), sums, op);
  return {};
}

KernelCost RunningSum::costOf(wse::RunningSumOp op,
                              const Machine &machine) const {
  const Layout layout = Layout::of(op.getInput(), machine.height);
  const CostModel model(machine);
  const double features = double(layout.features.largest(machine.width));
  const double channels = double(layout.pitch(machine.height));
  const double sequences =
      layout.group == 0 ? channels / double(layout.tokens) : 1;
  KernelCost cost;
  cost.compute = model.adds(channels, features);
  if (isNarrow(op.getInput()))
    cost.compute += model.copies(features, channels);
  if (layout.span > 1) {
    cost.compute += model.adds(channels, features);
    // A row sends when it has all that it hears.
    cost.serial = double(layout.span - 1) *
                  (model.chain(2, features) + model.copies(1, features) +
                   machine.vectorSetup);
  }
  cost.lowerBound =
      std::max(model.leastAdds(double(layout.features.total()) / machine.width *
                               (channels - sequences)),
               model.leastAcross(double(layout.span)));
  return cost;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// Writes the code of one launch. Tokens count in the order of the sum.
class RunningSumCode {
public:
  RunningSumCode(wse::RunningSumOp op, RoutineBuilder &b)
      : op(op), b(b), isReverse(op.getReverse()),
        isExclusive(op.getExclusive()), in(b.tile(op.getInput())),
        out(b.tile(op.getResult())), sums(out.buffer),
        last(Affine(in.tokens) + -1) {
    adding.noWrap = op.getNoWrap();
    if (isNarrow(op.getInput()))
      sums = b.scratch("sums", in.layout.words(b.width(), b.height()));
  }

  void write() {
    sumOwn();
    if (in.layout.span > 1)
      addThoseBefore();
    if (sums != out.buffer)
      b.vector(Opcode::Mov, {in.features, in.channels},
               Operand::memory(out.buffer, 0, {out.pitch, 1}),
               {Operand::memory(sums, 0, {in.pitch, 1})});
  }

private:
  /// From a token on, over tokens, sequences and features.
  Operand from(StringRef buffer, int64_t token) const {
    const int64_t step = isReverse ? -1 : 1;
    const int64_t sequence = in.layout.group == 0 ? in.layout.tokens : 0;
    return Operand::memory(buffer,
                           (isReverse ? last : Affine(0)) + token * step,
                           {step, sequence, in.pitch});
  }
  /// Of the last token, over features.
  Operand ofLast(StringRef buffer) const {
    return Operand::memory(buffer, isReverse ? Affine(0) : last, {in.pitch});
  }
  std::string ofFeatures(StringRef name) {
    Type element = elementTypeOf(op.getInput());
    return b.scratch(name, in.layout.features.largest(b.width()),
                     element.isInteger() ? element : Type());
  }
  void sumOwn();
  void addThoseBefore();

  wse::RunningSumOp op;
  RoutineBuilder &b;
  const bool isReverse, isExclusive;
  const Tile in, out;
  std::string sums;
  const Affine last; ///< of the own tokens
  pe::Issue adding;
};

void RunningSumCode::sumOwn() {
  b.vector(Opcode::Mov, {1, in.sequences, in.features}, from(sums, 0),
           {isExclusive ? Operand::immediate(0) : from(in.buffer, 0)});
  b.vector(Opcode::Add, {last, in.sequences, in.features}, from(sums, 1),
           {from(sums, 0), from(in.buffer, isExclusive ? 0 : 1)}, adding);
}

void RunningSumCode::addThoseBefore() {
  ScalarBuilder &s = b.scalars();
  const StreamPattern pattern = onwardOf(op);
  const int64_t end = in.layout.span - 1;
  Value row = s.mod(s.py(), in.layout.group), parity = s.mod(s.py(), 2);
  Value isFirst = s.equal(row, isReverse ? end : 0);
  Value isLast = s.equal(row, isReverse ? 0 : end);
  Value hears = s.logicalNot(isFirst);
  const Operand onward = Operand::fabric(b.parityColor(pattern, parity));
  const Operand incoming =
      Operand::fabric(b.parityColor(pattern, s.logicalNot(parity)));
  Operand total = ofLast(sums);
  if (isExclusive) {
    total = Operand::memory(ofFeatures("total"), 0, {1});
    b.vector(Opcode::Add, {in.features}, total,
             {ofLast(sums), ofLast(in.buffer)}, adding);
  }
  Operand before = Operand::memory(ofFeatures("before"), 0, {1});
  auto issued = [&](Opcode opcode, Value guard, int thread = -1) {
    pe::Issue issue;
    issue.noWrap = adding.noWrap && opcode == Opcode::Add;
    issue.guard = guard;
    issue.thread = thread;
    return issue;
  };
  // Sent on a microthread, so that all rows run the same main thread.
  b.vector(Opcode::Mov, {in.features}, onward, {total},
           issued(Opcode::Mov, isFirst, KeyThread));
  b.vector(Opcode::Mov, {in.features}, before, {incoming},
           issued(Opcode::Mov, hears));
  if (in.layout.span > 2)
    b.vector(
        Opcode::Add, {in.features}, onward, {total, before},
        issued(Opcode::Add, s.logicalNot(s.add(isFirst, isLast)), KeyThread));
  before.strides = {0, 1};
  const Operand all = Operand::memory(sums, 0, {1, in.pitch});
  b.vector(Opcode::Add, {in.tokens, in.features}, all, {all, before},
           issued(Opcode::Add, hears));
}

LogicalResult RunningSum::lowerOp(wse::RunningSumOp op,
                                  RoutineBuilder &b) const {
  RunningSumCode code(op, b);
  b.where(b.tile(op.getInput()).active, [&] { code.write(); });
  return success();
}

} // namespace

WSEC_DEFINE_KERNEL(RunningSum)

} // namespace wsec
