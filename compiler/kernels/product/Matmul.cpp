// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Token times matrix, the matrix streaming past.
//
// broadcast (the result stays): the activations of a row are gathered west and
// are multicast along it; column n sees its columns of the weights, k after k,
// and adds each weight times its activations to its results.
//
// reduce (the activations stay): column k sees row k of the weights, n after n,
// and sums over its own k into partial results, a block of features at a time.
// A block travels west along the row, each PE adding its own; the first column
// multicasts the sums, of which every PE keeps the features it owns.
//
// stationary: StationaryProduct.h. With many matrices: BatchedProduct.h.
//
// Weights come in blocks of lines. Where a PE has several channels, a
// microthread takes a block into one of two buffers while the other is used: a
// word that arrives would otherwise be a vector call of its own. With one
// channel words are used as they arrive. Packed ones are made f32 before.
// A word may bring the 16-bit weights of two lines: those of a feature then lie
// in the buffer line after line.
//
// An injector hears the words that it relays to its column, and each of them
// that comes over its ramp again holds up the channel. Where the channels are
// the limit, broadcast_stored and reduce_stored do without: an injector takes
// its words from the channel into the buffer, and relays them from there to the
// rest of its column, a block behind.

#include "compiler/kernels/product/BatchedProduct.h"
#include "compiler/kernels/product/MatmulShape.h"
#include "compiler/kernels/product/Product.h"
#include "compiler/kernels/product/StationaryProduct.h"
#include "compiler/kernels/product/WeightGradient.h"

#include "compiler/machine/Tiling.h"
#include "dialects/onnx/Lengths.h"

#include <limits>

using namespace mlir;

namespace wsec {
namespace {

/// Scratch that other variants ask for, too.
constexpr int64_t modestBytes = 3072;

class Matmul final : public KernelFor<wse::MatmulOp> {
  KernelCost costOf(wse::MatmulOp op, const Machine &machine) const final {
    return costOf(MatmulForm(op), machine);
  }
  static KernelCost costOf(const MatmulForm &op, const Machine &machine);

  Match match(Operation *op, const Selection &selection) const final;
  Value build(Operation *op, Selection &selection) const final;
  SmallVector<Offer> offers(Operation *op, const Machine &machine) const final;
  int variantOf(Operation *op) const final {
    return MatmulForm(cast<wse::MatmulOp>(op)).number();
  }
  void take(Operation *op, int variant) const final {
    auto matmul = cast<wse::MatmulOp>(op);
    const MatmulForm form(matmul, variant);
    matmul.setVariantAttr(
        wse::MatmulVariantAttr::get(op->getContext(), form.getVariant()));
    matmul.setPacked(form.getPacked());
  }
  std::optional<HeldWeight> held(Operation *op, int variant,
                                 wse::WeightAttr weight,
                                 const Machine &machine) const final {
    const MatmulForm form(cast<wse::MatmulOp>(op), variant);
    if (weight != form.getWeight())
      return heldVector(form.getResult(), weight, machine);
    return form.isStationary() ? heldStationary(form, machine) : std::nullopt;
  }
  bool join(ArrayRef<Operation *> ops, const Machine &machine) const final {
    return joinProducts(llvm::map_to_vector(ops,
                                            [](Operation *op) -> MatmulForm {
                                              return cast<wse::MatmulOp>(op);
                                            }),
                        machine);
  }
  StringRef variantName(int variant) const final {
    const auto stream = wse::MatmulVariant(variant % MatmulForm::unpacked);
    return variant < MatmulForm::unpacked ? wse::stringifyMatmulVariant(stream)
                                          : PackedWeights::nameOf(stream);
  }
  bool leavesInPieces() const final { return true; }
  bool isPlace(NamedAttribute attribute) const final {
    return attribute.getName() == "entry";
  }

  SmallVector<Relay> relays() const final {
    SmallVector<Relay> relays = columnRelays();
    relays.append(rowRelays());
    relays.append(stationaryRelays());
    return relays;
  }
  SmallVector<StreamNeed> streamsOf(wse::MatmulOp op,
                                    const Machine &machine) const final {
    return streamsIn(op, variantOf(op), machine);
  }
  SmallVector<StreamNeed> streamsIn(Operation *op, int variant,
                                    const Machine &machine) const final {
    const MatmulForm form(cast<wse::MatmulOp>(op), variant);
    if (form.isStationary())
      return stationaryStreams(form, machine);
    const Layout out = Layout::of(form.getResult(), machine.height);
    SmallVector<StreamNeed> needs = columnStreams(out, machine);
    if (!isBatched(form) && MatmulShape(form, machine).stored)
      needs.append(columnRestStreams(out, machine));
    needs.append(rowStreams(machine));
    return needs;
  }

  SmallVector<HostFlow> flowsOf(wse::MatmulOp op,
                                const Machine &machine) const final;

  int64_t scratchWords(wse::MatmulOp op, const Machine &machine) const final {
    return scratchWords(MatmulForm(op), machine);
  }
  static int64_t scratchWords(const MatmulForm &op, const Machine &machine) {
    if (op.isStationary())
      return StationaryShape(op, machine).words();
    if (isBatched(op))
      return batchedWords(op, machine);
    return MatmulShape(op, machine).scratchWords(op, machine);
  }

  LogicalResult lowerOp(wse::MatmulOp op, RoutineBuilder &b) const final;
};

//===----------------------------------------------------------------------===//
// What it computes of a model
//===----------------------------------------------------------------------===//

Match Matmul::match(Operation *op, const Selection &selection) const {
  if (isSummedAlongColumns(op, selection))
    return {};
  if (auto reduce = dyn_cast<onnx::ReduceOp>(op))
    return Match::when(sumsFeatures(reduce));
  return matchProduct(op, /*sparse=*/false);
}

Value Matmul::build(Operation *op, Selection &selection) const {
  auto make = [&](Value input, wse::WeightAttr weight, wse::WeightAttr bias,
                  wse::TokenTiling tiling, wse::EntryAttr entry) -> Value {
    const ArrayRef<int64_t> shape = weight.getType().getShape();
    auto matmul = selection.createFor<wse::MatmulOp>(
        op, Type(selection.tensorType(tiling, shape.back())), input, weight,
        bias,
        wse::MatmulVariantAttr::get(
            op->getContext(),
            shape.size() > 2 ? wse::MatmulVariant::Broadcast
            : entry && tiling.getBatch() * tiling.getTokens() > 1
                ? wse::MatmulVariant::Stationary
                : wse::MatmulVariant::Reduce),
        UnitAttr(), entry);
    selection.takeCheapestOffer(matmul, op);
    if (Attribute parts = op->getAttr(onnx::lengthPartsAttrName))
      matmul->setAttr(onnx::lengthPartsAttrName, parts);
    return matmul.getResult();
  };
  return buildProduct(op, *this, selection, make);
}

/// All variants for the input as it lies. Fewer heads than columns leave
/// columns without input: then also for its features over all columns.
SmallVector<Offer> Matmul::offers(Operation *op, const Machine &machine) const {
  auto matmul = cast<wse::MatmulOp>(op);
  SmallVector<Offer> offers;
  auto offer = [&](const MatmulForm &form, Type input) {
    const int64_t scratch = 4 * scratchWords(form, machine);
    offers.push_back({form.number(), input, costOf(form, machine), scratch,
                      form.isStationary() && scratch > modestBytes});
  };
  if (isBatched(matmul) || MatmulForm(matmul).hasEntries()) {
    offer(matmul, {});
    return offers;
  }
  auto offerAll = [&](Type input) {
    for (int variant = 0; variant < 2 * MatmulForm::unpacked; ++variant)
      if (const MatmulForm form(matmul, variant, input);
          !form.getPacked() ||
          (!matmul.getEntry() && PackedWeights::of(form, machine)))
        offer(form, input);
  };
  offerAll({});
  Value input = matmul.getInput();
  auto type = cast<RankedTensorType>(input.getType());
  if (tilingOf(input).getColumns() == wse::ColumnPlacement::Heads)
    offerAll(tilingOf(input)
                 .withColumns(wse::ColumnPlacement::Balanced)
                 .type(type.getShape(), type.getElementType()));
  return offers;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

KernelCost Matmul::costOf(const MatmulForm &op, const Machine &machine) {
  KernelCost cost = op.isStationary() ? stationaryCost(op, machine)
                    : isBatched(op)   ? batchedCost(op, machine)
                                      : streamedCost(op, machine);
  cost.lowerBound = productBound(op, machine);
  return cost;
}

/// The bias, then the weights. A buffered block is taken while that before it
/// is used.
SmallVector<HostFlow> Matmul::flowsOf(wse::MatmulOp op,
                                      const Machine &machine) const {
  if (MatmulForm(op).isStationary())
    return stationaryFlows(op, machine);
  if (isBatched(op))
    return batchedFlows(op, machine);
  MatmulShape shape(op, machine);
  CostModel model(machine);
  HostFlow flow = model.columnFlow(shape.streamed(), shape.streamedLines());
  if (op.getBias() && !wse::residentOf(op, *op.getBias()))
    flow.words += model.columnFlow(shape.out.features, 1).words;
  if (shape.plan.buffered)
    flow.lastUse = 1 - 1 / double(shape.blocks());
  return {flow};
}

LogicalResult Matmul::lowerOp(wse::MatmulOp op, RoutineBuilder &b) const {
  if (MatmulForm(op).isStationary())
    return lowerStationary(op, b);
  if (isBatched(op))
    return lowerBatched(op, b);
  if (op.getPacked() && !PackedWeights::of(op, b.machine()))
    return PackedWeights::refuse(op);
  lowerStreamed(op, b);
  return success();
}

} // namespace

WSEC_DEFINE_KERNEL(Matmul)

} // namespace wsec
