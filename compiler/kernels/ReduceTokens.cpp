// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sum, mean or maximum over the tokens of each batch element: every PE combines
// its own tokens, partial results are reduced in a chain north to the root of
// the group.

#include "compiler/kernels/KernelLibrary.h"

#include <limits>

using namespace mlir;

namespace wsec {
namespace {

using pe::Opcode;
using pe::Operand;
using wse::StreamPattern;

class ReduceTokens final : public KernelFor<wse::ReduceTokensOp> {
  KernelCost costOf(wse::ReduceTokensOp op,
                    const Machine &machine) const final {
    Layout layout = Layout::of(op.getInput());
    CostModel model(machine);
    double features = layout.features.largest(machine.width);
    KernelCost cost;
    cost.compute = model.adds(features, layout.pitch(machine.height));
    cost.lowerBound =
        model.leastAdds(double(layout.features.total()) / machine.width *
                        layout.pitch(machine.height));
    if (layout.span > 1)
      cost.serial += model.chain(layout.span, features);
    return cost;
  }
  SmallVector<StreamNeed> streamsOf(wse::ReduceTokensOp op,
                                    const Machine &) const final {
    if (Layout::of(op.getInput()).span == 1)
      return {};
    return {{StreamPattern::KeyNorth, {}}};
  }

  LogicalResult lowerOp(wse::ReduceTokensOp op, RoutineBuilder &b) const final;
};

/// Sums of integers must not wrap: the model's may have 64 bits.
pe::Issue sumsOf(wse::ReduceTokensOp op) {
  pe::Issue issue;
  issue.noWrap = op.getKind() == wse::ReduceKind::Sum &&
                 cast<RankedTensorType>(op.getInput().getType())
                     .getElementType()
                     .isInteger();
  return issue;
}

/// Partial results, last row of the group to the group root.
void chainNorth(RoutineBuilder &b, const Tile &in, const Tile &out,
                Opcode opcode, const pe::Issue &sums) {
  ScalarBuilder &s = b.scalars();
  Value row = s.mod(s.py(), in.layout.group);
  Value isLast = s.equal(row, in.layout.span - 1);
  Value isHead = s.equal(row, 0);
  Value parity = s.mod(s.py(), 2);
  Operand mine = Operand::memory(out.buffer, 0, {out.pitch});
  Operand onward =
      Operand::fabric(b.parityColor(StreamPattern::KeyNorth, parity));
  Operand incoming = Operand::fabric(
      b.parityColor(StreamPattern::KeyNorth, s.logicalNot(parity)));
  // On a microthread, so that all rows run the same main thread.
  auto start = [&](Value guard, Opcode operation, Operand to,
                   ArrayRef<Operand> sources) {
    pe::Issue issue = sums;
    issue.noWrap &= operation != Opcode::Mov;
    issue.guard = guard;
    issue.thread = KeyThread;
    b.vector(operation, {in.features}, to, sources, issue);
  };
  start(isLast, Opcode::Mov, onward, {mine});
  if (in.layout.span > 2)
    start(s.logicalNot(s.add(isLast, isHead)), opcode, onward,
          {mine, incoming});
  start(isHead, opcode, mine, {mine, incoming});
  b.await(KeyThread);
}

LogicalResult ReduceTokens::lowerOp(wse::ReduceTokensOp op,
                                    RoutineBuilder &b) const {
  Tile in = b.tile(op.getInput()), out = b.tile(op.getResult());
  bool isMax = op.getKind() == wse::ReduceKind::Max;
  Opcode opcode = isMax ? Opcode::Max : Opcode::Add;
  b.where(in.active, [&] {
    Operand all = Operand::memory(out.buffer, 0, {out.pitch, 1});
    b.vector(Opcode::Mov, {in.features, in.sequences}, all,
             {Operand::immediate(isMax ? -std::numeric_limits<float>::infinity()
                                       : 0)});
    // Sequences of a row have equally many tokens; there is more than one only
    // where rows hold whole batch elements.
    int64_t sequence = in.layout.group == 0 ? in.layout.tokens : 0;
    Operand sums = Operand::memory(out.buffer, 0, {out.pitch, 1, 0});
    b.vector(opcode, {in.features, in.sequences, in.tokens}, sums,
             {sums, Operand::memory(in.buffer, 0, {in.pitch, sequence, 1})},
             sumsOf(op));
    if (in.layout.span > 1)
      chainNorth(b, in, out, opcode, sumsOf(op));
    if (op.getKind() == wse::ReduceKind::Mean)
      b.vector(Opcode::Mul, {in.features, in.sequences}, all,
               {all, Operand::immediate(1.0f / in.layout.tokens)});
  });
  return success();
}

} // namespace

const Kernel *reduceTokensKernel() {
  static const ReduceTokens kernel;
  return &kernel;
}

} // namespace wsec
