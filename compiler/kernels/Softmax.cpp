// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Softmax over the features of each token: the maximum and the sum are reduced
// west along the row and are multicast back.

#include "compiler/kernels/Norm.h"

#include <limits>

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
    KernelCost cost = rowKernelCost(layout, machine, /*passes=*/4,
                                    /*reductions=*/2, /*streamedVectors=*/0,
                                    isNarrow(op.getInput()));
    double elements =
        layout.features.largest(machine.width) * layout.pitch(machine.height);
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
    return 2 * TokenValues::scratchWords(
                   Layout::of(op.getInput(), machine.height), machine);
  }

  LogicalResult lowerOp(wse::SoftmaxOp op, RoutineBuilder &b) const final {
    Tile x = b.tile(op.getInput()), y = b.tile(op.getResult());
    b.where(x.active, [&] {
      TokenValues largest(b, x, "largest"), sum(b, x, "sum");
      largest.fill(std::numeric_limits<float>::lowest());
      largest.combineOwn(Opcode::Max, x.buffer);
      largest.combineRow(Opcode::Max);
      eachElement(b, y, Opcode::Sub, {elements(x), largest.perElement()});
      eachElement(b, y, Opcode::Exp, {elements(y)});
      sum.fill(0);
      sum.combineOwn(Opcode::Add, y.buffer);
      sum.combineRow(Opcode::Add, [&] { sum.apply(Opcode::Reciprocal); });
      eachElement(b, y, Opcode::Mul, {elements(y), sum.perElement()});
    });
    return success();
  }
};

} // namespace

WSEC_DEFINE_KERNEL(Softmax)

} // namespace wsec
