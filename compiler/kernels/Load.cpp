// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of the host into a tensor on the wafer, by a walk over an input or a
// constant.

#include "compiler/kernels/HostTokens.h"

using namespace mlir;

namespace wsec {
namespace {

class Load final : public KernelFor<wse::LoadOp> {
  bool onlyMoves() const final { return true; }
  Value moved(Operation *op) const final { return op->getResult(0); }
  SmallVector<Relay> relays() const final { return columnRelays(); }

  KernelCost costOf(wse::LoadOp op, const Machine &machine) const final {
    return hostTokensCost(Layout::of(op.getResult(), machine.height), machine);
  }
  SmallVector<StreamNeed> streamsOf(wse::LoadOp op,
                                    const Machine &machine) const final {
    return hostTokensStreams(Layout::of(op.getResult(), machine.height),
                             machine, sharesFills(op));
  }
  SmallVector<HostFlow> flowsOf(wse::LoadOp op,
                                const Machine &machine) const final {
    return hostTokensFlows(Layout::of(op.getResult(), machine.height), machine);
  }
  LogicalResult lowerOp(wse::LoadOp op, RoutineBuilder &b) const final {
    return bringTokens(b, op.getSource(),
                       cast<RankedTensorType>(op.getResult().getType()),
                       b.tile(op.getResult()), op.getViewOffset(),
                       op.getStrides(), sharesFills(op));
  }
};

} // namespace

WSEC_DEFINE_KERNEL(Load)

} // namespace wsec
