// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of the host into a resident parameter.

#include "compiler/kernels/HostTokens.h"

using namespace mlir;

namespace wsec {
namespace {

class Fill final : public KernelFor<wse::FillOp> {
  static wse::ParameterOp parameterOf(wse::FillOp op) {
    return SymbolTable::lookupNearestSymbolFrom<wse::ParameterOp>(
        op, op.getParameterAttr());
  }
  static Layout layoutOf(wse::FillOp op, const Machine &machine) {
    return Layout::of(parameterOf(op).getHeldType(), machine.height);
  }

  SmallVector<Relay> relays() const final { return columnRelays(); }

  KernelCost costOf(wse::FillOp op, const Machine &machine) const final {
    return hostTokensCost(layoutOf(op, machine), machine);
  }
  SmallVector<StreamNeed> streamsOf(wse::FillOp op,
                                    const Machine &machine) const final {
    // Whatever rows hold something: all parameters share a stream.
    return hostTokensStreams(layoutOf(op, machine), machine,
                             /*inAllRows=*/true);
  }
  SmallVector<HostFlow> flowsOf(wse::FillOp op,
                                const Machine &machine) const final {
    return hostTokensFlows(layoutOf(op, machine), machine);
  }
  LogicalResult lowerOp(wse::FillOp op, RoutineBuilder &b) const final {
    wse::ParameterOp parameter = parameterOf(op);
    return bringTokens(b, parameter.getValue(), parameter.getHeldType(),
                       b.tile(parameter), 0, {}, /*inAllRows=*/true);
  }
};

} // namespace

WSEC_DEFINE_KERNEL(Fill)

} // namespace wsec
