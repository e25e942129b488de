// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of a table that ids name, into a tensor on the wafer.

#include "compiler/kernels/move/HostTokens.h"

using namespace mlir;

namespace wsec {
namespace {

/// Ids are resolved in the store: inputs and constants are there, in the order
/// of the tokens. Casts between integers do not change them.
std::optional<values::TracedView> asIds(const HostValues &values, Value ids) {
  while (auto cast = ids.getDefiningOp<onnx::CastOp>()) {
    Type from =
        mlir::cast<RankedTensorType>(cast.getX().getType()).getElementType();
    if (!from.isInteger())
      return std::nullopt;
    ids = cast.getX();
  }
  return values.trace(ids);
}

class Gather final
    : public KernelOf<onnx::GatherOp, HostTokensKernel<wse::GatherOp>> {
  Value buildFor(onnx::GatherOp op, Selection &selection) const final {
    wse::WeightAttr table = selection.asWeight(op.getTable(), op);
    if (!table)
      return {};
    auto ids = asIds(selection.host(), op.getIds());
    Value y = op.getY();
    const bool isOne = values::numElements(shapeOf(op.getIds())) == 1;
    if (!ids || (!isOne && !selection.host().isWhole(*ids))) {
      if (!selection.toStoreInOrder(op.getIds(), op))
        return {};
      ids = selection.host().trace(op.getIds());
    }
    const wse::WeightAttr rows = selection.weight(*ids);
    wse::TokenTiling tiling =
        selection.heads().columnsFor(y, selection.defaultTiling(shapeOf(y)));
    return selection.createFor<wse::GatherOp>(
        op, Type(selection.tensorType(tiling, shapeOf(y).back(), y)), table,
        selection.host().isWhole(*ids) ? selection.source(rows)
                                       : Attribute(rows));
  }

  Value moved(Operation *op) const final { return op->getResult(0); }
  Layout wordLayout(wse::GatherOp op, const Machine &machine) const final {
    return layoutOf(op.getResult(), pairing(op, machine), machine);
  }
  /// Rows of tokens come one by one: only features pair up.
  static Pairing pairing(wse::GatherOp op, const Machine &machine) {
    const Pairing pairing = hostPairingOf(op.getResult(), machine);
    return pairing == Pairing::Channels ? Pairing::None : pairing;
  }

  LogicalResult lowerOp(wse::GatherOp op, RoutineBuilder &b) const final {
    HostTensor table = b.source(op.getTable());
    const Pairing pairing = this->pairing(op, b.machine());
    Tile out = b.tile(op.getResult(), pairing);
    ColumnWords words;
    words.tensor = table.symbol;
    words.offset = table.offset;
    words.features = out.layout.features;
    words.lines = {out.layout.tokenCount(), 0};
    words.featureStep = table.strides[1];
    if (pairing != Pairing::None) {
      words.halves = elementTypeOf(op.getResult());
      words.pairs = Layout::of(op.getResult(), b.height()).features;
    }
    const HostTensor ids = b.source(op.getIds());
    words.index = {ids.symbol, table.strides[0],
                   op.getTable().getType().getDimSize(0),
                   ids.offset > 0 ? ids.offset : -1};
    b.streamToColumns(words);
    keepOwnTokens(b, out, sharesFills(op));
    return success();
  }
};

} // namespace

WSEC_DEFINE_KERNEL(Gather)

} // namespace wsec
