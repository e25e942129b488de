// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Softmax over the features of each token: the maximum and the sum are reduced
// west along the row and are multicast back.

#include "compiler/kernels/PrecisionLevel.h"
#include "compiler/kernels/attention/CausalMask.h"
#include "compiler/kernels/norm/Norm.h"

using namespace mlir;

namespace wsec {
namespace {

class Softmax final
    : public KernelOf<onnx::SoftmaxOp, KernelFor<wse::SoftmaxOp>> {
  Value buildFor(onnx::SoftmaxOp op, Selection &selection) const final {
    Value input = selection.onWaferByFeatures(op->getOperand(0), op);
    if (!input)
      return {};
    return selection.createFor<wse::SoftmaxOp>(op, input.getType(), input);
  }

  SmallVector<Relay> relays() const final { return allReduceRelays(); }
  KernelCost costOf(wse::SoftmaxOp op, const Machine &machine) const final {
    Layout layout = Layout::of(op.getInput(), machine.height);
    const double narrow = isNarrowed(op) ? 2 : 0;
    KernelCost cost = rowKernelCost(layout, machine, /*passes=*/4 - narrow,
                                    /*reductions=*/2, /*streamedVectors=*/0,
                                    isNarrow(op.getInput()));
    double elements =
        layout.features.largest(machine.width) * layout.pitch(machine.height);
    cost.compute +=
        narrow * CostModel(machine).nest(1, elements, machine.addRate16);
    cost.compute += CostModel(machine).functions(elements);
    return cost;
  }
  SmallVector<StreamNeed> streamsOf(wse::SoftmaxOp op,
                                    const Machine &machine) const final {
    return allReduceStreams(
        machine,
        Layout::of(op.getInput(), machine.height).pitch(machine.height));
  }
  int64_t scratchWords(wse::SoftmaxOp op, const Machine &machine) const final {
    const Layout layout = Layout::of(op.getInput(), machine.height);
    const int64_t words = TokenValues::scratchWords(layout, machine);
    if (!isNarrowed(op))
      return 2 * words;
    const int64_t pitch = layout.pitch(machine.height);
    return words +
           (words / pitch + 1) * wordsOf(elementTypeOf(op.getInput()), pitch);
  }

  /// Whether the largest, and the share that each exponential is multiplied by,
  /// have 16 bits, as the elements. Exponentials are added up in f32.
  static bool isNarrowed(wse::SoftmaxOp op) {
    return isNarrow(op.getInput()) &&
           hasPrecisionLevel(op, PrecisionLevel::NarrowAttention);
  }

  LogicalResult lowerOp(wse::SoftmaxOp op, RoutineBuilder &b) const final {
    Tile x = b.tile(op.getInput()), y = b.tile(op.getResult());
    b.where(x.active, [&] {
      const Type narrow =
          isNarrowed(op) ? elementTypeOf(op.getInput()) : Type();
      TokenValues largest(b, x, "largest", 1, narrow), sum(b, x, "sum");
      largest.fill(lowestScore);
      largest.combineOwn(Opcode::Max, x.buffer);
      largest.combineRow(Opcode::Max);
      eachElement(b, y, Opcode::Sub, {elements(x), largest.perElement()});
      eachElement(b, y, Opcode::Exp, {elements(y)});
      sum.fill(0);
      sum.combineOwn(Opcode::Add, y.buffer);
      sum.combineRow(Opcode::Add, [&] { sum.apply(Opcode::Reciprocal); });
      Operand share = sum.perElement();
      if (narrow) {
        share.buffer = b.scratch("share", x.pitch, narrow);
        b.vector(Opcode::Mov, {x.channels},
                 Operand::memory(share.buffer, 0, {1}), {sum.perToken()});
      }
      eachElement(b, y, Opcode::Mul, {elements(y), share});
    });
    return success();
  }
};

} // namespace

WSEC_DEFINE_KERNEL(Softmax)

} // namespace wsec
