// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/simplify/Naming.h"
#include "compiler/simplify/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace wsec::simplify {
#define GEN_PASS_DEF_LEGALIZEPRODUCTS
#include "compiler/simplify/Passes.h.inc"
} // namespace wsec::simplify

using namespace mlir;
using namespace wsec;
using namespace wsec::simplify;

namespace {
struct LegalizeProductsPass
    : wsec::simplify::impl::LegalizeProductsBase<LegalizeProductsPass> {
  void runOnOperation() override {
    const onnx::OperatorSchema &schema =
        *onnx::findSchema("MatMul", opsetOf(getOperation()));
    SmallVector<onnx::NodeOp> products;
    getOperation().walk([&](onnx::NodeOp op) {
      auto typed = [](Type type) { return isa<RankedTensorType>(type); };
      if (qualifiedName(op) == "MatMul" &&
          llvm::all_of(op->getOperandTypes(), typed) &&
          llvm::all_of(op->getResultTypes(), typed))
        products.push_back(op);
    });
    for (onnx::NodeOp op : products) {
      Naming naming(op, schema, "");
      Value product = naming.batchMatmul(naming.input(0), naming.input(1));
      op.getResult(0).replaceAllUsesWith(product);
      op.erase();
    }
  }
};
} // namespace
