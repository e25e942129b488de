// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/differentiate/Passes.h"
#include "compiler/differentiate/WhatTrains.h"
#include "compiler/values/OnnxValues.h"
#include "llvm/Support/SHA256.h"

#include <array>
#include <map>

namespace wsec::differentiate {
#define GEN_PASS_DEF_FORGETPARAMETERS
#include "compiler/differentiate/Passes.h.inc"
} // namespace wsec::differentiate

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;

namespace {
struct ForgetParametersPass
    : wsec::differentiate::impl::ForgetParametersBase<ForgetParametersPass> {
  void runOnOperation() override {
    known.clear();
    trains =
        llvm::any_of(getOperation().getOps<onnx::ParameterOp>(),
                     [](auto parameter) { return parameter.isTrainable(); });
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Parameter &parameter : whatTrains(function))
        if (!parameter.op.isTrainable() && parameter.isNoWeight())
          for (onnx::ConstantOp view : parameter.views)
            forget(view);
  }

private:
  void forget(onnx::ConstantOp view);
  std::shared_ptr<const Storage> firstEqual(std::shared_ptr<Storage> elements);

  bool trains = false;
  /// Those of files, by their type and a digest of their bytes.
  std::map<std::pair<ElementType, std::array<uint8_t, 32>>,
           std::shared_ptr<const Storage>>
      known;
};
} // namespace

/// The same elements, of no parameter.
void ForgetParametersPass::forget(onnx::ConstantOp view) {
  Fact fact = *factOf(view);
  auto elements = std::make_shared<Storage>(*fact.constant->storage);
  elements->parameter = nullptr;
  fact.constant->storage = firstEqual(std::move(elements));
  OpBuilder builder(view);
  if (Value value = materialize(builder, view.getLoc(), fact, view.getNode())) {
    view.replaceAllUsesWith(value);
    view.erase();
  }
}

/// Equal ones in memory are one attribute anyway. Large ones, of files, would
/// all wait for gradients; without these each user has its own for as long as
/// it runs, which takes less SRAM. What cannot be read, or is too much, stays.
std::shared_ptr<const Storage>
ForgetParametersPass::firstEqual(std::shared_ptr<Storage> elements) {
  if (!trains || !elements->isExternal())
    return elements;
  Fact all{elements->type, {elements->numElements()}, std::nullopt};
  all.constant = Constant{elements, StridedView::whole(all.shape)};
  std::optional<Tensor> tensor = all.load();
  if (!tensor)
    return elements;
  const std::vector<char> bytes = tensor->toBytes();
  const auto digest = llvm::SHA256::hash(
      {reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()});
  return known.try_emplace({elements->type, digest}, elements).first->second;
}
