// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of the host into a tensor on the wafer, by a walk over an input or a
// constant.

#include "compiler/kernels/move/HostTokens.h"

using namespace mlir;

namespace wsec {
namespace {

class Load final : public HostTokensKernel<wse::LoadOp> {
  bool onlyMoves() const final { return true; }
  Value moved(Operation *op) const final { return op->getResult(0); }
  // How the walk goes decides its lines and blocks, not where it begins.
  bool isPlace(NamedAttribute attribute) const final {
    return attribute.getName() == "view_offset" ||
           (attribute.getName() == "source" &&
            isa<SymbolRefAttr>(attribute.getValue()));
  }

  Layout wordLayout(wse::LoadOp op, const Machine &machine) const final {
    return layoutOf(op.getResult(), pairing(op, machine), machine);
  }
  /// Tails are of tokens that follow one another alike.
  static Pairing pairing(wse::LoadOp op, const Machine &machine) {
    const Pairing pairing = hostPairingOf(op.getResult(), machine);
    auto type = cast<RankedTensorType>(op.getResult().getType());
    const bool apart =
        llvm::count_if(type.getShape().drop_back(),
                       [](int64_t size) { return size > 1; }) > 1;
    return pairing == Pairing::Tails && apart ? Pairing::None : pairing;
  }
  LogicalResult lowerOp(wse::LoadOp op, RoutineBuilder &b) const final {
    const Pairing pairing = this->pairing(op, b.machine());
    return bringTokens(b, op.getSource(),
                       cast<RankedTensorType>(op.getResult().getType()),
                       b.tile(op.getResult(), pairing), op.getViewOffset(),
                       op.getStrides(), sharesFills(op), pairing);
  }
};

} // namespace

WSEC_DEFINE_KERNEL(Load)

} // namespace wsec
