// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of the host into a resident parameter.

#include "compiler/kernels/move/HostTokens.h"

using namespace mlir;

namespace wsec {
namespace {

class Fill final : public HostTokensKernel<wse::FillOp> {
  static wse::ParameterOp parameterOf(wse::FillOp op) {
    return SymbolTable::lookupNearestSymbolFrom<wse::ParameterOp>(
        op, op.getParameterAttr());
  }
  /// As the parameter comes.
  Layout wordLayout(wse::FillOp op, const Machine &machine) const final {
    return heldWords(parameterOf(op).getHeldType(), machine).layout;
  }

  // Whatever rows hold something: all parameters share a stream.
  bool inAllRows(wse::FillOp) const final { return true; }
  LogicalResult lowerOp(wse::FillOp op, RoutineBuilder &b) const final {
    wse::ParameterOp parameter = parameterOf(op);
    const auto [pairing, layout] =
        heldWords(parameter.getHeldType(), b.machine());
    const Tile elements = b.tile(parameter);
    Tile words = elements;
    if (pairing != Pairing::None) {
      words = RoutineBuilder::describe(b.scalars(), layout);
      words.buffer = b.wordsOf(elements.buffer);
    }
    if (pairing == Pairing::Tails) {
      words.pitch = 1;
      words.step = elements.step / 2;
    }
    return bringTokens(b, parameter.getView(), parameter.getHeldType(), words,
                       0, {}, /*inAllRows=*/true, pairing);
  }
};

} // namespace

WSEC_DEFINE_KERNEL(Fill)

} // namespace wsec
