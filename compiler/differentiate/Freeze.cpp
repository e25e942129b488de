// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/differentiate/Passes.h"
#include "compiler/differentiate/WhatTrains.h"

namespace wsec::differentiate {
#define GEN_PASS_DEF_FREEZE
#include "compiler/differentiate/Passes.h.inc"
} // namespace wsec::differentiate

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;

namespace {
struct FreezePass : wsec::differentiate::impl::FreezeBase<FreezePass> {
  void runOnOperation() override {
    auto main = getOperation().lookupSymbol<func::FuncOp>("main");
    if (!main)
      return;
    for (Parameter &parameter : whatTrains(main))
      if (!parameter.reason.empty() && parameter.op.isTrainable()) {
        parameter.op.setUse(onnx::ParameterUse::Frozen);
        parameter.op->setAttr(whyAttrName,
                              StringAttr::get(&getContext(), parameter.reason));
      }
  }
};
} // namespace

void wsec::differentiate::freezeAlike(ModuleOp copy, ModuleOp module) {
  for (auto parameter : module.getOps<onnx::ParameterOp>()) {
    auto like = copy.lookupSymbol<onnx::ParameterOp>(parameter.getSymName());
    parameter.setUse(like.getUse());
    if (Attribute why = like->getAttr(whyAttrName))
      parameter->setAttr(whyAttrName, why);
  }
}
