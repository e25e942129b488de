// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of tables: their gradients belong to the rows that were looked up.
#include "compiler/differentiate/Differentiable.h"

using namespace mlir;
using namespace wsec;
using namespace wsec::differentiate;

static void gather(onnx::GatherOp op, Value dy, Backward &n) {
  n.addRows(op.getTable(), op.getIds(), dy);
}

void wsec::differentiate::attachLookup(MLIRContext &context) {
  attach<onnx::GatherOp, gather>(context);
}
