// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Words of the host into a resident parameter.

#include "compiler/kernels/HostTokens.h"

using namespace mlir;

namespace wsec {
namespace {

class Fill final : public HostTokensKernel<wse::FillOp> {
  static wse::ParameterOp parameterOf(wse::FillOp op) {
    return SymbolTable::lookupNearestSymbolFrom<wse::ParameterOp>(
        op, op.getParameterAttr());
  }
  /// Whether the features of a token, which are neighbours, come two to a word.
  static Pairing pairingOf(wse::FillOp op, const Machine &machine) {
    const RankedTensorType type = parameterOf(op).getHeldType();
    return pe::elementBytes(type.getElementType()) == 2 &&
                   Layout::of(type, machine.height)
                       .features.inPairsAndTails(machine.width)
               ? Pairing::Tails
               : Pairing::None;
  }
  /// As the parameter comes.
  Layout wordLayout(wse::FillOp op, const Machine &machine) const final {
    Layout layout = Layout::of(parameterOf(op).getHeldType(), machine.height);
    if (pairingOf(op, machine) != Pairing::None)
      layout.features = *layout.features.inPairsAndTails(machine.width);
    return layout;
  }

  // Whatever rows hold something: all parameters share a stream.
  bool inAllRows(wse::FillOp) const final { return true; }
  LogicalResult lowerOp(wse::FillOp op, RoutineBuilder &b) const final {
    wse::ParameterOp parameter = parameterOf(op);
    const Pairing pairing = pairingOf(op, b.machine());
    const Tile elements = b.tile(parameter);
    Tile words = elements;
    if (pairing != Pairing::None) {
      words =
          RoutineBuilder::describe(b.scalars(), wordLayout(op, b.machine()));
      words.buffer = b.wordsOf(elements.buffer);
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
