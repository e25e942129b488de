// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/canonicalize/Passes.h"
#include "compiler/canonicalize/Patterns.h"
#include "compiler/values/OnnxValues.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace wsec::canonicalize {
#define GEN_PASS_DEF_LEGALIZEPRODUCTS
#include "compiler/canonicalize/Passes.h.inc"
} // namespace wsec::canonicalize

using namespace wsec::canonicalize;

namespace {
struct LegalizeProductsPass
    : wsec::canonicalize::impl::LegalizeProductsBase<LegalizeProductsPass> {
  void runOnOperation() override {
    SmallVector<Attribute> reasons;
    for (onnx::NodeOp op : typedProducts(getOperation())) {
      OpBuilder builder(op);
      if (auto reason = op->getAttrOfType<StringAttr>(reasonAttrName))
        reasons.push_back(builder.getArrayAttr({op.getNodeAttr(), reason}));
      Value product = batchMatmul(builder, op.getLoc(), op.getInputs()[0],
                                  op.getInputs()[1], op.getNode());
      op.getResult(0).replaceAllUsesWith(product);
      op.erase();
    }
    if (!reasons.empty())
      getOperation()->setAttr(unrecognizedAttrName,
                              ArrayAttr::get(&getContext(), reasons));
  }
};
} // namespace
