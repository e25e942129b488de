// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several products of a token with weights that stay, which only differ in
// these: what each would wait for alone, activations on their way down, sums
// along the rows, results on their way north, they wait for once.
// StationaryProduct.h has what they share with one alone.

#include "compiler/kernels/BatchedProduct.h"
#include "compiler/kernels/MatmulShape.h"
#include "compiler/kernels/Selection.h"
#include "compiler/kernels/StationaryProduct.h"
#include "compiler/machine/Machine.h"
#include "dialects/onnx/Onnx.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace wsec {
namespace {

SmallVector<MatmulForm> formsOf(wse::ProductsOp op) {
  return llvm::map_to_vector(
      llvm::seq<unsigned>(op.getNumResults()),
      [&](unsigned number) { return MatmulForm(op, number); });
}

TogetherShape shapeOf(wse::ProductsOp op, const Machine &machine) {
  return TogetherShape(formsOf(op), machine);
}

class Products final : public KernelFor<wse::ProductsOp> {
  KernelCost costOf(wse::ProductsOp op, const Machine &machine) const final {
    KernelCost cost = shapeOf(op, machine).cost(machine);
    for (const MatmulForm &form : formsOf(op))
      cost.lowerBound += productBound(form, machine);
    return cost;
  }
  std::optional<HeldWeight> held(Operation *op, int, wse::WeightAttr weight,
                                 const Machine &machine) const final {
    for (const MatmulForm &form : formsOf(cast<wse::ProductsOp>(op)))
      if (form.getWeight() == weight)
        return heldStationary(form, machine);
    return std::nullopt;
  }
  SmallVector<Relay> relays() const final { return stationaryRelays(); }
  SmallVector<StreamNeed> streamsOf(wse::ProductsOp op,
                                    const Machine &machine) const final {
    return sumStreams(machine, double(shapeOf(op, machine).sums()));
  }
  int64_t scratchWords(wse::ProductsOp op, const Machine &machine) const final {
    return shapeOf(op, machine).words();
  }
  LogicalResult lowerOp(wse::ProductsOp op, RoutineBuilder &b) const final {
    const SmallVector<MatmulForm> forms = formsOf(op);
    for (const MatmulForm &form : forms)
      if (!form.residentWeight())
        return op.emitOpError("needs ")
               << form.getWeight().getName() << " on the wafer";
    if (!shapeOf(op, b.machine()).canBe(b.machine()))
      return op.emitOpError("cannot keep its weights in the ")
             << b.width() << "x" << b.height()
             << " PEs: each has as many result features as rows, and more than "
                "one row and column";
    lowerTogether(forms, b);
    return success();
  }
};

} // namespace

/// Whether a launch of all takes fewer cycles than one of each.
static bool areFaster(ArrayRef<MatmulForm> forms, const Machine &machine) {
  double apart = 0;
  for (const MatmulForm &form : forms)
    apart += TogetherShape(form, machine).cost(machine).total();
  return TogetherShape(forms, machine).cost(machine).total() < apart;
}

/// Those of one token, with constants and no bias, that have room together.
bool joinProducts(ArrayRef<MatmulForm> products, const Machine &machine) {
  SmallVector<MatmulForm> forms;
  SmallVector<Attribute> weights, nodes, values;
  llvm::SetVector<Attribute> absorbed;
  Operation *first = products.front();
  OpBuilder builder(first);
  for (const MatmulForm &product : products) {
    Operation *op = product;
    wse::ParameterOp parameter = wse::parameterOf(op, product.getWeight());
    const wse::TokenTiling tiling = tilingOf(product.getInput());
    if (product.getBias() || product.getEntry() || !parameter ||
        parameter.getTrainable() || isBatched(product) ||
        tiling.getBatch() * tiling.getTokens() != 1 || !tiling.splitsRows() ||
        elementTypeOf(product.getInput()) != elementTypeOf(product.getResult()))
      continue;
    forms.emplace_back(product);
    if (!TogetherShape(forms, machine).canBe(machine)) {
      forms.pop_back();
      continue;
    }
    weights.push_back(product.getWeight());
    llvm::append_range(nodes, cast<wse::KernelOp>(op).getNodeNames());
    if (auto its = op->getAttrOfType<ArrayAttr>(onnx::absorbedAttrName))
      absorbed.insert_range(its);
    auto its = op->getAttrOfType<ArrayAttr>(onnx::valuesAttrName);
    values.push_back(its ? its[0] : builder.getArrayAttr({}));
  }
  if (forms.size() < 2 || !areFaster(forms, machine))
    return false;
  first = forms.front();
  builder.setInsertionPoint(first);
  auto all = createKernel<wse::ProductsOp>(
      builder, first->getLoc(), builder.getArrayAttr(nodes),
      cast<wse::KernelOp>(first).getRegionRef(),
      llvm::map_to_vector(
          forms,
          [](const MatmulForm &form) -> Type { return form.resultType(); }),
      forms.front().getInput(), builder.getArrayAttr(weights));
  if (!absorbed.empty())
    all->setAttr(onnx::absorbedAttrName,
                 builder.getArrayAttr(absorbed.getArrayRef()));
  all->setAttr(onnx::valuesAttrName, builder.getArrayAttr(values));
  for (auto [form, result] : llvm::zip_equal(forms, all.getResults())) {
    form.getResult().replaceAllUsesWith(result);
    Operation *product = form;
    product->erase();
  }
  return true;
}

WSEC_DEFINE_KERNEL(Products)

} // namespace wsec
