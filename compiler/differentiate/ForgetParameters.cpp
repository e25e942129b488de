// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/differentiate/Passes.h"
#include "compiler/differentiate/WhatTrains.h"
#include "compiler/values/OnnxValues.h"

namespace wsec::differentiate {
#define GEN_PASS_DEF_FORGETPARAMETERS
#include "compiler/differentiate/Passes.h.inc"
} // namespace wsec::differentiate

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;
using namespace wsec::values;

/// The same elements, of no parameter.
static void forget(onnx::ConstantOp view) {
  Fact fact = *factOf(view);
  auto elements = std::make_shared<Storage>(*fact.constant->storage);
  elements->parameter = nullptr;
  fact.constant->storage = std::move(elements);
  OpBuilder builder(view);
  if (Value value = materialize(builder, view.getLoc(), fact, view.getNode())) {
    view.replaceAllUsesWith(value);
    view.erase();
  }
}

namespace {
struct ForgetParametersPass
    : wsec::differentiate::impl::ForgetParametersBase<ForgetParametersPass> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (Parameter &parameter : whatTrains(function))
        if (!parameter.op.isTrainable() && parameter.isNoWeight())
          for (onnx::ConstantOp view : parameter.views)
            forget(view);
  }
};
} // namespace
